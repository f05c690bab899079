/*
 * From log-likelihoods of choices to picks and accuracies.
 */
#include "eval/choice_result.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/group_blocks.h"
#include "eval/python_text.h"
#include "tools/cli/json_out.h"

static const char *const metric_names[N_CHOICE_METRICS] = {
    "acc", "acc_norm", "acc_bytes", "acc_token", "acc_mutual_info", "acc_hellaswag"};

const char *choice_metric_name(enum choice_metric metric)
{
    return metric_names[metric];
}

/* ---- Picks ----------------------------------------------------------------------------------- */

/* Ids that all choices of an item begin with. */
static size_t common_prefix(const struct eval_request *requests, size_t n)
{
    size_t common = requests[0].n_tokens;
    for (size_t i = 1; i < n; i++) {
        size_t j = 0;
        while (j < common && j < requests[i].n_tokens &&
               requests[i].tokens[j] == requests[0].tokens[j])
            j++;
        common = j;
    }
    return common;
}

/* llama.cpp's score: the mean log-probability of what lies beyond the common prefix; the scored
 * part before it counts for nothing. */
static double hellaswag_score(const struct eval_request *request, const struct eval_score *score,
                              size_t common)
{
    size_t first = common > request->first_target ? common : request->first_target;
    double sum = 0;
    for (size_t i = first; i < request->n_tokens; i++)
        sum += score->logprobs[i - request->first_target];
    return first < request->n_tokens ? sum / (double)(request->n_tokens - first) : -INFINITY;
}

static double rate(enum choice_metric metric, const struct choice_item *item,
                   const struct eval_request *requests, const struct eval_score *scores, size_t i,
                   size_t common)
{
    const struct choice_text *choice = &item->choices[i];
    double loglik = eval_loglik(&requests[i], &scores[i]);
    switch (metric) {
    case CHOICE_ACC_NORM:
        return loglik / (double)python_length(choice->data, choice->nbytes);
    case CHOICE_ACC_BYTES:
        return loglik / (double)choice->nbytes;
    case CHOICE_ACC_TOKEN:
        return loglik / (double)eval_n_targets(&requests[i]);
    case CHOICE_ACC_MUTUAL_INFO:
        return loglik - eval_loglik(&requests[item->n_choices + i], &scores[item->n_choices + i]);
    case CHOICE_ACC_HELLASWAG:
        return hellaswag_score(&requests[i], &scores[i], common);
    default:
        return loglik;
    }
}

static void pick(struct choice_outcome *outcome, const struct choice_result *result,
                 const struct choice_item *item, const struct eval_request *requests,
                 const struct eval_score *scores)
{
    size_t common = common_prefix(requests, item->n_choices);
    for (int m = 0; m < N_CHOICE_METRICS; m++) {
        if (!result->has[m])
            continue;
        double best = -INFINITY;
        for (size_t i = 0; i < item->n_choices; i++) {
            double value = rate((enum choice_metric)m, item, requests, scores, i, common);
            if (i == 0 || value > best) {
                outcome->picks[m] = i;
                best = value;
            }
        }
        for (size_t g = 0; g < item->n_golds; g++)
            outcome->right[m] |= item->golds[g] == outcome->picks[m];
    }
}

/* ---- Accuracies ---------------------------------------------------------------------------- */

static bool compute_accuracy(struct choice_result *result, const struct choice_items *items,
                             enum choice_metric metric, struct rml_error *err)
{
    struct grouped_value *values = calloc(result->n + 1, sizeof *values);
    struct block *blocks = NULL;
    size_t n_blocks;
    if (!values)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the outcomes");
    for (size_t i = 0; i < result->n; i++)
        values[i] =
            (struct grouped_value){.group = items->items[result->outcomes[i].slots->item].group,
                                   .value = result->outcomes[i].right[metric],
                                   .size = 1};
    bool ok = group_blocks(values, result->n, &blocks, &n_blocks, err);
    if (ok) {
        result->mean[metric] = block_ratio(blocks, n_blocks);
        result->standard_error[metric] = block_standard_error(blocks, n_blocks);
    }
    free(blocks);
    free(values);
    return ok;
}

bool choice_result_init(struct choice_result *result, const struct choice_items *items,
                        const struct choice_requests *requests, const struct eval_scores *scores,
                        bool mutual_info, bool hellaswag, struct rml_error *err)
{
    *result = (struct choice_result){0};
    result->outcomes = calloc(requests->n_slots + 1, sizeof *result->outcomes);
    if (!result->outcomes)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the outcomes");
    for (int m = 0; m <= CHOICE_ACC_TOKEN; m++)
        result->has[m] = true;
    result->has[CHOICE_ACC_MUTUAL_INFO] = mutual_info;
    result->has[CHOICE_ACC_HELLASWAG] = hellaswag;
    for (size_t s = 0; s < requests->n_slots; s++) {
        const struct choice_slots *slots = &requests->slots[s];
        if (slots->n == 0)
            continue;
        struct choice_outcome *outcome = &result->outcomes[result->n++];
        outcome->slots = slots;
        result->is_grouped |= items->items[slots->item].group != NULL;
        pick(outcome, result, &items->items[slots->item], &requests->requests[slots->first],
             &scores->scores[slots->first]);
    }
    bool ok = true;
    for (int m = 0; ok && m < N_CHOICE_METRICS; m++)
        ok = !result->has[m] || compute_accuracy(result, items, (enum choice_metric)m, err);
    if (!ok)
        choice_result_release(result);
    return ok;
}

void choice_result_release(struct choice_result *result)
{
    free(result->outcomes);
    *result = (struct choice_result){0};
}

static int by_slots(const void *key, const void *element)
{
    const struct choice_slots *slots = key, *of = ((const struct choice_outcome *)element)->slots;
    return (slots > of) - (slots < of);
}

const struct choice_outcome *choice_result_of(const struct choice_result *result,
                                              const struct choice_slots *slots)
{
    return bsearch(slots, result->outcomes, result->n, sizeof *result->outcomes, by_slots);
}

/* ---- Output ---------------------------------------------------------------------------------- */

json_t *choice_item_json(const struct choice_items *items, const struct choice_requests *requests,
                         const struct choice_slots *slots, const struct choice_outcome *outcome,
                         const struct eval_scores *scores)
{
    const struct choice_item *item = &items->items[slots->item];
    json_t *line = json_pack("{sO}", "id", item->id);
    if (slots->n == 0) {
        json_object_set_new(
            line, "skipped",
            json_string(slots->status == PAIR_SKIPPED_OVERLONG ? "overlong" : "boundary"));
        return line;
    }
    json_t *loglik = json_array(), *greedy = json_array(), *n_tokens = json_array();
    for (size_t i = slots->first; i < slots->first + item->n_choices; i++) {
        const struct eval_request *request = &requests->requests[i];
        const struct eval_score *score = &scores->scores[i];
        json_array_append_new(loglik, cli_json_real(eval_loglik(request, score)));
        json_array_append_new(greedy, json_boolean(score->is_greedy));
        json_array_append_new(n_tokens, json_integer((json_int_t)eval_n_targets(request)));
    }
    json_object_set_new(line, "loglik", loglik);
    json_object_set_new(line, "greedy", greedy);
    json_object_set_new(line, "n_tokens", n_tokens);
    if (outcome) {
        json_object_set_new(line, "pick", json_integer((json_int_t)outcome->picks[CHOICE_ACC]));
        json_object_set_new(line, "pick_norm",
                            json_integer((json_int_t)outcome->picks[CHOICE_ACC_NORM]));
        json_object_set(line, "gold", item->gold);
    }
    json_object_set_new(line, "truncated", json_integer((json_int_t)slots->n_truncated));
    return line;
}

/* Figures of one item: names and values, N_CHOICE_METRICS + 2 at most. */
static size_t figures_of(const struct choice_result *result, const struct choice_outcome *outcome,
                         const char **names, double *values)
{
    size_t n = 0;
    for (int m = 0; m < N_CHOICE_METRICS; m++)
        if (result->has[m]) {
            names[n] = metric_names[m];
            values[n++] = outcome->right[m];
        }
    names[n] = "pick";
    values[n++] = (double)outcome->picks[CHOICE_ACC];
    names[n] = "pick_norm";
    values[n++] = (double)outcome->picks[CHOICE_ACC_NORM];
    return n;
}

static bool store_items(const struct choice_result *result, struct eval_run *run,
                        const struct eval_task *task, const struct choice_items *items,
                        struct rml_error *err)
{
    const char *names[N_CHOICE_METRICS + 2];
    struct store_eval_doc *docs = calloc(result->n + 1, sizeof *docs);
    double *values = calloc(result->n + 1, sizeof(double[N_CHOICE_METRICS + 2]));
    char **golds = calloc(result->n + 1, sizeof *golds);
    bool ok = docs && values && golds;
    for (size_t i = 0; ok && i < result->n; i++) {
        const struct choice_item *item = &items->items[result->outcomes[i].slots->item];
        double *own = values + i * (N_CHOICE_METRICS + 2);
        size_t n = figures_of(result, &result->outcomes[i], names, own);
        golds[i] = json_dumps(item->gold, JSON_ENCODE_ANY | JSON_COMPACT);
        ok = golds[i] != NULL;
        docs[i] = (struct store_eval_doc){.task = task->name,
                                          .doc_id = item->doc_id,
                                          .doc_idx = (int64_t)result->outcomes[i].slots->item,
                                          .group_key = item->group,
                                          .text = item->contexts[0].data,
                                          .gold_json = golds[i],
                                          .metrics = names,
                                          .values = own,
                                          .n_metrics = n};
    }
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store the outcomes");
    ok = ok && store_add_eval_docs(run->store, run->run_id, docs, result->n, err);
    for (size_t i = 0; golds && i < result->n; i++)
        free(golds[i]);
    free(golds);
    free(values);
    free(docs);
    return ok;
}

bool choice_result_store(const struct choice_result *result, struct eval_run *run,
                         const struct eval_task *task, const struct choice_items *items,
                         struct rml_error *err)
{
    if (!store_items(result, run, task, items, err))
        return false;
    for (int m = 0; m < N_CHOICE_METRICS; m++)
        if (result->has[m] && !eval_run_metric(run, task, metric_names[m], result->mean[m],
                                               result->standard_error[m], (int64_t)result->n, err))
            return false;
    return true;
}
