/*
 * Speed by cache type, depth, threads and weight type, and of engines side by side.
 *
 * All are tokens per second; they differ in what lies along x and in what is compared.
 */
#include "results/plot_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/report.h"

struct speed {
    const char *title, *x_label, *axes;
    const char *condition; /* of rows, in SQL */
    const char *needs;     /* the same in words, and what makes such rows */
    int flags;             /* of plot_load */
    enum chart_dim x;      /* whose number is x */
    struct chart_layout layout;
};

/* The sides of a comparison have a chart of their own; they are shown when their run is named. */
#define NO_ARMS "(arm IS NULL OR ?1 IS NOT NULL) AND "

static const struct speed by_kv = {
    .title = "Tokens per second by cache type",
    .x_label = "cache type (keys:values)",
    .condition = NO_ARMS "k_dtype IS NOT NULL AND tokens_per_second IS NOT NULL",
    .needs = "measured case with a cache type (rml-bench attention makes some)",
    .x = DIM_KV,
    .layout = {.x_dims = DIM(KV),
               .more = {DIM_ENGINE, DIM_BUILD, DIM_ARM, DIM_ISA, DIM_ARITHMETIC, DIM_THREADS},
               .n_more = 6,
               .max_series = 4,
               .needs_two = true}};

static const struct speed by_depth = {
    .title = "Tokens per second by depth",
    .x_label = "tokens in the cache",
    .axes = "x",
    .condition =
        NO_ARMS "n_depth IS NOT NULL AND coalesce(n_prompt, 0) <= 0 AND tokens_per_second IS NOT "
                "NULL",
    .flags = PLOT_FAMILIES,
    .needs = "measured decode case with a depth (rml-bench attention --depth 0,512,4096 makes "
             "some)",
    .x = DIM_DEPTH,
    .layout = {.x_dims = DIM(DEPTH),
               .more = {DIM_ENGINE, DIM_BUILD, DIM_ARM, DIM_ISA, DIM_ARITHMETIC, DIM_KV,
                        DIM_THREADS, DIM_WEIGHTS},
               .n_more = 8,
               .max_series = 6,
               .needs_two = true}};

static const struct speed by_threads = {
    .title = "Tokens per second by threads",
    .x_label = "threads",
    .axes = "x",
    .condition = NO_ARMS "threads IS NOT NULL AND tokens_per_second IS NOT NULL",
    .flags = PLOT_FAMILIES,
    .needs = "measured case with a number of threads (rml-bench decoder --threads 1,2 makes some)",
    .x = DIM_THREADS,
    .layout = {.x_dims = DIM(THREADS),
               .more = {DIM_ENGINE, DIM_BUILD, DIM_ARM, DIM_ISA, DIM_ARITHMETIC, DIM_KV,
                        DIM_WEIGHTS, DIM_DEPTH},
               .n_more = 8,
               .max_series = 6,
               .needs_two = true}};

static const struct speed by_weights = {
    .title = "Tokens per second by weight type",
    .x_label = "weight type",
    .condition = NO_ARMS "weight_dtype IS NOT NULL AND tokens_per_second IS NOT NULL",
    .needs = "measured case with a weight type (rml-bench decoder --weights f32,q8_0,q4_0 makes "
             "some)",
    .flags = PLOT_FAMILIES,
    .x = DIM_WEIGHTS,
    .layout = {.x_dims = DIM(WEIGHTS),
               .ignored = DIM(WORK), /* parameters name the checkpoint's own facts */
               .more = {DIM_ENGINE, DIM_BUILD, DIM_ARM, DIM_ISA, DIM_ARITHMETIC, DIM_THREADS},
               .n_more = 6,
               .max_series = 4,
               .needs_two = true}};

static const struct speed peers = {
    .title = "Engines side by side",
    .x_label = "",
    .condition = "tokens_per_second IS NOT NULL AND run_id IN (SELECT r.run_id FROM result AS r"
                 " JOIN bench_case AS c ON c.id = r.bench_case_id GROUP BY r.run_id"
                 " HAVING count(DISTINCT c.engine) > 1)",
    .needs = "run with more than one engine (bench/peers makes one)",
    .x = DIM_CASE,
    .layout = {.x_dims = DIM(CASE) | DIM(PROMPT) | DIM(GEN) | DIM(DEPTH),
               .ignored = DIM(WORK),
               .series = DIM(ENGINE) | DIM(ARITHMETIC) | DIM(ISA) | DIM(ARM) | DIM(BUILD)}};

static const struct speed *speed_of(const char *kind)
{
    static const struct {
        const char *kind;
        const struct speed *speed;
    } all[] = {{"throughput-by-kv", &by_kv},
               {"throughput-by-depth", &by_depth},
               {"throughput-by-threads", &by_threads},
               {"throughput-by-weights", &by_weights},
               {"peers", &peers}};
    size_t i = 0;
    while (strcmp(all[i].kind, kind) != 0)
        i++;
    return all[i].speed;
}

static void take(struct chart_point *p, const struct plot_figures *f, struct chart *chart)
{
    p->y = f->tokens_per_second;
    p->lo = f->tokens_per_second_lo;
    p->hi = f->tokens_per_second_hi;
    p->label = plot_value_label(chart, p->y, p->marks);
}

/* Speeds of peers as multiples of the fastest right row of ours in the group. */
static void add_ratios(struct chart *chart)
{
    for (size_t i = 0; i < chart->n; i++) {
        struct chart_point *p = &chart->points[i];
        if (p->marks & MARK_WRONG) {
            p->label = chart_format(chart, "%s\nwrong", p->label);
            continue;
        }
        double ours = NAN;
        for (size_t k = 0; k < chart->n; k++) {
            const struct chart_point *q = &chart->points[k];
            if (q->panel == p->panel && q->cluster == p->cluster && !(q->marks & MARK_WRONG) &&
                strcmp(q->dim[DIM_ENGINE], "rml") == 0 && !(q->y <= ours))
                ours = q->y;
        }
        if (strcmp(p->dim[DIM_ENGINE], "rml") != 0 && ours > 0)
            p->label = chart_format(chart, "%s\n%.2fx", p->label, p->y / ours);
    }
    chart->note = "x: times rml's fastest";
}

bool plot_finish(struct chart *chart, const struct plot_kind *kind, const char *sql, FILE *data)
{
    if (chart->n_panels < chart->n_panels_found)
        cli_note("%s: %zu of %zu panels drawn; with nothing to compare: %zu, more than fit into "
                 "one chart: %zu",
                 kind->name, chart->n_panels, chart->n_panels_found, chart->n_panels_alone,
                 chart->n_panels_found - chart->n_panels_alone - chart->n_panels);
    chart_write(chart, kind->name, sql, data);
    return true;
}

bool plot_export_speed(const struct plot_kind *kind, struct store *store,
                       const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    const struct speed *speed = speed_of(kind->name);
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection, speed->condition, speed->flags, take, &sql, err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection, speed->needs, err);
    for (size_t i = 0; ok && i < chart.n; i++)
        chart.points[i].x = chart.points[i].order[speed->x];
    if (ok && chart_arrange(&chart, &speed->layout, err)) {
        chart.title = speed->title;
        chart.x_label = speed->x_label;
        chart.y_label = "tokens/s";
        snprintf(chart.axes, sizeof chart.axes, "%s", speed->axes ? speed->axes : "");
        if (speed == &peers) {
            add_ratios(&chart);
            chart.x_separator = "\n";
        }
        ok = plot_finish(&chart, kind, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}
