/*
 * Text and messages against the tokens beside them, with the tokenizer of a toy (goldens/make/
 * text_toy.py). Its ids below: those of the golden, which the tokenizers package gave.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_text.h"

static struct rml_thread_pool *pool;
static struct golden_engine engine;
static struct golden *golden;

static void toy_path(char path[1024], const char *name)
{
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, 1024, "%s/goldens/fixtures/%s", root ? root : ".", name);
}

static void open_toy(void)
{
    char path[1024];
    struct rml_error err = RML_ERROR_INIT;
    pool = rml_thread_pool_create(1, &err);
    toy_path(path, "llama-text/model.gguf");
    cr_assert(golden_engine_init(&engine, path, pool, &err), "%s", err.message);
    toy_path(path, "llama-text/golden.json");
    golden = golden_read(path, &err);
    cr_assert_not_null(golden, "%s", err.message);
}

static void close_toy(void)
{
    golden_destroy(golden);
    golden_engine_release(&engine);
    rml_thread_pool_destroy(pool);
}

TestSuite(golden_text, .init = open_toy, .fini = close_toy);

/* Of a case without numbers, all of which stand for right ones. */
static struct golden_outcome compare(const struct golden_case *c, struct rml_error *why)
{
    struct golden_outcome outcome = {.passed = true};
    golden_compare_text(&engine, c, &outcome, why);
    return outcome;
}

static const char *text_of(const struct golden_outcome *outcome)
{
    static char text[256];
    golden_token_deviation_text(&outcome->token, text, sizeof text);
    return text;
}

Test(golden_text, every_case_of_the_toy_is_equal)
{
    for (size_t i = 0; i < golden->n_cases; i++) {
        struct rml_error why = RML_ERROR_INIT;
        struct golden_outcome outcome = compare(&golden->cases[i], &why);
        cr_expect(outcome.passed);
        cr_expect_eq(outcome.text, GOLDEN_TEXT_EQUAL, "%s: %s %s", golden->cases[i].name,
                     text_of(&outcome), why.message);
    }
}

Test(golden_text, names_the_first_token_that_differs)
{
    struct rml_error why = RML_ERROR_INIT;
    struct golden_case c = golden->cases[0]; /* <s>The toy ... */
    int32_t ids[64];
    cr_assert_leq(c.n_tokens, 63);
    memcpy(ids, c.tokens, c.n_tokens * sizeof *ids);
    size_t n = c.n_tokens;
    c.tokens = ids;

    ids[4] = 3;
    ids[6] = 3;
    struct golden_outcome outcome = compare(&c, &why);
    cr_expect_not(outcome.passed);
    cr_expect_eq(outcome.text, GOLDEN_TEXT_DIFFERS);
    cr_expect_eq(outcome.token.index, 4);
    cr_expect_eq(outcome.token.got, golden->cases[0].tokens[4]);
    cr_expect_eq(outcome.token.want, 3);
    cr_expect_str_eq(outcome.token.want_piece, "\"<|im_end|>\"");

    memcpy(ids, golden->cases[0].tokens, n * sizeof *ids);
    c.n_tokens = n - 1;
    outcome = compare(&c, &why);
    cr_expect_eq(outcome.token.index, n - 1);
    cr_expect_eq(outcome.token.want, -1);
    cr_expect_str_eq(outcome.token.got_piece, "\".\"");
    cr_expect(strstr(text_of(&outcome), " \".\" found, expected the end"), "%s", text_of(&outcome));

    ids[n] = 0;
    c.n_tokens = n + 1;
    outcome = compare(&c, &why);
    cr_expect_eq(outcome.token.index, n);
    cr_expect_eq(outcome.token.got, -1);
    cr_expect(strstr(text_of(&outcome), "the end found, expected id 0 \"<s>\""), "%s",
              text_of(&outcome));

    c.n_tokens = n;
    c.source.add_special = false;
    outcome = compare(&c, &why);
    cr_expect_eq(outcome.token.index, 0, "BOS is part of the ids");
}

/* One byte of a character, a control character, and an id beyond the vocabulary. */
Test(golden_text, pieces_cannot_drive_a_terminal)
{
    struct rml_error why = RML_ERROR_INIT;
    int32_t id = 320;
    struct golden_case c = {.name = (char *)"c",
                            .source = {.text = (char *)"\x1b", .text_nbytes = 1},
                            .tokens = &id,
                            .n_tokens = 1};
    struct golden_outcome outcome = compare(&c, &why);
    cr_expect(strstr(text_of(&outcome), " \"\\x1b\" found, expected id 320"), "%s",
              text_of(&outcome));
    cr_expect_str_eq(outcome.token.want_piece, "");
    c.source.text = (char *)"\xc3\xbf";
    c.source.text_nbytes = 2;
    outcome = compare(&c, &why);
    cr_expect(strstr(text_of(&outcome), " \"\\xc3\" found"), "%s", text_of(&outcome));
}

/* Special-token text is text: <s> of the text is no BOS. */
Test(golden_text, special_tokens_in_text_and_contents_stay_text)
{
    struct rml_error why = RML_ERROR_INIT;
    struct rml_ids ids = {0};
    const struct golden_source text = {.text = (char *)"<s>", .text_nbytes = 3};
    cr_assert(golden_encode_text(&engine, &text, &ids, &why), "%s", why.message);
    for (size_t i = 0; i < ids.n; i++)
        cr_expect_geq(ids.ids[i], 4);
    rml_ids_release(&ids);

    struct rml_chat_message message = {"user", "<|im_end|>", 10};
    const struct golden_source chat = {.conversation = {.messages = &message, .n = 1}};
    cr_assert(golden_encode_text(&engine, &chat, &ids, &why), "%s", why.message);
    size_t n_ends = 0;
    for (size_t i = 0; i < ids.n; i++)
        n_ends += ids.ids[i] == 3;
    cr_expect_eq(n_ends, 1, "the one that closes the turn");
    rml_ids_release(&ids);
}

/* A format that refuses the conversation, and a checkpoint without a tokenizer. */
Test(golden_text, what_cannot_be_compared_is_no_failure)
{
    struct rml_error why = RML_ERROR_INIT;
    struct golden_case c = golden->cases[2];
    struct rml_chat_message message = {"system", "Hi", 2};
    c.source.conversation = (struct rml_conversation){.messages = &message, .n = 1};
    c.source.chat_format = (char *)"gemma";
    struct golden_outcome outcome = compare(&c, &why);
    cr_expect_eq(outcome.text, GOLDEN_TEXT_NOT_COMPARED);
    cr_expect(outcome.passed);
    cr_expect_eq(why.code, RML_INVALID_ARGUMENT);

    char path[1024];
    struct golden_engine bare;
    rml_error_clear(&why);
    toy_path(path, "llama/model.gguf");
    cr_assert(golden_engine_init(&bare, path, pool, &why), "%s", why.message);
    outcome = (struct golden_outcome){.passed = true};
    golden_compare_text(&bare, &golden->cases[0], &outcome, &why);
    cr_expect_eq(outcome.text, GOLDEN_TEXT_NOT_COMPARED);
    cr_expect(outcome.passed);
    cr_expect_eq(why.code, RML_NOT_FOUND, "%s", why.message);
    golden_engine_release(&bare);
}
