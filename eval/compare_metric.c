/*
 * Which figure of items two runs of a task are compared by.
 *
 * The database holds more of an item than its figures of quality: what was picked, and the sums
 * and counts that perplexities are made from. A mean of those says nothing by itself (a sum of nll
 * would even be judged with the wrong sign), so they are never compared.
 */
#include "eval/compare_metric.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *names_of(const json_t *task)
{
    return json_loads(json_string_value(json_object_get(task, "metrics_json")), 0, NULL);
}

static bool has_name(const json_t *names, const char *name)
{
    size_t i;
    json_t *entry;
    json_array_foreach(names, i,
                       entry) if (strcmp(json_string_value(entry), name) == 0) return true;
    return false;
}

/* What is stored of items beside their figures. */
static bool is_raw(const char *name)
{
    static const char *const raw[] = {"pick",     "pick_norm", "nll_sum",
                                      "n_scored", "n_words",   "n_bytes"};
    for (size_t i = 0; i < sizeof raw / sizeof raw[0]; i++)
        if (strcmp(raw[i], name) == 0)
            return true;
    return false;
}

/* Those of lm-eval's registry of metrics that have higher_is_better=False and a number an item. */
static bool is_loss(const char *name)
{
    return strcmp(name, "brier_score") == 0 || strcmp(name, "ter") == 0;
}

/* Perplexities are made from figures of documents: the nll by tokens of the same texts, or by their
 * bytes. */
static bool has_metric(const json_t *names, const char *metric)
{
    if (strcmp(metric, "ppl") == 0)
        return has_name(names, "n_scored");
    if (strcmp(metric, "bits_per_byte") == 0)
        return has_name(names, "nll_sum") && has_name(names, "n_bytes");
    return !is_raw(metric) && has_name(names, metric);
}

/* The next after `metric` that both can be compared by, NULL before the first and after the last:
 * figures of items in the order of their names, then what is made of those of documents. */
static const char *next_metric(const json_t *a, const json_t *b, const char *metric)
{
    static const char *const made[] = {"ppl", "bits_per_byte"};
    size_t n = json_array_size(a), n_all = n + sizeof made / sizeof made[0];
    bool is_behind = !metric;
    for (size_t i = 0; i < n_all; i++) {
        const char *name = i < n ? json_string_value(json_array_get(a, i)) : made[i - n];
        bool again = i < n && (strcmp(name, made[0]) == 0 || strcmp(name, made[1]) == 0);
        if (again || !has_metric(a, name) || !has_metric(b, name))
            continue;
        if (is_behind)
            return name;
        is_behind = strcmp(name, metric) == 0;
    }
    return NULL;
}

static const char *default_metric(const json_t *a, const json_t *b, const struct task_comparison *t)
{
    const char *protocol = json_string_value(json_object_get(t->of_a, "protocol"));
    if (has_metric(a, "acc"))
        return "acc";
    if (has_metric(a, "exact_match"))
        return "exact_match";
    if (strcmp(protocol, "lm-eval") == 0 && has_metric(a, "bits_per_byte"))
        return "bits_per_byte";
    const char *first = next_metric(a, b, NULL);
    return first ? first : "ppl";
}

/* "acc, acc_norm" */
static char *list_metrics(const json_t *a, const json_t *b)
{
    char *list = NULL;
    size_t nbytes;
    FILE *out = open_memstream(&list, &nbytes);
    if (!out)
        return NULL;
    for (const char *name = NULL, *comma = ""; (name = next_metric(a, b, name)); comma = ", ")
        fprintf(out, "%s%s", comma, name);
    fclose(out);
    return list;
}

static bool refuse(const struct task_comparison *t, const char *metric, const json_t *a,
                   const json_t *b, const char *file, struct rml_error *err)
{
    char *list = list_metrics(a, b);
    const char *expected = list && *list ? list : "runs that have one in common";
    const char *one_of = list && *list ? "one that both have: " : "";
    if (is_raw(metric) && (has_name(a, metric) || has_name(b, metric)))
        rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                  "task '%s': '%.100s' is no figure of quality, expected %s%.500s", t->task, metric,
                  one_of, expected);
    else
        rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                  "task '%s': no figure '%.100s' of items found in %s, expected %s%.500s", t->task,
                  metric,
                  has_metric(a, metric)   ? "b"
                  : has_metric(b, metric) ? "a"
                                          : "either run",
                  one_of, expected);
    free(list);
    return false;
}

static bool choose(struct task_comparison *t, const char *asked, const json_t *a, const json_t *b,
                   const char *file, bool *incomparable, struct rml_error *err)
{
    /* Divergences and bare log-likelihoods are figures of a run, not of its items. */
    bool a_has_some = json_array_size(a) > 0;
    *incomparable = !a_has_some || json_array_size(b) == 0;
    if (*incomparable)
        return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                         "task '%s': no figures of items found in %s, expected questions, replies "
                         "or texts with perplexities",
                         t->task, a_has_some ? "b" : "a");
    const char *metric = asked ? asked : default_metric(a, b, t);
    if (!has_metric(a, metric) || !has_metric(b, metric)) {
        *incomparable = !asked || has_metric(a, metric) || has_metric(b, metric);
        return refuse(t, metric, a, b, file, err);
    }
    t->kind = strcmp(metric, "ppl") == 0             ? COMPARE_PERPLEXITY
              : strcmp(metric, "bits_per_byte") == 0 ? COMPARE_BITS_PER_BYTE
                                                     : COMPARE_ITEMS;
    t->lower_is_better = t->kind != COMPARE_ITEMS || is_loss(metric);
    t->metric = strdup(metric);
    return t->metric || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to compare");
}

bool compare_choose_metric(struct task_comparison *t, const char *asked, const char *file,
                           bool *incomparable, struct rml_error *err)
{
    json_t *a = names_of(t->of_a), *b = names_of(t->of_b);
    bool ok = choose(t, asked, a, b, file, incomparable, err);
    json_decref(a);
    json_decref(b);
    return ok;
}
