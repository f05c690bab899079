/*
 * One task of rml-eval task.
 */
#include "eval/task_run.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/task_report.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* ---- Preparing --------------------------------------------------------------------------------- */

/* --num-fewshot over the file's, but for a file that says 0, as lm-eval has it. */
static bool shots_of(const struct task_config *config, const struct task_options *options,
                     size_t *n_shots, struct rml_error *err)
{
    *n_shots = config->num_fewshot;
    if (!options->has_num_fewshot || (config->has_num_fewshot && config->num_fewshot == 0))
        return true;
    *n_shots = options->num_fewshot;
    return config->output != TASK_ROLLING || *n_shots == 0 ||
           rmli_fail(err, RML_INVALID_ARGUMENT, config->file, -1,
                     "--num-fewshot %zu for loglikelihood_rolling found, expected none", *n_shots);
}

bool task_run_prepare(struct task_run *task, const char *file, const struct task_options *options,
                      struct rml_error *err)
{
    *task = (struct task_run){0};
    size_t n_shots;
    const struct task_source source = {
        .config = &task->config, .docs = &task->docs, .chat = &options->rules.chat};
    bool ok = task_config_read(&task->config, file, err) &&
              shots_of(&task->config, options, &n_shots, err) &&
              task_docs_init(&task->docs, &task->config, n_shots, err) &&
              task_items_init(&task->items, &source, err);
    if (!ok)
        task_run_release(task);
    return ok;
}

void task_run_release(struct task_run *task)
{
    choice_requests_release(&task->choices);
    generate_requests_release(&task->prompts);
    windows_release(&task->windows);
    task_items_release(&task->items);
    task_docs_release(&task->docs);
    task_config_release(&task->config);
    free(task->chosen);
    json_decref(task->settings);
    *task = (struct task_run){0};
}

/* ---- Encoding ------------------------------------------------------------------------------------- */

/* null: the defaults. */
static void add_list(json_t *settings, const char *key, const struct yaml_tree_node *list)
{
    struct rml_error ignored = RML_ERROR_INIT;
    json_t *json = list ? yaml_to_json(list, &ignored) : NULL;
    json_object_set_new(settings, key, json ? json : json_null());
}

static json_t *settings_json(const struct task_run *task, const struct eval_engine *engine,
                             const struct task_options *options, size_t n_ctx)
{
    const struct task_config *c = &task->config;
    json_t *json = eval_settings_json(engine, &options->options, &options->eval_options);
    json_t *own =
        json_pack("{sI ss sI ss so}", "n_ctx", (json_int_t)n_ctx, "output_type",
                  task_output_name(c->output), "num_fewshot", (json_int_t)task->docs.n_shots,
                  "documents_sha256", task->docs.docs.sha256, "task_file", cli_json_text(c->file));
    json_object_update(json, own);
    json_decref(own);
    if (task->docs.n_shots > 0)
        json_object_set_new(json, "sampler", json_string(c->first_n ? "first_n" : "default"));
    if (c->output == TASK_ROLLING) {
        json_object_set_new(json, "double_bos", json_boolean(options->double_bos));
        return json;
    }
    chat_options_add_settings(&options->rules.chat, json);
    if (c->output == TASK_GENERATE) {
        json_t *until = json_array();
        for (size_t i = 0; i < c->n_until; i++)
            json_array_append_new(until, json_string(c->until[i]));
        json_object_set_new(json, "until", until);
        json_object_set_new(json, "max_tokens", json_integer((json_int_t)c->max_gen_toks));
        add_list(json, "metric_list", c->metric_list);
        add_list(json, "filter_list", c->filter_list);
    } else {
        json_object_set_new(json, "delimiter", json_string(task->rules.delimiter));
        json_object_set_new(json, "boundary",
                            json_string(pair_boundary_name(options->rules.pair.boundary)));
        json_object_set_new(json, "overlong",
                            json_string(pair_overlong_name(options->rules.pair.overlong)));
    }
    return json;
}

static bool encode_choices(struct task_run *task, const struct eval_engine *engine,
                           const struct task_options *options, size_t n_ctx, struct rml_error *err)
{
    const struct task_config *c = &task->config;
    /* Behind a conversation lm-eval puts no delimiter; a pair's target has none either way. */
    bool has_delimiter = c->output == TASK_MULTIPLE_CHOICE && !options->rules.chat.is_chat;
    task->rules = options->rules;
    task->rules.pair.max_length = n_ctx;
    task->rules.delimiter = has_delimiter ? c->target_delimiter : "";
    task->rules.mutual_info = c->metrics[TASK_ACC_MUTUAL_INFO];
    if (!choice_requests_init(&task->choices, engine, &task->items.items, task->chosen,
                              task->n_chosen, c->file, &task->rules, err))
        return false;
    return task->choices.n > 0 ||
           rmli_fail(err, RML_FORMAT, c->file, -1,
                     "nothing to score found: %zu of %zu item%s skipped, expected one that is not",
                     task->choices.n_skipped, task->choices.n_slots,
                     cli_plural(task->choices.n_slots));
}

static bool encode_prompts(struct task_run *task, const struct eval_engine *engine,
                           const struct task_options *options, size_t n_ctx, struct rml_error *err)
{
    struct generate_rules *rules = &task->generate_rules;
    *rules = (struct generate_rules){.max_tokens = task->config.max_gen_toks,
                                     .n_batch = options->n_batch,
                                     .until = task->config.until,
                                     .n_until = task->config.n_until,
                                     .sampling = RML_SAMPLER_DEFAULTS};
    rules->sampling.temperature = 0;
    return generate_requests_init(&task->prompts, engine, rules, &options->rules.chat,
                                  &task->items.items, task->chosen, task->n_chosen, n_ctx,
                                  options->options.seed, err);
}

static bool encode_windows(struct task_run *task, const struct eval_engine *engine,
                           const struct task_options *options, size_t n_ctx, struct rml_error *err)
{
    task->window_settings = (struct window_settings){
        .protocol = PROTOCOL_LM_EVAL, .n_ctx = n_ctx, .double_bos = options->double_bos};
    return windows_init(&task->windows, engine, &task->items.documents, &task->window_settings,
                        err) &&
           perplexity_choose(&task->windows, PROTOCOL_LM_EVAL, &options->eval_options.selection,
                             options->options.seed, &task->chosen, &task->n_chosen, err) &&
           (task->n_chosen > 0 || rmli_fail(err, RML_FORMAT, task->config.file, -1,
                                            "no token to score found, expected one at least"));
}

bool task_run_encode(struct task_run *task, const struct eval_engine *engine,
                     const struct task_options *options, struct rml_error *err)
{
    enum task_output output = task->config.output;
    size_t n_context = eval_engine_n_context(engine);
    size_t n_ctx = options->options.ctx ? options->options.ctx : n_context;
    if (n_ctx > n_context)
        cli_warn("the context of %zu is longer than the %zu token%s that the model was made for",
                 n_ctx, n_context, cli_plural(n_context));
    if (output == TASK_ROLLING && options->rules.chat.is_chat)
        return rmli_fail(err, RML_INVALID_ARGUMENT, task->config.file, -1,
                         "--chat for loglikelihood_rolling found, expected texts without a prompt");
    bool ok = output == TASK_ROLLING ||
              selection_apply(&options->eval_options.selection, options->options.seed,
                              task->items.items.n, &task->chosen, &task->n_chosen, err);
    ok = ok && (output == TASK_ROLLING    ? encode_windows(task, engine, options, n_ctx, err)
                : output == TASK_GENERATE ? encode_prompts(task, engine, options, n_ctx, err)
                                          : encode_choices(task, engine, options, n_ctx, err));
    if (ok) {
        task->settings = settings_json(task, engine, options, n_ctx);
        ok = task->settings || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for settings");
    }
    return ok;
}

/* ---- Scoring ------------------------------------------------------------------------------------------ */

static bool score_choices(struct task_run *task, struct eval_run *run, const struct eval_task *row,
                          const struct task_report *report, struct rml_error *err)
{
    const struct choice_requests *requests = &task->choices;
    struct eval_scores scores = {0};
    bool ok = eval_scores_init(&scores, requests->requests, requests->n, err) &&
              eval_run_score(run, row, requests->requests, requests->n, &scores, NULL, err) &&
              (task->config.output == TASK_LOGLIKELIHOOD
                   ? task_report_pairs(report, run, row, &scores, err)
                   : task_report_choices(report, run, row, &scores, err));
    eval_scores_release(&scores);
    return ok;
}

static bool score_prompts(struct task_run *task, struct eval_run *run, const struct eval_task *row,
                          const struct task_report *report, struct rml_error *err)
{
    struct generate_result result = {0};
    const struct answer_judge *judge = &task->config.judge;
    bool ok = generate_all(run, row, &task->generate_rules, task->prompts.requests, task->prompts.n,
                           err) &&
              generate_result_init(&result, row->engine, &task->generate_rules, judge,
                                   &task->items.items, task->chosen, &task->prompts, err) &&
              generate_result_store(&result, judge, run, row, &task->items.items, err) &&
              task_report_replies(report, &result, err);
    generate_result_release(&result);
    return ok;
}

static bool score_windows(struct task_run *task, struct eval_run *run, const struct eval_task *row,
                          const struct task_report *report, struct rml_error *err)
{
    struct perplexity_result result;
    if (!perplexity_score(&result, run, row, &task->items.documents, &task->windows,
                          &task->window_settings, task->chosen, task->n_chosen, err))
        return false;
    bool ok = task_report_documents(report, &result, err);
    perplexity_result_release(&result);
    return ok;
}

bool task_run_score(struct task_run *task, struct eval_engine *engine, struct eval_run *run,
                    const struct task_options *options, const struct cli_output *items,
                    json_t **result, struct rml_error *err)
{
    char *text = json_dumps(task->settings, JSON_COMPACT);
    const struct eval_task row = {
        .name = task->config.name, .protocol = "lm-eval", .engine = engine, .settings_json = text};
    *result = json_pack("{ss ss}", "task", task->config.name, "output_type",
                        task_output_name(task->config.output));
    const struct task_report report = {.task = task,
                                       .engine = engine,
                                       .chat = &options->rules.chat,
                                       .items = items,
                                       .result = *result};
    bool ok = (text && *result) || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a task");
    ok = ok && eval_run_add_task(run, &row, err);
    switch (task->config.output) {
    case TASK_GENERATE:
        ok = ok && score_prompts(task, run, &row, &report, err);
        break;
    case TASK_ROLLING:
        ok = ok && score_windows(task, run, &row, &report, err);
        break;
    default:
        ok = ok && score_choices(task, run, &row, &report, err);
    }
    if (ok)
        json_object_set(*result, "settings", task->settings);
    free(text);
    return ok;
}
