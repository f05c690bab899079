/*
 * Replies to many prompts at once.
 */
#include "eval/generate_pass.h"

#include <stdlib.h>
#include <string.h>

#include "eval/log_softmax.h"
#include "eval/nonfinite.h"
#include "tools/cli/options.h"

/* A pass takes new prompts until it has so many rows; a longer prompt goes alone. */
#define PASS_ROWS 512
/* Ids in common from which on a prompt waits for the one before it to be computed. */
#define MIN_SHARED 16
#define CACHE_NBYTES ((size_t)1 << 30)

struct slot {
    struct generate_request *request; /* NULL: free */
    size_t index;                     /* of the request */
    struct rml_sequence *sequence;
    struct rml_sampler *sampler;
};

struct pass {
    const struct eval_engine *engine;
    const struct generate_rules *rules;
    struct generate_request *requests;
    size_t *order; /* [n] chosen requests by ids */
    size_t n, next, n_alive;
    struct rml_context *context;
    struct rml_kv_cache *cache;
    size_t max_tokens; /* of the longest sequence */
    struct slot slots[GENERATE_MAX_BATCH];
    size_t n_slots;
    /* The prompt that was computed last, kept for what the next has in common with it. */
    struct rml_sequence *kept;
    const struct generate_request *kept_request;
    float *logits; /* [n_slots][n_vocab] */
    struct rml_bytes text;
};

/* ---- Text ---------------------------------------------------------------------------------- */

static bool is_stop_id(const struct generate_rules *rules, int32_t id)
{
    for (size_t i = 0; i < rules->n_stop_ids; i++)
        if (rules->stop_ids[i] == id)
            return true;
    return false;
}

bool generate_text(const struct eval_engine *engine, const struct generate_rules *rules,
                   const struct generate_request *request, struct rml_bytes *text,
                   const char **finish, struct rml_error *err)
{
    const int32_t *reply = request->ids + request->n_prompt;
    size_t n = request->n_generated, begin = text->n;
    *finish = n == rules->max_tokens ? "limit" : NULL;
    if (n > 0 && is_stop_id(rules, reply[n - 1])) {
        *finish = "stop";
        n--;
    }
    if (!rml_tokenizer_decode(engine->tokenizer, reply, n, true, text, err))
        return false;
    for (size_t i = 0; i < rules->n_until; i++) {
        size_t nbytes = text->n - begin;
        char *at = nbytes > 0 ? memmem(text->data + begin, nbytes, rules->until[i],
                                       strlen(rules->until[i]))
                              : NULL;
        if (at) {
            text->n = (size_t)(at - text->data);
            *finish = "until";
        }
    }
    return true;
}

/* ---- Starting a prompt ------------------------------------------------------------------------ */

static size_t shared_ids(const struct generate_request *a, const struct generate_request *b)
{
    /* One id at least is left to be run. */
    size_t most = b->n_prompt - 1 < a->n_prompt ? b->n_prompt - 1 : a->n_prompt, n = 0;
    while (n < most && a->ids[n] == b->ids[n])
        n++;
    return n;
}

static bool start(struct pass *p, struct slot *slot, size_t index, size_t n_shared,
                  struct rml_error *err)
{
    slot->sequence = n_shared > 0 ? rml_sequence_fork(p->kept, n_shared, err)
                                  : rml_sequence_create(p->cache, p->max_tokens, err);
    if (!slot->sequence)
        return false;
    slot->index = index;
    slot->request = &p->requests[index];
    rml_sampler_seed(slot->sampler, slot->request->seed);
    p->n_alive++;
    return true;
}

/* Fills free slots; what is alive and not begun has the length of what it shares. *newest is the
 * last that was started. */
static bool admit(struct pass *p, const struct generate_request **newest,
                  struct rml_sequence **newest_sequence, struct rml_error *err)
{
    size_t n_rows = p->n_alive;
    *newest = NULL;
    for (size_t s = 0; s < p->n_slots && p->next < p->n; s++) {
        if (p->slots[s].request)
            continue;
        const struct generate_request *request = &p->requests[p->order[p->next]];
        size_t shared = p->kept ? shared_ids(p->kept_request, request) : 0;
        if (*newest && (n_rows + request->n_prompt - shared > PASS_ROWS ||
                        shared_ids(*newest, request) >= shared + MIN_SHARED))
            return true;
        if (!start(p, &p->slots[s], p->order[p->next++], shared, err))
            return false;
        n_rows += request->n_prompt - shared;
        *newest = request;
        *newest_sequence = p->slots[s].sequence;
    }
    return true;
}

/* ---- A pass -------------------------------------------------------------------------------------- */

static bool is_over(struct pass *p, const struct generate_request *request, bool *over,
                    struct rml_error *err)
{
    const char *finish;
    p->text.n = 0;
    if (!generate_text(p->engine, p->rules, request, &p->text, &finish, err))
        return false;
    *over = finish;
    return true;
}

static bool take_token(struct pass *p, struct slot *slot, const float *logits,
                       struct rml_error *err)
{
    struct generate_request *request = slot->request;
    const struct logit_row row = log_softmax_row(logits, p->engine->n_vocab);
    const size_t n = request->n_prompt + request->n_generated;
    if (row.bad >= 0) {
        const struct eval_request shown = {
            .tokens = request->ids, .n_tokens = n, .first_target = 1, .doc_id = request->doc_id};
        const struct nonfinite bad = {
            .request = &shown, .position = n - 1, .id = row.bad, .value = logits[row.bad]};
        return nonfinite_explain(p->engine, &bad, err);
    }
    int32_t id;
    if (!rml_sampler_sample(slot->sampler, logits, request->ids, n, &id, err))
        return false;
    request->ids[n] = id;
    request->logprobs[request->n_generated++] = (double)logits[id] - row.logsumexp;
    return true;
}

static bool run_pass(struct pass *p, generate_done_fn *done, void *user, struct rml_error *err)
{
    const struct generate_request *newest;
    struct rml_sequence *newest_sequence = NULL;
    if (!admit(p, &newest, &newest_sequence, err))
        return false;
    struct rml_segment segments[GENERATE_MAX_BATCH];
    struct slot *owners[GENERATE_MAX_BATCH];
    size_t n = 0;
    for (size_t s = 0; s < p->n_slots; s++) {
        struct slot *slot = &p->slots[s];
        if (!slot->request)
            continue;
        size_t length = rml_sequence_length(slot->sequence);
        owners[n] = slot;
        segments[n++] = (struct rml_segment){.sequence = slot->sequence,
                                             .tokens = slot->request->ids + length,
                                             .n_tokens = slot->request->n_prompt +
                                                         slot->request->n_generated - length,
                                             .n_logit_rows = 1};
    }
    const struct rml_batch batch = {.segments = segments, .n_segments = n, .logits = p->logits};
    if (!rml_forward(p->context, &batch, err))
        return false;
    if (newest) {
        rml_sequence_destroy(p->kept);
        p->kept_request = newest;
        p->kept = rml_sequence_fork(newest_sequence, newest->n_prompt, err);
        if (!p->kept)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct slot *slot = owners[i];
        bool over = false;
        if (!take_token(p, slot, p->logits + i * p->engine->n_vocab, err) ||
            !is_over(p, slot->request, &over, err))
            return false;
        if (!over)
            continue;
        rml_sequence_destroy(slot->sequence);
        slot->sequence = NULL;
        slot->request = NULL;
        p->n_alive--;
        if (!done(user, slot->index, err))
            return false;
    }
    return true;
}

/* ---- All of them ------------------------------------------------------------------------------------ */

static const struct generate_request *sorted; /* for compare; this runs on one thread */

static int compare(const void *left, const void *right)
{
    size_t x = *(const size_t *)left, y = *(const size_t *)right;
    const struct generate_request *a = &sorted[x], *b = &sorted[y];
    size_t n = a->n_prompt < b->n_prompt ? a->n_prompt : b->n_prompt;
    for (size_t i = 0; i < n; i++)
        if (a->ids[i] != b->ids[i])
            return a->ids[i] < b->ids[i] ? -1 : 1;
    if (a->n_prompt != b->n_prompt)
        return a->n_prompt < b->n_prompt ? -1 : 1;
    return (x > y) - (x < y);
}

static void release(struct pass *p)
{
    for (size_t s = 0; s < p->n_slots; s++) {
        rml_sequence_destroy(p->slots[s].sequence);
        rml_sampler_destroy(p->slots[s].sampler);
    }
    rml_sequence_destroy(p->kept);
    rml_kv_cache_destroy(p->cache);
    rml_context_destroy(p->context);
    rml_bytes_release(&p->text);
    free(p->logits);
    free(p->order);
}

static bool init(struct pass *p, const size_t *chosen, size_t n, struct rml_error *err)
{
    p->n = n;
    p->order = malloc(n * sizeof *p->order);
    if (!p->order)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu prompts", n);
    memcpy(p->order, chosen, n * sizeof *p->order);
    sorted = p->requests;
    qsort(p->order, n, sizeof *p->order, compare);
    for (size_t i = 0; i < n; i++) {
        size_t length = p->requests[chosen[i]].n_prompt + p->rules->max_tokens;
        p->max_tokens = length > p->max_tokens ? length : p->max_tokens;
    }
    /* Pages of one sequence, one more for the copy of a page that is shared in part. */
    struct rml_kv_shape shape = rml_model_kv_shape(p->engine->model, p->engine->settings.k_dtype,
                                                   p->engine->settings.v_dtype);
    size_t pages = (p->max_tokens - 1) / RML_PAGE_TOKENS + 2;
    size_t fits = CACHE_NBYTES / (pages * rml_kv_page_nbytes(&shape));
    p->n_slots = p->rules->n_batch < n ? p->rules->n_batch : n;
    if (p->n_slots + 1 > fits)
        p->n_slots = fits > 2 ? fits - 1 : 1;
    p->context = eval_engine_context(p->engine, p->max_tokens, 0, err);
    p->cache = p->context ? eval_engine_cache(p->engine, (p->n_slots + 1) * pages, err) : NULL;
    if (!p->cache)
        return false;
    p->logits = malloc(p->n_slots * p->engine->n_vocab * sizeof *p->logits);
    if (!p->logits)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for logits of %zu sequences",
                         p->n_slots);
    for (size_t s = 0; s < p->n_slots; s++) {
        p->slots[s].sampler = rml_sampler_create(p->engine->n_vocab, &p->rules->sampling, err);
        if (!p->slots[s].sampler)
            return false;
    }
    return true;
}

bool generate_run(const struct eval_engine *engine, const struct generate_rules *rules,
                  struct generate_request *requests, const size_t *chosen, size_t n_chosen,
                  generate_done_fn *done, void *user, struct rml_error *err)
{
    if (n_chosen == 0)
        return true;
    struct pass p = {.engine = engine, .rules = rules, .requests = requests};
    bool ok = init(&p, chosen, n_chosen, err);
    while (ok && (p.n_alive > 0 || p.next < p.n)) {
        ok = run_pass(&p, done, user, err);
        if (ok && cli_interrupted())
            ok = rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    }
    release(&p);
    return ok;
}
