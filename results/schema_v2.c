/*
 * Version 2 of the schema.
 *
 * result: how far its logits were from the golden's, and what is allowed: a fast wrong answer
 * can be told from a fast one, whoever's engine gave it. NULL: not compared. The view v_chart
 * says so in is_wrong, and has the model's size, which charts of memory and quality need.
 *
 * eval_metric: what was scored (checkpoint, arithmetic, cache types). A run may score several,
 * and a metric without them cannot be set against size or speed. NULL: not known.
 */
#include "results/schema.h"

const char schema_v2[] =
    "ALTER TABLE result ADD COLUMN max_abs_error REAL;"
    "ALTER TABLE result ADD COLUMN tolerance REAL;"

    "ALTER TABLE eval_metric ADD COLUMN model_id INTEGER REFERENCES model(id);"
    "ALTER TABLE eval_metric ADD COLUMN arithmetic TEXT;"
    "ALTER TABLE eval_metric ADD COLUMN k_dtype TEXT;"
    "ALTER TABLE eval_metric ADD COLUMN v_dtype TEXT;"

    "DROP VIEW v_chart;"
    /* One row a result with its case, run, host, build and statistics: what charts are
     * drawn from. is_latest: no later run of this build on this host has this case. */
    "CREATE VIEW v_chart AS "
    "SELECT r.id AS result_id, r.run_id, r.bench_case_id, u.uuid AS run_uuid, u.start_ns,"
    " u.state AS run_state, u.label,"
    " u.host_id, h.fingerprint AS host_fingerprint, h.hostname, h.cpu_model,"
    " u.build_id, b.version, b.git_commit, b.git_dirty, b.commit_unix_s,"
    " c.case_key, c.suite, c.name, c.work_version, c.engine, r.engine_version, r.arm,"
    " c.arithmetic, c.isa, c.model_id, m.file_name AS model, c.weight_dtype,"
    " c.k_dtype, c.v_dtype,"
    " CASE WHEN c.k_dtype = c.v_dtype THEN c.k_dtype ELSE c.k_dtype || ':' || c.v_dtype END AS kv,"
    " c.threads, c.n_batch, c.n_prompt, c.n_gen, c.n_depth, c.params_json,"
    " r.status, r.error, s.n_samples, s.median_ns, s.ci_lo_ns, s.ci_hi_ns, s.ci_coverage,"
    " s.mad_ns, s.min_ns,"
    " r.items_per_iter * 1e9 / s.median_ns AS tokens_per_second,"
    " r.items_per_iter * 1e9 / s.ci_hi_ns AS tokens_per_second_lo,"
    " r.items_per_iter * 1e9 / s.ci_lo_ns AS tokens_per_second_hi,"
    " r.bytes_per_iter * 1e9 / s.median_ns AS bytes_per_second,"
    " r.flops_per_iter * 1e9 / s.median_ns AS flops_per_second,"
    " r.rss_bytes, r.kv_bytes, r.output_sha256,"
    " row_number() OVER (PARTITION BY r.bench_case_id, u.host_id, u.build_id, r.arm"
    "  ORDER BY u.start_ns DESC, r.id DESC) = 1 AS is_latest,"
    " m.arch AS model_arch, m.n_params, m.file_bytes AS model_bytes,"
    " r.max_abs_error, r.tolerance, coalesce(r.max_abs_error > r.tolerance, 0) AS is_wrong"
    " FROM result AS r"
    " JOIN run AS u ON u.id = r.run_id"
    " JOIN host AS h ON h.id = u.host_id"
    " JOIN build AS b ON b.id = u.build_id"
    " JOIN bench_case AS c ON c.id = r.bench_case_id"
    " LEFT JOIN model AS m ON m.id = c.model_id"
    " LEFT JOIN v_stat AS s ON s.result_id = r.id;";
