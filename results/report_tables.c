/*
 * The tables of the report: each is a query whose column names are the headings.
 */
#include "results/report_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/store_private.h"
#include "results/verdict_words.h"
#include "tools/cli/xml_text.h"

#define UTC(ns) "strftime('%Y-%m-%d %H:%M:%SZ', " ns " / 1000000000, 'unixepoch')"
#define KV(t)                                                                                      \
    "CASE WHEN " t ".k_dtype = " t ".v_dtype THEN " t ".k_dtype ELSE " t ".k_dtype || ':' || " t   \
    ".v_dtype END"
/* What the settings of a base and its candidate have different: "kv f16 -> i8, threads 1 -> 2". */
#define CHANGE(name, before, after)                                                                \
    "CASE WHEN " before " IS " after " THEN '' ELSE ', " name " ' || coalesce(" before             \
    ", 'none') || ' -> ' || coalesce(" after ", 'none') END"
#define CHANGE_OF(name, column) CHANGE(name, "b." column, "c." column)
#define CHANGES                                                                                                                                        \
    "ltrim(" CHANGE("version", "rb.engine_version", "r.engine_version") "||" CHANGE("checkpoint", "mb.file_name", "mc.file_name") "||" CHANGE_OF(      \
        "weights",                                                                                                                                     \
        "weig"                                                                                                                                         \
        "ht_"                                                                                                                                          \
        "dtyp"                                                                                                                                         \
        "e") "||" CHANGE_OF("arithmetic",                                                                                                              \
                            "arithmetic") "||" CHANGE("kv", KV("b"),                                                                                   \
                                                      KV("c")) "||" CHANGE_OF("threads",                                                               \
                                                                              "threads") "|"                                                           \
                                                                                         "|" CHANGE_OF("instructions", "isa") "||" CHANGE_OF(          \
                                                                                             "bat"                                                     \
                                                                                             "ch",                                                     \
                                                                                             "n_"                                                      \
                                                                                             "bat"                                                     \
                                                                                             "ch") "|"                                                 \
                                                                                                   "|" CHANGE_OF("prompt", "n_prompt") "||" CHANGE_OF( \
                                                                                                       "gen",                                          \
                                                                                                       "n_gen") "||" CHANGE_OF("depth",                \
                                                                                                                               "n_depth") ", ', ')"
/* Rows of one table; more would make the page heavy. */
#define MAX_ROWS 1000

const struct report_table report_tables[] = {
    {"verdicts", "Comparisons", "no comparison yet (rml-bench ab makes one)",
     "SELECT " VERDICT_WORD " AS verdict, c.suite || ' ' || c.name AS \"case\", CASE r.arm"
     " WHEN 'canary' THEN '" CANARY_TEXT "' ELSE coalesce(nullif(" CHANGES ", ''),"
     " 'the program') END AS \"base -> candidate\", " KV(
         "c") " AS kv, c.threads, c.n_depth AS depth, d.metric, round(100 * (d.ratio - 1), 3) AS"
              " \"slower by %\", round(100 * (d.ci_lo - 1), 3) AS \"from %\", round(100 * (d.ci_hi "
              "- 1), 3)"
              " AS \"to %\", d.n, 100 * d.confidence AS \"confidence %\", d.gate_pct AS \"gate "
              "%\", d.method,"
              " substr(u.uuid, 1, 8) AS run, u.label"
              " FROM verdict AS d JOIN run AS u ON u.id = d.run_id"
              " JOIN result AS r ON r.id = d.candidate_result_id JOIN bench_case AS c ON c.id ="
              " r.bench_case_id JOIN result AS rb ON rb.id = d.base_result_id JOIN bench_case AS b"
              " ON b.id = rb.bench_case_id LEFT JOIN model AS mb ON mb.id = b.model_id LEFT JOIN"
              " model AS mc ON mc.id = c.model_id ORDER BY u.start_ns DESC, d.id"},
    {"goldens", "Goldens", "no golden was checked yet (rml-golden check does)",
     "SELECT CASE g.passed WHEN 1 THEN 'pass' ELSE 'mismatch' END AS verdict, g.name, g.kind,"
     " m.file_name AS model, g.arithmetic, " KV(
         "g") " AS kv, g.isa, g.threads, g.n_positions AS positions, g.max_abs_error AS \"max "
              "error\","
              " g.max_logsumexp_error AS \"max logsumexp error\", g.tolerance, g.first_bad AS"
              " \"first deviation\", substr(u.uuid, 1, 8) AS run FROM golden AS g"
              " JOIN run AS u ON u.id = g.run_id LEFT JOIN model AS m ON m.id = g.model_id"
              " ORDER BY u.start_ns DESC, g.id"},
    {"eval-verdicts", "Comparisons of evaluations",
     "no evaluations were compared yet (rml-eval compare does)",
     "SELECT v.verdict, v.task, v.metric, coalesce(ma.file_name, '') || ' ' || "
     "coalesce(ea.arithmetic,"
     " '') || ' kv ' || coalesce(" KV(
         "ea") ", '-') AS base, coalesce(mb.file_name, '') || ' ' ||"
               " coalesce(eb.arithmetic, '') || ' kv ' || coalesce(" KV(
                   "eb") ", '-') AS candidate, v.n, v.a AS"
                         " \"of the base\", v.b AS \"of the candidate\", v.difference, v.ci_lo AS "
                         "\"from\", v.ci_hi AS"
                         " \"to\", 100 * v.confidence AS \"confidence %\", v.p_holm AS \"p "
                         "(Holm)\", v.n10 AS"
                         " \"right in base only\", v.n01 AS \"right in candidate only\", "
                         "v.p_mcnemar AS \"McNemar p\","
                         " v.mde AS \"detectable difference\", v.margin, v.loss, v.loss_lo AS "
                         "\"loss from\", v.loss_hi AS"
                         " \"loss to\", v.method, substr(ua.uuid, 1, 8) AS \"base run\", "
                         "substr(ub.uuid, 1, 8) AS"
                         " \"candidate run\" FROM eval_verdict AS v JOIN run AS ua ON ua.id = "
                         "v.base_run_id JOIN run AS ub"
                         " ON ub.id = v.run_id LEFT JOIN eval AS ea ON ea.run_id = v.base_run_id "
                         "AND ea.task = v.task"
                         " LEFT JOIN eval AS eb ON eb.run_id = v.run_id AND eb.task = v.task LEFT "
                         "JOIN model AS ma ON ma.id"
                         " = ea.model_id LEFT JOIN model AS mb ON mb.id = eb.model_id ORDER BY "
                         "v.judged_ns DESC, v.id"},
    {"flipped", "Items that flipped", "no item flipped in a comparison",
     "SELECT v.task, json_extract(f.value, '$.id') AS item,"
     " CASE WHEN json_extract(f.value, '$.a') > json_extract(f.value, '$.b') THEN 'base'"
     " ELSE 'candidate' END AS \"right in\", json_extract(f.value, '$.gold') AS gold,"
     " json_extract(f.value, '$.pick') AS \"base picks\","
     " json_extract(f.value, '$.pick_b') AS \"candidate picks\","
     " json_extract(f.value, '$.text') AS text,"
     " substr(ua.uuid, 1, 8) AS \"base run\", substr(ub.uuid, 1, 8) AS \"candidate run\""
     " FROM eval_verdict AS v JOIN json_each(v.flipped_json) AS f JOIN run AS ua ON ua.id ="
     " v.base_run_id JOIN run AS ub ON ub.id = v.run_id"
     " WHERE v.id IN (SELECT max(id) FROM eval_verdict GROUP BY run_id, base_run_id, task, metric)"
     " ORDER BY v.judged_ns DESC, v.id, f.key"},
    {"metrics", "Evaluations", "nothing was evaluated yet (rml-eval does)",
     "SELECT e.task, e.metric, e.value, e.stderr AS \"standard error\", e.n, m.file_name AS model,"
     " m.weight_dtype AS weights, e.arithmetic, " KV(
         "e") " AS kv, v.protocol, CASE WHEN v.base_arithmetic IS NOT NULL THEN "
              "coalesce(b.file_name ||"
              " ' ', '') || v.base_arithmetic || ' kv ' || CASE WHEN v.base_k_dtype = "
              "v.base_v_dtype"
              " THEN v.base_k_dtype ELSE v.base_k_dtype || ':' || v.base_v_dtype END END AS "
              "against,"
              " substr(u.uuid, 1, 8) AS run, u.label FROM eval_metric AS e JOIN run AS u ON u.id ="
              " e.run_id LEFT JOIN model AS m ON m.id = e.model_id LEFT JOIN eval AS v ON v.run_id "
              "="
              " e.run_id AND v.task = e.task LEFT JOIN model AS b ON b.id = v.base_model_id"
              " ORDER BY u.start_ns DESC, e.id"},
    {"results", "Measurements", "nothing was measured yet (rml-bench does)",
     "SELECT CASE WHEN is_wrong THEN 'wrong' ELSE status END AS status, suite || ' ' || name AS"
     " \"case\", engine || CASE engine WHEN 'rml' THEN '' ELSE coalesce(' ' || engine_version, '')"
     " END AS engine, model, weight_dtype AS weights, arithmetic, kv, isa, threads, n_batch AS"
     " batch, n_prompt AS prompt, n_gen AS gen, n_depth AS depth, arm, n_samples AS n,"
     " median_ns / 1e6 AS \"median ms\", ci_lo_ns / 1e6 AS \"from ms\", ci_hi_ns / 1e6 AS"
     " \"to ms\", tokens_per_second AS \"tokens/s\", bytes_per_second / 1e9 AS \"GB/s\","
     " flops_per_second / 1e9 AS \"GFLOP/s\", rss_bytes / 1e6 AS \"RSS MB\", kv_bytes / 1e6 AS"
     " \"KV MB\", max_abs_error AS \"logit error\", error, substr(run_uuid, 1, 8) AS run"
     " FROM v_chart WHERE is_latest ORDER BY start_ns DESC, result_id"},
    {"runs", "Runs", "no run yet",
     "SELECT substr(u.uuid, 1, 8) AS run, " UTC(
         "u.start_ns") " AS started, (u.end_ns - u.start_ns)"
                       " / 1e9 AS seconds, u.kind, u.state, u.exit_code AS exit, h.hostname AS "
                       "host, h.cpu_model AS"
                       " cpu, b.version || coalesce(' ' || substr(b.git_commit, 1, 9), '') || CASE "
                       "b.git_dirty WHEN 1"
                       " THEN ' + changes' ELSE '' END AS build, u.seed, u.label, (SELECT "
                       "group_concat(value, ' ')"
                       " FROM json_each(u.argv_json)) AS command, (SELECT group_concat(key || '=' "
                       "|| value, ' ')"
                       " FROM json_each(u.env_json)) AS environment, u.uuid FROM run AS u JOIN "
                       "host AS h ON h.id ="
                       " u.host_id JOIN build AS b ON b.id = u.build_id ORDER BY u.start_ns DESC, "
                       "u.id DESC"},
    {"machine-state", "State of the machine", "no state was recorded",
     "SELECT substr(u.uuid, 1, 8) AS run, v.key, s.value AS \"at the start\", e.value AS"
     " \"at the end\", coalesce(s.reason, e.reason) AS \"why not known\" FROM run AS u JOIN"
     " (SELECT DISTINCT run_id, key FROM run_env) AS v ON v.run_id = u.id"
     " LEFT JOIN run_env AS s ON s.run_id = u.id AND s.key = v.key AND s.phase = 'start'"
     " LEFT JOIN run_env AS e ON e.run_id = u.id AND e.key = v.key AND e.phase = 'end'"
     " ORDER BY u.start_ns DESC, u.id DESC, v.key"},
    {"hosts", "Hosts", "no host yet",
     "SELECT hostname AS host, cpu_model AS cpu, cpu_vendor AS vendor, arch, family, model,"
     " stepping, microcode, cores, threads, l1d_bytes / 1024 AS \"L1d KiB\", l2_bytes / 1024 AS"
     " \"L2 KiB\", l3_bytes / 1024 AS \"L3 KiB\", mem_bytes / 1048576 AS \"memory MiB\","
     " numa_nodes AS \"NUMA nodes\", hypervisor, isa_flags AS \"instruction sets\", fingerprint"
     " FROM host ORDER BY id"},
    {"builds", "Builds", "no build yet",
     "SELECT version, git_commit AS \"commit\", CASE git_dirty WHEN 1 THEN 'yes' WHEN 0 THEN 'no'"
     " END AS changed, " UTC(
         "commit_unix_s * 1000000000") " AS committed, compiler, cflags, ldflags,"
                                       " libc, binary_sha256 AS \"program's SHA-256\" FROM build "
                                       "ORDER BY id"},
    {"models", "Checkpoints", "no checkpoint yet",
     "SELECT file_name AS file, file_bytes / 1e6 AS MB, arch, n_params / 1e6 AS \"M parameters\","
     " n_layer AS layers, n_embd AS width, n_head AS heads, n_head_kv AS \"KV heads\", n_vocab AS"
     " vocabulary, weight_dtype AS weights, content_sha256 AS \"SHA-256\" FROM model ORDER BY id"},
    {0},
};

/* ---- HTML ------------------------------------------------------------------------------------- */

/* Words that say how something went; colour only repeats them. */
static const char *class_of(const char *text)
{
    static const char *const words[][2] = {
        {"pass", "good"},      {"ok", "good"},     {"complete", "good"}, {"improvement", "good"},
        {"regression", "bad"}, {"within", "good"}, {"worse", "bad"},     {"mismatch", "bad"},
        {"error", "bad"},      {"wrong", "bad"},   {"holds", "good"},    {"fails", "bad"},
        {"failed", "bad"},     {"warn", "odd"},    {"unstable", "odd"},  {"inconclusive", "odd"},
        {"skipped", "odd"},    {"aborted", "odd"}, {"running", "odd"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i][0]) == 0)
            return words[i][1];
    return NULL;
}

static void write_cell(FILE *out, sqlite3_stmt *stmt, int column)
{
    int type = sqlite3_column_type(stmt, column);
    double x = sqlite3_column_double(stmt, column);
    if (type == SQLITE_INTEGER) {
        int64_t n = sqlite3_column_int64(stmt, column);
        fprintf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">%" PRId64 "</td>", n, n);
    } else if (type == SQLITE_FLOAT && isfinite(x)) {
        fprintf(out, "<td class=\"n\" data-v=\"%.17g\">%.*g</td>", x, fabs(x) >= 10000 ? 6 : 4, x);
    } else if (type == SQLITE_FLOAT) {
        fputs("<td class=\"n\">infinite</td>", out);
    } else {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        const char *class = text ? class_of(text) : NULL;
        if (class)
            fprintf(out, "<td class=\"%s\">", class);
        else
            fputs("<td>", out);
        cli_put_xml(out, text ? text : "");
        fputs("</td>", out);
    }
}

static void write_head(FILE *out, sqlite3_stmt *stmt, const struct report_table *table,
                       int64_t n_rows)
{
    fputs("<div class=\"scroll\" tabindex=\"0\">\n<table>\n<caption>", out);
    cli_put_xml(out, table->title);
    if (n_rows > MAX_ROWS)
        fprintf(out, ": the first %d of %" PRId64, MAX_ROWS, n_rows);
    else
        fprintf(out, ": %" PRId64, n_rows);
    fputs("</caption>\n<thead><tr>", out);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        fputs("<th scope=\"col\">", out);
        cli_put_xml(out, sqlite3_column_name(stmt, i));
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static bool count_rows(struct store *store, const char *sql, int64_t *n, struct rml_error *err)
{
    char *counting = NULL;
    if (asprintf(&counting, "SELECT count(*) FROM (%s)", sql) < 0)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a report");
    struct query q;
    query_init(&q, store, counting);
    *n = query_id(&q);
    bool ok = query_release(&q, "writing a report", err);
    free(counting);
    return ok;
}

bool report_write_table(struct store *store, const struct report_table *table, FILE *out,
                        struct rml_error *err)
{
    int64_t n_rows = 0;
    if (!count_rows(store, table->sql, &n_rows, err))
        return false;
    fprintf(out, "<section id=\"%s\">\n<h2>", table->id);
    cli_put_xml(out, table->title);
    fputs("</h2>\n", out);
    if (n_rows == 0) {
        fputs("<p>", out);
        cli_put_xml(out, table->empty);
        fputs("</p>\n</section>\n", out);
        return true;
    }
    struct query q;
    query_init(&q, store, table->sql);
    for (int64_t i = 0; i < MAX_ROWS && query_step(&q); i++) {
        if (i == 0)
            write_head(out, q.stmt, table, n_rows);
        fputs("<tr>", out);
        for (int k = 0; k < sqlite3_column_count(q.stmt); k++)
            write_cell(out, q.stmt, k);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n</section>\n", out);
    return query_release(&q, "writing a report", err);
}
