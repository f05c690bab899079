/*
 * The values of a checkpoint's tensors, and which weight each is, for those who
 * look into a checkpoint without running it.
 */
#ifndef RML_MODEL_TENSOR_VALUES_H
#define RML_MODEL_TENSOR_VALUES_H

#include "files/checkpoint.h"

/*
 * values[i] = element first + i in row-major order, i in [0, n), as f32: exact for F32, F16 and
 * BF16, the value that the forward pass uses for quantised types, rounded for I32, I64 and F64.
 * first and n are multiples of the type's block_nelems, first + n is at most the tensor's number of
 * elements (else false, and nothing is written). Any thread, any number at a time.
 */
bool rml_tensor_widen(const struct rml_tensor_info *tensor, uint64_t first, size_t n,
                      float *values);

/* Elements of the tensor: the product of its dimensions. */
uint64_t rml_tensor_nelems(const struct rml_tensor_info *tensor);

/*
 * The name that GGUF files give the weight called `name` in a checkpoint of that kind and
 * architecture (model_config.h): "blk.3.attn_q.weight" for
 * "model.layers.3.self_attn.q_proj.weight". A weight that neither knows keeps its name. The text
 * is cut to the size of out.
 */
#define RML_WEIGHT_NAME_NBYTES 256
void rml_weight_name(enum rml_checkpoint_kind kind, const char *architecture, const char *name,
                     char out[RML_WEIGHT_NAME_NBYTES]);

#endif
