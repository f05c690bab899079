/*
 * rml-bench decoder: prefill and decode of a decoder with random weights, for every
 * weight type, arithmetic, cache type, depth and number of threads asked for.
 */
#include "bench/suites.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/decoder_case.h"
#include "bench/dimensions.h"
#include "bench/session.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    enum rml_dtype weights[RML_N_WEIGHT_DTYPES];
    size_t n_weights;
    enum rml_arithmetic arithmetic[2];
    size_t n_arithmetic; /* 0: i8 where weights are quantised, else f32 */
    struct bench_kvs kv;
    struct bench_numbers depth, threads;
    size_t n_prompt, n_gen;
    int n_reps;
};

enum {
    KEY_WEIGHTS = CLI_OWN_KEY,
    KEY_ARITHMETIC,
    KEY_KV,
    KEY_PROMPT,
    KEY_GEN,
    KEY_DEPTH,
    KEY_THREADS,
    KEY_REPS
};

static const struct argp_option options[] = {
    {"weights", KEY_WEIGHTS, "LIST", 0, "Weight types (q8_0,q4_0)", 1},
    {"arithmetic", KEY_ARITHMETIC, "LIST", 0,
     "Activations: f32, i8 or both (i8 where weights are quantised, else f32)", 1},
    {"kv", KEY_KV, "LIST", 0, "Cache types, keys and values apart as K:V (f16)", 1},
    {"prompt", KEY_PROMPT, "N", 0, "Tokens of a prefill; 0: none is measured (128)", 1},
    {"gen", KEY_GEN, "N", 0, "Tokens decoded in a row; 0: none is measured (16)", 1},
    {"depth", KEY_DEPTH, "LIST", 0, "Tokens that are cached before decoding (128)", 1},
    {"threads", KEY_THREADS, "LIST", 0,
     "Worker threads (RML_THREADS, else the physical cores this process may use)", 1},
    {"reps", KEY_REPS, "N", 0, "Measured repetitions of a case, at least 21 (21)", 1},
    {0},
};

static void parse_weights(struct argp_state *state, const char *arg, struct arguments *a)
{
    char **words;
    size_t n = cli_arg_words(state, "--weights", arg, &words);
    if (n > RML_N_WEIGHT_DTYPES)
        argp_error(state, "--weights: %zu types found, expected at most %d", n,
                   RML_N_WEIGHT_DTYPES);
    for (size_t i = 0; i < n; i++) {
        if (!rml_dtype_parse(words[i], &a->weights[i]) || a->weights[i] >= RML_N_WEIGHT_DTYPES)
            argp_error(state, "--weights: '%s' found, expected a type such as q8_0, q4_k or f16",
                       words[i]);
        size_t nbytes;
        if (!rml_dtype_row_nbytes(a->weights[i], 2048, &nbytes))
            argp_error(state, "--weights: rows of this shape are no whole blocks of %s", words[i]);
        for (size_t j = 0; j < i; j++)
            if (a->weights[j] == a->weights[i])
                argp_error(state, "--weights: '%s' found twice", words[i]);
    }
    a->n_weights = n;
    free(words);
}

static void parse_arithmetic(struct argp_state *state, const char *arg, struct arguments *a)
{
    char **words;
    size_t n = cli_arg_words(state, "--arithmetic", arg, &words);
    if (n > 2)
        argp_error(state, "--arithmetic: '%s' found, expected f32, i8 or both", arg);
    for (size_t i = 0; i < n; i++) {
        if (!rml_arithmetic_parse(words[i], &a->arithmetic[i]))
            argp_error(state, "--arithmetic: '%s' found, expected f32 or i8", words[i]);
    }
    if (n == 2 && a->arithmetic[0] == a->arithmetic[1])
        argp_error(state, "--arithmetic: '%s' found twice", words[1]);
    a->n_arithmetic = n;
    free(words);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_WEIGHTS:
        parse_weights(state, arg, a);
        return 0;
    case KEY_ARITHMETIC:
        parse_arithmetic(state, arg, a);
        return 0;
    case KEY_KV:
        bench_arg_kvs(state, arg, &a->kv);
        return 0;
    case KEY_PROMPT:
        a->n_prompt = (size_t)cli_arg_u64(state, "--prompt", arg, 0, 1 << 18);
        return 0;
    case KEY_GEN:
        a->n_gen = (size_t)cli_arg_u64(state, "--gen", arg, 0, 1 << 16);
        return 0;
    case KEY_DEPTH:
        bench_arg_numbers(state, "--depth", arg, 0, 1 << 18, &a->depth);
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
    case ARGP_KEY_END:
        if (a->n_prompt == 0 && a->n_gen == 0)
            argp_error(state, "--prompt 0 and --gen 0 leave nothing to measure");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- One case ------------------------------------------------------------------------------ */

struct combination {
    const struct rml_model *model;
    struct rml_thread_pool *pool;
    struct decoder_settings settings;
};

static bool measure(struct bench_row *row, const struct combination *x, int n_reps,
                    struct rml_error *err)
{
    const struct decoder_settings *s = &x->settings;
    struct decoder_case *c = decoder_case_create(x->model, s, x->pool, err);
    if (!c)
        return false;
    row->what.isa = rml_isa_name(decoder_case_isa(c));
    row->result.items_per_iter = s->n_prompt ? (double)s->n_prompt : 1;
    row->result.bytes_per_iter = decoder_bytes(x->model, s);
    row->result.flops_per_iter = decoder_flops(x->model, s);

    struct bench_work work = decoder_case_work(c);
    size_t nbytes;
    const float *logits = decoder_case_logits(c, &nbytes);
    bool ok = bench_row_measure(row, &work, n_reps, err) && decoder_case_verify(c, err) &&
              bench_row_hash_output(row, logits, nbytes, err);
    row->result.kv_bytes = (int64_t)decoder_case_kv_nbytes(c);
    if (s->n_prompt) /* a prefill ends with the logits of the first new token */
        row->ttft_ns = row->stats.median;
    decoder_case_destroy(c);
    return ok;
}

static bool one_case(struct bench_session *session, const struct combination *x, int n_reps,
                     struct rml_error *err)
{
    const struct decoder_settings *s = &x->settings;
    char name[64];
    snprintf(name, sizeof name, "%s/%s", decoder_shape_name, s->n_prompt ? "prefill" : "decode");
    struct bench_row *row = bench_row_create("decoder", name, err);
    if (!row)
        return false;
    const struct rml_model_config *config = rml_model_config(x->model);
    snprintf(row->params_json, sizeof row->params_json,
             "{\"n_vocab\":%u,\"n_embd\":%u,\"n_layer\":%u,\"n_head\":%u,\"n_head_kv\":%u,"
             "\"head_dim\":%u,\"n_ff\":%u,\"seed\":%llu}",
             config->n_vocab, config->n_embd, config->n_layer, config->n_head, config->n_head_kv,
             config->head_dim, config->n_ff, (unsigned long long)s->seed);
    row->what.weight_dtype = rml_dtype_traits(rml_model_weight_dtype(x->model))->name;
    row->what.arithmetic = rml_arithmetic_name(s->arithmetic);
    row->what.k_dtype = rml_kv_dtype_name(s->k);
    row->what.v_dtype = rml_kv_dtype_name(s->v);
    row->what.threads = (int)rml_thread_pool_size(x->pool);
    row->what.n_prompt = (int64_t)s->n_prompt;
    row->what.n_gen = s->n_prompt ? 0 : (int64_t)s->n_gen;
    row->what.n_depth = s->n_prompt ? 0 : (int64_t)s->n_depth;
    bench_session_announce(session, "%s %s %s, %s:%s, depth %lld, %d threads", name,
                           row->what.weight_dtype, row->what.arithmetic, row->what.k_dtype,
                           row->what.v_dtype, (long long)row->what.n_depth, row->what.threads);

    struct rml_error case_err = RML_ERROR_INIT;
    if (!measure(row, x, n_reps, &case_err)) {
        if (case_err.code == RML_CANCELLED) {
            bench_row_destroy(row);
            *err = case_err;
            return false;
        }
        bench_row_fail(row, &case_err);
    }
    return bench_session_take(session, row, err);
}

/* ---- All of them ---------------------------------------------------------------------------- */

/* The prefill, then decoding at each depth. */
static bool cases_of(struct bench_session *session, const struct arguments *a, struct combination x,
                     struct rml_error *err)
{
    bool ok = true;
    if (a->n_prompt > 0) {
        x.settings.n_prompt = a->n_prompt;
        ok = one_case(session, &x, a->n_reps, err);
    }
    x.settings.n_prompt = 0;
    x.settings.n_gen = a->n_gen;
    for (size_t d = 0; ok && a->n_gen > 0 && d < a->depth.n; d++) {
        x.settings.n_depth = (size_t)a->depth.values[d];
        ok = one_case(session, &x, a->n_reps, err);
    }
    return ok;
}

static bool cases_of_model(struct bench_session *session, const struct arguments *a,
                           const struct rml_model *model, struct rml_error *err)
{
    enum rml_arithmetic fitting =
        rml_model_is_quantised(model) ? RML_ARITHMETIC_I8 : RML_ARITHMETIC_F32;
    size_t n_arithmetic = a->n_arithmetic ? a->n_arithmetic : 1;
    bool ok = true;
    for (size_t t = 0; ok && t < a->threads.n; t++) {
        struct rml_thread_pool *pool = rml_thread_pool_create((unsigned)a->threads.values[t], err);
        ok = pool != NULL;
        for (size_t i = 0; ok && i < n_arithmetic; i++) {
            for (size_t k = 0; ok && k < a->kv.n; k++) {
                struct combination x = {
                    .model = model,
                    .pool = pool,
                    .settings = {.arithmetic = a->n_arithmetic ? a->arithmetic[i] : fitting,
                                 .k = a->kv.values[k].k,
                                 .v = a->kv.values[k].v,
                                 .seed = session->options->seed}};
                ok = cases_of(session, a, x, err);
            }
        }
        rml_thread_pool_destroy(pool);
    }
    return ok;
}

static bool all_cases(struct bench_session *session, const struct arguments *a,
                      struct rml_error *err)
{
    size_t each = (a->n_prompt > 0) + (a->n_gen > 0 ? a->depth.n : 0);
    session->n_cases =
        a->n_weights * a->threads.n * (a->n_arithmetic ? a->n_arithmetic : 1) * a->kv.n * each;
    struct rml_model_config config;
    decoder_shape_config(&config);
    bool ok = true;
    for (size_t w = 0; ok && w < a->n_weights; w++) {
        struct rml_model *model =
            rml_model_random(&config, a->weights[w], session->options->seed, err);
        ok = model && cases_of_model(session, a, model, err);
        rml_model_destroy(model);
    }
    return ok;
}

int bench_decoder_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Times prefill and decode, apart, of two layers of TinyLlama 1.1B's shape with "
               "random weights and a vocabulary of 8192.\v"
               "Example: two weight types by number of threads:\n\n"
               "  rml-bench decoder --weights q8_0,q4_k --threads 1,2,4"};
    struct bench_kv kv[] = {{RML_KV_F16, RML_KV_F16}};
    uint64_t depth[] = {128}, threads[] = {0};
    struct arguments a = {.weights = {RML_Q8_0, RML_Q4_0},
                          .n_weights = 2,
                          .n_prompt = 128,
                          .n_gen = 16,
                          .n_reps = BENCH_MIN_REPS};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, &argp, argc, argv, &a);
    struct bench_kv *given_kv = a.kv.values;
    uint64_t *given_depth = a.depth.values, *given_threads = a.threads.values;
    if (!given_kv)
        a.kv = (struct bench_kvs){1, kv};
    if (!given_depth)
        a.depth = (struct bench_numbers){1, depth};
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
