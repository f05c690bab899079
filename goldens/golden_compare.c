/*
 * Comparing a checkpoint's numbers with one case of a golden file.
 */
#include "goldens/golden_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "goldens/golden_trace.h"

struct comparison {
    const struct golden_case *c;
    const struct golden_settings *settings;
    struct golden_outcome *outcome;
    size_t n_vocab, n_embd;
    struct golden_deviation logit; /* the first of logits and logsumexp */
    struct golden_residual *got;   /* [c->n_residual], in the order of the file's */
    bool no_memory;
};

/* The greater of both, NaN when one is. */
static double worst(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void deviate(struct golden_deviation *first, enum golden_deviation_kind kind,
                    size_t position, int32_t id, double got, double want)
{
    if (first->kind == GOLDEN_NO_DEVIATION)
        *first = (struct golden_deviation){
            .kind = kind, .position = position, .id = id, .got = got, .want = want};
}

/* ---- Logits ------------------------------------------------------------------ */

/* Zero when the f32 is the one nearest to what the file says: its decimals stand for that. */
static double logit_error(float got, double want)
{
    return got == (float)want ? 0 : fabs(got - want);
}

static bool compare_logits(void *user, size_t index, const float *logits)
{
    struct comparison *cmp = user;
    const struct golden_position *p = &cmp->c->positions[index];
    struct golden_outcome *outcome = cmp->outcome;
    for (size_t i = 0; i < p->n; i++) {
        int32_t id = p->ids ? p->ids[i] : (int32_t)i;
        double error = logit_error(logits[id], p->logits[i]);
        outcome->max_abs_error = worst(error, outcome->max_abs_error);
        if (!(error <= cmp->settings->logit_abs))
            deviate(&cmp->logit, GOLDEN_LOGIT, p->position, id, logits[id], p->logits[i]);
    }
    double got = golden_logsumexp(logits, cmp->n_vocab), error = fabs(got - p->logsumexp);
    outcome->max_logsumexp_error = worst(error, outcome->max_logsumexp_error);
    if (!(error <= cmp->settings->logsumexp_abs))
        deviate(&cmp->logit, GOLDEN_LOGSUMEXP, p->position, -1, got, p->logsumexp);
    outcome->n_positions++;
    return true;
}

/* ---- Residual stream ---------------------------------------------------------- */

/* The case's fingerprint of the same place; NULL when it has none. */
static const struct golden_residual *find_residual(const struct golden_case *c,
                                                   const struct golden_residual *place)
{
    /* No array, not even one of no elements, may be NULL for bsearch. */
    return c->n_residual == 0
               ? NULL
               : bsearch(place, c->residual, c->n_residual, sizeof *place, golden_residual_order);
}

static void take_residual(void *user, int layer, enum rml_branch branch, size_t n_rows,
                          const size_t *segments, const size_t *positions, const float *x)
{
    (void)segments;
    struct comparison *cmp = user;
    struct golden_residual *rows = calloc(n_rows, sizeof *rows);
    if (!rows || !golden_fingerprint(layer, branch, n_rows, cmp->n_embd, x, rows)) {
        cmp->no_memory = true;
        free(rows);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        rows[i].layer = layer;
        rows[i].branch = branch;
        rows[i].position = positions[i];
        const struct golden_residual *want = find_residual(cmp->c, &rows[i]);
        if (want)
            cmp->got[want - cmp->c->residual] = rows[i];
    }
    free(rows);
}

static void blame_residual(struct golden_deviation *first, const struct golden_residual *got,
                           const struct golden_residual *want)
{
    *first = (struct golden_deviation){.kind = GOLDEN_RESIDUAL,
                                       .branch = rml_branch_name(want->branch),
                                       .layer = want->layer,
                                       .position = want->position,
                                       .id = -1};
    first->error = golden_residual_error(got, want, &first->got, &first->want);
}

/* Sets *start to the first place that is not equal, when the numbers were equal to the bit
 * before: then it is where a fault starts, however small it is there. True when something in
 * the stream is not finite. */
static bool compare_residual(struct comparison *cmp, struct golden_deviation *start)
{
    struct golden_outcome *outcome = cmp->outcome;
    bool equal_bits = false;
    for (size_t i = 0; i < cmp->c->n_residual; i++) {
        const struct golden_residual *got = &cmp->got[i], *want = &cmp->c->residual[i];
        double error = golden_residual_error(got, want, NULL, NULL);
        outcome->max_residual_error = worst(error, outcome->max_residual_error);
        outcome->n_residual++;
        /* An embedding is copied out of the file, not computed: equal in any case. */
        if (error == 0 && want->layer == 0)
            equal_bits = true;
        if (error != 0 && start->kind == GOLDEN_NO_DEVIATION)
            blame_residual(start, got, want);
        if (error <= cmp->settings->residual_rel)
            continue;
        outcome->residual_passed = false;
        if (outcome->first.kind == GOLDEN_NO_DEVIATION)
            blame_residual(&outcome->first, got, want);
    }
    start->within = start->error <= cmp->settings->residual_rel;
    if (!equal_bits)
        start->kind = GOLDEN_NO_DEVIATION;
    return isnan(outcome->max_residual_error);
}

/* With the stream right up to and including its last norm, it is the head. */
static void blame_head(const struct comparison *cmp, int n_layer, struct golden_deviation *logit)
{
    const struct golden_residual place = {
        .layer = n_layer, .branch = RML_BRANCH_OUTPUT, .position = logit->position};
    if (cmp->settings->compare_residual && find_residual(cmp->c, &place)) {
        logit->layer = n_layer;
        logit->branch = "head";
    }
}

/* ---- Greedy steps --------------------------------------------------------------- */

/* Where two candidates are nearly equal either may come out best, and what follows differs. So
 * steps count up to the first that is close in our own logits, unless the file says that none
 * of its own was close. */
static void compare_greedy(struct comparison *cmp, const struct golden_trace *trace,
                           struct golden_deviation *deviation)
{
    double close = 2 * cmp->settings->logit_abs;
    bool all = cmp->c->greedy_margin >= close;
    struct golden_outcome *outcome = cmp->outcome;
    for (size_t step = 0; step < trace->n_chosen; step++) {
        if (!all && trace->greedy_gaps[step] < close)
            return;
        outcome->n_greedy_compared++;
        if (trace->greedy[step] != cmp->c->greedy[step]) {
            outcome->greedy_equal = false;
            deviate(deviation, GOLDEN_GREEDY, trace->n_tokens - 1 + step, cmp->c->greedy[step],
                    trace->greedy[step], cmp->c->greedy[step]);
            return;
        }
    }
}

/* ---- All of it -------------------------------------------------------------------- */

static bool find_nonfinite(const struct golden_engine *engine, const struct golden_trace *trace,
                           struct golden_outcome *outcome, struct rml_error *err)
{
    struct golden_place_in_model place;
    if (!golden_locate_nonfinite(engine, trace, &place, err))
        return false;
    outcome->passed = outcome->logits_passed = false;
    if (place.found)
        outcome->first = (struct golden_deviation){.kind = GOLDEN_NONFINITE,
                                                   .branch = place.branch,
                                                   .layer = place.layer,
                                                   .position = place.position,
                                                   .id = place.id,
                                                   .got = place.value,
                                                   .want = NAN};
    return true;
}

static bool run(const struct golden_engine *engine, struct comparison *cmp,
                struct golden_trace *trace, struct rml_error *err)
{
    struct golden_outcome *outcome = cmp->outcome;
    if (!golden_trace_run(engine, trace, err))
        return false;
    if (cmp->no_memory)
        return rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1,
                         "no memory for the residual stream");

    struct golden_deviation greedy = {0}, start = {0};
    compare_greedy(cmp, trace, &greedy);
    outcome->logits_passed = cmp->logit.kind == GOLDEN_NO_DEVIATION;
    bool stream_is_nonfinite = trace->on_residual && compare_residual(cmp, &start);
    outcome->passed = outcome->logits_passed && outcome->residual_passed && outcome->greedy_equal;
    if (trace->nonfinite || stream_is_nonfinite)
        return find_nonfinite(engine, trace, outcome, err);

    if (!outcome->passed && start.kind != GOLDEN_NO_DEVIATION)
        outcome->first = start;
    if (outcome->first.kind == GOLDEN_NO_DEVIATION) {
        outcome->first = cmp->logit.kind != GOLDEN_NO_DEVIATION ? cmp->logit : greedy;
        if (outcome->first.kind != GOLDEN_NO_DEVIATION)
            blame_head(cmp, (int)rml_model_config(engine->model)->n_layer, &outcome->first);
    }
    return true;
}

bool golden_compare_case(const struct golden_engine *engine, const struct golden_case *c,
                         const struct golden_settings *settings, struct golden_outcome *outcome,
                         struct rml_error *err)
{
    const struct rml_model_config *config = rml_model_config(engine->model);
    *outcome = (struct golden_outcome){
        .greedy_equal = true, .residual_passed = true, .n_greedy = c->n_greedy};
    struct comparison cmp = {.c = c,
                             .settings = settings,
                             .outcome = outcome,
                             .n_vocab = config->n_vocab,
                             .n_embd = config->n_embd};
    struct golden_trace trace = {.tokens = c->tokens,
                                 .n_tokens = c->n_tokens,
                                 .n_positions = c->n_positions,
                                 .n_greedy = c->n_greedy,
                                 .on_logits = compare_logits,
                                 .user = &cmp};
    if (settings->compare_residual && c->n_residual > 0)
        trace.on_residual = take_residual;
    size_t *positions = calloc(c->n_positions + 1, sizeof *positions);
    cmp.got = calloc(c->n_residual + 1, sizeof *cmp.got);
    trace.greedy = calloc(c->n_greedy + 1, sizeof *trace.greedy);
    trace.greedy_gaps = calloc(c->n_greedy + 1, sizeof *trace.greedy_gaps);
    bool ok = positions && cmp.got && trace.greedy && trace.greedy_gaps;
    if (ok) {
        for (size_t i = 0; i < c->n_positions; i++)
            positions[i] = c->positions[i].position;
        trace.positions = positions;
        ok = run(engine, &cmp, &trace, err);
    } else
        rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the comparison");
    free(trace.greedy_gaps);
    free(trace.greedy);
    free(cmp.got);
    free(positions);
    return ok;
}

/* ---- Words --------------------------------------------------------------------------- */

const char *golden_deviation_name(enum golden_deviation_kind kind)
{
    static const char *const names[] = {
        [GOLDEN_NO_DEVIATION] = "none",   [GOLDEN_NONFINITE] = "non-finite",
        [GOLDEN_RESIDUAL] = "residual",   [GOLDEN_LOGIT] = "logit",
        [GOLDEN_LOGSUMEXP] = "logsumexp", [GOLDEN_GREEDY] = "greedy",
    };
    return names[kind];
}

void golden_deviation_text(const struct golden_deviation *d, char *text, size_t nbytes)
{
    char place[96] = "";
    if (d->branch)
        snprintf(place, sizeof place, "layer %d, %s, ", d->layer, d->branch);
    switch (d->kind) {
    case GOLDEN_NO_DEVIATION:
        snprintf(text, nbytes, "none");
        break;
    case GOLDEN_NONFINITE:
        snprintf(text, nbytes, "%sposition %zu: %g found, expected finite numbers", place,
                 d->position, d->got);
        break;
    case GOLDEN_RESIDUAL:
        snprintf(text, nbytes,
                 "%sposition %zu: residual stream off by %.2g of its norm (%.9g found, expected "
                 "%.9g)%s",
                 place, d->position, d->error, d->got, d->want,
                 d->within ? ", within tolerance but the first that is not equal" : "");
        break;
    case GOLDEN_LOGIT:
        snprintf(text, nbytes, "%sposition %zu, id %d: logit %.9g found, expected %.9g", place,
                 d->position, (int)d->id, d->got, d->want);
        break;
    case GOLDEN_LOGSUMEXP:
        snprintf(text, nbytes, "%sposition %zu: logsumexp %.9g found, expected %.9g", place,
                 d->position, d->got, d->want);
        break;
    case GOLDEN_GREEDY:
        snprintf(text, nbytes, "%sposition %zu: greedy choice %.0f found, expected %.0f", place,
                 d->position, d->got, d->want);
        break;
    }
}
