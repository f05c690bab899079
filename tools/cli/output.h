/*
 * A file that -o names: whole or not there.
 *
 * A regular file is written beside its place and renamed when it is complete, so
 * a reader never sees half of it and an error leaves what was there. Of a symbolic
 * link the target is replaced, which need not be there yet. "-" is standard output;
 * a device or pipe is written directly.
 */
#ifndef TOOLS_CLI_OUTPUT_H
#define TOOLS_CLI_OUTPUT_H

#include <stdio.h>

#include "rml.h"

struct cli_output {
    FILE *stream; /* write here; seekable as far as the file is; has no fileno */
    char *path;   /* where the file will be */
    char *temp;   /* where it is now; NULL when written directly */
    struct cli_output_sink *sink;
};

/* `name` is not empty (cli_arg_output refuses that as bad usage). */
bool cli_output_open(struct cli_output *output, const char *name, struct rml_error *err);
/* Flushes, syncs, renames; false, with the reason, when anything written was lost. Releases
 * *output. */
bool cli_output_commit(struct cli_output *output, struct rml_error *err);
/* For a writer that could not go on: records why, which is the first write that failed, or where
 * none did that memory was exhausted. Returns false; the output is still to be abandoned. */
bool cli_output_fail(const struct cli_output *output, struct rml_error *err);
/* Removes what was written, as far as that can be. Safe on a zero struct. */
void cli_output_abandon(struct cli_output *output);

#endif
