/*
 * general.* and the hyperparameters of a Hugging Face folder, under the keys that llama.cpp's
 * converter writes and its loader reads. They come from the recipe (model_config.h), which has
 * resolved defaults and old spellings; keys for what llama.cpp takes as given (the attention scale,
 * the pattern of windows, whether experts' weights are normalised) are written where the model differs
 * from that, so that nothing of the recipe is lost.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/folder.h"

const char *rmli_gguf_architecture(const struct rml_model_config *config)
{
    static const struct {
        const char *model_type, *architecture;
    } names[] = {{"mistral", "llama"},
                 {"mixtral", "llama"},
                 {"qwen3_moe", "qwen3moe"},
                 {"gemma3_text", "gemma3"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].model_type, config->architecture) == 0)
            return names[i].architecture;
    return config->architecture;
}

struct keys {
    struct rmli_gguf_writer *w;
    const char *architecture;
    struct rml_error *err;
    bool ok;
    char key[128];
};

static const char *key_of(struct keys *k, const char *name)
{
    snprintf(k->key, sizeof k->key, "%s.%s", k->architecture, name);
    return k->key;
}

static void add_u32(struct keys *k, const char *name, uint32_t value)
{
    k->ok = k->ok && rmli_gguf_writer_add_u32(k->w, key_of(k, name), value, k->err);
}

static void add_f32(struct keys *k, const char *name, double value)
{
    k->ok = k->ok && rmli_gguf_writer_add_f32(k->w, key_of(k, name), (float)value, k->err);
}

static void refuse(struct keys *k, const struct rml_conversion *c, const char *what)
{
    if (k->ok)
        rmli_fail(k->err, RML_UNSUPPORTED, rml_checkpoint_path(c->cp), -1,
                  "the model has %s, for which a GGUF of architecture '%s' has no key", what,
                  k->architecture);
    k->ok = false;
}

/* ---- Groups of keys -------------------------------------------------------------------- */

static void add_rope(struct keys *k, const struct rml_conversion *c)
{
    const struct rml_model_config *config = &c->config;
    const struct rml_rope_scaling *s = &config->rope_scaling;
    bool linear = s->type == RML_ROPE_SCALING_LINEAR, yarn = s->type == RML_ROPE_SCALING_YARN;
    add_f32(k, "rope.freq_base", config->rope_theta);
    if (config->rope_local_theta != 0)
        add_f32(k, "rope.freq_base_swa", config->rope_local_theta);
    if (strcmp(k->architecture, "llama") == 0)
        add_u32(k, "rope.dimension_count", config->head_dim);
    if (!linear && !yarn)
        return;
    k->ok = k->ok && rmli_gguf_writer_add_string(k->w, key_of(k, "rope.scaling.type"),
                                                 linear ? "linear" : "yarn", k->err);
    add_f32(k, "rope.scaling.factor", s->factor);
    if (!yarn)
        return;
    if (!s->truncate)
        refuse(k, c, "YaRN scaling without truncation");
    add_u32(k, "rope.scaling.original_context_length", (uint32_t)s->original_context);
    if (s->beta_fast != 32)
        add_f32(k, "rope.scaling.yarn_beta_fast", s->beta_fast);
    if (s->beta_slow != 1)
        add_f32(k, "rope.scaling.yarn_beta_slow", s->beta_slow);
    /* llama.cpp's default is 1 + 0.1 ln factor, of which attn_factor is a multiple */
    double usual = s->factor > 1 ? 0.1 * log(s->factor) + 1 : 1;
    if (fabs(s->attention_factor - usual) > 1e-6 * usual)
        add_f32(k, "rope.scaling.attn_factor", s->attention_factor / usual);
}

static bool has_period(const struct rml_model_config *config, uint32_t period)
{
    for (uint32_t i = 0; i < config->n_layer; i++)
        if (config->sliding_layer[i] != (period == 0 || (i + 1) % period != 0))
            return false;
    return true;
}

static void add_window(struct keys *k, const struct rml_conversion *c, bool gemma)
{
    static const char pattern[] = "attention.sliding_window_pattern";
    const struct rml_model_config *config = &c->config;
    bool any = false;
    for (uint32_t i = 0; i < config->n_layer; i++)
        any |= config->sliding_layer[i];
    if (config->sliding_window == 0 || !any)
        return;
    if (strncmp(k->architecture, "qwen", 4) == 0) {
        refuse(k, c, "a sliding window");
        return;
    }
    add_u32(k, "attention.sliding_window", config->sliding_window);
    if (has_period(config, gemma ? 6 : 0))
        return;
    for (uint32_t period = 2; period <= config->n_layer; period++)
        if (has_period(config, period)) {
            add_u32(k, pattern, period);
            return;
        }
    k->ok = k->ok && rmli_gguf_writer_add(k->w, key_of(k, pattern), RMLI_GGUF_BOOL, config->n_layer,
                                          config->sliding_layer, k->err);
}

static void add_attention(struct keys *k, const struct rml_conversion *c, bool gemma)
{
    const struct rml_model_config *config = &c->config;
    const json_t *root = rmli_checkpoint_config(c->cp);
    bool given = json_is_integer(json_object_get(root, "head_dim"));
    add_u32(k, "attention.head_count", config->n_head);
    add_u32(k, "attention.head_count_kv", config->n_head_kv);
    add_f32(k, "attention.layer_norm_rms_epsilon", (double)config->norm_eps);
    if (given || config->head_dim * config->n_head != config->n_embd) {
        add_u32(k, "attention.key_length", config->head_dim);
        add_u32(k, "attention.value_length", config->head_dim);
    }
    double usual = 1 / sqrt(gemma && config->n_layer == 62 ? config->n_embd / config->n_head
                                                           : config->head_dim);
    if (fabs((double)config->attention_scale - usual) > 1e-6 * usual) {
        if (!gemma)
            refuse(k, c, "an attention scale of its own");
        add_f32(k, "attention.scale", (double)config->attention_scale);
    }
    add_window(k, c, gemma);
}

static void add_feed_forward(struct keys *k, const struct rml_conversion *c)
{
    const struct rml_model_config *config = &c->config;
    if (config->n_expert == 0) {
        add_u32(k, "feed_forward_length", config->n_ff);
        return;
    }
    bool own_size = strcmp(k->architecture, "qwen3moe") == 0;
    const json_t *dense = json_object_get(rmli_checkpoint_config(c->cp), "intermediate_size");
    uint32_t n_ff = config->n_ff_expert;
    if (own_size && json_is_integer(dense))
        n_ff = (uint32_t)json_integer_value(dense);
    add_u32(k, "feed_forward_length", n_ff);
    add_u32(k, "expert_count", config->n_expert);
    add_u32(k, "expert_used_count", config->n_expert_used);
    if (own_size)
        add_u32(k, "expert_feed_forward_length", config->n_ff_expert);
    bool usual = strcmp(k->architecture, "olmoe") != 0;
    if (config->normalize_expert_weights != usual) {
        uint8_t flag = config->normalize_expert_weights;
        k->ok = k->ok && rmli_gguf_writer_add(k->w, key_of(k, "expert_weights_norm"),
                                              RMLI_GGUF_BOOL, -1, &flag, k->err);
    }
}

/* ---- The whole --------------------------------------------------------------------------- */

/* The folder's own name; of a snapshot in the Hugging Face cache, the repository's. */
static char *model_name(const struct rml_conversion *c)
{
    char *path = realpath(rml_checkpoint_path(c->cp), NULL), *name = NULL;
    char *models = path ? strstr(path, "/models--") : NULL;
    if (models) {
        char *last = strstr(models + strlen("/models--"), "--");
        name = strdup(last ? last + 2 : models + 1);
        if (name)
            name[strcspn(name, "/")] = 0;
    } else if (path) {
        const char *slash = strrchr(path, '/');
        name = strdup(slash && slash[1] ? slash + 1 : path);
    }
    free(path);
    return name;
}

bool rmli_conversion_folder_metadata(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                     struct rml_error *err)
{
    const struct rml_model_config *config = &c->config;
    struct keys k = {
        .w = w, .architecture = rmli_gguf_architecture(config), .err = err, .ok = true};
    bool gemma = strcmp(k.architecture, "gemma3") == 0;
    char *name = model_name(c);
    k.ok =
        rmli_gguf_writer_add_string(w, "general.architecture", k.architecture, err) &&
        rmli_gguf_writer_add_string(w, "general.type", "model", err) &&
        rmli_gguf_writer_add_string(w, "general.name", name ? name : "model", err) &&
        rmli_gguf_writer_add_u32(w, "general.file_type", rmli_file_type(c->options.dtype), err) &&
        rmli_gguf_writer_add_u32(w, "general.quantization_version", RMLI_QUANTIZATION_VERSION, err);
    free(name);
    if ((config->activation == RML_GELU_TANH) != gemma)
        refuse(&k, c, "an activation of its own");
    /* The converter writes it for llama alone; where there are no tokens to be counted, llama.cpp
     * needs it of every architecture. */
    if (strcmp(k.architecture, "llama") == 0 || !c->has_tokenizer)
        add_u32(&k, "vocab_size", config->n_vocab);
    add_u32(&k, "block_count", config->n_layer);
    add_u32(&k, "context_length", config->n_context);
    add_u32(&k, "embedding_length", config->n_embd);
    add_feed_forward(&k, c);
    add_attention(&k, c, gemma);
    add_rope(&k, c);
    return k.ok;
}
