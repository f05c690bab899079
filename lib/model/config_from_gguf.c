/*
 * The recipe from GGUF metadata, as llama.cpp's converter writes it and its
 * loader reads it. (Keys: gguf-py's constants.py; defaults: llama-model.cpp and
 * src/models/.) What GGUF has no key for is read off the tensor table: a
 * missing output.weight means a tied head, blk.0.attn_q.bias biases,
 * blk.0.attn_q_norm.weight QK-norm, rope_freqs.weight the divisors of Llama
 * 3.1's scaling.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "files/gguf.h"
#include "model/config_readers.h"

struct reader {
    const struct rml_checkpoint *cp;
    const struct rmli_gguf *gguf;
    const char *arch; /* of the file */
    struct rml_error *err;
    bool ok;
    char key[128]; /* the last one looked up */
};

/* clang-format off */
static const struct architecture {
    const char *name, *model_type;
    enum rml_rope_pairing pairing;
    bool gemma;
    bool needs_experts;
    bool expert_weights_norm; /* when the file does not say; llama.cpp's graphs */
} architectures[] = {
    {"llama", "llama", RML_ROPE_INTERLEAVED, false, false, true}, /* mixtral when it has experts */
    {"qwen2", "qwen2", RML_ROPE_HALF, false, false, true},
    {"qwen3", "qwen3", RML_ROPE_HALF, false, false, true},
    {"qwen3moe", "qwen3_moe", RML_ROPE_HALF, false, true, true},
    {"gemma3", "gemma3_text", RML_ROPE_HALF, true, false, true},
    {"olmoe", "olmoe", RML_ROPE_HALF, false, true, false},
};
/* clang-format on */

static const char *key_of(struct reader *r, const char *name)
{
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, name);
    return r->key;
}

/* Of a key that is there. */
static int64_t place(const struct reader *r, const char *key)
{
    return (int64_t)rmli_gguf_find(r->gguf, key)->offset;
}

static bool fail(struct reader *r, enum rml_code code, const struct rmli_gguf_kv *kv,
                 const char *message)
{
    r->ok = false;
    return rmli_fail(r->err, code, rmli_gguf_path(r->gguf), kv ? (int64_t)kv->offset : -1,
                     "'%s' %s", r->key, message);
}

/* A number, or an array whose elements are all the same: converters write one entry a
 * layer where models may differ. */
static bool get_u32(struct reader *r, const char *name, uint32_t *out)
{
    const struct rmli_gguf_kv *kv = rmli_gguf_find(r->gguf, key_of(r, name));
    bool present = false;
    if (!kv)
        return false;
    if (kv->type != RMLI_GGUF_ARRAY) {
        r->ok &= rmli_gguf_get_u32(r->gguf, r->key, out, &present, r->err);
        return present;
    }
    bool is_integer = kv->elem_type != RMLI_GGUF_STRING && kv->elem_type != RMLI_GGUF_ARRAY &&
                      kv->elem_type != RMLI_GGUF_F32 && kv->elem_type != RMLI_GGUF_F64 &&
                      kv->elem_type != RMLI_GGUF_BOOL;
    int64_t first = is_integer && kv->nelems ? rmli_gguf_elem_i64(kv, 0) : -1;
    if (first < 0 || first > UINT32_MAX)
        return fail(r, RML_FORMAT, kv, "is no list of integers from 0 to 4294967295");
    for (uint64_t i = 1; i < kv->nelems; i++)
        if (rmli_gguf_elem_i64(kv, i) != first)
            return fail(r, RML_UNSUPPORTED, kv, "differs between layers");
    *out = (uint32_t)first;
    return true;
}

static bool get_f64(struct reader *r, const char *name, double *out)
{
    bool present = false;
    r->ok &= rmli_gguf_get_f64(r->gguf, key_of(r, name), out, &present, r->err);
    return present;
}

static void require_u32(struct reader *r, const char *name, uint32_t *out)
{
    if (!get_u32(r, name, out) && r->ok) {
        rmli_fail(r->err, RML_NOT_FOUND, rmli_gguf_path(r->gguf), -1,
                  "the key '%s' is missing (a number)", r->key);
        r->ok = false;
    }
}

static const struct rml_tensor_info *find(struct reader *r, const char *tensor)
{
    return rml_checkpoint_find_tensor(r->cp, tensor);
}

static bool text_is(const struct rmli_gguf_string *text, const char *wanted)
{
    return text->nbytes == strlen(wanted) && memcmp(text->data, wanted, text->nbytes) == 0;
}

static const struct architecture *find_architecture(struct reader *r)
{
    const char *path = rmli_gguf_path(r->gguf);
    struct rmli_gguf_string type = {"model", 5}, name = {"", 0};
    bool present = false;

    if (!rmli_gguf_get_string(r->gguf, "general.type", &type, NULL, r->err) ||
        !rmli_gguf_get_string(r->gguf, "general.architecture", &name, &present, r->err))
        return NULL;
    if (!text_is(&type, "model")) {
        rmli_fail(r->err, RML_UNSUPPORTED, path, place(r, "general.type"),
                  "'general.type' is '%.*s', expected model",
                  (int)(type.nbytes < 64 ? type.nbytes : 64), type.data);
        return NULL;
    }
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (text_is(&name, architectures[i].name))
            return &architectures[i];
    if (present)
        rmli_fail(
            r->err, RML_UNSUPPORTED, path, place(r, "general.architecture"),
            "'general.architecture' is '%.*s', expected llama, qwen2, qwen3, qwen3moe, gemma3 "
            "or olmoe",
            (int)(name.nbytes < 64 ? name.nbytes : 64), name.data);
    else
        rmli_fail(r->err, RML_NOT_FOUND, path, -1, "the key 'general.architecture' is missing");
    return NULL;
}

/* Keys that must repeat the head size: a value of another size is a part of the head that
 * is not rotated, or a head whose keys and values differ. A head size of 0 is refused later. */
static void require_head_dim(struct reader *r, const char *name, uint32_t head_dim)
{
    uint32_t n = head_dim;
    get_u32(r, name, &n);
    if (n != head_dim && head_dim > 0 && r->ok) {
        rmli_fail(r->err, RML_UNSUPPORTED, rmli_gguf_path(r->gguf), place(r, r->key),
                  "'%s' is %u, expected the head size, %u", r->key, n, head_dim);
        r->ok = false;
    }
}

static void read_sizes(struct reader *r, struct rml_model_config *c)
{
    double eps = 0;
    require_u32(r, "block_count", &c->n_layer);
    require_u32(r, "context_length", &c->n_context);
    require_u32(r, "embedding_length", &c->n_embd);
    require_u32(r, "attention.head_count", &c->n_head);
    if (!get_f64(r, "attention.layer_norm_rms_epsilon", &eps) && r->ok) {
        rmli_fail(r->err, RML_NOT_FOUND, rmli_gguf_path(r->gguf), -1,
                  "the key '%s' is missing (a number)", r->key);
        r->ok = false;
    }
    c->norm_eps = (float)eps;
    c->n_head_kv = c->n_head;
    get_u32(r, "attention.head_count_kv", &c->n_head_kv);
    c->head_dim = c->n_head ? c->n_embd / c->n_head : 0;
    if (!get_u32(r, "attention.key_length", &c->head_dim) && c->n_head &&
        c->n_embd % c->n_head != 0) {
        key_of(r, "embedding_length");
        fail(r, RML_FORMAT, NULL, "is no multiple of the head count, and there is no key_length");
    }
    static const char *const repeats[] = {"attention.value_length", "attention.key_length_swa",
                                          "attention.value_length_swa", "rope.dimension_count",
                                          "rope.dimension_count_swa"};
    for (size_t i = 0; i < sizeof repeats / sizeof repeats[0]; i++)
        require_head_dim(r, repeats[i], c->head_dim);

    const struct rml_tensor_info *embedding = find(r, "token_embd.weight");
    if (get_u32(r, "vocab_size", &c->n_vocab))
        return;
    if (embedding && embedding->n_dims == 2 && embedding->dims[0] <= UINT32_MAX) {
        c->n_vocab = (uint32_t)embedding->dims[0];
        return;
    }
    fail(r, RML_NOT_FOUND, NULL,
         "is missing, and so is a matrix 'token_embd.weight' with its rows");
}

static void read_feed_forward(struct reader *r, const struct architecture *a,
                              struct rml_model_config *c)
{
    bool normalize = a->expert_weights_norm;
    get_u32(r, "expert_count", &c->n_expert);
    if (c->n_expert == 0 && a->needs_experts && r->ok) {
        key_of(r, "expert_count");
        fail(r, RML_FORMAT, NULL, "is missing or 0, expected a number of experts");
    }
    if (c->n_expert == 0) {
        require_u32(r, "feed_forward_length", &c->n_ff);
        return;
    }
    require_u32(r, "expert_used_count", &c->n_expert_used);
    if (!get_u32(r, "expert_feed_forward_length", &c->n_ff_expert) || c->n_ff_expert == 0)
        require_u32(r, "feed_forward_length", &c->n_ff_expert);
    r->ok &=
        rmli_gguf_get_bool(r->gguf, key_of(r, "expert_weights_norm"), &normalize, NULL, r->err);
    c->normalize_expert_weights = normalize;
    if (strcmp(a->name, "llama") == 0)
        strcpy(c->architecture, "mixtral");
}

/* The attention scale of Gemma when the file does not say: only the 27B model, known by its
 * 62 layers, scales by n_embd / n_head. (llama.cpp, src/models/gemma3.cpp.) */
static void read_attention_scale(struct reader *r, bool gemma, struct rml_model_config *c)
{
    double scale = 0;
    c->attention_scale = rmli_inverse_sqrt(
        gemma && c->n_layer == 62 && c->n_head ? c->n_embd / c->n_head : c->head_dim);
    if (!get_f64(r, "attention.scale", &scale) || scale == 0)
        return;
    if (gemma)
        c->attention_scale = (float)scale;
    else if (fabs(scale - (double)c->attention_scale) > 1e-6 * scale)
        fail(r, RML_UNSUPPORTED, rmli_gguf_find(r->gguf, r->key),
             "is not 1 / sqrt(head size), which this architecture uses");
}

/* One flag a layer from an array, or every layer but each period-th; period 0: all slide. */
static void read_pattern(struct reader *r, uint32_t period, struct rml_model_config *c)
{
    const struct rmli_gguf_kv *kv =
        rmli_gguf_find(r->gguf, key_of(r, "attention.sliding_window_pattern"));
    uint32_t n = c->n_layer < RML_MAX_LAYERS ? c->n_layer : RML_MAX_LAYERS;
    if (kv && kv->type == RMLI_GGUF_ARRAY) {
        if (kv->elem_type == RMLI_GGUF_STRING || kv->elem_type == RMLI_GGUF_ARRAY ||
            kv->nelems != c->n_layer) {
            fail(r, RML_FORMAT, kv, "is no list of one flag for each layer");
            return;
        }
        for (uint32_t i = 0; i < n; i++)
            c->sliding_layer[i] = rmli_gguf_elem_f64(kv, i) != 0;
        return;
    }
    get_u32(r, "attention.sliding_window_pattern", &period);
    for (uint32_t i = 0; i < n; i++)
        c->sliding_layer[i] = period == 0 || (i + 1) % period != 0;
}

static void read_window(struct reader *r, bool gemma, struct rml_model_config *c)
{
    /* Old conversions of Qwen carry a window that the model does not use. */
    if (strncmp(c->architecture, "qwen", 4) == 0)
        return;
    get_u32(r, "attention.sliding_window", &c->sliding_window);
    if (c->sliding_window == 0)
        return;
    read_pattern(r, gemma ? 6 : 0, c);
    if (gemma) {
        c->rope_local_theta = 10000;
        get_f64(r, "rope.freq_base_swa", &c->rope_local_theta);
        if (c->rope_local_theta == 0) /* which would mean no base of their own */
            fail(r, RML_FORMAT, NULL, "is 0, expected more than 0");
    }
}

/*
 * Rotary scaling. llama.cpp multiplies cos and sin by attn_factor and YaRN's
 * default for the factor; its converter writes transformers' attention_factor,
 * which replaces that default, as yarn_attn_factor, and log_multiplier is
 * mscale_all_dim beside an mscale of 1.
 */
static void read_rope(struct reader *r, struct rml_model_config *c)
{
    struct rml_rope_scaling *s = &c->rope_scaling;
    struct rmli_gguf_string type = {"linear", 6};
    double factor = 0, multiplier = 1, log_multiplier = 0;

    *s = (struct rml_rope_scaling){.type = RML_ROPE_SCALING_NONE, .truncate = true};
    c->rope_theta = 10000;
    get_f64(r, "rope.freq_base", &c->rope_theta);
    r->ok &= rmli_gguf_get_string(r->gguf, key_of(r, "rope.scaling.type"), &type, NULL, r->err);
    bool yarn = text_is(&type, "yarn");
    if (!yarn && !text_is(&type, "linear") && !text_is(&type, "none")) {
        rmli_fail(r->err, RML_UNSUPPORTED, rmli_gguf_path(r->gguf), place(r, r->key),
                  "'%s' is '%.*s', expected none, linear or yarn", r->key,
                  (int)(type.nbytes < 64 ? type.nbytes : 64), type.data);
        r->ok = false;
        return;
    }
    if (!get_f64(r, "rope.scaling.factor", &factor))
        get_f64(r, "rope.scale_linear", &factor); /* the older name */
    if (factor == 0 || text_is(&type, "none"))
        factor = 1;
    get_f64(r, "rope.scaling.attn_factor", &multiplier);
    if (multiplier != 1 && !yarn)
        fail(r, RML_UNSUPPORTED, rmli_gguf_find(r->gguf, r->key), "is not 1 without YaRN");

    if (yarn) {
        s->type = RML_ROPE_SCALING_YARN;
        s->factor = factor;
        s->original_context = c->n_context;
        s->beta_fast = 32;
        s->beta_slow = 1;
        get_f64(r, "rope.scaling.original_context_length", &s->original_context);
        if (s->original_context == 0)
            s->original_context = c->n_context;
        get_f64(r, "rope.scaling.yarn_beta_fast", &s->beta_fast);
        get_f64(r, "rope.scaling.yarn_beta_slow", &s->beta_slow);
        get_f64(r, "rope.scaling.yarn_log_multiplier", &log_multiplier);
        s->attention_factor = rmli_yarn_attention_factor(factor, 1, log_multiplier);
        get_f64(r, "rope.scaling.yarn_attn_factor", &s->attention_factor);
        s->attention_factor *= multiplier;
    } else if (factor != 1) {
        s->type = RML_ROPE_SCALING_LINEAR;
        s->factor = factor;
    }
    if (!find(r, "rope_freqs.weight"))
        return;
    if (s->type != RML_ROPE_SCALING_NONE && r->ok) {
        key_of(r, "rope.scaling.factor");
        fail(r, RML_UNSUPPORTED, NULL, "and a tensor rope_freqs.weight both scale the rotation");
    }
    s->type = RML_ROPE_SCALING_FACTORS;
}

static void read_tensor_switches(struct reader *r, struct rml_model_config *c)
{
    c->tied_head = !find(r, "output.weight");
    c->attention_bias = find(r, "blk.0.attn_q.bias") || find(r, "blk.0.attn_qkv.bias");
    const struct rml_tensor_info *norm = find(r, "blk.0.attn_q_norm.weight");
    if (norm)
        c->qk_norm = norm->n_dims == 1 && norm->dims[0] != c->head_dim ? RML_QK_NORM_WHOLE
                                                                       : RML_QK_NORM_HEAD;
}

/* -1 for none, which some files write as all ones, and for what is no id: that is an error of the
 * tokenizer, which stops no work on ids. */
static int32_t token_id(const struct reader *r, const char *key)
{
    struct rml_error ignored = RML_ERROR_INIT;
    uint32_t id = UINT32_MAX;
    return rmli_gguf_get_u32(r->gguf, key, &id, NULL, &ignored) && id <= INT32_MAX ? (int32_t)id
                                                                                   : -1;
}

static void read_special_tokens(const struct reader *r, struct rml_model_config *c)
{
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    c->bos = token_id(r, "tokenizer.ggml.bos_token_id");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        int32_t id = token_id(r, ends[i]);
        bool known = id < 0;
        for (uint32_t j = 0; j < c->n_eos; j++)
            known |= c->eos[j] == id;
        if (!known)
            c->eos[c->n_eos++] = id;
    }
}

bool rmli_config_from_gguf(const struct rml_checkpoint *cp, struct rml_model_config *config,
                           struct rml_error *err)
{
    struct reader r = {.cp = cp, .gguf = rmli_checkpoint_gguf(cp), .err = err, .ok = true};
    struct rml_model_config c = {.n_vocab = 0};

    const struct architecture *a = find_architecture(&r);
    if (!a || !rmli_refuse_gguf_settings(r.gguf, a->name, err))
        return false;
    r.arch = a->name;
    strcpy(c.architecture, a->model_type);
    c.rope_pairing = a->pairing;
    c.activation = a->gemma ? RML_GELU_TANH : RML_SILU;
    c.sandwich_norms = a->gemma;

    read_sizes(&r, &c);
    read_feed_forward(&r, a, &c);
    c.embedding_scale = a->gemma ? (float)sqrt(c.n_embd) : 1;
    read_attention_scale(&r, a->gemma, &c);
    read_window(&r, a->gemma, &c);
    read_rope(&r, &c);
    read_tensor_switches(&r, &c);
    read_special_tokens(&r, &c);
    *config = c;
    return r.ok;
}

void rmli_config_gguf_blame(const struct rml_checkpoint *cp, size_t field, struct rml_error *err)
{
    static const struct {
        size_t field;
        const char *key;
    } keys[] = {
        {offsetof(struct rml_model_config, n_vocab), "vocab_size"},
        {offsetof(struct rml_model_config, n_embd), "embedding_length"},
        {offsetof(struct rml_model_config, n_layer), "block_count"},
        {offsetof(struct rml_model_config, n_head), "attention.head_count"},
        {offsetof(struct rml_model_config, n_head_kv), "attention.head_count_kv"},
        {offsetof(struct rml_model_config, head_dim), "attention.key_length"},
        {offsetof(struct rml_model_config, n_context), "context_length"},
        {offsetof(struct rml_model_config, sliding_window), "attention.sliding_window"},
        {offsetof(struct rml_model_config, n_expert), "expert_count"},
        {offsetof(struct rml_model_config, n_expert_used), "expert_used_count"},
        {offsetof(struct rml_model_config, n_ff), "feed_forward_length"},
        {offsetof(struct rml_model_config, n_ff_expert), "expert_feed_forward_length"},
        {offsetof(struct rml_model_config, norm_eps), "attention.layer_norm_rms_epsilon"},
        {offsetof(struct rml_model_config, attention_scale), "attention.scale"},
        {offsetof(struct rml_model_config, rope_theta), "rope.freq_base"},
        {offsetof(struct rml_model_config, rope_local_theta), "rope.freq_base_swa"},
        {offsetof(struct rml_model_config, rope_scaling.factor), "rope.scaling.factor"},
        {offsetof(struct rml_model_config, rope_scaling.original_context),
         "rope.scaling.original_context_length"},
        {offsetof(struct rml_model_config, rope_scaling.beta_fast), "rope.scaling.yarn_beta_fast"},
        {offsetof(struct rml_model_config, rope_scaling.beta_slow), "rope.scaling.yarn_beta_slow"},
        {offsetof(struct rml_model_config, rope_scaling.attention_factor),
         "rope.scaling.yarn_attn_factor"},
    };
    if (!err)
        return;
    struct rml_error ignored = RML_ERROR_INIT;
    struct reader r = {.gguf = rmli_checkpoint_gguf(cp), .err = &ignored};
    r.arch = find_architecture(&r)->name;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_find(r.gguf, key_of(&r, keys[i].key));
        if (keys[i].field != field || !kv)
            continue;
        struct rml_error why = *err;
        rml_error_clear(err);
        rmli_fail(err, why.code, why.file, (int64_t)kv->offset, "'%s': %s", r.key, why.message);
    }
}
