/* Speculative decoding: guess, check in one pass, keep with probability min(1, p / q). */
#include "generate/speculative.h"

#include <string.h>

#include "base/memory.h"

bool rmli_speculation_init(struct rmli_speculation *s, const struct rml_session_params *params,
                           size_t limit, struct rml_error *err)
{
    const size_t n_vocab = rml_model_config(rml_context_model(params->draft))->n_vocab;
    const size_t k = params->n_draft;
    *s = (struct rmli_speculation){.n_draft = k, .n_vocab = n_vocab};
    /* k <= RML_MAX_DRAFT_TOKENS, so that no row size overflows */
    s->draft_logits = rmli_alloc(n_vocab, sizeof *s->draft_logits, err);
    s->logits = rmli_alloc(n_vocab, (k + 1) * sizeof *s->logits, err);
    s->q = rmli_alloc(n_vocab, k * sizeof *s->q, err);
    s->p = rmli_alloc(n_vocab, sizeof *s->p, err);
    bool ok = s->draft_logits && s->logits && s->q && s->p &&
              rmli_cached_tokens_init(&s->draft, params->draft, params->k_dtype, params->v_dtype,
                                      limit, err);
    if (!ok)
        rmli_speculation_release(s);
    return ok;
}

void rmli_speculation_release(struct rmli_speculation *s)
{
    rmli_cached_tokens_release(&s->draft);
    rmli_free(s->draft_logits);
    rmli_free(s->logits);
    rmli_free(s->q);
    rmli_free(s->p);
    memset(s, 0, sizeof *s);
}

/* Draws k guesses, which follow context [n], into `guesses`. */
static bool guess(struct rmli_speculation *s, struct rml_sampler *sampler, const int32_t *context,
                  size_t n, int32_t *guesses, size_t k, struct rml_error *err)
{
    struct rmli_cached_tokens *draft = &s->draft;
    rmli_cached_tokens_truncate(draft, rmli_cached_tokens_shared(draft, context, n));
    bool ok =
        rmli_cached_tokens_append(draft, context + draft->n, n - draft->n, 1, s->draft_logits, err);
    for (size_t i = 0; ok && i < k; i++) {
        double *q = s->q + i * s->n_vocab;
        ok = rml_sampler_distribution(sampler, s->draft_logits, draft->ids, draft->n, q, err);
        guesses[i] = ok ? (int32_t)rml_sampler_draw(sampler, q, s->n_vocab) : 0;
        /* The last guess is run here only if it is kept: as part of the next context. */
        if (ok && i + 1 < k)
            ok = rmli_cached_tokens_append(draft, &guesses[i], 1, 1, s->draft_logits, err);
    }
    return ok;
}

/* In place of a guess that was not kept. */
static int32_t draw_residual(struct rmli_speculation *s, struct rml_sampler *sampler,
                             const double *q)
{
    for (size_t i = 0; i < s->n_vocab; i++)
        s->p[i] = s->p[i] > q[i] ? s->p[i] - q[i] : 0;
    /* Not all are 0: some p is below its q, and both sum to 1. Where rounding alone made it so,
     * the two distributions are one. */
    int64_t id = rml_sampler_draw(sampler, s->p, s->n_vocab);
    return (int32_t)(id >= 0 ? id : rml_sampler_draw(sampler, q, s->n_vocab));
}

bool rmli_speculation_round(struct rmli_speculation *s, struct rmli_cached_tokens *target,
                            struct rml_sampler *sampler, int32_t pending, size_t most, int32_t *out,
                            size_t *n_out, size_t *n_drafted, struct rml_error *err)
{
    const size_t base = target->n, room = target->limit - base - 1;
    size_t k = most < s->n_draft ? most : s->n_draft;
    k = k < room ? k : room;
    int32_t run[RML_MAX_DRAFT_TOKENS + 1] = {pending};
    target->ids[base] = pending; /* makes the context contiguous */
    if (k > 0 && !guess(s, sampler, target->ids, base + 1, run + 1, k, err))
        return false;
    if (!rmli_cached_tokens_append(target, run, k + 1, k + 1, s->logits, err))
        return false;

    bool ok = true, kept = true;
    size_t n = 0;
    while (ok && kept && n <= k) {
        /* Row n of the logits follows run[n], the last of base + 1 + n tokens. */
        ok = rml_sampler_distribution(sampler, s->logits + n * s->n_vocab, target->ids,
                                      base + 1 + n, s->p, err);
        if (!ok)
            break;
        const double *q = s->q + n * s->n_vocab;
        int32_t x = n < k ? run[n + 1] : 0;
        kept = n < k && rml_sampler_uniform(sampler) * q[x] < s->p[x];
        if (kept)
            out[n++] = x;
        else if (n < k)
            out[n] = draw_residual(s, sampler, q);
        else
            out[n] = (int32_t)rml_sampler_draw(sampler, s->p, s->n_vocab);
    }
    rmli_cached_tokens_truncate(target, ok ? base + 1 + n : base);
    *n_out = n + 1;
    *n_drafted = k;
    return ok;
}
