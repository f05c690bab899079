/*
 * What becomes of a task's scores.
 */
#include "eval/task_report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/standard_errors.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"

/* ---- Figures and lines ---------------------------------------------------------------------- */

static void set_count(const struct task_report *r, const char *key, size_t n)
{
    json_object_set_new(r->result, key, json_integer((json_int_t)n));
}

static void set_figure(const struct task_report *r, const char *name, double value,
                       double standard_error)
{
    char key[128];
    snprintf(key, sizeof key, "%s_stderr", name);
    json_object_set_new(r->result, name, cli_json_real(value));
    json_object_set_new(r->result, key, cli_json_real(standard_error));
}

/* What the standard errors take as one block; NULL: items are independent. */
static void set_clusters(const struct task_report *r, const char *by)
{
    json_object_set_new(r->result, "clustered_by", by ? json_string(by) : json_null());
}

/* What the model is shown before what it is asked, one text or one for each context. */
static json_t *prompts_json(const struct task_report *r, const struct choice_item *item)
{
    json_t *all = json_array();
    for (size_t i = 0; i < item->n_contexts; i++) {
        struct eval_prompt prompt;
        json_t *text = NULL;
        if (eval_prompt_init(&prompt, r->engine, r->chat, item, i, NULL))
            text = cli_json_bytes(prompt.text.text, prompt.text.nbytes);
        eval_prompt_release(&prompt);
        json_array_append_new(all, text ? text : json_null());
    }
    json_t *one = item->n_contexts == 1 ? json_incref(json_array_get(all, 0)) : json_incref(all);
    json_decref(all);
    return one;
}

/* Takes over `line`. `item` NULL: a line without a prompt. */
static bool write_line(const struct task_report *r, const struct choice_item *item, json_t *line,
                       struct rml_error *err)
{
    json_t *whole = json_pack("{ss}", "task", r->task->config.name);
    bool ok = line && whole && json_object_update(whole, line) == 0;
    if (ok && item)
        ok = json_object_set_new(whole, "prompt", prompts_json(r, item)) == 0;
    ok = ok &&
         json_dumpf(whole, r->items->stream,
                    JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) == 0 &&
         fputc('\n', r->items->stream) != EOF;
    json_decref(line);
    json_decref(whole);
    return ok || cli_output_fail(r->items, err);
}

static void set_request_counts(const struct task_report *r)
{
    set_count(r, "n_truncated", r->task->choices.n_truncated);
    set_count(r, "n_skipped", r->task->choices.n_skipped);
    set_count(r, "n_reencoded", r->task->choices.n_reencoded);
}

static bool write_slots(const struct task_report *r, const struct choice_result *result,
                        const struct eval_scores *scores, struct rml_error *err)
{
    const struct choice_requests *requests = &r->task->choices;
    const struct choice_items *items = &r->task->items.items;
    bool ok = true;
    for (size_t i = 0; r->items && ok && i < requests->n_slots; i++) {
        const struct choice_slots *slots = &requests->slots[i];
        const struct choice_outcome *outcome = result ? choice_result_of(result, slots) : NULL;
        ok = write_line(r, &items->items[slots->item],
                        choice_item_json(items, requests, slots, outcome, scores), err);
    }
    return ok;
}

/* ---- Multiple choice ---------------------------------------------------------------------------- */

bool task_report_choices(const struct task_report *report, struct eval_run *run,
                         const struct eval_task *row, const struct eval_scores *scores,
                         struct rml_error *err)
{
    static const struct {
        enum task_metric metric;
        enum choice_metric figure;
    } figures[] = {{TASK_ACC, CHOICE_ACC},
                   {TASK_ACC_NORM, CHOICE_ACC_NORM},
                   {TASK_ACC_BYTES, CHOICE_ACC_BYTES},
                   {TASK_ACC_MUTUAL_INFO, CHOICE_ACC_MUTUAL_INFO}};
    const struct task_run *task = report->task;
    struct choice_result result;
    if (!choice_result_init(&result, &task->items.items, &task->choices, scores,
                            task->rules.mutual_info, false, err))
        return false;
    set_count(report, "n", result.n);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (task->config.metrics[figures[i].metric])
            set_figure(report, task_metric_name(figures[i].metric), result.mean[figures[i].figure],
                       result.standard_error[figures[i].figure]);
    set_clusters(report, result.is_grouped ? "group" : NULL);
    set_request_counts(report);
    bool ok = choice_result_store(&result, run, row, &task->items.items, err) &&
              write_slots(report, &result, scores, err);
    choice_result_release(&result);
    return ok;
}

/* ---- Pairs ------------------------------------------------------------------------------------------ */

static bool store_pairs(const struct task_report *report, struct eval_run *run,
                        const struct eval_task *row, const double *loglik, const double *greedy,
                        struct rml_error *err)
{
    static const char *const metrics[] = {"acc", "loglik"};
    const struct choice_requests *requests = &report->task->choices;
    struct store_eval_doc *docs = calloc(requests->n_slots + 1, sizeof *docs);
    double(*values)[2] = calloc(requests->n_slots + 1, sizeof *values);
    bool ok = (docs && values) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store the figures");
    size_t n = 0;
    for (size_t i = 0; ok && i < requests->n_slots; i++) {
        const struct choice_slots *slots = &requests->slots[i];
        const struct choice_item *item = &report->task->items.items.items[slots->item];
        if (slots->n == 0)
            continue;
        values[n][0] = greedy[n];
        values[n][1] = loglik[n];
        docs[n] = (struct store_eval_doc){.task = row->name,
                                          .doc_id = item->doc_id,
                                          .doc_idx = (int64_t)slots->item,
                                          .text = item->contexts[0].data,
                                          .metrics = metrics,
                                          .values = values[n],
                                          .n_metrics = 2};
        n++;
    }
    ok = ok && store_add_eval_docs(run->store, run->run_id, docs, n, err);
    free(docs);
    free(values);
    return ok;
}

bool task_report_pairs(const struct task_report *report, struct eval_run *run,
                       const struct eval_task *row, const struct eval_scores *scores,
                       struct rml_error *err)
{
    const struct choice_requests *requests = &report->task->choices;
    double *loglik = calloc(2 * requests->n + 1, sizeof *loglik), *greedy = loglik + requests->n;
    if (!loglik)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the figures");
    for (size_t i = 0; i < requests->n; i++) {
        loglik[i] = eval_loglik(&requests->requests[i], &scores->scores[i]);
        greedy[i] = scores->scores[i].is_greedy;
    }
    const bool *wanted = report->task->config.metrics;
    double acc = mean_of(greedy, requests->n), acc_error = mean_standard_error(greedy, requests->n);
    double perplexity = exp(-mean_of(loglik, requests->n));
    double error = perplexity * mean_standard_error(loglik, requests->n);
    set_count(report, "n", requests->n);
    if (wanted[TASK_ACC])
        set_figure(report, "acc", acc, acc_error);
    if (wanted[TASK_PERPLEXITY])
        set_figure(report, "perplexity", perplexity, error);
    set_clusters(report, NULL);
    set_request_counts(report);
    bool ok = (!wanted[TASK_ACC] ||
               eval_run_metric(run, row, "acc", acc, acc_error, (int64_t)requests->n, err)) &&
              (!wanted[TASK_PERPLEXITY] || eval_run_metric(run, row, "perplexity", perplexity,
                                                           error, (int64_t)requests->n, err)) &&
              store_pairs(report, run, row, loglik, greedy, err) &&
              write_slots(report, NULL, scores, err);
    free(loglik);
    return ok;
}

/* ---- Replies, texts ------------------------------------------------------------------------------------ */

bool task_report_replies(const struct task_report *report, const struct generate_result *result,
                         struct rml_error *err)
{
    const struct answer_judge *judge = &report->task->config.judge;
    char name[96];
    set_count(report, "n", result->n);
    for (size_t p = 0; p < judge->n; p++)
        set_figure(report, generate_metric_name(judge, p, name), result->mean[p],
                   result->standard_error[p]);
    set_clusters(report, result->is_grouped ? "group" : NULL);
    set_count(report, "n_tokens", result->n_tokens);
    set_count(report, "n_truncated", result->n_truncated);
    bool ok = true;
    for (size_t i = 0; report->items && ok && i < result->n; i++)
        ok = write_line(report, result->outcomes[i].item,
                        generate_item_json(result, judge, &report->task->prompts, i), err);
    return ok;
}

bool task_report_documents(const struct task_report *report, const struct perplexity_result *result,
                           struct rml_error *err)
{
    const bool *wanted = report->task->config.metrics;
    const struct windows *windows = &report->task->windows;
    size_t n = 0;
    for (size_t d = 0; d < windows->n_docs; d++)
        n += result->docs[d].n_scored > 0;
    set_count(report, "n", n);
    if (wanted[TASK_WORD_PERPLEXITY])
        json_object_set_new(report->result, "word_perplexity",
                            cli_json_real(result->word_perplexity));
    if (wanted[TASK_BYTE_PERPLEXITY])
        json_object_set_new(report->result, "byte_perplexity",
                            cli_json_real(result->byte_perplexity));
    if (wanted[TASK_BITS_PER_BYTE])
        set_figure(report, "bits_per_byte", result->bits_per_byte, result->bits_per_byte_stderr);
    set_clusters(report, "document");
    bool ok = true;
    for (size_t d = 0; report->items && ok && d < windows->n_docs; d++)
        if (result->docs[d].n_scored > 0)
            ok = write_line(report, NULL,
                            json_pack("{sI so sI}", "id", (json_int_t)d, "nll_sum",
                                      cli_json_real(result->docs[d].nll_sum), "n_scored",
                                      (json_int_t)result->docs[d].n_scored),
                            err);
    return ok;
}
