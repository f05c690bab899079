/*
 * rml-bench attention: one decode step of an attention layer, for every cache type,
 * depth and number of threads asked for.
 */
#include "bench/suites.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/attention_case.h"
#include "bench/dimensions.h"
#include "bench/session.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

static const struct attention_shape shape = {"llama-3-8b", 32, 8, 128};

struct arguments {
    struct bench_kvs kv;
    struct bench_numbers depth, threads;
    int n_reps;
};

enum { KEY_KV = CLI_OWN_KEY, KEY_DEPTH, KEY_THREADS, KEY_REPS };

static const struct argp_option options[] = {
    {"kv", KEY_KV, "LIST", 0, "Cache types, keys and values apart as K:V (f32,f16,i8)", 1},
    {"depth", KEY_DEPTH, "LIST", 0, "Tokens that are cached before the step (512,4096)", 1},
    {"threads", KEY_THREADS, "LIST", 0,
     "Worker threads (RML_THREADS, else the physical cores this process may use)", 1},
    {"reps", KEY_REPS, "N", 0, "Measured repetitions of a case, at least 21 (21)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_KV:
        bench_arg_kvs(state, arg, &a->kv);
        return 0;
    case KEY_DEPTH:
        bench_arg_numbers(state, "--depth", arg, 0, 1 << 22, &a->depth);
        return 0;
    case KEY_THREADS:
        bench_arg_numbers(state, "--threads", arg, 1, RML_MAX_THREADS, &a->threads);
        return 0;
    case KEY_REPS:
        a->n_reps = (int)cli_arg_u64(state, "--reps", arg, BENCH_MIN_REPS, BENCH_MAX_REPS);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' found, expected no argument", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Measures one case into the row; what goes wrong becomes its error. */
static bool measure(struct bench_row *row, const struct bench_kv *kv, size_t depth,
                    struct rml_thread_pool *pool, uint64_t seed, int n_reps, struct rml_error *err)
{
    struct attention_case *c = attention_case_create(&shape, kv->k, kv->v, depth, pool, seed, err);
    if (!c)
        return false;
    row->what.isa = rml_isa_name(attention_case_isa(c));
    row->result.items_per_iter = 1;
    row->result.bytes_per_iter = attention_case_bytes(c);
    row->result.flops_per_iter = attention_case_flops(c);
    row->result.kv_bytes = (int64_t)attention_case_kv_nbytes(c);

    struct bench_work work = attention_case_work(c);
    size_t nbytes;
    const float *output = attention_case_output(c, &nbytes);
    bool ok = bench_row_measure(row, &work, n_reps, err) && attention_case_verify(c, err) &&
              bench_row_hash_output(row, output, nbytes, err);
    attention_case_destroy(c);
    return ok;
}

/* False ends the run: interrupted, or a result that cannot be kept. */
static bool one_case(struct bench_session *session, const struct arguments *a,
                     const struct bench_kv *kv, size_t depth, struct rml_thread_pool *pool,
                     struct rml_error *err)
{
    struct bench_row *row = bench_row_create("attention", shape.name, err);
    if (!row)
        return false;
    snprintf(row->params_json, sizeof row->params_json,
             "{\"n_head\":%u,\"n_head_kv\":%u,\"head_dim\":%u,\"seed\":%llu}", shape.n_head,
             shape.n_head_kv, shape.head_dim, (unsigned long long)session->options->seed);
    row->what.arithmetic = rml_arithmetic_name(RML_ARITHMETIC_F32);
    row->what.k_dtype = rml_kv_dtype_name(kv->k);
    row->what.v_dtype = rml_kv_dtype_name(kv->v);
    row->what.threads = (int)rml_thread_pool_size(pool);
    row->what.n_gen = 1;
    row->what.n_depth = (int64_t)depth;
    bench_session_announce(session, "attention %s:%s, depth %zu, %d threads", row->what.k_dtype,
                           row->what.v_dtype, depth, row->what.threads);

    struct rml_error case_err = RML_ERROR_INIT;
    if (!measure(row, kv, depth, pool, session->options->seed, a->n_reps, &case_err)) {
        if (case_err.code == RML_CANCELLED) {
            bench_row_destroy(row);
            *err = case_err;
            return false;
        }
        bench_row_fail(row, &case_err);
    }
    return bench_session_take(session, row, err);
}

static bool all_cases(struct bench_session *session, const struct arguments *a,
                      struct rml_error *err)
{
    bool ok = true;
    session->n_cases = a->threads.n * a->kv.n * a->depth.n;
    for (size_t t = 0; ok && t < a->threads.n; t++) {
        struct rml_thread_pool *pool = rml_thread_pool_create((unsigned)a->threads.values[t], err);
        ok = pool != NULL;
        for (size_t d = 0; ok && d < a->depth.n; d++) {
            for (size_t k = 0; ok && k < a->kv.n; k++)
                ok = one_case(session, a, &a->kv.values[k], (size_t)a->depth.values[d], pool, err);
        }
        rml_thread_pool_destroy(pool);
    }
    return ok;
}

int bench_attention_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Times one decode step of an attention layer (32 query heads over 8 key-value heads "
               "of 128: Llama 3 8B): one token's keys and values are stored, its queries attend "
               "over all that is cached. The same layer is used over and over, so the "
               "processor's caches are as warm as their size allows.\v"
               "Example: what an i8 cache saves at two depths:\n\n"
               "  rml-bench attention --kv f16,i8 --depth 512,8192"};
    struct bench_kv kv[] = {
        {RML_KV_F32, RML_KV_F32}, {RML_KV_F16, RML_KV_F16}, {RML_KV_I8, RML_KV_I8}};
    uint64_t depth[] = {512, 4096}, threads[] = {0};
    struct arguments a = {.n_reps = BENCH_MIN_REPS};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, &argp, argc, argv, &a);
    struct bench_kv *given_kv = a.kv.values;
    uint64_t *given_depth = a.depth.values, *given_threads = a.threads.values;
    if (!given_kv)
        a.kv = (struct bench_kvs){3, kv};
    if (!given_depth)
        a.depth = (struct bench_numbers){2, depth};
    if (!given_threads)
        a.threads = (struct bench_numbers){1, threads};

    struct rml_error err = RML_ERROR_INIT;
    struct bench_session session;
    int code;
    if (bench_session_begin(&session, &common, argc, argv, &err)) {
        all_cases(&session, &a, &err);
        code = bench_session_end(&session, &err);
    } else {
        code = cli_error(&err);
    }
    free(given_kv);
    free(given_depth);
    free(given_threads);
    return code;
}
