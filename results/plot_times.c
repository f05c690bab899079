/*
 * Charts of times: token latencies, samples, history, and verdicts of comparisons.
 */
#include "results/plot_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/store_private.h"
#include "results/verdict_words.h"
#include "tools/cli/order_statistics.h"

#define EVERY_DIM 0xffffffffu

/* Rows chosen first; each then becomes several points. `id` stands in for the result meanwhile. */
static void take_result(struct chart_point *p, const struct plot_figures *f, struct chart *chart)
{
    (void)chart;
    p->x = (double)f->result_id;
    p->y = f->median_ns;
    p->lo = f->ci_lo_ns;
    p->hi = f->ci_hi_ns;
}

/* Calls `expand` with each of the chart's points, which are taken out. */
static bool expand_all(struct chart *chart, struct store *store,
                       bool (*expand)(struct chart *, struct store *, const struct chart_point *,
                                      struct rml_error *),
                       struct rml_error *err)
{
    struct chart_point *rows = chart->points;
    size_t n = chart->n;
    chart->points = NULL;
    chart->n = chart->n_room = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = expand(chart, store, &rows[i], err);
    free(rows);
    return ok;
}

/* The newest `limit` rows, those of the newest run only when `one_run`. */
static void keep_newest(struct chart *chart, size_t limit, bool one_run)
{
    size_t first = chart->n > limit ? chart->n - limit : 0; /* they come in order of time */
    while (one_run && chart->points[first].run_uuid != chart->points[chart->n - 1].run_uuid)
        first++;
    memmove(chart->points, chart->points + first, (chart->n - first) * sizeof *chart->points);
    chart->n -= first;
}

/* All numbers of a query with one parameter; *x [*n] is the caller's to free. */
static bool read_numbers(struct store *store, const char *sql, int64_t id, double **x, size_t *n,
                         struct rml_error *err)
{
    struct query q;
    size_t n_room = 0;
    bool memory = true;
    *x = NULL;
    *n = 0;
    query_init(&q, store, sql);
    query_int(&q, id);
    while (memory && query_step(&q)) {
        if (*n == n_room) {
            n_room = 2 * n_room + 64;
            double *more = realloc(*x, n_room * sizeof *more);
            memory = more != NULL;
            *x = memory ? more : *x;
        }
        if (memory)
            (*x)[(*n)++] = sqlite3_column_double(q.stmt, 0);
    }
    bool ok = query_release(&q, "reading times", err);
    return ok && (memory || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for times"));
}

/* ---- Units ---------------------------------------------------------------------------------- */

/* From nanoseconds to the largest unit in which no time is below a tenth, so that the numbers at the
 * axis stay short enough to leave room for its label. */
static const char *scale_times(struct chart *chart)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    double least = INFINITY;
    for (size_t i = 0; i < chart->n; i++)
        least = chart->points[i].y > 0 ? fmin(least, chart->points[i].y) : least;
    size_t u = 0;
    while (u + 1 < sizeof units / sizeof units[0] && !(least / units[u].ns >= 0.1))
        u++;
    for (size_t i = 0; i < chart->n; i++) {
        struct chart_point *p = &chart->points[i];
        p->y /= units[u].ns;
        p->lo /= units[u].ns;
        p->hi /= units[u].ns;
    }
    return units[u].name;
}

/* ---- Latency -------------------------------------------------------------------------------- */

/* From each token to the next, in ascending order; the first of a repetition counts from its
 * start. */
static const char gaps_sql[] =
    "SELECT t.t_mono_ns - coalesce(lag(t.t_mono_ns) OVER (PARTITION BY t.rep ORDER BY t.idx),"
    " s.t_mono_ns) AS gap FROM token_time AS t JOIN sample AS s ON s.result_id = t.result_id"
    " AND s.rep = t.rep WHERE t.result_id = ? AND NOT s.is_warmup ORDER BY gap";

/* Percentiles, spread so that each nine takes the same room. One that fewer than one token lies
 * above is left to the maximum. */
static bool expand_latency(struct chart *chart, struct store *store, const struct chart_point *row,
                           struct rml_error *err)
{
    static const double levels[] = {0.5, 0.9, 0.99, 0.999};
    static const char *const names[] = {"p50", "p90", "p99", "p99.9"};
    double *gaps;
    size_t n;
    bool ok = read_numbers(store, gaps_sql, (int64_t)row->x, &gaps, &n, err);
    for (size_t i = 0; ok && n > 0 && i <= sizeof levels / sizeof levels[0]; i++) {
        bool is_max = i == sizeof levels / sizeof levels[0];
        if (!is_max && (double)n * (1 - levels[i]) < 1)
            continue;
        struct chart_point *p = chart_add(chart);
        if (!p)
            break;
        *p = *row;
        p->x = is_max ? 3.5 : -log10(1 - levels[i]);
        p->y = (is_max ? gaps[n - 1] : quantile_of_sorted(gaps, n, levels[i]));
        p->lo = p->hi = p->coverage = NAN;
        p->n = (int64_t)n;
        p->dim[DIM_WORK] = is_max ? "max" : names[i];
        p->order[DIM_WORK] = p->x;
    }
    free(gaps);
    return ok;
}

bool plot_export_latency(const struct plot_kind *kind, struct store *store,
                         const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {.x_dims = DIM(WORK),
                                               .more = {DIM_ENGINE, DIM_BUILD, DIM_ARM, DIM_ISA,
                                                        DIM_ARITHMETIC, DIM_KV, DIM_WEIGHTS,
                                                        DIM_DEPTH},
                                               .n_more = 8,
                                               .max_series = 6};
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection, "result_id IN (SELECT result_id FROM token_time)",
                        PLOT_FAMILIES, take_result, &sql, err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection,
                          "measured case with token times (rml-bench decoder makes some)", err);
    ok = ok && expand_all(&chart, store, expand_latency, err);
    const char *unit = ok ? scale_times(&chart) : NULL;
    ok = ok && chart_arrange(&chart, &layout, err);
    if (ok) {
        chart.title = "Time from token to token";
        chart.x_label = "percentile of tokens";
        chart.y_label = unit;
        chart.n_columns = chart.n_panels > 1 ? 2 : 1;
        ok = plot_finish(&chart, kind, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}

/* ---- Samples ---------------------------------------------------------------------------------- */

#define MAX_STRIPS 24

/* The farthest samples would squeeze all others: the axis ends half as far again as the 98 %
 * quantile of their deviations (and no quartile lies beyond), where some lie beyond that. How many
 * these are. */
static size_t limit_axis(struct chart *chart)
{
    double *far = calloc(chart->n + 1, sizeof *far);
    chart->no_memory |= !far;
    double least = 0, most = 0, quartile = 0;
    size_t n_beyond = 0;
    for (size_t i = 0; far && i < chart->n; i++) {
        const struct chart_point *p = &chart->points[i];
        far[i] = fabs(p->x);
        least = fmin(least, p->x);
        most = fmax(most, p->x);
        quartile = fmax(quartile, p->hi);
    }
    if (far)
        sort_ascending(far, chart->n);
    double limit =
        far && chart->n > 0 ? fmax(1.5 * far[(chart->n - 1) * 98 / 100], quartile) : most;
    for (size_t i = 0; i < chart->n; i++)
        n_beyond += chart->points[i].x > limit;
    double end = n_beyond > 0 ? limit : most;
    double pad = end > least ? (end - least) * 0.03 : 1;
    chart->ranges[0] = (struct chart_range){least - pad, end + pad, 0, 0, false, false};
    free(far);
    return n_beyond;
}

static bool expand_samples(struct chart *chart, struct store *store, const struct chart_point *row,
                           struct rml_error *err)
{
    double *ns;
    size_t n;
    bool ok = read_numbers(store,
                           "SELECT CAST(wall_ns AS REAL) / iters FROM sample WHERE result_id = ?"
                           " AND NOT is_warmup ORDER BY 1",
                           (int64_t)row->x, &ns, &n, err);
    double median = ok ? median_of_sorted(ns, n) : NAN;
    for (size_t i = 0; ok && median > 0 && i < n; i++) {
        struct chart_point *p = chart_add(chart);
        if (!p)
            break;
        *p = *row;
        p->x = 100 * (ns[i] / median - 1);
        p->y = median;
        p->lo = 100 * (quantile_of_sorted(ns, n, 0.25) / median - 1);
        p->hi = 100 * (quantile_of_sorted(ns, n, 0.75) / median - 1);
        p->coverage = NAN;
        p->label = chart_format(chart,
                                median >= 1e6   ? "%.4g ms"
                                : median >= 1e3 ? "%.4g us"
                                                : "%.4g ns",
                                median / (median >= 1e6   ? 1e6
                                          : median >= 1e3 ? 1e3
                                                          : 1));
    }
    free(ns);
    return ok;
}

bool plot_export_samples(const struct plot_kind *kind, struct store *store,
                         const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {.x_dims = EVERY_DIM};
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection, "1", 0, take_result, &sql, err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection, "measured case (rml-bench makes some)", err);
    size_t n_found = chart.n;
    if (ok)
        keep_newest(&chart, MAX_STRIPS, false);
    if (ok)
        plot_name_work(&chart);
    char note[160] = "";
    if (chart.n < n_found)
        snprintf(note, sizeof note, "the newest %zu of %zu cases", chart.n, n_found);
    ok =
        ok && expand_all(&chart, store, expand_samples, err) && chart_arrange(&chart, &layout, err);
    if (ok) {
        size_t n_beyond = limit_axis(&chart), used = strlen(note);
        if (n_beyond > 0)
            snprintf(note + used, sizeof note - used, "%s%zu %s beyond the axis (>)",
                     used ? "; " : "", n_beyond, n_beyond == 1 ? "sample" : "samples");
        chart.title = "Samples, their quartiles and medians";
        chart.x_label = "deviation from the median in %";
        chart.note = *note ? note : NULL;
        chart.n_columns = 1;
        ok = plot_finish(&chart, kind, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}

/* ---- History ---------------------------------------------------------------------------------- */

static void take_history(struct chart_point *p, const struct plot_figures *f, struct chart *chart)
{
    p->x = f->start_ns / 1e9;
    p->y = f->median_ns;
    p->lo = f->ci_lo_ns;
    p->hi = f->ci_hi_ns;
    p->label = chart_text(chart, f->note);
    /* Engines of peers have versions in their names; a history goes through all of ours. */
    p->dim[DIM_BUILD] = p->run_uuid;
    p->order[DIM_BUILD] = f->start_ns;
}

bool plot_export_history(const struct plot_kind *kind, struct store *store,
                         const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {.x_dims = DIM(BUILD), .needs_two = true};
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection, "arm IS NULL AND NOT is_wrong", PLOT_EVERY_RESULT,
                        take_history, &sql, err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection, "measured case (rml-bench makes some)", err);
    const char *unit = ok ? scale_times(&chart) : NULL;
    ok = ok && chart_arrange(&chart, &layout, err);
    if (ok) {
        /* A note stands at the first run that it is about. */
        for (size_t i = chart.n; i-- > 1;) {
            struct chart_point *p = &chart.points[i];
            for (size_t k = i; k-- > 0 && chart.points[k].panel == p->panel && p->label;)
                if (chart.points[k].label == p->label)
                    p->label = NULL;
        }
        chart.title = "Time by run, each host apart";
        chart.y_label = chart_format(&chart, "%s an iteration", unit);
        chart.n_columns = 1;
        ok = plot_finish(&chart, kind, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}

/* ---- Verdicts ---------------------------------------------------------------------------------- */

/* Names the case of a verdict: where its base had another setting, both. */
static void name_sides(struct chart *chart, struct chart_point *p, const struct chart_point *base)
{
    bool is_canary = strcmp(p->dim[DIM_ARM], "canary") == 0, differ = false;
    for (int d = 0; base && !is_canary && d < CHART_N_DIMS; d++) {
        if (d == DIM_ARM || d == DIM_WORK || p->dim[d] == base->dim[d])
            continue;
        /* "kv f16 -> i8": the same beginning is not said again */
        const char *word = strchr(p->dim[d], ' ');
        size_t n = word ? (size_t)(word - p->dim[d]) + 1 : 0;
        bool again = n > 0 && strncmp(p->dim[d], base->dim[d], n) == 0;
        p->dim[d] = chart_format(chart, "%s -> %s", *base->dim[d] ? base->dim[d] : "none",
                                 !*p->dim[d] ? "none" : p->dim[d] + (again ? n : 0));
        differ = true;
    }
    if (is_canary || base)
        p->dim[DIM_ARM] = chart_text(chart, is_canary ? CANARY_TEXT : differ ? "" : "base -> head");
    p->order[DIM_ARM] = is_canary; /* the last, as in the terminal */
}

static bool expand_verdicts(struct chart *chart, struct store *store, const struct chart *rows,
                            const struct chart_point *row, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT metric, ratio, d.ci_lo, d.ci_hi, n, confidence, gate_pct, " VERDICT_WORD
               ", base_result_id FROM verdict AS d JOIN result AS r ON r.id ="
               " d.candidate_result_id WHERE r.id = ? AND ratio IS NOT NULL ORDER BY d.id");
    query_int(&q, (int64_t)row->x);
    while (query_step(&q)) {
        struct chart_point *p = chart_add(chart);
        if (!p)
            break;
        *p = *row;
        const struct chart_point *base = NULL;
        for (size_t i = 0; i < rows->n && !base; i++)
            base = rows->points[i].x == plot_column_number(q.stmt, 8) ? &rows->points[i] : NULL;
        name_sides(chart, p, base);
        p->dim[DIM_WORK] = chart_text(chart, plot_column_text(q.stmt, 0));
        p->x = 100 * (plot_column_number(q.stmt, 1) - 1);
        p->lo = 100 * (plot_column_number(q.stmt, 2) - 1);
        p->hi = 100 * (plot_column_number(q.stmt, 3) - 1);
        p->lo = isnan(p->lo) ? p->x : p->lo;
        p->hi = isnan(p->hi) ? p->x : p->hi;
        p->n = sqlite3_column_int64(q.stmt, 4);
        p->coverage = plot_column_number(q.stmt, 5);
        p->y = plot_column_number(q.stmt, 6); /* the gate */
        p->label = chart_text(chart, plot_column_text(q.stmt, 7));
    }
    return query_release(&q, "reading verdicts", err);
}

bool plot_export_verdicts(const struct plot_kind *kind, struct store *store,
                          const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {.x_dims = EVERY_DIM};
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection,
                        "result_id IN (SELECT candidate_result_id FROM verdict WHERE ratio IS NOT"
                        " NULL UNION SELECT base_result_id FROM verdict WHERE ratio IS NOT NULL)",
                        PLOT_EVERY_RESULT, take_result, &sql, err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection, "comparison (rml-bench ab makes one)", err);
    if (ok && !selection->runs)
        keep_newest(&chart, SIZE_MAX, true);
    struct chart rows = {.points = chart.points, .n = chart.n};
    chart.points = NULL;
    chart.n = chart.n_room = 0;
    for (size_t i = 0; ok && i < rows.n; i++)
        ok = expand_verdicts(&chart, store, &rows, &rows.points[i], err);
    free(rows.points);
    ok = ok && chart_arrange(&chart, &layout, err);
    if (ok) {
        chart.title = "Time of candidate against base";
        chart.x_label = "slower than the base by %";
        chart.n_columns = 1;
        ok = plot_finish(&chart, kind, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}
