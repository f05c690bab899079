#include "bench/dimensions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"

#define MAX_NUMBERS 4096 /* in one list: a range may be a slip of the pen */

static void append(struct argp_state *state, const char *option, struct bench_numbers *list,
                   uint64_t value)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->values[i] == value)
            argp_error(state, "%s: %" PRIu64 " found twice", option, value);
    if (list->n == MAX_NUMBERS)
        argp_error(state, "%s: expected at most %d numbers", option, MAX_NUMBERS);
    if (list->n % 64 == 0) {
        uint64_t *values = realloc(list->values, (list->n + 64) * sizeof *values);
        if (!values)
            argp_failure(state, CLI_ERROR, ENOMEM, "%s", option);
        list->values = values;
    }
    list->values[list->n++] = value;
}

/* Cuts the word at the first of these characters; what follows it, NULL when there is none.
 * *found is the character. */
static char *cut(char *word, const char *characters, char *found)
{
    char *at = strpbrk(word, characters);
    *found = at ? *at : 0;
    if (!at)
        return NULL;
    *at = 0;
    return at + 1;
}

static void append_item(struct argp_state *state, const char *option, const char *item,
                        uint64_t min, uint64_t max, struct bench_numbers *list)
{
    char word[64], kind;
    snprintf(word, sizeof word, "%s", item);
    char *last_text = cut(word, "-", &kind), *step_text = NULL;
    if (!last_text || last_text == word + 1 || strlen(item) >= sizeof word) {
        append(state, option, list, cli_arg_u64(state, option, item, min, max));
        return;
    }
    step_text = cut(last_text, "+*", &kind);
    uint64_t first = 0, last = 0, step = 1;
    if (!cli_parse_u64(word, min, max, &first) || !cli_parse_u64(last_text, min, max, &last) ||
        first > last ||
        (step_text && !cli_parse_u64(step_text, kind == '*' ? 2 : 1, UINT32_MAX, &step)) ||
        (kind == '*' && first == 0))
        argp_error(state,
                   "%s: '%s' found, expected numbers from %" PRIu64 " to %" PRIu64
                   " as A, A-B, A-B+STEP or A-B*FACTOR (A above 0, FACTOR at least 2)",
                   option, item, min, max);
    for (uint64_t x = first; x <= last; x = kind == '*' ? x * step : x + step)
        append(state, option, list, x);
}

void bench_arg_numbers(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, struct bench_numbers *list)
{
    char **items;
    struct bench_numbers numbers = {0};
    size_t n = cli_arg_words(state, option, text, &items);
    for (size_t i = 0; i < n; i++)
        append_item(state, option, items[i], min, max, &numbers);
    free(items);
    free(list->values);
    *list = numbers;
}

void bench_arg_words(struct argp_state *state, const char *option, const char *text,
                     struct bench_words *list)
{
    char **words;
    free(list->values);
    list->n = cli_arg_words(state, option, text, &words);
    list->values = (const char **)words;
    for (size_t i = 0; i < list->n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(words[i], words[j]) == 0)
                argp_error(state, "%s: '%s' found twice", option, words[i]);
}

void bench_arg_either(struct argp_state *state, const char *option, const char *text,
                      const char *first, const char *second, struct bench_words *list)
{
    bench_arg_words(state, option, text, list);
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->values[i], first) != 0 && strcmp(list->values[i], second) != 0)
            argp_error(state, "%s: '%s' found, expected %s, %s or both", option, list->values[i],
                       first, second);
}

void bench_arg_isas(struct argp_state *state, const char *text, struct bench_isas *isas)
{
    char **words;
    size_t n = cli_arg_words(state, "--isa", text, &words);
    *isas = (struct bench_isas){.given = true};
    for (size_t i = 0; i < n; i++) {
        enum rml_isa isa;
        if (!rml_isa_parse(words[i], &isa))
            argp_error(state, "--isa: '%s' found, expected ref, sse2, avx2, avx512 or neon",
                       words[i]);
        else if (isas->has[isa])
            argp_error(state, "--isa: '%s' found twice", words[i]);
        else
            isas->has[isa] = true;
    }
    free(words);
}

void bench_arg_kvs(struct argp_state *state, const char *text, struct bench_kvs *list)
{
    char **words;
    size_t n = cli_arg_words(state, "--kv", text, &words);
    free(list->values);
    list->values = malloc(n * sizeof *list->values);
    if (!list->values)
        argp_failure(state, CLI_ERROR, ENOMEM, "--kv");
    list->n = n;
    for (size_t i = 0; i < n; i++) {
        struct bench_kv *kv = &list->values[i];
        cli_arg_kv(state, "--kv", words[i], &kv->k, &kv->v);
        for (size_t j = 0; j < i; j++)
            if (list->values[j].k == kv->k && list->values[j].v == kv->v)
                argp_error(state, "--kv: '%s' found twice", words[i]);
    }
    free(words);
}
