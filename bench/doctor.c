/*
 * rml-bench doctor: collects the facts, shows what follows from them (doctor_checks.c).
 */
#include "bench/doctor.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/roof_case.h"
#include "kernels/kernels.h"
#include "results/store.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/order_statistics.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

#define RUN_NS 2000000 /* least length of a run, as in measure.h */

/* ---- Work compared with itself -------------------------------------------------------------- */

struct runs {
    double *ns; /* of single runs, as many as the longest comparison has */
    size_t n;
};

static bool time_run(const struct bench_work *work, int64_t iters, int64_t *ns,
                     struct rml_error *err)
{
    int64_t start_ns = rmli_clock_ns();
    bool ok = work->run(work->arg, iters, NULL, err);
    *ns = rmli_clock_ns() - start_ns;
    if (cli_interrupted())
        return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    return ok;
}

/* Blocks as the gate runs them, one piece of work on both sides. */
static bool compare_with_itself(const struct bench_work *work, struct rmli_rng *rng,
                                struct judgement *judgement, struct runs *runs,
                                struct rml_error *err)
{
    double log_ratios[JUDGE_MAX_BLOCKS];
    int64_t ns[4], iters = 1;
    for (ns[0] = 0; ns[0] < RUN_NS; iters *= 2) {
        if (!time_run(work, iters, ns, err))
            return false;
    }
    iters /= 2; /* the last that was tried was enough */
    *judgement = (struct judgement){0};
    runs->n = 0;
    for (size_t more; (more = judge_blocks_missing(judgement)) > 0;) {
        size_t n = judgement->n + more;
        for (size_t i = judgement->n; i < n; i++) {
            for (int r = 0; r < 4; r++) {
                if (!time_run(work, iters, &ns[r], err))
                    return false;
                runs->ns[runs->n++] = (double)ns[r];
            }
            log_ratios[i] = judge_log_ratio(ns, judge_base_first(rng));
        }
        *judgement = judge(log_ratios, n, judge_confidence(1), JUDGE_GATE);
    }
    return true;
}

static bool measure_limit(enum roof_limit limit, struct rml_thread_pool *pool, struct rmli_rng *rng,
                          struct judgement *judgement, struct runs *runs, struct rml_error *err)
{
    const struct rmli_kernels *kernels = rmli_kernels_best(err);
    struct roof_case *c =
        kernels ? roof_case_create(limit, kernels->isa, roof_read_nbytes(), pool, err) : NULL;
    if (!c)
        return false;
    struct bench_work work = roof_case_work(c);
    cli_progress("comparing %s with itself", roof_limit_name(limit));
    bool ok = compare_with_itself(&work, rng, judgement, runs, err);
    roof_case_destroy(c);
    return ok;
}

/* ---- Other facts ----------------------------------------------------------------------------- */

/* Sums the columns of "cpu" in /proc/stat; *steal is the eighth. */
static bool processor_ticks(double *all, double *steal)
{
    double t[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    int n = file ? fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3],
                          &t[4], &t[5], &t[6], &t[7])
                 : 0;
    if (file)
        fclose(file);
    *all = 0;
    for (int i = 0; i < 8; i++)
        *all += t[i];
    *steal = t[7];
    return n == 8;
}

static bool measure(struct doctor_facts *facts, const struct cli_options *options,
                    struct rml_error *err)
{
    struct rmli_rng rng;
    rmli_rng_seed(&rng, options->seed);
    struct runs runs = {.ns = malloc(4 * JUDGE_MAX_BLOCKS * sizeof *runs.ns)};
    if (!runs.ns)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for samples");
    struct rml_thread_pool *pool = rml_thread_pool_create(options->threads, err);
    double all, steal, all_after, steal_after;
    bool known = processor_ticks(&all, &steal);
    bool ok = pool && measure_limit(ROOF_READ_BANDWIDTH, pool, &rng, &facts->reading, &runs, err) &&
              measure_limit(ROOF_FMA_F32, pool, &rng, &facts->arithmetic, &runs, err);
    known = known && processor_ticks(&all_after, &steal_after) && all_after > all;
    facts->steal_share = known ? (steal_after - steal) / (all_after - all) : NAN;
    if (ok) {
        facts->n_threads = rml_thread_pool_size(pool);
        sort_ascending(runs.ns, runs.n);
        facts->spread =
            quantile_of_sorted(runs.ns, runs.n, 0.95) / median_of_sorted(runs.ns, runs.n) - 1;
    }
    rml_thread_pool_destroy(pool);
    free(runs.ns);
    return ok;
}

/* Neither the database nor its folder is made: the nearest folder that is there has to be
 * writable, and a database that is there has to be one that this program can go on with. */
static void look_at_database(struct doctor_facts *facts, const char *path)
{
    char at[PATH_MAX];
    struct rml_error err = RML_ERROR_INIT;
    facts->db_path = path;
    snprintf(at, sizeof at, "%s", path);
    while (access(at, F_OK) != 0 && errno == ENOENT && strcmp(at, ".") != 0) {
        char *slash = strrchr(at, '/');
        if (!slash)
            strcpy(at, ".");
        else
            slash[slash == at] = 0; /* "/" stays */
    }
    facts->db_on_network = store_is_on_network(at);
    if (access(at, W_OK) != 0)
        rmli_fail(&err, RML_IO, path, -1, "%s", strerror(errno));
    else if (strcmp(at, path) == 0)
        store_close(store_open(path, STORE_READ_OLD, &err));
    snprintf(facts->db_error, sizeof facts->db_error, "%.159s", err.message);
}

/* The first line that `valgrind --version` prints. */
static const char *find_valgrind(char *text, size_t nbytes)
{
    FILE *pipe = popen("valgrind --version 2>/dev/null", "r");
    const char *line = pipe ? fgets(text, (int)nbytes, pipe) : NULL;
    if (pipe)
        pclose(pipe);
    text[line ? strcspn(text, "\n") : 0] = 0;
    return line && text[0] ? text : NULL;
}

/* ---- The report ------------------------------------------------------------------------------- */

static void print_report(const struct doctor_check *checks, size_t n)
{
    static const enum cli_color colors[] = {
        [DOCTOR_OK] = CLI_GREEN, [DOCTOR_NOTE] = CLI_YELLOW, [DOCTOR_BAD] = CLI_RED};
    for (size_t i = 0; i < n; i++) {
        const struct doctor_check *c = &checks[i];
        printf("%s%-4s%s  %-17s %s\n", cli_color(stdout, colors[c->state]),
               doctor_state_name(c->state), cli_color(stdout, CLI_PLAIN), c->name, c->found);
        if (c->state != DOCTOR_OK)
            printf("      %-17s %s\n      %-17s -> %s\n", "", c->matters, "", c->change);
    }
    printf("\n%s\n", doctor_is_fit(checks, n)
                         ? "fit: this machine can give a verdict"
                         : "not fit: a verdict from this machine would be inconclusive");
}

static json_t *judgement_json(const struct judgement *j)
{
    return json_pack("{sI so so so so}", "n_blocks", (json_int_t)j->n, "slowdown",
                     cli_json_real(j->slowdown), "ci_lo", cli_json_real(j->lo), "ci_hi",
                     cli_json_real(j->hi), "detectable", cli_json_real(j->detectable));
}

static json_t *report_json(const struct doctor_facts *facts, const struct doctor_check *checks,
                           size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct doctor_check *c = &checks[i];
        json_array_append_new(array, json_pack("{ss ss so ss ss?}", "name", c->name, "state",
                                               doctor_state_name(c->state), "found",
                                               cli_json_text(c->found), "matters", c->matters,
                                               "change", c->change));
    }
    return json_pack("{sb so si so so so so}", "fit", doctor_is_fit(checks, n), "checks", array,
                     "threads", (int)facts->n_threads, "noise_arithmetic",
                     judgement_json(&facts->arithmetic), "noise_memory",
                     judgement_json(&facts->reading), "spread", cli_json_real(facts->spread),
                     "steal_share", cli_json_real(facts->steal_share));
}

static bool examine(const struct cli_options *options, int *code, struct rml_error *err)
{
    struct doctor_facts facts = {.n_processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    char db[PATH_MAX], valgrind[64];
    if (!options->no_db) {
        if (!store_path(options->db, db, sizeof db, err))
            return false;
        look_at_database(&facts, db);
    }
    facts.valgrind = find_valgrind(valgrind, sizeof valgrind);
    json_t *environment = store_environment_json(err);
    facts.environment = environment;
    bool ok = environment && measure(&facts, options, err);
    cli_progress_clear();
    if (ok) {
        size_t n = doctor_examine(&facts, checks);
        *code = doctor_is_fit(checks, n) ? CLI_PASS : CLI_INCONCLUSIVE;
        if (options->json) {
            json_t *report = report_json(&facts, checks, n);
            ok = report || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the report");
            if (report)
                cli_json_print(report, 6);
            json_decref(report);
        } else {
            print_report(checks, n);
        }
    }
    json_decref(environment);
    return ok;
}

int bench_doctor_main(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = "Says whether this machine can tell two programs apart by their speed, and what to "
               "change: compares work with itself as ab and gate do (some seconds), and reads "
               "what the system says of itself. Exit code 0: fit; 5: not fit.\v"
               "Example, before a pipeline is set up on a machine:\n\n"
               "  rml-bench doctor --threads 1"};
    struct cli_options options;
    cli_parse(&options, CLI_OPT_THREADS | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, &argp, argc,
              argv, NULL);
    struct rml_error err = RML_ERROR_INIT;
    int code = CLI_PASS;
    if (examine(&options, &code, &err))
        return code;
    return err.code == RML_CANCELLED ? cli_interrupted_code() : cli_error(&err);
}
