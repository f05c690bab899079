/*
 * Data of the chart "tokens per second by cache type".
 *
 * One panel for each piece of work (suite, model, weights, depth ...), in it one
 * cluster of bars for each pair of cache types and one bar for each number of threads.
 * Rows come from the host and build of the newest run that has any, each case's latest
 * result: two machines or two programs never share a panel.
 */
#include "results/plot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "results/store_private.h"
#include "tools/cli/report.h"

#define MAX_PANELS 8

/* Rows in the order of the file; what makes a panel comes first. */
static const char rows_sql[] =
    "SELECT suite || ' ' || name || ' ' || coalesce(weight_dtype, '') || ' ' || arithmetic || ' ' "
    "|| isa || ' ' || n_batch || ' ' || coalesce(n_prompt, 0) || ' ' || coalesce(n_gen, 0) || ' ' "
    "|| coalesce(n_depth, 0) || ' ' || params_json AS panel,"
    " CASE suite WHEN 'attention' THEN 'attention ' ELSE '' END || name ||"
    " coalesce(', ' || weight_dtype || ' x ' || arithmetic, '') ||"
    " CASE WHEN n_prompt > 0 THEN ', prompt ' || n_prompt ELSE ', depth ' || n_depth END ||"
    " CASE WHEN n_batch > 1 THEN ', batch ' || n_batch ELSE '' END || ', ' || isa AS title,"
    " kv, threads, tokens_per_second, tokens_per_second_lo, tokens_per_second_hi, n_samples,"
    " ci_coverage, status, run_uuid, cpu_model, version, git_commit, git_dirty"
    " FROM v_chart WHERE is_latest AND k_dtype IS NOT NULL AND tokens_per_second_lo IS NOT NULL"
    " AND status IN ('ok', 'unstable') AND run_state <> 'failed'"
    " AND (host_id, build_id) = (SELECT host_id, build_id FROM v_chart"
    "  WHERE k_dtype IS NOT NULL AND tokens_per_second_lo IS NOT NULL"
    "  AND status IN ('ok', 'unstable') AND run_state <> 'failed'"
    "  ORDER BY start_ns DESC, result_id DESC LIMIT 1)"
    " ORDER BY suite, name, weight_dtype, arithmetic, isa, n_batch, n_prompt, n_gen, n_depth,"
    " params_json, threads,"
    " instr('f32 f16 i8 ', k_dtype || ' '), instr('f32 f16 i8 ', v_dtype || ' ')";

enum {
    PANEL,
    TITLE,
    KV,
    THREADS,
    TOKENS,
    TOKENS_LO,
    TOKENS_HI,
    N_SAMPLES,
    COVERAGE,
    STATUS,
    RUN_UUID,
    CPU_MODEL,
    VERSION,
    GIT_COMMIT,
    GIT_DIRTY
};

struct bar {
    size_t panel;   /* index in the order met */
    size_t cluster; /* of equal kv within the panel */
    char title[160];
    char kv[16];
    int threads;
    double tokens, lo, hi;
    bool unstable;
    char run_uuid[40];
};

struct bars {
    struct bar *rows;
    size_t n, n_room;
    char panel[640]; /* of the last row */
    size_t n_panels;
    int64_t n_min, n_max; /* samples of a bar */
    double coverage;      /* least */
    char machine[128], engine[128];
};

static void copy_column(sqlite3_stmt *stmt, int column, char *text, size_t nbytes)
{
    const char *value = (const char *)sqlite3_column_text(stmt, column);
    snprintf(text, nbytes, "%s", value ? value : "");
}

/* The index of this kv in its panel: that of an equal one, else one more than any. */
static size_t cluster_of(const struct bars *bars, const struct bar *bar)
{
    size_t next = 0;
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *other = &bars->rows[i];
        if (other->panel != bar->panel)
            continue;
        if (strcmp(other->kv, bar->kv) == 0)
            return other->cluster;
        if (other->cluster >= next)
            next = other->cluster + 1;
    }
    return next;
}

static bool add_row(struct bars *bars, sqlite3_stmt *stmt)
{
    if (bars->n == bars->n_room) {
        size_t n_room = 2 * bars->n_room + 64;
        struct bar *rows = realloc(bars->rows, n_room * sizeof *rows);
        if (!rows)
            return false;
        bars->rows = rows;
        bars->n_room = n_room;
    }
    char panel[sizeof bars->panel];
    copy_column(stmt, PANEL, panel, sizeof panel);
    if (bars->n == 0 || strcmp(panel, bars->panel) != 0)
        bars->n_panels++;
    memcpy(bars->panel, panel, sizeof panel);

    struct bar bar = {.panel = bars->n_panels - 1,
                      .threads = sqlite3_column_int(stmt, THREADS),
                      .tokens = sqlite3_column_double(stmt, TOKENS),
                      .lo = sqlite3_column_double(stmt, TOKENS_LO),
                      .hi = sqlite3_column_double(stmt, TOKENS_HI)};
    copy_column(stmt, TITLE, bar.title, sizeof bar.title);
    copy_column(stmt, KV, bar.kv, sizeof bar.kv);
    copy_column(stmt, RUN_UUID, bar.run_uuid, sizeof bar.run_uuid);
    bar.unstable = strcmp((const char *)sqlite3_column_text(stmt, STATUS), "unstable") == 0;
    bar.cluster = cluster_of(bars, &bar);

    int64_t n = sqlite3_column_int64(stmt, N_SAMPLES);
    double coverage = sqlite3_column_double(stmt, COVERAGE);
    bars->n_min = bars->n == 0 || n < bars->n_min ? n : bars->n_min;
    bars->n_max = n > bars->n_max ? n : bars->n_max;
    bars->coverage = bars->n == 0 || coverage < bars->coverage ? coverage : bars->coverage;
    copy_column(stmt, CPU_MODEL, bars->machine, sizeof bars->machine);
    char version[32], commit[16];
    copy_column(stmt, VERSION, version, sizeof version);
    copy_column(stmt, GIT_COMMIT, commit, 10);
    snprintf(bars->engine, sizeof bars->engine, "rml %s%s%s%s", version, commit[0] ? " " : "",
             commit, sqlite3_column_int(stmt, GIT_DIRTY) ? " + local changes" : "");
    bars->rows[bars->n++] = bar;
    return true;
}

/* Keeps the panels that compare something, if any does, and at most MAX_PANELS of them:
 * the rest is dropped and told. Panels are numbered anew. */
static void choose_panels(struct bars *bars)
{
    size_t n_found = bars->n_panels, n_kept = 0;
    size_t *new_index = malloc(bars->n_panels * sizeof *new_index);
    bool *compares = calloc(bars->n_panels, sizeof *compares);
    bool any = false;
    if (new_index && compares) {
        for (size_t i = 0; i < bars->n; i++) {
            compares[bars->rows[i].panel] |= bars->rows[i].cluster > 0;
            any |= bars->rows[i].cluster > 0;
        }
        for (size_t p = 0; p < bars->n_panels; p++) {
            bool keep = (compares[p] || !any) && n_kept < MAX_PANELS;
            new_index[p] = keep ? n_kept++ : SIZE_MAX;
        }
        size_t n = 0;
        for (size_t i = 0; i < bars->n; i++) {
            struct bar bar = bars->rows[i];
            bar.panel = new_index[bar.panel];
            if (bar.panel != SIZE_MAX)
                bars->rows[n++] = bar;
        }
        bars->n = n;
        bars->n_panels = n_kept;
    }
    free(new_index);
    free(compares);
    if (bars->n_panels < n_found)
        cli_note("%zu of %zu pieces of work are drawn: %s", bars->n_panels, n_found,
                 any && n_kept < MAX_PANELS ? "the others have one cache type only"
                                            : "no more fit into one chart");
}

/* ---- Out ---------------------------------------------------------------------------------- */

/* Bars of one panel stand side by side by threads: their rank among those of the panel. */
static size_t series_of(const struct bars *bars, const struct bar *bar, size_t *n_series)
{
    int seen[64];
    size_t n = 0, rank = 0;
    for (size_t i = 0; i < bars->n; i++) {
        bool is_new = bars->rows[i].panel == bar->panel && n < sizeof seen / sizeof seen[0];
        for (size_t k = 0; k < n && is_new; k++)
            is_new = seen[k] != bars->rows[i].threads;
        if (!is_new)
            continue;
        seen[n++] = bars->rows[i].threads;
        rank += bars->rows[i].threads < bar->threads;
    }
    *n_series = n;
    return rank;
}

static void write_runs(const struct bars *bars, FILE *data)
{
    fprintf(data, "# runs:");
    for (size_t i = 0; i < bars->n; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = strcmp(bars->rows[k].run_uuid, bars->rows[i].run_uuid) != 0;
        if (is_new)
            fprintf(data, " %s", bars->rows[i].run_uuid);
    }
    fputc('\n', data);
}

static void write_rows(const struct bars *bars, FILE *data)
{
    fprintf(data, "# rml-results plot throughput-by-kv\n");
    write_runs(bars, data);
    fprintf(data, "# sql: %s\n# rows: %zu in %zu panels\n", rows_sql, bars->n, bars->n_panels);
    fprintf(data, "# panel kv cluster threads series n_series tokens_per_second lo hi label\n");
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *bar = &bars->rows[i];
        size_t n_series, series = series_of(bars, bar, &n_series);
        if (i > 0 && bar->panel != bars->rows[i - 1].panel)
            fprintf(data, "\n\n"); /* gnuplot: another index */
        char label[32];
        double x = bar->tokens;
        snprintf(label, sizeof label,
                 x >= 99950   ? "%.0fk%s"
                 : x >= 99.95 ? "%.0f%s"
                              : "%.3g%s",
                 x >= 99950 ? x / 1000 : x, bar->unstable ? "*" : "");
        fprintf(data, "\"%s\" \"%s\" %zu %d %zu %zu %.9g %.9g %.9g \"%s\"\n", bar->title, bar->kv,
                bar->cluster, bar->threads, series, n_series, bar->tokens, bar->lo, bar->hi, label);
    }
}

static void write_texts(const struct bars *bars, struct plot_texts *texts)
{
    size_t n_unstable = 0;
    for (size_t i = 0; i < bars->n; i++)
        n_unstable += bars->rows[i].unstable;
    char n[48];
    if (bars->n_min == bars->n_max)
        snprintf(n, sizeof n, "n = %" PRId64, bars->n_min);
    else
        snprintf(n, sizeof n, "n = %" PRId64 " to %" PRId64, bars->n_min, bars->n_max);
    *texts = (struct plot_texts){.n_rows = bars->n, .n_panels = bars->n_panels};
    snprintf(texts->title, sizeof texts->title, "Tokens per second by cache type");
    snprintf(texts->subtitle, sizeof texts->subtitle,
             "%s, %s; median of %s, %.1f %% confidence interval%s", bars->machine, bars->engine, n,
             100 * bars->coverage, n_unstable ? "; * time was not steady" : "");
}

bool plot_export_throughput_by_kv(struct store *store, FILE *data, struct plot_texts *texts,
                                  struct rml_error *err)
{
    struct bars bars = {0};
    struct query q;
    bool memory = true;
    query_init(&q, store, rows_sql);
    while (memory && query_step(&q))
        memory = add_row(&bars, q.stmt);
    bool ok = query_release(&q, "reading results", err);
    if (ok && !memory)
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the data of a chart");
    if (ok && bars.n == 0)
        ok = rmli_fail(err, RML_NOT_FOUND, store_file(store), -1,
                       "no measured case with a cache type, nothing to draw (see rml-bench "
                       "attention)");
    if (ok) {
        choose_panels(&bars);
        write_rows(&bars, data);
        write_texts(&bars, texts);
    }
    free(bars.rows);
    return ok;
}
