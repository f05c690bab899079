/*
 * The run in the results database that a check or a recording is.
 */
#include "goldens/golden_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_judge.h"
#include "goldens/golden_text.h"
#include "tools/cli/stored_run.h"

bool golden_run_begin(struct golden_run *run, const struct cli_options *options,
                      struct rml_error *err)
{
    *run = (struct golden_run){0};
    return cli_run_begin(options, STORE_RUN_GOLDEN, -1, &run->store, &run->run_id, err);
}

static bool add_model(struct golden_run *run, struct golden_engine *engine, struct rml_error *err)
{
    if (!golden_engine_hash(engine, err))
        return false;
    if (strcmp(run->model_sha256, engine->sha256) == 0)
        return true;
    run->model_id =
        cli_run_add_model(run->store, run->run_id, engine->model, engine->sha256, NULL, err);
    if (run->model_id < 0)
        return false;
    strcpy(run->model_sha256, engine->sha256);
    return true;
}

bool golden_run_add(struct golden_run *run, struct golden_engine *engine,
                    const struct golden *golden, const struct golden_verdict *verdict,
                    size_t case_index, struct rml_error *err)
{
    if (!run->store)
        return true;
    if (!add_model(run, engine, err))
        return false;

    const struct golden_case *c = &golden->cases[case_index];
    const struct golden_outcome *outcome = &verdict->outcomes[case_index];
    const struct golden_settings *settings = &verdict->settings;
    char first[256], *name = NULL;
    golden_deviation_text(&outcome->first, first, sizeof first);
    bool deviates = outcome->first.kind != GOLDEN_NO_DEVIATION;
    if (asprintf(&name, "%s/%s", golden->name, c->name) < 0)
        return rmli_fail(err, RML_NO_MEMORY, golden->path, -1, "no memory for a name");

    struct store_golden row = {
        .model_id = run->model_id,
        .name = name,
        .reference_sha256 = golden->sha256,
        .arithmetic = rml_arithmetic_name(settings->arithmetic),
        .k_dtype = rml_kv_dtype_name(settings->k_dtype),
        .v_dtype = rml_kv_dtype_name(settings->v_dtype),
        .isa = verdict->isa,
        .threads = (int)verdict->threads,
        .n_positions = (int64_t)outcome->n_positions,
        .max_abs_error = outcome->max_abs_error,
        .max_logsumexp_error = outcome->max_logsumexp_error,
        .tolerance = settings->logit_abs,
    };
    bool ok = true;
    if (c->n_positions > 0) {
        row.kind = "logits";
        row.passed = outcome->logits_passed;
        row.first_bad = deviates && !row.passed ? first : NULL;
        ok = store_add_golden(run->store, run->run_id, &row, err) > 0;
    }
    row.max_abs_error = row.max_logsumexp_error = NAN; /* NULL: of logits only */
    if (ok && c->n_greedy > 0) {
        row.kind = "greedy";
        row.n_positions = (int64_t)outcome->n_greedy_compared;
        row.passed = outcome->greedy_equal && outcome->first.kind != GOLDEN_NONFINITE;
        row.first_bad = deviates && !row.passed ? first : NULL;
        ok = store_add_golden(run->store, run->run_id, &row, err) > 0;
    }
    if (ok && outcome->n_residual > 0) {
        row.kind = "residual";
        row.n_positions = (int64_t)outcome->n_residual;
        row.max_abs_error = outcome->max_residual_error;
        row.tolerance = settings->residual_rel;
        row.passed = outcome->residual_passed;
        row.first_bad = deviates && !row.passed ? first : NULL;
        ok = store_add_golden(run->store, run->run_id, &row, err) > 0;
    }
    if (ok && (outcome->text == GOLDEN_TEXT_EQUAL || outcome->text == GOLDEN_TEXT_DIFFERS)) {
        golden_token_deviation_text(&outcome->token, first, sizeof first);
        row.kind = "text";
        row.n_positions = (int64_t)c->n_tokens;
        row.max_abs_error = row.tolerance = NAN;
        row.passed = outcome->text == GOLDEN_TEXT_EQUAL;
        row.first_bad = row.passed ? NULL : first;
        ok = store_add_golden(run->store, run->run_id, &row, err) > 0;
    }
    free(name);
    return ok;
}

int golden_run_end(struct golden_run *run, int exit_code)
{
    exit_code = cli_run_end(run->store, run->run_id, exit_code);
    run->store = NULL;
    return exit_code;
}
