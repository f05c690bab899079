/* Quantised activations, one element at a time; the contract is in kernels.h. */
#include "kernels/ref/matmul_ref.h"

#include <math.h>

#include "base/half.h"
#include "kernels/activation_row.h"

/*
 * Writes q for n elements and returns d. The maximum is taken over the bits of
 * |x|, which order as the values do with NaN above infinity, so that anything
 * that is not finite ends up in d. Two kinds of block have q = 0 throughout:
 * those with a d that is not finite, and those so small that 127 / max|x|
 * overflows (max|x| below 2^-121).
 */
static float quantize_block(int8_t *q, const float *x, size_t n)
{
    uint32_t max_bits = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = rmli_f32_bits(x[i]) & 0x7fffffff;
        max_bits = bits > max_bits ? bits : max_bits;
    }
    float max = rmli_f32_from_bits(max_bits);
    float inverse = 127.0f / max;
    bool zero = max_bits >= 0x7f800000 || isinf(inverse);
    for (size_t i = 0; i < n; i++)
        q[i] = zero ? 0 : (int8_t)lrintf(x[i] * inverse);
    return max / 127.0f;
}

static int sum_of(const int8_t *q, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += q[i];
    return sum;
}

void rmli_quantize_activations_32_ref(void *dst, const float *x, size_t n)
{
    struct rmli_activation_block_32 *block = dst;
    for (size_t k = 0; k < n; k += 32, block++) {
        block->d = quantize_block(block->q, x + k, 32);
        block->sum = sum_of(block->q, 32);
    }
}

void rmli_quantize_activations_256_ref(void *dst, const float *x, size_t n)
{
    struct rmli_activation_block_256 *block = dst;
    for (size_t k = 0; k < n; k += 256, block++) {
        block->d = quantize_block(block->q, x + k, 256);
        for (size_t i = 0; i < 16; i++)
            block->sum[i] = (int16_t)sum_of(block->q + 16 * i, 16);
    }
}
