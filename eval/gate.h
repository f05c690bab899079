/*
 * Is a candidate not worse than a base by more than a margin? A test of non-inferiority: the
 * whole interval of the loss has to lie below the margin. That no difference was seen is never a
 * reason to pass; too few items are inconclusive.
 *
 *     within         hi < margin
 *     worse          lo > margin
 *     inconclusive   else
 *
 * The bound `hi` has the one-sided confidence 1 - alpha for each task: all tasks must be within,
 * so the chance of passing one that is not stays below alpha however many there are. `lo` has
 * 1 - alpha / tasks (Bonferroni): any of them fails the gate.
 */
#ifndef EVAL_GATE_H
#define EVAL_GATE_H

#include "eval/compare_tasks.h"

/* In the order of their weight; names "within", "inconclusive", "worse". */
enum gate_verdict { GATE_WITHIN, GATE_INCONCLUSIVE, GATE_WORSE };
const char *gate_verdict_name(enum gate_verdict verdict);

struct gate_judgement {
    double loss;   /* how much worse b is than a: of an accuracy a - b, of perplexities ln(b / a) */
    double lo, hi; /* its bounds; NaN when they are not defined */
    double n_needed; /* items like these that show a loss of 0 to be within the margin, at the
                      * comparison's power; NaN when that is not defined */
    enum gate_verdict verdict;
};

/*
 * Without variance: when items are right or wrong and none differs, the bound is what the chance
 * of one that does may still be; equal values of at least two blocks have no loss; anything else
 * is inconclusive. margin > 0.
 */
struct gate_judgement gate_judge(const struct task_comparison *task, double margin, double alpha,
                                 double power, size_t n_tasks);

#endif
