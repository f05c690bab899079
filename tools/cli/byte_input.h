/*
 * Bytes that are read as they come: all of standard input, for programs that take a text there.
 */
#ifndef TOOLS_CLI_BYTE_INPUT_H
#define TOOLS_CLI_BYTE_INPUT_H

#include "rml.h"

/* Appends; the room grows by doubling. RML_NO_MEMORY. */
bool cli_bytes_append(struct rml_bytes *out, const void *data, size_t nbytes,
                      struct rml_error *err);

/* Appends what standard input has until its end. RML_IO when it cannot be read, RML_CANCELLED
 * after SIGINT or SIGTERM; what has been read stays in `out`. */
bool cli_read_stdin(struct rml_bytes *out, struct rml_error *err);

#endif
