/*
 * Base and candidate side by side.
 *
 * A window's targets go in pieces of as many rows as the base has room for. The base computes
 * (or reads) its rows of a piece; then the candidate runs the same ids, and its logits, a tile at
 * a time, are compared with them. Rows do not depend on where pieces begin (contract 5).
 */
#include "eval/kld_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/nonfinite.h"
#include "tools/cli/report.h"

#define COMMIT_INTERVAL_NS 1000000000
#define N_EXTRA 3 /* doubles a token in token_extra: base log-probability, KLD, same best */

struct pass {
    struct eval_run *run;
    const struct eval_task *task;
    struct kld_base *base;
    const struct eval_request *requests;
    size_t n_windows;
    struct base_writer *writer;
    struct kld_tokens *out;
    struct rml_context *context;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    struct logit_row *reduced; /* [max_rows] */
    char (*keys)[REQUEST_KEY_NBYTES];
    bool *is_done;
    size_t n_committed; /* windows before this one are stored */
    int64_t started_ns, committed_ns;
    size_t n_computed;

    /* The piece. */
    const struct eval_request *request;
    size_t first; /* target of the piece's first row */
    struct kld_token *tokens;
    struct nonfinite bad;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- One piece -------------------------------------------------------------------------------- */

struct tile {
    struct pass *pass;
    size_t first; /* row of the piece */
    const float *logits;
};

static void compare_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct tile *tile = arg;
    struct pass *p = tile->pass;
    size_t i = tile->first + r;
    int32_t target = p->request->tokens[p->request->first_target + p->first + i];
    p->tokens[i] = kld_row(&p->base->rows[i], tile->logits + r * p->base->n_vocab, &p->reduced[r],
                           p->base->n_vocab, target);
}

static bool take_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct pass *p = user;
    size_t n_vocab = p->base->n_vocab;
    log_softmax_rows(p->task->engine->pool, logits, n_rows, n_vocab, p->reduced);
    for (size_t r = 0; r < n_rows; r++)
        if (p->reduced[r].bad >= 0) {
            p->bad =
                (struct nonfinite){.request = p->request,
                                   .position = p->request->first_target + p->first + first + r - 1,
                                   .id = p->reduced[r].bad,
                                   .value = logits[r * n_vocab + (size_t)p->reduced[r].bad]};
            return false;
        }
    struct tile tile = {.pass = p, .first = first, .logits = logits};
    rmli_parallel_for(p->task->engine->pool, n_rows, compare_row, &tile);
    return true;
}

static bool run_candidate(struct pass *p, size_t n, struct rml_error *err)
{
    size_t begin = rml_sequence_length(p->sequence);
    size_t end = p->request->first_target + p->first + n - 1;
    const struct rml_segment segment = {.sequence = p->sequence,
                                        .tokens = p->request->tokens + begin,
                                        .n_tokens = end - begin,
                                        .n_logit_rows = n};
    const struct rml_batch batch = {
        .segments = &segment, .n_segments = 1, .consumer = take_logits, .user = p};
    struct rml_error why = RML_ERROR_INIT;
    if (rml_forward(p->context, &batch, &why))
        return true;
    return p->bad.request ? nonfinite_explain(p->task->engine, &p->bad, err)
                          : rmli_fail(err, why.code, p->task->engine->name, -1, "%s", why.message);
}

static bool run_window(struct pass *p, size_t w, struct rml_error *err)
{
    p->request = &p->requests[w];
    size_t n_targets = eval_n_targets(p->request);
    rml_sequence_truncate(p->sequence, 0);
    if (!kld_base_begin(p->base, w, err) ||
        (p->writer && !base_writer_window(p->writer, p->request, err)))
        return false;
    for (p->first = 0; p->first < n_targets; p->first += p->base->max_rows) {
        size_t left = n_targets - p->first;
        size_t n = left < p->base->max_rows ? left : p->base->max_rows;
        p->tokens = p->out->tokens + p->out->first[w] + p->first;
        if (!kld_base_rows(p->base, p->request, w, p->first, n, err) ||
            (p->writer && !base_writer_rows(p->writer, p->base, n, err)) ||
            !run_candidate(p, n, err))
            return false;
    }
    return true;
}

/* ---- Database ---------------------------------------------------------------------------------- */

static bool store_windows(struct pass *p, size_t end, struct rml_error *err)
{
    p->committed_ns = now_ns();
    size_t n = end - p->n_committed, n_tokens = p->out->first[end] - p->out->first[p->n_committed];
    struct store_eval_item *items = calloc(n + 1, sizeof *items);
    double *values = calloc((1 + N_EXTRA) * n_tokens + 1, sizeof *values), *at = values;
    bool ok = items && values;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store %zu windows", n);
    for (size_t i = 0; ok && i < n; i++) {
        size_t w = p->n_committed + i, count = eval_n_targets(&p->requests[w]);
        const struct kld_token *tokens = p->out->tokens + p->out->first[w];
        double *logprobs = at, *extra = at + count, sum = 0;
        for (size_t t = 0; t < count; t++) {
            logprobs[t] = tokens[t].logprob;
            sum += tokens[t].logprob;
            extra[N_EXTRA * t] = tokens[t].base_logprob;
            extra[N_EXTRA * t + 1] = tokens[t].kld;
            extra[N_EXTRA * t + 2] = tokens[t].same_top;
        }
        at += (1 + N_EXTRA) * count;
        items[i] = (struct store_eval_item){.task = p->task->name,
                                            .doc_id = p->requests[w].doc_id,
                                            .choice_idx = p->requests[w].choice_idx,
                                            .request_sha256 = p->keys[w],
                                            .token_ids = p->requests[w].tokens,
                                            .n_token_ids = p->requests[w].n_tokens,
                                            .token_logprobs = logprobs,
                                            .n_tokens = count,
                                            .token_extra = extra,
                                            .n_extra = N_EXTRA * count,
                                            .loglik = sum,
                                            .is_greedy = -1,
                                            .wall_ns = -1};
    }
    ok = ok && store_add_eval_items(p->run->store, p->run->run_id, items, n, err);
    p->n_committed = end;
    free(items);
    free(values);
    return ok;
}

static bool look_up(struct pass *p, size_t w, struct rml_error *err)
{
    struct store_score kept;
    bool found;
    if (p->run->fresh || p->writer || !p->run->store)
        return true;
    if (!store_find_score(p->run->store, p->keys[w], &found, &kept, err))
        return false;
    size_t n = eval_n_targets(&p->requests[w]);
    if (found && kept.n_tokens == n && kept.n_extra == N_EXTRA * n) {
        struct kld_token *tokens = p->out->tokens + p->out->first[w];
        for (size_t t = 0; t < n; t++)
            tokens[t] = (struct kld_token){.logprob = kept.token_logprobs[t],
                                           .base_logprob = kept.token_extra[N_EXTRA * t],
                                           .kld = kept.token_extra[N_EXTRA * t + 1],
                                           .same_top = kept.token_extra[N_EXTRA * t + 2]};
        p->is_done[w] = true;
        p->run->n_reused++;
    }
    free(kept.token_logprobs);
    free(kept.token_extra);
    return true;
}

/* ---- All windows -------------------------------------------------------------------------------- */

static void show_progress(struct pass *p, size_t w)
{
    double sum = 0;
    size_t n = p->out->first[w];
    for (size_t i = 0; i < n; i++)
        sum += p->out->tokens[i].kld;
    double seconds = (double)(now_ns() - p->started_ns) * 1e-9;
    double left =
        p->n_computed > 0 ? seconds / (double)p->n_computed * (double)(p->n_windows - w) : 0;
    cli_progress("kld %zu/%zu, mean %.6g, %d:%02d left", w, p->n_windows,
                 n > 0 ? sum / (double)n : 0.0, (int)(left / 60), (int)left % 60);
}

static bool run_windows(struct pass *p, struct rml_error *err)
{
    for (size_t w = 0; w < p->n_windows; w++)
        if (!request_key(p->task->engine, p->task->base_identity, &p->requests[w], p->keys[w],
                         err) ||
            !look_up(p, w, err))
            return false;
    for (size_t w = 0; w < p->n_windows; w++) {
        bool ok = !cli_interrupted() || rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
        if (ok && !p->is_done[w]) {
            show_progress(p, w);
            ok = run_window(p, w, err);
            p->run->n_computed += ok;
            p->n_computed += ok;
        }
        size_t end = ok ? w + 1 : w;
        if (!ok || w + 1 == p->n_windows || now_ns() - p->committed_ns >= COMMIT_INTERVAL_NS) {
            struct rml_error why = RML_ERROR_INIT;
            if (!store_windows(p, end, &why))
                return rmli_fail(err, why.code, why.file, why.offset, "%s", why.message);
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool allocate(struct pass *p, struct rml_error *err)
{
    size_t n_tokens = 0, longest = 0;
    p->out->first = calloc(p->n_windows + 1, sizeof *p->out->first);
    p->keys = calloc(p->n_windows, sizeof *p->keys);
    p->is_done = calloc(p->n_windows, sizeof *p->is_done);
    for (size_t w = 0; p->out->first && w < p->n_windows; w++) {
        p->out->first[w] = n_tokens;
        n_tokens += eval_n_targets(&p->requests[w]);
        longest = eval_n_fed(&p->requests[w]) > longest ? eval_n_fed(&p->requests[w]) : longest;
        p->out->first[w + 1] = n_tokens;
    }
    p->out->n = n_tokens;
    p->out->tokens = calloc(n_tokens + 1, sizeof *p->out->tokens);
    p->reduced = calloc(p->base->max_rows, sizeof *p->reduced);
    if (!p->out->first || !p->keys || !p->is_done || !p->out->tokens || !p->reduced)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tokens", n_tokens);
    p->context = eval_engine_context(p->task->engine, longest, 0, err);
    p->cache = p->context
                   ? eval_engine_cache(p->task->engine,
                                       (longest + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS, err)
                   : NULL;
    p->sequence = p->cache ? rml_sequence_create(p->cache, longest, err) : NULL;
    return p->sequence != NULL;
}

bool kld_pass(struct eval_run *run, const struct eval_task *task, struct kld_base *base,
              const struct eval_request *requests, size_t n_windows, struct base_writer *writer,
              struct kld_tokens *out, struct rml_error *err)
{
    *out = (struct kld_tokens){0};
    struct pass p = {.run = run,
                     .task = task,
                     .base = base,
                     .requests = requests,
                     .n_windows = n_windows,
                     .writer = writer,
                     .out = out,
                     .started_ns = now_ns(),
                     .committed_ns = now_ns()};
    bool ok = allocate(&p, err) && run_windows(&p, err);
    rml_sequence_destroy(p.sequence);
    rml_kv_cache_destroy(p.cache);
    rml_context_destroy(p.context);
    free(p.reduced);
    free(p.keys);
    free(p.is_done);
    cli_progress_clear();
    if (!ok)
        kld_tokens_release(out);
    return ok;
}

void kld_tokens_release(struct kld_tokens *tokens)
{
    free(tokens->tokens);
    free(tokens->first);
    *tokens = (struct kld_tokens){0};
}
