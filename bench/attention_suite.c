/*
 * The attention suite: one decode step of an attention layer, for every cache type and depth.
 */
#include <stdlib.h>

#include "bench/attention_case.h"
#include "bench/suite.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"

static const struct attention_shape shape = {"llama-3-8b", 32, 8, 128};

struct settings {
    struct bench_kvs kv;
    struct bench_numbers depth;
};

enum { KEY_KV = CLI_OWN_KEY, KEY_DEPTH };

static const struct argp_option options[] = {
    {"kv", KEY_KV, "LIST", 0, "Cache types, keys and values apart as K:V (f32,f16,i8)", 1},
    {"depth", KEY_DEPTH, "LIST", 0, "Tokens that are cached before the step (512,4096)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case KEY_KV:
        bench_arg_kvs(state, arg, &s->kv);
        return 0;
    case KEY_DEPTH:
        bench_arg_numbers(state, "--depth", arg, 0, 1 << 22, &s->depth);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->kv.values);
    free(s->depth.values);
}

/* ---- The list ------------------------------------------------------------------------------- */

static bool add(struct bench_plan *plan, const struct bench_kv *kv, size_t depth, int threads,
                uint64_t seed, struct rml_error *err)
{
    struct bench_spec *spec = bench_plan_add(plan, &bench_attention_suite, shape.name, err);
    if (!spec)
        return false;
    const struct attention_settings s = {
        .shape = shape, .k = kv->k, .v = kv->v, .depth = depth, .seed = seed};
    spec->what.arithmetic = rml_arithmetic_name(RML_ARITHMETIC_F32);
    spec->what.k_dtype = rml_kv_dtype_name(kv->k);
    spec->what.v_dtype = rml_kv_dtype_name(kv->v);
    spec->what.threads = threads;
    spec->what.n_gen = 1;
    spec->what.n_depth = (int64_t)depth;
    spec->bytes_per_iter = attention_bytes(&s);
    spec->flops_per_iter = attention_flops(&s);
    spec->open_bytes = spec->memory_nbytes = attention_memory_nbytes(&s);
    return bench_spec_params(spec,
                             json_pack("{sI sI sI sI}", "n_head", (json_int_t)shape.n_head,
                                       "n_head_kv", (json_int_t)shape.n_head_kv, "head_dim",
                                       (json_int_t)shape.head_dim, "seed", (json_int_t)seed),
                             err);
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    static struct bench_kv default_kv[] = {
        {RML_KV_F32, RML_KV_F32}, {RML_KV_F16, RML_KV_F16}, {RML_KV_I8, RML_KV_I8}};
    static uint64_t default_depth[] = {512, 4096};
    const struct settings *s = settings;
    const struct bench_kvs kv = s->kv.n ? s->kv : (struct bench_kvs){3, default_kv};
    const struct bench_numbers depth =
        s->depth.n ? s->depth : (struct bench_numbers){2, default_depth};
    bool ok = true;
    for (size_t t = 0; ok && t < sweep->threads.n; t++)
        for (size_t d = 0; ok && d < depth.n; d++)
            for (size_t k = 0; ok && k < kv.n; k++)
                ok = add(plan, &kv.values[k], (size_t)depth.values[d],
                         (int)sweep->threads.values[t], sweep->seed, err);
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct opened {
    struct rml_thread_pool *pool;
    struct attention_case *c;
};

static void close_case(void *state)
{
    struct opened *o = state;
    attention_case_destroy(o->c);
    rml_thread_pool_destroy(o->pool);
    free(o);
}

static bool verify(const void *state, struct rml_error *err)
{
    const struct opened *o = state;
    return attention_case_verify(o->c, err);
}

static bool settings_of(const struct bench_spec *spec, struct attention_settings *s,
                        struct rml_error *err)
{
    *s = (struct attention_settings){.shape.name = spec->what.name,
                                     .depth = (size_t)spec->what.n_depth,
                                     .seed = bench_spec_seed(spec)};
    return bench_spec_u32(spec, "n_head", UINT32_MAX, &s->shape.n_head, err) &&
           bench_spec_u32(spec, "n_head_kv", UINT32_MAX, &s->shape.n_head_kv, err) &&
           bench_spec_u32(spec, "head_dim", UINT32_MAX, &s->shape.head_dim, err) &&
           bench_spec_kv(spec, &s->k, &s->v, err);
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    struct attention_settings s;
    if (!settings_of(spec, &s, err))
        return false;
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    o->pool = rml_thread_pool_create((unsigned)spec->what.threads, err);
    o->c = o->pool ? attention_case_create(&s, o->pool, err) : NULL;
    if (!o->c) {
        close_case(o);
        return false;
    }
    *opened = (struct bench_case){
        .state = o,
        .work = attention_case_work(o->c),
        .facts = {.isa = rml_isa_name(attention_case_isa(o->c)),
                  .items_per_iter = 1,
                  .bytes_per_iter = attention_bytes(&s),
                  .flops_per_iter = attention_flops(&s),
                  .kv_nbytes = (int64_t)attention_case_kv_nbytes(o->c)},
        .verify = verify,
        .close = close_case,
    };
    return true;
}

const struct bench_suite bench_attention_suite = {
    .name = "attention",
    .summary = "one decode step of an attention layer, by cache type and depth",
    .doc = "Times one decode step of an attention layer (32 query heads over 8 key-value heads "
           "of 128: Llama 3 8B): one token's keys and values are stored, its queries attend "
           "over all that is cached. The same layer is used over and over, so the "
           "processor's caches are as warm as their size allows.\v"
           "Example: what an i8 cache saves at two depths:\n\n"
           "  rml-bench attention --kv f16,i8 --depth 512,8192",
    .work_version = 1,
    .takes_threads = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .release = release,
    .enumerate = enumerate,
    .open = open_case,
};
