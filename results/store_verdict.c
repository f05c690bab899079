/*
 * Verdicts of comparisons.
 */
#include "results/store_private.h"

static int64_t insert_verdict(struct store *store, int64_t run_id, const struct store_verdict *v,
                              struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO verdict(run_id, base_result_id, candidate_result_id, metric, method, n,"
               " ratio, ci_lo, ci_hi, confidence, gate_pct, verdict)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    query_int(&q, run_id);
    query_int(&q, v->base_result_id);
    query_int(&q, v->candidate_result_id);
    query_text(&q, v->metric);
    query_text(&q, v->method);
    query_int(&q, v->n);
    query_real(&q, v->ratio);
    query_real(&q, v->ci_lo);
    query_real(&q, v->ci_hi);
    query_real(&q, v->confidence);
    query_real(&q, v->gate_pct);
    query_text(&q, v->verdict);
    int64_t id = query_id(&q);
    return query_release(&q, "storing a verdict", err) ? id : -1;
}

int64_t store_add_verdict(struct store *store, int64_t run_id, const struct store_verdict *verdict,
                          struct rml_error *err)
{
    if (!store)
        return 0;
    if (!store_begin(store, "storing a verdict", err))
        return -1;
    int64_t id = insert_verdict(store, run_id, verdict, err);
    return store_end(store, id >= 0, "storing a verdict", err) ? id : -1;
}
