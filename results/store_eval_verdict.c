/*
 * Verdicts on evaluations, and what a sweep shows of other tools' runs.
 */
#include "results/store_private.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool insert(struct store *store, const struct store_eval_verdict *verdicts, size_t n,
                   struct rml_error *err)
{
    struct query q;
    int64_t judged_ns = wall_ns();
    query_init(
        &q, store,
        "INSERT OR REPLACE INTO eval_verdict(run_id, base_run_id, task, metric, method, n,"
        " n_blocks, a, b, difference, stderr, ci_lo, ci_hi, confidence, p_value, p_holm, n10,"
        " n01, p_mcnemar, mde, power, margin, loss, loss_lo, loss_hi, verdict, flipped_json,"
        " judged_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < n && q.rc == SQLITE_OK; i++) {
        const struct store_eval_verdict *v = &verdicts[i];
        query_int(&q, v->run_id);
        query_int(&q, v->base_run_id);
        query_text(&q, v->task);
        query_text(&q, v->metric);
        query_text(&q, isnan(v->margin) ? "paired" : "non-inferiority");
        query_int(&q, v->n);
        query_int(&q, v->n_blocks);
        query_real(&q, v->a);
        query_real(&q, v->b);
        query_real(&q, v->difference);
        query_real(&q, v->standard_error);
        query_real(&q, v->ci_lo);
        query_real(&q, v->ci_hi);
        query_real(&q, v->confidence);
        query_real(&q, v->p_value);
        query_real(&q, v->p_holm);
        query_count(&q, v->n10);
        query_count(&q, v->n01);
        query_real(&q, v->p_mcnemar);
        query_real(&q, v->mde);
        query_real(&q, v->power);
        query_real(&q, v->margin);
        query_real(&q, v->loss);
        query_real(&q, v->loss_lo);
        query_real(&q, v->loss_hi);
        query_text(&q, v->verdict);
        query_text(&q, v->flipped_json);
        query_int(&q, judged_ns);
        query_run(&q);
    }
    return query_release(&q, "storing verdicts", err);
}

bool store_add_eval_verdicts(struct store *store, const struct store_eval_verdict *verdicts,
                             size_t n, struct rml_error *err)
{
    if (!store || n == 0)
        return true;
    if (!store_begin(store, "storing verdicts", err))
        return false;
    return store_end(store, insert(store, verdicts, n, err), "storing verdicts", err);
}

bool store_find_decode_speed(struct store *store, int64_t run_id, const char *task,
                             struct store_decode_speed *speed, struct rml_error *err)
{
    *speed = (struct store_decode_speed){.tokens_per_second = NAN};
    if (!store)
        return true;
    struct query q;
    query_init(&q, store,
               "SELECT c.tokens_per_second, coalesce(c.n_depth, 0), c.run_uuid"
               " FROM eval AS e JOIN run AS u ON u.id = e.run_id"
               " JOIN v_chart AS c ON c.model_id = e.model_id AND c.arithmetic = e.arithmetic"
               "  AND c.k_dtype = e.k_dtype AND c.v_dtype = e.v_dtype AND c.isa = e.isa"
               "  AND c.threads = e.threads AND c.host_id = u.host_id"
               " WHERE e.run_id = ? AND e.task = ? AND c.suite = 'decoder' AND c.engine = 'rml'"
               "  AND c.n_gen > 0 AND coalesce(c.n_batch, 1) = 1 AND c.arm IS NULL"
               "  AND c.status IN ('ok', 'unstable') AND NOT c.is_wrong"
               "  AND c.tokens_per_second > 0"
               " ORDER BY coalesce(c.n_depth, 0), c.start_ns DESC, c.result_id DESC LIMIT 1");
    query_int(&q, run_id);
    query_text(&q, task);
    if (query_step(&q)) {
        speed->tokens_per_second = sqlite3_column_double(q.stmt, 0);
        speed->n_depth = sqlite3_column_int64(q.stmt, 1);
        snprintf(speed->run_uuid, sizeof speed->run_uuid, "%s",
                 (const char *)sqlite3_column_text(q.stmt, 2));
    }
    return query_release(&q, "looking for a speed of decoding", err);
}
