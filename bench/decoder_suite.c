/*
 * The decoder suite: prefill and decode of a decoder with random weights, or of a checkpoint, for
 * every weight type, arithmetic, cache type, length, depth and number of sequences asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/checkpoint_model.h"
#include "bench/decoder_case.h"
#include "bench/decoder_cost.h"
#include "bench/decoder_shapes.h"
#include "bench/suite.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"

struct settings {
    const char *checkpoint; /* NULL: random weights */
    struct bench_words shapes, weights, arithmetic;
    struct bench_kvs kv;
    struct bench_numbers prompt, gen, depth, batch;
};

enum {
    KEY_SHAPE = CLI_OWN_KEY,
    KEY_WEIGHTS,
    KEY_ARITHMETIC,
    KEY_KV,
    KEY_PROMPT,
    KEY_GEN,
    KEY_DEPTH,
    KEY_BATCH
};

static const struct argp_option options[] = {
    {"shape", KEY_SHAPE, "LIST", 0,
     "Shapes of random decoders: tinyllama-2-layers (default), tinyllama, llama-2-7b, llama-3-8b, "
     "llama-3.2-1b, mistral-7b, smollm2-135m, qwen2.5-0.5b, qwen2.5-7b, qwen3-0.6b, qwen3-8b, "
     "qwen3-30b-a3b, olmoe-1b-7b, gemma-3-270m, gemma-3-1b",
     1},
    {"weights", KEY_WEIGHTS, "LIST", 0, "Types of random weights (q8_0,q4_0)", 1},
    {"arithmetic", KEY_ARITHMETIC, "LIST", 0,
     "Activations: f32, i8 or both (i8 where weights are quantised, else f32)", 1},
    {"kv", KEY_KV, "LIST", 0, "Cache types, keys and values apart as K:V (f16)", 1},
    {"prompt", KEY_PROMPT, "LIST", 0, "Tokens of a prefill; 0: none is measured (128)", 1},
    {"gen", KEY_GEN, "LIST", 0, "Tokens decoded in a row; 0: none is measured (16)", 1},
    {"depth", KEY_DEPTH, "LIST", 0, "Tokens that are cached before decoding (128)", 1},
    {"batch", KEY_BATCH, "LIST", 0, "Sequences computed together (1)", 1},
    {0},
};

/* ---- Command line --------------------------------------------------------------------------- */

static void parse_weights(struct argp_state *state, const char *arg, struct bench_words *list)
{
    bench_arg_words(state, "--weights", arg, list);
    for (size_t i = 0; i < list->n; i++) {
        enum rml_dtype dtype;
        if (!rml_dtype_parse(list->values[i], &dtype) || dtype >= RML_N_WEIGHT_DTYPES)
            argp_error(state, "--weights: '%s' found, expected a type such as q8_0, q4_k or f16",
                       list->values[i]);
    }
}

static void parse_arithmetic(struct argp_state *state, const char *arg, struct bench_words *list)
{
    bench_arg_words(state, "--arithmetic", arg, list);
    for (size_t i = 0; i < list->n; i++) {
        enum rml_arithmetic arithmetic;
        if (!rml_arithmetic_parse(list->values[i], &arithmetic))
            argp_error(state, "--arithmetic: '%s' found, expected f32 or i8", list->values[i]);
    }
}

static void parse_shapes(struct argp_state *state, const char *arg, struct bench_words *list)
{
    bench_arg_words(state, "--shape", arg, list);
    for (size_t i = 0; i < list->n; i++)
        if (!decoder_find_shape(list->values[i]))
            argp_error(state, "--shape: '%s' found, expected one of those that --help lists",
                       list->values[i]);
}

/* Zero alone: none of them. */
static bool is_none(const struct bench_numbers *list)
{
    return list->n == 1 && list->values[0] == 0;
}

static void check_end(struct argp_state *state, const struct settings *s)
{
    if (is_none(&s->prompt) && is_none(&s->gen))
        argp_error(state, "--prompt 0 and --gen 0 leave nothing to measure");
    for (size_t i = 0; i < s->prompt.n + s->gen.n; i++) {
        bool prompt = i < s->prompt.n;
        const struct bench_numbers *list = prompt ? &s->prompt : &s->gen;
        if (!is_none(list) && list->values[prompt ? i : i - s->prompt.n] == 0)
            argp_error(state, "%s: 0 found beside others, expected 0 alone or none",
                       prompt ? "--prompt" : "--gen");
    }
    if (s->checkpoint && (s->shapes.n || s->weights.n))
        argp_error(state, "--%s: a CHECKPOINT has its own", s->shapes.n ? "shape" : "weights");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case KEY_SHAPE:
        parse_shapes(state, arg, &s->shapes);
        return 0;
    case KEY_WEIGHTS:
        parse_weights(state, arg, &s->weights);
        return 0;
    case KEY_ARITHMETIC:
        parse_arithmetic(state, arg, &s->arithmetic);
        return 0;
    case KEY_KV:
        bench_arg_kvs(state, arg, &s->kv);
        return 0;
    case KEY_PROMPT:
        bench_arg_numbers(state, "--prompt", arg, 0, 1 << 18, &s->prompt);
        return 0;
    case KEY_GEN:
        bench_arg_numbers(state, "--gen", arg, 0, 1 << 16, &s->gen);
        return 0;
    case KEY_DEPTH:
        bench_arg_numbers(state, "--depth", arg, 0, 1 << 18, &s->depth);
        return 0;
    case KEY_BATCH:
        bench_arg_numbers(state, "--batch", arg, 1, 1024, &s->batch);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one CHECKPOINT", arg);
        s->checkpoint = arg;
        return 0;
    case ARGP_KEY_END:
        check_end(state, s);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->shapes.values);
    free(s->weights.values);
    free(s->arithmetic.values);
    free(s->kv.values);
    free(s->prompt.values);
    free(s->gen.values);
    free(s->depth.values);
    free(s->batch.values);
}

/* ---- The list ------------------------------------------------------------------------------- */

/* One model, and what the cases of it have in common. */
struct listing {
    struct bench_plan *plan;
    const struct settings *settings; /* no list is empty */
    const char *shape;               /* "checkpoint" for one */
    bool is_checkpoint;
    struct rml_model_config config;
    const char *weight_dtype;
    bool quantised;
    struct decoder_weights weights;
    const char *misfit; /* why there is no such model; NULL: there is */
    int threads;
    struct decoder_settings s;
};

static json_t *params_of(const struct listing *l)
{
    const struct rml_model_config *c = &l->config;
    if (l->is_checkpoint)
        return json_pack("{sI}", "seed", (json_int_t)l->s.seed);
    return json_pack(
        "{sI sI sI sI sI sI sI sI}", "n_vocab", (json_int_t)c->n_vocab, "n_embd",
        (json_int_t)c->n_embd, "n_layer", (json_int_t)c->n_layer, "n_head", (json_int_t)c->n_head,
        "n_head_kv", (json_int_t)c->n_head_kv, "head_dim", (json_int_t)c->head_dim, "n_ff",
        (json_int_t)(c->n_expert ? c->n_ff_expert : c->n_ff), "seed", (json_int_t)l->s.seed);
}

static void find_reason(struct bench_spec *spec, const struct listing *l)
{
    const struct decoder_settings *s = &l->s;
    size_t n_tokens = s->n_prompt ? s->n_prompt : s->n_depth + s->n_gen;
    if (l->misfit)
        bench_spec_skip(spec, "%s", l->misfit);
    if (s->arithmetic == RML_ARITHMETIC_I8 && !l->quantised)
        bench_spec_skip(spec, "weights of type %s are not quantised, so i8 arithmetic is f32",
                        l->weight_dtype);
    if (l->is_checkpoint && n_tokens > l->config.n_context)
        bench_spec_skip(spec, "%zu tokens, but the model is trained for %u", n_tokens,
                        l->config.n_context);
}

static bool add(const struct listing *l, struct rml_error *err)
{
    const struct decoder_settings *s = &l->s;
    char name[64];
    snprintf(name, sizeof name, "%s/%s", l->shape, s->n_prompt ? "prefill" : "decode");
    struct bench_spec *spec = bench_plan_add(l->plan, &bench_decoder_suite, name, err);
    if (!spec || !bench_spec_params(spec, params_of(l), err))
        return false;
    spec->what.weight_dtype = l->weight_dtype;
    spec->what.arithmetic = rml_arithmetic_name(s->arithmetic);
    spec->what.k_dtype = rml_kv_dtype_name(s->k);
    spec->what.v_dtype = rml_kv_dtype_name(s->v);
    spec->what.threads = l->threads;
    spec->what.n_batch = (int64_t)s->n_batch;
    spec->what.n_prompt = (int64_t)s->n_prompt;
    spec->what.n_gen = s->n_prompt ? 0 : (int64_t)s->n_gen;
    spec->what.n_depth = s->n_prompt ? 0 : (int64_t)s->n_depth;
    spec->bytes_per_iter = decoder_bytes(&l->config, &l->weights, s);
    spec->flops_per_iter = decoder_flops(&l->config, s);
    spec->iters_step = s->n_prompt ? 1 : (int64_t)s->n_gen;
    spec->ends_with_token = s->n_prompt > 0;
    spec->open_bytes = l->weights.total;
    spec->memory_nbytes = decoder_memory_nbytes(&l->config, &l->weights, s);
    find_reason(spec, l);
    return true;
}

/* Prefills, then decoding at each depth. */
static bool list_lengths(struct listing *l, struct rml_error *err)
{
    const struct settings *s = l->settings;
    bool ok = true;
    for (size_t p = 0; ok && !is_none(&s->prompt) && p < s->prompt.n; p++) {
        l->s.n_prompt = (size_t)s->prompt.values[p];
        ok = add(l, err);
    }
    l->s.n_prompt = 0;
    for (size_t d = 0; ok && !is_none(&s->gen) && d < s->depth.n; d++) {
        for (size_t g = 0; ok && g < s->gen.n; g++) {
            l->s.n_depth = (size_t)s->depth.values[d];
            l->s.n_gen = (size_t)s->gen.values[g];
            ok = add(l, err);
        }
    }
    return ok;
}

static bool list_model(struct listing *l, const struct bench_sweep_settings *sweep,
                       struct rml_error *err)
{
    const struct settings *s = l->settings;
    size_t n_arithmetic = s->arithmetic.n ? s->arithmetic.n : 1;
    bool ok = true;
    l->s.seed = sweep->seed;
    for (size_t t = 0; ok && t < sweep->threads.n; t++) {
        for (size_t a = 0; ok && a < n_arithmetic; a++) {
            for (size_t k = 0; ok && k < s->kv.n; k++) {
                for (size_t b = 0; ok && b < s->batch.n; b++) {
                    l->threads = (int)sweep->threads.values[t];
                    l->s.arithmetic = l->quantised ? RML_ARITHMETIC_I8 : RML_ARITHMETIC_F32;
                    if (s->arithmetic.n)
                        rml_arithmetic_parse(s->arithmetic.values[a], &l->s.arithmetic);
                    l->s.k = s->kv.values[k].k;
                    l->s.v = s->kv.values[k].v;
                    l->s.n_batch = (size_t)s->batch.values[b];
                    ok = list_lengths(l, err);
                }
            }
        }
    }
    return ok;
}

static bool is_quantised(enum rml_dtype dtype)
{
    return rml_dtype_traits(dtype)->block_nelems > 1;
}

static bool list_random(struct listing *l, const struct bench_sweep_settings *sweep,
                        struct rml_error *err)
{
    const struct settings *s = l->settings;
    bool ok = true;
    l->config = (struct rml_model_config){0};
    for (size_t i = 0; ok && i < s->shapes.n; i++) {
        l->shape = s->shapes.values[i];
        decoder_find_shape(l->shape)->set(&l->config);
        for (size_t w = 0; ok && w < s->weights.n; w++) {
            enum rml_dtype dtype = RML_F32;
            struct rml_error misfit = RML_ERROR_INIT;
            rml_dtype_parse(s->weights.values[w], &dtype);
            l->weight_dtype = rml_dtype_traits(dtype)->name;
            l->quantised = is_quantised(dtype);
            l->weights = decoder_weights_of_type(&l->config, dtype);
            l->misfit = rml_random_model_fits(&l->config, dtype, &misfit) ? NULL : misfit.message;
            ok = list_model(l, sweep, err);
        }
    }
    return ok;
}

static bool list_checkpoint(struct listing *l, const struct bench_sweep_settings *sweep,
                            struct rml_error *err)
{
    struct rml_model *model = bench_load_model(l->plan, l->settings->checkpoint, err);
    if (!model)
        return false;
    l->shape = "checkpoint";
    l->is_checkpoint = true;
    l->config = *rml_model_config(model);
    l->weight_dtype = l->plan->model->weight_dtype;
    l->quantised = rml_model_is_quantised(model);
    l->weights = decoder_weights_of_model(model);
    rml_model_destroy(model);
    return list_model(l, sweep, err);
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    static const char *default_shapes[] = {"tinyllama-2-layers"},
                      *default_weights[] = {"q8_0", "q4_0"};
    static struct bench_kv default_kv[] = {{RML_KV_F16, RML_KV_F16}};
    static uint64_t default_length[] = {128}, default_gen[] = {16}, default_batch[] = {1};
    struct settings s = *(const struct settings *)settings;
    if (!s.shapes.n)
        s.shapes = (struct bench_words){1, default_shapes};
    if (!s.weights.n)
        s.weights = (struct bench_words){2, default_weights};
    if (!s.kv.n)
        s.kv = (struct bench_kvs){1, default_kv};
    if (!s.prompt.n)
        s.prompt = (struct bench_numbers){1, default_length};
    if (!s.gen.n)
        s.gen = (struct bench_numbers){1, default_gen};
    if (!s.depth.n)
        s.depth = (struct bench_numbers){1, default_length};
    if (!s.batch.n)
        s.batch = (struct bench_numbers){1, default_batch};
    struct listing *l = calloc(1, sizeof *l);
    if (!l)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    l->plan = plan;
    l->settings = &s;
    bool ok = s.checkpoint ? list_checkpoint(l, sweep, err) : list_random(l, sweep, err);
    free(l);
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct opened {
    struct rml_model *model;
    struct rml_thread_pool *pool;
    struct decoder_case *c;
};

static void close_case(void *state)
{
    struct opened *o = state;
    decoder_case_destroy(o->c);
    rml_thread_pool_destroy(o->pool);
    rml_model_destroy(o->model);
    free(o);
}

static bool verify(const void *state, struct rml_error *err)
{
    const struct opened *o = state;
    return decoder_case_verify(o->c, err);
}

static int64_t kv_nbytes(const void *state)
{
    const struct opened *o = state;
    return (int64_t)decoder_case_kv_nbytes(o->c);
}

/* Operations that the model has not are left out. */
static json_t *profile(void *state, int64_t iters, struct rml_error *err)
{
    struct opened *o = state;
    struct rml_profile p;
    if (!decoder_case_profile(o->c, iters, &p, err))
        return NULL;
    json_t *operations = json_object();
    for (int op = 0; op < RML_N_OPERATIONS; op++) {
        if (p.wall_ns[op] == 0)
            continue;
        json_t *times = json_pack("{sf sf}", "wall_ns", (double)p.wall_ns[op] / (double)iters,
                                  "wait_ns", (double)p.wait_ns[op] / (double)iters);
        json_object_set_new(operations, rml_operation_name((enum rml_operation)op), times);
    }
    if (!operations)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a profile");
    return operations;
}

/* The name of a random decoder's case begins with its shape. */
static struct rml_model *random_model(const struct bench_spec *spec, enum rml_dtype dtype,
                                      struct rml_error *err)
{
    char name[sizeof spec->name];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec->name, "/"), spec->name);
    const struct decoder_shape *shape = decoder_find_shape(name);
    if (!shape) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "this program has no shape '%s'", name);
        return NULL;
    }
    struct rml_model_config config;
    shape->set(&config);
    return rml_model_random(&config, dtype, bench_spec_seed(spec), err);
}

static bool settings_of(const struct bench_spec *spec, struct decoder_settings *s,
                        struct rml_error *err)
{
    const struct store_case *c = &spec->what;
    *s = (struct decoder_settings){.n_batch = (size_t)c->n_batch,
                                   .n_prompt = (size_t)c->n_prompt,
                                   .n_gen = (size_t)c->n_gen,
                                   .n_depth = (size_t)c->n_depth,
                                   .seed = bench_spec_seed(spec)};
    if (c->n_batch < 1 || c->n_prompt < 0 || c->n_gen < 0 || c->n_depth < 0 ||
        (c->n_prompt == 0 && c->n_gen == 0))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no lengths");
    return bench_spec_arithmetic(spec, &s->arithmetic, err) &&
           bench_spec_kv(spec, &s->k, &s->v, err);
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    struct decoder_settings s;
    enum rml_dtype dtype = RML_F32;
    if (!settings_of(spec, &s, err))
        return false;
    if (!spec->checkpoint && !rml_dtype_parse(spec->what.weight_dtype, &dtype))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no type of weights");
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    o->model =
        spec->checkpoint ? bench_open_model(spec->checkpoint, err) : random_model(spec, dtype, err);
    o->pool = o->model ? rml_thread_pool_create((unsigned)spec->what.threads, err) : NULL;
    o->c = o->pool ? decoder_case_create(o->model, &s, o->pool, err) : NULL;
    if (!o->c) {
        close_case(o);
        return false;
    }
    const struct rml_model_config *config = rml_model_config(o->model);
    const struct decoder_weights weights = decoder_weights_of_model(o->model);
    *opened = (struct bench_case){
        .state = o,
        .work = decoder_case_work(o->c),
        .facts = {.isa = rml_isa_name(decoder_case_isa(o->c)),
                  .items_per_iter = (double)s.n_batch * (s.n_prompt ? (double)s.n_prompt : 1),
                  .bytes_per_iter = decoder_bytes(config, &weights, &s),
                  .flops_per_iter = decoder_flops(config, &s)},
        .verify = verify,
        .kv_nbytes = kv_nbytes,
        .profile = profile,
        .close = close_case,
    };
    return true;
}

const struct bench_suite bench_decoder_suite = {
    .name = "decoder",
    .summary = "prefill and decode of a checkpoint, or of a decoder with random weights",
    .args_doc = "[CHECKPOINT]",
    .doc = "Times prefill and decode, apart, of a checkpoint or of decoders with random weights "
           "and the shapes of real models.\v"
           "Examples: two weight types by number of threads; a checkpoint by depth:\n\n"
           "  rml-bench decoder --weights q8_0,q4_k --threads 1,2,4\n"
           "  rml-bench decoder model.gguf --prompt 0 --depth 0,512-8192*2",
    .work_version = 1,
    .takes_threads = true,
    .has_roof = true,
    .has_profile = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .release = release,
    .enumerate = enumerate,
    .open = open_case,
};
