/*
 * Replies and the database.
 */
#include "eval/generate_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/report.h"

/* Raised when what is kept under a key changes its meaning. */
#define KEY_VERSION 1

/* Everything that the bits of a reply depend on: what a score's key holds, the tokenizer (stop
 * texts are sought in what it decodes), and the rules. */
static bool make_key(const struct eval_engine *engine, const struct generate_rules *rules,
                     const struct generate_request *request, char hex[REQUEST_KEY_NBYTES],
                     struct rml_error *err)
{
    char settings[256];
    const struct rml_sampler_params *s = &rules->sampling;
    char *data = NULL;
    size_t nbytes = 0;
    FILE *text = open_memstream(&data, &nbytes);
    if (!text || !request_key_engine(engine, settings, sizeof settings)) {
        if (text)
            fclose(text);
        free(data);
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "a key cannot be made");
    }
    fprintf(text, "rml-eval generate %d\n%s tokenizer %s\nmax %zu\n", KEY_VERSION, settings,
            engine->tokenizer_sha256, rules->max_tokens);
    fprintf(text, "temperature %a top-k %lld top-p %a min-p %a penalty %a\n", s->temperature,
            (long long)s->top_k, s->top_p, s->min_p, s->repetition_penalty);
    if (s->temperature > 0)
        fprintf(text, "seed %llu\n", (unsigned long long)request->seed);
    for (size_t i = 0; i < rules->n_stop_ids; i++)
        fprintf(text, "stop %d\n", rules->stop_ids[i]);
    for (size_t i = 0; i < rules->n_until; i++)
        fprintf(text, "until %zu %s\n", strlen(rules->until[i]), rules->until[i]);
    fprintf(text, "ids %zu\n", request->n_prompt);
    fwrite(request->ids, sizeof *request->ids, request->n_prompt, text);
    bool ok = fclose(text) == 0 || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a key");
    ok = ok && eval_sha256(data, nbytes, hex, err);
    free(data);
    return ok;
}

static struct store_eval_item stored_item(const struct generate_keep *k, size_t i)
{
    const struct generate_request *request = &k->requests[i];
    struct store_eval_item item = {
        .task = k->task->name,
        .doc_id = request->doc_id,
        .request_sha256 = k->keys[i],
        .token_ids = request->ids,
        .n_token_ids = request->n_prompt + request->n_generated,
        .token_logprobs = request->logprobs,
        .n_tokens = request->n_generated,
        .n_truncated = (int64_t)request->n_truncated,
        .is_greedy = k->rules->sampling.temperature == 0,
        .wall_ns = -1,
    };
    for (size_t t = 0; t < request->n_generated; t++)
        item.loglik += request->logprobs[t];
    return item;
}

/* In one commit: each waits for the disk. */
static bool store_replies(const struct generate_keep *k, const size_t *which, size_t n,
                          struct rml_error *err)
{
    struct store_eval_item *items = calloc(n + 1, sizeof *items);
    if (!items)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store %zu replies", n);
    for (size_t i = 0; i < n; i++)
        items[i] = stored_item(k, which[i]);
    bool ok = store_add_eval_items(k->run->store, k->run->run_id, items, n, err);
    free(items);
    return ok;
}

/* A reply of an earlier run; one that is not behind this prompt is damaged, and made anew. */
static bool look_up(struct generate_keep *k, size_t i, bool *found, struct rml_error *err)
{
    struct generate_request *request = &k->requests[i];
    int32_t *ids;
    double *logprobs;
    size_t n_ids = 0, n = 0;
    *found = false;
    if (k->run->fresh || !k->run->store)
        return true;
    if (!store_find_generation(k->run->store, k->keys[i], found, &ids, &n_ids, &logprobs, &n, err))
        return false;
    if (!*found)
        return true;
    *found = n > 0 && n <= k->rules->max_tokens && n_ids == request->n_prompt + n &&
             memcmp(ids, request->ids, request->n_prompt * sizeof *ids) == 0;
    if (*found) {
        memcpy(request->ids, ids, n_ids * sizeof *ids);
        memcpy(request->logprobs, logprobs, n * sizeof *logprobs);
        request->n_generated = n;
    }
    free(ids);
    free(logprobs);
    return true;
}

static bool take_reply(void *user, size_t i, struct rml_error *err)
{
    struct generate_keep *k = user;
    k->n_done++;
    k->run->n_computed++;
    cli_progress("%s %zu/%zu", k->task->name, k->n_done, k->n);
    return store_replies(k, &i, 1, err);
}

bool generate_all(struct eval_run *run, const struct eval_task *task,
                  const struct generate_rules *rules, struct generate_request *requests, size_t n,
                  struct rml_error *err)
{
    struct generate_keep k = {
        .run = run, .task = task, .rules = rules, .requests = requests, .n = n};
    size_t n_missing = 0, n_found = 0;
    size_t *missing = calloc(n + 1, sizeof *missing), *there = calloc(n + 1, sizeof *there);
    k.keys = calloc(n + 1, sizeof *k.keys);
    bool ok = (missing && there && k.keys) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu prompts", n);
    for (size_t i = 0; ok && i < n; i++) {
        bool found;
        ok = make_key(task->engine, rules, &requests[i], k.keys[i], err) &&
             look_up(&k, i, &found, err);
        if (ok && found)
            there[n_found++] = i;
        else if (ok)
            missing[n_missing++] = i;
    }
    ok = ok && store_replies(&k, there, n_found, err);
    run->n_reused += n_found;
    k.n_done = n_found;
    ok = ok && generate_run(task->engine, rules, requests, missing, n_missing, take_reply, &k, err);
    cli_progress_clear();
    if (ok)
        eval_run_tell_reused(task->name, n_found, n_missing, "replies");
    free(missing);
    free(there);
    free(k.keys);
    return ok;
}
