/*
 * Version 1 of the schema: the views. They are for readers (charts, people with
 * sqlite3) and their columns stay.
 *
 * SQLite has no median. Samples are numbered in order of size by a window
 * function, and the middle one, or the mean of the middle two, is picked by rank;
 * the ends of the 95 % interval likewise, by the ranks in median_interval.
 */
#include "results/schema.h"

const char schema_v1_views[] =
    /* One row a result that has samples. Times are ns for one iteration. */
    "CREATE VIEW v_stat AS "
    "WITH ordered AS ("
    " SELECT result_id, n, ns, row_number() OVER (PARTITION BY result_id ORDER BY ns) AS rank"
    " FROM (SELECT result_id, CAST(wall_ns AS REAL) / iters AS ns,"
    "        count(*) OVER (PARTITION BY result_id) AS n"
    "       FROM sample WHERE is_warmup = 0)"
    "), middle AS ("
    " SELECT o.result_id, o.n,"
    "  avg(CASE WHEN o.rank IN ((o.n + 1) / 2, (o.n + 2) / 2) THEN o.ns END) AS median_ns,"
    "  max(CASE WHEN o.rank = i.lo_rank THEN o.ns END) AS ci_lo_ns,"
    "  max(CASE WHEN o.rank = i.hi_rank THEN o.ns END) AS ci_hi_ns,"
    "  min(o.ns) AS min_ns, max(o.ns) AS max_ns, avg(o.ns) AS mean_ns"
    " FROM ordered AS o LEFT JOIN median_interval AS i ON i.n = o.n"
    " GROUP BY o.result_id"
    "), deviation AS ("
    " SELECT o.result_id, o.n, abs(o.ns - m.median_ns) AS d,"
    "  (o.ns - m.mean_ns) * (o.ns - m.mean_ns) AS square,"
    "  row_number() OVER (PARTITION BY o.result_id ORDER BY abs(o.ns - m.median_ns)) AS rank"
    " FROM ordered AS o JOIN middle AS m ON m.result_id = o.result_id"
    "), spread AS ("
    " SELECT result_id,"
    "  avg(CASE WHEN rank IN ((n + 1) / 2, (n + 2) / 2) THEN d END) AS mad_ns,"
    "  CASE WHEN n > 1 THEN sum(square) / (n - 1) END AS variance"
    " FROM deviation GROUP BY result_id"
    ") "
    "SELECT m.result_id, m.n AS n_samples, m.median_ns, m.ci_lo_ns, m.ci_hi_ns,"
    " i.coverage AS ci_coverage, s.mad_ns, m.min_ns, m.max_ns, m.mean_ns, s.variance"
    " FROM middle AS m JOIN spread AS s ON s.result_id = m.result_id"
    " LEFT JOIN median_interval AS i ON i.n = m.n;"

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
    "  ORDER BY u.start_ns DESC, r.id DESC) = 1 AS is_latest"
    " FROM result AS r"
    " JOIN run AS u ON u.id = r.run_id"
    " JOIN host AS h ON h.id = u.host_id"
    " JOIN build AS b ON b.id = u.build_id"
    " JOIN bench_case AS c ON c.id = r.bench_case_id"
    " LEFT JOIN model AS m ON m.id = c.model_id"
    " LEFT JOIN v_stat AS s ON s.result_id = r.id;";
