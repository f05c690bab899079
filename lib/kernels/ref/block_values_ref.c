/*
 * Takes the blocks of each quantised type apart, one element at a time and in
 * the order of the diagrams of tensor/blocks.h.
 */
#include "kernels/ref/block_values_ref.h"

#include <string.h>

#include "base/half.h"
#include "tensor/blocks.h"

static const int8_t iq4_codebook[16] = {RMLI_IQ4_CODEBOOK};

/* Sub-scales of the types that have none. */
static void set_plain_scales(struct rmli_block_values *out)
{
    for (int i = 0; i < 16; i++)
        out->sc[i] = 1;
}

static void set_offset(struct rmli_block_values *out, float m)
{
    out->m = m;
    out->has_offset = true;
}

static void read_q4_0(struct rmli_block_values *out, const struct rmli_block_q4_0 *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    for (int j = 0; j < 16; j++) {
        out->q[j] = (int8_t)((b->qs[j] & 15) - 8);
        out->q[j + 16] = (int8_t)((b->qs[j] >> 4) - 8);
    }
}

static void read_q4_1(struct rmli_block_values *out, const struct rmli_block_q4_1 *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    set_offset(out, rmli_f32_from_f16(b->m));
    for (int j = 0; j < 16; j++) {
        out->mn[j] = 1;
        out->q[j] = b->qs[j] & 15;
        out->q[j + 16] = b->qs[j] >> 4;
    }
}

/* Five-bit elements of Q5_0 and Q5_1, before any offset. */
static void read_five_bits(int8_t *q, const uint8_t *qh, const uint8_t *qs)
{
    for (int j = 0; j < 16; j++) {
        int low = qh[j / 8] >> (j % 8) & 1;
        int high = qh[2 + j / 8] >> (j % 8) & 1;
        q[j] = (int8_t)((qs[j] & 15) | low << 4);
        q[j + 16] = (int8_t)(qs[j] >> 4 | high << 4);
    }
}

static void read_q5_0(struct rmli_block_values *out, const struct rmli_block_q5_0 *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    read_five_bits(out->q, b->qh, b->qs);
    for (int j = 0; j < 32; j++)
        out->q[j] = (int8_t)(out->q[j] - 16);
}

static void read_q5_1(struct rmli_block_values *out, const struct rmli_block_q5_1 *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    set_offset(out, rmli_f32_from_f16(b->m));
    for (int i = 0; i < 16; i++)
        out->mn[i] = 1;
    read_five_bits(out->q, b->qh, b->qs);
}

static void read_q8_0(struct rmli_block_values *out, const struct rmli_block_q8_0 *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    memcpy(out->q, b->qs, sizeof b->qs);
}

static void read_iq4_nl(struct rmli_block_values *out, const struct rmli_block_iq4_nl *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_plain_scales(out);
    for (int j = 0; j < 16; j++) {
        out->q[j] = iq4_codebook[b->qs[j] & 15];
        out->q[j + 16] = iq4_codebook[b->qs[j] >> 4];
    }
}

/* The two bits of element k in the layout of Q2_K and Q3_K. */
static int two_bits(const uint8_t *qs, int k)
{
    int half = k / 128, quarter = k % 128 / 32, l = k % 32;
    return qs[32 * half + l] >> (2 * quarter) & 3;
}

static void read_q2_k(struct rmli_block_values *out, const struct rmli_block_q2_k *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_offset(out, -rmli_f32_from_f16(b->dmin));
    for (int i = 0; i < 16; i++) {
        out->sc[i] = b->scales[i] & 15;
        out->mn[i] = b->scales[i] >> 4;
    }
    for (int k = 0; k < 256; k++)
        out->q[k] = (int8_t)two_bits(b->qs, k);
}

static void read_q3_k(struct rmli_block_values *out, const struct rmli_block_q3_k *b)
{
    out->d = rmli_f32_from_f16(b->d);
    for (int i = 0; i < 16; i++) {
        int low = b->scales[i % 8] >> (4 * (i / 8)) & 15;
        int high = b->scales[8 + i % 4] >> (2 * (i / 4)) & 3;
        out->sc[i] = (int16_t)((low | high << 4) - 32);
    }
    for (int k = 0; k < 256; k++) {
        int third = b->hmask[k % 32] >> (k / 32) & 1;
        out->q[k] = (int8_t)((two_bits(b->qs, k) | third << 2) - 4);
    }
}

/* Scales and minima of Q4_K and Q5_K: eight of each, in 12 bytes. */
static void read_scales_q4_k(struct rmli_block_values *out, const uint8_t *scales)
{
    for (int i = 0; i < 16; i++) {
        int s = i / 2; /* sub-blocks have 32 elements, our groups 16 */
        if (s < 4) {
            out->sc[i] = scales[s] & 63;
            out->mn[i] = scales[4 + s] & 63;
        } else {
            out->sc[i] = (int16_t)((scales[4 + s] & 15) | scales[s - 4] >> 6 << 4);
            out->mn[i] = (int16_t)(scales[4 + s] >> 4 | scales[s] >> 6 << 4);
        }
    }
}

static void read_q4_k(struct rmli_block_values *out, const struct rmli_block_q4_k *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_offset(out, -rmli_f32_from_f16(b->dmin));
    read_scales_q4_k(out, b->scales);
    for (int k = 0; k < 256; k++)
        out->q[k] = b->qs[32 * (k / 64) + k % 32] >> (4 * (k / 32 % 2)) & 15;
}

static void read_q5_k(struct rmli_block_values *out, const struct rmli_block_q5_k *b)
{
    out->d = rmli_f32_from_f16(b->d);
    set_offset(out, -rmli_f32_from_f16(b->dmin));
    read_scales_q4_k(out, b->scales);
    for (int k = 0; k < 256; k++) {
        int low = b->qs[32 * (k / 64) + k % 32] >> (4 * (k / 32 % 2)) & 15;
        int fifth = b->qh[k % 32] >> (k / 32) & 1;
        out->q[k] = (int8_t)(low | fifth << 4);
    }
}

static void read_q6_k(struct rmli_block_values *out, const struct rmli_block_q6_k *b)
{
    out->d = rmli_f32_from_f16(b->d);
    for (int i = 0; i < 16; i++)
        out->sc[i] = b->scales[i];
    for (int k = 0; k < 256; k++) {
        int half = k / 128, quarter = k % 128 / 32, l = k % 32;
        int low = b->ql[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
        int high = b->qh[32 * half + l] >> (2 * quarter) & 3;
        out->q[k] = (int8_t)((low | high << 4) - 32);
    }
}

static void read_iq4_xs(struct rmli_block_values *out, const struct rmli_block_iq4_xs *b)
{
    out->d = rmli_f32_from_f16(b->d);
    for (int i = 0; i < 16; i++) {
        int s = i / 2;
        int low = b->scales_l[s / 2] >> (4 * (s % 2)) & 15;
        int high = b->scales_h >> (2 * s) & 3;
        out->sc[i] = (int16_t)((low | high << 4) - 32);
    }
    for (int k = 0; k < 256; k++)
        out->q[k] = iq4_codebook[b->qs[16 * (k / 32) + k % 16] >> (4 * (k / 16 % 2)) & 15];
}

void rmli_block_values_ref(struct rmli_block_values *out, enum rml_dtype dtype, const void *src)
{
    out->has_offset = false;
    switch (dtype) {
    case RML_Q4_0:
        read_q4_0(out, src);
        break;
    case RML_Q4_1:
        read_q4_1(out, src);
        break;
    case RML_Q5_0:
        read_q5_0(out, src);
        break;
    case RML_Q5_1:
        read_q5_1(out, src);
        break;
    case RML_Q8_0:
        read_q8_0(out, src);
        break;
    case RML_Q2_K:
        read_q2_k(out, src);
        break;
    case RML_Q3_K:
        read_q3_k(out, src);
        break;
    case RML_Q4_K:
        read_q4_k(out, src);
        break;
    case RML_Q5_K:
        read_q5_k(out, src);
        break;
    case RML_Q6_K:
        read_q6_k(out, src);
        break;
    case RML_IQ4_NL:
        read_iq4_nl(out, src);
        break;
    case RML_IQ4_XS:
        read_iq4_xs(out, src);
        break;
    default: /* plain types have no blocks */
        break;
    }
}
