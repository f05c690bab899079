/* The generation loop; what ends a reply, and in which order, is decided in one place: report. */
#include "generate/session.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "generate/cached_tokens.h"
#include "generate/speculative.h"
#include "model/context.h"

struct rml_session {
    struct rml_sampler *sampler; /* borrowed */
    struct rmli_cached_tokens tokens;
    size_t n_vocab;
    float *logits; /* [n_vocab] of the last token that was run */
    int32_t *stop_ids;
    size_t n_stop_ids;
    bool is_speculative;
    struct rmli_speculation speculation;
};

const char *rml_finish_name(enum rml_finish finish)
{
    switch (finish) {
    case RML_FINISH_STOP:
        return "stop";
    case RML_FINISH_CALLBACK:
        return "callback";
    case RML_FINISH_LIMIT:
        return "limit";
    case RML_FINISH_FULL:
        return "full";
    }
    return "unknown";
}

/* ---- Making one ----------------------------------------------------------------------- */

static size_t vocabulary_of(const struct rml_context *context)
{
    return rml_model_config(rml_context_model(context))->n_vocab;
}

static bool check(const struct rml_context *context, const struct rml_sampler *sampler,
                  const struct rml_session_params *p, struct rml_error *err)
{
    const size_t n_vocab = vocabulary_of(context);
    if (rml_sampler_n_vocab(sampler) != n_vocab)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the sampler is for %zu tokens, expected the model's %zu",
                         rml_sampler_n_vocab(sampler), n_vocab);
    if (p->n_context > context->max_context)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a session of %zu tokens, expected at most the context's %zu",
                         p->n_context, context->max_context);
    if (!p->draft)
        return true;
    if (vocabulary_of(p->draft) != n_vocab)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the draft model has a vocabulary of %zu tokens, expected the model's %zu",
                         vocabulary_of(p->draft), n_vocab);
    if (p->n_context > p->draft->max_context)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a session of %zu tokens, expected at most the draft context's %zu",
                         p->n_context, p->draft->max_context);
    return (p->n_draft >= 1 && p->n_draft <= RML_MAX_DRAFT_TOKENS) ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                     "%zu draft tokens at a time, expected 1 to %d", p->n_draft,
                     RML_MAX_DRAFT_TOKENS);
}

struct rml_session *rml_session_create(struct rml_context *context, struct rml_sampler *sampler,
                                       const struct rml_session_params *params,
                                       struct rml_error *err)
{
    const struct rml_session_params defaults = RML_SESSION_DEFAULTS;
    if (!params)
        params = &defaults;
    if (!check(context, sampler, params, err))
        return NULL;
    size_t limit = params->n_context;
    if (limit == 0) {
        limit = context->max_context;
        if (params->draft && params->draft->max_context < limit)
            limit = params->draft->max_context;
    }
    struct rml_session *s = rmli_alloc_zeroed(1, sizeof *s, err);
    if (!s)
        return NULL;
    s->sampler = sampler;
    s->n_vocab = vocabulary_of(context);
    s->n_stop_ids = params->n_stop_ids;
    s->logits = rmli_alloc(s->n_vocab, sizeof *s->logits, err);
    s->stop_ids = rmli_alloc(params->n_stop_ids, sizeof *s->stop_ids, err);
    bool ok =
        s->logits && s->stop_ids &&
        rmli_cached_tokens_init(&s->tokens, context, params->k_dtype, params->v_dtype, limit, err);
    if (ok && params->n_stop_ids > 0)
        memcpy(s->stop_ids, params->stop_ids, params->n_stop_ids * sizeof *s->stop_ids);
    s->is_speculative = params->draft;
    if (ok && params->draft)
        ok = rmli_speculation_init(&s->speculation, params, limit, err);
    if (!ok) {
        rml_session_destroy(s);
        return NULL;
    }
    return s;
}

void rml_session_destroy(struct rml_session *session)
{
    if (!session)
        return;
    rmli_speculation_release(&session->speculation);
    rmli_cached_tokens_release(&session->tokens);
    rmli_free(session->stop_ids);
    rmli_free(session->logits);
    rmli_free(session);
}

size_t rml_session_n_context(const struct rml_session *session)
{
    return session->tokens.limit;
}

size_t rml_session_n_cached(const struct rml_session *session)
{
    return session->tokens.n;
}

size_t rml_session_kv_nbytes(const struct rml_session *session)
{
    size_t nbytes = rml_kv_cache_nbytes_used(session->tokens.cache);
    return session->is_speculative
               ? nbytes + rml_kv_cache_nbytes_used(session->speculation.draft.cache)
               : nbytes;
}

void rml_session_reset(struct rml_session *session)
{
    rmli_cached_tokens_truncate(&session->tokens, 0);
    if (session->is_speculative)
        rmli_cached_tokens_truncate(&session->speculation.draft, 0);
}

/* ---- The loop -------------------------------------------------------------------------- */

/*
 * Reports one token of the reply, which follows n_before cached ones; false when the reply ends
 * with it. In this order: a stop id, the callback, the limit, the full cache.
 */
static bool report(const struct rml_session *s, const struct rml_generation *g, int32_t id,
                   size_t n_before, struct rml_generation_stats *stats)
{
    for (size_t i = 0; i < s->n_stop_ids; i++) {
        if (s->stop_ids[i] == id) {
            stats->finish = RML_FINISH_STOP;
            stats->stop_id = id;
            return false;
        }
    }
    stats->n_generated++;
    if (g->on_token && !g->on_token(g->user, id))
        stats->finish = RML_FINISH_CALLBACK;
    else if (stats->n_generated == g->max_tokens)
        stats->finish = RML_FINISH_LIMIT;
    else if (n_before == s->tokens.limit)
        stats->finish = RML_FINISH_FULL;
    else
        return true;
    return false;
}

static bool sample(struct rml_session *s, int32_t *id, struct rml_error *err)
{
    return rml_sampler_sample(s->sampler, s->logits, s->tokens.ids, s->tokens.n, id, err);
}

static bool decode(struct rml_session *s, const struct rml_generation *g,
                   struct rml_generation_stats *stats, struct rml_error *err)
{
    int32_t id;
    while (sample(s, &id, err)) {
        if (!report(s, g, id, s->tokens.n, stats))
            return true;
        if (!rmli_cached_tokens_append(&s->tokens, &id, 1, 1, s->logits, err))
            return false;
    }
    return false;
}

static bool decode_speculatively(struct rml_session *s, const struct rml_generation *g,
                                 struct rml_generation_stats *stats, struct rml_error *err)
{
    int32_t out[RML_MAX_DRAFT_TOKENS + 1];
    if (!sample(s, &out[0], err))
        return false;
    bool goes_on = report(s, g, out[0], s->tokens.n, stats);
    for (size_t n = 1; goes_on;) {
        size_t most = g->max_tokens - stats->n_generated - 1, base = s->tokens.n, n_drafted;
        if (!rmli_speculation_round(&s->speculation, &s->tokens, s->sampler, out[n - 1], most, out,
                                    &n, &n_drafted, err))
            return false;
        stats->n_rounds++;
        stats->n_drafted += n_drafted;
        stats->n_accepted += n - 1;
        for (size_t i = 0; goes_on && i < n; i++) {
            goes_on = report(s, g, out[i], base + 1 + i, stats);
            if (!goes_on) /* the cache holds what came before this token, as without a draft */
                rmli_cached_tokens_truncate(&s->tokens, base + 1 + i);
        }
    }
    return true;
}

static bool check_prompt(const struct rml_session *s, const struct rml_generation *g,
                         struct rml_error *err)
{
    if (!g->prompt || g->n_prompt == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the prompt is empty, expected a token");
    if (g->max_tokens == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a limit of 0 tokens, expected at least 1");
    if (g->n_prompt > s->tokens.limit)
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1,
                         "a prompt of %zu tokens, expected at most %zu", g->n_prompt,
                         s->tokens.limit);
    /* Before what the cache holds is cut: a pass that is refused would leave it shorter. */
    for (size_t i = 0; i < g->n_prompt; i++)
        if (g->prompt[i] < 0 || (size_t)g->prompt[i] >= s->n_vocab)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "token %zu of the prompt is %d, expected 0 to %zu", i, g->prompt[i],
                             s->n_vocab - 1);
    return true;
}

bool rml_session_generate(struct rml_session *s, const struct rml_generation *g,
                          struct rml_generation_stats *stats, struct rml_error *err)
{
    struct rml_generation_stats own;
    if (!stats)
        stats = &own;
    *stats = (struct rml_generation_stats){.stop_id = -1};
    if (!check_prompt(s, g, err))
        return false;
    int64_t start = rmli_clock_ns();
    stats->n_reused = rmli_cached_tokens_shared(&s->tokens, g->prompt, g->n_prompt);
    stats->n_run = g->n_prompt - stats->n_reused;
    rmli_cached_tokens_truncate(&s->tokens, stats->n_reused);
    if (!rmli_cached_tokens_append(&s->tokens, g->prompt + stats->n_reused, stats->n_run, 1,
                                   s->logits, err))
        return false;
    int64_t decode_start = rmli_clock_ns();
    stats->prefill_ns = decode_start - start;
    bool ok = s->is_speculative ? decode_speculatively(s, g, stats, err) : decode(s, g, stats, err);
    stats->decode_ns = rmli_clock_ns() - decode_start;
    return ok;
}
