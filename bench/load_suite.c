/*
 * The load suite: from a checkpoint on the disk to the logits of the first token, with its files in
 * memory (warm) and not (cold).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "bench/checkpoint_model.h"
#include "bench/decoder_cost.h"
#include "bench/page_cache.h"
#include "bench/suite.h"
#include "tools/cli/options.h"

struct settings {
    const char *checkpoint;
    struct bench_words states;
    struct bench_numbers prompt;
};

enum { KEY_STATE = CLI_OWN_KEY, KEY_PROMPT };

static const struct argp_option options[] = {
    {"state", KEY_STATE, "LIST", 0,
     "Files in memory (warm), or dropped from it before (cold) (warm,cold)", 1},
    {"prompt", KEY_PROMPT, "LIST", 0, "Tokens of the first prompt (1)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case KEY_STATE:
        bench_arg_either(state, "--state", arg, "warm", "cold", &s->states);
        return 0;
    case KEY_PROMPT:
        bench_arg_numbers(state, "--prompt", arg, 1, 1 << 18, &s->prompt);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one CHECKPOINT", arg);
        s->checkpoint = arg;
        return 0;
    case ARGP_KEY_END:
        if (!s->checkpoint)
            argp_error(state, "no CHECKPOINT found");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->states.values);
    free(s->prompt.values);
}

/* ---- The list ------------------------------------------------------------------------------- */

/* What a prefill of n tokens is to the suite of decoders. */
static struct decoder_settings as_decoder(const struct rml_model *model, size_t n_prompt)
{
    bool i8 = rml_model_is_quantised(model);
    return (struct decoder_settings){.arithmetic = i8 ? RML_ARITHMETIC_I8 : RML_ARITHMETIC_F32,
                                     .k = RML_KV_F16,
                                     .v = RML_KV_F16,
                                     .n_batch = 1,
                                     .n_prompt = n_prompt};
}

static bool add(struct bench_plan *plan, const struct rml_model *model, const char *state,
                size_t n_prompt, int threads, uint64_t seed, const char *not_cold,
                struct rml_error *err)
{
    const struct rml_model_config *config = rml_model_config(model);
    const struct decoder_settings s = as_decoder(model, n_prompt);
    const struct decoder_weights weights = decoder_weights_of_model(model);
    bool cold = strcmp(state, "cold") == 0;
    struct bench_spec *spec =
        bench_plan_add(plan, &bench_load_suite, cold ? "checkpoint/cold" : "checkpoint/warm", err);
    if (!spec)
        return false;
    spec->what.weight_dtype = plan->model->weight_dtype;
    spec->what.arithmetic = rml_arithmetic_name(s.arithmetic);
    spec->what.k_dtype = rml_kv_dtype_name(s.k);
    spec->what.v_dtype = rml_kv_dtype_name(s.v);
    spec->what.threads = threads;
    spec->what.n_prompt = (int64_t)n_prompt;
    spec->ends_with_token = true;
    spec->bytes_per_iter = decoder_bytes(config, &weights, &s) + (cold ? 10 * weights.total : 0);
    spec->flops_per_iter = decoder_flops(config, &s);
    spec->memory_nbytes = decoder_memory_nbytes(config, &weights, &s);
    if (n_prompt > config->n_context)
        bench_spec_skip(spec, "%zu tokens, but the model is trained for %u", n_prompt,
                        config->n_context);
    if (cold && not_cold)
        bench_spec_skip(spec, "%s", not_cold);
    return bench_spec_params(spec, json_pack("{sI}", "seed", (json_int_t)seed), err);
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    static const char *default_states[] = {"warm", "cold"};
    static uint64_t default_prompt[] = {1};
    const struct settings *s = settings;
    const struct bench_words states =
        s->states.n ? s->states : (struct bench_words){2, default_states};
    const struct bench_numbers prompt =
        s->prompt.n ? s->prompt : (struct bench_numbers){1, default_prompt};
    struct rml_model *model = bench_load_model(plan, s->checkpoint, err);
    if (!model)
        return false;
    struct bench_files files = {0};
    struct rml_error why = RML_ERROR_INIT;
    bool ok = bench_files_list(rml_checkpoint_path(rml_model_checkpoint(model)), &files, err);
    bool can_be_cold = ok && bench_files_can_be_cold(&files, &why);
    bench_files_release(&files);
    for (size_t t = 0; ok && t < sweep->threads.n; t++)
        for (size_t p = 0; ok && p < prompt.n; p++)
            for (size_t i = 0; ok && i < states.n; i++)
                ok = add(plan, model, states.values[i], (size_t)prompt.values[p],
                         (int)sweep->threads.values[t], sweep->seed,
                         can_be_cold ? NULL : why.message, err);
    rml_model_destroy(model);
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct opened {
    const char *path; /* of the spec */
    struct bench_files files;
    bool cold;
    struct rml_thread_pool *pool;
    struct decoder_settings s;
    int32_t *tokens; /* [s.n_prompt] */
    float *logits;   /* [n_vocab] */
    size_t n_vocab;
    enum rml_isa isa;
    int64_t kv_nbytes;
};

/* The prefill, once the model is there. */
static bool first_token(struct opened *o, const struct rml_model *model, struct rml_error *err)
{
    const struct rml_context_params params = {.arithmetic = o->s.arithmetic,
                                              .max_context = o->s.n_prompt};
    struct rml_kv_shape shape = rml_model_kv_shape(model, o->s.k, o->s.v);
    size_t n_pages = (o->s.n_prompt + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    struct rml_context *context = rml_context_create(model, o->pool, &params, err);
    struct rml_kv_cache *cache = context ? rml_kv_cache_create(&shape, n_pages, err) : NULL;
    struct rml_sequence *sequence = cache ? rml_sequence_create(cache, o->s.n_prompt, err) : NULL;
    bool ok = sequence && rml_forward_tokens(context, sequence, o->tokens, o->s.n_prompt, false,
                                             o->logits, err);
    if (ok) {
        o->isa = rml_context_isa(context);
        o->kv_nbytes = (int64_t)rml_kv_cache_nbytes_used(cache);
    }
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(context);
    return ok;
}

static bool run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct opened *o = arg;
    bool ok = true;
    (void)times;
    for (int64_t i = 0; ok && i < iters; i++) {
        struct rml_model *model = bench_open_model(o->path, err);
        ok = model && first_token(o, model, err);
        rml_model_destroy(model);
    }
    return ok;
}

static bool prepare(void *arg, struct rml_error *err)
{
    struct opened *o = arg;
    return !o->cold || bench_files_make_cold(&o->files, err);
}

static const void *output(const void *arg, size_t *nbytes)
{
    const struct opened *o = arg;
    *nbytes = o->n_vocab * sizeof *o->logits;
    return o->logits;
}

static bool verify(const void *state, struct rml_error *err)
{
    const struct opened *o = state;
    for (size_t id = 0; id < o->n_vocab; id++)
        if (!isfinite(o->logits[id]))
            return rmli_fail(err, RML_INTERNAL, NULL, -1, "logit of token %zu is not finite: %g",
                             id, (double)o->logits[id]);
    return true;
}

static int64_t kv_nbytes(const void *state)
{
    const struct opened *o = state;
    return o->kv_nbytes;
}

static void close_case(void *state)
{
    struct opened *o = state;
    bench_files_release(&o->files);
    rml_thread_pool_destroy(o->pool);
    rmli_free(o->tokens);
    rmli_free(o->logits);
    free(o);
}

/* What has to be known of the model beforehand; it is closed again. */
static bool learn(struct opened *o, const struct bench_spec *spec, struct bench_facts *facts,
                  struct rml_error *err)
{
    struct rml_model *model = bench_open_model(o->path, err);
    if (!model)
        return false;
    const struct rml_model_config *config = rml_model_config(model);
    const struct decoder_weights weights = decoder_weights_of_model(model);
    size_t n = (size_t)spec->what.n_prompt;
    o->n_vocab = config->n_vocab;
    o->s = as_decoder(model, n);
    facts->items_per_iter = (double)n;
    facts->bytes_per_iter = decoder_bytes(config, &weights, &o->s);
    facts->flops_per_iter = decoder_flops(config, &o->s);
    bool ok = (o->tokens = rmli_alloc(n, sizeof *o->tokens, err)) &&
              (o->logits = rmli_alloc_zeroed(o->n_vocab, sizeof *o->logits, err)) &&
              bench_files_list(rml_checkpoint_path(rml_model_checkpoint(model)), &o->files, err);
    struct rmli_rng rng;
    rmli_rng_seed(&rng, bench_spec_seed(spec));
    for (size_t i = 0; ok && i < n; i++)
        o->tokens[i] = (int32_t)rmli_rng_below(&rng, o->n_vocab);
    ok = ok && first_token(o, model, err);
    rml_model_destroy(model);
    return ok;
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    if (!spec->checkpoint || spec->what.n_prompt < 1)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the case has no checkpoint, or no prompt");
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    o->path = spec->checkpoint;
    o->cold = strcmp(spec->what.name, "checkpoint/cold") == 0;
    o->pool = rml_thread_pool_create((unsigned)spec->what.threads, err);
    if (!o->pool || !learn(o, spec, &opened->facts, err)) {
        close_case(o);
        return false;
    }
    opened->state = o;
    opened->facts.isa = rml_isa_name(o->isa);
    opened->work = (struct bench_work){.run = run,
                                       .prepare = prepare,
                                       .output = output,
                                       .arg = o,
                                       .iters_step = 1,
                                       .fixed_iters = o->cold};
    opened->verify = verify;
    opened->kv_nbytes = kv_nbytes;
    opened->close = close_case;
    return true;
}

const struct bench_suite bench_load_suite = {
    .name = "load",
    .summary = "from a checkpoint on the disk to its first token, cold and warm",
    .args_doc = "CHECKPOINT",
    .doc = "Times opening a checkpoint up to the logits of the first prompt's last token: with its "
           "files in memory (warm), and dropped from the page cache before each time (cold; the "
           "disk, or the host of a virtual machine, may still have them in a cache of its own).\v"
           "Example:\n\n"
           "  rml-bench load model.gguf --prompt 1,128",
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
