/*
 * Golden and manifest files: read right, written so that they read back exactly,
 * refused with the place of what is wrong.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "goldens/golden_file.h"
#include "goldens/golden_manifest.h"
#include "goldens/golden_name.h"
#include "goldens/tests/malformed_goldens.h"

static char path[] = "/tmp/rml-golden-XXXXXX";

static void make_file(void)
{
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
}

static void write_text(const char *text)
{
    FILE *stream = fopen(path, "w");
    cr_assert_not_null(stream);
    fputs(text, stream);
    cr_assert_eq(fclose(stream), 0);
}

/* The good file with a piece replaced. */
static void write_malformed(const char *good, const struct malformed_file *bad)
{
    if (!bad->find) {
        write_text(bad->put);
        return;
    }
    const char *at = strstr(good, bad->find);
    cr_assert_not_null(at, "'%s' is not in the good file", bad->find);
    char text[4096];
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad->put,
             at + strlen(bad->find));
    write_text(text);
}

static void expect_error(const struct rml_error *err, const struct malformed_file *bad)
{
    cr_expect_not_null(strstr(err->message, bad->says), "'%s' -> '%s': '%s' expected in '%s'",
                       bad->find ? bad->find : "", bad->put, bad->says, err->message);
    cr_expect_eq(err->code, RML_FORMAT);
    cr_expect_str_eq(err->file, path);
    cr_expect_null(strchr(err->message, '\n'));
}

TestSuite(golden_file, .init = make_file, .fini = remove_file);

Test(golden_file, reads_every_member)
{
    struct rml_error err = RML_ERROR_INIT;
    write_text(good_golden);
    struct golden *golden = golden_read(path, &err);
    cr_assert_not_null(golden, "%s", err.message);
    cr_expect_str_eq(golden->name, "toy");
    cr_expect_str_eq(golden->source_dtype, "float64");
    cr_expect_str_eq(golden->model_arch, "llama");
    cr_expect_eq(strlen(golden->model_sha256), 64);
    cr_expect_eq(strlen(golden->sha256), 64);
    cr_expect_eq(golden->arithmetic, RML_ARITHMETIC_F32);
    cr_expect_eq(golden->v_dtype, RML_KV_F32);
    cr_expect_eq(golden->logit_abs, 0.0002);
    cr_expect_eq(golden->logsumexp_abs, 0.0003);
    cr_expect_eq(golden->residual_rel, 1e-4);
    cr_assert_eq(golden->n_cases, 2);
    const struct golden_case *c = &golden->cases[0];
    cr_expect_str_eq(c->name, "one");
    cr_expect(golden_case_has_text(c));
    cr_expect_str_eq(c->source.text, "abc");
    cr_expect_eq(c->source.text_nbytes, 3);
    cr_expect_not(c->source.add_special);
    const struct golden_source *chat = &golden->cases[1].source;
    cr_assert_eq(chat->conversation.n, 1);
    cr_expect_str_eq(chat->conversation.messages[0].role, "user");
    cr_expect_str_eq(chat->conversation.messages[0].content, "Hi");
    cr_expect_str_eq(chat->chat_format, "chatml");
    cr_assert_eq(c->n_tokens, 3);
    cr_expect_eq(c->tokens[2], 7);
    cr_assert_eq(c->n_positions, 2);
    cr_expect_eq(c->positions[1].position, 2);
    cr_expect_eq(c->positions[0].logsumexp, 4.5);
    cr_assert_eq(c->positions[0].n, 2);
    cr_expect_eq(c->positions[0].ids[1], 2);
    cr_expect_eq(c->positions[0].logits[1], 1.25);
    cr_assert_eq(c->n_greedy, 2);
    cr_expect_eq(c->greedy[1], 3);
    cr_expect_eq(c->greedy_margin, 0.5);
    cr_assert_eq(c->n_residual, 2);
    cr_expect_eq(c->residual[1].branch, RML_BRANCH_FEED_FORWARD);
    cr_expect_eq(c->residual[1].projections[7], -8);
    cr_expect_lt(golden->cases[1].greedy_margin, 0);
    cr_expect_eq(golden_max_tokens(golden), 4); /* 3 tokens and the first of 2 steps */
    golden_destroy(golden);
}

/* "Positions may be any subset", and nothing says in which order. */
Test(golden_file, positions_in_any_order)
{
    static const struct malformed_file turned = {
        "{\"position\": 0, \"logsumexp\": 4.5, \"top\": [[9, 1.5], [2, 1.25]]},\n"
        "    {\"position\": 2, ",
        "{\"position\": 2, \"logsumexp\": 4.5, \"top\": [[9, 1.5], [2, 1.25]]},\n"
        "    {\"position\": 0, ",
        ""};
    struct rml_error err = RML_ERROR_INIT;
    write_malformed(good_golden, &turned);
    struct golden *golden = golden_read(path, &err);
    cr_assert_not_null(golden, "%s", err.message);
    const struct golden_position *p = golden->cases[0].positions;
    cr_expect(p[0].position == 0 && p[0].logsumexp == 4.25 && p[0].ids[0] == 8);
    cr_expect(p[1].position == 2 && p[1].logsumexp == 4.5 && p[1].ids[1] == 2);
    golden_destroy(golden);
}

Test(golden_file, refuses_each_malformed_file)
{
    char messages[128][1024];
    cr_assert_leq(n_malformed_goldens, 128);
    for (size_t i = 0; i < n_malformed_goldens; i++) {
        struct rml_error err = RML_ERROR_INIT;
        write_malformed(good_golden, &malformed_goldens[i]);
        struct golden *golden = golden_read(path, &err);
        cr_expect_null(golden, "'%s' was read", malformed_goldens[i].put);
        golden_destroy(golden);
        expect_error(&err, &malformed_goldens[i]);
        strcpy(messages[i], err.message);
    }
    /* A message of its own: only a pair that is too short and one too long share theirs. */
    size_t n_shared = 0;
    for (size_t i = 0; i < n_malformed_goldens; i++)
        for (size_t j = 0; j < i; j++)
            n_shared += strcmp(messages[i], messages[j]) == 0;
    cr_expect_leq(n_shared, 1);
}

/* What would have to be ignored: not malformed, but nothing that can be rendered. */
Test(golden_file, refuses_messages_of_other_kinds)
{
    static const struct malformed_file named = {
        "\"Hi\"}", "\"Hi\", \"name\": \"x\"}",
        "cases[1].messages[0]: key 'name', expected 'role' and 'content' alone"};
    struct rml_error err = RML_ERROR_INIT;
    write_malformed(good_golden, &named);
    cr_expect_null(golden_read(path, &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    cr_expect_str_eq(err.message, named.says);
}

static const struct rml_model_config toy = {.n_vocab = 64, .n_layer = 2, .n_context = 512};

Test(golden_file, fits_its_model)
{
    struct rml_error err = RML_ERROR_INIT;
    write_text(good_golden);
    struct golden *golden = golden_read(path, &err);
    cr_assert_not_null(golden, "%s", err.message);
    cr_expect(golden_fits(golden, &toy, &err), "%s", err.message);

    /* Three tokens and two steps take four positions: the last choice is not fed back. */
    struct rml_model_config small = toy;
    small.n_context = 4;
    cr_expect(golden_fits(golden, &small, &err), "%s", err.message);
    small.n_context = 3;
    cr_expect_not(golden_fits(golden, &small, &err));
    cr_expect_not_null(strstr(err.message, "cases[0]: 3 tokens and 2 greedy steps found"), "%s",
                       err.message);
    golden_destroy(golden);
}

Test(golden_file, refuses_what_does_not_fit)
{
    for (size_t i = 0; i < n_misfit_goldens; i++) {
        struct rml_error err = RML_ERROR_INIT;
        write_malformed(good_golden, &misfit_goldens[i]);
        struct golden *golden = golden_read(path, &err);
        cr_assert_not_null(golden, "%s", err.message);
        cr_expect_not(golden_fits(golden, &toy, &err), "'%s' fits", misfit_goldens[i].put);
        expect_error(&err, &misfit_goldens[i]);
        golden_destroy(golden);
    }
}

Test(golden_file, names)
{
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"a", NULL},
        {" ", NULL},
        {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x99\x82", NULL},
        {"\xc2\xa0", NULL},     /* U+00A0, next to the C1 controls */
        {"\xe2\x80\xa9", NULL}, /* U+2029, U+202F: next to the overrides */
        {"\xe2\x80\xaf", NULL},
        {"\xe2\x81\xa5", NULL}, /* U+2065, U+206A: next to the isolates */
        {"\xe2\x81\xaa", NULL},
        {"", "an empty string"},
        {"a\x1f", "a control character"},
        {"\x7f", "a control character"},
        {"\xc2\x80", "a control character"},
        {"a\xc2\x9f", "a control character"},
        {"\xe2\x80\xaa", "a control character"},
        {"\xe2\x80\xae", "a control character"},
        {"\xe2\x81\xa6", "a control character"},
        {"\xe2\x81\xa9", "a control character"},
        {"\xe2\x80", "a string that is no UTF-8"},
        {"\xff", "a string that is no UTF-8"},
        {"123456789", NULL},
        {"1234567890", "too long a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *fault = golden_name_fault(cases[i].text, strlen(cases[i].text), 9);
        cr_expect(cases[i].fault ? fault && strcmp(fault, cases[i].fault) == 0 : !fault, "'%s': %s",
                  cases[i].text, fault ? fault : "accepted");
    }
    cr_expect_str_eq(golden_name_fault("a\0b", 3, 9), "a control character");
}

/* Refused without being printed, however long. */
Test(golden_file, long_names)
{
    static char text[8192], name[GOLDEN_NAME_NBYTES + 2];
    const char *rest = strstr(good_golden, "\"toy\"") + strlen("\"toy\"");
    memset(name, 'x', GOLDEN_NAME_NBYTES);
    for (int i = 0; i < 2; i++) {
        struct rml_error err = RML_ERROR_INIT;
        snprintf(text, sizeof text, "%.*s\"%s\"%s", (int)(rest - good_golden - 5), good_golden,
                 name, rest);
        write_text(text);
        struct golden *golden = golden_read(path, &err);
        cr_expect_eq(golden != NULL, i == 0, "%s", err.message);
        golden_destroy(golden);
        if (i == 1)
            cr_expect_str_eq(err.message,
                             "name: too long a string found, expected a name of at most 256 bytes");
        name[GOLDEN_NAME_NBYTES] = 'x';
    }
}

Test(golden_file, size_is_limited)
{
    struct rml_error err = RML_ERROR_INIT;
    struct golden_manifest manifest;
    cr_assert_eq(truncate(path, (off_t)10 << 30), 0);
    cr_expect_null(golden_read(path, &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    cr_expect_not_null(strstr(err.message, "256 MiB"), "%s", err.message);
    rml_error_clear(&err);
    cr_expect_null(golden_read("/dev/zero", &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    rml_error_clear(&err);
    cr_expect_not(golden_manifest_read(&manifest, path, &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
}

Test(golden_file, missing_file_and_folder)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(golden_read("/nonexistent/golden.json", &err));
    cr_expect_eq(err.code, RML_NOT_FOUND);
    rml_error_clear(&err);
    cr_expect_null(golden_read("/tmp", &err));
    cr_expect_eq(err.code, RML_IO);
    cr_expect_not_null(strstr(err.message, "a folder found"), "%s", err.message);
}

/* Numbers that need all their digits, and names that need quoting. */
Test(golden_file, written_numbers_read_back_exactly)
{
    int32_t tokens[] = {3, 4}, ids[] = {7, 1}, greedy[] = {9};
    double logits[] = {(float)0.1f, -1.17549435e-38f}, all[] = {16777217.0f / 3, 5e-45f};
    struct golden_position positions[] = {
        {.position = 0, .logsumexp = 0.1 + 0.2, .n = 2, .ids = ids, .logits = logits},
        {.position = 1, .logsumexp = 1.0 / 3, .n = 2, .logits = all}};
    struct golden_residual residual = {.layer = 1,
                                       .branch = RML_BRANCH_ATTENTION,
                                       .position = 1,
                                       .norm = 1.0f / 3,
                                       .projections = {0.1f, -0.2f, 3e38f, 1e-45f, 0, 1, 2, 3}};
    struct golden_case c = {.name = (char *)"a \"quoted\" \\ name \xc3\xa9",
                            .source = {.text = (char *)"a\0\"\n\x1b\xe2\x80\xae", .text_nbytes = 8},
                            .tokens = tokens,
                            .n_tokens = 2,
                            .positions = positions,
                            .n_positions = 2,
                            .greedy = greedy,
                            .n_greedy = 1,
                            .greedy_margin = 0.1f,
                            .residual = &residual,
                            .n_residual = 1};
    struct golden golden = {.name = (char *)"n",
                            .source_engine = (char *)"e",
                            .source_version = (char *)"v",
                            .source_dtype = (char *)"d",
                            .model_arch = (char *)"llama",
                            .arithmetic = RML_ARITHMETIC_I8,
                            .k_dtype = RML_KV_F16,
                            .v_dtype = RML_KV_I8,
                            .logit_abs = 1e-3,
                            .logsumexp_abs = 0.1 + 0.2,
                            .residual_rel = 2e-5,
                            .cases = &c,
                            .n_cases = 1};
    memset(golden.model_sha256, 'a', 64);

    FILE *stream = fopen(path, "w");
    cr_assert_not_null(stream);
    golden_write(&golden, "avx2", stream);
    cr_assert_eq(fclose(stream), 0);
    struct rml_error err = RML_ERROR_INIT;
    struct golden *back = golden_read(path, &err);
    cr_assert_not_null(back, "%s", err.message);

    cr_expect_str_eq(back->model_sha256, golden.model_sha256);
    cr_expect_eq(back->arithmetic, RML_ARITHMETIC_I8);
    cr_expect_eq(back->k_dtype, RML_KV_F16);
    cr_expect_eq(back->v_dtype, RML_KV_I8);
    cr_expect_eq(back->logsumexp_abs, golden.logsumexp_abs);
    cr_expect_eq(back->residual_rel, 2e-5);
    const struct golden_case *b = &back->cases[0];
    cr_expect_str_eq(b->name, c.name);
    cr_assert_eq(b->source.text_nbytes, c.source.text_nbytes);
    cr_expect_arr_eq(b->source.text, c.source.text, c.source.text_nbytes + 1);
    cr_expect_not(b->source.add_special);
    cr_expect_eq(b->tokens[1], 4);
    cr_expect_eq(b->greedy[0], 9);
    cr_expect_eq((float)b->greedy_margin, 0.1f);
    for (int p = 0; p < 2; p++) {
        cr_expect_eq(b->positions[p].logsumexp, positions[p].logsumexp);
        for (int i = 0; i < 2; i++)
            cr_expect_eq((float)b->positions[p].logits[i], (float)positions[p].logits[i]);
    }
    cr_expect_eq(b->positions[0].ids[0], 7);
    cr_expect_null(b->positions[1].ids);
    cr_expect_eq(b->residual[0].norm, residual.norm);
    cr_expect_arr_eq(b->residual[0].projections, residual.projections, sizeof residual.projections);
    golden_destroy(back);
}

Test(golden_file, manifest)
{
    struct rml_error err = RML_ERROR_INIT;
    struct golden_manifest manifest;
    setenv("RML_MODELS_DIR", "/nonexistent", 1);
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    write_text(good_manifest);
    cr_assert(golden_manifest_read(&manifest, path, &err), "%s", err.message);
    cr_assert_eq(manifest.n_entries, 2);
    cr_expect_str_eq(manifest.entries[0].golden, "/tmp/a/golden.json");
    cr_expect_str_eq(manifest.entries[0].checkpoint, "/tmp/a/model.gguf");
    cr_expect_str_eq(manifest.entries[1].golden, "/b/golden.json");
    cr_expect_str_eq(manifest.entries[1].model_file, "b.gguf");
    cr_expect_null(manifest.entries[1].checkpoint);
    golden_manifest_release(&manifest);

    for (size_t i = 0; i < n_malformed_manifests; i++) {
        rml_error_clear(&err);
        write_malformed(good_manifest, &malformed_manifests[i]);
        cr_expect_not(golden_manifest_read(&manifest, path, &err), "'%s' was read",
                      malformed_manifests[i].put);
        expect_error(&err, &malformed_manifests[i]);
    }
}

/* RML_MODELS_DIR first, then the cache. */
Test(golden_file, model_file_is_looked_up)
{
    struct rml_error err = RML_ERROR_INIT;
    struct golden_manifest manifest;
    char text[512], cache[] = "/tmp/rml-cache-XXXXXX";
    const char *name = strrchr(path, '/') + 1;
    snprintf(text, sizeof text,
             "{\"format\": \"rml-golden-manifest\", \"version\": 1, \"entries\": "
             "[{\"golden\": \"g\", \"model_file\": \"%s\"}]}",
             name);
    write_text(text);
    setenv("RML_MODELS_DIR", "/tmp", 1);
    cr_assert(golden_manifest_read(&manifest, path, &err), "%s", err.message);
    cr_expect_str_eq(manifest.entries[0].checkpoint, path);
    golden_manifest_release(&manifest);

    setenv("RML_MODELS_DIR", "/nonexistent", 1);
    cr_assert_not_null(mkdtemp(cache));
    setenv("XDG_CACHE_HOME", cache, 1);
    cr_assert(golden_manifest_read(&manifest, path, &err), "%s", err.message);
    cr_expect_null(manifest.entries[0].checkpoint);
    golden_manifest_release(&manifest);
    snprintf(text, sizeof text, "mkdir -p %s/rml/models && ln -s %s %s/rml/models/%s", cache, path,
             cache, name);
    cr_assert_eq(system(text), 0);
    cr_assert(golden_manifest_read(&manifest, path, &err), "%s", err.message);
    cr_assert_not_null(manifest.entries[0].checkpoint);
    golden_manifest_release(&manifest);
    snprintf(text, sizeof text, "rm -r %s", cache);
    cr_assert_eq(system(text), 0);
}
