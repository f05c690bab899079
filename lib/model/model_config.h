/*
 * The recipe of a model: one decoder and the switches in which families differ
 * (architecture.md, contract 1).
 *
 *     x = embed(token) * embedding_scale
 *     each layer:  x += post?( Wo attention(rope(qk_norm?(Wq n)), ..., Wv n) ),  n = norm(x)
 *                  x += post?( feed_forward(norm(x)) )
 *     logits = head(norm(x))
 *
 * norm is RMSNorm; post? is there with sandwich_norms. Nothing in the forward
 * pass asks for the family's name: a reader (config.json or GGUF metadata)
 * sets the switches and model_config_validate checks them.
 */
#ifndef RML_MODEL_MODEL_CONFIG_H
#define RML_MODEL_MODEL_CONFIG_H

#include <stddef.h>

#include "base/error.h"

#define RML_MAX_LAYERS 1024
#define RML_MAX_EXPERTS 256 /* experts of a layer */
#define RML_MAX_EOS 16

enum rml_activation { RML_SILU, RML_GELU_TANH };

enum rml_qk_norm {
    RML_QK_NORM_NONE,
    RML_QK_NORM_HEAD, /* each head alone, weight [head_dim] */
    RML_QK_NORM_WHOLE /* all heads together, weight [n_head * head_dim] */
};

enum rml_rope_pairing {
    RML_ROPE_HALF,       /* dimension i with i + head_dim / 2: Hugging Face's rotate_half */
    RML_ROPE_INTERLEAVED /* 2i with 2i + 1: GGUF files of the llama architecture */
};

enum rml_rope_scaling_type {
    RML_ROPE_SCALING_NONE,
    RML_ROPE_SCALING_LINEAR,  /* inv_freq / factor */
    RML_ROPE_SCALING_LLAMA3,  /* by wavelength; from config.json */
    RML_ROPE_SCALING_FACTORS, /* the same as a tensor rope_freqs.weight: inv_freq / factor[i] */
    RML_ROPE_SCALING_YARN
};

struct rml_rope_scaling {
    enum rml_rope_scaling_type type;
    double factor;                            /* linear, llama3, yarn */
    double low_freq_factor, high_freq_factor; /* llama3 */
    double original_context;                  /* llama3, yarn: positions of the first training */
    double beta_fast, beta_slow;              /* yarn; 32 and 1 */
    double attention_factor;                  /* yarn: multiplies cos and sin, always set */
    bool truncate;                            /* yarn: correction range rounded to whole pairs */
};

struct rml_model_config {
    char architecture[32]; /* model_type of config.json: llama mistral mixtral qwen2 qwen3
                              qwen3_moe gemma3_text olmoe */
    uint32_t n_vocab;
    uint32_t n_embd; /* hidden size */
    uint32_t n_layer;
    uint32_t n_head;
    uint32_t n_head_kv;
    uint32_t head_dim;
    uint32_t n_ff;      /* of the dense feed-forward; 0 with experts */
    uint32_t n_context; /* trained positions */
    enum rml_activation activation;
    float norm_eps;
    float embedding_scale; /* 1 but for Gemma: sqrt(n_embd) */
    float attention_scale; /* of q . k; 1 / sqrt(head_dim) but for Gemma */
    bool attention_bias;   /* biases of q, k and v */
    enum rml_qk_norm qk_norm;
    bool sandwich_norms;
    bool norm_plus_one; /* norms are stored as w, meaning 1 + w (Gemma's Hugging Face form) */
    bool tied_head;

    enum rml_rope_pairing rope_pairing;
    double rope_theta;
    struct rml_rope_scaling rope_scaling;
    double rope_local_theta; /* of sliding layers, without scaling; 0: as all others */

    uint32_t sliding_window;               /* keys a sliding layer sees, itself included; 0: none */
    uint8_t sliding_layer[RML_MAX_LAYERS]; /* 1: this layer has the window and the local base */

    uint32_t n_expert;      /* 0: dense */
    uint32_t n_expert_used; /* top k */
    uint32_t n_ff_expert;
    bool normalize_expert_weights; /* divide the chosen probabilities by their sum */

    int32_t bos; /* -1: none */
    int32_t eos[RML_MAX_EOS];
    uint32_t n_eos;
};

struct rml_checkpoint;

/*
 * Reads the recipe of a checkpoint, from config.json or GGUF metadata with the
 * switches that GGUF has no key for read off the tensor table. Refuses by name,
 * with the value found, whatever would change the numbers and is not supported.
 * *config is complete and validated on success, untouched on failure.
 */
bool rml_model_config_read(const struct rml_checkpoint *cp, struct rml_model_config *config,
                           struct rml_error *err);

/* Sizes positive, heads in whole groups, even head_dim, scales positive and so on. `file`
 * is for messages; *field becomes the offset of the member that is refused (NULL is allowed). */
bool rmli_model_config_validate(const struct rml_model_config *config, const char *file,
                                size_t *field, struct rml_error *err);

/* Elements of all weights: attention, feed-forward or experts and router, norms, embedding, and
 * the head when it is not tied. */
uint64_t rml_parameter_count(const struct rml_model_config *config);

#endif
