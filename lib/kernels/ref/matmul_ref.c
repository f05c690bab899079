/*
 * Matrix products in portable C: the definition that every other kernel equals
 * bit for bit. Plain loops in the order of the contract; speed is no aim.
 */
#include "kernels/ref/matmul_ref.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/activation_row.h"
#include "kernels/ref/block_values_ref.h"
#include "kernels/ref/lane_order.h"

/* ---- Widening ------------------------------------------------------------- */

static void widen_f32_ref(float *dst, const void *src, size_t n)
{
    memcpy(dst, src, n * sizeof *dst);
}

static void widen_f16_ref(float *dst, const void *src, size_t n)
{
    const uint16_t *h = src;
    for (size_t i = 0; i < n; i++)
        dst[i] = rmli_f32_from_f16(h[i]);
}

static void widen_bf16_ref(float *dst, const void *src, size_t n)
{
    const uint16_t *h = src;
    for (size_t i = 0; i < n; i++)
        dst[i] = rmli_f32_from_bf16(h[i]);
}

static void widen_blocks(float *dst, enum rml_dtype dtype, const void *src, size_t n)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(dtype);
    const uint8_t *block = src;
    for (size_t k = 0; k < n; k += traits->block_nelems, block += traits->block_nbytes) {
        struct rmli_block_values v;
        rmli_block_values_ref(&v, dtype, block);
        for (size_t i = 0; i < traits->block_nelems; i++) {
            float value = v.d * v.sc[i / 16] * v.q[i];
            if (v.has_offset)
                value += v.m * v.mn[i / 16];
            dst[k + i] = value;
        }
    }
}

#define DEFINE_WIDEN(name, dtype)                                                                  \
    static void widen_##name##_ref(float *dst, const void *src, size_t n)                          \
    {                                                                                              \
        widen_blocks(dst, dtype, src, n);                                                          \
    }
DEFINE_WIDEN(q4_0, RML_Q4_0)
DEFINE_WIDEN(q4_1, RML_Q4_1)
DEFINE_WIDEN(q5_0, RML_Q5_0)
DEFINE_WIDEN(q5_1, RML_Q5_1)
DEFINE_WIDEN(q8_0, RML_Q8_0)
DEFINE_WIDEN(q2_k, RML_Q2_K)
DEFINE_WIDEN(q3_k, RML_Q3_K)
DEFINE_WIDEN(q4_k, RML_Q4_K)
DEFINE_WIDEN(q5_k, RML_Q5_K)
DEFINE_WIDEN(q6_k, RML_Q6_K)
DEFINE_WIDEN(iq4_nl, RML_IQ4_NL)
DEFINE_WIDEN(iq4_xs, RML_IQ4_XS)

/* ---- f32 arithmetic ------------------------------------------------------- */

static void store(float *out, float value, bool accumulate)
{
    *out = accumulate ? *out + value : value;
}

static void matmul_f32_ref(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
                           size_t row_end, const float *x, size_t ld_x, size_t n_x, bool accumulate,
                           void *scratch)
{
    float *row = scratch; /* [n_cols] */
    for (size_t r = row_begin; r < row_end; r++) {
        rmli_matmul_ref.widen[w->dtype](row, rmli_matrix_row(w, r), w->n_cols);
        for (size_t j = 0; j < n_x; j++)
            store(&out[j * ld_out + r], rmli_dot_lanes(row, x + j * ld_x, w->n_cols), accumulate);
    }
}

/* ---- i8 arithmetic -------------------------------------------------------- */

/* Adds the product of one block of weights with one of activations to acc. */
static float add_block_product(float acc, const struct rmli_block_values *w, float d,
                               const int8_t *q, size_t n)
{
    int32_t products = 0, offsets = 0;
    for (size_t i = 0; i < n; i++) {
        products += w->sc[i / 16] * w->q[i] * q[i];
        if (w->has_offset)
            offsets += w->mn[i / 16] * q[i];
    }
    acc = fmaf(w->d * d, (float)products, acc);
    if (w->has_offset)
        acc = fmaf(w->m * d, (float)offsets, acc);
    return acc;
}

static void matmul_i8_ref(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
                          size_t row_end, const void *x, size_t n_x, bool accumulate, void *scratch)
{
    enum { TILE = 32 }; /* columns of x for which a block of weights is read once */
    (void)scratch;
    const struct rml_dtype_traits *traits = rml_dtype_traits(w->dtype);
    size_t n_blocks = w->n_cols / traits->block_nelems;
    size_t ld_x = rmli_activation_row_nbytes(w->dtype, w->n_cols);
    for (size_t r = row_begin; r < row_end; r++) {
        for (size_t first = 0; first < n_x; first += TILE) {
            size_t n = n_x - first < TILE ? n_x - first : TILE;
            const uint8_t *tile = (const uint8_t *)x + first * ld_x;
            float acc[TILE] = {0};
            for (size_t b = 0; b < n_blocks; b++) {
                struct rmli_block_values v;
                rmli_block_values_ref(&v, w->dtype,
                                      rmli_matrix_row(w, r) + b * traits->block_nbytes);
                for (size_t j = 0; j < n; j++) {
                    const void *row = tile + j * ld_x;
                    if (traits->block_nelems == 32) {
                        const struct rmli_activation_block_32 *a = row;
                        acc[j] = add_block_product(acc[j], &v, a[b].d, a[b].q, 32);
                    } else {
                        const struct rmli_activation_block_256 *a = row;
                        acc[j] = add_block_product(acc[j], &v, a[b].d, a[b].q, 256);
                    }
                }
            }
            for (size_t j = 0; j < n; j++)
                store(&out[(first + j) * ld_out + r], acc[j], accumulate);
        }
    }
}

/* ---- Table ---------------------------------------------------------------- */

const struct rmli_matmul_kernels rmli_matmul_ref = {
    .widen =
        {
            [RML_F32] = widen_f32_ref,
            [RML_F16] = widen_f16_ref,
            [RML_BF16] = widen_bf16_ref,
            [RML_Q4_0] = widen_q4_0_ref,
            [RML_Q4_1] = widen_q4_1_ref,
            [RML_Q5_0] = widen_q5_0_ref,
            [RML_Q5_1] = widen_q5_1_ref,
            [RML_Q8_0] = widen_q8_0_ref,
            [RML_Q2_K] = widen_q2_k_ref,
            [RML_Q3_K] = widen_q3_k_ref,
            [RML_Q4_K] = widen_q4_k_ref,
            [RML_Q5_K] = widen_q5_k_ref,
            [RML_Q6_K] = widen_q6_k_ref,
            [RML_IQ4_NL] = widen_iq4_nl_ref,
            [RML_IQ4_XS] = widen_iq4_xs_ref,
        },
    .matmul_f32 =
        {
            [RML_F32] = matmul_f32_ref,
            [RML_F16] = matmul_f32_ref,
            [RML_BF16] = matmul_f32_ref,
            [RML_Q4_0] = matmul_f32_ref,
            [RML_Q4_1] = matmul_f32_ref,
            [RML_Q5_0] = matmul_f32_ref,
            [RML_Q5_1] = matmul_f32_ref,
            [RML_Q8_0] = matmul_f32_ref,
            [RML_Q2_K] = matmul_f32_ref,
            [RML_Q3_K] = matmul_f32_ref,
            [RML_Q4_K] = matmul_f32_ref,
            [RML_Q5_K] = matmul_f32_ref,
            [RML_Q6_K] = matmul_f32_ref,
            [RML_IQ4_NL] = matmul_f32_ref,
            [RML_IQ4_XS] = matmul_f32_ref,
        },
    .matmul_i8 =
        {
            [RML_Q4_0] = matmul_i8_ref,
            [RML_Q4_1] = matmul_i8_ref,
            [RML_Q5_0] = matmul_i8_ref,
            [RML_Q5_1] = matmul_i8_ref,
            [RML_Q8_0] = matmul_i8_ref,
            [RML_Q2_K] = matmul_i8_ref,
            [RML_Q3_K] = matmul_i8_ref,
            [RML_Q4_K] = matmul_i8_ref,
            [RML_Q5_K] = matmul_i8_ref,
            [RML_Q6_K] = matmul_i8_ref,
            [RML_IQ4_NL] = matmul_i8_ref,
            [RML_IQ4_XS] = matmul_i8_ref,
        },
    .quantize_activations =
        {
            [RML_Q4_0] = rmli_quantize_activations_32_ref,
            [RML_Q4_1] = rmli_quantize_activations_32_ref,
            [RML_Q5_0] = rmli_quantize_activations_32_ref,
            [RML_Q5_1] = rmli_quantize_activations_32_ref,
            [RML_Q8_0] = rmli_quantize_activations_32_ref,
            [RML_Q2_K] = rmli_quantize_activations_256_ref,
            [RML_Q3_K] = rmli_quantize_activations_256_ref,
            [RML_Q4_K] = rmli_quantize_activations_256_ref,
            [RML_Q5_K] = rmli_quantize_activations_256_ref,
            [RML_Q6_K] = rmli_quantize_activations_256_ref,
            [RML_IQ4_NL] = rmli_quantize_activations_32_ref,
            [RML_IQ4_XS] = rmli_quantize_activations_256_ref,
        },
};
