/*
 * A run of rml-eval in the results database.
 */
#include "eval/eval_run.h"

#include <stdlib.h>
#include <string.h>

#include "eval/eval_clock.h"
#include "tools/cli/report.h"
#include "tools/cli/stored_run.h"

/* How long a finished score may wait for its commit: a kill costs at most this much work. */
#define COMMIT_INTERVAL_NS 1000000000

int eval_run_end(struct eval_run *run, int exit_code)
{
    struct store_run_name name;
    struct rml_error err = RML_ERROR_INIT;
    if (run->store && store_run_name(run->store, run->run_id, &name, &err))
        cli_note("run %.8s", name.uuid);
    exit_code = cli_run_end(run->store, run->run_id, exit_code);
    run->store = NULL;
    return exit_code;
}

void eval_run_tell_reused(const char *task, size_t n_reused, size_t n_new, const char *what)
{
    if (n_reused > 0)
        cli_note("%s: %zu %s were there already, %zu are new (--fresh computes all anew)", task,
                 n_reused, what, n_new);
}

/* ---- Tasks ------------------------------------------------------------------------------- */

static int64_t add_model(struct eval_run *run, const struct eval_engine *engine,
                         struct rml_error *err)
{
    return cli_run_add_model(run->store, run->run_id, engine->model, engine->sha256,
                             engine->tokenizer ? engine->tokenizer_sha256 : NULL, err);
}

bool eval_run_add_task(struct eval_run *run, const struct eval_task *task, struct rml_error *err)
{
    if (!run->store)
        return true;
    const struct eval_engine *engine = task->engine, *base = task->base;
    struct store_eval row = {
        .task = task->name,
        .protocol = task->protocol,
        .model_id = add_model(run, engine, err),
        .base_model_id = base ? add_model(run, base, err) : 0,
        .tokenizer_sha256 = engine->tokenizer ? engine->tokenizer_sha256 : NULL,
        .arithmetic = rml_arithmetic_name(engine->settings.arithmetic),
        .k_dtype = rml_kv_dtype_name(engine->settings.k_dtype),
        .v_dtype = rml_kv_dtype_name(engine->settings.v_dtype),
        .isa = rml_isa_name(engine->isa),
        .threads = (int)rml_thread_pool_size(engine->pool),
        .numerics_version = RML_NUMERICS_VERSION,
        .settings_json = task->settings_json,
    };
    if (base) {
        row.base_arithmetic = rml_arithmetic_name(base->settings.arithmetic);
        row.base_k_dtype = rml_kv_dtype_name(base->settings.k_dtype);
        row.base_v_dtype = rml_kv_dtype_name(base->settings.v_dtype);
    }
    return row.model_id >= 0 && row.base_model_id >= 0 &&
           store_add_eval(run->store, run->run_id, &row, err) >= 0;
}

bool eval_run_metric(struct eval_run *run, const struct eval_task *task, const char *metric,
                     double value, double standard_error, int64_t n, struct rml_error *err)
{
    struct store_eval_metric row = {.task = task->name,
                                    .metric = metric,
                                    .value = value,
                                    .standard_error = standard_error,
                                    .n = n};
    return store_add_eval_metrics(run->store, run->run_id, &row, 1, err);
}

/* ---- Scores -------------------------------------------------------------------------------- */

struct scoring {
    struct eval_run *run;
    const struct eval_task *task;
    const struct eval_request *requests;
    struct eval_scores *scores;
    const struct eval_watch *watch;
    char (*keys)[REQUEST_KEY_NBYTES]; /* [n] */
    size_t *waiting;                  /* [n_waiting] finished, not committed */
    size_t n_waiting;
    int64_t started_ns, committed_ns;
};

static bool commit(struct scoring *s, struct rml_error *err)
{
    s->committed_ns = eval_now_ns();
    if (!s->run->store || s->n_waiting == 0) {
        s->n_waiting = 0;
        return true;
    }
    struct store_eval_item *items = calloc(s->n_waiting, sizeof *items);
    if (!items)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store %zu scores",
                         s->n_waiting);
    for (size_t i = 0; i < s->n_waiting; i++) {
        const struct eval_request *request = &s->requests[s->waiting[i]];
        const struct eval_score *score = &s->scores->scores[s->waiting[i]];
        items[i] = (struct store_eval_item){
            .task = s->task->name,
            .doc_id = request->doc_id,
            .choice_idx = request->choice_idx,
            .request_sha256 = s->keys[s->waiting[i]],
            .token_ids = request->tokens,
            .n_token_ids = request->n_tokens,
            .token_logprobs = score->logprobs,
            .n_tokens = eval_n_targets(request),
            .loglik = eval_loglik(request, score),
            .n_truncated = (int64_t)request->n_truncated,
            .is_greedy = score->is_greedy,
            .wall_ns = -1,
        };
    }
    bool ok = store_add_eval_items(s->run->store, s->run->run_id, items, s->n_waiting, err);
    s->n_waiting = 0;
    free(items);
    return ok;
}

/* A score of an earlier run; one whose length is not the request's is damaged and computed
 * anew. */
static bool look_up(struct scoring *s, size_t i, bool *found, struct rml_error *err)
{
    *found = false;
    if (s->run->fresh || !s->run->store)
        return true;
    struct store_score kept;
    if (!store_find_score(s->run->store, s->keys[i], found, &kept, err))
        return false;
    struct eval_score *score = &s->scores->scores[i];
    *found = *found && kept.n_tokens == eval_n_targets(&s->requests[i]) && kept.is_greedy >= 0;
    if (*found) {
        memcpy(score->logprobs, kept.token_logprobs, kept.n_tokens * sizeof *score->logprobs);
        score->is_greedy = kept.is_greedy;
        score->is_done = true;
    }
    free(kept.token_logprobs);
    free(kept.token_extra);
    return true;
}

static void show_progress(struct scoring *s, const struct scorer_progress *progress)
{
    char status[64] = "";
    if (s->watch && s->watch->status)
        s->watch->status(s->watch->user, status, sizeof status);
    double seconds = (double)(eval_now_ns() - s->started_ns) * 1e-9;
    double rate = (double)progress->n_rows / (seconds > 0 ? seconds : 1);
    double left = rate > 0 ? (double)(progress->n_rows_all - progress->n_rows) / rate : 0;
    cli_progress("%s %zu/%zu%s%s, %.0f tokens/s, %d:%02d left", s->task->name, progress->n_done,
                 progress->n_requests, status[0] ? ", " : "", status, rate, (int)(left / 60),
                 (int)left % 60);
}

static bool take_finished(void *user, const size_t *finished, size_t n,
                          const struct scorer_progress *progress, struct rml_error *err)
{
    struct scoring *s = user;
    for (size_t i = 0; i < n; i++)
        s->waiting[s->n_waiting++] = finished[i];
    s->run->n_computed += n;
    show_progress(s, progress);
    return eval_now_ns() - s->committed_ns < COMMIT_INTERVAL_NS || commit(s, err);
}

static bool look_up_all(struct scoring *s, size_t n, size_t *missing, size_t *n_missing,
                        struct rml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool found;
        if (!request_key(s->task->engine, s->task->base_identity, &s->requests[i], s->keys[i],
                         err) ||
            !look_up(s, i, &found, err))
            return false;
        if (found)
            s->waiting[s->n_waiting++] = i;
        else
            missing[(*n_missing)++] = i;
    }
    s->run->n_reused += s->n_waiting;
    return commit(s, err);
}

bool eval_run_score(struct eval_run *run, const struct eval_task *task,
                    const struct eval_request *requests, size_t n, struct eval_scores *scores,
                    const struct eval_watch *watch, struct rml_error *err)
{
    struct scoring s = {.run = run,
                        .task = task,
                        .requests = requests,
                        .scores = scores,
                        .watch = watch,
                        .started_ns = eval_now_ns()};
    size_t n_missing = 0;
    size_t *missing = calloc(n + 1, sizeof *missing);
    s.keys = calloc(n + 1, sizeof *s.keys);
    s.waiting = calloc(n + 1, sizeof *s.waiting);
    bool ok = missing && s.keys && s.waiting;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to score %zu requests", n);
    ok = ok && look_up_all(&s, n, missing, &n_missing, err);
    if (ok) {
        ok = scorer_run(task->engine, requests, missing, n_missing, scores->scores,
                        watch ? watch->scorer : NULL, take_finished, &s, err);
        /* What is finished is kept, whatever ended the scoring. */
        struct rml_error commit_err = RML_ERROR_INIT;
        if (!commit(&s, &commit_err))
            ok = rmli_fail(err, commit_err.code, commit_err.file, commit_err.offset, "%s",
                           commit_err.message);
    }
    cli_progress_clear();
    if (ok)
        eval_run_tell_reused(task->name, n - n_missing, n_missing, "scores");
    free(missing);
    free(s.keys);
    free(s.waiting);
    return ok;
}
