/*
 * Version 3 of the schema: evaluations say what they are of.
 *
 * Versions 1 and 2 keep scores of items and figures of tasks, but of an item not with which model,
 * arithmetic and cache they were computed, nor what was asked. A task of a run is
 * now a row of `eval`; its documents (a text file, a question) are rows of
 * `eval_doc` and their figures, from which paired comparisons are made, rows of
 * `eval_doc_metric`.
 *
 *     run -- eval (run_id, task) -- eval_doc (doc_id) -- eval_item (choice_idx)
 *              \                        \-- eval_doc_metric (metric)
 *               eval_metric (metric)
 *
 * eval_item.request_sha256 is the content key of a score: equal keys, equal bits.
 * The index makes it the cache of finished work.
 */
#include "results/schema.h"

const char schema_v3_eval[] =
    /* base_*: of the other side of a KL divergence; its model_id NULL: a file of stored
     * probabilities or the same model, as settings_json says. */
    "CREATE TABLE eval ("
    " id INTEGER PRIMARY KEY,"
    " run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " task TEXT NOT NULL,"
    " protocol TEXT NOT NULL,"
    " model_id INTEGER REFERENCES model(id),"
    " tokenizer_sha256 TEXT,"
    " arithmetic TEXT,"
    " k_dtype TEXT,"
    " v_dtype TEXT,"
    " isa TEXT,"
    " threads INTEGER,"
    " numerics_version INTEGER,"
    " base_model_id INTEGER REFERENCES model(id),"
    " base_arithmetic TEXT,"
    " base_k_dtype TEXT,"
    " base_v_dtype TEXT,"
    " settings_json TEXT NOT NULL,"
    " UNIQUE (run_id, task)"
    ") STRICT;"

    /* doc_idx: place in the input, from 0. group_key: documents that are not independent. */
    "CREATE TABLE eval_doc ("
    " id INTEGER PRIMARY KEY,"
    " run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " task TEXT NOT NULL,"
    " doc_id TEXT NOT NULL,"
    " doc_idx INTEGER NOT NULL,"
    " group_key TEXT,"
    " text TEXT,"
    " gold_json TEXT,"
    " UNIQUE (run_id, task, doc_id)"
    ") STRICT;"

    "CREATE TABLE eval_doc_metric ("
    " run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " task TEXT NOT NULL,"
    " doc_id TEXT NOT NULL,"
    " metric TEXT NOT NULL,"
    " value REAL,"
    " PRIMARY KEY (run_id, task, doc_id, metric)"
    ") STRICT, WITHOUT ROWID;"

    /* Of a comparison with a base, for each scored token: log-probability under the base,
     * KL divergence, 1 when both agree on the best token; f64, little-endian. */
    "ALTER TABLE eval_item ADD COLUMN token_extra BLOB;"
    "CREATE INDEX eval_item_by_request ON eval_item(request_sha256);"

    "CREATE VIEW v_eval AS "
    "SELECT e.run_id, r.uuid AS run_uuid, r.start_ns, r.state, r.label, e.task, e.protocol,"
    " m.file_name AS model, m.content_sha256 AS model_sha256, m.weight_dtype,"
    " e.arithmetic, e.k_dtype, e.v_dtype, e.isa, e.threads, e.numerics_version,"
    " b.file_name AS base_model, e.base_arithmetic, e.base_k_dtype, e.base_v_dtype,"
    " e.settings_json, f.metric, f.value, f.stderr, f.n "
    "FROM eval AS e JOIN run AS r ON r.id = e.run_id"
    " LEFT JOIN model AS m ON m.id = e.model_id"
    " LEFT JOIN model AS b ON b.id = e.base_model_id"
    " LEFT JOIN eval_metric AS f ON f.run_id = e.run_id AND f.task = e.task;";
