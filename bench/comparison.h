/*
 * One case, compared: base and head each open it in a child process of their own, and the two
 * take turns block by block (judge.h) until there are enough blocks.
 *
 * Both children stay for some blocks, then a new pair goes on, and only one works at a time.
 * Nothing is compared whose machine, instruction set, model, threads or work is not the same.
 */
#ifndef BENCH_COMPARISON_H
#define BENCH_COMPARISON_H

#include "bench/judge.h"
#include "bench/row.h"

enum { SIDE_BASE, SIDE_HEAD, N_SIDES };

struct comparison_side {
    const char *arm;     /* "base", "head", "canary": kept with its row */
    const char *program; /* a build of rml-bench; NULL: this one */
    const struct bench_spec *spec;
};

enum comparison_state {
    COMPARISON_JUDGED,
    COMPARISON_SKIPPED,      /* cannot be measured on either side */
    COMPARISON_INCOMPARABLE, /* the base is missing, or of something else */
    COMPARISON_FAILED
};

struct comparison {
    struct comparison_side sides[N_SIDES];
    enum comparison_state state;
    char why[2200]; /* unless it was judged */

    struct bench_row *rows[N_SIDES]; /* owned; with samples when it was judged, else NULL */
    struct judgement judgement;
    bool outputs_differ; /* of the same case: then the two do not compute the same */
};

/*
 * Runs a comparison; what goes wrong with it becomes its state. False when it was interrupted
 * (RML_CANCELLED): then it has no result. Release it in both cases. `progress` says what it is
 * in the progress line.
 */
bool comparison_run(struct comparison *c, const struct comparison_side sides[N_SIDES],
                    double confidence, double gate, struct rmli_rng *rng, const char *progress,
                    struct rml_error *err);
/* The same up to the point where something would be measured: the state is COMPARISON_JUDGED when
 * nothing so far keeps the two from being compared. */
bool comparison_try(struct comparison *c, const struct comparison_side sides[N_SIDES],
                    struct rml_error *err);
void comparison_release(struct comparison *c); /* safe on an all-zero struct */

/* bench_child_start; a program that is none of rml-bench's is RML_NOT_FOUND or RML_UNSUPPORTED. */
struct bench_child *comparison_start(const char *program, struct rml_error *err);
/* True for an error of the base that says: there is nothing to compare with. It is not there, too
 * old for this protocol, or does not know the case. */
bool comparison_base_is_missing(const struct rml_error *err);

/* The name of the first field in which the two may not differ but do: "threads"; NULL: none.
 * facts: of the opened cases. */
const char *comparison_difference(const struct bench_spec *const specs[N_SIDES],
                                  const struct bench_facts facts[N_SIDES], char values[2][80]);

#endif
