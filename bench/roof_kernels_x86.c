/*
 * The loops for AVX2 and AVX-512. Operands go through an empty asm statement in each round: the
 * compiler then cannot know that they are the same as before, and computes again.
 */
#include "bench/roof_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

/* ---- AVX2 ---------------------------------------------------------------------------- */

AVX2 static uint64_t read_avx2(const void *p, size_t nbytes)
{
    size_t n = nbytes / ROOF_READ_STREAMS;
    const char *stream = p;
    __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < n; i += 64) {
        const char *q = stream + i;
        for (int s = 0; s < ROOF_READ_STREAMS; s += 2, q += 2 * n) {
            s0 = _mm256_add_epi64(s0, _mm256_load_si256((const __m256i *)q));
            s1 = _mm256_add_epi64(s1, _mm256_load_si256((const __m256i *)(q + 32)));
            s2 = _mm256_add_epi64(s2, _mm256_load_si256((const __m256i *)(q + n)));
            s3 = _mm256_add_epi64(s3, _mm256_load_si256((const __m256i *)(q + n + 32)));
        }
    }
    uint64_t lanes[4], sum = 0;
    s0 = _mm256_add_epi64(_mm256_add_epi64(s0, s1), _mm256_add_epi64(s2, s3));
    _mm256_storeu_si256((__m256i *)lanes, s0);
    for (int i = 0; i < 4; i++)
        sum += lanes[i];
    return sum;
}

#define FMA_AVX2 12 /* accumulators: two multipliers with a latency of 4 or 5 take 10 */

AVX2 static float fma_f32_avx2(size_t n, float a, float b)
{
    __m256 va = _mm256_set1_ps(a), vb = _mm256_set1_ps(b), acc[FMA_AVX2];
    for (int i = 0; i < FMA_AVX2; i++)
        acc[i] = _mm256_setzero_ps();
    while (n-- > 0) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_AVX2; i++)
            acc[i] = _mm256_fmadd_ps(va, acc[i], vb);
    }
    float lanes[8], sum = 0;
    for (int i = 1; i < FMA_AVX2; i++)
        acc[0] = _mm256_add_ps(acc[0], acc[i]);
    _mm256_storeu_ps(lanes, acc[0]);
    for (int i = 0; i < 8; i++)
        sum += lanes[i];
    return sum;
}

/* Eight sums of pairs, each at most 2 * 15 * 127, are added in 16 bits (30480 < 32768), then
 * widened. */
#define DOT_GROUP 8
#define DOT_GROUPS 2

AVX2 static int32_t dot_i8_avx2(size_t n, int8_t w, int8_t x)
{
    __m256i ws[4], xs[2], ones = _mm256_set1_epi16(1), acc[DOT_GROUPS];
    for (int i = 0; i < 4; i++)
        ws[i] = _mm256_set1_epi8(w);
    for (int i = 0; i < 2; i++)
        xs[i] = _mm256_set1_epi8(x);
    for (int i = 0; i < DOT_GROUPS; i++)
        acc[i] = _mm256_setzero_si256();
    while (n-- > 0) {
#pragma GCC unroll 2
        for (int g = 0; g < DOT_GROUPS; g++) {
            __asm__ volatile("" : "+x"(ws[0]), "+x"(ws[1]), "+x"(ws[2]), "+x"(ws[3]));
            __asm__ volatile("" : "+x"(xs[0]), "+x"(xs[1]));
            __m256i pairs[DOT_GROUP];
#pragma GCC unroll 8
            for (int i = 0; i < DOT_GROUP; i++)
                pairs[i] = _mm256_maddubs_epi16(ws[i % 4], xs[i / 4]);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                pairs[i] = _mm256_add_epi16(pairs[i], pairs[i + 4]);
            pairs[0] = _mm256_add_epi16(pairs[0], pairs[2]);
            pairs[1] = _mm256_add_epi16(pairs[1], pairs[3]);
            pairs[0] = _mm256_add_epi16(pairs[0], pairs[1]);
            acc[g] = _mm256_add_epi32(acc[g], _mm256_madd_epi16(pairs[0], ones));
        }
    }
    return _mm256_extract_epi32(_mm256_add_epi32(acc[0], acc[1]), 0);
}

const struct roof_kernels roof_kernels_avx2 = {
    .isa = RML_ISA_AVX2,
    .read = read_avx2,
    .fma_f32 = fma_f32_avx2,
    .fma_f32_lanes = FMA_AVX2 * 8,
    .dot_i8 = dot_i8_avx2,
    .dot_i8_products = (size_t)DOT_GROUPS * DOT_GROUP * 32,
    .dot_i8_lane_products = (size_t)DOT_GROUPS * DOT_GROUP * 4,
};

/* ---- AVX-512 -------------------------------------------------------------------------- */

AVX512 static uint64_t read_avx512(const void *p, size_t nbytes)
{
    size_t n = nbytes / ROOF_READ_STREAMS;
    const char *q = p;
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < n; i += 64) {
        s0 = _mm512_add_epi64(s0, _mm512_load_si512(q + i));
        s1 = _mm512_add_epi64(s1, _mm512_load_si512(q + n + i));
        s2 = _mm512_add_epi64(s2, _mm512_load_si512(q + 2 * n + i));
        s3 = _mm512_add_epi64(s3, _mm512_load_si512(q + 3 * n + i));
    }
    uint64_t lanes[8], sum = 0;
    s0 = _mm512_add_epi64(_mm512_add_epi64(s0, s1), _mm512_add_epi64(s2, s3));
    _mm512_storeu_si512(lanes, s0);
    for (int i = 0; i < 8; i++)
        sum += lanes[i];
    return sum;
}

#define FMA_AVX512 16

AVX512 static float fma_f32_avx512(size_t n, float a, float b)
{
    __m512 va = _mm512_set1_ps(a), vb = _mm512_set1_ps(b), acc[FMA_AVX512];
    for (int i = 0; i < FMA_AVX512; i++)
        acc[i] = _mm512_setzero_ps();
    while (n-- > 0) {
#pragma GCC unroll 16
        for (int i = 0; i < FMA_AVX512; i++)
            acc[i] = _mm512_fmadd_ps(va, acc[i], vb);
    }
    for (int i = 1; i < FMA_AVX512; i++)
        acc[0] = _mm512_add_ps(acc[0], acc[i]);
    return _mm512_reduce_add_ps(acc[0]);
}

#define DOT_AVX512 16

AVX512 static int32_t dot_i8_avx512(size_t n, int8_t w, int8_t x)
{
    __m512i vw = _mm512_set1_epi8(w), vx = _mm512_set1_epi8(x), acc[DOT_AVX512];
    for (int i = 0; i < DOT_AVX512; i++)
        acc[i] = _mm512_setzero_si512();
    while (n-- > 0) {
        __asm__ volatile("" : "+v"(vw), "+v"(vx));
#pragma GCC unroll 16
        for (int i = 0; i < DOT_AVX512; i++)
            acc[i] = _mm512_dpbusd_epi32(acc[i], vw, vx);
    }
    for (int i = 1; i < DOT_AVX512; i++)
        acc[0] = _mm512_add_epi32(acc[0], acc[i]);
    return _mm_cvtsi128_si32(_mm512_castsi512_si128(acc[0]));
}

const struct roof_kernels roof_kernels_avx512 = {
    .isa = RML_ISA_AVX512,
    .read = read_avx512,
    .fma_f32 = fma_f32_avx512,
    .fma_f32_lanes = FMA_AVX512 * 16,
    .dot_i8 = dot_i8_avx512,
    .dot_i8_products = (size_t)DOT_AVX512 * 64,
    .dot_i8_lane_products = (size_t)DOT_AVX512 * 4,
};
#endif
