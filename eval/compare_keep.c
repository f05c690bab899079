/*
 * A comparison in the database.
 */
#include "eval/compare_keep.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static const char *verdict_of(const struct compare_report *r, size_t i)
{
    const struct task_comparison *t = &r->comparison->tasks[i];
    if (r->gates)
        return gate_verdict_name(r->gates[i].verdict);
    if (!(t->p_holm < 1 - r->comparison->confidence))
        return "no difference seen";
    return (t->difference.estimate > 0) != t->lower_is_better ? "base is better"
                                                              : "candidate is better";
}

static struct store_eval_verdict verdict_row(const struct compare_report *r, size_t i,
                                             const char *flipped)
{
    const struct task_comparison *t = &r->comparison->tasks[i];
    const struct gate_judgement none = {.loss = NAN, .lo = NAN, .hi = NAN};
    const struct gate_judgement *gate = r->gates ? &r->gates[i] : &none;
    return (struct store_eval_verdict){.run_id = r->comparison->run_b,
                                       .base_run_id = r->comparison->run_a,
                                       .task = t->task,
                                       .metric = t->metric,
                                       .n = (int64_t)t->n,
                                       .n_blocks = (int64_t)t->difference.n_blocks,
                                       .a = t->a,
                                       .b = t->b,
                                       .difference = t->difference.estimate,
                                       .standard_error = t->difference.standard_error,
                                       .ci_lo = t->difference.lo,
                                       .ci_hi = t->difference.hi,
                                       .confidence = r->comparison->confidence,
                                       .p_value = t->difference.p_value,
                                       .p_holm = t->p_holm,
                                       .n10 = t->is_binary ? (int64_t)t->n10 : -1,
                                       .n01 = t->is_binary ? (int64_t)t->n01 : -1,
                                       .p_mcnemar = t->p_mcnemar,
                                       .mde = t->mde,
                                       .power = r->comparison->power,
                                       .margin = r->gates ? r->margin : NAN,
                                       .loss = gate->loss,
                                       .loss_lo = gate->lo,
                                       .loss_hi = gate->hi,
                                       .verdict = verdict_of(r, i),
                                       .flipped_json = flipped};
}

bool compare_keep(const struct compare_report *r, struct store *store, struct rml_error *err)
{
    size_t n = r->comparison->n;
    struct store_eval_verdict *rows = calloc(n + 1, sizeof *rows);
    char **flipped = calloc(n + 1, sizeof *flipped);
    bool ok = rows && flipped;
    for (size_t i = 0; ok && i < n; i++) {
        flipped[i] = json_dumps(r->comparison->tasks[i].flipped, JSON_COMPACT);
        ok = flipped[i] != NULL;
        if (ok)
            rows[i] = verdict_row(r, i, flipped[i]);
    }
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to keep a comparison");
    ok = ok && store_add_eval_verdicts(store, rows, n, err);
    for (size_t i = 0; flipped && i < n; i++)
        free(flipped[i]);
    free(flipped);
    free(rows);
    return ok;
}
