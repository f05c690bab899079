/*
 * The roof suite: what this machine can do at most, for each number of threads and each
 * instruction set. Its rows are what roof_of finds for the rows of other suites.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/roof.h"
#include "bench/roof_case.h"
#include "bench/roof_kernels.h"
#include "bench/suite.h"
#include "kernels/kernels.h"
#include "tools/cli/options.h"

struct settings {
    struct bench_isas isas;
};

enum { KEY_ISA = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"isa", KEY_ISA, "LIST", 0, "Instruction sets (the best of this machine): ref,avx2,avx512", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    if (key != KEY_ISA)
        return ARGP_ERR_UNKNOWN;
    bench_arg_isas(state, arg, &s->isas);
    return 0;
}

static bool add(struct bench_plan *plan, enum roof_limit limit, enum rml_isa isa, int threads,
                struct rml_error *err)
{
    struct bench_spec *spec = bench_plan_add(plan, &bench_roof_suite, roof_limit_name(limit), err);
    if (!spec)
        return false;
    spec->what.isa = rml_isa_name(isa);
    spec->what.threads = threads;
    if (!roof_kernels_for(isa))
        bench_spec_skip(spec, "%s: this machine or this build has no such kernels",
                        rml_isa_name(isa));
    if (limit == ROOF_READ_BANDWIDTH) {
        spec->bytes_per_iter = (double)ROOF_READ_PART;
        spec->open_bytes = spec->memory_nbytes = (double)roof_read_nbytes();
    }
    return true;
}

static bool add_limits(struct bench_plan *plan, enum rml_isa isa, int threads,
                       struct rml_error *err)
{
    bool ok = true;
    for (int limit = 0; ok && limit < ROOF_N_LIMITS; limit++)
        ok = add(plan, (enum roof_limit)limit, isa, threads, err);
    return ok;
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    const struct settings *s = settings;
    const struct rmli_kernels *best = rmli_kernels_best(err);
    bool ok = best != NULL;
    for (size_t t = 0; ok && t < sweep->threads.n; t++)
        for (int isa = 0; ok && isa < RML_N_ISAS; isa++)
            if (s->isas.given ? s->isas.has[isa] : best->isa == (enum rml_isa)isa)
                ok = add_limits(plan, (enum rml_isa)isa, (int)sweep->threads.values[t], err);
    return ok;
}

static bool has_limits(const struct bench_plan *plan, const char *isa, int threads)
{
    for (size_t i = 0; i < plan->n_specs; i++)
        if (plan->specs[i]->what.threads == threads && strcmp(plan->specs[i]->what.isa, isa) == 0)
            return true;
    return false;
}

bool bench_plan_roofs_of(const struct bench_plan *cases, struct bench_plan *roofs,
                         struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < cases->n_specs; i++) {
        const struct bench_spec *spec = cases->specs[i];
        enum rml_isa isa;
        if (!spec->skip_reason && spec->what.isa && rml_isa_parse(spec->what.isa, &isa) &&
            roof_kernels_for(isa) && !has_limits(roofs, spec->what.isa, spec->what.threads))
            ok = add_limits(roofs, isa, spec->what.threads, err);
    }
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct opened {
    struct rml_thread_pool *pool;
    struct roof_case *c;
};

static void close_case(void *state)
{
    struct opened *o = state;
    roof_case_destroy(o->c);
    rml_thread_pool_destroy(o->pool);
    free(o);
}

static bool limit_of(const struct bench_spec *spec, enum roof_limit *limit, struct rml_error *err)
{
    for (int i = 0; i < ROOF_N_LIMITS; i++) {
        *limit = (enum roof_limit)i;
        if (strcmp(spec->what.name, roof_limit_name(*limit)) == 0)
            return true;
    }
    return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "no limit of the name '%s'",
                     spec->what.name);
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    enum roof_limit limit;
    enum rml_isa isa;
    if (!limit_of(spec, &limit, err))
        return false;
    if (!spec->what.isa || !rml_isa_parse(spec->what.isa, &isa))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no instruction set");
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    o->pool = rml_thread_pool_create((unsigned)spec->what.threads, err);
    o->c = o->pool ? roof_case_create(limit, isa, roof_read_nbytes(), o->pool, err) : NULL;
    if (!o->c) {
        close_case(o);
        return false;
    }
    /* The loops judge their own sums (roof_case.c), so there is no output to verify. */
    *opened = (struct bench_case){
        .state = o,
        .work = roof_case_work(o->c),
        .facts = {.isa = rml_isa_name(isa),
                  .items_per_iter = NAN,
                  .bytes_per_iter = roof_case_bytes(o->c) > 0 ? roof_case_bytes(o->c) : -1,
                  .flops_per_iter = roof_case_flops(o->c) > 0 ? roof_case_flops(o->c) : -1,
                  .kv_nbytes = -1},
        .close = close_case,
    };
    return true;
}

const struct bench_suite bench_roof_suite = {
    .name = "roof",
    .summary = "the machine's limits: read bandwidth, f32 and 8-bit products",
    .doc = "Measures what this machine can do at most: reading memory that no cache holds, f32 "
           "multiply-adds from registers, sums of 8-bit products (those of 4-bit weights, which "
           "are the fastest). Two operations for each multiply-add. The rows stay in the results "
           "database, and other suites' rows show what fraction of the newest ones they reach.\v"
           "Example, for one thread and for two:\n\n"
           "  rml-bench roof --threads 1,2",
    .work_version = 1,
    .takes_threads = true,
    .has_isas = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .enumerate = enumerate,
    .open = open_case,
};
