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
               "SELECT e.task, e.protocol, m.file_name AS model, m.content_sha256 AS model_sha256,"
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

/* A document is known by its id, or across programs by its place. */
#define SAME_DOC_ID "b.doc_id = a.doc_id"
#define SAME_DOC_IDX "b.doc_idx = a.doc_idx"
#define VALUE(side, metric)                                                                        \
    "(SELECT m.value FROM eval_doc_metric AS m WHERE m.run_id = " side                             \
    ".run_id AND m.task = " side ".task AND m.doc_id = " side ".doc_id AND m.metric = " metric ")"
#define DOC_PAIRS(same)                                                                                          \
    "SELECT a.doc_id AS id, b.doc_id AS id_b, a.doc_idx AS idx,"                                                 \
    " coalesce(a.group_key, b.group_key) AS \"group\", a.text, b.text AS text_b,"                                \
    " a.gold_json AS gold, b.gold_json AS gold_b, " VALUE("a", "?5") " AS a, " VALUE("b", "?5") " AS b, " VALUE( \
        "a",                                                                                                     \
        "?6") " AS size, " VALUE("b",                                                                            \
                                 "?6") " AS size_b, " VALUE("a",                                                 \
                                                            "?7") " AS pick, " VALUE("b",                        \
                                                                                     "?7") " AS "                \
                                                                                           "pick_"               \
                                                                                           "b "                  \
                                                                                           "FROM "               \
                                                                                           "eval_"               \
                                                                                           "doc "                \
                                                                                           "AS a "               \
                                                                                           "LEFT "               \
                                                                                           "JOIN "               \
                                                                                           "eval_"               \
                                                                                           "doc "                \
                                                                                           "AS b "               \
                                                                                           "ON "                 \
                                                                                           "b."                  \
                                                                                           "run_"                \
                                                                                           "id = "               \
                                                                                           "?3 "                 \
                                                                                           "AND "                \
                                                                                           "b."                  \
                                                                                           "task "               \
                                                                                           "= ?4 "               \
                                                                                           "AND"                 \
                                                                                           " " same              \
                                                                                           " WHER"               \
                                                                                           "E "                  \
                                                                                           "a."                  \
                                                                                           "run_"                \
                                                                                           "id = "               \
                                                                                           "?1 "                 \
                                                                                           "AND "                \
                                                                                           "a."                  \
                                                                                           "task "               \
                                                                                           "= ?2 "               \
                                                                                           "ORDER"               \
                                                                                           " BY "                \
                                                                                           "a."                  \
                                                                                           "doc_"                \
                                                                                           "idx, "               \
                                                                                           "a."                  \
                                                                                           "doc_"                \
                                                                                           "id"

json_t *store_eval_doc_pairs_json(struct store *store, const struct store_eval_side *a,
                                  const struct store_eval_side *b, bool by_idx, const char *metric,
                                  const char *size_metric, const char *pick_metric,
                                  struct rml_error *err)
{
    struct query q;
    query_init(&q, store, by_idx ? DOC_PAIRS(SAME_DOC_IDX) : DOC_PAIRS(SAME_DOC_ID));
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
