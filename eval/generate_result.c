/*
 * From replies to verdicts.
 */
#include "eval/generate_result.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/group_blocks.h"
#include "tools/cli/json_out.h"

/* ---- Verdicts ---------------------------------------------------------------------------------- */

static bool judge_answer(const struct answer_judge *judge, struct generate_outcome *o, size_t p,
                         struct rml_error *err)
{
    bool ok = true;
    o->exact_match[p] = o->item->n_choices > 0 ? 0 : NAN;
    for (size_t i = 0; ok && i < o->item->n_choices && o->exact_match[p] == 0; i++) {
        bool equal = false;
        ok = answer_equals(judge->exact_match, o->answers[p].data, o->answers[p].n,
                           o->item->choices[i].data, o->item->choices[i].nbytes, &equal, err);
        o->exact_match[p] = equal;
    }
    return ok;
}

/* Text that is no UTF-8 gets U+FFFD, as Python's decoding has it. */
static bool make_outcome(const struct eval_engine *engine, const struct generate_rules *rules,
                         const struct generate_request *request, const struct answer_judge *judge,
                         struct generate_outcome *o, struct rml_error *err)
{
    if (!generate_text(engine, rules, request, &o->reply, &o->finish, err))
        return false;
    json_t *text = cli_json_bytes(o->reply.data, o->reply.n);
    bool ok = text || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a reply");
    for (size_t p = 0; ok && p < judge->n; p++)
        ok = answer_pipeline_apply(&judge->pipelines[p], json_string_value(text),
                                   json_string_length(text), &o->answers[p], err) &&
             judge_answer(judge, o, p, err);
    json_decref(text);
    return ok;
}

/* Of the replies that were judged. */
static bool compute_rate(struct generate_result *result, size_t pipeline, struct rml_error *err)
{
    struct grouped_value *values = calloc(result->n + 1, sizeof *values);
    struct block *blocks = NULL;
    size_t n = 0, n_blocks;
    if (!values)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the results");
    for (size_t i = 0; i < result->n; i++) {
        const struct generate_outcome *o = &result->outcomes[i];
        if (!isnan(o->exact_match[pipeline]))
            values[n++] = (struct grouped_value){
                .group = o->item->group, .value = o->exact_match[pipeline], .size = 1};
    }
    bool ok = group_blocks(values, n, &blocks, &n_blocks, err);
    if (ok) {
        result->mean[pipeline] = block_ratio(blocks, n_blocks);
        result->standard_error[pipeline] = block_standard_error(blocks, n_blocks);
    }
    free(blocks);
    free(values);
    return ok;
}

bool generate_result_init(struct generate_result *result, const struct eval_engine *engine,
                          const struct generate_rules *rules, const struct answer_judge *judge,
                          const struct choice_items *items, const size_t *chosen,
                          const struct generate_requests *requests, struct rml_error *err)
{
    *result = (struct generate_result){0};
    result->outcomes = calloc(requests->n + 1, sizeof *result->outcomes);
    bool ok =
        result->outcomes || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the results");
    for (size_t i = 0; ok && i < requests->n; i++) {
        const struct generate_request *request = &requests->requests[i];
        struct generate_outcome *o = &result->outcomes[result->n++];
        o->item = &items->items[chosen[i]];
        ok = make_outcome(engine, rules, request, judge, o, err);
        result->n_truncated += request->n_truncated > 0;
        result->n_tokens += request->n_generated;
        result->n_judged += o->item->n_choices > 0;
        result->is_grouped |= o->item->n_choices > 0 && o->item->group;
    }
    for (size_t p = 0; ok && p < judge->n; p++)
        ok = compute_rate(result, p, err);
    if (!ok)
        generate_result_release(result);
    return ok;
}

void generate_result_release(struct generate_result *result)
{
    for (size_t i = 0; i < result->n; i++) {
        rml_bytes_release(&result->outcomes[i].reply);
        for (size_t p = 0; p < ANSWER_MAX_PIPELINES; p++)
            rml_bytes_release(&result->outcomes[i].answers[p]);
    }
    free(result->outcomes);
    *result = (struct generate_result){0};
}

/* ---- Output ---------------------------------------------------------------------------------------- */

const char *generate_metric_name(const struct answer_judge *judge, size_t pipeline, char buffer[96])
{
    if (judge->n == 1)
        return "exact_match";
    snprintf(buffer, 96, "exact_match,%s", judge->pipelines[pipeline].name);
    return buffer;
}

static json_t *verdict(double value)
{
    return isnan(value) ? json_null() : json_integer((int)value);
}

json_t *generate_item_json(const struct generate_result *result, const struct answer_judge *judge,
                           const struct generate_requests *requests, size_t i)
{
    const struct generate_outcome *o = &result->outcomes[i];
    const struct generate_request *request = &requests->requests[i];
    json_t *answer = NULL, *right = NULL;
    double loglik = 0;
    for (size_t t = 0; t < request->n_generated; t++)
        loglik += request->logprobs[t];
    if (judge->n == 1) {
        answer = cli_json_bytes(o->answers[0].data, o->answers[0].n);
        right = verdict(o->exact_match[0]);
    } else {
        answer = json_object();
        right = json_object();
        for (size_t p = 0; p < judge->n; p++) {
            const char *name = judge->pipelines[p].name;
            json_object_set_new(answer, name, cli_json_bytes(o->answers[p].data, o->answers[p].n));
            json_object_set_new(right, name, verdict(o->exact_match[p]));
        }
    }
    json_t *gold = o->item->gold;
    return json_pack("{sO so so sO so ss sI sI so}", "id", o->item->id, "reply",
                     cli_json_bytes(o->reply.data, o->reply.n), "answer", answer, "gold",
                     gold ? gold : json_null(), "exact_match", right, "finish", o->finish,
                     "n_tokens", (json_int_t)request->n_generated, "truncated",
                     (json_int_t)request->n_truncated, "loglik", cli_json_real(loglik));
}

/* In one commit: each waits for the disk. */
static bool store_documents(const struct generate_result *result, const struct answer_judge *judge,
                            const char *const *metrics, struct eval_run *run,
                            const struct eval_task *task, const struct choice_items *items,
                            struct rml_error *err)
{
    struct store_eval_doc *docs = calloc(result->n + 1, sizeof *docs);
    char **golds = calloc(result->n + 1, sizeof *golds);
    bool ok = docs && golds;
    for (size_t i = 0; ok && i < result->n; i++) {
        const struct generate_outcome *o = &result->outcomes[i];
        golds[i] = o->item->gold ? json_dumps(o->item->gold, JSON_ENCODE_ANY) : NULL;
        ok = golds[i] || !o->item->gold;
        docs[i] = (struct store_eval_doc){.task = task->name,
                                          .doc_id = o->item->doc_id,
                                          .doc_idx = o->item - items->items,
                                          .group_key = o->item->group,
                                          .text = o->item->contexts[0].data,
                                          .gold_json = golds[i],
                                          .metrics = metrics,
                                          .values = o->exact_match,
                                          .n_metrics = judge->n};
    }
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store the replies");
    ok = ok && store_add_eval_docs(run->store, run->run_id, docs, result->n, err);
    for (size_t i = 0; golds && i < result->n; i++)
        free(golds[i]);
    free(golds);
    free(docs);
    return ok;
}

bool generate_result_store(const struct generate_result *result, const struct answer_judge *judge,
                           struct eval_run *run, const struct eval_task *task,
                           const struct choice_items *items, struct rml_error *err)
{
    char buffers[ANSWER_MAX_PIPELINES][96];
    const char *metrics[ANSWER_MAX_PIPELINES];
    bool ok = true;
    for (size_t p = 0; ok && p < judge->n; p++) {
        metrics[p] = generate_metric_name(judge, p, buffers[p]);
        ok = eval_run_metric(run, task, metrics[p], result->mean[p], result->standard_error[p],
                             (int64_t)result->n_judged, err);
    }
    return ok && store_documents(result, judge, metrics, run, task, items, err);
}
