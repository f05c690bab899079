/*
 * The attention suite: one decode step of an attention layer, or a block of rows, for every shape,
 * cache type and depth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/attention_case.h"
#include "bench/decoder_shapes.h"
#include "bench/suite.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"

struct settings {
    struct bench_words shapes;
    struct bench_kvs kv;
    struct bench_numbers depth, prefill;
};

enum { KEY_KV = CLI_OWN_KEY, KEY_DEPTH, KEY_SHAPE, KEY_PREFILL };

static const struct argp_option options[] = {
    {"shape", KEY_SHAPE, "LIST", 0,
     "Layers: of a model (llama-3-8b; others as in rml-bench decoder --help), or "
     "HEADS:KV_HEADS:HEAD_DIM",
     1},
    {"kv", KEY_KV, "LIST", 0, "Cache types, keys and values apart as K:V (f32,f16,i8)", 1},
    {"depth", KEY_DEPTH, "LIST", 0, "Tokens that are cached before the step (512,4096)", 1},
    {"prefill", KEY_PREFILL, "LIST", 0, "Also measure blocks of so many rows behind the depth", 1},
    {0},
};

/* A model's name or three numbers. */
static bool parse_shape(const char *text, struct attention_shape *shape)
{
    const struct decoder_shape *known = decoder_find_shape(text);
    static struct rml_model_config config; /* large */
    *shape = (struct attention_shape){.name = text};
    if (known) {
        known->set(&config);
        shape->n_head = config.n_head;
        shape->n_head_kv = config.n_head_kv;
        shape->head_dim = config.head_dim;
        return true;
    }
    uint64_t numbers[3];
    char copy[64];
    size_t n = 0;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    char *rest = copy, *part;
    while ((part = strsep(&rest, ":")) && n < 3 && cli_parse_u64(part, 1, 65536, &numbers[n]))
        n++;
    if (n != 3 || part)
        return false;
    shape->n_head = (uint32_t)numbers[0];
    shape->n_head_kv = (uint32_t)numbers[1];
    shape->head_dim = (uint32_t)numbers[2];
    return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    struct attention_shape shape;
    switch (key) {
    case KEY_SHAPE:
        bench_arg_words(state, "--shape", arg, &s->shapes);
        for (size_t i = 0; i < s->shapes.n; i++)
            if (!parse_shape(s->shapes.values[i], &shape))
                argp_error(state,
                           "--shape: '%s' found, expected the name of a model, or "
                           "HEADS:KV_HEADS:HEAD_DIM",
                           s->shapes.values[i]);
        return 0;
    case KEY_KV:
        bench_arg_kvs(state, arg, &s->kv);
        return 0;
    case KEY_DEPTH:
        bench_arg_numbers(state, "--depth", arg, 0, 1 << 22, &s->depth);
        return 0;
    case KEY_PREFILL:
        bench_arg_numbers(state, "--prefill", arg, 1, 1 << 16, &s->prefill);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->shapes.values);
    free(s->kv.values);
    free(s->depth.values);
    free(s->prefill.values);
}

/* ---- The list ------------------------------------------------------------------------------- */

static bool add(struct bench_plan *plan, const struct attention_settings *s, int threads,
                bool prefill, struct rml_error *err)
{
    const struct attention_shape *shape = &s->shape;
    char name[96];
    snprintf(name, sizeof name, "%s%s", shape->name, prefill ? "/prefill" : "");
    struct bench_spec *spec = bench_plan_add(plan, &bench_attention_suite, name, err);
    if (!spec)
        return false;
    spec->what.arithmetic = rml_arithmetic_name(RML_ARITHMETIC_F32);
    spec->what.k_dtype = rml_kv_dtype_name(s->k);
    spec->what.v_dtype = rml_kv_dtype_name(s->v);
    spec->what.threads = threads;
    if (prefill)
        spec->what.n_prompt = (int64_t)s->n_rows;
    else
        spec->what.n_gen = 1;
    spec->what.n_depth = (int64_t)s->depth;
    spec->bytes_per_iter = attention_bytes(s);
    spec->flops_per_iter = attention_flops(s);
    spec->open_bytes = spec->memory_nbytes = attention_memory_nbytes(s);
    struct rml_error misfit = RML_ERROR_INIT;
    if (!attention_shape_fits(shape, &misfit))
        bench_spec_skip(spec, "%s", misfit.message);
    return bench_spec_params(spec,
                             json_pack("{sI sI sI sI}", "n_head", (json_int_t)shape->n_head,
                                       "n_head_kv", (json_int_t)shape->n_head_kv, "head_dim",
                                       (json_int_t)shape->head_dim, "seed", (json_int_t)s->seed),
                             err);
}

/* The step, then the blocks. */
static bool add_all(struct bench_plan *plan, struct attention_settings s, int threads,
                    const struct bench_numbers *prefill, struct rml_error *err)
{
    s.n_rows = 1;
    bool ok = add(plan, &s, threads, false, err);
    for (size_t i = 0; ok && i < prefill->n; i++) {
        s.n_rows = (size_t)prefill->values[i];
        ok = add(plan, &s, threads, true, err);
    }
    return ok;
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    static struct bench_kv default_kv[] = {
        {RML_KV_F32, RML_KV_F32}, {RML_KV_F16, RML_KV_F16}, {RML_KV_I8, RML_KV_I8}};
    static uint64_t default_depth[] = {512, 4096};
    static const char *default_shapes[] = {"llama-3-8b"};
    const struct settings *given = settings;
    const struct bench_words shapes =
        given->shapes.n ? given->shapes : (struct bench_words){1, default_shapes};
    const struct bench_kvs kv = given->kv.n ? given->kv : (struct bench_kvs){3, default_kv};
    const struct bench_numbers depth =
        given->depth.n ? given->depth : (struct bench_numbers){2, default_depth};
    bool ok = true;
    for (size_t i = 0; ok && i < shapes.n; i++) {
        struct attention_settings s = {.seed = sweep->seed};
        parse_shape(shapes.values[i], &s.shape);
        for (size_t t = 0; ok && t < sweep->threads.n; t++) {
            for (size_t d = 0; ok && d < depth.n; d++) {
                for (size_t k = 0; ok && k < kv.n; k++) {
                    s.k = kv.values[k].k;
                    s.v = kv.values[k].v;
                    s.depth = (size_t)depth.values[d];
                    ok = add_all(plan, s, (int)sweep->threads.values[t], &given->prefill, err);
                }
            }
        }
    }
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
                                     .n_rows = 1,
                                     .seed = bench_spec_seed(spec)};
    if (spec->what.n_prompt > 0)
        s->n_rows = (size_t)spec->what.n_prompt;
    return bench_spec_u32(spec, "n_head", UINT32_MAX, &s->shape.n_head, err) &&
           bench_spec_u32(spec, "n_head_kv", UINT32_MAX, &s->shape.n_head_kv, err) &&
           bench_spec_u32(spec, "head_dim", UINT32_MAX, &s->shape.head_dim, err) &&
           bench_spec_kv(spec, &s->k, &s->v, err) && attention_shape_fits(&s->shape, err);
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
                  .items_per_iter = (double)s.n_rows,
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
    .summary = "decode steps and blocks of an attention layer, by cache type and depth",
    .doc =
        "Times one decode step of an attention layer (by default 32 query heads over 8 key-value "
        "heads of 128: Llama 3 8B): one token's keys and values are stored, its queries attend "
        "over all that is cached. With --prefill also a block of rows at once. The same layer is "
        "used over and over, so the processor's caches are as warm as their size allows.\v"
        "Examples: what an i8 cache saves at some depths; a layer of one's own:\n\n"
        "  rml-bench attention --kv f16,i8 --depth 512-8192*2\n"
        "  rml-bench attention --shape 24:8:128 --kv f16,f16:i8 --prefill 512 --depth 0",
    .work_version = 1,
    .takes_threads = true,
    .has_roof = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .release = release,
    .enumerate = enumerate,
    .open = open_case,
};
