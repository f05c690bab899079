/*
 * Evaluations as they were stored, for comparing two runs: what each is of, and their documents
 * or windows side by side. The rows of a pair are joined here, so that a reader never has to
 * know how the tables refer to each other.
 */
#include "results/query_json.h"

static const char doing[] = "reading evaluations";

json_t *store_eval_tasks_json(struct store *store, int64_t run_id, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT e.task, e.protocol, coalesce(m.file_name,"
               "  json_extract(e.settings_json, '$.model_name')) AS model," /* of an import */
               " m.content_sha256 AS model_sha256,"
               " e.tokenizer_sha256, e.arithmetic, e.k_dtype, e.v_dtype, e.isa, e.settings_json,"
               " r.uuid AS run, r.label, r.kind, r.state,"
               " (SELECT count(*) FROM eval_doc AS d WHERE d.run_id = e.run_id AND d.task = e.task)"
               " AS n_docs,"
               " (SELECT json_group_array(metric) FROM (SELECT DISTINCT d.metric FROM"
               "  eval_doc_metric AS d WHERE d.run_id = e.run_id AND d.task = e.task"
               "  ORDER BY d.metric)) AS metrics_json "
               "FROM eval AS e JOIN run AS r ON r.id = e.run_id"
               " LEFT JOIN model AS m ON m.id = e.model_id WHERE e.run_id = ? ORDER BY e.id");
    query_int(&q, run_id);
    return query_rows_json(&q, doing, err);
}

static void bind_sides(struct query *q, const struct store_eval_side *a,
                       const struct store_eval_side *b)
{
    query_int(q, a->run_id);
    query_text(q, a->task);
    query_int(q, b->run_id);
    query_text(q, b->task);
}

/* %s: a document is known by its id, or across programs by its place. */
static const char doc_pairs[] =
    "SELECT a.doc_id AS id, b.doc_id AS id_b, a.doc_idx AS idx,"
    " coalesce(a.group_key, b.group_key) AS \"group\", a.text, b.text AS text_b,"
    " a.gold_json AS gold, b.gold_json AS gold_b, value_a.value AS a, value_b.value AS b,"
    " size_a.value AS size, size_b.value AS size_b, pick_a.value AS pick,"
    " pick_b.value AS pick_b "
    "FROM eval_doc AS a LEFT JOIN eval_doc AS b"
    " ON b.run_id = ?3 AND b.task = ?4 AND b.%s = a.%s"
    " LEFT JOIN eval_doc_metric AS value_a ON value_a.run_id = a.run_id"
    " AND value_a.task = a.task AND value_a.doc_id = a.doc_id AND value_a.metric = ?5"
    " LEFT JOIN eval_doc_metric AS value_b ON value_b.run_id = b.run_id"
    " AND value_b.task = b.task AND value_b.doc_id = b.doc_id AND value_b.metric = ?5"
    " LEFT JOIN eval_doc_metric AS size_a ON size_a.run_id = a.run_id"
    " AND size_a.task = a.task AND size_a.doc_id = a.doc_id AND size_a.metric = ?6"
    " LEFT JOIN eval_doc_metric AS size_b ON size_b.run_id = b.run_id"
    " AND size_b.task = b.task AND size_b.doc_id = b.doc_id AND size_b.metric = ?6"
    " LEFT JOIN eval_doc_metric AS pick_a ON pick_a.run_id = a.run_id"
    " AND pick_a.task = a.task AND pick_a.doc_id = a.doc_id AND pick_a.metric = ?7"
    " LEFT JOIN eval_doc_metric AS pick_b ON pick_b.run_id = b.run_id"
    " AND pick_b.task = b.task AND pick_b.doc_id = b.doc_id AND pick_b.metric = ?7"
    " WHERE a.run_id = ?1 AND a.task = ?2 ORDER BY a.doc_idx, a.doc_id";

json_t *store_eval_doc_pairs_json(struct store *store, const struct store_eval_side *a,
                                  const struct store_eval_side *b, bool by_idx, const char *metric,
                                  const char *size_metric, const char *pick_metric,
                                  struct rml_error *err)
{
    struct query q;
    char sql[sizeof doc_pairs + 16];
    const char *known_by = by_idx ? "doc_idx" : "doc_id";
    snprintf(sql, sizeof sql, doc_pairs, known_by, known_by);
    query_init(&q, store, sql);
    bind_sides(&q, a, b);
    query_text(&q, metric);
    query_text(&q, size_metric);
    query_text(&q, pick_metric);
    return query_rows_json(&q, doing, err);
}

json_t *store_eval_window_pairs_json(struct store *store, const struct store_eval_side *a,
                                     const struct store_eval_side *b, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT a.doc_id AS id, a.choice_idx AS part, -a.loglik AS a, -b.loglik AS b,"
               " a.n_tokens AS size, b.n_tokens AS size_b,"
               " a.token_ids = b.token_ids AND a.n_tokens = b.n_tokens AS is_same "
               "FROM eval_item AS a LEFT JOIN eval_item AS b ON b.run_id = ?3 AND b.task = ?4"
               " AND b.doc_id = a.doc_id AND b.choice_idx = a.choice_idx"
               " LEFT JOIN eval_doc AS d ON d.run_id = a.run_id AND d.task = a.task"
               " AND d.doc_id = a.doc_id"
               " WHERE a.run_id = ?1 AND a.task = ?2 ORDER BY d.doc_idx, a.doc_id, a.choice_idx");
    bind_sides(&q, a, b);
    return query_rows_json(&q, doing, err);
}

int64_t store_eval_window_count(struct store *store, const struct store_eval_side *side,
                                struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "SELECT count(*) FROM eval_item WHERE run_id = ? AND task = ?");
    query_int(&q, side->run_id);
    query_text(&q, side->task);
    int64_t n = query_id(&q);
    return query_release(&q, doing, err) ? n : -1;
}
