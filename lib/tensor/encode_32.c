/*
 * The simple types, blocks of 32 with one scale: ggml's reference rounding.
 *
 * The scale comes from the extreme values alone, and these details decide the bits:
 *
 *   - The scale is rounded to f16 only when it is stored; integers are found with the
 *     reciprocal of the f32 scale, a multiplication for each element.
 *   - Q4_0 and Q5_0 map the value of largest magnitude (the first of several), with its sign,
 *     to the most negative integer, -8 or -16. Q4_1 and Q5_1 map the range from the smallest
 *     to the largest value, whatever their signs. Q8_0 maps the largest magnitude to 127.
 *   - Integers are cut, not rounded, after adding one half (Q4, Q5); Q8_0 rounds halves
 *     away from zero.
 */
#include "tensor/encode_private.h"

enum { N = 32 };

/* The integer below x, at most max. Not a number counts as 0: it comes from a range beyond f32,
 * which the f16 scale then refuses. */
static uint8_t cut(float x, int max)
{
    if (!(x > 0))
        return 0;
    return x >= (float)max ? (uint8_t)max : (uint8_t)x;
}

/* The scale's f16 into *d; false when it overflows. */
static bool store_f16(uint16_t *field, float value)
{
    *field = rmli_f16_from_f32(value);
    return (*field & 0x7c00) != 0x7c00;
}

/* A scale below 2^-128 has no reciprocal; f16 stores it as 0, so that every integer will do. */
static float reciprocal(float d)
{
    return fabsf(d) >= 0x1p-126f ? 1.0f / d : 0.0f;
}

static float first_extreme(const float *x)
{
    float extreme = 0;
    for (int i = 0; i < N; i++)
        if (fabsf(x[i]) > fabsf(extreme))
            extreme = x[i];
    return extreme;
}

static void range_of(const float *x, float *min, float *max)
{
    *min = *max = x[0];
    for (int i = 1; i < N; i++) {
        *min = x[i] < *min ? x[i] : *min;
        *max = x[i] > *max ? x[i] : *max;
    }
}

/* qs[j] holds q[j] and q[j + 16], bit j of qh the fifth bit of q[j]. */
static void pack_nibbles(uint8_t *qs, const uint8_t *q)
{
    for (int j = 0; j < N / 2; j++)
        qs[j] = (uint8_t)((q[j] & 15) | (q[j + N / 2] & 15) << 4);
}

static void pack_fifth_bits(uint8_t *qh, const uint8_t *q)
{
    uint32_t bits = 0;
    for (int j = 0; j < N; j++)
        bits |= (uint32_t)(q[j] >> 4) << j;
    for (int i = 0; i < 4; i++)
        qh[i] = (uint8_t)(bits >> 8 * i);
}

bool rmli_encode_q4_0(struct rmli_block_q4_0 *block, const float *x)
{
    float d = first_extreme(x) / -8, inverse = reciprocal(d);
    uint8_t q[N];
    for (int i = 0; i < N; i++)
        q[i] = cut(x[i] * inverse + 8.5f, 15);
    pack_nibbles(block->qs, q);
    return store_f16(&block->d, d);
}

bool rmli_encode_q5_0(struct rmli_block_q5_0 *block, const float *x)
{
    float d = first_extreme(x) / -16, inverse = reciprocal(d);
    uint8_t q[N];
    for (int i = 0; i < N; i++)
        q[i] = cut(x[i] * inverse + 16.5f, 31);
    pack_nibbles(block->qs, q);
    pack_fifth_bits(block->qh, q);
    return store_f16(&block->d, d);
}

bool rmli_encode_q4_1(struct rmli_block_q4_1 *block, const float *x)
{
    float min, max;
    range_of(x, &min, &max);
    float d = (max - min) / 15, inverse = reciprocal(d);
    uint8_t q[N];
    for (int i = 0; i < N; i++)
        q[i] = cut((x[i] - min) * inverse + 0.5f, 15);
    pack_nibbles(block->qs, q);
    return store_f16(&block->d, d) && store_f16(&block->m, min);
}

bool rmli_encode_q5_1(struct rmli_block_q5_1 *block, const float *x)
{
    float min, max;
    range_of(x, &min, &max);
    float d = (max - min) / 31, inverse = reciprocal(d);
    uint8_t q[N];
    for (int i = 0; i < N; i++)
        q[i] = cut((x[i] - min) * inverse + 0.5f, 31);
    pack_nibbles(block->qs, q);
    pack_fifth_bits(block->qh, q);
    return store_f16(&block->d, d) && store_f16(&block->m, min);
}

bool rmli_encode_q8_0(struct rmli_block_q8_0 *block, const float *x)
{
    float d = rmli_max_magnitude(x, N) / 127, inverse = reciprocal(d);
    for (int i = 0; i < N; i++)
        block->qs[i] = (int8_t)rmli_clamp(roundf(x[i] * inverse), -127, 127);
    return store_f16(&block->d, d);
}
