/*
 * The recipe from config.json, as transformers 4 and 5 write it.
 *
 * An absent key takes the default of the family's config class, which the
 * table below holds; null is not absent. What is read here is what the class
 * of that family reads: a Qwen config carries a sliding_window that it does
 * not use, a Mistral config without one has 4096. Beyond that a window of Llama is
 * honoured, layer_types hold for every family with windows (transformers 5
 * turns such a Mistral into a Ministral), and null heads are derived in every
 * family, where some classes only fail.
 */
#include <math.h>
#include <string.h>

#include "model/config_readers.h"
#include "model/json_fields.h"

enum {
    QKV_BIAS = 1,          /* always biases of q, k, v */
    BIAS_KEY = 2,          /* attention_bias adds them, and one of the output with them */
    NO_WINDOW = 4,         /* sliding_window is not used unless use_sliding_window asks for it */
    GEMMA = 8,             /* sandwich norms, scales, two rotary bases, a pattern of windows */
    NORMALIZE_ALWAYS = 16, /* of the chosen experts' probabilities, whatever norm_topk_prob says */
    OWN_EXPERT_SIZE = 32   /* moe_intermediate_size; else intermediate_size is an expert's */
};

/* Defaults of transformers' config classes. n_head_kv 0: as many as heads. head_dim 0:
 * hidden_size / num_attention_heads. bos and eos -1: none. */
struct family {
    const char *model_type;
    uint32_t n_vocab, n_embd, n_ff, n_layer, n_head, n_head_kv, head_dim, n_context;
    double norm_eps, rope_theta;
    int32_t bos, eos;
    uint32_t sliding_window;
    uint32_t n_expert, n_expert_used, n_ff_expert;
    enum rml_qk_norm qk_norm;
    unsigned flags;
};

/* clang-format off */
static const struct family families[] = {
    /* type, vocabulary, hidden, feed-forward, layers, heads, of them kv, head, context,
     * epsilon, theta, bos, eos, window, experts, of them used, their size, QK-norm, flags */
    {"llama", 32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6, 1e4, 1, 2, 0,
     0, 0, 0, RML_QK_NORM_NONE, BIAS_KEY},
    {"mistral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-6, 1e4, 1, 2, 4096,
     0, 0, 0, RML_QK_NORM_NONE, 0},
    {"mixtral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5, 1e6, 1, 2, 0,
     8, 2, 0, RML_QK_NORM_NONE, NORMALIZE_ALWAYS},
    {"qwen2", 151936, 4096, 22016, 32, 32, 32, 0, 32768, 1e-6, 1e4, -1, -1, 0,
     0, 0, 0, RML_QK_NORM_NONE, QKV_BIAS | NO_WINDOW},
    {"qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, 1e-6, 1e4, -1, -1, 0,
     0, 0, 0, RML_QK_NORM_HEAD, BIAS_KEY | NO_WINDOW},
    {"qwen3_moe", 151936, 2048, 6144, 24, 32, 4, 0, 32768, 1e-6, 1e4, -1, -1, 0,
     128, 8, 768, RML_QK_NORM_HEAD, BIAS_KEY | NO_WINDOW | OWN_EXPERT_SIZE},
    {"gemma3_text", 262208, 2304, 9216, 26, 8, 4, 256, 131072, 1e-6, 1e6, 2, 1, 4096,
     0, 0, 0, RML_QK_NORM_HEAD, BIAS_KEY | GEMMA},
    {"olmoe", 50304, 2048, 2048, 16, 16, 0, 0, 4096, 1e-5, 1e4, -1, 50279, 0,
     64, 8, 0, RML_QK_NORM_WHOLE, BIAS_KEY},
};
/* clang-format on */

#define GEMMA_QUERY_PRE_ATTN_SCALAR 256
#define GEMMA_LOCAL_THETA 10000
#define GEMMA_PATTERN 6 /* each sixth layer sees everything */

static const struct family *find_family(struct rmli_json_fields *f)
{
    const char *type = json_string_value(rmli_field_get(f, "model_type"));
    for (size_t i = 0; type && i < sizeof families / sizeof families[0]; i++)
        if (strcmp(type, families[i].model_type) == 0)
            return &families[i];
    rmli_field_fail(f, type ? RML_UNSUPPORTED : RML_FORMAT, "model_type",
                    "llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma3_text or olmoe");
    return NULL;
}

static void read_sizes(struct rmli_json_fields *f, const struct family *family,
                       struct rml_model_config *c)
{
    c->n_vocab = family->n_vocab;
    c->n_embd = family->n_embd;
    c->n_ff = family->n_ff;
    c->n_layer = family->n_layer;
    c->n_head = family->n_head;
    c->n_context = family->n_context;
    rmli_field_u32(f, "vocab_size", &c->n_vocab);
    rmli_field_u32(f, "hidden_size", &c->n_embd);
    rmli_field_u32(f, "intermediate_size", &c->n_ff);
    rmli_field_u32(f, "num_hidden_layers", &c->n_layer);
    rmli_field_u32(f, "num_attention_heads", &c->n_head);
    rmli_field_u32(f, "max_position_embeddings", &c->n_context);

    c->n_head_kv = family->n_head_kv ? family->n_head_kv : c->n_head;
    rmli_field_u32_or_null(f, "num_key_value_heads", c->n_head, &c->n_head_kv);

    uint32_t derived = c->n_head ? c->n_embd / c->n_head : 0;
    c->head_dim = family->head_dim ? family->head_dim : derived;
    rmli_field_u32_or_null(f, "head_dim", derived, &c->head_dim);
    bool is_derived =
        rmli_field_get(f, "head_dim") ? !rmli_field_has(f, "head_dim") : family->head_dim == 0;
    if (is_derived && c->n_head && c->n_embd % c->n_head != 0)
        rmli_field_fail(f, RML_FORMAT, "hidden_size",
                        "a multiple of num_attention_heads (%u), since head_dim is not given",
                        c->n_head);
}

static void read_activation(struct rmli_json_fields *f, const struct family *family,
                            struct rml_model_config *c)
{
    /* Gemma's key is hidden_activation, that of all others hidden_act. */
    bool gemma = family->flags & GEMMA;
    const char *key = gemma ? "hidden_activation" : "hidden_act";
    if (!rmli_field_has(f, key))
        key = gemma ? "hidden_act" : "hidden_activation";
    c->activation = gemma ? RML_GELU_TANH : RML_SILU;
    if (!rmli_field_has(f, key))
        return;
    const char *name = json_string_value(rmli_field_get(f, key));
    if (name && strcmp(name, "silu") == 0)
        c->activation = RML_SILU;
    else if (name && strcmp(name, "gelu_pytorch_tanh") == 0)
        c->activation = RML_GELU_TANH;
    else
        rmli_field_fail(f, name ? RML_UNSUPPORTED : RML_FORMAT, key, "silu or gelu_pytorch_tanh");
}

/* One flag a layer from layer_types; false when the key is absent or null. */
static bool read_layer_types(struct rmli_json_fields *f, struct rml_model_config *c,
                             bool *any_sliding)
{
    if (!rmli_field_has(f, "layer_types"))
        return false;
    const json_t *types = rmli_field_get(f, "layer_types");
    if (!json_is_array(types) || json_array_size(types) != c->n_layer) {
        rmli_field_fail(f, RML_FORMAT, "layer_types", "a list of %u, one for each layer",
                        c->n_layer);
        return true;
    }
    for (size_t i = 0; i < c->n_layer && i < RML_MAX_LAYERS; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool sliding = type && strcmp(type, "sliding_attention") == 0;
        if (!sliding && !(type && strcmp(type, "full_attention") == 0)) {
            char found[64];
            rmli_field_show(json_array_get(types, i), found, sizeof found);
            rmli_fail(f->err, type ? RML_UNSUPPORTED : RML_FORMAT, f->file, -1,
                      "'layer_types[%zu]' is %s, expected full_attention or sliding_attention", i,
                      found);
            f->ok = false;
            return true;
        }
        c->sliding_layer[i] = sliding;
        *any_sliding |= sliding;
    }
    return true;
}

static void read_window(struct rmli_json_fields *f, const struct family *family,
                        struct rml_model_config *c)
{
    bool any_sliding = false, gemma = family->flags & GEMMA;
    if (family->flags & NO_WINDOW) {
        bool used = false;
        rmli_field_bool(f, "use_sliding_window", &used);
        if (used)
            rmli_field_fail(f, RML_UNSUPPORTED, "use_sliding_window", "false");
        read_layer_types(f, c, &any_sliding);
        if (any_sliding)
            rmli_field_fail(f, RML_UNSUPPORTED, "layer_types",
                            "full_attention only, since use_sliding_window is not set");
        return;
    }

    c->sliding_window = family->sliding_window;
    rmli_field_u32_or_null(f, "sliding_window", 0, &c->sliding_window);
    if (c->sliding_window == 0 && rmli_field_has(f, "sliding_window"))
        rmli_field_fail(f, RML_FORMAT, "sliding_window", "at least 1, or null for none");

    if (!read_layer_types(f, c, &any_sliding)) {
        uint32_t period = gemma ? GEMMA_PATTERN : 0; /* 0: all layers slide */
        const char *key = "sliding_window_pattern";
        if (!rmli_field_get(f, key))
            key = "_sliding_window_pattern";
        if (gemma || c->sliding_window) {
            rmli_field_u32(f, key, &period);
            if (period == 0 && rmli_field_get(f, key))
                rmli_field_fail(f, RML_FORMAT, key, "at least 1");
        }
        for (size_t i = 0; i < c->n_layer && i < RML_MAX_LAYERS; i++)
            c->sliding_layer[i] = period == 0 || (i + 1) % period != 0;
    }
    /* Gemma's sliding layers keep their rotary base even without a window. */
    if (c->sliding_window == 0 && !gemma)
        memset(c->sliding_layer, 0, sizeof c->sliding_layer);
}

static void read_experts(struct rmli_json_fields *f, const struct family *family,
                         struct rml_model_config *c)
{
    static const char *const keys[] = {"num_local_experts", "num_experts"};
    if (!family->n_expert)
        return;
    c->n_expert = family->n_expert;
    c->n_expert_used = family->n_expert_used;
    for (int i = 0; i < 2; i++) {
        rmli_field_u32(f, keys[i], &c->n_expert);
        if (rmli_field_get(f, keys[i]) && (c->n_expert < 1 || c->n_expert > RML_MAX_EXPERTS))
            rmli_field_fail(f, RML_UNSUPPORTED, keys[i], "1 to %d", RML_MAX_EXPERTS);
    }
    const json_t *local = rmli_field_get(f, keys[0]), *plain = rmli_field_get(f, keys[1]);
    if (local && plain && !json_equal(local, plain))
        rmli_field_fail(f, RML_FORMAT, keys[1], "the value of num_local_experts, %u",
                        (uint32_t)json_integer_value(local));

    rmli_field_u32(f, "num_experts_per_tok", &c->n_expert_used);
    c->n_ff_expert = c->n_ff;
    if (family->flags & OWN_EXPERT_SIZE) {
        c->n_ff_expert = family->n_ff_expert;
        rmli_field_u32(f, "moe_intermediate_size", &c->n_ff_expert);
    }
    c->n_ff = 0;
    rmli_field_bool(f, "norm_topk_prob", &c->normalize_expert_weights);
    if (family->flags & NORMALIZE_ALWAYS)
        c->normalize_expert_weights = true;
}

/* A token id or -1; false when the value is neither a number nor null. */
static bool token_id(const json_t *value, int32_t *id)
{
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    *id = n >= 0 && n <= INT32_MAX ? (int32_t)n : -1;
    return json_is_integer(value) || json_is_null(value);
}

static void read_special_tokens(struct rmli_json_fields *f, const struct family *family,
                                struct rml_model_config *c)
{
    const json_t *bos = rmli_field_get(f, "bos_token_id"), *eos = rmli_field_get(f, "eos_token_id");
    int32_t id = family->bos;
    if (bos && !token_id(bos, &id))
        rmli_field_fail(f, RML_FORMAT, "bos_token_id", "a token id or null");
    c->bos = id;

    id = family->eos;
    size_t n = json_is_array(eos) ? json_array_size(eos) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_is_array(eos) ? json_array_get(eos, i) : eos;
        if ((value && !token_id(value, &id)) || c->n_eos == RML_MAX_EOS) {
            rmli_field_fail(f, RML_FORMAT, "eos_token_id",
                            "a token id, a list of at most %d or null", RML_MAX_EOS);
            return;
        }
        if (id >= 0)
            c->eos[c->n_eos++] = id;
    }
}

static void read_switches(struct rmli_json_fields *f, const struct family *family,
                          struct rml_model_config *c)
{
    bool gemma = family->flags & GEMMA;
    double eps = family->norm_eps, query_scalar = gemma ? GEMMA_QUERY_PRE_ATTN_SCALAR : c->head_dim;

    rmli_field_f64(f, "rms_norm_eps", &eps);
    c->norm_eps = (float)eps;
    if (gemma)
        rmli_field_f64(f, "query_pre_attn_scalar", &query_scalar);
    c->attention_scale = rmli_inverse_sqrt(query_scalar);
    c->embedding_scale = gemma ? (float)sqrt(c->n_embd) : 1;
    c->sandwich_norms = gemma;
    c->norm_plus_one = gemma;
    c->tied_head = gemma;
    rmli_field_bool(f, "tie_word_embeddings", &c->tied_head);
    c->qk_norm = family->qk_norm;
    c->attention_bias = family->flags & QKV_BIAS;

    bool biased = false;
    if (family->flags & BIAS_KEY)
        rmli_field_bool(f, "attention_bias", &biased);
    if (biased)
        rmli_field_fail(f, RML_UNSUPPORTED, "attention_bias",
                        "false: the output projection would have a bias too");
}

bool rmli_config_from_json(const struct json_t *root, const char *file,
                           struct rml_model_config *config, struct rml_error *err)
{
    struct rmli_json_fields f = {.object = root, .file = file, .path = "", .err = err, .ok = true};
    struct rml_model_config c = {.rope_pairing = RML_ROPE_HALF};

    if (!json_is_object(root))
        return rmli_fail(err, RML_FORMAT, file, -1, "the text is not a JSON object");
    const struct family *family = find_family(&f);
    if (!family)
        return false;
    strcpy(c.architecture, family->model_type);

    rmli_refuse_json_settings(&f);
    read_sizes(&f, family, &c);
    read_activation(&f, family, &c);
    read_switches(&f, family, &c);
    read_window(&f, family, &c);
    read_experts(&f, family, &c);
    read_special_tokens(&f, family, &c);
    c.rope_theta = family->rope_theta;
    c.rope_local_theta = family->flags & GEMMA ? GEMMA_LOCAL_THETA : 0;
    rmli_rope_from_json(&f, &c);
    *config = c;
    return f.ok;
}
