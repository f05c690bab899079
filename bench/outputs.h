/*
 * Files that -o names: rows as JSON, JSON lines, CSV or Markdown, by the end of the name; "-" is
 * JSON on standard output.
 *
 * They are opened before anything is measured, so that a folder that is not there is found out
 * then, and appear whole at the end.
 */
#ifndef BENCH_OUTPUTS_H
#define BENCH_OUTPUTS_H

#include "bench/bench_run.h"
#include "tools/cli/output.h"

#define BENCH_MAX_OUTPUTS 8

struct bench_outputs {
    size_t n;
    const char *names[BENCH_MAX_OUTPUTS]; /* borrowed from the command line */
    struct cli_output files[BENCH_MAX_OUTPUTS];
    bool open[BENCH_MAX_OUTPUTS];
};

/* Adds a name; a bad one is a usage error. */
void bench_arg_output(struct argp_state *state, const char *name, struct bench_outputs *outputs);

/* Is standard output one of them? */
bool bench_outputs_to_stdout(const struct bench_outputs *outputs);

bool bench_outputs_open(struct bench_outputs *outputs, struct rml_error *err);
/* Writes all of them; false with the first error, and then none that is not whole is left. */
bool bench_outputs_write(struct bench_outputs *outputs, const struct bench_session *session,
                         struct rml_error *err);
void bench_outputs_abandon(struct bench_outputs *outputs);

#endif
