/*
 * Windows of a KL divergence in the database.
 */
#include "eval/kld_keep.h"

#include <stdlib.h>

#define N_EXTRA 3 /* doubles a token in token_extra: base log-probability, KLD, same best */

bool kld_keep_find(struct kld_candidate *candidate, const struct eval_request *request, size_t w,
                   const char *key, bool *found, struct rml_error *err)
{
    struct eval_run *run = candidate->run;
    struct store_score kept;
    *found = false;
    if (run->fresh || !run->store)
        return true;
    if (!store_find_score(run->store, key, found, &kept, err))
        return false;
    size_t n = eval_n_targets(request);
    *found = *found && kept.n_tokens == n && kept.n_extra == N_EXTRA * n;
    if (*found) {
        struct kld_token *tokens = candidate->tokens.tokens + candidate->tokens.first[w];
        for (size_t t = 0; t < n; t++)
            tokens[t] = (struct kld_token){.logprob = kept.token_logprobs[t],
                                           .base_logprob = kept.token_extra[N_EXTRA * t],
                                           .kld = kept.token_extra[N_EXTRA * t + 1],
                                           .same_top = kept.token_extra[N_EXTRA * t + 2]};
        run->n_reused++;
    }
    free(kept.token_logprobs);
    free(kept.token_extra);
    return true;
}

/* The columns of a window's tokens, at `at`: [n] and [N_EXTRA * n] doubles. */
static void fill_item(struct store_eval_item *item, const struct kld_candidate *candidate,
                      const struct eval_request *request, size_t w, const char *key, double *at)
{
    size_t n = eval_n_targets(request);
    const struct kld_token *tokens = candidate->tokens.tokens + candidate->tokens.first[w];
    double *extra = at + n, sum = 0;
    for (size_t t = 0; t < n; t++) {
        at[t] = tokens[t].logprob;
        sum += tokens[t].logprob;
        extra[N_EXTRA * t] = tokens[t].base_logprob;
        extra[N_EXTRA * t + 1] = tokens[t].kld;
        extra[N_EXTRA * t + 2] = tokens[t].same_top;
    }
    *item = (struct store_eval_item){.task = candidate->task->name,
                                     .doc_id = request->doc_id,
                                     .choice_idx = request->choice_idx,
                                     .request_sha256 = key,
                                     .token_ids = request->tokens,
                                     .n_token_ids = request->n_tokens,
                                     .token_logprobs = at,
                                     .n_tokens = n,
                                     .token_extra = extra,
                                     .n_extra = N_EXTRA * n,
                                     .loglik = sum,
                                     .is_greedy = -1,
                                     .wall_ns = -1};
}

bool kld_keep_store(struct kld_candidate *candidate, const struct eval_request *requests,
                    char (*keys)[REQUEST_KEY_NBYTES], size_t begin, size_t end,
                    struct rml_error *err)
{
    const size_t *first = candidate->tokens.first;
    if (!candidate->run->store || begin == end)
        return true;
    struct store_eval_item *items = calloc(end - begin, sizeof *items);
    double *values = calloc((1 + N_EXTRA) * (first[end] - first[begin]) + 1, sizeof *values);
    bool ok = items && values;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store %zu windows", end - begin);
    for (size_t w = begin; ok && w < end; w++)
        fill_item(&items[w - begin], candidate, &requests[w], w, keys[w],
                  values + (1 + N_EXTRA) * (first[w] - first[begin]));
    ok = ok && store_add_eval_items(candidate->run->store, candidate->run->run_id, items,
                                    end - begin, err);
    free(items);
    free(values);
    return ok;
}
