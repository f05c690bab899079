/*
 * A job of comparisons: what `rml-bench ab` and `rml-bench gate` run, keep and report.
 *
 *     struct compare_job job = {...};         programs, plans, gate
 *     int code = compare_job_run(&job);       exit code: judge_exit_code, or 130 after SIGINT
 *
 * Before the cases stands the canary: two children of the base on the first case. When these
 * "differ", the machine cannot tell programs apart now.
 */
#ifndef BENCH_COMPARE_JOB_H
#define BENCH_COMPARE_JOB_H

#include "bench/comparison.h"
#include "tools/cli/options.h"

struct compare_case {
    const struct bench_spec *specs[N_SIDES];
};

struct compare_job {
    const char *command; /* "ab", "gate" */
    const struct cli_options *options;
    const char *programs[N_SIDES]; /* NULL: this one */
    char *settings[N_SIDES];       /* of one program: the words of each side; else NULL */
    double gate;                   /* least slowdown that is a regression, a fraction */
    const char *junit, *markdown;  /* files to write, "-": standard output; NULL: none */

    struct compare_case *cases; /* [n_cases], owned */
    size_t n_cases;
    struct bench_plan *plans; /* [n_plans], owned; hold the specs */
    size_t n_plans;

    /* Filled by compare_job_run. */
    struct comparison canary;
    bool canary_done;
    struct comparison *done; /* [n_done] in the order of cases */
    size_t n_done;
    bool interrupted;
    struct judge_job outcome;
    int exit_code;
    double seconds;
};

/* Pairs the cases of two plans one by one; with a single plan each with itself. The plans are
 * taken over, also on failure (RML_INVALID_ARGUMENT: of different length). */
bool compare_job_add(struct compare_job *job, struct bench_plan *base, struct bench_plan *head,
                     struct rml_error *err);

int compare_job_run(struct compare_job *job);
void compare_job_release(struct compare_job *job);

/* "attention/llama-3-8b, kv f16:f16 ..." of a comparison; what differs as "kv f16:f16 -> i8:i8". */
void compare_case_text(const struct comparison *c, char *text, size_t nbytes);

/* "pass", "warn", "inconclusive", "regression", "skipped", "incomparable", "error". */
const char *compare_verdict_text(const struct comparison *c);
bool compare_canary_fails(const struct compare_job *job);
/* One line that sums the job up: "regression: 1 of 10 cases". */
void compare_summary(const struct compare_job *job, char *text, size_t nbytes);

/* Reports (compare_report.c, compare_markup.c). */
void compare_print(const struct compare_job *job);
json_t *compare_json(const struct compare_job *job, struct rml_error *err);
bool compare_write_junit(const struct compare_job *job, const char *file, struct rml_error *err);
bool compare_write_markdown(const struct compare_job *job, const char *file, struct rml_error *err);

/* Texts of figures for the reports. */
void compare_time_text(double ns, char text[32]);
void compare_percent_text(double fraction, bool sign, char text[32]);

#endif
