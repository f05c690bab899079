/*
 * Vector operations for AVX2: eight elements of ref/vector_ref.c at once, in
 * the same operations and the same order. Additions, which need no care, are
 * left to the compiler.
 *
 * Ends of vectors are handled by masks: a masked load gives zeros and touches
 * no memory beyond the end, a masked store leaves it alone.
 */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/x86/elementwise_avx2.h"
#include "kernels/x86/lanes_avx2.h"

static float fold(__m256 lanes)
{
    return _mm_cvtss_f32(fold_lanes_4(lanes, lanes, lanes, lanes));
}

static float sum_of_squares(const float *x, size_t n)
{
    __m256 lanes = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        lanes = _mm256_fmadd_ps(v, v, lanes);
    }
    /* Zeros add nothing to squares, which are never -0. */
    __m256 v = _mm256_maskload_ps(x + i, lanes_below(n - i));
    return fold(_mm256_fmadd_ps(v, v, lanes));
}

static void rms_norm_avx2(float *dst, const float *x, const float *w, size_t n, float eps)
{
    float r = 1.0f / sqrtf(sum_of_squares(x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++)
        dst[i] = x[i] * r * w[i];
}

static void add_avx2(float *dst, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += x[i];
}

static void add_scaled_avx2(float *dst, const float *x, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = fmaf(s, x[i], dst[i]);
}

static void scale_avx2(float *dst, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] *= s;
}

/* gate[i] = f(gate[i]) * up[i] */
RMLI_INLINE void activate_mul(float *gate, const float *up, size_t n, __m256 (*f)(__m256))
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 y = f(_mm256_loadu_ps(gate + i));
        _mm256_storeu_ps(gate + i, _mm256_mul_ps(y, _mm256_loadu_ps(up + i)));
    }
    if (i < n) {
        __m256i rest = lanes_below(n - i);
        __m256 y = f(_mm256_maskload_ps(gate + i, rest));
        _mm256_maskstore_ps(gate + i, rest, _mm256_mul_ps(y, _mm256_maskload_ps(up + i, rest)));
    }
}

static void silu_mul_avx2(float *gate, const float *up, size_t n)
{
    activate_mul(gate, up, n, rmli_silu_avx2);
}

static void gelu_tanh_mul_avx2(float *gate, const float *up, size_t n)
{
    activate_mul(gate, up, n, rmli_gelu_tanh_avx2);
}

static float max_of(const float *x, size_t n)
{
    /* max(x, m) gives m when x is NaN: as in the reference, NaN is not greater. */
    __m256 lanes = _mm256_set1_ps(-INFINITY);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        lanes = _mm256_max_ps(_mm256_loadu_ps(x + i), lanes);
    float max = -INFINITY, m[8];
    _mm256_storeu_ps(m, lanes);
    for (size_t j = 0; j < 8; j++)
        max = m[j] > max ? m[j] : max;
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static void softmax_avx2(float *x, size_t n)
{
    __m256 max = _mm256_set1_ps(max_of(x, n)), lanes = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 y = rmli_exp_avx2(_mm256_sub_ps(_mm256_loadu_ps(x + i), max));
        _mm256_storeu_ps(x + i, y);
        lanes = _mm256_add_ps(lanes, y);
    }
    if (i < n) {
        __m256i rest = lanes_below(n - i);
        __m256 y = rmli_exp_avx2(_mm256_sub_ps(_mm256_maskload_ps(x + i, rest), max));
        _mm256_maskstore_ps(x + i, rest, y);
        lanes = _mm256_add_ps(lanes, _mm256_and_ps(y, _mm256_castsi256_ps(rest)));
    }
    float sum = fold(lanes);
    for (i = 0; i < n; i++)
        x[i] /= sum;
}

/* Rotates the chosen ones of eight pairs (a[i], b[i]). */
RMLI_INLINE void rotate(float *a, float *b, const float *cos, const float *sin, __m256i lanes)
{
    __m256 c = _mm256_maskload_ps(cos, lanes), s = _mm256_maskload_ps(sin, lanes);
    __m256 x = _mm256_maskload_ps(a, lanes), y = _mm256_maskload_ps(b, lanes);
    _mm256_maskstore_ps(a, lanes, _mm256_sub_ps(_mm256_mul_ps(x, c), _mm256_mul_ps(y, s)));
    _mm256_maskstore_ps(b, lanes, _mm256_add_ps(_mm256_mul_ps(y, c), _mm256_mul_ps(x, s)));
}

static void rope_half_avx2(float *x, const float *cos, const float *sin, size_t n)
{
    size_t n_pairs = n / 2;
    for (size_t i = 0; i < n_pairs; i += 8) {
        size_t left = n_pairs - i;
        rotate(x + i, x + n_pairs + i, cos + i, sin + i, lanes_below(left < 8 ? left : 8));
    }
}

static void rope_interleaved_avx2(float *x, const float *cos, const float *sin, size_t n)
{
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    size_t n_pairs = n / 2, i = 0;
    for (; i + 4 <= n_pairs; i += 4) {
        __m256 v = _mm256_loadu_ps(x + 2 * i);
        __m256 c = _mm256_castps128_ps256(_mm_loadu_ps(cos + i));
        __m256 s = _mm256_castps128_ps256(_mm_loadu_ps(sin + i));
        __m256 swapped = _mm256_permute_ps(v, 0xb1);
        c = _mm256_mul_ps(v, _mm256_permutevar8x32_ps(c, twice));
        s = _mm256_mul_ps(swapped, _mm256_permutevar8x32_ps(s, twice));
        _mm256_storeu_ps(x + 2 * i, _mm256_addsub_ps(c, s)); /* even: c - s, odd: c + s */
    }
    for (; i < n_pairs; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * cos[i] - b * sin[i];
        x[2 * i + 1] = b * cos[i] + a * sin[i];
    }
}

const struct rmli_vector_kernels rmli_vector_avx2 = {
    .rms_norm = rms_norm_avx2,
    .add = add_avx2,
    .add_scaled = add_scaled_avx2,
    .scale = scale_avx2,
    .silu_mul = silu_mul_avx2,
    .gelu_tanh_mul = gelu_tanh_mul_avx2,
    .softmax = softmax_avx2,
    .rope_half = rope_half_avx2,
    .rope_interleaved = rope_interleaved_avx2,
};
