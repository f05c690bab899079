/*
 * Comparing the tasks of two runs.
 */
#include "eval/compare_tasks.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/compare_checks.h"
#include "eval/compare_metric.h"
#include "eval/exact_sum.h"
#include "eval/group_blocks.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double real_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to compare");
}

/* ---- Blocks ------------------------------------------------------------------------------------- */

/* Pairs of windows: blocks are documents, or windows of a single one. */
static const char *window_block(const json_t *pairs, const json_t *pair)
{
    const json_t *first = json_array_get(pairs, 0);
    const json_t *last = json_array_get(pairs, json_array_size(pairs) - 1);
    return json_equal(json_object_get(first, "id"), json_object_get(last, "id"))
               ? NULL
               : text_of(pair, "id");
}

static bool add_up(struct task_comparison *t, const json_t *pairs, struct rml_error *err)
{
    t->n = json_array_size(pairs);
    struct grouped_value *differences = calloc(t->n + 1, sizeof *differences);
    if (!differences)
        return no_memory(err);
    struct exact_sum sum_a = {0}, sum_b = {0}, size = {0};
    t->is_binary = t->kind == COMPARE_ITEMS;
    for (size_t i = 0; i < t->n; i++) {
        const json_t *pair = json_array_get(pairs, i);
        double a = real_of(pair, "a"), b = real_of(pair, "b");
        double weight = t->kind == COMPARE_ITEMS ? 1 : real_of(pair, "size");
        const char *group =
            t->kind == COMPARE_PERPLEXITY ? window_block(pairs, pair) : text_of(pair, "group");
        differences[i] = (struct grouped_value){.group = group, .value = a - b, .size = weight};
        exact_sum_add(&sum_a, a);
        exact_sum_add(&sum_b, b);
        exact_sum_add(&size, weight);
        t->is_grouped |= group != NULL;
        t->is_binary &= (a == 0 || a == 1) && (b == 0 || b == 1);
        t->n10 += t->is_binary && a > b;
        t->n01 += t->is_binary && a < b;
    }
    t->a = exact_sum_value(&sum_a) / exact_sum_value(&size);
    t->b = exact_sum_value(&sum_b) / exact_sum_value(&size);
    bool ok = group_blocks(differences, t->n, &t->blocks, &t->n_blocks, err);
    free(differences);
    return ok;
}

/* nll by bytes in bits. */
static void scale_to_bits(struct task_comparison *t)
{
    t->a /= M_LN2;
    t->b /= M_LN2;
    for (size_t g = 0; g < t->n_blocks; g++)
        t->blocks[g].sum /= M_LN2;
}

static bool list_flipped(struct task_comparison *t, const json_t *pairs, struct rml_error *err)
{
    static const char *const keys[] = {"id", "a", "b", "text", "gold", "pick", "pick_b"};
    t->flipped = json_array();
    size_t i;
    json_t *pair;
    json_array_foreach(pairs, i, pair)
    {
        if (!t->is_binary || json_number_value(json_object_get(pair, "a")) ==
                                 json_number_value(json_object_get(pair, "b")))
            continue;
        json_t *item = json_object();
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            json_object_set(item, keys[k], json_object_get(pair, keys[k]));
        if (json_array_append_new(t->flipped, item) != 0)
            return no_memory(err);
    }
    return t->flipped || no_memory(err);
}

/* ---- One task -------------------------------------------------------------------------------------- */

static void judge(struct task_comparison *t, double confidence, double power)
{
    t->difference = paired_difference(t->blocks, t->n_blocks, confidence);
    t->mde = minimum_detectable_effect(t->difference.standard_error, 1 - confidence, power);
    t->p_mcnemar = t->is_binary ? mcnemar_exact(t->n10, t->n01) : NAN;
    for (int side = 0; side < 2; side++) {
        t->wilson[side][0] = t->wilson[side][1] = NAN;
        if (t->is_binary && !t->is_grouped)
            wilson_interval((side == 0 ? t->a : t->b) * (double)t->n, (double)t->n, confidence,
                            &t->wilson[side][0], &t->wilson[side][1]);
    }
}

static bool compare_task(struct task_comparison *t, struct store *store,
                         const struct store_eval_side *a, const struct store_eval_side *b,
                         const struct run_comparison *c, bool *incomparable, struct rml_error *err)
{
    bool windows = t->kind == COMPARE_PERPLEXITY;
    bool bytes = t->kind == COMPARE_BITS_PER_BYTE;
    /* Another program numbers its documents in its own way: theirs are told apart by place. */
    bool by_idx = strcmp(text_of(t->of_a, "kind"), text_of(t->of_b, "kind")) != 0;
    if (!compare_check_settings(t, store_file(store), err)) {
        *incomparable = true;
        return false;
    }
    json_t *pairs =
        windows
            ? store_eval_window_pairs_json(store, a, b, err)
            : store_eval_doc_pairs_json(store, a, b, by_idx, bytes ? "nll_sum" : t->metric,
                                        bytes ? "n_bytes" : NULL, compare_pick_of(t->metric), err);
    int64_t n_b = windows ? store_eval_window_count(store, b, err)
                          : json_integer_value(json_object_get(t->of_b, "n_docs"));
    bool ok = pairs && n_b >= 0;
    if (ok && !compare_check_pairs(t, pairs, (size_t)n_b, store_file(store), err)) {
        *incomparable = true;
        ok = false;
    }
    ok = ok && add_up(t, pairs, err) && list_flipped(t, pairs, err);
    if (ok && bytes)
        scale_to_bits(t);
    if (ok)
        judge(t, c->confidence, c->power);
    if (ok && windows) {
        t->a = exp(t->a);
        t->b = exp(t->b);
    }
    json_decref(pairs);
    return ok;
}

bool task_comparison_by_mcnemar(const struct task_comparison *t)
{
    return t->is_binary && !t->is_grouped;
}

double task_comparison_p(const struct task_comparison *t)
{
    return task_comparison_by_mcnemar(t) ? t->p_mcnemar : t->difference.p_value;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static const json_t *find_task(const json_t *tasks, const char *name)
{
    size_t i;
    json_t *task;
    json_array_foreach(tasks, i, task) if (strcmp(text_of(task, "task"), name) == 0) return task;
    return NULL;
}

/* The tasks that both have, in a's order. */
static bool pair_tasks(struct run_comparison *c, const json_t *tasks_a, const json_t *tasks_b,
                       const char *file, struct rml_error *err)
{
    size_t n = json_array_size(tasks_a);
    c->tasks = calloc(n + 1, sizeof *c->tasks);
    if (!c->tasks)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *a = json_array_get(tasks_a, i), *b = find_task(tasks_b, text_of(a, "task"));
        if (!b)
            continue;
        struct task_comparison *t = &c->tasks[c->n++];
        t->of_a = json_incref((json_t *)a);
        t->of_b = json_incref((json_t *)b);
        t->task = strdup(text_of(a, "task"));
        if (!t->task)
            return no_memory(err);
    }
    return c->n > 0 || rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                                 "task: '%s' and '%s' found, expected a task that both runs have",
                                 text_of(json_array_get(tasks_a, 0), "task"),
                                 text_of(json_array_get(tasks_b, 0), "task"));
}

static bool adjust(struct run_comparison *c, struct rml_error *err)
{
    double *p = calloc(c->n + 1, sizeof *p);
    if (!p)
        return no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        p[i] = task_comparison_p(&c->tasks[i]);
    bool ok = holm_adjust(p, c->n, p) || no_memory(err);
    for (size_t i = 0; ok && i < c->n; i++)
        c->tasks[i].p_holm = p[i];
    free(p);
    return ok;
}

/* The tasks of a run, at least one: a benchmark has none, nor an evaluation that was ended before
 * it began. */
static json_t *tasks_of(struct store *store, const char *asked, int64_t run_id, bool *incomparable,
                        struct rml_error *err)
{
    struct store_run_name name;
    json_t *tasks = store_eval_tasks_json(store, run_id, err);
    if (!tasks || json_array_size(tasks) > 0)
        return tasks;
    json_decref(tasks);
    if (store_run_name(store, run_id, &name, err)) {
        *incomparable = true;
        rmli_fail(err, RML_INVALID_ARGUMENT, store_file(store), -1,
                  "run '%.100s' (%.8s) is of kind %s and holds no scored items, expected one of "
                  "rml-eval that does%s",
                  asked, name.uuid, name.kind,
                  strcmp(name.kind, "bench") == 0 ? " (rml-results compare takes benchmarks)" : "");
    }
    return NULL;
}

bool run_comparison_init(struct run_comparison *c, struct store *store, const char *name_a,
                         const char *name_b, const char *metric, double confidence, double power,
                         bool *incomparable, struct rml_error *err)
{
    int64_t id_a, id_b;
    *c = (struct run_comparison){.confidence = confidence, .power = power};
    *incomparable = false;
    if (!store_find_run(store, name_a, &id_a, err) || !store_find_run(store, name_b, &id_b, err)) {
        *incomparable = err->code == RML_NOT_FOUND; /* a baseline that is missing */
        return false;
    }
    c->run_a = id_a;
    c->run_b = id_b;
    json_t *tasks_a = tasks_of(store, name_a, id_a, incomparable, err);
    json_t *tasks_b = tasks_a ? tasks_of(store, name_b, id_b, incomparable, err) : NULL;
    bool ok = tasks_b != NULL;
    if (ok && !pair_tasks(c, tasks_a, tasks_b, store_file(store), err)) {
        *incomparable = err->code != RML_NO_MEMORY;
        ok = false;
    }
    for (size_t i = 0; ok && i < c->n; i++) {
        struct task_comparison *t = &c->tasks[i];
        const struct store_eval_side a = {id_a, t->task}, b = {id_b, t->task};
        ok = compare_choose_metric(t, metric, store_file(store), incomparable, err) &&
             compare_task(t, store, &a, &b, c, incomparable, err);
    }
    ok = ok && adjust(c, err);
    json_decref(tasks_a);
    json_decref(tasks_b);
    if (!ok)
        run_comparison_release(c);
    return ok;
}

void run_comparison_release(struct run_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct task_comparison *t = &c->tasks[i];
        free(t->task);
        free(t->metric);
        free(t->blocks);
        json_decref(t->flipped);
        json_decref(t->of_a);
        json_decref(t->of_b);
    }
    free(c->tasks);
    *c = (struct run_comparison){0};
}
