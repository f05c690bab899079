/*
 * The content key of a score: SHA-256 over everything that its bits depend on.
 *
 * Checkpoint content, arithmetic, cache types, instruction set, the library's numerics version
 * and the request's ids and targets are in it; threads, batches and the text are not. So a score
 * kept under a key can be used whenever the key comes up again, in any run, and a score of
 * another model, a mended kernel or an edited prompt has another key.
 */
#ifndef EVAL_REQUEST_KEY_H
#define EVAL_REQUEST_KEY_H

#include "eval/eval_engine.h"
#include "eval/request.h"

#define REQUEST_KEY_NBYTES 65 /* 64 hex digits and a NUL */

/* `base` NULL: a plain score; else the other side of a comparison, whose identity goes in, too. */
bool request_key(const struct eval_engine *engine, const char *base,
                 const struct eval_request *request, char hex[REQUEST_KEY_NBYTES],
                 struct rml_error *err);

/* What of an engine the bits of a score depend on, in one readable text. */
bool request_key_engine(const struct eval_engine *engine, char *text, size_t nbytes);

/* SHA-256 of bytes in hex. */
bool eval_sha256(const void *data, size_t nbytes, char hex[65], struct rml_error *err);
/* Of the ids of all requests, one after another. */
bool eval_sha256_of_ids(const struct eval_request *requests, size_t n, char hex[65],
                        struct rml_error *err);
bool eval_sha256_of_file(const char *path, char hex[65], struct rml_error *err);

#endif
