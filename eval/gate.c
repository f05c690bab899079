/*
 * Non-inferiority of one task.
 */
#include "eval/gate.h"

#include <math.h>

#include "eval/distributions.h"

const char *gate_verdict_name(enum gate_verdict verdict)
{
    static const char *const names[] = {"within", "inconclusive", "worse"};
    return names[verdict];
}

static void bounds_without_variance(const struct task_comparison *t, double alpha,
                                    struct gate_judgement *j)
{
    if (t->difference.estimate != 0)
        return;
    if (t->is_binary && t->n10 + t->n01 == 0) {
        j->lo = -unseen_event_bound((double)t->n_blocks, 1 - alpha);
        j->hi = -j->lo;
    } else if (t->n_blocks > 1 && !t->is_binary) {
        j->lo = j->hi = 0;
    }
}

struct gate_judgement gate_judge(const struct task_comparison *t, double margin, double alpha,
                                 double power, size_t n_tasks)
{
    const struct paired_difference *d = &t->difference;
    /* Of ln(PPL_a / PPL_b), too, a positive difference is a's being the greater. */
    double sign = t->lower_is_better ? -1 : 1;
    struct gate_judgement j = {.loss = sign * d->estimate,
                               .lo = NAN,
                               .hi = NAN,
                               .n_needed = NAN,
                               .verdict = GATE_INCONCLUSIVE};
    if (j.loss == 0)
        j.loss = 0; /* not -0 */
    if (d->standard_error > 0) {
        double df = (double)(d->n_blocks - 1), se = d->standard_error;
        j.hi = j.loss + student_t_critical(1 - 2 * alpha, df) * se;
        j.lo = j.loss - student_t_critical(1 - 2 * alpha / (double)n_tasks, df) * se;
        j.n_needed = items_needed(se, (double)t->n, margin, 2 * alpha, power);
    } else {
        bounds_without_variance(t, alpha, &j);
    }
    if (j.hi < margin)
        j.verdict = GATE_WITHIN;
    else if (j.lo > margin)
        j.verdict = GATE_WORSE;
    return j;
}
