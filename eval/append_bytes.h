/*
 * Bytes that grow.
 */
#ifndef EVAL_APPEND_BYTES_H
#define EVAL_APPEND_BYTES_H

#include "rml.h"

bool append_bytes(struct rml_bytes *out, const char *data, size_t nbytes, struct rml_error *err);

#endif
