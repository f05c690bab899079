/*
 * One side of a KL divergence as it runs.
 */
#include "eval/kld_side.h"

#include "eval/eval_clock.h"

static size_t n_pages(size_t n_tokens)
{
    return (n_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
}

bool kld_side_init(struct kld_side *side, const struct eval_engine *engine,
                   struct rml_context *context, size_t max_tokens, size_t batch_rows,
                   struct rml_error *err)
{
    *side = (struct kld_side){.engine = engine, .context = context, .owns_context = !context};
    if (!context)
        side->context = eval_engine_context(engine, max_tokens, batch_rows, err);
    side->cache = side->context
                      ? eval_engine_cache(
                            engine, n_pages(max_tokens) + n_pages(batch_rows) + KLD_MAX_PIECES, err)
                      : NULL;
    bool ok = side->cache != NULL;
    for (size_t i = 0; ok && i < KLD_MAX_PIECES; i++)
        ok = (side->sequences[i] = rml_sequence_create(side->cache, max_tokens, err)) != NULL;
    if (!ok)
        kld_side_release(side);
    return ok;
}

void kld_side_release(struct kld_side *side)
{
    for (size_t i = 0; i < KLD_MAX_PIECES; i++)
        rml_sequence_destroy(side->sequences[i]);
    rml_kv_cache_destroy(side->cache);
    if (side->owns_context)
        rml_context_destroy(side->context);
    *side = (struct kld_side){0};
}

bool kld_side_run(struct kld_side *side, const struct kld_piece *pieces, size_t n,
                  const struct kld_sink *sink, struct rml_error *err)
{
    struct rml_segment segments[KLD_MAX_PIECES];
    for (size_t i = 0; i < n; i++)
        segments[i] = (struct rml_segment){.sequence = side->sequences[pieces[i].slot],
                                           .tokens = pieces[i].request->tokens + pieces[i].begin,
                                           .n_tokens = pieces[i].end - pieces[i].begin,
                                           .n_logit_rows = pieces[i].n};
    const struct rml_batch batch = {.segments = segments,
                                    .n_segments = n,
                                    .logits = sink->logits,
                                    .consumer = sink->consumer,
                                    .user = sink->user};
    struct rml_error why = RML_ERROR_INIT;
    int64_t begin_ns = eval_now_ns();
    bool ok = rml_forward(side->context, &batch, &why);
    side->run_ns = eval_now_ns() - begin_ns;
    if (!ok)
        return sink->bad && sink->bad->request
                   ? nonfinite_explain(side->engine, sink->bad, err)
                   : rmli_fail(err, why.code, side->engine->name, why.offset, "%s", why.message);
    for (size_t i = 0; i < n; i++)
        if (kld_piece_is_last(&pieces[i]))
            rml_sequence_truncate(side->sequences[pieces[i].slot], 0);
    return true;
}
