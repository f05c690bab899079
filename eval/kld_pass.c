/*
 * A base and its candidates side by side.
 *
 * The schedule cuts the windows that somebody needs into passes. The base computes (or reads) its
 * rows of a pass; then each candidate runs the same ids, and its logits, a tile at a time, are
 * compared with them. Rows do not depend on where passes begin (contract 5).
 */
#include "eval/kld_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_clock.h"
#include "eval/exact_sum.h"
#include "eval/kld_keep.h"
#include "tools/cli/report.h"

#define COMMIT_INTERVAL_NS 1000000000

/* A candidate as it runs. */
struct runner {
    struct kld_candidate *candidate;
    struct kld_side side;
    char (*keys)[REQUEST_KEY_NBYTES]; /* [n_windows] */
    bool *is_done;                    /* [n_windows] */
};

/* Which target a row of a candidate's pass predicts. */
struct row_place {
    const struct kld_piece *piece;
    size_t i; /* of its targets */
};

struct pass {
    struct kld_base *base;
    const struct eval_request *requests;
    size_t n_windows;
    struct runner *runners; /* [n_runners] */
    size_t n_runners;
    const struct kld_pass_options *options;
    struct kld_speed *base_speed;
    struct kld_schedule schedule;
    size_t n_passes;
    size_t n_committed; /* windows before this one are stored */
    int64_t started_ns, committed_ns;
    size_t n_ids, n_ids_all; /* fed so far, and all in all */
    struct exact_sum shown;  /* of the divergences of the first n_shown tokens */
    size_t n_shown;

    /* The candidate that is running. */
    struct runner *runner;
    struct kld_piece pieces[KLD_MAX_PIECES]; /* those of the pass that it needs */
    size_t n_pieces, n_rows, n_pass_ids;
    struct row_place *places;  /* [max_rows] */
    struct logit_row *reduced; /* [max_rows] */
    int64_t consumer_ns;       /* spent on rows, not on running them */
    struct nonfinite bad;
};

static bool add_speed(struct kld_speed *speed, size_t pass, int64_t ns, size_t n_ids, bool in_full,
                      struct rml_error *err)
{
    if (!speed)
        return true;
    /* Doubled at powers of two. */
    if ((pass & (pass + 1)) == 0) {
        double *grown = realloc(speed->ns, (2 * pass + 2) * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu times", 2 * pass + 2);
        speed->ns = grown;
    }
    speed->ns[pass] = in_full ? (double)ns : NAN;
    speed->n = pass + 1;
    speed->seconds += (double)ns * 1e-9;
    speed->n_ids += (double)n_ids;
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

struct tile {
    struct pass *pass;
    size_t first; /* row of the candidate's pass */
    const float *logits;
};

static struct kld_token *token_at(const struct pass *p, const struct row_place *place)
{
    const struct kld_tokens *tokens = &p->runner->candidate->tokens;
    return &tokens->tokens[tokens->first[place->piece->window] + place->piece->first + place->i];
}

static int32_t target_at(const struct row_place *place)
{
    const struct eval_request *request = place->piece->request;
    return request->tokens[request->first_target + place->piece->first + place->i];
}

static void compare_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct tile *tile = arg;
    struct pass *p = tile->pass;
    const struct row_place *place = &p->places[tile->first + r];
    *token_at(p, place) =
        kld_row(&p->base->rows[place->piece->row + place->i], tile->logits + r * p->base->n_vocab,
                &p->reduced[r], p->base->n_vocab, target_at(place));
}

static bool take_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct pass *p = user;
    size_t n_vocab = p->base->n_vocab;
    struct rml_thread_pool *pool = p->runner->candidate->task->engine->pool;
    int64_t begin_ns = eval_now_ns();
    log_softmax_rows(pool, logits, n_rows, n_vocab, p->reduced);
    for (size_t r = 0; r < n_rows; r++)
        if (p->reduced[r].bad >= 0) {
            const struct row_place *place = &p->places[first + r];
            p->bad = (struct nonfinite){.request = place->piece->request,
                                        .position = kld_piece_position(place->piece, place->i),
                                        .id = p->reduced[r].bad,
                                        .value = logits[r * n_vocab + (size_t)p->reduced[r].bad]};
            return false;
        }
    struct tile tile = {.pass = p, .first = first, .logits = logits};
    rmli_parallel_for(pool, n_rows, compare_row, &tile);
    p->consumer_ns += eval_now_ns() - begin_ns;
    return true;
}

/* What the base is to itself: the divergence of a row from itself is a sum of zeros. */
static void compare_base_with_itself(struct pass *p)
{
    for (size_t r = 0; r < p->n_rows; r++) {
        const struct row_place *place = &p->places[r];
        const struct base_row *row = &p->base->rows[place->piece->row + place->i];
        double logprob = (double)row->logits[target_at(place)] - row->logsumexp;
        *token_at(p, place) =
            (struct kld_token){.logprob = logprob, .base_logprob = logprob, .same_top = 1};
    }
}

/* ---- One pass --------------------------------------------------------------------------------------- */

/* The pieces of the windows that the candidate does not have yet. */
static void choose_pieces(struct pass *p, struct runner *runner)
{
    p->runner = runner;
    p->n_pieces = p->n_rows = p->n_pass_ids = 0;
    for (size_t i = 0; i < p->schedule.n_pieces; i++) {
        const struct kld_piece *piece = &p->schedule.pieces[i];
        if (runner->is_done[piece->window])
            continue;
        struct kld_piece *mine = &p->pieces[p->n_pieces++];
        *mine = *piece;
        p->n_pass_ids += mine->end - mine->begin;
        for (size_t k = 0; k < mine->n; k++)
            p->places[p->n_rows++] = (struct row_place){.piece = mine, .i = k};
    }
}

static bool run_candidate(struct pass *p, struct runner *runner, struct rml_error *err)
{
    choose_pieces(p, runner);
    bool in_full = p->n_pieces == p->schedule.n_pieces;
    if (p->n_pieces > 0 && runner->candidate->is_base) {
        compare_base_with_itself(p);
    } else {
        const struct kld_sink sink = {.consumer = take_logits, .user = p, .bad = &p->bad};
        runner->side.run_ns = p->consumer_ns = 0;
        if (p->n_pieces > 0 && !kld_side_run(&runner->side, p->pieces, p->n_pieces, &sink, err))
            return false;
        if (!add_speed(&runner->candidate->speed, p->n_passes, runner->side.run_ns - p->consumer_ns,
                       p->n_pass_ids, in_full, err))
            return false;
    }
    for (size_t i = 0; i < p->n_pieces; i++)
        runner->candidate->run->n_computed += kld_piece_is_last(&p->pieces[i]);
    return true;
}

static bool run_pass(struct pass *p, struct rml_error *err)
{
    if (!kld_base_rows(p->base, &p->schedule, err) ||
        !add_speed(p->base_speed, p->n_passes, p->base->side.run_ns, p->schedule.n_ids, true,
                   err) ||
        (p->options->writer && !base_writer_pass(p->options->writer, p->base, &p->schedule, err)))
        return false;
    for (size_t i = 0; i < p->n_runners; i++)
        if (!run_candidate(p, &p->runners[(i + p->n_passes) % p->n_runners], err))
            return false;
    p->n_ids += p->schedule.n_ids;
    p->n_passes++;
    return true;
}

/* ---- All windows -------------------------------------------------------------------------------- */

static bool store_windows(struct pass *p, size_t end, struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->n_runners; i++)
        ok = kld_keep_store(p->runners[i].candidate, p->requests, p->runners[i].keys,
                            p->n_committed, end, err);
    p->n_committed = end;
    p->committed_ns = eval_now_ns();
    return ok;
}

static void show_progress(struct pass *p, size_t n_done)
{
    const struct kld_tokens *tokens = &p->runners[p->n_runners - 1].candidate->tokens;
    size_t n = tokens->first[n_done];
    for (; p->n_shown < n; p->n_shown++)
        exact_sum_add(&p->shown, tokens->tokens[p->n_shown].kld);
    double seconds = (double)(eval_now_ns() - p->started_ns) * 1e-9;
    double left = seconds / (double)p->n_ids * (double)(p->n_ids_all - p->n_ids);
    char mean[64] = "";
    if (p->n_runners == 1)
        snprintf(mean, sizeof mean, ", mean %.6g",
                 n > 0 ? exact_sum_value(&p->shown) / (double)n : 0.0);
    cli_progress("kld %zu/%zu%s, %.0f tokens/s, %d:%02d left", n_done, p->n_windows, mean,
                 (double)p->n_ids * (double)(p->n_runners + 1) / seconds, (int)(left / 60),
                 (int)left % 60);
}

/* Windows before the first one that is still to be run, or under way. */
static size_t n_windows_done(const struct pass *p)
{
    const struct kld_schedule *s = &p->schedule;
    return s->next < s->n_windows ? s->windows[s->next] : p->n_windows;
}

static bool run_schedule(struct pass *p, struct rml_error *err)
{
    bool ok = true;
    size_t n_done = n_windows_done(p); /* as of the last pass that was run */
    for (;;) {
        if (cli_interrupted())
            ok = rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
        if (!ok || !kld_schedule_next(&p->schedule))
            break;
        ok = run_pass(p, err);
        if (!ok)
            break;
        n_done = n_windows_done(p);
        show_progress(p, n_done);
        if (eval_now_ns() - p->committed_ns >= COMMIT_INTERVAL_NS)
            ok = store_windows(p, n_done, err);
    }
    /* What is finished is kept, whatever ended it. */
    struct rml_error why = RML_ERROR_INIT;
    if (p->n_committed < n_done && !store_windows(p, n_done, &why))
        return rmli_fail(err, why.code, why.file, why.offset, "%s", why.message);
    return ok;
}

static bool look_up(struct pass *p, struct runner *runner, struct rml_error *err)
{
    const struct eval_task *task = runner->candidate->task;
    for (size_t w = 0; w < p->n_windows; w++)
        if (!request_key(task->engine, task->base_identity, &p->requests[w], runner->keys[w],
                         err) ||
            (!p->options->writer && !kld_keep_find(runner->candidate, &p->requests[w], w,
                                                   runner->keys[w], &runner->is_done[w], err)))
            return false;
    return true;
}

static bool run_windows(struct pass *p, struct rml_error *err)
{
    size_t *todo = calloc(p->n_windows + 1, sizeof *todo), n = 0;
    bool ok = todo || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to choose windows");
    for (size_t i = 0; ok && i < p->n_runners; i++)
        ok = look_up(p, &p->runners[i], err);
    for (size_t w = 0; ok && w < p->n_windows; w++) {
        bool is_done = true;
        for (size_t i = 0; i < p->n_runners; i++)
            is_done = is_done && p->runners[i].is_done[w];
        if (is_done)
            continue;
        todo[n++] = w;
        p->n_ids_all += eval_n_fed(&p->requests[w]);
    }
    p->schedule = (struct kld_schedule){
        .requests = p->requests,
        .windows = todo,
        .n_windows = n,
        .batch_rows = p->options->batch_rows ? p->options->batch_rows : KLD_BATCH_ROWS,
        .max_rows = p->base->max_rows};
    ok = ok && run_schedule(p, err);
    free(todo);
    return ok;
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static bool allocate_runner(struct pass *p, struct runner *runner, size_t n_tokens, size_t longest,
                            struct rml_error *err)
{
    struct kld_candidate *candidate = runner->candidate;
    struct kld_tokens *out = &candidate->tokens;
    size_t rows = p->options->batch_rows ? p->options->batch_rows : KLD_BATCH_ROWS;
    out->first = calloc(p->n_windows + 1, sizeof *out->first);
    out->tokens = calloc(n_tokens + 1, sizeof *out->tokens);
    runner->keys = calloc(p->n_windows, sizeof *runner->keys);
    runner->is_done = calloc(p->n_windows, sizeof *runner->is_done);
    if (!out->first || !out->tokens || !runner->keys || !runner->is_done)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tokens", n_tokens);
    out->n = n_tokens;
    for (size_t w = 0; w < p->n_windows; w++)
        out->first[w + 1] = out->first[w] + eval_n_targets(&p->requests[w]);
    return candidate->is_base || kld_side_init(&runner->side, candidate->task->engine,
                                               candidate->context, longest, rows, err);
}

static bool allocate(struct pass *p, struct kld_candidate *candidates, struct rml_error *err)
{
    size_t n_tokens = 0, longest = 1;
    for (size_t w = 0; w < p->n_windows; w++) {
        n_tokens += eval_n_targets(&p->requests[w]);
        longest = eval_n_fed(&p->requests[w]) > longest ? eval_n_fed(&p->requests[w]) : longest;
    }
    p->runners = calloc(p->n_runners, sizeof *p->runners);
    p->places = calloc(p->base->max_rows, sizeof *p->places);
    p->reduced = calloc(p->base->max_rows, sizeof *p->reduced);
    if (!p->runners || !p->places || !p->reduced)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu rows", p->base->max_rows);
    for (size_t i = 0; i < p->n_runners; i++) {
        p->runners[i].candidate = &candidates[i];
        if (!allocate_runner(p, &p->runners[i], n_tokens, longest, err))
            return false;
    }
    return true;
}

bool kld_pass(struct kld_base *base, const struct eval_request *requests, size_t n_windows,
              struct kld_candidate *candidates, size_t n_candidates,
              const struct kld_pass_options *options, struct kld_speed *base_speed,
              struct rml_error *err)
{
    struct pass *p = calloc(1, sizeof *p);
    if (!p)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a pass");
    *p = (struct pass){.base = base,
                       .requests = requests,
                       .n_windows = n_windows,
                       .n_runners = n_candidates,
                       .options = options,
                       .base_speed = base_speed,
                       .started_ns = eval_now_ns(),
                       .committed_ns = eval_now_ns()};
    bool ok = allocate(p, candidates, err) && run_windows(p, err);
    for (size_t i = 0; p->runners && i < n_candidates; i++) {
        kld_side_release(&p->runners[i].side);
        free(p->runners[i].keys);
        free(p->runners[i].is_done);
    }
    free(p->runners);
    free(p->places);
    free(p->reduced);
    free(p);
    cli_progress_clear();
    return ok;
}

void kld_speed_release(struct kld_speed *speed)
{
    free(speed->ns);
    *speed = (struct kld_speed){0};
}

void kld_candidate_release(struct kld_candidate *candidate)
{
    free(candidate->tokens.tokens);
    free(candidate->tokens.first);
    candidate->tokens = (struct kld_tokens){0};
    kld_speed_release(&candidate->speed);
}
