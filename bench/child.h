/*
 * A child process that measures: of this program or of another build of it.
 *
 *     struct bench_child *child = bench_child_start(NULL, &err);
 *     if (!child || !bench_child_open(child, spec, &facts, &err) ||
 *         !bench_child_measure(child, 21, &samples, &outcome, &err))
 *         ...                                  a crash is an error like any other
 *     bench_child_end(child);
 *
 * A child that crashes, is killed or takes too long fails the call that waited for it, with
 * what happened to it as the message (RML_INTERNAL); every later call fails likewise. SIGINT and
 * SIGTERM are the parent's matter: the call then fails with RML_CANCELLED. A child dies with
 * its parent, whatever kills that.
 *
 * Thread rule: one thread, which started the child and lives as long as it.
 */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include "bench/measure.h"
#include "bench/plan.h"
#include "bench/suite.h"

struct bench_child;

/* What came out of measuring, besides samples. */
struct bench_outcome {
    char output_sha256[65]; /* "": the case has no output */
    int64_t rss_nbytes;     /* the child's peak; -1: not known */
    int64_t kv_nbytes;      /* as in bench_facts */
    json_t *
        profile; /* as bench_case.profile; NULL when it was not asked for, or there is none. Owned */
};

/* One block of iterations, for comparisons. */
struct bench_block {
    int64_t wall_ns, cpu_ns;
    uint64_t output; /* hash of the last iteration's output; 0: the case has none */
};

/* `program`: its path; NULL: this one. Waits for its first message, at most a minute. */
struct bench_child *bench_child_start(const char *program, struct rml_error *err);
/* Ends it, whatever it is doing, and waits for it. NULL is allowed. */
void bench_child_end(struct bench_child *child);

/* From now on a call takes at most so long; 0: as long as it wants (at first). */
void bench_child_limit(struct bench_child *child, double seconds);

/* Called some ten times a second while a call waits: for a progress line. NULL: nothing is. */
void bench_child_on_wait(struct bench_child *child, void (*tick)(void *user), void *user);

/* Opens the case, after the one that was open has been closed. */
bool bench_child_open(struct bench_child *child, const struct bench_spec *spec,
                      struct bench_facts *facts, struct rml_error *err);
/* Warm-up and n_reps repetitions (measure.h), output judged. On success *samples and
 * outcome->profile are the caller's. */
bool bench_child_measure(struct bench_child *child, int n_reps, bool profile,
                         struct bench_samples *samples, struct bench_outcome *outcome,
                         struct rml_error *err);
/* Warm-up alone; *iters are those of a repetition of 2 ms. */
bool bench_child_settle(struct bench_child *child, int64_t *iters, bool *steady,
                        struct rml_error *err);
bool bench_child_block(struct bench_child *child, int64_t iters, struct bench_block *block,
                       struct rml_error *err);
/* Judges the output of the last iteration (bench_case.verify). */
bool bench_child_verify(struct bench_child *child, struct rml_error *err);
/* The child's store_build_json; NULL on failure. */
json_t *bench_child_build(struct bench_child *child, struct rml_error *err);

#endif
