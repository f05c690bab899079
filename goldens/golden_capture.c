/*
 * Filling a case of a golden file from what a checkpoint computes.
 */
#include "goldens/golden_capture.h"

#include <math.h>
#include <stdlib.h>

#include "goldens/golden_trace.h"

struct capture {
    const struct golden_capture_settings *settings;
    struct golden_case *c;
    size_t n_vocab, n_embd;
    size_t n_residual_room;
    bool no_memory;
};

/* The n greatest of logits, best first, of equals the lower id: insertion into a short list. */
static void select_top(const float *logits, size_t n_vocab, struct golden_position *p)
{
    size_t n = 0;
    for (size_t id = 0; id < n_vocab; id++) {
        double x = logits[id];
        if (n == p->n && !(x > p->logits[n - 1]))
            continue;
        size_t at = n < p->n ? n++ : n - 1;
        while (at > 0 && x > p->logits[at - 1]) {
            p->logits[at] = p->logits[at - 1];
            p->ids[at] = p->ids[at - 1];
            at--;
        }
        p->logits[at] = x;
        p->ids[at] = (int32_t)id;
    }
}

static bool take_logits(void *user, size_t index, const float *logits)
{
    struct capture *capture = user;
    struct golden_position *p = &capture->c->positions[index];
    bool all = capture->settings->all_logits || capture->settings->n_top >= capture->n_vocab;
    p->position = index;
    p->logsumexp = golden_logsumexp(logits, capture->n_vocab);
    p->n = all ? capture->n_vocab : capture->settings->n_top;
    p->logits = calloc(p->n, sizeof *p->logits);
    p->ids = all ? NULL : calloc(p->n, sizeof *p->ids);
    if (!p->logits || (!all && !p->ids))
        return false;
    if (all)
        for (size_t i = 0; i < p->n; i++)
            p->logits[i] = logits[i];
    else
        select_top(logits, capture->n_vocab, p);
    return true;
}

static void take_residual(void *user, int layer, enum rml_branch branch, size_t n_rows,
                          const size_t *segments, const size_t *positions, const float *x)
{
    (void)segments;
    struct capture *capture = user;
    struct golden_case *c = capture->c;
    if (capture->n_residual_room - c->n_residual < n_rows) {
        size_t room = capture->n_residual_room * 2 + n_rows;
        struct golden_residual *bigger = realloc(c->residual, room * sizeof *bigger);
        if (!bigger) {
            capture->no_memory = true;
            return;
        }
        c->residual = bigger;
        capture->n_residual_room = room;
    }
    struct golden_residual *rows = c->residual + c->n_residual;
    for (size_t i = 0; i < n_rows; i++)
        rows[i] =
            (struct golden_residual){.layer = layer, .branch = branch, .position = positions[i]};
    if (!golden_fingerprint(layer, branch, n_rows, capture->n_embd, x, rows)) {
        capture->no_memory = true;
        return;
    }
    c->n_residual += n_rows;
}

static double least_gap(const struct golden_trace *trace)
{
    double least = INFINITY;
    for (size_t i = 0; i < trace->n_chosen; i++)
        if (trace->greedy_gaps[i] < least)
            least = trace->greedy_gaps[i];
    return isfinite(least) ? least : -1;
}

static bool any_residual_nonfinite(const struct golden_case *c)
{
    for (size_t i = 0; i < c->n_residual; i++)
        if (!isfinite(c->residual[i].norm))
            return true;
    return false;
}

static bool run(const struct golden_engine *engine, struct capture *capture,
                struct golden_trace *trace, struct golden_deviation *nonfinite,
                struct rml_error *err)
{
    struct golden_case *c = capture->c;
    if (!golden_trace_run(engine, trace, err))
        return false;
    if (capture->no_memory)
        return rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1,
                         "no memory for the residual stream");
    c->greedy_margin = least_gap(trace);
    if (c->n_residual > 0)
        qsort(c->residual, c->n_residual, sizeof *c->residual, golden_residual_order);
    if (!trace->nonfinite && !any_residual_nonfinite(c))
        return true;

    struct golden_place_in_model place;
    if (!golden_locate_nonfinite(engine, trace, &place, err))
        return false;
    *nonfinite = (struct golden_deviation){.kind = GOLDEN_NONFINITE,
                                           .branch = place.branch,
                                           .layer = place.layer,
                                           .position = place.position,
                                           .id = place.id,
                                           .got = place.value};
    return true;
}

bool golden_capture_case(const struct golden_engine *engine,
                         const struct golden_capture_settings *settings, struct golden_case *c,
                         struct golden_deviation *nonfinite, struct rml_error *err)
{
    const struct rml_model_config *config = rml_model_config(engine->model);
    struct capture capture = {
        .settings = settings, .c = c, .n_vocab = config->n_vocab, .n_embd = config->n_embd};
    *nonfinite = (struct golden_deviation){0};
    size_t *positions = calloc(c->n_tokens, sizeof *positions);
    double *gaps = calloc(settings->n_greedy + 1, sizeof *gaps);
    c->positions = calloc(c->n_tokens, sizeof *c->positions);
    c->greedy = settings->n_greedy > 0 ? calloc(settings->n_greedy, sizeof *c->greedy) : NULL;
    c->n_greedy = settings->n_greedy;
    bool ok = positions && gaps && c->positions && (c->greedy || c->n_greedy == 0);
    if (ok) {
        c->n_positions = c->n_tokens;
        for (size_t i = 0; i < c->n_tokens; i++)
            positions[i] = i;
        struct golden_trace trace = {.tokens = c->tokens,
                                     .n_tokens = c->n_tokens,
                                     .positions = positions,
                                     .n_positions = c->n_positions,
                                     .n_greedy = c->n_greedy,
                                     .on_logits = take_logits,
                                     .on_residual = settings->residual ? take_residual : NULL,
                                     .user = &capture,
                                     .greedy = c->greedy,
                                     .greedy_gaps = gaps};
        ok = run(engine, &capture, &trace, nonfinite, err);
    } else
        rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the case");
    free(positions);
    free(gaps);
    return ok;
}
