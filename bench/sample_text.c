#include "bench/sample_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define N_WORDS 4096
#define WORD_NBYTES 24

struct writer {
    char *text;
    size_t n, room;
    struct rmli_rng rng;
    char words[N_WORDS][WORD_NBYTES];
};

static size_t below(struct writer *w, size_t n)
{
    return (size_t)rmli_rng_below(&w->rng, n);
}

static void make_words(struct writer *w)
{
    static const char *const onsets[] = {"b",  "c",  "d", "f",  "g",  "l",  "m",  "n",
                                         "p",  "r",  "s", "t",  "v",  "st", "tr", "pl",
                                         "ch", "th", "",  "sh", "br", "qu", "w",  "h"};
    static const char *const nuclei[] = {"a", "e", "i", "o", "u", "ea", "ou", "ai", "io", "y"};
    static const char *const codas[] = {"", "", "n", "r", "s", "t", "l", "ng", "ck", "st", "m"};
    for (size_t i = 0; i < N_WORDS; i++) {
        w->words[i][0] = 0;
        size_t n_syllables = 1 + below(w, i < 64 ? 1 : i < 1024 ? 2 : 3);
        for (size_t s = 0; s < n_syllables; s++) {
            size_t at = strlen(w->words[i]);
            snprintf(w->words[i] + at, WORD_NBYTES - at, "%s%s%s",
                     onsets[below(w, sizeof onsets / sizeof *onsets)],
                     nuclei[below(w, sizeof nuclei / sizeof *nuclei)],
                     codas[below(w, sizeof codas / sizeof *codas)]);
        }
    }
}

static void put(struct writer *w, const char *text)
{
    size_t n = strlen(text);
    if (w->n + n > w->room)
        n = w->room - w->n;
    memcpy(w->text + w->n, text, n);
    w->n += n;
}

/* Rank r with a probability of about 1 / r: the logarithm of a Zipf rank is uniform. */
static const char *word(struct writer *w)
{
    return w->words[(size_t)exp(rmli_rng_uniform(&w->rng) * log(N_WORDS)) - 1];
}

static void put_prose(struct writer *w)
{
    static const char *const foreign[] = {"caf\u00e9",
                                          "na\u00efve",
                                          "\u00fcber",
                                          "sm\u00f8rrebr\u00f8d",
                                          "\u043f\u0440\u0438\u0432\u0435\u0442",
                                          "\u043c\u0438\u0440",
                                          "\u4f60\u597d\u4e16\u754c",
                                          "\u6771\u4eac",
                                          "\U0001f600",
                                          "\u2014"};
    size_t n = 6 + below(w, 14);
    char first[WORD_NBYTES];
    snprintf(first, sizeof first, "%s", word(w));
    if (first[0] >= 'a' && first[0] <= 'z')
        first[0] = (char)(first[0] - 'a' + 'A');
    put(w, first);
    for (size_t i = 1; i < n; i++) {
        char number[32];
        put(w, below(w, 12) == 0 ? ", " : " ");
        switch (below(w, 32)) {
        case 0:
            snprintf(number, sizeof number, "%zu", below(w, 100000));
            put(w, number);
            break;
        case 1:
            put(w, foreign[below(w, sizeof foreign / sizeof *foreign)]);
            break;
        default:
            put(w, word(w));
        }
    }
    put(w, below(w, 6) == 0 ? ".\n\n" : below(w, 9) == 0 ? "? " : ". ");
}

static void put_code(struct writer *w)
{
    char line[160];
    snprintf(line, sizeof line,
             "    for (int i = 0; i < %zu; i++)\n        %.20s[i] += %.20s(%.20s, %zu);\n",
             below(w, 4096), word(w), word(w), word(w), below(w, 64));
    put(w, line);
}

char *bench_sample_text(size_t nbytes, uint64_t seed, size_t *n, struct rml_error *err)
{
    struct writer *w = calloc(1, sizeof *w);
    char *text = malloc(nbytes + 512);
    if (!w || !text) {
        free(w);
        free(text);
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a text");
        return NULL;
    }
    w->text = text;
    w->room = nbytes + 512;
    rmli_rng_seed(&w->rng, seed);
    make_words(w);
    while (w->n < nbytes) {
        if (below(w, 16) == 0)
            put_code(w);
        else
            put_prose(w);
    }
    /* Cut, but not within a character. */
    *n = nbytes;
    while (*n > 0 && ((unsigned char)text[*n] & 0xc0) == 0x80)
        (*n)--;
    free(w);
    return text;
}
