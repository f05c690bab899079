/*
 * Is the head slower than the base? The statistics of a comparison, without its clock.
 *
 * Base (A) and head (B) run in turns, four runs to a block, in the random order ABBA or
 * BAAB: whatever drifts linearly over a block is the same for both. The runs of a block
 * disturb each other, so a block counts once, with
 *
 *     log ratio = (log b1 + log b2 - log a1 - log a2) / 2        0: equal, above: head slower
 *
 * and the slowdown of a case is the median over its blocks. Its interval is that of the
 * sign test (tools/cli/order_statistics.h): nothing is assumed of the noise, which on a
 * shared machine has long tails and several modes. With m cases each has the confidence
 * 1 - 0.01/m, so that ALL of a job's intervals hold with 99 % (Bonferroni).
 *
 * A case gets 61 blocks, and 20 more at a time up to 201 while its interval is wider than
 * 4 %. Only the width decides that: going on until something is significant would find
 * something in the end.
 */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

#define JUDGE_FIRST_BLOCKS 61
#define JUDGE_MORE_BLOCKS 20
#define JUDGE_MAX_BLOCKS 201
#define JUDGE_MAX_WIDTH 0.04 /* of an interval that is narrow enough */
#define JUDGE_WARN 0.02      /* least slowdown that is worth a word */
#define JUDGE_GATE 0.05      /* least slowdown that is a regression, unless set otherwise */
#define JUDGE_ALPHA 0.01     /* a job's chance of any interval that misses */
#define JUDGE_POWER 0.9      /* with which the minimum detectable effect is detected */

/* True for ABBA, false for BAAB. */
bool judge_base_first(struct rmli_rng *rng);
/* The log ratio of one block; ns[4] as they were run. */
double judge_log_ratio(const int64_t *ns, bool base_first);

/* In the order of their weight; the names are "pass", "warn", "inconclusive", "regression". */
enum verdict { VERDICT_PASS, VERDICT_WARN, VERDICT_INCONCLUSIVE, VERDICT_REGRESSION };
const char *verdict_name(enum verdict verdict);

/* Slowdowns are fractions: 0.05 is 5 % slower, -0.05 that much faster. */
struct judgement {
    size_t n;          /* blocks */
    double slowdown;   /* median; NaN for n = 0 */
    double lo, hi;     /* its interval; NaN when n is too small for the confidence */
    double confidence; /* asked for; the interval has at least that */
    /* The least slowdown that a run with this one's noise tells from none, in the sense of
     * lo > 0, with probability JUDGE_POWER; NaN when n is too small for that. */
    double detectable;
    enum verdict verdict;
};

/* Confidence of each of n_cases intervals; n_cases > 0. */
double judge_confidence(size_t n_cases);

/*
 * Judges n log ratios, which are sorted on return.
 *
 *     regression    lo > 0 and slowdown >= gate
 *     inconclusive  interval wider than 4 % (or none) and hi >= gate
 *     warn          lo > 0 and slowdown >= 2 %
 *     pass          else
 */
struct judgement judge(double *log_ratios, size_t n, double confidence, double gate);

/* How many blocks to run next: 0 when there are enough. */
size_t judge_blocks_missing(const struct judgement *judgement);

/* What a job of several cases comes to. */
struct judge_job {
    bool error;        /* a case could not be measured */
    bool incomparable; /* base missing or of something else */
    bool canary_fails; /* two copies of the base "differ": this machine cannot tell now */
    size_t n_regressions, n_inconclusive;
};

/* A canary compares like with like, so neither side is the slower one by right: it fails
 * when it would be a regression one way round or the other. */
bool judge_canary_fails(const struct judgement *canary, double gate);

/* 1 on error, else 6, else 5 when the canary fails, else 3, else 5, else 0. */
int judge_exit_code(const struct judge_job *job);

#endif
