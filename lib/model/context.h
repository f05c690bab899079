/*
 * What stands behind rml_context: the scratch memory of a forward pass and the
 * state of the chunk that it is working on.
 *
 * A chunk is at most `chunk` rows of the batch; a row is one token of one
 * sequence. Every buffer is sized when the context is created, so a pass
 * allocates nothing.
 */
#ifndef RML_MODEL_CONTEXT_H
#define RML_MODEL_CONTEXT_H

#include "model/attention.h"
#include "model/model.h"
#include "model/profile.h"
#include "model/project.h"

struct rml_context {
    const struct rml_model *model;
    struct rml_thread_pool *pool;
    const struct rmli_kernels *kernels;
    size_t chunk;       /* rows */
    size_t max_context; /* positions */
    size_t logit_tile;  /* rows of logits handed to a consumer at a time */
    struct rmli_projector projector;
    struct rmli_attention *attention;

    /* The rows of the chunk, kept in step when rows are dropped before the last layer's end. */
    size_t n_rows;
    struct rmli_row *rows; /* [chunk] */
    int32_t *row_token;    /* [chunk] */
    size_t *row_segment;   /* [chunk] index of the segment in the batch */
    size_t *row_angles;    /* [chunk] the row of the cos and sin tables */
    bool *row_wanted;      /* [chunk] its logits are wanted */
    size_t *row_position;  /* [chunk] position in its segment's sequence, for the probe */

    float *x;                     /* [chunk][n_embd] the residual stream */
    float *normed;                /* [chunk][n_embd] */
    float *branch;                /* [chunk][n_embd] with sandwich norms, else NULL */
    float *q;                     /* [chunk][n_head * head_dim] */
    float *k, *v;                 /* [chunk][n_head_kv * head_dim] */
    float *attended;              /* [chunk][n_head * head_dim] */
    float *cos, *sin;             /* [chunk][head_dim / 2] */
    float *cos_local, *sin_local; /* the same for sliding layers with a base of their own */
    float *gate, *up;             /* [chunk * experts used, or chunk][n_ff] */

    /* Experts: every (row, rank) pair is one slot, slots are sorted by expert. */
    float *router;         /* [chunk][n_expert] probabilities */
    uint32_t *chosen;      /* [chunk][n_expert_used] expert ids, best first */
    float *expert_weight;  /* [chunk][n_expert_used] */
    size_t *slot;          /* [chunk][n_expert_used] */
    float *gathered;       /* [chunk * n_expert_used][n_embd] inputs, then outputs */
    struct rmli_job *jobs; /* [2 * n_expert] */

    float *logits; /* [logit_tile][n_vocab] for a consumer */
    size_t scratch_nbytes;
    bool (*cancelled)(void *user);
    void *cancelled_user;
    struct rml_profile *profile; /* borrowed; NULL: nobody asks */
};

void rmli_profile_begin(struct rml_context *ctx);
void rmli_profile_end(struct rml_context *ctx, enum rml_operation operation);

/* The time since the last operation's end was this one's. */
static inline void rmli_profile(struct rml_context *ctx, enum rml_operation operation)
{
    if (ctx->profile)
        rmli_profile_end(ctx, operation);
}

/* The two halves of a layer (layer.c, feed_forward.c): they read ctx->rows and update ctx->x. */
void rmli_attention_half(struct rml_context *ctx, uint32_t layer, bool drop_unwanted);
void rmli_feed_forward_half(struct rml_context *ctx, uint32_t layer);

/* normed[r] = norm(x[r]) for the rows of the chunk. */
void rmli_norm_rows(struct rml_context *ctx, const float *weight);

/* x += norm(branch) row by row: the end of a half with sandwich norms. */
void rmli_add_branch(struct rml_context *ctx, const float *post_norm);

#endif
