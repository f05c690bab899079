/*
 * What the case files do not cover: GGUF vocabularies, bytes that are no text, long texts, threads,
 * the normalisation forms.
 */
#include "text/tokenizer.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/growing.h"
#include "text/pipeline.h"
#include "text/tests/tokenizer_files.h"

static struct rml_tokenizer *open_gguf(const char *name, const char *pre, struct rml_error *err)
{
    char path[1024];
    test_source_path(path, "lib/text/fuzz/corpus/tokenizer_gguf", name);
    struct rml_checkpoint *cp = rml_checkpoint_open(path, err);
    cr_assert_not_null(cp, "%s", err->message);
    struct rml_tokenizer *t = rml_tokenizer_from_checkpoint(cp, pre, err);
    rml_checkpoint_close(cp);
    return t;
}

static struct rml_tokenizer *open_case(const char *name, const char *patch)
{
    struct rml_error err = RML_ERROR_INIT;
    json_t *file = test_load_json("lib/text/tests/cases", name);
    json_t *changes = json_loads(patch, 0, NULL);
    struct rml_tokenizer *t = test_open_patched(json_object_get(file, "tokenizer"), changes, &err);
    cr_assert_not_null(t, "%s", err.message);
    json_decref(file);
    json_decref(changes);
    return t;
}

static void expect_ids(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                       unsigned flags, const char *want)
{
    struct rml_ids ids = {0};
    struct rml_error err = RML_ERROR_INIT;
    char got[256] = "";
    cr_assert(rml_tokenizer_encode(t, text, nbytes, flags, &ids, &err), "%s", err.message);
    for (size_t i = 0, n = 0; i < ids.n && n < 240; i++)
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%d", i ? " " : "", (int)ids.ids[i]);
    cr_expect_str_eq(got, want, "'%s': %s, expected %s", text, got, want);
    rml_ids_release(&ids);
}

Test(tokenizer, gguf_bytelevel)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = open_gguf("gpt2.gguf", NULL, &err);
    cr_assert_not_null(t, "%s", err.message);
    expect_ids(t, "hello", 5, RML_ADD_SPECIAL, "0 6 8");
    expect_ids(t, "h</s><s>", 8, 0, "1 9");
    expect_ids(t, "h</s><s>", 8, RML_PARSE_SPECIAL, "1 9 0");
    expect_ids(t, " h", 2, 0, "5 1");
    cr_expect_eq(rml_tokenizer_bos(t), 0);
    cr_expect_eq(rml_tokenizer_eos(t), -1);
    cr_expect_eq(rml_tokenizer_prefix(t), 0);
    cr_expect(rml_tokenizer_adds_bos(t));
    cr_expect_eq(rml_tokenizer_find(t, "\xc4\xa0", 2), 5,
                 "the text of a token, as the file has it");
    struct rml_token_info info;
    cr_assert(rml_tokenizer_token(t, 5, &info));
    cr_expect(info.nbytes == 1 && info.bytes[0] == ' ');
    cr_expect_not(rml_tokenizer_token(t, 10, &info));
    rml_tokenizer_destroy(t);

    cr_expect_null(open_gguf("gpt2.gguf", "no-such-name", &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    cr_expect(strstr(err.message, "llama-bpe"), "the names are listed: %s", err.message);
}

/* The order of ids, by which merges are found faster, decides nothing. */
Test(tokenizer, ids_backwards_give_the_same_pieces)
{
    static const char text[] = "The new world's 12 pancakes: hello, caf\xc3\xa9 na\xc3\xafve!";
    struct rml_error err = RML_ERROR_INIT;
    json_t *file = test_load_json("lib/text/tests/cases", "bytelevel.json");
    json_t *base = json_object_get(file, "tokenizer"), *id;
    json_t *vocabulary = json_object_get(json_object_get(base, "model"), "vocab");
    json_t *backwards = json_object();
    size_t n = json_object_size(vocabulary);
    const char *token;
    json_object_foreach(vocabulary, token, id)
    {
        json_int_t mirrored = (json_int_t)n - 1 - json_integer_value(id);
        json_object_set_new(backwards, token, json_integer(mirrored));
    }
    json_t *patch = json_pack("{s:{s:o}}", "model", "vocab", backwards);
    struct rml_tokenizer *forwards_t = test_open_patched(base, NULL, &err);
    struct rml_tokenizer *backwards_t = test_open_patched(base, patch, &err);
    cr_assert(forwards_t && backwards_t, "%s", err.message);
    struct rml_ids a = {0}, b = {0};
    cr_assert(rml_tokenizer_encode(forwards_t, text, sizeof text - 1, 0, &a, &err));
    cr_assert(rml_tokenizer_encode(backwards_t, text, sizeof text - 1, 0, &b, &err));
    cr_assert_eq(a.n, b.n);
    cr_assert_lt(a.n, sizeof text - 8, "something was merged");
    for (size_t i = 0; i < a.n; i++)
        cr_expect_eq(b.ids[i], (int32_t)n - 1 - a.ids[i], "at %zu", i);
    rml_ids_release(&a);
    rml_ids_release(&b);
    rml_tokenizer_destroy(forwards_t);
    rml_tokenizer_destroy(backwards_t);
    json_decref(patch);
    json_decref(file);
}

/* Expected values: tokenizers 0.23.3. */
Test(tokenizer, special_tokens_of_other_texts)
{
#define TOKEN(content, id, lstrip, rstrip, normalized)                                             \
    "{\"id\": " #id ", \"content\": \"" content                                                    \
    "\", \"special\": true, \"single_word\": false, \"lstrip\": " #lstrip ", \"rstrip\": " #rstrip \
    ", \"normalized\": " #normalized "}"
#define LOWERCASE                                                                                  \
    "{\"normalizer\": {\"type\": \"Lowercase\"}, \"decoder\": {\"type\": \"Fuse\"}, "              \
    "\"added_tokens\": ["
    struct rml_error err = RML_ERROR_INIT;
    struct rml_bytes out = {0};
    /* Normalised, it decodes as "[mask]", which is no special token, and stays. */
    struct rml_tokenizer *t =
        open_case("fallback.json", LOWERCASE TOKEN("[MASK]", 409, false, false, true) "]}");
    int32_t ids[] = {282, 409, 283};
    cr_assert(rml_tokenizer_decode(t, ids, 3, true, &out, &err));
    cr_expect(out.n == 8 && memcmp(out.data, "a[mask]b", 8) == 0, "%.*s", (int)out.n, out.data);
    rml_tokenizer_destroy(t);
    t = open_case("fallback.json", LOWERCASE TOKEN("[MASK]", 409, false, false, true) ", " TOKEN(
                                       "[mask]", 410, false, false, false) "]}");
    out.n = 0;
    cr_assert(rml_tokenizer_decode(t, ids, 3, true, &out, &err));
    cr_expect(out.n == 2 && memcmp(out.data, "ab", 2) == 0, "%.*s", (int)out.n, out.data);
    rml_tokenizer_destroy(t);

    /* Spaces that one token has taken are not another's. */
    t = open_case("fallback.json", "{\"normalizer\": null, \"added_tokens\": [" TOKEN(
                                       "the", 409, false, true,
                                       false) ", " TOKEN("  ", 410, true, false, false) "]}");
    expect_ids(t, "the  the", 8, RML_PARSE_SPECIAL, "326 326");
    expect_ids(t, "  the", 5, RML_PARSE_SPECIAL, "409 326");
    rml_tokenizer_destroy(t);
    rml_bytes_release(&out);
#undef TOKEN
#undef LOWERCASE
}

Test(tokenizer, gguf_sentencepiece)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = open_gguf("llama.gguf", NULL, &err);
    cr_assert_not_null(t, "%s", err.message);
    /* "ab" has the better score, though "_a" comes first in the text. */
    expect_ids(t, "ab", 2, RML_ADD_SPECIAL, "1 4 7");
    expect_ids(t, "a a\n", 4, 0, "8 8 3");
    expect_ids(t, "", 0, RML_ADD_SPECIAL, "1");
    expect_ids(t, "<s>", 3, RML_PARSE_SPECIAL, "1");
    cr_expect_str_eq(rml_tokenizer_chat_template(t), "x");
    char hex[65];
    cr_expect(rml_tokenizer_content_sha256(t, hex, &err), "%s", err.message);
    cr_expect_eq(strlen(hex), 64u);
    struct rml_bytes out = {0};
    int32_t ids[] = {1, 8, 8};
    cr_assert(rml_tokenizer_decode(t, ids, 3, true, &out, &err));
    cr_expect(out.n == 3 && memcmp(out.data, "a a", 3) == 0);
    ids[1] = 99;
    cr_expect_not(rml_tokenizer_decode(t, ids, 3, true, &out, &err));
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    cr_expect_eq(out.n, 3u, "nothing is appended on error");
    rml_bytes_release(&out);
    rml_tokenizer_destroy(t);
}

/* Ill-formed bytes read as U+FFFD: the same ids as of the text with it in their place. */
Test(tokenizer, ill_formed_utf8_reads_as_replacement_characters)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"a\xff"
                  "b",
                  "a\xef\xbf\xbd"
                  "b"},
                 {"\xe4\xbd", "\xef\xbf\xbd"},
                 {"\xe4\xbd"
                  "x",
                  "\xef\xbf\xbdx"},
                 {"\xf0\x9f\x98", "\xef\xbf\xbd"},
                 {"\xf0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xc3", "\xef\xbf\xbd"},
                 {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd"}};
    struct rml_tokenizer *t = open_case("bytelevel.json", "{}");
    struct rml_ids got = {0}, want = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        got.n = want.n = 0;
        cr_assert(rml_tokenizer_encode(t, cases[i].bytes, strlen(cases[i].bytes), 0, &got, NULL));
        cr_assert(rml_tokenizer_encode(t, cases[i].text, strlen(cases[i].text), 0, &want, NULL));
        cr_expect(got.n == want.n && memcmp(got.ids, want.ids, got.n * sizeof *got.ids) == 0,
                  "case %zu", i);
    }
    rml_ids_release(&got);
    rml_ids_release(&want);
    rml_tokenizer_destroy(t);
}

static double seconds_for(const struct rml_tokenizer *t, const char *unit, size_t nbytes)
{
    size_t unit_nbytes = strlen(unit);
    char *text = malloc(nbytes);
    cr_assert_not_null(text);
    for (size_t i = 0; i < nbytes; i++)
        text[i] = unit[i % unit_nbytes];
    struct rml_ids ids = {0};
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    cr_assert(rml_tokenizer_encode(t, text, nbytes / unit_nbytes * unit_nbytes, 0, &ids, NULL));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    rml_ids_release(&ids);
    free(text);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* AddressSanitizer's memmem checks all that could be searched, however near the match, which
 * makes a linear search through many matches quadratic. The tests of cases keep that check. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_memmem=0";
}

/* A megabyte of one thing takes about 16 times as long as a sixteenth of it: quadratic would be
 * 256 times. The margin is for busy machines. */
Test(tokenizer, time_is_in_proportion_to_length)
{
    static const char *const units[] = {
        "a", " ", "\n", "\xe4\xb8\xad", "ab", "e\xcc\x81", "\xcc\x81\xcc\xa3", "1", "'"};
    static const struct {
        const char *file, *patch;
    } tokenizers[] = {{"bytelevel.json", "{}"},
                      {"bytelevel.json", "{\"normalizer\": {\"type\": \"NFKC\"}}"},
                      {"bytelevel.json", "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
                                         "{\"Regex\": \"\\\\s+(?!\\\\S)|\\\\w+\"}, \"behavior\": "
                                         "\"Isolated\", \"invert\": false}}"},
                      {"fallback.json", "{}"},
                      {"unigram.json", "{}"}};
    for (size_t k = 0; k < sizeof tokenizers / sizeof *tokenizers; k++) {
        struct rml_tokenizer *t = open_case(tokenizers[k].file, tokenizers[k].patch);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            double small = seconds_for(t, units[i], 1 << 16);
            double large = seconds_for(t, units[i], 1 << 20);
            cr_expect_lt(large, 80 * small + 0.1, "%s, unit %zu: %.3f s, then %.3f s",
                         tokenizers[k].file, i, small, large);
        }
        rml_tokenizer_destroy(t);
    }
}

/* A kilobyte of tokenizer.json that would make 2^36 bytes of a letter, or of a token. */
Test(tokenizer, what_grows_without_end_is_refused)
{
    char patch[4096],
        step[] =
            "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, "
            "\"content\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";
    struct rml_error err = RML_ERROR_INIT;
    struct rml_ids ids = {0};
    snprintf(patch, sizeof patch,
             "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [%s,%s,%s,%s,%s,%s]}}",
             step, step, step, step, step, step);
    struct rml_tokenizer *t = open_case("bytelevel.json", patch);
    cr_expect(rml_tokenizer_encode(t, "b c", 3, 0, &ids, &err), "%s", err.message);
    cr_expect_not(rml_tokenizer_encode(t, "a", 1, 0, &ids, &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    cr_expect(strstr(err.message, "the normalizers make more than"), "%s", err.message);
    rml_ids_release(&ids);
    rml_tokenizer_destroy(t);

    snprintf(patch, sizeof patch,
             "{\"decoder\": {\"type\": \"Sequence\", \"decoders\": [%s,%s,%s,%s,%s,%s]}}", step,
             step, step, step, step, step);
    err = (struct rml_error)RML_ERROR_INIT;
    json_t *file = test_load_json("lib/text/tests/cases", "bytelevel.json");
    json_t *changes = json_loads(patch, 0, NULL);
    cr_expect_null(test_open_patched(json_object_get(file, "tokenizer"), changes, &err));
    cr_expect(strstr(err.message, "the decoder makes more than"), "%s", err.message);
    json_decref(file);
    json_decref(changes);
}

struct job {
    const struct rml_tokenizer *t;
    struct rml_ids ids;
};

static void *encode_job(void *arg)
{
    struct job *job = arg;
    static const char text[] = "The quick brown fox, 12345 times; don't caf\xc3\xa9 hello world";
    for (int i = 0; i < 200; i++) {
        job->ids.n = 0;
        if (!rml_tokenizer_encode(job->t, text, sizeof text - 1, 0, &job->ids, NULL))
            return job;
    }
    return NULL;
}

Test(tokenizer, serves_many_threads)
{
    struct rml_tokenizer *t = open_case("bytelevel.json", "{}");
    pthread_t threads[4];
    struct job jobs[4] = {0};
    for (int i = 0; i < 4; i++) {
        jobs[i].t = t;
        cr_assert_eq(pthread_create(&threads[i], NULL, encode_job, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_expect_null(failed);
        cr_expect(jobs[i].ids.n == jobs[0].ids.n &&
                  memcmp(jobs[i].ids.ids, jobs[0].ids.ids, jobs[0].ids.n * sizeof(int32_t)) == 0);
    }
    for (int i = 0; i < 4; i++)
        rml_ids_release(&jobs[i].ids);
    rml_tokenizer_destroy(t);
}

/* Long stretches of marks are ordered by us, short ones by the library: the same result. */
Test(tokenizer, long_runs_of_marks_normalise_like_short_ones)
{
    static const char marks[] = "\xcc\x81\xcc\xa3\xcd\x85\xcc\x80\xcc\xb1"; /* many classes */
    char text[2000] = "e";
    struct rml_bytes decomposed = {0}, twice = {0}, composed = {0}, back = {0};
    bool changed;
    for (int i = 0; i < 120; i++)
        strcat(text, marks);
    cr_assert(rmli_unicode_normalize(RMLI_NORMALIZE_NFD, text, strlen(text), &decomposed, &changed,
                                     NULL));
    cr_expect(changed && decomposed.n == strlen(text));
    cr_assert(rmli_unicode_normalize(RMLI_NORMALIZE_NFD, decomposed.data, decomposed.n, &twice,
                                     &changed, NULL));
    cr_expect(twice.n == decomposed.n && memcmp(twice.data, decomposed.data, twice.n) == 0);
    cr_assert(
        rmli_unicode_normalize(RMLI_NORMALIZE_NFC, text, strlen(text), &composed, &changed, NULL));
    cr_assert(rmli_unicode_normalize(RMLI_NORMALIZE_NFD, composed.data, composed.n, &back, &changed,
                                     NULL));
    cr_expect(back.n == decomposed.n && memcmp(back.data, decomposed.data, back.n) == 0);
    free(decomposed.data);
    free(twice.data);
    free(composed.data);
    free(back.data);
}
