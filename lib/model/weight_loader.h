/*
 * Taking one weight out of a checkpoint: looked up under its names, its shape
 * and type checked, viewed where it lies or copied, noted as used. For
 * weights.c alone.
 */
#ifndef RML_MODEL_WEIGHT_LOADER_H
#define RML_MODEL_WEIGHT_LOADER_H

#include "model/weight_names.h"
#include "model/weights.h"

struct rmli_weight_loader {
    struct rmli_weights *weights;
    const struct rml_checkpoint *cp;
    const struct rml_model_config *config;
    struct rml_error *err;
    const struct rml_tensor_info **used; /* [n_used] of [n_tensors] */
    size_t n_used;
};

/* Room for the notes; weights->owned exists from here on. */
bool rmli_loader_init(struct rmli_weight_loader *l);
void rmli_loader_release(struct rmli_weight_loader *l);

/* Memory that lives as long as the weights, 64-byte aligned. NULL on failure. */
void *rmli_own(struct rmli_weight_loader *l, size_t nelems, size_t elem_nbytes);
void *rmli_own_zeroed(struct rmli_weight_loader *l, size_t nelems, size_t elem_nbytes);
void rmli_free_owned(void *owned); /* NULL is allowed */

bool rmli_load_matrix(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                      uint32_t expert, uint64_t n_rows, uint64_t n_cols, struct rmli_matrix *m);
/* n f32 values, with the 1 of Gemma's 1 + w added where the recipe says so. */
bool rmli_load_norm(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                    uint64_t n, float **out);

/* Where the rows of one of q, k, v go. */
struct rmli_rows {
    struct rmli_matrix *matrix;
    float **bias;
    uint64_t n;
};
/* q, k and v with their biases, fused or apart. */
bool rmli_load_qkv(struct rmli_weight_loader *l, uint32_t layer, const struct rmli_rows rows[3]);
/* All experts of a layer: stacked, stacked with gate and up in one, or apart. */
bool rmli_load_experts(struct rmli_weight_loader *l, uint32_t layer);
bool rmli_load_rope_factors(struct rmli_weight_loader *l);

/* Fails for a tensor that was not used and is not inert. */
bool rmli_check_unused(struct rmli_weight_loader *l);

#endif
