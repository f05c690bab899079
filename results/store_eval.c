/*
 * Evaluations: what they are of, scores of requests under their content keys, figures.
 */
#include "results/store_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blobs are little-endian");

int64_t store_add_eval(struct store *store, int64_t run_id, const struct store_eval *e,
                       struct rml_error *err)
{
    if (!store)
        return 0;
    struct query q;
    query_init(&q, store,
               "INSERT INTO eval(run_id, task, protocol, model_id, tokenizer_sha256, arithmetic,"
               " k_dtype, v_dtype, isa, threads, numerics_version, base_model_id, base_arithmetic,"
               " base_k_dtype, base_v_dtype, settings_json)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    query_int(&q, run_id);
    query_text(&q, e->task);
    query_text(&q, e->protocol);
    query_ref(&q, e->model_id);
    query_text(&q, e->tokenizer_sha256);
    query_text(&q, e->arithmetic);
    query_text(&q, e->k_dtype);
    query_text(&q, e->v_dtype);
    query_text(&q, e->isa);
    query_count(&q, e->threads);
    query_count(&q, e->numerics_version);
    query_ref(&q, e->base_model_id);
    query_text(&q, e->base_arithmetic);
    query_text(&q, e->base_k_dtype);
    query_text(&q, e->base_v_dtype);
    query_text(&q, e->settings_json ? e->settings_json : "{}");
    int64_t id = query_id(&q);
    return query_release(&q, "storing an evaluation", err) ? id : -1;
}

/* ---- Items ----------------------------------------------------------------------------- */

bool store_insert_eval_items(struct store *store, int64_t run_id,
                             const struct store_eval_item *items, size_t n, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO eval_item(run_id, task, doc_id, choice_idx, request_sha256, token_ids,"
               " token_logprobs, token_extra, n_tokens, loglik, n_truncated, is_greedy, wall_ns)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < n && q.rc == SQLITE_OK; i++) {
        const struct store_eval_item *item = &items[i];
        query_int(&q, run_id);
        query_text(&q, item->task);
        query_text(&q, item->doc_id);
        query_int(&q, item->choice_idx);
        query_text(&q, item->request_sha256);
        query_blob(&q, item->token_ids, item->n_token_ids * sizeof *item->token_ids);
        query_blob(&q, item->token_logprobs, item->n_tokens * sizeof *item->token_logprobs);
        query_blob(&q, item->token_extra, item->n_extra * sizeof *item->token_extra);
        query_int(&q, (int64_t)item->n_tokens);
        query_real(&q, item->loglik);
        query_count(&q, item->n_truncated);
        query_count(&q, item->is_greedy);
        query_count(&q, item->wall_ns);
        query_run(&q);
    }
    return query_release(&q, "storing scores", err);
}

bool store_add_eval_items(struct store *store, int64_t run_id, const struct store_eval_item *items,
                          size_t n, struct rml_error *err)
{
    if (!store || n == 0)
        return true;
    if (!store_begin(store, "storing scores", err))
        return false;
    bool ok = store_insert_eval_items(store, run_id, items, n, err) &&
              store_heartbeat(store, run_id, err);
    return store_end(store, ok, "storing scores", err);
}

/* A column of doubles as an array of the caller's; false when memory is exhausted or the blob
 * has another length than a whole number of them. */
static bool take_doubles(sqlite3_stmt *stmt, int column, double **out, size_t *n)
{
    size_t nbytes = (size_t)sqlite3_column_bytes(stmt, column);
    *n = nbytes / sizeof **out;
    *out = NULL;
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return true;
    *out = malloc(nbytes + sizeof **out);
    if (!*out || nbytes % sizeof **out != 0)
        return false;
    if (nbytes > 0)
        memcpy(*out, sqlite3_column_blob(stmt, column), nbytes);
    return true;
}

bool store_find_score(struct store *store, const char *request_sha256, bool *found,
                      struct store_score *score, struct rml_error *err)
{
    *found = false;
    *score = (struct store_score){0};
    if (!store)
        return true;
    if (!store->find_score &&
        sqlite3_prepare_v3(store->db,
                           "SELECT token_logprobs, token_extra, is_greedy FROM eval_item"
                           " WHERE request_sha256 = ? AND token_logprobs IS NOT NULL LIMIT 1",
                           -1, SQLITE_PREPARE_PERSISTENT, &store->find_score, NULL) != SQLITE_OK)
        return store_fail(store, "looking for a score", err);
    sqlite3_stmt *stmt = store->find_score;
    int rc = sqlite3_bind_text(stmt, 1, request_sha256, -1, SQLITE_STATIC);
    rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
    bool ok =
        rc == SQLITE_ROW || rc == SQLITE_DONE || store_fail(store, "looking for a score", err);
    if (rc == SQLITE_ROW) {
        score->is_greedy =
            sqlite3_column_type(stmt, 2) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 2);
        ok = take_doubles(stmt, 0, &score->token_logprobs, &score->n_tokens) &&
             take_doubles(stmt, 1, &score->token_extra, &score->n_extra);
        *found = ok;
        if (!ok) {
            free(score->token_logprobs);
            free(score->token_extra);
            *score = (struct store_score){0};
            store_refuse(store, err, RML_FORMAT, "the score of request %s cannot be read",
                         request_sha256);
        }
    }
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return ok;
}

bool store_find_generation(struct store *store, const char *request_sha256, bool *found,
                           int32_t **token_ids, size_t *n_token_ids, double **token_logprobs,
                           size_t *n_tokens, struct rml_error *err)
{
    *found = false;
    *token_ids = NULL;
    *token_logprobs = NULL;
    if (!store)
        return true;
    struct query q;
    query_init(&q, store,
               "SELECT token_ids, token_logprobs FROM eval_item WHERE request_sha256 = ?"
               " AND token_logprobs IS NOT NULL AND token_ids IS NOT NULL LIMIT 1");
    query_text(&q, request_sha256);
    int rc = q.rc == SQLITE_OK ? sqlite3_step(q.stmt) : q.rc;
    if (rc == SQLITE_ROW) {
        size_t nbytes = (size_t)sqlite3_column_bytes(q.stmt, 0);
        *n_token_ids = nbytes / sizeof **token_ids;
        *token_ids = malloc(nbytes + sizeof **token_ids);
        *found = *token_ids && take_doubles(q.stmt, 1, token_logprobs, n_tokens) &&
                 nbytes % sizeof **token_ids == 0;
        if (*token_ids && nbytes > 0)
            memcpy(*token_ids, sqlite3_column_blob(q.stmt, 0), nbytes);
    }
    if (rc == SQLITE_ROW && !*found) {
        free(*token_ids);
        free(*token_logprobs);
        store_refuse(store, err, RML_FORMAT, "the reply to request %s cannot be read",
                     request_sha256);
    }
    bool had_row = rc == SQLITE_ROW, ok = rc == SQLITE_ROW || rc == SQLITE_DONE;
    q.rc = ok ? SQLITE_OK : rc;
    return query_release(&q, "looking for a reply", err) && (*found || !had_row);
}

/* ---- Documents and figures --------------------------------------------------------------- */

static bool insert_docs(struct store *store, int64_t run_id, const struct store_eval_doc *docs,
                        size_t n, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO eval_doc(run_id, task, doc_id, doc_idx, group_key, text, gold_json)"
               " VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < n && q.rc == SQLITE_OK; i++) {
        query_int(&q, run_id);
        query_text(&q, docs[i].task);
        query_text(&q, docs[i].doc_id);
        query_int(&q, docs[i].doc_idx);
        query_text(&q, docs[i].group_key);
        query_text(&q, docs[i].text);
        query_text(&q, docs[i].gold_json);
        query_run(&q);
    }
    return query_release(&q, "storing documents", err);
}

static bool insert_doc_metrics(struct store *store, int64_t run_id,
                               const struct store_eval_doc *docs, size_t n, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "INSERT INTO eval_doc_metric VALUES (?, ?, ?, ?, ?)");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < docs[i].n_metrics && q.rc == SQLITE_OK; j++) {
            query_int(&q, run_id);
            query_text(&q, docs[i].task);
            query_text(&q, docs[i].doc_id);
            query_text(&q, docs[i].metrics[j]);
            query_real(&q, docs[i].values[j]);
            query_run(&q);
        }
    return query_release(&q, "storing figures of documents", err);
}

bool store_insert_eval_docs(struct store *store, int64_t run_id, const struct store_eval_doc *docs,
                            size_t n, struct rml_error *err)
{
    return insert_docs(store, run_id, docs, n, err) &&
           insert_doc_metrics(store, run_id, docs, n, err);
}

bool store_add_eval_docs(struct store *store, int64_t run_id, const struct store_eval_doc *docs,
                         size_t n, struct rml_error *err)
{
    if (!store || n == 0)
        return true;
    if (!store_begin(store, "storing documents", err))
        return false;
    bool ok = store_insert_eval_docs(store, run_id, docs, n, err);
    return store_end(store, ok, "storing documents", err);
}

bool store_insert_eval_metrics(struct store *store, int64_t run_id,
                               const struct store_eval_metric *metrics, size_t n,
                               struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO eval_metric(run_id, task, metric, value, stderr, n, model_id,"
               " arithmetic, k_dtype, v_dtype)"
               " SELECT ?1, ?2, ?3, ?4, ?5, ?6, e.model_id, e.arithmetic, e.k_dtype, e.v_dtype"
               " FROM (SELECT 1) LEFT JOIN eval AS e ON e.run_id = ?1 AND e.task = ?2");
    for (size_t i = 0; i < n && q.rc == SQLITE_OK; i++) {
        query_int(&q, run_id);
        query_text(&q, metrics[i].task);
        query_text(&q, metrics[i].metric);
        query_real(&q, metrics[i].value);
        query_real(&q, metrics[i].standard_error);
        query_count(&q, metrics[i].n);
        query_run(&q);
    }
    return query_release(&q, "storing figures", err);
}

bool store_add_eval_metrics(struct store *store, int64_t run_id,
                            const struct store_eval_metric *metrics, size_t n,
                            struct rml_error *err)
{
    if (!store || n == 0)
        return true;
    if (!store_begin(store, "storing figures", err))
        return false;
    bool ok = store_insert_eval_metrics(store, run_id, metrics, n, err);
    return store_end(store, ok, "storing figures", err);
}
