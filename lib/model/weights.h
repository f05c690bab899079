/*
 * Every weight of a model, found, checked and ready for the kernels.
 *
 * Matrices are views into the checkpoint's mappings (copied only when the file
 * holds them at an alignment that the kernels cannot read; such copies live as
 * long as the weights). Norms and biases are copied out as f32, with Gemma's
 * 1 + w already added. Tensors are looked up by GGUF names; a Hugging Face
 * checkpoint is read through the name that corresponds.
 *
 * Everything the recipe implies must be there with its exact shape, and
 * nothing may be there that would change the result but is not used (a bias,
 * an adapter, another head): both are errors that name file, tensor and shapes.
 */
#ifndef RML_MODEL_WEIGHTS_H
#define RML_MODEL_WEIGHTS_H

#include "files/checkpoint.h"
#include "model/model_config.h"
#include "tensor/matrix.h"

struct rmli_layer_weights {
    float *attention_norm;             /* [n_embd] */
    struct rmli_matrix q, k, v;        /* [n_head * head_dim], [n_head_kv * head_dim] x n_embd */
    float *q_bias, *k_bias, *v_bias;   /* NULL without attention_bias */
    float *q_norm, *k_norm;            /* NULL without qk_norm; [head_dim] or [rows of q, k] */
    struct rmli_matrix o;              /* [n_embd][n_head * head_dim] */
    float *post_attention_norm;        /* NULL without sandwich_norms */
    float *feed_forward_norm;          /* [n_embd] */
    struct rmli_matrix gate, up, down; /* dense: [n_ff][n_embd] twice, [n_embd][n_ff] */
    struct rmli_matrix router;         /* experts: [n_expert][n_embd] */
    struct rmli_matrix *expert_gate;   /* [n_expert] matrices each; NULL when dense */
    struct rmli_matrix *expert_up;
    struct rmli_matrix *expert_down;
    float *post_feed_forward_norm; /* NULL without sandwich_norms */
};

struct rmli_weights {
    struct rmli_matrix embedding;      /* [n_vocab][n_embd] */
    struct rmli_matrix head;           /* the embedding again when tied */
    float *output_norm;                /* [n_embd] */
    float *rope_factors;               /* [head_dim / 2] with RML_ROPE_SCALING_FACTORS, else NULL */
    struct rmli_layer_weights *layers; /* [n_layer] */
    size_t nbytes;                     /* of all weights in their stored formats */
    size_t nbytes_copied;              /* of norms, biases and unaligned copies */
    void *owned;                       /* private: the list of allocations */
};

bool rmli_weights_init(struct rmli_weights *weights, const struct rml_checkpoint *cp,
                       const struct rml_model_config *config, struct rml_error *err);
void rmli_weights_release(struct rmli_weights *weights); /* safe on an all-zero struct */

#endif
