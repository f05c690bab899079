/*
 * rml-bench worker: the process that measures. It is started by rml-bench (child.h), reads
 * requests from standard input and answers on standard output (message.h); it holds one open
 * case, so its memory is that case's, and it may crash without taking a sweep with it.
 */
#include "bench/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/message.h"
#include "bench/process_usage.h"
#include "files/content_hash.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

#define PROFILE_REPS 5

struct worker {
    struct bench_spec *spec; /* NULL: no case is open */
    struct bench_case c;
};

static void close_case(struct worker *w)
{
    if (w->spec && w->c.close)
        w->c.close(w->c.state);
    bench_spec_destroy(w->spec);
    *w = (struct worker){0};
}

static bool is_open(const struct worker *w, struct rml_error *err)
{
    return w->spec || rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "no case is open");
}

/* Each gives the answer; NULL on failure. */
static json_t *do_open(struct worker *w, const json_t *request, struct rml_error *err)
{
    close_case(w);
    struct bench_spec *spec = bench_spec_from_json(json_object_get(request, "spec"), err);
    if (!spec)
        return NULL;
    w->c = (struct bench_case){
        .facts = {
            .items_per_iter = NAN, .bytes_per_iter = -1, .flops_per_iter = -1, .kv_nbytes = -1}};
    if (!spec->suite->open(spec, &w->c, err)) {
        bench_spec_destroy(spec);
        return NULL;
    }
    w->spec = spec;
    w->c.facts.work_version = spec->suite->work_version;
    return json_pack("{so}", "facts", bench_facts_to_json(&w->c.facts));
}

static bool output_sha256(const struct worker *w, char hex[65], struct rml_error *err)
{
    size_t nbytes;
    hex[0] = 0;
    if (!w->c.work.output)
        return true;
    const void *output = w->c.work.output(w->c.work.arg, &nbytes);
    return rmli_sha256_bytes(output, nbytes, hex, err);
}

static bool verify(const struct worker *w, struct rml_error *err)
{
    return !w->c.verify || w->c.verify(w->c.state, err);
}

/* The samples, once their output has been judged. */
static json_t *judged(struct worker *w, const struct bench_samples *samples, json_t *profile,
                      struct rml_error *err)
{
    char hex[65];
    if (!verify(w, err) || !output_sha256(w, hex, err))
        return NULL;
    int64_t kv = w->c.kv_nbytes ? w->c.kv_nbytes(w->c.state) : w->c.facts.kv_nbytes;
    json_t *outcome =
        json_pack("{so sI sI}", "output_sha256", cli_json_text(hex[0] ? hex : NULL), "rss_nbytes",
                  (json_int_t)bench_peak_resident_nbytes(), "kv_nbytes", (json_int_t)kv);
    if (profile)
        json_object_set(outcome, "profile", profile);
    return json_pack("{so so}", "measured", bench_samples_to_json(samples), "outcome", outcome);
}

static json_t *do_measure(struct worker *w, const json_t *request, struct rml_error *err)
{
    int n_reps = (int)json_integer_value(json_object_get(request, "reps"));
    if (!is_open(w, err))
        return NULL;
    if (n_reps < 1 || n_reps > BENCH_MAX_REPS) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "%d repetitions, expected 1 to %d", n_reps,
                  BENCH_MAX_REPS);
        return NULL;
    }
    struct bench_samples samples;
    if (!bench_measure(&w->c.work, n_reps, &samples, err))
        return NULL;
    /* After the repetitions, which it thus does not disturb. */
    bool profiles = w->c.profile && json_is_true(json_object_get(request, "profile"));
    json_t *profile =
        profiles ? w->c.profile(w->c.state, PROFILE_REPS * samples.iters_per_rep, err) : NULL;
    json_t *answer = profiles && !profile ? NULL : judged(w, &samples, profile, err);
    json_decref(profile);
    bench_samples_release(&samples);
    return answer;
}

static json_t *do_settle(struct worker *w, struct rml_error *err)
{
    struct bench_samples samples;
    if (!is_open(w, err) || !bench_measure(&w->c.work, 0, &samples, err))
        return NULL;
    json_t *answer =
        json_pack("{sI sb}", "iters", (json_int_t)samples.iters_per_rep, "steady", samples.steady);
    bench_samples_release(&samples);
    return answer;
}

static json_t *do_block(struct worker *w, const json_t *request, struct rml_error *err)
{
    json_int_t iters = json_integer_value(json_object_get(request, "iters"));
    int64_t wall_ns, cpu_ns;
    if (!is_open(w, err))
        return NULL;
    if (iters < 1 || w->c.work.iters_step < 1 || iters % w->c.work.iters_step != 0) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "%lld iterations of a block, expected a multiple of %lld", (long long)iters,
                  (long long)w->c.work.iters_step);
        return NULL;
    }
    if (!bench_measure_block(&w->c.work, iters, &wall_ns, &cpu_ns, err))
        return NULL;
    char output[17];
    snprintf(output, sizeof output, "%016llx",
             (unsigned long long)bench_work_output_hash(&w->c.work));
    return json_pack("{sI sI ss}", "wall_ns", (json_int_t)wall_ns, "cpu_ns", (json_int_t)cpu_ns,
                     "output", output);
}

static json_t *answer_to(struct worker *w, const json_t *request, struct rml_error *err)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    if (!what)
        what = "";
    if (strcmp(what, "open") == 0)
        return do_open(w, request, err);
    if (strcmp(what, "measure") == 0)
        return do_measure(w, request, err);
    if (strcmp(what, "settle") == 0)
        return do_settle(w, err);
    if (strcmp(what, "block") == 0)
        return do_block(w, request, err);
    if (strcmp(what, "verify") == 0)
        return is_open(w, err) && verify(w, err) ? json_object() : NULL;
    if (strcmp(what, "build") == 0)
        return json_pack("{so}", "build", store_build_json(err));
    rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "request '%s' is not known", what);
    return NULL;
}

int bench_worker_main(int argc, char **argv)
{
    (void)argv;
    if (argc != 1)
        return cli_fail(RML_INVALID_ARGUMENT, NULL, "worker takes no arguments");
    struct worker w = {0};
    struct bench_line line = {0};
    struct rml_error err = RML_ERROR_INIT;
    json_t *request;
    bool alive = bench_message_write(STDOUT_FILENO,
                                     json_pack("{si}", "rml_bench_worker", BENCH_PROTOCOL), &err);
    while (alive &&
           bench_message_read(STDIN_FILENO, &line, -1, &request, &err) == BENCH_READ_MESSAGE) {
        struct rml_error why = RML_ERROR_INIT;
        json_t *answer = answer_to(&w, request, &why);
        json_decref(request);
        if (!answer) {
            rmli_fail(&why, RML_NO_MEMORY, NULL, -1, "no memory for an answer");
            answer = bench_error_to_json(&why);
        }
        alive = bench_message_write(STDOUT_FILENO, answer, &err);
    }
    close_case(&w);
    free(line.text);
    return err.code == RML_OK ? CLI_PASS : cli_error(&err);
}
