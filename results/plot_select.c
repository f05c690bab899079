#include "results/plot.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rml.h"
#include "results/store_private.h"

/* Parameters 1 to 7. */
#define FILTERS                                                                                    \
    "(?1 IS NULL OR run_uuid IN (SELECT u.uuid FROM run AS u JOIN json_each(?1) ON u.id = value))" \
    " AND (?2 IS NULL OR hostname GLOB ?2 OR host_fingerprint GLOB ?2) AND (?3 IS NULL OR suite "  \
    "GLOB ?3)"                                                                                     \
    " AND (?4 IS NULL OR name GLOB ?4) AND (?5 IS NULL OR engine GLOB ?5)"                         \
    " AND (?6 IS NULL OR model GLOB ?6) AND start_ns >= ?7"

#define COLUMNS                                                                                    \
    "suite, name, work_version, params_json, model, model_arch, n_params, weight_dtype,"           \
    " arithmetic, kv, k_dtype, v_dtype, n_prompt, n_gen, n_depth, n_batch, threads, isa, engine,"  \
    " engine_version, arm, hostname, cpu_model, host_fingerprint, version, git_commit,"            \
    " git_dirty, run_uuid, start_ns, status, is_wrong, n_samples, ci_coverage,"                    \
    " tokens_per_second, tokens_per_second_lo, tokens_per_second_hi, flops_per_second,"            \
    " bytes_per_second, median_ns, ci_lo_ns, ci_hi_ns, rss_bytes, kv_bytes, model_bytes, "         \
    "result_id, note"

enum {
    SUITE,
    NAME,
    WORK_VERSION,
    PARAMS,
    MODEL,
    MODEL_ARCH,
    N_PARAMS,
    WEIGHTS,
    ARITHMETIC,
    KV,
    K_DTYPE,
    V_DTYPE,
    N_PROMPT,
    N_GEN,
    N_DEPTH,
    N_BATCH,
    THREADS,
    ISA,
    ENGINE,
    ENGINE_VERSION,
    ARM,
    HOSTNAME,
    CPU_MODEL,
    FINGERPRINT,
    VERSION,
    GIT_COMMIT,
    GIT_DIRTY,
    RUN_UUID,
    START_NS,
    STATUS,
    IS_WRONG,
    N_SAMPLES,
    COVERAGE,
    TOKENS,
    TOKENS_LO,
    TOKENS_HI,
    FLOPS,
    BYTES,
    MEDIAN,
    CI_LO,
    CI_HI,
    RSS,
    KV_BYTES,
    MODEL_BYTES,
    RESULT_ID,
    NOTE
};

/* True when nothing narrows the choice. */
static bool is_all(const struct plot_selection *s)
{
    return !s->runs && !s->host && !s->suite && !s->case_name && !s->engine && !s->model &&
           s->since_ns == INT64_MIN;
}

bool plot_selection_find(struct plot_selection *s, struct store *store, char *const *names,
                         struct rml_error *err)
{
    json_t *ids = json_array();
    bool ok = true;
    for (; ok && names && *names; names++)
        ok = store_find_runs(store, *names, ids, err);
    if (ok && json_array_size(ids) > 0) {
        s->runs = json_dumps(ids, JSON_COMPACT);
        ok = s->runs || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the runs");
    }
    json_decref(ids);
    return ok;
}

void plot_bind(struct query *q, const struct plot_selection *s)
{
    query_text(q, s->runs);
    query_text(q, s->host);
    query_text(q, s->suite);
    query_text(q, s->case_name);
    query_text(q, s->engine);
    query_text(q, s->model);
    query_int(q, s->since_ns);
}

/* ---- A row ----------------------------------------------------------------------------------- */

const char *plot_column_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

double plot_column_number(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN
                                                            : sqlite3_column_double(stmt, column);
}

/* "depth 512"; nothing for NULL, or for `none`. */
static void count_dim(struct chart *chart, struct chart_point *p, enum chart_dim dim,
                      sqlite3_stmt *stmt, int column, int64_t none, const char *format)
{
    int64_t count = sqlite3_column_int64(stmt, column);
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL || count == none)
        return;
    char text[64];
    snprintf(text, sizeof text, "%s%lld%s", *format == '<' ? "" : format, (long long)count,
             *format != '<' ? ""
             : count == 1   ? " thread"
                            : " threads");
    p->dim[dim] = chart_text(chart, text);
    p->order[dim] = (double)count;
}

/* Rank of a weight type by the bytes it takes. */
static double weight_order(const char *weight_dtype)
{
    enum rml_dtype dtype;
    char lower[32];
    size_t nbytes, n = 0;
    for (; weight_dtype[n] && n + 1 < sizeof lower; n++)
        lower[n] = weight_dtype[n] >= 'A' && weight_dtype[n] <= 'Z' ? weight_dtype[n] + 32
                                                                    : weight_dtype[n];
    lower[n] = 0;
    if (!rml_dtype_parse(lower, &dtype) || !rml_dtype_row_nbytes(dtype, 256, &nbytes))
        return 1e9; /* unknown ones come last */
    return (double)nbytes;
}

/* Of a checkpoint's weights the type of most bytes is known, which may not be that in its name. */
static bool names_another_type(const char *file, const char *weight_dtype)
{
    bool another = false;
    for (int d = 0; d < RML_N_WEIGHT_DTYPES && *weight_dtype; d++)
        another = another || strcasestr(file, rml_dtype_traits((enum rml_dtype)d)->name);
    return another && !strcasestr(file, weight_dtype);
}

static double kv_order(const char *k, const char *v)
{
    static const char *const names[] = {"f32", "f16", "i8"};
    double order = 0;
    for (size_t i = 0; i < 3; i++)
        order += (strcmp(k, names[i]) == 0 ? 4.0 * (double)i : 0) +
                 (strcmp(v, names[i]) == 0 ? (double)i : 0);
    return order;
}

const char *plot_family(struct chart *chart, const char *arch, double n_params, const char *file)
{
    if (!*arch || isnan(n_params))
        return chart_text(chart, file);
    return chart_format(chart, n_params >= 1e9 ? "%s %.1fB" : "%s %.0fM", arch,
                        n_params / (n_params >= 1e9 ? 1e9 : 1e6));
}

const char *plot_machine(struct chart *chart, const char *cpu_model, const char *hostname)
{
    if (*cpu_model && *hostname)
        return chart_format(chart, "%.48s (%.32s)", cpu_model, hostname);
    return chart_text(chart, *cpu_model ? cpu_model : hostname);
}

static void set_dims(struct chart *chart, struct chart_point *p, sqlite3_stmt *stmt)
{
    bool ours = strcmp(plot_column_text(stmt, ENGINE), "rml") == 0;
    const char *commit = plot_column_text(stmt, GIT_COMMIT);
    bool dirty = sqlite3_column_int(stmt, GIT_DIRTY) == 1;
    p->dim[DIM_CASE] =
        chart_format(chart, "%s %s", plot_column_text(stmt, SUITE), plot_column_text(stmt, NAME));
    p->dim[DIM_MODEL] = chart_text(chart, plot_column_text(stmt, MODEL));
    p->file = p->dim[DIM_MODEL];
    p->family = plot_family(chart, plot_column_text(stmt, MODEL_ARCH),
                            plot_column_number(stmt, N_PARAMS), p->file);
    /* Rows that are no multiple of a block fall back to a type with smaller ones. */
    const char *weights = plot_column_text(stmt, WEIGHTS);
    p->dim[DIM_WEIGHTS] = names_another_type(p->file, weights)
                              ? chart_format(chart, "mostly %s", weights)
                              : chart_text(chart, weights);
    p->order[DIM_WEIGHTS] = weight_order(plot_column_text(stmt, WEIGHTS));
    if (plot_column_text(stmt, ARITHMETIC)[0])
        p->dim[DIM_ARITHMETIC] =
            chart_format(chart, "%s arithmetic", plot_column_text(stmt, ARITHMETIC));
    if (plot_column_text(stmt, KV)[0])
        p->dim[DIM_KV] = chart_format(chart, "kv %s", plot_column_text(stmt, KV));
    p->order[DIM_KV] = kv_order(plot_column_text(stmt, K_DTYPE), plot_column_text(stmt, V_DTYPE));
    count_dim(chart, p, DIM_PROMPT, stmt, N_PROMPT, 0, "prompt ");
    count_dim(chart, p, DIM_GEN, stmt, N_GEN, 0, "decode ");
    /* A prefill starts at depth 0, which needs no saying. */
    bool prefill = sqlite3_column_int64(stmt, N_PROMPT) > 0;
    count_dim(chart, p, DIM_DEPTH, stmt, N_DEPTH, prefill ? 0 : -1, "depth ");
    count_dim(chart, p, DIM_BATCH, stmt, N_BATCH, 1, "batch ");
    count_dim(chart, p, DIM_THREADS, stmt, THREADS, -1, "<");
    p->dim[DIM_ISA] = chart_text(chart, plot_column_text(stmt, ISA));
    p->dim[DIM_ENGINE] = ours ? "rml"
                              : chart_format(chart, "%s %s", plot_column_text(stmt, ENGINE),
                                             plot_column_text(stmt, ENGINE_VERSION));
    p->order[DIM_ENGINE] = !ours;
    p->dim[DIM_ARM] = chart_text(chart, plot_column_text(stmt, ARM));
    int64_t work_version = sqlite3_column_int64(stmt, WORK_VERSION);
    p->dim[DIM_WORK] = chart_format(chart, "work %lld %s", (long long)work_version,
                                    plot_column_text(stmt, PARAMS));
    p->dim[DIM_HOST] = chart_format(chart, "%s %.8s", plot_column_text(stmt, HOSTNAME),
                                    plot_column_text(stmt, FINGERPRINT));
    p->dim[DIM_BUILD] = chart_format(chart, "rml %s%s%.9s%s", plot_column_text(stmt, VERSION),
                                     *commit ? " " : "", commit, dirty ? " + changes" : "");
    p->machine =
        plot_machine(chart, plot_column_text(stmt, CPU_MODEL), plot_column_text(stmt, HOSTNAME));
    p->program = p->dim[DIM_BUILD];
    p->run_uuid = chart_text(chart, plot_column_text(stmt, RUN_UUID));
    p->marks = (strcmp(plot_column_text(stmt, STATUS), "unstable") == 0 ? MARK_UNSTABLE : 0u) |
               (sqlite3_column_int(stmt, IS_WRONG) ? MARK_WRONG : 0u) | (dirty ? MARK_DIRTY : 0u);
    p->n = sqlite3_column_int64(stmt, N_SAMPLES);
    p->coverage = plot_column_number(stmt, COVERAGE);
    p->start_ns = plot_column_number(stmt, START_NS);
}

static void add_row(struct chart *chart, sqlite3_stmt *stmt, plot_take_fn *take)
{
    struct chart_point *p = chart_add(chart);
    if (!p)
        return;
    set_dims(chart, p, stmt);
    struct plot_figures figures = {
        .tokens_per_second = plot_column_number(stmt, TOKENS),
        .tokens_per_second_lo = plot_column_number(stmt, TOKENS_LO),
        .tokens_per_second_hi = plot_column_number(stmt, TOKENS_HI),
        .flops_per_second = plot_column_number(stmt, FLOPS),
        .bytes_per_second = plot_column_number(stmt, BYTES),
        .median_ns = plot_column_number(stmt, MEDIAN),
        .ci_lo_ns = plot_column_number(stmt, CI_LO),
        .ci_hi_ns = plot_column_number(stmt, CI_HI),
        .rss_bytes = plot_column_number(stmt, RSS),
        .kv_bytes = plot_column_number(stmt, KV_BYTES),
        .model_bytes = plot_column_number(stmt, MODEL_BYTES),
        .start_ns = plot_column_number(stmt, START_NS),
        .result_id = sqlite3_column_int64(stmt, RESULT_ID),
        .note = plot_column_text(stmt, NOTE),
    };
    take(p, &figures, chart);
}

void plot_use_families(struct chart *chart)
{
    for (size_t i = 0; i < chart->n; i++) {
        bool is_only = true; /* checkpoint of its family and weight type */
        for (size_t k = 0; k < chart->n && is_only; k++) {
            const struct chart_point *p = &chart->points[i], *q = &chart->points[k];
            is_only = q->family != p->family || q->dim[DIM_WEIGHTS] != p->dim[DIM_WEIGHTS] ||
                      q->file == p->file;
        }
        if (is_only)
            chart->points[i].dim[DIM_MODEL] = chart->points[i].family;
    }
}

/* ---- Names of work --------------------------------------------------------------------------- */

static bool differ_in_work_only(const struct chart_point *p, const struct chart_point *q)
{
    for (int d = 0; d < CHART_N_DIMS; d++)
        if ((d == DIM_WORK) == (p->dim[d] == q->dim[d]))
            return false;
    return true;
}

/* Adds "key value" of each parameter of `a` that is not the same in b. */
static void add_changes(char *text, size_t nbytes, json_t *a, json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(a, key, value)
    {
        char *word = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        size_t used = strlen(text);
        char added[256];
        snprintf(added, sizeof added, "%s %s", key, word ? word : "?");
        free(word);
        if (!json_equal(value, json_object_get(b, key)) && !strstr(text, added))
            snprintf(text + used, nbytes - used, "%s%s", used ? ", " : "", added);
    }
}

void plot_name_work(struct chart *chart)
{
    const char **names = calloc(chart->n + 1, sizeof *names);
    chart->no_memory |= !names;
    for (size_t i = 0; names && i < chart->n; i++) {
        const char *mine = chart->points[i].dim[DIM_WORK];
        char text[512] = "";
        for (size_t k = 0; k < chart->n; k++) {
            if (!differ_in_work_only(&chart->points[i], &chart->points[k]))
                continue;
            const char *other = chart->points[k].dim[DIM_WORK]; /* "work VERSION PARAMETERS" */
            size_t n = strcspn(mine, "{");
            if (n != strcspn(other, "{") || strncmp(mine, other, n) != 0) {
                if (!strstr(text, "work "))
                    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s",
                             *text ? ", " : "", n > 0 ? (int)n - 1 : 0, mine);
                continue;
            }
            json_t *a = json_loads(mine + n, 0, NULL);
            json_t *b = json_loads(other + strcspn(other, "{"), 0, NULL);
            add_changes(text, sizeof text, a, b);
            json_decref(a);
            json_decref(b);
        }
        names[i] = chart_text(chart, text);
    }
    for (size_t i = 0; names && i < chart->n; i++)
        chart->points[i].dim[DIM_WORK] = names[i];
    free(names);
}

/* ---- Rows -------------------------------------------------------------------------------------- */

/* The rows that the selection leaves, and which host and build are the newest of them. */
static char *make_sql(const char *condition, int flags)
{
    char *sql = NULL;
    const char *kept = flags & PLOT_EVERY_RESULT
                           ? "run_state = 'complete' AND (?2 IS NOT NULL OR host_id ="
                             " (SELECT host_id FROM newest))"
                           : "run_state = 'complete' AND (host_id, build_id) = (SELECT host_id,"
                             " build_id FROM newest)";
    if (asprintf(&sql,
                 "WITH wanted AS (SELECT * FROM v_chart WHERE status IN ('ok', 'unstable')"
                 " AND n_samples > 0 AND (%s) AND " FILTERS "),"
                 " newest AS (SELECT host_id, build_id FROM wanted WHERE run_state = 'complete'"
                 " ORDER BY start_ns DESC, result_id DESC LIMIT 1),"
                 " kept AS (SELECT *, row_number() OVER (PARTITION BY bench_case_id, host_id,"
                 " build_id, arm, engine_version ORDER BY start_ns DESC, result_id DESC) AS age,"
                 " (SELECT a.note FROM annotation AS a WHERE a.kind = 'step' AND"
                 " a.commit_sha = wanted.git_commit AND"
                 " coalesce(a.bench_case_id, wanted.bench_case_id) = wanted.bench_case_id AND"
                 " coalesce(a.host_id, wanted.host_id) = wanted.host_id LIMIT 1) AS note"
                 " FROM wanted WHERE ?1 IS NOT NULL OR (%s))"
                 " SELECT " COLUMNS " FROM kept WHERE %s ORDER BY start_ns, result_id",
                 condition, kept, flags & PLOT_EVERY_RESULT ? "1" : "age = 1") < 0)
        return NULL;
    return sql;
}

bool plot_load(struct chart *chart, struct store *store, const struct plot_selection *selection,
               const char *condition, int flags, plot_take_fn *take, char **sql,
               struct rml_error *err)
{
    *sql = make_sql(condition, flags);
    if (!*sql)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the data of a chart");
    struct query q;
    query_init(&q, store, *sql);
    plot_bind(&q, selection);
    while (query_step(&q) && !chart->no_memory)
        add_row(chart, q.stmt, take);
    if (flags & PLOT_FAMILIES)
        plot_use_families(chart);
    return query_release(&q, "reading results", err) &&
           (!chart->no_memory ||
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the data of a chart"));
}

bool plot_nothing(struct store *store, const struct plot_selection *selection, const char *needs,
                  struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "SELECT count(*) FROM run WHERE state <> 'complete'");
    int64_t n_others = query_id(&q);
    if (!query_release(&q, "reading results", err))
        return false;
    return rmli_fail(err, RML_NOT_FOUND, store_file(store), -1, "no %s%s, nothing to draw%s",
                     is_all(selection) ? "" : "selected ", needs,
                     n_others && !selection->runs
                         ? "; runs that did not end are taken only when --run names them"
                         : "");
}

const char *plot_value_label(struct chart *chart, double x, unsigned marks)
{
    const char *star = marks & MARK_UNSTABLE ? "*" : "";
    if (x >= 99.95e6)
        return chart_format(chart, "%.0fM%s", x / 1e6, star);
    if (x >= 99950)
        return chart_format(chart, "%.0fk%s", x / 1000, star);
    return chart_format(chart, x >= 99.95 ? "%.0f%s" : "%.3g%s", x, star);
}

bool plot_is_empty(const struct rml_error *err, const struct store *store)
{
    return err->code == RML_NOT_FOUND && strcmp(err->file, store_file(store)) == 0;
}
