/*
 * Charts of labelled points: memory against speed, quality against size and speed, roofline.
 */
#include "results/plot_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/store_private.h"

/* What tells a point from the others of its panel. */
static void label_points(struct chart *chart, unsigned mask)
{
    for (size_t i = 0; i < chart->n; i++) {
        unsigned here = 0;
        struct chart_point *p = &chart->points[i];
        for (size_t k = 0; k < chart->n; k++) {
            for (int d = 0; d < CHART_N_DIMS && chart->points[k].panel == p->panel &&
                            !(chart->points[k].marks & MARK_ROOF);
                 d++)
                here |= (unsigned)(chart->points[k].dim[d] != p->dim[d]) << d;
        }
        char name[256];
        chart_name(chart, p, mask & here, ", ", name, sizeof name);
        if (!(p->marks & MARK_ROOF))
            p->label = chart_format(chart, "%s%s%s", name, p->marks & MARK_UNSTABLE ? "*" : "",
                                    p->marks & MARK_WRONG ? " wrong" : "");
    }
}

/* Of work under roofs, whose names are long: numbers beside points, the names in a key. */
static void number_points(struct chart *chart)
{
    size_t n = 0;
    for (size_t i = 0; i < chart->n; i++) {
        struct chart_point *p = &chart->points[i];
        bool is_first = i == 0 || p->panel != p[-1].panel;
        n = is_first ? 0 : n;
        if (p->marks & MARK_ROOF)
            continue;
        n += n == 0 || p->series != p[-1].series; /* roofs are series of their own */
        p->label = chart_format(chart, "%zu%s%s", n, p->marks & MARK_UNSTABLE ? "*" : "",
                                p->marks & MARK_WRONG ? " wrong" : "");
    }
    strcpy(chart->axes, "k");
}

/* Panels take half of the width when names are short; then labels find places in the pixels that
 * the scripts give a panel. */
static bool finish(struct chart *chart, const struct plot_kind *kind, unsigned named,
                   enum chart_axis x, enum chart_axis y, const char *sql, FILE *data)
{
    size_t longest = 0;
    bool is_high = strcmp(kind->script, "scatter") != 0;
    label_points(chart, named);
    if (strcmp(kind->script, "roofline") == 0)
        number_points(chart);
    for (size_t i = 0; i < chart->n; i++) {
        const char *label = chart->points[i].label;
        longest = label && strlen(label) > longest ? strlen(label) : longest;
    }
    chart->n_columns = chart->n_panels > 1 && longest < 26 && !is_high ? 2 : 1;
    chart_place_labels(chart, x, y, chart->n_columns > 1 ? 308 : 701, is_high ? 380 : 230);
    /* What found no place beside its point is told in a key. */
    for (size_t i = 0; i < chart->n; i++)
        if (!chart->points[i].label)
            strcpy(chart->axes, "k");
    return plot_finish(chart, kind, sql, data);
}

/* ---- Memory against speed ------------------------------------------------------------------ */

static void take_memory(struct chart_point *p, const struct plot_figures *f, struct chart *chart)
{
    (void)chart;
    p->x = (isnan(f->rss_bytes) ? f->model_bytes + fmax(f->kv_bytes, 0) : f->rss_bytes) / 1e6;
    p->y = f->tokens_per_second;
    p->lo = f->tokens_per_second_lo;
    p->hi = f->tokens_per_second_hi;
}

bool plot_export_memory(const struct plot_kind *kind, struct store *store,
                        const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {.ignored = DIM(WORK),
                                               .series = DIM(ENGINE) | DIM(MODEL) | DIM(WEIGHTS) |
                                                         DIM(ARITHMETIC) | DIM(KV) | DIM(ISA) |
                                                         DIM(ARM) | DIM(BUILD),
                                               .are_points = true};
    struct chart chart;
    char *sql = NULL;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection,
                        "(arm IS NULL OR ?1 IS NOT NULL) AND tokens_per_second IS NOT NULL"
                        " AND coalesce(rss_bytes, model_bytes) IS NOT NULL",
                        PLOT_FAMILIES, take_memory, &sql, err);
    if (ok && chart.n == 0)
        ok =
            plot_nothing(store, selection,
                         "measured case with a size in memory (rml-bench decoder makes some)", err);
    if (ok && (ok = chart_arrange(&chart, &layout, err))) {
        chart.title = "Memory and speed";
        chart.x_label = "memory in MB";
        chart.y_label = "tokens/s";
        ok = finish(&chart, kind, layout.series, AXIS_ZERO, AXIS_ZERO, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}

/* ---- Quality --------------------------------------------------------------------------------- */

/* The latest value of each metric of each checkpoint and setting, of one protocol, context, text
 * and base (numbers of two of these do not compare; a context is also which windows of it were
 * scored, a text its content: a name that stands for several shows the end of its hash), with its memory and speeds: those of a sweep
 * where it is of one (weights and the cache of a window; tokens scored a second), else the size of
 * the checkpoint; and the decoding that was measured in just its setting, on its host and with its
 * threads, by the rule of store_find_decode_speed. A sweep's perplexities are in its divergences.
 * Parameters as those of plot_load. (->> would ask for SQLite 3.38.) */
static const char quality_sql[] =
    "WITH decoding AS MATERIALIZED (SELECT model_id, arithmetic, k_dtype, v_dtype, isa, threads,"
    "  host_id, coalesce(n_depth, 0) AS n_depth, start_ns, result_id, tokens_per_second"
    "  FROM v_chart WHERE suite = 'decoder' AND engine = 'rml' AND n_gen > 0"
    "  AND coalesce(n_batch, 1) = 1 AND arm IS NULL AND NOT is_wrong AND run_state = 'complete'"
    "  AND status IN ('ok', 'unstable') AND tokens_per_second > 0),"
    " told AS MATERIALIZED (SELECT e.run_id, e.task, e.isa, e.threads,"
    "  e.protocol || ' protocol' || iif(json_extract(e.settings_json, '$.double_bos'),"
    "   ', double BOS', '') AS protocol,"
    "  'context ' || json_extract(e.settings_json, '$.n_ctx') || coalesce(' stride ' ||"
    "   nullif(json_extract(e.settings_json, '$.stride'), 0), '') ||"
    "   coalesce(', ' || json_extract(e.settings_json, '$.limit') ||"
    "   CASE json_extract(e.settings_json, '$.sample')"
    "   WHEN 'head' THEN ' first windows' WHEN 'seeded' THEN ' windows of seed ' ||"
    "   json_extract(e.settings_json, '$.seed') ELSE ' windows by ' ||"
    "   json_extract(e.settings_json, '$.sample') || ' ' ||"
    "   json_extract(e.settings_json, '$.seed') END, '') ||"
    "   coalesce(', shard ' || json_extract(e.settings_json, '$.shard'), '') AS context,"
    "  (SELECT min(i.doc_id) || CASE count(DISTINCT i.doc_id) WHEN 1 THEN '' ELSE ' and ' ||"
    "   (count(DISTINCT i.doc_id) - 1) || ' more' END FROM eval_item AS i"
    "   WHERE i.run_id = e.run_id AND i.task = e.task) AS text,"
    "  coalesce(json_extract(e.settings_json, '$.texts_sha256'),"
    "   json_extract(e.settings_json, '$.ids_sha256')) AS content,"
    "  'base ' || coalesce(m.file_name, json_extract(e.settings_json, '$.base')) ||"
    "   coalesce(' ' || e.base_arithmetic, '') AS base"
    "  FROM eval AS e LEFT JOIN model AS m ON m.id = e.base_model_id),"
    " setting AS MATERIALIZED (SELECT t.run_id, t.task, t.isa, t.threads, t.protocol, t.context,"
    "  t.text || CASE WHEN EXISTS (SELECT 1 FROM told AS o WHERE o.text = t.text"
    "   AND o.content IS NOT t.content) THEN ' (' || coalesce('...' || substr(t.content, -6),"
    "   'content not known') || ')' ELSE '' END AS text, t.base FROM told AS t),"
    " known AS MATERIALIZED (SELECT e.*, s.isa, s.threads, s.protocol, s.context, s.text, s.base,"
    "  u.uuid AS run_uuid, u.start_ns, u.state, u.host_id FROM eval_metric AS e"
    "  JOIN run AS u ON u.id = e.run_id LEFT JOIN setting AS s ON s.run_id = e.run_id"
    "   AND s.task = e.task"
    "  WHERE e.metric IN ('ppl', 'word_perplexity', 'kld_mean', 'tokens_per_second')"
    "  AND e.value IS NOT NULL),"
    " cost AS MATERIALIZED (SELECT e.run_id, e.task, sum(e.value) AS nbytes FROM eval_metric AS e"
    "  WHERE e.metric IN ('weight_bytes', 'kv_bytes') GROUP BY e.run_id, e.task),"
    " metric AS MATERIALIZED (SELECT e.*, h.hostname, h.cpu_model, b.version, b.git_commit,"
    "  m.file_name AS model, m.file_bytes, m.arch, m.n_params, m.weight_dtype,"
    "  row_number() OVER (PARTITION BY e.task, e.metric, e.protocol, e.context, e.text, e.base,"
    "   e.model_id, e.arithmetic, e.k_dtype, e.v_dtype ORDER BY e.start_ns DESC, e.id DESC) AS age"
    " FROM known AS e JOIN host AS h ON h.id = e.host_id JOIN run AS u ON u.id = e.run_id"
    " JOIN build AS b ON b.id = u.build_id JOIN model AS m ON m.id = e.model_id"
    " WHERE e.metric <> 'tokens_per_second'"
    " AND NOT (e.metric = 'ppl' AND EXISTS (SELECT 1 FROM cost WHERE cost.run_id = e.run_id"
    "  AND cost.task = e.task))"
    " AND (e.state = 'complete' OR ?1 IS NOT NULL)"
    " AND (?1 IS NULL OR e.run_id IN (SELECT value FROM json_each(?1)))"
    " AND (?2 IS NULL OR h.hostname GLOB ?2 OR h.fingerprint GLOB ?2)"
    " AND (?6 IS NULL OR m.file_name GLOB ?6) AND e.start_ns >= ?7)"
    " SELECT q.task, metric, q.value, stderr, n, arithmetic, k_dtype, v_dtype, model, file_bytes,"
    " arch, n_params, weight_dtype, run_uuid, start_ns, cpu_model, hostname, version, git_commit,"
    " (SELECT d.tokens_per_second FROM decoding AS d WHERE d.model_id = q.model_id"
    "  AND d.arithmetic = q.arithmetic AND d.k_dtype = q.k_dtype AND d.v_dtype = q.v_dtype"
    "  AND d.isa = q.isa AND d.threads = q.threads AND d.host_id = q.host_id"
    "  ORDER BY d.n_depth, d.start_ns DESC, d.result_id DESC LIMIT 1),"
    " cost.nbytes, CASE WHEN cost.nbytes IS NOT NULL THEN (SELECT s.value FROM known AS s"
    "  WHERE s.metric = 'tokens_per_second' AND s.model_id = q.model_id AND s.task = q.task"
    "  AND s.arithmetic = q.arithmetic AND s.k_dtype = q.k_dtype AND s.v_dtype = q.v_dtype"
    "  AND s.host_id = q.host_id AND s.isa IS q.isa AND s.threads IS q.threads"
    "  AND s.protocol IS q.protocol AND s.context IS q.context"
    "  ORDER BY s.start_ns DESC, s.id DESC LIMIT 1) END,"
    " protocol, context, text, base"
    " FROM metric AS q LEFT JOIN cost ON cost.run_id = q.run_id AND cost.task = q.task"
    " WHERE q.age = 1 ORDER BY start_ns, q.id";

enum {
    Q_TASK,
    Q_METRIC,
    Q_VALUE,
    Q_STDERR,
    Q_N,
    Q_ARITHMETIC,
    Q_K_DTYPE,
    Q_V_DTYPE,
    Q_MODEL,
    Q_FILE_BYTES,
    Q_ARCH,
    Q_N_PARAMS,
    Q_WEIGHTS,
    Q_RUN_UUID,
    Q_START_NS,
    Q_CPU_MODEL,
    Q_HOSTNAME,
    Q_VERSION,
    Q_GIT_COMMIT,
    Q_DECODING,
    Q_MEMORY,
    Q_SCORING,
    Q_PROTOCOL,
    Q_CONTEXT,
    Q_TEXT,
    Q_BASE
};

/* What quality is set against, each in its panels. */
static const struct {
    int column;
    double scale;
    const char *what;
} quality_axes[] = {{Q_MEMORY, 1e-6, "over memory in MB"},
                    {Q_FILE_BYTES, 1e-6, "over file size in MB"},
                    {Q_SCORING, 1, "over scored tokens/s"},
                    {Q_DECODING, 1, "over decoded tokens/s"}};

/* What is the same in all panels names their axis, not the panels. */
static void name_axis(struct chart *chart)
{
    const char *what = chart->n > 0 ? chart->points[0].dim[DIM_ENGINE] : "";
    for (size_t i = 0; i < chart->n; i++)
        if (chart->points[i].dim[DIM_ENGINE] != what)
            return;
    for (size_t i = 0; i < chart->n; i++)
        chart->points[i].dim[DIM_ENGINE] = "";
    chart->x_label = *what ? what + strlen("over ") : "";
}

/* A divergence of 0 has no place on an axis that is logarithmic: the base is left out. */
static bool is_quality_base(sqlite3_stmt *stmt)
{
    return strcmp(plot_column_text(stmt, Q_METRIC), "kld_mean") == 0 &&
           !(plot_column_number(stmt, Q_VALUE) > 0);
}

/* A point for each of these that is known; the file's size where memory is not. */
static void add_metric(struct chart *chart, sqlite3_stmt *stmt)
{
    bool has_memory = !isnan(plot_column_number(stmt, Q_MEMORY));
    for (size_t i = 0; i < sizeof quality_axes / sizeof quality_axes[0]; i++) {
        double x = plot_column_number(stmt, quality_axes[i].column);
        bool again = quality_axes[i].column == Q_FILE_BYTES && has_memory;
        struct chart_point *p = isnan(x) || again ? NULL : chart_add(chart);
        if (!p)
            continue;
        const char *k = plot_column_text(stmt, Q_K_DTYPE), *v = plot_column_text(stmt, Q_V_DTYPE);
        double error = plot_column_number(stmt, Q_STDERR);
        p->x = x * quality_axes[i].scale;
        p->y = plot_column_number(stmt, Q_VALUE);
        if (!isnan(error)) {
            p->lo = p->y > 1.96 * error ? p->y - 1.96 * error : p->y;
            p->hi = p->y + 1.96 * error;
            p->coverage = 0.95;
        }
        p->n = sqlite3_column_int64(stmt, Q_N);
        p->dim[DIM_CASE] = chart_format(chart, "%s of %s", plot_column_text(stmt, Q_METRIC),
                                        plot_column_text(stmt, Q_TASK));
        p->dim[DIM_PROTOCOL] = chart_text(chart, plot_column_text(stmt, Q_PROTOCOL));
        p->dim[DIM_CONTEXT] = chart_text(chart, plot_column_text(stmt, Q_CONTEXT));
        p->dim[DIM_TEXT] = chart_text(chart, plot_column_text(stmt, Q_TEXT));
        p->dim[DIM_BASE] = chart_text(chart, plot_column_text(stmt, Q_BASE));
        p->dim[DIM_WORK] = p->dim[DIM_ENGINE] = quality_axes[i].what;
        p->order[DIM_ENGINE] = (double)i;
        p->dim[DIM_MODEL] = p->file = chart_text(chart, plot_column_text(stmt, Q_MODEL));
        p->family = plot_family(chart, plot_column_text(stmt, Q_ARCH),
                                plot_column_number(stmt, Q_N_PARAMS), p->file);
        p->dim[DIM_WEIGHTS] = chart_text(chart, plot_column_text(stmt, Q_WEIGHTS));
        if (plot_column_text(stmt, Q_ARITHMETIC)[0])
            p->dim[DIM_ARITHMETIC] =
                chart_format(chart, "%s arithmetic", plot_column_text(stmt, Q_ARITHMETIC));
        if (*k)
            p->dim[DIM_KV] = strcmp(k, v) == 0 ? chart_format(chart, "kv %s", k)
                                               : chart_format(chart, "kv %s:%s", k, v);
        p->machine = plot_machine(chart, plot_column_text(stmt, Q_CPU_MODEL),
                                  plot_column_text(stmt, Q_HOSTNAME));
        p->program = chart_format(chart, "rml %s %.9s", plot_column_text(stmt, Q_VERSION),
                                  plot_column_text(stmt, Q_GIT_COMMIT));
        p->run_uuid = chart_text(chart, plot_column_text(stmt, Q_RUN_UUID));
        p->start_ns = plot_column_number(stmt, Q_START_NS);
    }
}

bool plot_export_quality(const struct plot_kind *kind, struct store *store,
                         const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    /* Few points are named in full beside them; of many the key has the checkpoint and the
     * arithmetic, and the labels are the cache types. */
    static const struct chart_layout few = {.ignored = DIM(WORK),
                                            .series = DIM(MODEL) | DIM(WEIGHTS) | DIM(ARITHMETIC) |
                                                      DIM(KV),
                                            .needs_points = true,
                                            .are_points = true};
    static const struct chart_layout many = {.ignored = DIM(WORK) | DIM(KV),
                                             .series = DIM(MODEL) | DIM(WEIGHTS) | DIM(ARITHMETIC),
                                             .needs_points = true,
                                             .are_points = true};
    struct chart chart;
    struct query q;
    size_t n_bases = 0;
    chart_init(&chart);
    query_init(&q, store, quality_sql);
    plot_bind(&q, selection);
    while (query_step(&q) && !chart.no_memory) {
        if (is_quality_base(q.stmt))
            n_bases++;
        else
            add_metric(&chart, q.stmt);
    }
    bool ok = query_release(&q, "reading metrics", err);
    if (ok && chart.n == 0)
        ok = plot_nothing(store, selection,
                          "perplexity or KL divergence of a known checkpoint (rml-eval perplexity "
                          "and rml-eval kld make some)",
                          err);
    plot_use_families(&chart);
    name_axis(&chart);
    bool dense = chart.n > 32;
    if (ok && (ok = chart_arrange(&chart, dense ? &many : &few, err))) {
        chart.title = "Quality against memory and speed";
        chart.y_label = "less is better";
        if (n_bases > 0)
            chart.note = "memory: weights and the cache of a window; without the base (0)";
        if (dense)
            strcpy(chart.axes, "k");
        ok = finish(&chart, kind, dense ? DIM(KV) : few.series, AXIS_AUTO, AXIS_AUTO, quality_sql,
                    data);
    }
    chart_release(&chart);
    return ok;
}

/* ---- Roofline --------------------------------------------------------------------------------- */

static void take_roofline(struct chart_point *p, const struct plot_figures *f, struct chart *chart)
{
    (void)chart;
    p->x = f->flops_per_second / f->bytes_per_second;
    p->y = f->flops_per_second / 1e9;
    if (strncmp(p->dim[DIM_CASE], "roof ", 5) == 0) {
        p->marks |= MARK_ROOF;
        p->y = (isnan(f->flops_per_second) ? f->bytes_per_second : f->flops_per_second) / 1e9;
    }
}

static bool same_machine(const struct chart_point *p, const struct chart_point *q)
{
    return p->dim[DIM_THREADS] == q->dim[DIM_THREADS] && p->dim[DIM_HOST] == q->dim[DIM_HOST];
}

/* Turns each roof into the two ends of its line: bandwidth rises to the highest peak, a peak runs
 * from where bandwidth reaches it. Roofs without work under them go. */
static void draw_roofs(struct chart *chart)
{
    size_t n = chart->n, kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct chart_point roof = chart->points[i];
        if (!(roof.marks & MARK_ROOF))
            continue;
        double least = INFINITY, most = 0, bandwidth = NAN, peak = 0;
        for (size_t k = 0; k < n; k++) {
            const struct chart_point *q = &chart->points[k];
            if (!same_machine(&roof, q))
                continue;
            if (!(q->marks & MARK_ROOF)) {
                least = fmin(least, q->x);
                most = fmax(most, q->x);
            } else if (!(q->y > 0)) {
                continue; /* was not measured */
            } else if (strstr(q->dim[DIM_CASE], "bandwidth")) {
                bandwidth = q->y;
            } else {
                peak = fmax(peak, q->y);
            }
        }
        if (!(most > 0) || !(roof.y > 0)) /* no work under it, or no roof */
            continue;
        bool is_bandwidth = strstr(roof.dim[DIM_CASE], "bandwidth") != NULL;
        double from = fmin(least, peak > 0 && bandwidth > 0 ? peak / bandwidth : least) / 2;
        double to = fmax(most, peak > 0 && bandwidth > 0 ? peak / bandwidth : most) * 4;
        double ends[2] = {is_bandwidth    ? from
                          : bandwidth > 0 ? roof.y / bandwidth
                                          : from,
                          is_bandwidth && peak > 0 ? peak / bandwidth : to};
        const char *label = chart_format(chart, is_bandwidth ? "%s %.3g GB/s" : "%s %.3g G/s",
                                         roof.dim[DIM_CASE] + strlen("roof "), roof.y);
        for (int end = 0; end < 2; end++) {
            struct chart_point *p = chart_add(chart);
            if (!p)
                return;
            *p = roof;
            p->x = ends[end];
            p->y = is_bandwidth ? bandwidth * ends[end] : roof.y;
            p->label = end == !is_bandwidth ? label : NULL;
            for (int d = 0; d < CHART_N_DIMS; d++)
                if (!((DIM(CASE) | DIM(THREADS) | DIM(HOST)) >> d & 1))
                    p->dim[d] = "";
        }
    }
    /* the rows that the lines were made of, and points that have no intensity */
    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *p = &chart->points[i];
        if (i < n && (p->marks & MARK_ROOF || !(p->x > 0) || !(p->y > 0)))
            continue;
        chart->points[kept++] = *p;
    }
    chart->n = kept;
}

bool plot_export_roofline(const struct plot_kind *kind, struct store *store,
                          const struct plot_selection *selection, FILE *data, struct rml_error *err)
{
    static const struct chart_layout layout = {
        .series = (unsigned)~(DIM(THREADS) | DIM(HOST)),
        .are_points = true,
    };
    struct chart chart;
    char *sql = NULL;
    size_t n_roofs = 0, n_points = 0;
    chart_init(&chart);
    bool ok = plot_load(&chart, store, selection,
                        "(arm IS NULL OR ?1 IS NOT NULL) AND engine = 'rml' AND NOT is_wrong AND"
                        " (suite = 'roof' OR (flops_per_second > 0 AND bytes_per_second > 0))",
                        0, take_roofline, &sql, err);
    if (ok) {
        plot_name_work(&chart);
        draw_roofs(&chart);
    }
    for (size_t i = 0; i < chart.n; i++) {
        n_roofs += (chart.points[i].marks & MARK_ROOF) != 0;
        n_points += !(chart.points[i].marks & MARK_ROOF);
    }
    if (ok && (n_roofs == 0 || n_points == 0))
        ok = plot_nothing(store, selection,
                          n_points == 0
                              ? "measured case with bytes and operations (rml-bench attention "
                                "makes some)"
                              : "measured roof of the threads that cases ran with (rml-bench roof "
                                "makes them)",
                          err);
    if (ok && (ok = chart_arrange(&chart, &layout, err))) {
        chart.title = "Roofline: operations per second and per byte";
        chart.x_label = "operations per byte";
        chart.y_label = "G operations/s";
        ok = finish(&chart, kind, layout.series, AXIS_LOG, AXIS_LOG, sql, data);
    }
    free(sql);
    chart_release(&chart);
    return ok;
}
