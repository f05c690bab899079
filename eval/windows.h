/*
 * Windows: how a text that is longer than a context is scored, by protocol.
 *
 *   llama.cpp   disjoint chunks of n_ctx ids, the rest dropped; id 0 of each becomes BOS when
 *               the tokenizer adds one; scored: the last n_ctx - n_ctx / 2 - 1 ids
 *   hf-stride   windows of n_ctx ids moved by `stride`; each scores what none before it has
 *   lm-eval     the prefix id, then the text; window w scores n_ctx ids and sees the one before
 *               them; the last one is filled up with ids before it to a full context
 *
 * A number is comparable only inside its protocol.
 */
#ifndef EVAL_WINDOWS_H
#define EVAL_WINDOWS_H

#include "eval/documents.h"
#include "eval/eval_engine.h"
#include "eval/request.h"

enum protocol { PROTOCOL_LLAMA_CPP, PROTOCOL_HF_STRIDE, PROTOCOL_LM_EVAL };
const char *protocol_name(enum protocol protocol);
bool protocol_parse(const char *name, enum protocol *protocol);

struct window_settings {
    enum protocol protocol;
    size_t n_ctx;    /* at least 2 */
    size_t stride;   /* hf-stride: in [1, n_ctx - 1] */
    bool double_bos; /* lm-eval: encode with special tokens and put the prefix before them too */
};

/* How many ids, specials included, a document has at least when something of it is scored. */
size_t windows_least_ids(const struct window_settings *settings);

/* What became of a document. */
struct window_document {
    size_t first_window, n_windows; /* consecutive in `requests` */
    size_t n_tokens;                /* ids, specials included */
    size_t n_dropped;               /* llama.cpp: ids of the remainder */
};

struct windows {
    struct eval_request *requests; /* [n] in order of documents; doc_id is the document's */
    size_t n;
    struct window_document *docs; /* [n_docs] */
    size_t n_docs;
    int32_t **ids; /* [n_docs] what the requests point into */
};

/* The engine has a tokenizer. A protocol that needs a prefix id refuses a tokenizer without. */
bool windows_init(struct windows *windows, const struct eval_engine *engine,
                  const struct documents *documents, const struct window_settings *settings,
                  struct rml_error *err);
void windows_release(struct windows *windows);

/* SHA-256 in hex of all ids of a document. */
bool windows_ids_sha256(const struct windows *windows, size_t document, char hex[65],
                        struct rml_error *err);

#endif
