#include "bench/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/estimate.h"
#include "bench/memory_fit.h"
#include "bench/outputs.h"
#include "bench/bench_run.h"
#include "bench/roof.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

/* What every suite's command line may say. */
struct sweep {
    const struct bench_suite *suite;
    void *settings; /* the suite's */
    struct bench_sweep_settings common;
    int n_reps;
    double timeout_seconds; /* 0: by the estimate */
    bool plan_only, resume, profile, roof;
    const char *label;
    const struct argp_option *options; /* while a command line is read */
    int seen[32]; /* options that this command line had; a list is one option */
    size_t n_seen;
    bool is_compared; /* parsed for a comparison, which runs the cases in its own way */
    struct bench_outputs outputs;
};

enum {
    KEY_REPS = CLI_OWN_KEY + 0x800,
    KEY_TIMEOUT,
    KEY_PLAN,
    KEY_LABEL,
    KEY_RESUME,
    KEY_PROFILE,
    KEY_ROOF
};

static const struct argp_option sweep_options[] = {
    {"threads", 't', "LIST", 0,
     "Worker threads (RML_THREADS, else the physical cores this process may use)", 5},
    {"reps", KEY_REPS, "N", 0, "Measured repetitions of a case, at least 21 (21)", 5},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "A case that takes longer is an error (ten times the estimate, at least 600)", 5},
    {"plan", KEY_PLAN, NULL, 0,
     "Only print the cases, and what they take; lists are numbers and "
     "ranges: 1,2,8 or 512-2048+512 or 512-8192*2",
     5},
    {"resume", KEY_RESUME, NULL, 0,
     "Go on with the newest run of the same plan, program and host that did not come to its end, "
     "or "
     "the last one where a case was an error; what it has measured is not measured again",
     5},
    {"profile", KEY_PROFILE, NULL, 0,
     "Also show what each operation takes of an iteration, and how long threads wait in it", 5},
    {"roof", KEY_ROOF, NULL, 0,
     "First measure what the machine can do with these threads and instruction sets (rml-bench "
     "roof); without it % roof is of the newest measurement in the database",
     5},
    {"label", KEY_LABEL, "NAME", 0, "Label of the run, by which commands find it", 5},
    {"output", 'o', "FILE", 0,
     "Write the rows to FILE, by its end .json, .jsonl, .csv or .md; may be given again (-: JSON "
     "on "
     "standard output)",
     5},
    {0},
};
#define N_SWEEP_OPTIONS (sizeof sweep_options / sizeof sweep_options[0])

/* What a comparison settles, or does not do, is refused rather than ignored. */
static void refuse_when_compared(const struct sweep *sweep, int key, struct argp_state *state)
{
    for (const struct argp_option *o = sweep_options; sweep->is_compared && o->name; o++)
        if (o->key == key && key != 't')
            argp_error(state, "--%s found, but a comparison of cases takes none", o->name);
}

/* What comes twice would be half ignored. */
static void refuse_again(struct sweep *sweep, int key, struct argp_state *state)
{
    const struct argp_option *o = sweep->options;
    while (o->name && (o->key != key || !o->arg))
        o++;
    if (!o->name || key == 'o')
        return;
    for (size_t i = 0; i < sweep->n_seen; i++)
        if (sweep->seen[i] == key)
            argp_error(state, "--%s found twice, expected once%s", o->name,
                       strcmp(o->arg, "LIST") == 0 ? ": a list has commas" : "");
    if (sweep->n_seen < sizeof sweep->seen / sizeof sweep->seen[0])
        sweep->seen[sweep->n_seen++] = key;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sweep *sweep = state->input;
    refuse_when_compared(sweep, key, state);
    refuse_again(sweep, key, state);
    switch (key) {
    case 't':
        bench_arg_numbers(state, "--threads", arg, 1, RML_MAX_THREADS, &sweep->common.threads);
        return 0;
    case KEY_REPS:
        sweep->n_reps = (int)cli_arg_u64(state, "--reps", arg, BENCH_MIN_REPS, BENCH_MAX_REPS);
        return 0;
    case ARGP_KEY_END:
        if (sweep->resume && sweep->plan_only)
            argp_error(state, "--plan and --resume exclude each other");
        break;
    case KEY_TIMEOUT:
        sweep->timeout_seconds = cli_arg_f64(state, "--timeout", arg, 0.001, 1e9);
        return 0;
    case KEY_PLAN:
        sweep->plan_only = true;
        return 0;
    case KEY_PROFILE:
        sweep->profile = true;
        return 0;
    case KEY_ROOF:
        sweep->roof = true;
        return 0;
    case KEY_RESUME:
        sweep->resume = true;
        return 0;
    case KEY_LABEL:
        sweep->label = cli_arg_label(state, arg);
        return 0;
    case 'o':
        bench_arg_output(state, arg, &sweep->outputs);
        return 0;
    default:
        break;
    }
    state->input = sweep->settings;
    error_t rc = sweep->suite->parse(key, arg, state);
    state->input = sweep;
    if (key == ARGP_KEY_ARG && rc == ARGP_ERR_UNKNOWN)
        argp_error(state, "'%s' found, expected no argument", arg);
    return rc;
}

/* The suite's options, then those of every suite. */
static struct argp_option *all_options(const struct bench_suite *suite)
{
    size_t n = 0;
    while (suite->options[n].name || suite->options[n].doc)
        n++;
    struct argp_option *options = calloc(n + N_SWEEP_OPTIONS, sizeof *options);
    if (!options) {
        perror("rml-bench");
        exit(CLI_ERROR);
    }
    memcpy(options, suite->options, n * sizeof *options);
    for (size_t i = 0; i < N_SWEEP_OPTIONS; i++)
        if ((sweep_options[i].key != KEY_ROOF || suite->has_roof) &&
            (suite->takes_threads || sweep_options[i].key != 't') &&
            (suite->has_profile || sweep_options[i].key != KEY_PROFILE))
            options[n++] = sweep_options[i];
    return options;
}

static void init_sweep(struct sweep *sweep, const struct bench_suite *suite)
{
    *sweep = (struct sweep){.suite = suite, .n_reps = BENCH_MIN_REPS};
    sweep->settings = calloc(1, suite->settings_nbytes + 1);
    if (!sweep->settings) {
        perror("rml-bench");
        exit(CLI_ERROR);
    }
}

/* Once more: what is given again is given anew, all else stays. */
static void parse_sweep(struct sweep *sweep, struct cli_options *options, unsigned accepted,
                        int argc, char **argv)
{
    const struct bench_suite *suite = sweep->suite;
    struct argp_option *table = all_options(suite);
    sweep->options = table;
    sweep->n_seen = 0;
    const struct argp argp = {
        .options = table, .parser = parse, .args_doc = suite->args_doc, .doc = suite->doc};
    cli_parse(options, accepted, &argp, argc, argv, sweep);
    sweep->common.seed = options->seed;
    free(table);
}

static void release_sweep(struct sweep *sweep)
{
    if (sweep->suite->release)
        sweep->suite->release(sweep->settings);
    free(sweep->settings);
    free(sweep->common.threads.values);
}

/* The number of threads that RML_THREADS or the machine gives. */
static bool default_threads(struct bench_numbers *threads, struct rml_error *err)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(0, err);
    if (!pool)
        return false;
    threads->values = malloc(sizeof *threads->values);
    if (threads->values)
        threads->values[threads->n++] = rml_thread_pool_size(pool);
    rml_thread_pool_destroy(pool);
    return threads->values || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for options");
}

/* Puts the cases of `first`, which has no model, before those of the plan. */
static bool put_before(struct bench_plan *plan, struct bench_plan *first, struct rml_error *err)
{
    size_t n = first->n_specs + plan->n_specs;
    struct bench_spec **specs = malloc((n + 1) * sizeof *specs);
    if (!specs)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    for (size_t i = 0; i < n; i++)
        specs[i] = i < first->n_specs ? first->specs[i] : plan->specs[i - first->n_specs];
    free(plan->specs);
    free(first->specs);
    plan->specs = specs;
    plan->n_specs = plan->n_room = n;
    *first = (struct bench_plan){0};
    return true;
}

static bool add_roofs(struct bench_plan *plan, struct rml_error *err)
{
    struct bench_plan roofs = {0};
    bool ok = bench_plan_roofs_of(plan, &roofs, err) && put_before(plan, &roofs, err);
    bench_plan_release(&roofs);
    return ok;
}

static bool enumerate(struct sweep *sweep, struct bench_plan *plan, struct rml_error *err)
{
    *plan = (struct bench_plan){0};
    if (sweep->suite->takes_threads && sweep->common.threads.n == 0 &&
        !default_threads(&sweep->common.threads, err))
        return false;
    if (sweep->suite->enumerate(sweep->settings, &sweep->common, plan, err) &&
        (!sweep->roof || add_roofs(plan, err)))
        return true;
    bench_plan_release(plan);
    return false;
}

bool bench_plan_parse(const struct bench_suite *suite, int argc, char **argv, int argc_over,
                      char **argv_over, struct bench_plan *plan, struct rml_error *err)
{
    struct sweep sweep;
    struct cli_options options;
    init_sweep(&sweep, suite);
    sweep.is_compared = true;
    parse_sweep(&sweep, &options, CLI_OPT_SEED, argc, argv);
    uint64_t seed = options.seed;
    if (argc_over > 0) {
        parse_sweep(&sweep, &options, CLI_OPT_SEED, argc_over, argv_over);
        sweep.common.seed = options.seed_given ? options.seed : seed;
    }
    bool ok = enumerate(&sweep, plan, err);
    release_sweep(&sweep);
    return ok;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Where the sweep is, for the progress line. */
struct progress {
    const struct bench_plan *plan;
    int n_reps;
    size_t at;               /* the case at hand */
    double estimated_before; /* seconds, of the cases measured so far */
    double estimated_after;  /* of those behind the one at hand */
    int64_t started_ns, case_started_ns;
};

/* Estimates are put right by what the cases so far have taken. */
static void show_progress(void *user)
{
    const struct progress *p = user;
    int64_t now_ns = rmli_clock_ns();
    double past = (double)(p->case_started_ns - p->started_ns) / 1e9;
    double factor = p->estimated_before > 0 ? past / p->estimated_before : 1;
    double estimate = bench_estimate_seconds(p->plan->specs[p->at], p->n_reps);
    double of_case = factor * estimate - (double)(now_ns - p->case_started_ns) / 1e9;
    double left = (of_case > 0 ? of_case : 0) + factor * p->estimated_after;
    char text[256], duration[64];
    bench_spec_describe(p->plan->specs[p->at], text, sizeof text);
    cli_progress("%zu/%zu, %s left: %s", p->at + 1, p->plan->n_specs,
                 bench_duration(left, duration, sizeof duration), text);
}

static double time_limit(const struct sweep *sweep, const struct bench_spec *spec)
{
    double estimate = 10 * bench_estimate_seconds(spec, sweep->n_reps);
    return sweep->timeout_seconds > 0 ? sweep->timeout_seconds : estimate > 600 ? estimate : 600;
}

/* A row for the case. False ends the run: interrupted, or out of memory. */
static bool measure_case(const struct sweep *sweep, const struct bench_spec *spec,
                         struct progress *progress, struct bench_row **made, struct rml_error *err)
{
    struct bench_row *row = *made = bench_row_create(spec, err);
    if (!row)
        return false;
    if (spec->skip_reason)
        return true;
    struct rml_error why = RML_ERROR_INIT;
    struct bench_child *child = bench_child_start(NULL, &why);
    if (child) {
        bench_child_limit(child, time_limit(sweep, spec));
        bench_child_on_wait(child, show_progress, progress);
        bench_row_measure(row, child, sweep->n_reps, sweep->profile, &why);
    } else if (why.code != RML_CANCELLED) {
        bench_row_fail(row, &why);
    }
    bench_child_end(child);
    if (why.code != RML_CANCELLED)
        return true;
    bench_row_destroy(row);
    *err = why;
    return false;
}

static void run(struct bench_session *session, const struct sweep *sweep,
                const struct bench_plan *plan, struct rml_error *err)
{
    struct progress p = {.plan = plan, .n_reps = sweep->n_reps, .started_ns = rmli_clock_ns()};
    size_t n_recalled = 0;
    bool ok = true;
    for (size_t i = 0; i < plan->n_specs; i++)
        p.estimated_after += bench_estimate_seconds(plan->specs[i], sweep->n_reps);
    for (size_t i = 0; ok && i < plan->n_specs; i++) {
        struct bench_row *row;
        bool recalled;
        double estimate = bench_estimate_seconds(plan->specs[i], sweep->n_reps);
        p.at = i;
        p.estimated_after -= estimate;
        p.case_started_ns = rmli_clock_ns();
        ok = bench_session_recall(session, plan->specs[i], &recalled, err);
        n_recalled += recalled;
        if (!ok || recalled)
            continue;
        show_progress(&p);
        ok = measure_case(sweep, plan->specs[i], &p, &row, err) &&
             bench_session_take(session, row, err);
        p.estimated_before += estimate;
    }
    struct store_run_name name;
    if (session->resumed && store_run_name(session->store, session->run_id, &name, err))
        cli_note("resumed run %.8s, cases that it had already: %zu", name.uuid, n_recalled);
}

static int run_plan(struct sweep *sweep, const struct cli_options *options,
                    const struct bench_plan *plan)
{
    struct rml_error err = RML_ERROR_INIT;
    struct bench_session session;
    bench_tell_skipped(plan);
    if (!bench_outputs_open(&sweep->outputs, &err))
        return cli_error(&err);
    if (!bench_session_begin(&session, options, plan, sweep->n_reps, sweep->profile, sweep->resume,
                             sweep->label, &err)) {
        bench_outputs_abandon(&sweep->outputs);
        return cli_error(&err);
    }
    run(&session, sweep, plan, &err);
    return bench_session_end(&session, &sweep->outputs, &err);
}

int bench_sweep_main(const struct bench_suite *suite, int argc, char **argv)
{
    struct sweep sweep;
    struct cli_options options;
    struct bench_plan plan;
    struct rml_error err = RML_ERROR_INIT;
    int code = CLI_PASS;
    init_sweep(&sweep, suite);
    parse_sweep(&sweep, &options, CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, argc, argv);
    if ((sweep.resume || sweep.roof) && options.no_db) {
        cli_fail(RML_INVALID_ARGUMENT, NULL, "--%s needs a database, which --no-db leaves out",
                 sweep.resume ? "resume" : "roof");
        code = CLI_USAGE;
    } else if (options.json && bench_outputs_to_stdout(&sweep.outputs)) {
        cli_fail(RML_INVALID_ARGUMENT, NULL, "--json and -o - found, expected one of them");
        code = CLI_USAGE;
    } else if (!enumerate(&sweep, &plan, &err)) {
        code = cli_error(&err);
    } else {
        double available = bench_memory_available("");
        bench_skip_what_does_not_fit(&plan, available);
        if (!sweep.plan_only)
            code = run_plan(&sweep, &options, &plan);
        else if (!bench_plan_print(&plan, sweep.n_reps, available, options.json, &err))
            code = cli_error(&err);
        bench_plan_release(&plan);
    }
    release_sweep(&sweep);
    return code;
}
