#include "bench/compare_job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/checkpoint_model.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* ---- Cases ---------------------------------------------------------------------------------- */

static bool add_pair(struct compare_job *job, const struct bench_spec *base,
                     const struct bench_spec *head, struct rml_error *err)
{
    struct compare_case *cases = realloc(job->cases, (job->n_cases + 1) * sizeof *cases);
    if (!cases)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    job->cases = cases;
    job->cases[job->n_cases++] = (struct compare_case){{base, head}};
    return true;
}

static bool keep_plan(struct compare_job *job, struct bench_plan *plan, struct rml_error *err)
{
    struct bench_plan *plans = realloc(job->plans, (job->n_plans + 1) * sizeof *plans);
    if (!plans) {
        bench_plan_release(plan);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    }
    job->plans = plans;
    job->plans[job->n_plans++] = *plan;
    *plan = (struct bench_plan){0};
    return true;
}

bool compare_job_add(struct compare_job *job, struct bench_plan *base, struct bench_plan *head,
                     struct rml_error *err)
{
    size_t n = base->n_specs;
    bool ok =
        !head || head->n_specs == n ||
        rmli_fail(
            err, RML_INVALID_ARGUMENT, NULL, -1,
            "%zu case%s before --vs and %zu after it, expected as many: they are compared one "
            "by one",
            n, cli_plural(n), head->n_specs);
    for (size_t i = 0; ok && i < n; i++)
        ok = add_pair(job, base->specs[i], head ? head->specs[i] : base->specs[i], err);
    bool kept = keep_plan(job, base, err);
    if (head)
        kept = keep_plan(job, head, err) && kept;
    return ok && kept;
}

void compare_job_release(struct compare_job *job)
{
    for (size_t i = 0; i < job->n_done; i++)
        comparison_release(&job->done[i]);
    comparison_release(&job->canary);
    for (size_t i = 0; i < job->n_plans; i++)
        bench_plan_release(&job->plans[i]);
    for (int side = 0; side < N_SIDES; side++)
        free(job->settings[side]);
    free(job->done);
    free(job->cases);
    free(job->plans);
    *job = (struct compare_job){0};
}

/* ---- Keeping -------------------------------------------------------------------------------- */

struct keeping {
    struct store *store; /* NULL: nothing is kept */
    int64_t run_id;
};

static bool begin(struct compare_job *job, struct keeping *k, struct rml_error *err)
{
    char path[PATH_MAX];
    struct store_run run = {.kind = STORE_RUN_BENCH,
                            .seed = (int64_t)(job->options->seed & INT64_MAX),
                            .label = job->command};
    *k = (struct keeping){0};
    if (job->options->no_db)
        return true;
    run.argv = cli_command_line(&run.argc);
    if (!store_path(job->options->db, path, sizeof path, err))
        return false;
    k->store = store_open(path, STORE_WRITE, err);
    k->run_id = k->store ? store_begin_run(k->store, &run, err) : -1;
    return k->run_id >= 0;
}

/* The id of the checkpoint that a spec is about; 0: none; -1 on failure. */
static int64_t know_model(const struct compare_job *job, const struct keeping *k,
                          const struct bench_spec *spec, struct rml_error *err)
{
    for (size_t i = 0; i < job->n_plans && spec->model_sha256; i++) {
        const struct bench_model *m = job->plans[i].model;
        if (m && m->sha256 == spec->model_sha256)
            return bench_store_model(k->store, k->run_id, m, err);
    }
    return 0;
}

static bool keep_verdict(const struct compare_job *job, const struct keeping *k,
                         const struct comparison *c, const int64_t results[N_SIDES],
                         struct rml_error *err)
{
    const struct judgement *j = &c->judgement;
    struct store_verdict verdict = {
        .base_result_id = results[SIDE_BASE],
        .candidate_result_id = results[SIDE_HEAD],
        .metric = "wall_ns",
        .method = "abba-sign-test",
        .n = (int64_t)j->n,
        .ratio = 1 + j->slowdown,
        .ci_lo = 1 + j->lo,
        .ci_hi = 1 + j->hi,
        .confidence = j->confidence,
        .gate_pct = 100 * job->gate,
        .verdict = compare_verdict_text(c),
    };
    return store_add_verdict(k->store, k->run_id, &verdict, err) >= 0;
}

/* Both results and the verdict; of a comparison that came to nothing a result for each side
 * that says why. */
static bool keep(const struct compare_job *job, const struct keeping *k, struct comparison *c,
                 struct rml_error *err)
{
    int64_t results[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        struct bench_row *row = c->rows[side], *made = NULL;
        if (!row) {
            row = made = bench_row_create(c->sides[side].spec, err);
            if (!row)
                return false;
            row->result.arm = c->sides[side].arm;
        }
        if (c->state == COMPARISON_INCOMPARABLE || c->state == COMPARISON_FAILED) {
            row->result.status = STORE_ERROR;
            row->result.error = c->why;
        }
        row->what.model_id = know_model(job, k, c->sides[side].spec, err);
        results[side] = row->what.model_id < 0
                            ? -1
                            : store_add_result(k->store, k->run_id, &row->what, &row->result, err);
        bench_row_destroy(made);
        if (results[side] < 0)
            return false;
    }
    return c->state != COMPARISON_JUDGED || keep_verdict(job, k, c, results, err);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void count(struct compare_job *job, const struct comparison *c)
{
    job->outcome.error = job->outcome.error || c->state == COMPARISON_FAILED;
    job->outcome.incomparable = job->outcome.incomparable || c->state == COMPARISON_INCOMPARABLE;
    if (c->state == COMPARISON_JUDGED) {
        job->outcome.n_regressions += c->judgement.verdict == VERDICT_REGRESSION;
        job->outcome.n_inconclusive += c->judgement.verdict == VERDICT_INCONCLUSIVE;
    }
}

static void sides_of(const struct compare_job *job, size_t i, struct comparison_side sides[N_SIDES])
{
    static const char *const arms[] = {[SIDE_BASE] = "base", [SIDE_HEAD] = "head"};
    for (int side = 0; side < N_SIDES; side++)
        sides[side] =
            (struct comparison_side){arms[side], job->programs[side], job->cases[i].specs[side]};
}

/* Whether any case will be measured: the canary takes as long as a case, and is of no use to
 * cases none of which can be compared. One that fails is left to the comparison. */
static bool find_comparable(const struct compare_job *job, bool *found, struct rml_error *err)
{
    *found = false;
    for (size_t i = 0; i < job->n_cases && !*found; i++) {
        struct comparison c;
        struct comparison_side sides[N_SIDES];
        sides_of(job, i, sides);
        if (!comparison_try(&c, sides, err))
            return false;
        *found = c.state == COMPARISON_JUDGED || c.state == COMPARISON_FAILED;
        comparison_release(&c);
    }
    return true;
}

/* The first case that can be measured, twice by the base. */
static bool run_canary(struct compare_job *job, const struct keeping *k, double confidence,
                       struct rmli_rng *rng, struct rml_error *err)
{
    const struct bench_spec *spec = NULL;
    for (size_t i = 0; i < job->n_cases && !spec; i++)
        if (!job->cases[i].specs[SIDE_BASE]->skip_reason)
            spec = job->cases[i].specs[SIDE_BASE];
    if (!spec)
        return true;
    const struct comparison_side sides[] = {{"base", job->programs[SIDE_BASE], spec},
                                            {"canary", job->programs[SIDE_BASE], spec}};
    if (!comparison_run(&job->canary, sides, confidence, job->gate, rng, "canary", err))
        return false;
    job->canary_done = true;
    /* Both are the base: whatever it lacks, it lacks as the base. */
    count(job, &(struct comparison){.state = job->canary.state});
    job->outcome.canary_fails = compare_canary_fails(job);
    return keep(job, k, &job->canary, err);
}

static bool run_case(struct compare_job *job, const struct keeping *k, size_t i, double confidence,
                     struct rmli_rng *rng, struct rml_error *err)
{
    char text[160], progress[224];
    struct comparison *c = &job->done[i];
    struct comparison_side sides[N_SIDES];
    sides_of(job, i, sides);
    bench_spec_describe(sides[SIDE_HEAD].spec, text, sizeof text);
    snprintf(progress, sizeof progress, "%zu/%zu %s", i + 1, job->n_cases, text);
    if (!comparison_run(c, sides, confidence, job->gate, rng, progress, err))
        return false;
    job->n_done++;
    count(job, c);
    if (c->state == COMPARISON_FAILED || c->state == COMPARISON_INCOMPARABLE)
        cli_warn("%s: %s", text, c->why);
    return keep(job, k, c, err);
}

static bool run_all(struct compare_job *job, const struct keeping *k, struct rml_error *err)
{
    double confidence = judge_confidence(job->n_cases);
    struct rmli_rng rng;
    rmli_rng_seed(&rng, job->options->seed);
    job->done = calloc(job->n_cases, sizeof *job->done);
    if (!job->done)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for results");
    bool worth_it, ok = find_comparable(job, &worth_it, err) &&
                        (!worth_it || run_canary(job, k, confidence, &rng, err));
    for (size_t i = 0; ok && i < job->n_cases; i++)
        ok = run_case(job, k, i, confidence, &rng, err);
    return ok;
}

/* Each program is started once before anything is measured. The exit code when one of them is
 * none that could be compared, else 0. */
static int check_programs(const struct compare_job *job)
{
    for (int side = 0; side < N_SIDES; side++) {
        struct rml_error err = RML_ERROR_INIT;
        struct bench_child *child = comparison_start(job->programs[side], &err);
        bench_child_end(child);
        if (child)
            continue;
        if (err.code == RML_CANCELLED)
            return cli_interrupted_code();
        bool missing = comparison_base_is_missing(&err);
        int code = cli_error(&err);
        return side == SIDE_BASE && missing ? CLI_NO_BASELINE : code;
    }
    return CLI_PASS;
}

static bool is_stdout(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

/* The table makes way for any other report on standard output. */
static bool report(const struct compare_job *job, struct rml_error *err)
{
    bool ok = true;
    if (job->options->json) {
        json_t *document = compare_json(job, err);
        ok = document != NULL;
        if (document)
            cli_json_print(document, 17);
        json_decref(document);
        cli_report_setup(false, job->options->verbosity);
    } else if (!is_stdout(job->junit) && !is_stdout(job->markdown)) {
        compare_print(job);
    }
    if (job->junit)
        ok = compare_write_junit(job, job->junit, err) && ok;
    if (job->markdown)
        ok = compare_write_markdown(job, job->markdown, err) && ok;
    return ok;
}

int compare_job_run(struct compare_job *job)
{
    struct rml_error err = RML_ERROR_INIT, end_err = RML_ERROR_INIT;
    struct keeping k;
    int64_t start_ns = rmli_clock_ns();
    if (job->options->json + is_stdout(job->junit) + is_stdout(job->markdown) > 1) {
        fprintf(stderr, "rml-bench %s: several reports for standard output, expected one\n",
                job->command);
        return CLI_USAGE;
    }
    int code = check_programs(job);
    if (code != CLI_PASS)
        return code;
    if (!begin(job, &k, &err)) {
        store_close(k.store);
        return cli_error(&err);
    }
    bool ok = run_all(job, &k, &err);
    job->interrupted = err.code == RML_CANCELLED;
    size_t n_judged = 0;
    for (size_t i = 0; i < job->n_done; i++)
        n_judged += job->done[i].state == COMPARISON_JUDGED;
    if (n_judged == 0 && !job->outcome.incomparable)
        job->outcome.error = true; /* nothing was compared: no reason to pass */
    job->exit_code = judge_exit_code(&job->outcome);
    if (!ok)
        job->exit_code = job->interrupted ? cli_interrupted_code() : CLI_ERROR;
    job->seconds = (double)(rmli_clock_ns() - start_ns) / 1e9;

    cli_progress_clear();
    bool failed = !ok && !job->interrupted;
    if (job->n_done > 0 || job->canary_done) {
        if (!report(job, &end_err))
            job->exit_code = CLI_ERROR;
    }
    if (job->interrupted)
        cli_note("interrupted, comparisons finished and kept: %zu of %zu", job->n_done,
                 job->n_cases);
    if (failed)
        cli_error(&err);
    store_finish_run(k.store, k.run_id,
                     job->interrupted ? STORE_ABORTED
                     : failed         ? STORE_FAILED
                                      : STORE_COMPLETE,
                     job->exit_code, &end_err);
    store_close(k.store);
    if (end_err.code != RML_OK)
        job->exit_code = cli_error(&end_err);
    return job->exit_code;
}
