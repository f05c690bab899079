/*
 * One golden file held against one checkpoint.
 */
#include "goldens/golden_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_text.h"
#include "tools/cli/report.h"

bool golden_verdict_init(struct golden_verdict *verdict, const char *file, const char *checkpoint)
{
    *verdict = (struct golden_verdict){.status = GOLDEN_BROKEN, .error = RML_ERROR_INIT};
    verdict->file = strdup(file);
    verdict->checkpoint = strdup(checkpoint);
    return verdict->file && verdict->checkpoint;
}

void golden_verdict_release(struct golden_verdict *verdict)
{
    for (size_t i = 0; i < verdict->n_cases; i++)
        free(verdict->case_names[i]);
    free(verdict->case_names);
    free(verdict->outcomes);
    free(verdict->name);
    free(verdict->file);
    free(verdict->checkpoint);
    *verdict = (struct golden_verdict){0};
}

static bool name_cases(struct golden_verdict *verdict, const struct golden *golden,
                       struct rml_error *err)
{
    verdict->name = strdup(golden->name);
    verdict->case_names = calloc(golden->n_cases, sizeof *verdict->case_names);
    verdict->outcomes = calloc(golden->n_cases, sizeof *verdict->outcomes);
    bool ok = verdict->name && verdict->case_names && verdict->outcomes;
    for (size_t i = 0; ok && i < golden->n_cases; i++, verdict->n_cases++)
        ok = (verdict->case_names[i] = strdup(golden->cases[i].name)) != NULL;
    return ok || rmli_fail(err, RML_NO_MEMORY, golden->path, -1, "no memory for its cases");
}

static void choose_settings(struct golden_verdict *verdict, const struct golden *golden,
                            const struct cli_options *options,
                            const struct golden_overrides *overrides)
{
    struct golden_settings *s = &verdict->settings;
    s->arithmetic = options->arithmetic_given ? options->arithmetic : golden->arithmetic;
    s->k_dtype = options->kv_given ? options->k_dtype : golden->k_dtype;
    s->v_dtype = options->kv_given ? options->v_dtype : golden->v_dtype;
    bool over = overrides->logit_abs >= 0;
    s->logit_abs = over ? overrides->logit_abs : golden->logit_abs;
    s->logsumexp_abs = over ? overrides->logit_abs : golden->logsumexp_abs;
    s->residual_rel = overrides->residual_rel >= 0 ? overrides->residual_rel : golden->residual_rel;
    verdict->settings_differ = s->arithmetic != golden->arithmetic ||
                               s->k_dtype != golden->k_dtype || s->v_dtype != golden->v_dtype;
    /* Fingerprints in another arithmetic are off from the first layer on and name nothing. */
    s->compare_residual = !verdict->settings_differ || overrides->residual_rel >= 0;
}

/* What keeps text from being compared is no reason to fail, but is said: once for a checkpoint. */
static void note_text(struct golden_engine *engine, const char *case_name,
                      const struct rml_error *why)
{
    if (!engine->text_noted)
        cli_note("%s: %s; so cases such as '%s' are judged by their tokens, not by their text",
                 engine->checkpoint, why->message, case_name);
    engine->text_noted = true;
}

/* Everything but the cases themselves. What was recorded from another checkpoint need not fit
 * this one: *incomparable then, rather than broken. */
static bool prepare(struct golden_engine *engine, const struct golden *golden,
                    struct golden_verdict *verdict, bool *other_model, bool *incomparable,
                    struct rml_error *err)
{
    if (golden->model_sha256[0]) {
        if (!golden_engine_hash(engine, err))
            return false;
        strcpy(verdict->model_want, golden->model_sha256);
        strcpy(verdict->model_got, engine->sha256);
        *other_model = strcmp(engine->sha256, golden->model_sha256) != 0;
    }
    const struct golden_settings *s = &verdict->settings;
    if (!golden_fits(golden, rml_model_config(engine->model), err)) {
        *incomparable = *other_model;
        return false;
    }
    if (!golden_engine_configure(engine, s->arithmetic, s->k_dtype, s->v_dtype,
                                 golden_max_tokens(golden), err))
        return false;
    verdict->threads = rml_thread_pool_size(engine->pool);
    snprintf(verdict->isa, sizeof verdict->isa, "%s",
             rml_isa_name(rml_context_isa(engine->context)));
    return true;
}

bool golden_judge(struct golden_engine *engine, const struct golden *golden,
                  const struct cli_options *options, const struct golden_overrides *overrides,
                  struct golden_run *run, struct golden_verdict *verdict, struct rml_error *err)
{
    choose_settings(verdict, golden, options, overrides);
    bool other_model = false, incomparable = false;
    if (!name_cases(verdict, golden, &verdict->error) ||
        !prepare(engine, golden, verdict, &other_model, &incomparable, &verdict->error)) {
        if (incomparable)
            verdict->status = GOLDEN_OTHER_MODEL;
        return true;
    }

    /* A checkpoint that is not the recorded one is still compared: where it first deviates is
     * what one wants to know next. */
    bool all_passed = true;
    for (size_t i = 0; i < golden->n_cases; i++) {
        cli_progress("%s, %s: case %zu of %zu", verdict->checkpoint, golden->name, i + 1,
                     golden->n_cases);
        struct rml_error why = RML_ERROR_INIT;
        if (!golden_compare_case(engine, &golden->cases[i], &verdict->settings,
                                 &verdict->outcomes[i], &why)) {
            if (why.code == RML_CANCELLED)
                return rmli_fail(err, why.code, why.file, why.offset, "%s", why.message);
            verdict->error = why;
            return true;
        }
        struct rml_error no_text = RML_ERROR_INIT;
        golden_compare_text(engine, &golden->cases[i], &verdict->outcomes[i], &no_text);
        if (verdict->outcomes[i].text == GOLDEN_TEXT_NOT_COMPARED)
            note_text(engine, golden->cases[i].name, &no_text);
        verdict->n_done++;
        all_passed &= verdict->outcomes[i].passed;
        if (!golden_run_add(run, engine, golden, verdict, i, err))
            return false;
    }
    verdict->status = other_model && !overrides->any_model ? GOLDEN_OTHER_MODEL
                      : all_passed                         ? GOLDEN_PASSED
                                                           : GOLDEN_FAILED;
    return true;
}

enum cli_exit golden_exit_code(const struct golden_verdict *verdicts, size_t n)
{
    size_t count[GOLDEN_SKIPPED + 1] = {0};
    for (size_t i = 0; i < n; i++)
        count[verdicts[i].status]++;
    return count[GOLDEN_BROKEN]        ? CLI_ERROR
           : count[GOLDEN_FAILED]      ? CLI_MISMATCH
           : count[GOLDEN_OTHER_MODEL] ? CLI_NO_BASELINE
                                       : CLI_PASS;
}
