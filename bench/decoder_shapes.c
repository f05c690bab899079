/*
 * Sizes and switches from the config.json of each model's publication.
 */
#include "bench/decoder_shapes.h"

#include <math.h>
#include <string.h>

/* What most of them are: a Llama. */
static void llama(struct rml_model_config *c, uint32_t n_vocab, uint32_t n_embd, uint32_t n_layer,
                  uint32_t n_head, uint32_t n_head_kv, uint32_t head_dim, uint32_t n_ff)
{
    *c = (struct rml_model_config){
        .architecture = "llama",
        .n_vocab = n_vocab,
        .n_embd = n_embd,
        .n_layer = n_layer,
        .n_head = n_head,
        .n_head_kv = n_head_kv,
        .head_dim = head_dim,
        .n_ff = n_ff,
        .n_context = 1 << 20,
        .activation = RML_SILU,
        .norm_eps = 1e-5f,
        .embedding_scale = 1,
        .attention_scale = 1 / sqrtf((float)head_dim),
        .rope_pairing = RML_ROPE_HALF,
        .rope_theta = 10000,
        .rope_scaling = {.type = RML_ROPE_SCALING_NONE, .factor = 1, .attention_factor = 1},
        .bos = -1,
    };
}

static void tinyllama_2_layers(struct rml_model_config *c)
{
    llama(c, 8192, 2048, 2, 32, 4, 64, 5632);
}

static void tinyllama(struct rml_model_config *c)
{
    llama(c, 32000, 2048, 22, 32, 4, 64, 5632);
}

static void llama_2_7b(struct rml_model_config *c)
{
    llama(c, 32000, 4096, 32, 32, 32, 128, 11008);
}

static void llama_3_8b(struct rml_model_config *c)
{
    llama(c, 128256, 4096, 32, 32, 8, 128, 14336);
    c->rope_theta = 500000;
}

static void llama_3_2_1b(struct rml_model_config *c)
{
    llama(c, 128256, 2048, 16, 32, 8, 64, 8192);
    c->rope_theta = 500000;
    c->tied_head = true;
    c->rope_scaling = (struct rml_rope_scaling){.type = RML_ROPE_SCALING_LLAMA3,
                                                .factor = 32,
                                                .low_freq_factor = 1,
                                                .high_freq_factor = 4,
                                                .original_context = 8192,
                                                .attention_factor = 1};
}

static void mistral_7b(struct rml_model_config *c)
{
    llama(c, 32768, 4096, 32, 32, 8, 128, 14336);
    c->rope_theta = 1e6;
}

static void smollm2_135m(struct rml_model_config *c)
{
    llama(c, 49152, 576, 30, 9, 3, 64, 1536);
    c->rope_theta = 100000;
    c->tied_head = true;
}

static void qwen(struct rml_model_config *c, bool tied)
{
    c->norm_eps = 1e-6f;
    c->rope_theta = 1e6;
    c->tied_head = tied;
}

static void qwen2_5_0_5b(struct rml_model_config *c)
{
    llama(c, 151936, 896, 24, 14, 2, 64, 4864);
    qwen(c, true);
    c->attention_bias = true;
}

static void qwen2_5_7b(struct rml_model_config *c)
{
    llama(c, 152064, 3584, 28, 28, 4, 128, 18944);
    qwen(c, false);
    c->attention_bias = true;
}

static void qwen3_0_6b(struct rml_model_config *c)
{
    llama(c, 151936, 1024, 28, 16, 8, 128, 3072);
    qwen(c, true);
    c->qk_norm = RML_QK_NORM_HEAD;
}

static void qwen3_8b(struct rml_model_config *c)
{
    llama(c, 151936, 4096, 36, 32, 8, 128, 12288);
    qwen(c, false);
    c->qk_norm = RML_QK_NORM_HEAD;
}

static void qwen3_30b_a3b(struct rml_model_config *c)
{
    llama(c, 151936, 2048, 48, 32, 4, 128, 0);
    qwen(c, false);
    c->qk_norm = RML_QK_NORM_HEAD;
    c->n_expert = 128;
    c->n_expert_used = 8;
    c->n_ff_expert = 768;
    c->normalize_expert_weights = true;
}

static void olmoe_1b_7b(struct rml_model_config *c)
{
    llama(c, 50304, 2048, 16, 16, 16, 128, 0);
    c->qk_norm = RML_QK_NORM_WHOLE;
    c->n_expert = 64;
    c->n_expert_used = 8;
    c->n_ff_expert = 1024;
}

/* Every sixth layer sees all, the others 512 keys. */
static void gemma_3(struct rml_model_config *c)
{
    c->activation = RML_GELU_TANH;
    c->norm_eps = 1e-6f;
    c->embedding_scale = sqrtf((float)c->n_embd);
    c->attention_scale = 1.0f / 16; /* 1 / sqrt(query_pre_attn_scalar = 256) */
    c->qk_norm = RML_QK_NORM_HEAD;
    c->sandwich_norms = true;
    c->tied_head = true;
    c->rope_theta = 1e6;
    c->rope_local_theta = 10000;
    c->sliding_window = 512;
    for (uint32_t l = 0; l < c->n_layer; l++)
        c->sliding_layer[l] = (l + 1) % 6 != 0;
}

static void gemma_3_270m(struct rml_model_config *c)
{
    llama(c, 262144, 640, 18, 4, 1, 256, 2048);
    gemma_3(c);
}

static void gemma_3_1b(struct rml_model_config *c)
{
    llama(c, 262144, 1152, 26, 4, 1, 256, 6912);
    gemma_3(c);
}

const struct decoder_shape decoder_shapes[] = {
    {"tinyllama-2-layers", tinyllama_2_layers},
    {"tinyllama", tinyllama},
    {"llama-2-7b", llama_2_7b},
    {"llama-3-8b", llama_3_8b},
    {"llama-3.2-1b", llama_3_2_1b},
    {"mistral-7b", mistral_7b},
    {"smollm2-135m", smollm2_135m},
    {"qwen2.5-0.5b", qwen2_5_0_5b},
    {"qwen2.5-7b", qwen2_5_7b},
    {"qwen3-0.6b", qwen3_0_6b},
    {"qwen3-8b", qwen3_8b},
    {"qwen3-30b-a3b", qwen3_30b_a3b},
    {"olmoe-1b-7b", olmoe_1b_7b},
    {"gemma-3-270m", gemma_3_270m},
    {"gemma-3-1b", gemma_3_1b},
    {0},
};

const struct decoder_shape *decoder_find_shape(const char *name)
{
    for (const struct decoder_shape *s = decoder_shapes; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}
