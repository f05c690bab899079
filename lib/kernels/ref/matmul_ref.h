/* What the files of the reference matrix products share. */
#ifndef RML_KERNELS_REF_MATMUL_REF_H
#define RML_KERNELS_REF_MATMUL_REF_H

#include "kernels/kernels.h"

/* Blocks of 32 or 256 activations; n is a multiple of that. */
void rmli_quantize_activations_32_ref(void *dst, const float *x, size_t n);
void rmli_quantize_activations_256_ref(void *dst, const float *x, size_t n);

#endif
