/*
 * rml-results export: results with all that is known of them, every sample, or the figures of
 * evaluations, for other programs.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "results/commands.h"
#include "results/csv_out.h"
#include "results/query_json.h"
#include "results/run_select.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/report.h"

/* The columns, in an order that stays; new ones come last. */
static const char results_sql[] =
    "SELECT u.uuid AS run_uuid, u.kind AS run_kind, u.state AS run_state, u.exit_code, u.start_ns,"
    " u.end_ns, u.label, u.seed, u.argv_json, u.env_json,"
    " h.fingerprint AS host_fingerprint, h.hostname, h.arch AS host_arch, h.cpu_vendor,"
    " h.cpu_model, h.isa_flags, h.cores, h.threads AS host_threads, h.mem_bytes, h.hypervisor,"
    " b.binary_sha256, b.version, b.git_commit, b.git_dirty, b.git_diff_sha256, b.commit_unix_s,"
    " b.compiler, b.cflags, b.ldflags, b.libc,"
    " c.case_key, c.suite, c.name, c.work_version, c.engine, r.engine_version, r.arm,"
    " c.arithmetic, c.isa, m.file_name AS model, m.content_sha256 AS model_sha256, c.weight_dtype,"
    " c.k_dtype, c.v_dtype, c.threads, c.n_batch, c.n_prompt, c.n_gen, c.n_depth, c.params_json,"
    " r.id AS result_id, r.status, r.error, r.warmup_iters, r.iters_per_rep, r.items_per_iter,"
    " r.bytes_per_iter, r.flops_per_iter, r.rss_bytes, r.kv_bytes, r.output_sha256,"
    " r.max_abs_error, r.tolerance,"
    " s.n_samples, s.median_ns, s.ci_lo_ns, s.ci_hi_ns, s.ci_coverage, s.mad_ns, s.min_ns,"
    " s.max_ns, s.mean_ns, s.variance AS variance_ns2,"
    " r.items_per_iter * 1e9 / s.median_ns AS tokens_per_second,"
    " r.bytes_per_iter * 1e9 / s.median_ns AS bytes_per_second,"
    " r.flops_per_iter * 1e9 / s.median_ns AS flops_per_second"
    " FROM result AS r JOIN run AS u ON u.id = r.run_id"
    " JOIN host AS h ON h.id = u.host_id JOIN build AS b ON b.id = u.build_id"
    " JOIN bench_case AS c ON c.id = r.bench_case_id LEFT JOIN model AS m ON m.id = c.model_id"
    " LEFT JOIN v_stat AS s ON s.result_id = r.id"
    " WHERE " RUN_FILTER_SQL " AND (?5 IS NULL OR u.id = ?5)"
    " AND (?6 IS NULL OR u.state = ?6) ORDER BY u.start_ns, r.id";

static const char samples_sql[] =
    "SELECT u.uuid AS run_uuid, c.case_key, r.arm, r.id AS result_id, r.status, s.rep, s.order_idx,"
    " s.is_warmup, s.t_mono_ns, s.iters, s.wall_ns, s.cpu_ns, s.steal_ticks, s.nvcsw, s.nivcsw,"
    " s.minflt, s.majflt, CAST(s.wall_ns AS REAL) / s.iters AS ns_per_iter"
    " FROM sample AS s JOIN result AS r ON r.id = s.result_id JOIN run AS u ON u.id = r.run_id"
    " JOIN bench_case AS c ON c.id = r.bench_case_id"
    " WHERE " RUN_FILTER_SQL " AND (?5 IS NULL OR u.id = ?5)"
    " AND (?6 IS NULL OR u.state = ?6) ORDER BY u.start_ns, r.id, s.rep";

/* A row a figure. A run from before the table `eval` has its figures all the same. */
static const char evals_sql[] =
    "SELECT u.uuid AS run_uuid, u.kind AS run_kind, u.state AS run_state, u.exit_code, u.start_ns,"
    " u.end_ns, u.label, u.seed, h.fingerprint AS host_fingerprint, h.hostname, h.cpu_model,"
    " b.version, b.git_commit, b.git_dirty, f.task, e.protocol, m.file_name AS model,"
    " m.content_sha256 AS model_sha256, m.weight_dtype, e.tokenizer_sha256, e.arithmetic,"
    " e.k_dtype, e.v_dtype, e.isa, e.threads, e.numerics_version, w.file_name AS base_model,"
    " w.content_sha256 AS base_model_sha256, e.base_arithmetic, e.base_k_dtype, e.base_v_dtype,"
    " e.settings_json, f.metric, f.value, f.stderr, f.n"
    " FROM eval_metric AS f JOIN run AS u ON u.id = f.run_id"
    " JOIN host AS h ON h.id = u.host_id JOIN build AS b ON b.id = u.build_id"
    " LEFT JOIN eval AS e ON e.run_id = f.run_id AND e.task = f.task"
    " LEFT JOIN model AS m ON m.id = e.model_id LEFT JOIN model AS w ON w.id = e.base_model_id"
    " WHERE " RUN_FILTER_SQL " AND (?5 IS NULL OR u.id = ?5)"
    " AND (?6 IS NULL OR u.state = ?6) ORDER BY u.start_ns, f.id";

struct arguments {
    const char *db, *run, *output, *format; /* format: NULL by the output's name */
    bool json, samples;
    bool evals; /* figures of evaluations: asked for by --kind, or what the named run has */
    struct run_filter filter;
};

/* A row at a time: a database may hold more samples than memory. */
static bool write_rows(struct query *q, FILE *out, bool json)
{
    size_t n = 0;
    bool ok = true;
    if (json)
        fputs("[", out);
    else
        csv_write_header(out, q->stmt);
    while (ok && query_step(q)) {
        json_t *row = json ? query_row_json(q) : NULL;
        if (json)
            fputs(n++ ? ",\n" : "\n", out);
        if (json)
            ok = row && json_dumpf(row, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0;
        else
            csv_write_row(out, q->stmt);
        json_decref(row);
        ok = ok && !ferror(out);
    }
    if (json)
        fputs(n ? "\n]\n" : "]\n", out);
    return ok;
}

/* Goldens, chats and quantisations leave rows of their own, which show prints. */
static bool has_rows(const char *kind)
{
    return strcmp(kind, "bench") == 0 || strcmp(kind, "eval") == 0 || strcmp(kind, "import") == 0;
}

/* The one run: what it has decides which rows are its. */
static bool find_run(struct store *store, struct arguments *a, int64_t *run_id,
                     struct rml_error *err)
{
    struct query q;
    if (!store_find_run(store, a->run, run_id, err))
        return false;
    query_init(&q, store,
               "SELECT kind, kind = 'eval' OR (EXISTS (SELECT 1 FROM eval_metric WHERE run_id = ?1)"
               "  AND NOT EXISTS (SELECT 1 FROM result WHERE run_id = ?1)) FROM run WHERE id = ?1");
    query_int(&q, *run_id);
    bool ok = query_step(&q);
    if (ok) {
        const char *kind = query_column_text(&q, 0);
        a->evals |= sqlite3_column_int(q.stmt, 1) != 0;
        if (!has_rows(kind))
            ok = rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                           "run '%s' is of kind %s, which has no results, expected one of kind "
                           "bench, eval or import (rml-results show prints any)",
                           a->run, kind);
        else if (a->samples && a->evals)
            ok = rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                           "run '%s' is an evaluation, which has no samples, expected a benchmark "
                           "with --samples",
                           a->run);
    }
    return query_release(&q, "looking for a run", err) && ok;
}

static bool export_rows(struct store *store, struct arguments *a, struct rml_error *err)
{
    int64_t run_id = 0;
    struct cli_output output;
    struct query q;
    if (a->run && !find_run(store, a, &run_id, err))
        return false;
    if (!cli_output_open(&output, a->output, err))
        return false;
    query_init(&q, store, a->evals ? evals_sql : a->samples ? samples_sql : results_sql);
    run_filter_bind(&q, &a->filter);
    query_ref(&q, run_id);
    query_text(&q, a->filter.state);
    if (q.rc == SQLITE_OK)
        write_rows(&q, output.stream, a->json); /* a failed write shows in the commit */
    if (!query_release(&q, "exporting", err)) {
        cli_output_abandon(&output);
        return false;
    }
    return cli_output_commit(&output, err);
}

enum { KEY_FORMAT = CLI_OWN_KEY, KEY_SAMPLES };

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "csv|json", 0, "Form of the output (csv, or as the name of -o ends)", 1},
    {"samples", KEY_SAMPLES, NULL, 0, "Every sample instead of a row for each result", 1},
    {"output", 'o', "FILE", 0, "Where it goes (-)", 1},
    RUN_FILTER_OPTIONS,
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_FORMAT:
        if (strcmp(arg, "csv") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "--format: '%s' found, expected csv or json", arg);
        a->format = arg;
        return 0;
    case KEY_SAMPLES:
        a->samples = true;
        return 0;
    case 'o':
        a->output = cli_arg_output(state, "-o", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "'%s' found, expected one RUN", arg);
        a->run = arg;
        return 0;
    case ARGP_KEY_END: {
        size_t n = strlen(a->output);
        bool named_json = n > 5 && strcmp(a->output + n - 5, ".json") == 0;
        if (a->filter.state &&
            (strcmp(a->filter.state, "dead") == 0 || strcmp(a->filter.state, "elsewhere") == 0))
            argp_error(state, "--state: '%s' found, expected running, complete, failed or aborted",
                       a->filter.state);
        if (a->filter.kind && !has_rows(a->filter.kind))
            argp_error(state,
                       "--kind: '%s' found, whose runs have no results, expected bench, eval or "
                       "import",
                       a->filter.kind);
        a->evals = a->filter.kind && strcmp(a->filter.kind, "eval") == 0;
        if (a->evals && a->samples)
            argp_error(state, "--samples: evaluations have none, expected no --kind eval");
        a->json = a->format ? strcmp(a->format, "json") == 0 : named_json;
        return 0;
    }
    default:
        return run_filter_parse(key, arg, state, &a->filter) == 0
                   ? 0
                   : results_parse_db(key, arg, state, &a->db);
    }
}

int results_export_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[RUN]",
        .doc = "Writes results with case, run, host, build and statistics, or with --samples every "
               "sample, as CSV (RFC 4180; NULL is an empty field, an empty text \"\") or as a JSON "
               "array. All runs, or one named as for show, or those that pass the filters. With "
               "--kind eval, and of a RUN that is an evaluation, a row for each of its figures: "
               "task, protocol, model, arithmetic, cache, metric, value, stderr, n.\v"
               "Examples:\n\n"
               "  rml-results export --since 30d -o month.csv\n"
               "  rml-results export --kind eval -o figures.csv"};
    struct cli_options common;
    struct arguments a = {.output = "-", .filter = RUN_FILTER_ALL};
    cli_parse(&common, 0, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    bool ok = store && export_rows(store, &a, &err);
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
