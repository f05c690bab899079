#include "results/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "results/change_points.h"
#include "results/query_json.h"
#include "results/result_rows.h"
#include "tools/cli/json_out.h"
#include "tools/cli/order_statistics.h"

/* The case as the tables of rml-bench have it: "model.gguf/prefill 64 x 2". */
#define SHOWN_NAME_SQL                                                                             \
    "(CASE WHEN m.file_name IS NULL THEN c.name"                                                   \
    "  ELSE m.file_name || '/' || substr(c.name, instr(c.name, '/') + 1) END"                      \
    " || CASE WHEN c.n_prompt > 1 THEN ' ' || c.n_prompt"                                          \
    "  WHEN coalesce(c.n_prompt, 0) < 1 AND c.n_gen > 1 THEN ' ' || c.n_gen ELSE '' END"           \
    " || CASE WHEN c.n_batch > 1 THEN ' x ' || c.n_batch ELSE '' END)"

#define CASES_SQL                                                                                  \
    " FROM bench_case AS c JOIN result AS r ON r.bench_case_id = c.id"                             \
    " JOIN run AS u ON u.id = r.run_id JOIN host AS h ON h.id = u.host_id"                         \
    " LEFT JOIN model AS m ON m.id = c.model_id"

static const char series_sql[] =
    "SELECT DISTINCT c.id, c.case_key, r.arm, h.id, h.fingerprint, h.hostname, h.cpu_model,"
    " " SHOWN_NAME_SQL ", m.file_name" CASES_SQL
    " WHERE (c.case_key = ?1 OR c.name = ?1 OR c.suite || '/' || c.name = ?1 OR c.case_key GLOB ?1"
    "  OR " SHOWN_NAME_SQL " = ?1 OR " SHOWN_NAME_SQL " GLOB ?1)"
    " AND (?2 IS NULL OR h.hostname = ?2 OR substr(h.fingerprint, 1, length(?2)) = lower(?2))"
    " ORDER BY c.case_key, r.arm, h.fingerprint";

/* The newest first. */
static const char names_sql[] = "SELECT " SHOWN_NAME_SQL " AS shown" CASES_SQL
                                " GROUP BY shown ORDER BY max(r.id) DESC LIMIT 5";

static const char points_sql[] =
    "SELECT r.id AS result_id, u.uuid AS run, u.start_ns, u.label, b.version, b.git_commit,"
    " b.git_dirty, r.engine_version, r.status"
    " FROM result AS r JOIN run AS u ON u.id = r.run_id JOIN build AS b ON b.id = u.build_id"
    " WHERE r.bench_case_id = ? AND u.host_id = ? AND r.arm IS ?"
    " AND r.status IN ('ok', 'unstable') AND coalesce(r.max_abs_error <= r.tolerance, 1)"
    " ORDER BY u.start_ns, r.id";

struct series {
    int64_t case_id, host_id;
    const char *arm; /* borrowed from its document */
};

static int64_t now_ns(void)
{
    return (int64_t)time(NULL) * 1000000000;
}

/* ---- Points ---------------------------------------------------------------------------- */

static bool add_figures(struct store *store, json_t *point, struct rml_error *err)
{
    size_t n;
    double *ns = result_samples(store, row_id(point), &n, err);
    if (!ns)
        return false;
    struct summary s = summarize(ns, n, RESULT_CONFIDENCE);
    free(ns);
    json_object_set_new(point, "n_samples", json_integer((json_int_t)n));
    json_object_set_new(point, "median_ns", cli_json_real(s.median));
    json_object_set_new(point, "ci_lo_ns", cli_json_real(s.ci_lo));
    json_object_set_new(point, "ci_hi_ns", cli_json_real(s.ci_hi));
    return true;
}

static json_t *read_points(struct store *store, const struct series *series, size_t *n_cut,
                           struct rml_error *err)
{
    struct query q;
    query_init(&q, store, points_sql);
    query_int(&q, series->case_id);
    query_int(&q, series->host_id);
    query_text(&q, series->arm);
    json_t *all = query_rows_json(&q, "reading a history", err), *points = NULL;
    if (!all)
        return NULL;
    size_t n = json_array_size(all);
    *n_cut = n > HISTORY_MAX_POINTS ? n - HISTORY_MAX_POINTS : 0;
    points = json_array();
    for (size_t i = *n_cut; i < n; i++) {
        json_t *point = json_array_get(all, i);
        if (!add_figures(store, point, err)) {
            json_decref(points);
            points = NULL;
            break;
        }
        if (row_real(point, "median_ns") > 0)
            json_array_append(points, point);
    }
    json_decref(all);
    return points;
}

static bool count_results(struct store *store, const struct series *series, int64_t *n,
                          struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT count(*) FROM result AS r JOIN run AS u ON u.id = r.run_id"
               " WHERE r.bench_case_id = ? AND u.host_id = ? AND r.arm IS ?");
    query_int(&q, series->case_id);
    query_int(&q, series->host_id);
    query_text(&q, series->arm);
    *n = query_id(&q);
    return query_release(&q, "reading a history", err);
}

/* ---- Annotations -------------------------------------------------------------------------- */

static json_t *read_annotations(struct store *store, const struct series *series,
                                struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT id, kind, note, commit_sha, expires_ns,"
               " expires_ns IS NOT NULL AND expires_ns <= ? AS is_expired FROM annotation"
               " WHERE (bench_case_id IS NULL OR bench_case_id = ?)"
               " AND (host_id IS NULL OR host_id = ?) ORDER BY id");
    query_int(&q, now_ns());
    query_int(&q, series->case_id);
    query_int(&q, series->host_id);
    return query_rows_json(&q, "reading annotations", err);
}

/* A commit is named by its first digits. */
static bool is_about(const json_t *annotation, const json_t *point)
{
    const char *sha = row_text(annotation, "commit_sha"), *commit = row_text(point, "git_commit");
    return sha && commit && strncmp(sha, commit, strlen(sha)) == 0;
}

static void add_notes(json_t *points, const json_t *annotations)
{
    json_t *point;
    const json_t *annotation;
    size_t i, j;
    json_array_foreach(points, i, point)
    {
        json_t *notes = json_array();
        json_array_foreach(annotations, j, annotation) if (is_about(annotation, point))
            json_array_append_new(notes,
                                  json_pack("{sO sO}", "kind", json_object_get(annotation, "kind"),
                                            "note", json_object_get(annotation, "note")));
        json_object_set_new(point, "notes", notes);
    }
}

/* A mute in force: for this commit, or for all. */
static bool is_muted(const json_t *point, const json_t *annotations)
{
    const json_t *annotation;
    size_t i;
    json_array_foreach(annotations, i,
                       annotation) if (strcmp(row_text(annotation, "kind"), "mute") == 0 &&
                                       !json_is_true(json_object_get(annotation, "is_expired")) &&
                                       (!row_text(annotation, "commit_sha") ||
                                        is_about(annotation, point))) return true;
    return false;
}

/* ---- Change points ------------------------------------------------------------------------- */

/* Of x[from .. to) */
static double median_between(const double *x, size_t from, size_t to)
{
    double *copy = malloc((to - from) * sizeof *copy);
    if (!copy)
        return NAN;
    memcpy(copy, x + from, (to - from) * sizeof *copy);
    sort_ascending(copy, to - from);
    double median = median_of_sorted(copy, to - from);
    free(copy);
    return median;
}

static json_t *describe_changes(const json_t *points, const json_t *annotations, const double *ns,
                                size_t n, const struct change_point *found, size_t n_found)
{
    json_t *changes = json_array();
    for (size_t c = 0; c < n_found; c++) {
        const json_t *point = json_array_get(points, found[c].at);
        double before = median_between(ns, c > 0 ? found[c - 1].at : 0, found[c].at);
        double after = median_between(ns, found[c].at, c + 1 < n_found ? found[c + 1].at : n);
        json_array_append_new(
            changes,
            json_pack("{sI sO sO so so so so sb}", "index", (json_int_t)found[c].at, "run",
                      json_object_get(point, "run"), "git_commit",
                      json_object_get(point, "git_commit"), "before_ns", cli_json_real(before),
                      "after_ns", cli_json_real(after), "ratio", cli_json_real(after / before),
                      "p_value", cli_json_real(found[c].p_value), "is_muted",
                      is_muted(point, annotations)));
    }
    return changes;
}

static json_t *find_changes(const struct store *store, const json_t *points,
                            const json_t *annotations, uint64_t seed, struct rml_error *err)
{
    size_t n = json_array_size(points), n_found = 0, i;
    const json_t *point;
    double *ns = malloc((n + 1) * sizeof *ns), *logs = malloc((n + 1) * sizeof *logs);
    struct change_point *found = malloc((n + 1) * sizeof *found);
    json_t *changes = NULL;
    bool ok = ns && logs && found;
    if (ok) {
        json_array_foreach(points, i, point)
        {
            ns[i] = row_real(point, "median_ns");
            logs[i] = log(ns[i]);
        }
        ok = change_points_find(logs, n, seed, found, &n_found);
    }
    if (ok)
        changes = describe_changes(points, annotations, ns, n, found, n_found);
    else
        rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to look for change points");
    free(ns);
    free(logs);
    free(found);
    return changes;
}

/* ---- Histories ------------------------------------------------------------------------------- */

static bool read_series(struct store *store, const struct series *series, uint64_t seed,
                        json_t *history, struct rml_error *err)
{
    size_t n_cut = 0;
    int64_t n_all = 0;
    json_t *points = read_points(store, series, &n_cut, err);
    json_t *annotations = points ? read_annotations(store, series, err) : NULL;
    json_t *changes = annotations ? find_changes(store, points, annotations, seed, err) : NULL;
    bool ok = changes && count_results(store, series, &n_all, err);
    if (ok) {
        add_notes(points, annotations);
        json_object_set_new(
            history, "n_left_out",
            json_integer(n_all - (json_int_t)n_cut - (json_int_t)json_array_size(points)));
        json_object_set_new(history, "n_cut", json_integer((json_int_t)n_cut));
        json_object_set(history, "points", points);
        json_object_set(history, "change_points", changes);
        json_object_set(history, "annotations", annotations);
    }
    json_decref(points);
    json_decref(annotations);
    json_decref(changes);
    return ok;
}

/* True when the database knows the host, or none is asked for; else says what hosts there are. */
static bool know_host(struct store *store, const char *host, struct rml_error *err)
{
    char names[400] = "none at all";
    size_t n = 0;
    bool known = !host;
    struct query q;
    query_init(&q, store,
               "SELECT hostname, hostname = ?1 OR substr(fingerprint, 1, length(?1)) = lower(?1)"
               " FROM host ORDER BY id DESC");
    query_text(&q, host);
    while (!known && query_step(&q)) {
        known = sqlite3_column_int(q.stmt, 1);
        if (n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s'%.70s'", n ? ", " : "",
                                  query_column_text(&q, 0));
    }
    return query_release(&q, "looking for a host", err) &&
           (known || rmli_fail(err, RML_NOT_FOUND, store->path, -1,
                               "no host '%.100s' found, expected its name or the start of its "
                               "fingerprint; there are: %s",
                               host, names));
}

/* Says what there is instead. */
static bool fail_no_case(struct store *store, const char *pattern, struct rml_error *err)
{
    char names[400] = "none at all";
    size_t n = 0;
    struct query q;
    query_init(&q, store, names_sql);
    while (n < sizeof names && query_step(&q))
        n += (size_t)snprintf(names + n, sizeof names - n, "%s'%.70s'", n ? ", " : "",
                              query_column_text(&q, 0));
    return query_release(&q, "looking for cases", err) &&
           rmli_fail(err, RML_NOT_FOUND, store->path, -1,
                     "no results of a case '%.100s' found, expected its name as rml-bench shows "
                     "it, a case key, or a pattern such as 'attention/*threads=1*'; the newest "
                     "are: %s",
                     pattern, names);
}

json_t *history_read(struct store *store, const char *pattern, const char *host, uint64_t seed,
                     struct rml_error *err)
{
    enum { CASE_ID, CASE_KEY, ARM, HOST_ID, FINGERPRINT, HOSTNAME, CPU_MODEL, NAME, MODEL };
    json_t *histories = json_array();
    struct query q;
    bool ok = true;
    query_init(&q, store, series_sql);
    query_text(&q, pattern);
    query_text(&q, host);
    while (ok && query_step(&q)) {
        json_t *history = json_pack("{so so so so so so so}", "case_key",
                                    cli_json_text(query_column_text(&q, CASE_KEY)), "name",
                                    cli_json_text(query_column_text(&q, NAME)), "model",
                                    cli_json_text(query_column_text(&q, MODEL)), "arm",
                                    cli_json_text(query_column_text(&q, ARM)), "host_fingerprint",
                                    cli_json_text(query_column_text(&q, FINGERPRINT)), "hostname",
                                    cli_json_text(query_column_text(&q, HOSTNAME)), "cpu_model",
                                    cli_json_text(query_column_text(&q, CPU_MODEL)));
        struct series series = {sqlite3_column_int64(q.stmt, CASE_ID),
                                sqlite3_column_int64(q.stmt, HOST_ID), row_text(history, "arm")};
        ok = read_series(store, &series, seed, history, err);
        json_array_append_new(histories, history);
    }
    ok = query_release(&q, "looking for a case", err) && ok;
    if (ok && json_array_size(histories) == 0)
        ok = know_host(store, host, err) && fail_no_case(store, pattern, err);
    if (ok)
        return histories;
    json_decref(histories);
    return NULL;
}
