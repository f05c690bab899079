/*
 * Windows over long texts.
 */
#include "eval/windows.h"

#include <stdlib.h>
#include <string.h>

#include "eval/encode_text.h"
#include "eval/request_key.h"

static const char *const protocol_names[] = {"llama.cpp", "hf-stride", "lm-eval"};

const char *protocol_name(enum protocol protocol)
{
    return protocol_names[protocol];
}

bool protocol_parse(const char *name, enum protocol *protocol)
{
    for (size_t i = 0; i < sizeof protocol_names / sizeof protocol_names[0]; i++)
        if (strcmp(name, protocol_names[i]) == 0) {
            *protocol = (enum protocol)i;
            return true;
        }
    return false;
}

size_t windows_least_ids(const struct window_settings *settings)
{
    return settings->protocol == PROTOCOL_LLAMA_CPP   ? settings->n_ctx
           : settings->protocol == PROTOCOL_HF_STRIDE ? 2
                                                      : 1;
}

/* ---- Ids of a document ------------------------------------------------------------------ */

static bool prepend(struct rml_ids *ids, int32_t id, struct rml_error *err)
{
    if (ids->n == ids->capacity) {
        int32_t *grown = realloc(ids->ids, (ids->n + 1) * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", ids->n + 1);
        ids->ids = grown;
        ids->capacity = ids->n + 1;
    }
    memmove(ids->ids + 1, ids->ids, ids->n * sizeof *ids->ids);
    ids->ids[0] = id;
    ids->n++;
    return true;
}

/* In lm-eval's protocol the prefix id comes first, which only conditions. */
static bool encode(const struct eval_engine *engine, const struct document *doc,
                   const struct window_settings *settings, struct rml_ids *ids,
                   struct rml_error *err)
{
    switch (settings->protocol) {
    case PROTOCOL_LLAMA_CPP:
        return eval_engine_encode(engine, doc->text, doc->nbytes, RML_ADD_SPECIAL, ids, err);
    case PROTOCOL_HF_STRIDE:
        return encode_text(engine, doc->text, doc->nbytes, ids, err);
    case PROTOCOL_LM_EVAL:
        break;
    }
    int32_t prefix;
    if (!encode_prefix(engine, &prefix, err))
        return false;
    bool ok = settings->double_bos
                  ? encode_text(engine, doc->text, doc->nbytes, ids, err)
                  : eval_engine_encode(engine, doc->text, doc->nbytes, RML_PARSE_SPECIAL, ids, err);
    return ok && prepend(ids, prefix, err);
}

/* ---- Windows of a document ----------------------------------------------------------------- */

/* Where a window lies in the ids: [begin, end), scored from `first` on. */
struct window {
    size_t begin, end, first;
};

static size_t n_llama_cpp(size_t n_ids, const struct window_settings *s)
{
    return n_ids / s->n_ctx;
}

static struct window llama_cpp_window(size_t w, const struct window_settings *s)
{
    size_t begin = w * s->n_ctx;
    return (struct window){
        .begin = begin, .end = begin + s->n_ctx, .first = begin + s->n_ctx / 2 + 1};
}

/* The first window scores all but id 0. */
static size_t n_hf_stride(size_t n_ids, const struct window_settings *s)
{
    if (n_ids < 2)
        return 0;
    return n_ids <= s->n_ctx ? 1 : 1 + (n_ids - s->n_ctx + s->stride - 1) / s->stride;
}

static struct window hf_stride_window(size_t w, size_t n_ids, const struct window_settings *s)
{
    size_t begin = w * s->stride;
    size_t end = n_ids - begin < s->n_ctx ? n_ids : begin + s->n_ctx;
    return (struct window){
        .begin = begin, .end = end, .first = w == 0 ? 1 : begin - s->stride + s->n_ctx};
}

/* n_ids counts the prefix id. */
static size_t n_lm_eval(size_t n_ids, const struct window_settings *s)
{
    return (n_ids - 1 + s->n_ctx - 1) / s->n_ctx;
}

static struct window lm_eval_window(size_t w, size_t n_ids, const struct window_settings *s)
{
    size_t first = 1 + w * s->n_ctx;
    if (n_ids - first >= s->n_ctx)
        return (struct window){.begin = first - 1, .end = first + s->n_ctx, .first = first};
    size_t begin = w == 0 ? 0 : n_ids - s->n_ctx - 1;
    return (struct window){.begin = begin, .end = n_ids, .first = first};
}

static size_t n_windows(size_t n_ids, const struct window_settings *s)
{
    switch (s->protocol) {
    case PROTOCOL_LLAMA_CPP:
        return n_llama_cpp(n_ids, s);
    case PROTOCOL_HF_STRIDE:
        return n_hf_stride(n_ids, s);
    case PROTOCOL_LM_EVAL:
        break;
    }
    return n_lm_eval(n_ids, s);
}

static struct window window_at(size_t w, size_t n_ids, const struct window_settings *s)
{
    switch (s->protocol) {
    case PROTOCOL_LLAMA_CPP:
        return llama_cpp_window(w, s);
    case PROTOCOL_HF_STRIDE:
        return hf_stride_window(w, n_ids, s);
    case PROTOCOL_LM_EVAL:
        break;
    }
    return lm_eval_window(w, n_ids, s);
}

static bool add_windows(struct windows *windows, const struct eval_engine *engine, size_t d,
                        const char *doc_id, size_t n_ids, const struct window_settings *s,
                        struct rml_error *err)
{
    struct window_document *doc = &windows->docs[d];
    int32_t *ids = windows->ids[d];
    size_t n = n_windows(n_ids, s);
    struct eval_request *grown =
        realloc(windows->requests, (windows->n + n + 1) * sizeof *windows->requests);
    if (!grown)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu windows", n);
    windows->requests = grown;
    *doc = (struct window_document){.first_window = windows->n, .n_windows = n, .n_tokens = n_ids};
    if (s->protocol == PROTOCOL_LLAMA_CPP)
        doc->n_dropped = n_ids - n * s->n_ctx;
    if (s->protocol == PROTOCOL_LM_EVAL)
        doc->n_tokens--; /* the prefix is no id of the text */
    bool bos = s->protocol == PROTOCOL_LLAMA_CPP && rml_tokenizer_adds_bos(engine->tokenizer);
    for (size_t w = 0; w < n; w++) {
        struct window at = window_at(w, n_ids, s);
        if (bos)
            ids[at.begin] = rml_tokenizer_bos(engine->tokenizer);
        windows->requests[windows->n++] = (struct eval_request){
            .tokens = ids + at.begin,
            .n_tokens = at.end - at.begin,
            .first_target = at.first - at.begin,
            .doc_id = doc_id,
            .choice_idx = (int64_t)w,
        };
    }
    return true;
}

bool windows_init(struct windows *windows, const struct eval_engine *engine,
                  const struct documents *documents, const struct window_settings *settings,
                  struct rml_error *err)
{
    *windows = (struct windows){.n_docs = documents->n};
    windows->docs = calloc(documents->n + 1, sizeof *windows->docs);
    windows->ids = calloc(documents->n + 1, sizeof *windows->ids);
    bool ok = windows->docs && windows->ids;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for windows");
    for (size_t d = 0; ok && d < documents->n; d++) {
        struct rml_ids ids = {0};
        ok = encode(engine, &documents->docs[d], settings, &ids, err);
        windows->ids[d] = ids.ids;
        ok = ok && add_windows(windows, engine, d, documents->docs[d].id, ids.n, settings, err);
    }
    if (!ok)
        windows_release(windows);
    return ok;
}

void windows_release(struct windows *windows)
{
    for (size_t d = 0; windows->ids && d < windows->n_docs; d++)
        free(windows->ids[d]);
    free(windows->ids);
    free(windows->docs);
    free(windows->requests);
    *windows = (struct windows){0};
}

bool windows_ids_sha256(const struct windows *windows, size_t document, char hex[65],
                        struct rml_error *err)
{
    return eval_sha256(windows->ids[document],
                       windows->docs[document].n_tokens * sizeof *windows->ids[document], hex, err);
}
