/*
 * Where a NaN or infinite logit comes from.
 */
#include "eval/nonfinite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct trace {
    uint32_t n_embd;
    bool found;
    int layer;
    enum rml_branch branch;
    size_t position;
};

/* Calls come chunk by chunk, so the layers of a later chunk follow the last layer of an earlier
 * one; positions go up, and the first hit of all is the first position's. */
static void look(void *user, int layer, enum rml_branch branch, size_t n_rows,
                 const size_t *segments, const size_t *positions, const float *x)
{
    (void)segments;
    struct trace *trace = user;
    for (size_t r = 0; r < n_rows && !trace->found; r++)
        for (size_t i = 0; i < trace->n_embd && !trace->found; i++)
            if (!isfinite(x[r * trace->n_embd + i]))
                *trace = (struct trace){.n_embd = trace->n_embd,
                                        .found = true,
                                        .layer = layer,
                                        .branch = branch,
                                        .position = positions[r]};
}

static bool ignore_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    (void)user;
    (void)first;
    (void)n_rows;
    (void)logits;
    return true;
}

static bool run_again(const struct eval_engine *engine, const struct nonfinite *bad,
                      struct trace *trace, struct rml_error *err)
{
    size_t n = bad->position + 1, n_pages = (n + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    struct rml_context *context = eval_engine_context(engine, n, 0, err);
    struct rml_kv_cache *cache = context ? eval_engine_cache(engine, n_pages, err) : NULL;
    struct rml_sequence *sequence = cache ? rml_sequence_create(cache, n, err) : NULL;
    const struct rml_segment segment = {
        .sequence = sequence, .tokens = bad->request->tokens, .n_tokens = n, .n_logit_rows = 1};
    const struct rml_batch batch = {.segments = &segment,
                                    .n_segments = 1,
                                    .consumer = ignore_logits,
                                    .residual = look,
                                    .user = trace};
    bool ok = sequence && rml_forward(context, &batch, err);
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(context);
    return ok;
}

bool nonfinite_explain(const struct eval_engine *engine, const struct nonfinite *bad,
                       struct rml_error *err)
{
    struct trace trace = {.n_embd = rml_model_config(engine->model)->n_embd};
    struct rml_error again = RML_ERROR_INIT;
    char where[160];
    if (!run_again(engine, bad, &trace, &again))
        snprintf(where, sizeof where, "its layer could not be found: %.100s", again.message);
    else if (!trace.found)
        snprintf(where, sizeof where, "first in the output head, every layer is finite");
    else if (trace.layer < 0)
        snprintf(where, sizeof where, "first in the embedding of position %zu", trace.position);
    else
        snprintf(where, sizeof where, "first after layer %d, %s, at position %zu", trace.layer,
                 rml_branch_name(trace.branch), trace.position);
    return rmli_fail(err, RML_FORMAT, engine->name, -1,
                     "item '%.200s', request %" PRId64 ", position %zu: the logit of id %" PRId32
                     " is %s, expected a finite number (%s)",
                     bad->request->doc_id, bad->request->choice_idx, bad->position, bad->id,
                     isnan(bad->value) ? "NaN" : "infinite", where);
}
