/*
 * rml-bench gate: is HEAD slower than BASE? What a pipeline asks, with a set of cases that
 * covers the engine in a few minutes.
 */
#include <stdlib.h>

#include "bench/compare_commands.h"
#include "bench/compare_words.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

/* One thread: what a second one does on a shared machine is mostly the neighbours' doing. */
#define ATTENTION_CASES "attention --kv f32,f16,i8 --depth 2048 -t 1"
#define DECODER_CASES "decoder --weights f16,q8_0,q4_0,q4_k --prompt 32 --gen 8 --depth 64 -t 1"
static const char *const default_cases[] = {ATTENTION_CASES, DECODER_CASES};

struct gate_arguments {
    struct compare_job job; /* first: the parser of compare_words.h takes it */
    const char **cases;
    size_t n_cases;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gate_arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (state->arg_num < N_SIDES) {
            a->job.programs[state->arg_num] = arg;
            return 0;
        }
        a->cases[a->n_cases++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < N_SIDES)
            argp_error(state, "expected two programs, BASE and HEAD");
        return 0;
    default:
        return compare_parse_option(key, arg, state);
    }
}

static const char doc[] =
    "Compares two builds of rml-bench as ab does, on a set of cases that covers the engine, or on "
    "those that are given: each CASE is one word, a suite with its options.\v"
    "The default set:\n\n"
    "  '" ATTENTION_CASES "'\n"
    "  '" DECODER_CASES "'\n\n"
    "Exit code: 0 pass, 1 error, 3 regression, 5 inconclusive, 6 the base is missing or cannot be "
    "compared. ci/bench-gate builds both from git and runs this.\n\n"
    "Example, with a report for the pipeline:\n\n"
    "  rml-bench gate --junit gate.xml --markdown gate.md old/rml-bench \\\n"
    "      new/rml-bench";

int bench_gate_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = compare_options, .parser = parse, .args_doc = "BASE HEAD [CASE...]", .doc = doc};
    struct gate_arguments a = {.job = {.command = "gate", .gate = JUDGE_GATE}};
    struct cli_options options;
    struct rml_error err = RML_ERROR_INIT;
    a.cases = calloc((size_t)argc + 1, sizeof *a.cases);
    if (!a.cases)
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for options");
    cli_parse(&options, COMPARE_COMMON, &argp, argc, argv, &a);
    a.job.options = &options;
    bool given = a.n_cases > 0, ok = true;
    size_t n = given ? a.n_cases : sizeof default_cases / sizeof default_cases[0];
    for (size_t i = 0; ok && i < n; i++) {
        struct bench_plan plan;
        ok = compare_plan_text(a.job.command, given ? a.cases[i] : default_cases[i], &plan, &err) &&
             compare_job_add(&a.job, &plan, NULL, &err);
    }
    cli_report_setup(options.json, options.verbosity); /* reading the suites' words undid it */
    int code = ok ? compare_job_run(&a.job) : compare_words_failed(&err);
    compare_job_release(&a.job);
    free(a.cases);
    return code;
}
