/*
 * Figures of tasks from lm-eval's results_DATE.json:
 *
 *     {"results": {TASK: {"alias": ..., "sample_len": N, "acc,none": 0.25,
 *                         "acc_stderr,none": 0.04, ...}},
 *      "groups": {GROUP: the same}, "n-shot": {TASK: K}, "n-samples": {TASK: {"effective": N}},
 *      "config": {"model": "hf", "model_args": ...}, "lm_eval_version": ..., "date": seconds}
 *
 * A key is the figure's name and the filter that it is of. Earlier versions have the groups among
 * the results as well.
 */
#include <math.h>
#include <string.h>

#include "eval/import_lm_eval.h"

static char *settings_text(struct lm_eval_import *import, const json_t *document, const char *task,
                           struct rml_error *err)
{
    static const char *const copied[] = {"lm_eval_version", "transformers_version",
                                         "model_name",      "git_hash",
                                         "max_length",      "chat_template_sha"};
    json_t *settings = json_pack("{ss}", "engine", "lm-eval");
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        json_t *value = json_object_get(document, copied[i]);
        if (value && !json_is_null(value))
            json_object_set(settings, copied[i], value);
    }
    json_t *config = json_object_get(document, "config");
    json_t *shots = json_object_get(json_object_get(document, "n-shot"), task);
    if (json_object_get(config, "model_args"))
        json_object_set(settings, "model_args", json_object_get(config, "model_args"));
    if (shots)
        json_object_set(settings, "num_fewshot", shots);
    char *text = lm_eval_import_keep(import, json_dumps(settings, JSON_COMPACT), err);
    json_decref(settings);
    return text;
}

struct task_figures {
    const char *task;
    bool several_filters;
    const json_t *figures;
    int64_t n;
};

static bool is_figure(const char *key, const json_t *value)
{
    const char *comma = strchr(key, ',');
    bool is_stderr = comma && comma - key > 7 && strncmp(comma - 7, "_stderr", 7) == 0;
    return comma && json_is_number(value) && !is_stderr;
}

static bool has_several_filters(json_t *figures)
{
    const char *key, *first = NULL;
    json_t *value;
    json_object_foreach(figures, key, value)
    {
        if (!is_figure(key, value))
            continue;
        if (first && strcmp(first, strchr(key, ',')) != 0)
            return true;
        first = strchr(key, ',');
    }
    return false;
}

/* "acc,none" with "acc_stderr,none" -> acc; of several filters names stay whole. */
static bool add_metric(struct lm_eval_import *import, struct task_figures *of, const char *key,
                       const json_t *value, struct rml_error *err)
{
    if (!is_figure(key, value))
        return true;
    const char *comma = strchr(key, ',');
    size_t name_nbytes = (size_t)(comma - key);
    char *name = lm_eval_import_text(
        import, err, "%.*s", of->several_filters ? (int)strlen(key) : (int)name_nbytes, key);
    char *error_key =
        lm_eval_import_text(import, err, "%.*s_stderr%s", (int)name_nbytes, key, comma);
    struct store_eval_metric *metric =
        lm_eval_import_grow((void **)&import->metrics, &import->n_metrics, sizeof *metric, err);
    if (!name || !error_key || !metric)
        return false;
    const json_t *error = json_object_get(of->figures, error_key);
    *metric = (struct store_eval_metric){.task = of->task,
                                         .metric = name,
                                         .value = json_number_value(value),
                                         .standard_error =
                                             json_is_number(error) ? json_number_value(error) : NAN,
                                         .n = of->n};
    return true;
}

static bool read_task(struct lm_eval_import *import, const json_t *document, const char *task,
                      json_t *figures, struct rml_error *err)
{
    const json_t *n = json_object_get(figures, "sample_len"); /* since 0.4.13 */
    if (!n)
        n = json_object_get(json_object_get(json_object_get(document, "n-samples"), task),
                            "effective");
    struct store_eval *eval =
        lm_eval_import_grow((void **)&import->evals, &import->n_evals, sizeof *eval, err);
    if (!eval)
        return false;
    *eval = (struct store_eval){.task = task,
                                .protocol = "lm-eval",
                                .threads = -1,
                                .numerics_version = -1,
                                .settings_json = settings_text(import, document, task, err)};
    struct task_figures of = {.task = task,
                              .several_filters = has_several_filters(figures),
                              .figures = figures,
                              .n = json_is_integer(n) ? json_integer_value(n) : -1};
    bool ok = eval->settings_json != NULL;
    const char *key;
    json_t *value;
    json_object_foreach(figures, key, value) ok = ok && add_metric(import, &of, key, value, err);
    return ok;
}

bool lm_eval_read_results(struct lm_eval_import *import, const struct text_file *file,
                          const json_t *document, struct rml_error *err)
{
    const char *task;
    json_t *figures;
    json_t *results = json_object_get(document, "results");
    const json_t *date = json_object_get(document, "date");
    if (!json_is_object(results))
        return rmli_fail(err, RML_FORMAT, file->name, -1,
                         "no object \"results\" found, expected lm-eval's samples or results");
    if (json_object_get(document, "samples"))
        return rmli_fail(err, RML_FORMAT, file->name, -1,
                         "\"samples\" found within results, expected them in files of their own "
                         "(--log_samples with --output_path)");
    json_object_foreach(results, task,
                        figures) if (!read_task(import, document, task, figures, err)) return false;
    if (import->n_metrics == 0)
        return rmli_fail(err, RML_FORMAT, file->name, -1,
                         "no figure found in \"results\", expected one such as \"acc,none\"");
    if (json_is_number(date) && json_number_value(date) > 0 && json_number_value(date) < 9e9)
        import->measured_ns = (int64_t)(json_number_value(date) * 1e9);
    return true;
}
