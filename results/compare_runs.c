#include "results/compare_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/query_json.h"
#include "results/result_rows.h"
#include "tools/cli/json_out.h"
#include "tools/cli/order_statistics.h"

/* ---- Why two cases are not the same ----------------------------------------------------- */

/* In the order in which a difference is named. */
static const struct {
    const char *key, *name;
} fields[] = {
    {"isa", "ISA path"},
    {"model_sha256", "model hash"},
    {"threads", "threads"},
    {"work_version", "work version"},
    {"arithmetic", "arithmetic"},
    {"engine", "engine"},
    {"weight_dtype", "weight type"},
    {"k_dtype", "type of cached keys"},
    {"v_dtype", "type of cached values"},
    {"n_batch", "batch"},
    {"n_prompt", "prompt tokens"},
    {"n_gen", "decoded tokens"},
    {"n_depth", "depth"},
    {"params_json", "parameters"},
    {"arm", "arm"},
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static char *value_text(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return !value || json_is_null(value) ? strdup("none")
           : json_is_string(value)       ? strdup(json_string_value(value))
                                         : json_dumps(value, JSON_ENCODE_ANY);
}

/* [{"field", "here", "there"}, ...] */
static json_t *differences(const json_t *here, const json_t *there)
{
    json_t *list = json_array();
    for (int f = 0; f < N_FIELDS; f++) {
        if (json_equal(json_object_get(here, fields[f].key), json_object_get(there, fields[f].key)))
            continue;
        char *a = value_text(here, fields[f].key), *b = value_text(there, fields[f].key);
        json_array_append_new(list, json_pack("{ss so so}", "field", fields[f].name, "here",
                                              cli_json_text(a), "there", cli_json_text(b)));
        free(a);
        free(b);
    }
    return list;
}

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

/* How the row differs from the one of the same suite and name that is nearest; an empty array
 * when there is none. */
static json_t *nearest_differences(const json_t *row, const json_t *others)
{
    json_t *best = NULL;
    const json_t *other;
    size_t i;
    json_array_foreach(others, i, other)
    {
        if (!same_member(row, other, "suite") || !same_member(row, other, "name"))
            continue;
        json_t *list = differences(row, other);
        if (!best || json_array_size(list) < json_array_size(best)) {
            json_decref(best);
            best = list;
        } else {
            json_decref(list);
        }
    }
    return best ? best : json_array();
}

/* ---- Matching -------------------------------------------------------------------------------- */

/* Of a case that a run measured more than once the last counts. */
static json_t *by_identity(const json_t *rows)
{
    json_t *index = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *arm = row_text(row, "arm");
        char *identity = NULL;
        if (asprintf(&identity, "%s\n%s", row_text(row, "case_key"), arm ? arm : "") < 0)
            continue;
        json_object_set(index, identity, row);
        free(identity);
    }
    return index;
}

static bool is_measured(const json_t *row)
{
    const char *status = row_text(row, "status");
    return status && (strcmp(status, "ok") == 0 || strcmp(status, "unstable") == 0) &&
           row_real(row, "median_ns") > 0;
}

static json_t *side_json(const json_t *row)
{
    static const char *const kept[] = {"result_id",      "status",   "error",    "n_samples",
                                       "median_ns",      "ci_lo_ns", "ci_hi_ns", "is_wrong",
                                       "engine_version", NULL};
    json_t *side = json_object();
    for (const char *const *key = kept; *key; key++)
        json_object_set(side, *key, json_object_get(row, *key));
    return side;
}

/* The ends of the median's interval at `confidence`; NaN when there are too few samples. */
static bool interval(struct store *store, const json_t *row, double confidence, double *lo,
                     double *hi, struct rml_error *err)
{
    size_t n;
    double *ns = result_samples(store, row_id(row), &n, err);
    if (!ns)
        return false;
    size_t rank = median_interval_rank(n, confidence);
    *lo = rank ? ns[rank - 1] : NAN;
    *hi = rank ? ns[n - rank] : NAN;
    free(ns);
    return true;
}

static const char *compare_outputs(const json_t *a, const json_t *b)
{
    const char *hash_a = row_text(a, "output_sha256"), *hash_b = row_text(b, "output_sha256");
    return !hash_a || !hash_b ? NULL : strcmp(hash_a, hash_b) == 0 ? "same" : "differs";
}

static json_t *pair_json(struct store *store, const json_t *a, const json_t *b,
                         struct rml_error *err)
{
    double lo_a = NAN, hi_a = NAN, lo_b = NAN, hi_b = NAN, ratio = NAN;
    if (is_measured(a) && is_measured(b) && !json_is_true(json_object_get(a, "is_wrong")) &&
        !json_is_true(json_object_get(b, "is_wrong"))) {
        if (!interval(store, a, COMPARE_CONFIDENCE_EACH, &lo_a, &hi_a, err) ||
            !interval(store, b, COMPARE_CONFIDENCE_EACH, &lo_b, &hi_b, err))
            return NULL;
        ratio = row_real(b, "median_ns") / row_real(a, "median_ns");
    }
    char *label = row_case_label(a);
    json_t *pair = json_pack(
        "{sO sO so so so so so so so}", "case_key", json_object_get(a, "case_key"), "arm",
        json_object_get(a, "arm"), "label", cli_json_text(label), "a", side_json(a), "b",
        side_json(b), "ratio", cli_json_real(ratio), "ratio_lo", cli_json_real(lo_b / hi_a),
        "ratio_hi", cli_json_real(hi_b / lo_a), "output", cli_json_text(compare_outputs(a, b)));
    free(label);
    return pair;
}

static json_t *lonely_json(const json_t *row, const json_t *others)
{
    char *label = row_case_label(row);
    json_t *lonely =
        json_pack("{sO sO so sO so}", "case_key", json_object_get(row, "case_key"), "arm",
                  json_object_get(row, "arm"), "label", cli_json_text(label), "status",
                  json_object_get(row, "status"), "differs_in", nearest_differences(row, others));
    free(label);
    return lonely;
}

/* ---- Runs -------------------------------------------------------------------------------------- */

static json_t *run_json(struct store *store, int64_t id, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT u.id, u.uuid, u.kind, u.state, u.start_ns, u.label, h.fingerprint,"
               " h.hostname, b.version, b.git_commit, b.git_dirty, b.binary_sha256, b.compiler"
               " FROM run AS u JOIN host AS h ON h.id = u.host_id"
               " JOIN build AS b ON b.id = u.build_id WHERE u.id = ?");
    query_int(&q, id);
    json_t *rows = query_rows_json(&q, "reading a run", err);
    json_t *run = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return run;
}

static bool refuse(const struct store *store, struct rml_error *err, const char *field,
                   const char *a, const char *b)
{
    return rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                     "the runs do not compare: %s is %s in A and %s in B", field, a, b);
}

/* All that is in A only and all that is in B only: names the first difference of a pair that
 * is nearest to being the same. */
static bool refuse_nothing_common(const struct store *store, const json_t *a, const json_t *b,
                                  const json_t *only_a, const json_t *only_b, struct rml_error *err)
{
    const json_t *best = NULL, *lonely;
    size_t i;
    if (json_array_size(only_a) == 0 || json_array_size(only_b) == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                         "the runs do not compare: %s has no results%s",
                         json_array_size(only_a) == 0 ? "A" : "B",
                         strcmp(row_text(json_array_size(only_a) == 0 ? a : b, "kind"), "eval") == 0
                             ? ", it is an evaluation: rml-eval compare takes those"
                             : "");
    json_array_foreach(only_a, i, lonely)
    {
        const json_t *list = json_object_get(lonely, "differs_in");
        if (json_array_size(list) > 0 && (!best || json_array_size(list) < json_array_size(best)))
            best = list;
    }
    const json_t *first = json_array_get(best, 0);
    if (first)
        return refuse(store, err, row_text(first, "field"), row_text(first, "here"),
                      row_text(first, "there"));
    return refuse(store, err, "every case: the first", row_text(json_array_get(only_a, 0), "label"),
                  row_text(json_array_get(only_b, 0), "label"));
}

/* The values of `index` whose keys are not in `other`. */
static json_t *rows_without_match(const json_t *index, const json_t *other)
{
    json_t *rows = json_array(), *row;
    const char *identity;
    json_object_foreach((json_t *)index, identity, row) if (!json_object_get(other, identity))
        json_array_append(rows, row);
    return rows;
}

static json_t *all_lonely(const json_t *rows, const json_t *others)
{
    json_t *list = json_array(), *row;
    size_t i;
    json_array_foreach(rows, i, row) json_array_append_new(list, lonely_json(row, others));
    return list;
}

static json_t *all_pairs(struct store *store, const json_t *index_a, const json_t *index_b,
                         struct rml_error *err)
{
    json_t *pairs = json_array(), *a;
    const char *identity;
    json_object_foreach((json_t *)index_a, identity, a)
    {
        const json_t *b = json_object_get(index_b, identity);
        json_t *pair = b ? pair_json(store, a, b, err) : NULL;
        if (b && !pair) {
            json_decref(pairs);
            return NULL;
        }
        if (pair)
            json_array_append_new(pairs, pair);
    }
    return pairs;
}

static json_t *compare_rows(struct store *store, const json_t *a, const json_t *b,
                            const json_t *rows_a, const json_t *rows_b, bool *incomparable,
                            struct rml_error *err)
{
    json_t *index_a = by_identity(rows_a), *index_b = by_identity(rows_b);
    json_t *rest_a = rows_without_match(index_a, index_b);
    json_t *rest_b = rows_without_match(index_b, index_a);
    json_t *only_a = all_lonely(rest_a, rest_b), *only_b = all_lonely(rest_b, rest_a);
    json_t *pairs = all_pairs(store, index_a, index_b, err), *document = NULL;
    if (pairs && json_array_size(pairs) == 0) {
        *incomparable = true;
        refuse_nothing_common(store, a, b, only_a, only_b, err);
    } else if (pairs) {
        document = json_pack("{sO sO sO}", "rows", pairs, "only_in_a", only_a, "only_in_b", only_b);
    }
    json_decref(index_a);
    json_decref(index_b);
    json_decref(rest_a);
    json_decref(rest_b);
    json_decref(only_a);
    json_decref(only_b);
    json_decref(pairs);
    return document;
}

json_t *compare_runs(struct store *store, int64_t id_a, int64_t id_b, bool *incomparable,
                     struct rml_error *err)
{
    json_t *a = run_json(store, id_a, err), *b = a ? run_json(store, id_b, err) : NULL;
    json_t *rows_a = b ? result_rows_json(store, id_a, err) : NULL;
    json_t *rows_b = rows_a ? result_rows_json(store, id_b, err) : NULL, *document = NULL;
    *incomparable = false;
    if (rows_b && !same_member(a, b, "fingerprint")) {
        *incomparable = true;
        refuse(store, err, "host fingerprint", row_text(a, "fingerprint"),
               row_text(b, "fingerprint"));
    } else if (rows_b) {
        json_t *rows = compare_rows(store, a, b, rows_a, rows_b, incomparable, err);
        /* The build of an import is the program that imported it. */
        bool measured_by_build = strcmp(row_text(a, "kind"), "import") != 0;
        document = rows ? json_pack("{sO sO sb sf}", "a", a, "b", b, "same_binary",
                                    measured_by_build && same_member(a, b, "binary_sha256"),
                                    "confidence", COMPARE_CONFIDENCE)
                        : NULL;
        if (document)
            json_object_update(document, rows);
        json_decref(rows);
    }
    json_decref(a);
    json_decref(b);
    json_decref(rows_a);
    json_decref(rows_b);
    return document;
}
