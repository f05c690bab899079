/*
 * Rows of values to rows of blocks: one encoder for each dtype, called block by block.
 */
#include "tensor/encode.h"

#include "tensor/encode_private.h"

static size_t encode_f16(uint16_t *dst, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = rmli_f16_from_f32(x[i]);
        if ((dst[i] & 0x7c00) == 0x7c00)
            return i;
    }
    return n;
}

static size_t encode_bf16(uint16_t *dst, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = rmli_bf16_from_f32(x[i]);
        if ((dst[i] & 0x7f80) == 0x7f80)
            return i;
    }
    return n;
}

static bool encode_block(enum rml_dtype dtype, void *block, const float *x)
{
    switch (dtype) {
    case RML_Q4_0:
        return rmli_encode_q4_0(block, x);
    case RML_Q4_1:
        return rmli_encode_q4_1(block, x);
    case RML_Q5_0:
        return rmli_encode_q5_0(block, x);
    case RML_Q5_1:
        return rmli_encode_q5_1(block, x);
    case RML_Q8_0:
        return rmli_encode_q8_0(block, x);
    case RML_Q2_K:
        return rmli_encode_q2_k(block, x);
    case RML_Q3_K:
        return rmli_encode_q3_k(block, x);
    case RML_Q4_K:
        return rmli_encode_q4_k(block, x);
    case RML_Q5_K:
        return rmli_encode_q5_k(block, x);
    case RML_Q6_K:
        return rmli_encode_q6_k(block, x);
    case RML_IQ4_NL:
        return rmli_encode_iq4_nl(block, x);
    case RML_IQ4_XS:
        return rmli_encode_iq4_xs(block, x);
    default:
        return false;
    }
}

size_t rmli_encode(enum rml_dtype dtype, void *dst, const float *x, size_t n)
{
    if (dtype == RML_F32) {
        memcpy(dst, x, n * sizeof *x);
        return n;
    }
    if (dtype == RML_F16)
        return encode_f16(dst, x, n);
    if (dtype == RML_BF16)
        return encode_bf16(dst, x, n);
    const struct rml_dtype_traits *traits = rml_dtype_traits(dtype);
    uint8_t *block = dst;
    for (size_t i = 0; i < n; i += traits->block_nelems, block += traits->block_nbytes)
        if (!encode_block(dtype, block, x + i))
            return i;
    return n;
}
