#include "bench/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/json_out.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

#define BYTES_PER_SECOND 1e10 /* of one thread, so for the next */
#define FLOPS_PER_SECOND 2e10
#define USEFUL_THREADS 4
#define FILL_BYTES_PER_SECOND 1e9 /* weights drawn at random, or read from a disk */
#define START_SECONDS 0.05
#define REP_SECONDS 0.0025
#define WARMUP_SECONDS 0.1 /* and at least three repetitions (measure.c) */

double bench_estimate_seconds(const struct bench_spec *spec, int n_reps)
{
    if (spec->skip_reason)
        return 0;
    int threads = spec->what.threads;
    double speed = threads < 1 ? 1 : threads < USEFUL_THREADS ? threads : USEFUL_THREADS;
    double iteration =
        fmax(spec->bytes_per_iter / BYTES_PER_SECOND, spec->flops_per_iter / FLOPS_PER_SECOND) /
        speed;
    double rep = fmax(REP_SECONDS, iteration * (double)spec->iters_step);
    /* What is cached before decoding has to be computed: a row costs about an iteration. */
    double depth =
        spec->what.n_depth > 0 && spec->what.n_gen > 0 && spec->what.weight_dtype
            ? (double)spec->what.n_depth * spec->flops_per_iter / FLOPS_PER_SECOND / speed
            : 0;
    return START_SECONDS + fmax(spec->open_bytes, 0) / FILL_BYTES_PER_SECOND + depth +
           fmax(WARMUP_SECONDS, 3 * rep) + n_reps * rep;
}

void bench_skip_what_does_not_fit(struct bench_plan *plan, double available)
{
    for (size_t i = 0; i < plan->n_specs; i++) {
        struct bench_spec *spec = plan->specs[i];
        if (spec->memory_nbytes > available)
            bench_spec_skip(spec, "needs about %.3g GB of memory, %.3g GB are available",
                            spec->memory_nbytes / 1e9, available / 1e9);
    }
}

void bench_tell_skipped(const struct bench_plan *plan)
{
    for (size_t i = 0; i < plan->n_specs; i++) {
        const char *reason = plan->specs[i]->skip_reason;
        size_t n = 0;
        for (size_t j = 0; reason && j < plan->n_specs; j++) {
            const char *other = plan->specs[j]->skip_reason;
            if (!other || strcmp(other, reason) != 0)
                continue;
            if (j < i)
                break; /* told with that one */
            n++;
        }
        if (n == 0)
            continue;
        char text[256], more[32] = "";
        bench_spec_describe(plan->specs[i], text, sizeof text);
        if (n > 1)
            snprintf(more, sizeof more, " and %zu more", n - 1);
        cli_warn("skipped: %s%s: %s", text, more, reason);
    }
}

const char *bench_duration(double seconds, char *text, size_t nbytes)
{
    double minutes = round(seconds / 60);
    if (seconds < 100)
        snprintf(text, nbytes, "%.0f s", ceil(seconds));
    else if (minutes < 100)
        snprintf(text, nbytes, "%.0f min", minutes);
    else
        snprintf(text, nbytes, "%.0f h %.0f min", floor(minutes / 60), fmod(minutes, 60));
    return text;
}

/* ---- --plan --------------------------------------------------------------------------------- */

static json_t *case_json(const struct bench_spec *spec, int n_reps)
{
    json_t *o = bench_spec_to_json(spec);
    char *key = bench_spec_key(spec);
    int rc = json_object_set_new(o, "case_key", cli_json_text(key));
    rc |= json_object_set_new(o, "status", json_string(spec->skip_reason ? "skipped" : "planned"));
    rc |= json_object_set_new(o, "reason", cli_json_text(spec->skip_reason));
    rc |= json_object_set_new(o, "seconds", cli_json_real(bench_estimate_seconds(spec, n_reps)));
    rc |= json_object_set_new(
        o, "memory_bytes",
        spec->memory_nbytes < 0 ? json_null() : json_integer((json_int_t)spec->memory_nbytes));
    free(key);
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

struct totals {
    double seconds, memory_nbytes;
    size_t n_skipped;
};

static struct totals total_of(const struct bench_plan *plan, int n_reps)
{
    struct totals t = {0};
    for (size_t i = 0; i < plan->n_specs; i++) {
        const struct bench_spec *spec = plan->specs[i];
        t.seconds += bench_estimate_seconds(spec, n_reps);
        t.n_skipped += spec->skip_reason != NULL;
        if (!spec->skip_reason)
            t.memory_nbytes = fmax(t.memory_nbytes, spec->memory_nbytes);
    }
    return t;
}

static bool print_json(const struct bench_plan *plan, int n_reps, double available,
                       struct rml_error *err)
{
    struct totals t = total_of(plan, n_reps);
    json_t *cases = json_array();
    for (size_t i = 0; i < plan->n_specs; i++)
        json_array_append_new(cases, case_json(plan->specs[i], n_reps));
    bool whole = json_array_size(cases) == plan->n_specs;
    json_t *document = json_pack(
        "{s{sI sI sf sI so so}}", "plan", "n_cases", (json_int_t)plan->n_specs, "n_skipped",
        (json_int_t)t.n_skipped, "seconds", t.seconds, "memory_bytes", (json_int_t)t.memory_nbytes,
        "memory_available_bytes", cli_json_real(available), "cases", cases);
    if (document && whole)
        cli_json_print(document, 6);
    bool ok = document && whole;
    json_decref(document);
    return ok || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the JSON document");
}

static void print_table(const struct bench_plan *plan, int n_reps, double available)
{
    struct totals t = total_of(plan, n_reps);
    struct cli_table *table = cli_table_create("<case|>seconds|>memory MB|<note");
    for (size_t i = 0; i < plan->n_specs; i++) {
        const struct bench_spec *spec = plan->specs[i];
        char text[256];
        bench_spec_describe(spec, text, sizeof text);
        cli_table_cell(table, "%s", text);
        cli_table_cell(table, "%.1f", bench_estimate_seconds(spec, n_reps));
        if (spec->memory_nbytes < 0)
            cli_table_cell(table, "-");
        else
            cli_table_cell(table, "%.0f", spec->memory_nbytes / 1e6);
        cli_table_cell(table, "%s%s", spec->skip_reason ? "skipped: " : "",
                       spec->skip_reason ? spec->skip_reason : "");
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    char duration[64];
    printf("%zu case%s, of which %zu skipped; about %s and %.3g GB of memory (%.3g GB available)\n",
           plan->n_specs, cli_plural(plan->n_specs), t.n_skipped,
           bench_duration(t.seconds, duration, sizeof duration), t.memory_nbytes / 1e9,
           available / 1e9);
}

bool bench_plan_print(const struct bench_plan *plan, int n_reps, double available, bool json,
                      struct rml_error *err)
{
    if (json)
        return print_json(plan, n_reps, available, err);
    print_table(plan, n_reps, available);
    return true;
}
