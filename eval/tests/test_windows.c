/*
 * Which ids a window holds and which of them it scores, for the examples in eval-semantics.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/windows.h"

static struct rml_thread_pool *pool;
static struct eval_engine engine;

static void open_toy(void)
{
    char path[1024];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/llama-text/hf-text", root ? root : ".");
    const struct eval_settings settings = {RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32};
    struct rml_error err = RML_ERROR_INIT;
    pool = rml_thread_pool_create(1, &err);
    cr_assert(eval_engine_init(&engine, path, &settings, pool, &err) &&
                  eval_engine_need_tokenizer(&engine, &err),
              "%s", err.message);
}

static void close_toy(void)
{
    eval_engine_release(&engine);
    rml_thread_pool_destroy(pool);
}

TestSuite(windows, .init = open_toy, .fini = close_toy);

/* Bytes that no merge of the toy joins: one id each. */
static const char ten[] = "9876543210";

static void cut(struct windows *windows, const struct window_settings *settings, const char *text)
{
    struct document doc = {.id = (char *)(uintptr_t) "doc", .text = text, .nbytes = strlen(text)};
    const struct documents documents = {.docs = &doc, .n = 1};
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(windows_init(windows, &engine, &documents, settings, &err), "%s", err.message);
}

static void expect(const struct windows *windows, size_t w, size_t begin, size_t n, size_t first)
{
    const struct eval_request *r = &windows->requests[w];
    cr_expect(r->tokens == windows->ids[0] + begin, "window %zu begins at %td, expected %zu", w,
              r->tokens - windows->ids[0], begin);
    cr_expect(r->n_tokens == n && r->first_target == first, "window %zu: %zu ids, first %zu", w,
              r->n_tokens, r->first_target);
}

/* ([-1],[0..3]), ([3],[4..7]), ([5,6,7],[8,9]); id i of the text is at 1 + i, the prefix at 0 */
Test(windows, rolling_windows_of_ten_ids)
{
    struct windows windows;
    const struct window_settings settings = {.protocol = PROTOCOL_LM_EVAL, .n_ctx = 4};
    cut(&windows, &settings, ten);
    cr_assert(windows.n == 3 && windows.docs[0].n_tokens == 10);
    cr_expect(windows.ids[0][0] == rml_tokenizer_prefix(engine.tokenizer));
    expect(&windows, 0, 0, 5, 1);
    expect(&windows, 1, 4, 5, 1);
    expect(&windows, 2, 6, 5, 3);
    windows_release(&windows);
}

/* BOS and ten digits are 11 ids: two chunks of 5, one id dropped, ids 3 and 4 of each scored. */
Test(windows, llama_cpp_chunks)
{
    struct windows windows;
    const struct window_settings settings = {.protocol = PROTOCOL_LLAMA_CPP, .n_ctx = 5};
    cut(&windows, &settings, ten);
    cr_assert(windows.n == 2 && windows.docs[0].n_dropped == 1);
    expect(&windows, 0, 0, 5, 3);
    expect(&windows, 1, 5, 5, 3);
    cr_expect(windows.requests[1].tokens[0] == rml_tokenizer_bos(engine.tokenizer));
    windows_release(&windows);
}

/* 11 ids, windows of 5 moved by 3: [0,5) scores 1-4, [3,8) 5-7, [6,11) 8-10. */
Test(windows, strided_windows_score_each_id_once)
{
    struct windows windows;
    const struct window_settings settings = {
        .protocol = PROTOCOL_HF_STRIDE, .n_ctx = 5, .stride = 3};
    cut(&windows, &settings, ten);
    cr_assert(windows.n == 3);
    expect(&windows, 0, 0, 5, 1);
    expect(&windows, 1, 3, 5, 2);
    expect(&windows, 2, 6, 5, 2);
    windows_release(&windows);
}

Test(windows, texts_too_short_to_score_have_none)
{
    struct windows windows;
    const enum protocol protocols[] = {PROTOCOL_LLAMA_CPP, PROTOCOL_HF_STRIDE, PROTOCOL_LM_EVAL};
    for (size_t i = 0; i < 3; i++) {
        const struct window_settings settings = {.protocol = protocols[i], .n_ctx = 5, .stride = 3};
        cut(&windows, &settings, "");
        cr_expect(windows.n == 0);
        windows_release(&windows);
    }
}
