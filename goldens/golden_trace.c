/*
 * One pass over a prompt and its greedy continuation.
 */
#include "goldens/golden_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/options.h"

struct prompt_state {
    struct golden_trace *trace;
    size_t n_vocab;
    float *last; /* [n_vocab] logits of the last position, or NULL */
    bool no_memory;
};

static void note_nonfinite(struct golden_trace *trace, size_t position, const float *logits,
                           size_t n_vocab)
{
    int32_t id = trace->nonfinite ? -1 : golden_first_nonfinite(logits, n_vocab);
    if (id < 0)
        return;
    trace->nonfinite = true;
    trace->nonfinite_position = position;
    trace->nonfinite_id = id;
}

/* Rows are those of trace->positions, and the last one when the greedy steps need it. */
static bool on_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct prompt_state *state = user;
    struct golden_trace *trace = state->trace;
    for (size_t i = 0; i < n_rows; i++) {
        size_t index = first + i;
        const float *row = logits + i * state->n_vocab;
        bool listed = index < trace->n_positions;
        size_t position = listed ? trace->positions[index] : trace->n_tokens - 1;
        note_nonfinite(trace, position, row, state->n_vocab);
        if (state->last && position == trace->n_tokens - 1)
            memcpy(state->last, row, state->n_vocab * sizeof *row);
        if (listed && !trace->on_logits(trace->user, index, row)) {
            state->no_memory = true;
            return false;
        }
    }
    return !cli_interrupted();
}

static void on_residual(void *user, int layer, enum rml_branch branch, size_t n_rows,
                        const size_t *segments, const size_t *positions, const float *x)
{
    struct golden_trace *trace = ((struct prompt_state *)user)->trace;
    trace->on_residual(trace->user, layer, branch, n_rows, segments, positions, x);
}

static bool run_prompt(const struct golden_engine *engine, struct rml_sequence *sequence,
                       struct prompt_state *state, struct rml_error *err)
{
    struct golden_trace *trace = state->trace;
    size_t *rows = malloc((trace->n_positions + 1) * sizeof *rows);
    if (!rows)
        return rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the positions");
    size_t n_rows = trace->n_positions;
    if (n_rows > 0)
        memcpy(rows, trace->positions, n_rows * sizeof *rows);
    if (state->last && (n_rows == 0 || rows[n_rows - 1] != trace->n_tokens - 1))
        rows[n_rows++] = trace->n_tokens - 1;

    struct rml_segment segment = {.sequence = sequence,
                                  .tokens = trace->tokens,
                                  .n_tokens = trace->n_tokens,
                                  .logit_rows = rows,
                                  .n_logit_rows = n_rows};
    struct rml_batch batch = {.segments = &segment,
                              .n_segments = 1,
                              .consumer = on_logits,
                              .residual = trace->on_residual ? on_residual : NULL,
                              .user = state};
    struct rml_error why = RML_ERROR_INIT;
    bool ok = rml_forward(engine->context, &batch, &why);
    free(rows);
    if (ok)
        return true;
    if (state->no_memory)
        return rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the logits");
    return rmli_fail(err, why.code, why.file, why.offset, "%s", why.message);
}

static bool run_greedy(const struct golden_engine *engine, struct rml_sequence *sequence,
                       struct prompt_state *state, struct rml_error *err)
{
    struct golden_trace *trace = state->trace;
    for (size_t step = 0; step < trace->n_greedy; step++) {
        note_nonfinite(trace, trace->n_tokens - 1 + step, state->last, state->n_vocab);
        if (trace->nonfinite)
            return true; /* no ranking among numbers that are none */
        int32_t id = golden_best(state->last, state->n_vocab, &trace->greedy_gaps[step]);
        trace->greedy[step] = id;
        trace->n_chosen = step + 1;
        if (cli_interrupted())
            return rmli_fail(err, RML_CANCELLED, engine->checkpoint, -1, "interrupted");
        if (step + 1 < trace->n_greedy &&
            !rml_forward_tokens(engine->context, sequence, &id, 1, false, state->last, err))
            return false;
    }
    return true;
}

bool golden_trace_run(const struct golden_engine *engine, struct golden_trace *trace,
                      struct rml_error *err)
{
    struct prompt_state state = {.trace = trace,
                                 .n_vocab = rml_model_config(engine->model)->n_vocab};
    trace->n_chosen = 0;
    trace->nonfinite = false;
    struct rml_sequence *sequence = golden_engine_sequence(engine, err);
    if (!sequence)
        return false;
    bool ok = true;
    if (trace->n_greedy > 0) {
        state.last = malloc(state.n_vocab * sizeof *state.last);
        ok = state.last ||
             rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the logits");
    }
    ok = ok && run_prompt(engine, sequence, &state, err) &&
         run_greedy(engine, sequence, &state, err);
    free(state.last);
    rml_sequence_destroy(sequence);
    return ok;
}

/* ---- Where a number stops being finite --------------------------------------- */

struct search {
    struct golden_place_in_model *place;
    enum rml_branch branch; /* of what is in *place */
    size_t n_embd;
};

/* A long prompt comes in chunks, each through all layers, so what is found first may not be
 * the first by layer. */
static bool is_before(const struct search *s, int layer, enum rml_branch branch, size_t position)
{
    const struct golden_place_in_model *place = s->place;
    if (!place->found)
        return true;
    if (layer != place->layer)
        return layer < place->layer;
    if (branch != s->branch)
        return branch < s->branch;
    return position < place->position;
}

static void search_residual(void *user, int layer, enum rml_branch branch, size_t n_rows,
                            const size_t *segments, const size_t *positions, const float *x)
{
    (void)segments;
    struct search *s = user;
    for (size_t row = 0; row < n_rows; row++) {
        if (!is_before(s, layer, branch, positions[row]))
            continue;
        int32_t at = golden_first_nonfinite(x + row * s->n_embd, s->n_embd);
        if (at < 0)
            continue;
        *s->place = (struct golden_place_in_model){.found = true,
                                                   .layer = layer,
                                                   .branch = rml_branch_name(branch),
                                                   .position = positions[row],
                                                   .id = -1,
                                                   .value = x[row * s->n_embd + (size_t)at]};
        s->branch = branch;
    }
}

struct value_at {
    int32_t id;
    double value;
};

static bool take_value(void *user, size_t index, const float *logits)
{
    (void)index;
    struct value_at *at = user;
    at->value = logits[at->id];
    return true;
}

bool golden_locate_nonfinite(const struct golden_engine *engine, const struct golden_trace *trace,
                             struct golden_place_in_model *place, struct rml_error *err)
{
    *place = (struct golden_place_in_model){0};
    /* The prompt and what was chosen after it, as far as it was computed. */
    size_t n = trace->n_tokens;
    if (trace->nonfinite && trace->nonfinite_position >= n)
        n = trace->nonfinite_position + 1;
    int32_t *tokens = malloc(n * sizeof *tokens);
    if (!tokens)
        return rmli_fail(err, RML_NO_MEMORY, engine->checkpoint, -1, "no memory for the tokens");
    memcpy(tokens, trace->tokens, trace->n_tokens * sizeof *tokens);
    for (size_t i = trace->n_tokens; i < n; i++)
        tokens[i] = trace->greedy[i - trace->n_tokens];

    const struct rml_model_config *config = rml_model_config(engine->model);
    struct search search = {.place = place, .n_embd = config->n_embd};
    struct golden_trace again = {
        .tokens = tokens, .n_tokens = n, .on_residual = search_residual, .user = &search};
    bool ok = golden_trace_run(engine, &again, err);
    if (ok && !place->found && trace->nonfinite) {
        struct value_at at = {.id = trace->nonfinite_id};
        again = (struct golden_trace){.tokens = tokens,
                                      .n_tokens = n,
                                      .positions = &trace->nonfinite_position,
                                      .n_positions = 1,
                                      .on_logits = take_value,
                                      .user = &at};
        ok = golden_trace_run(engine, &again, err);
        *place = (struct golden_place_in_model){.found = ok,
                                                .layer = (int)config->n_layer,
                                                .branch = "head",
                                                .position = trace->nonfinite_position,
                                                .id = trace->nonfinite_id,
                                                .value = at.value};
    }
    free(tokens);
    return ok;
}
