/*
 * The kernel table: every hot loop of the forward pass behind one function
 * pointer with one contract.
 *
 * The portable C version (ref/) fills every entry and is the definition: it
 * stays callable, and every vector version is tested against it with ==, not
 * with a tolerance. What makes that possible is that each contract fixes the
 * order of additions:
 *
 *   "lane order": a sum over k = 0 .. n-1 keeps 8 partial sums; lane j takes
 *   k = j, j + 8, j + 16, ... in this order by fma (acc = fma(a, b, acc),
 *   from +0), and the lanes are then added as
 *
 *       ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))
 *
 *   which is one AVX2 register folded in half three times. A tail of n % 8
 *   elements takes part in its own lanes only (the others are not touched).
 *
 * So a result depends on its operands alone: not on how rows and columns are
 * tiled, batched or shared among threads (architecture.md, contract 5).
 * Nothing here allocates, fails, or looks at global state. Distinct outputs
 * may be computed by distinct threads at once. Pointers to f32 need 4-byte
 * alignment only; weight data is aligned to its dtype's alignment.
 */
#ifndef RML_KERNELS_KERNELS_H
#define RML_KERNELS_KERNELS_H

#include "kernels/cpu_features.h"
#include "tensor/matrix.h"

/* ---- Matrix products ---------------------------------------------------- */

/* Working memory that one call of a matmul kernel may use: bytes per thread,
 * 64-byte aligned. Kernels tile themselves to stay inside. */
#define RMLI_MATMUL_SCRATCH_NBYTES ((size_t)1 << 20)

/* Rows per task that suit every matmul kernel (a multiple of all tile heights). */
#define RMLI_MATMUL_ROW_GRAIN 48

/* Largest n_cols of any matrix: what the scratch memory is sized for. */
#define RMLI_MATMUL_MAX_COLS ((size_t)1 << 17)

/*
 * out[j * ld_out + r]  =  dot(W[r], x[j])            r in [row_begin, row_end)
 *                     (+= when accumulate)           j in [0, n_x)
 *
 * f32 arithmetic: W[r][k] is widened to f32 exactly as `widen` does, x is
 * f32 [n_x][ld_x], and the dot product over n_cols is a sum in lane order.
 * With accumulate the finished dot product is added to out by one addition.
 */
typedef void rmli_matmul_f32_fn(float *out, size_t ld_out, const struct rmli_matrix *w,
                                size_t row_begin, size_t row_end, const float *x, size_t ld_x,
                                size_t n_x, bool accumulate, void *scratch);

/*
 * i8 arithmetic: the same with x quantised by `quantize_activations` of w's
 * dtype, [n_x] rows of rmli_activation_row_nbytes(dtype, n_cols) bytes. For
 * each block in order of k the products are summed exactly in int32 (i) and
 *
 *     acc = fma(dw * da, (float)i, acc)       dw, da: block scales in f32
 *
 * then, for types with an offset (Q4_1 Q5_1 Q2_K Q4_K Q5_K), with s the exact
 * int32 sum of (integer min x activations):
 *
 *     acc = fma(mw * da, (float)s, acc)       mw = m, or -dmin for K-quants
 *
 * A block is 32 elements for Q4_0 .. Q8_0 and IQ4_NL and 256 for K-quants and
 * IQ4_XS, whose integer sub-scales are inside i.
 */
typedef void rmli_matmul_i8_fn(float *out, size_t ld_out, const struct rmli_matrix *w,
                               size_t row_begin, size_t row_end, const void *x, size_t n_x,
                               bool accumulate, void *scratch);

/* Activations in i8: for each block of 32 or 256 elements (by the weight's
 * dtype) scale d = max|x| / 127 in f32 and q = x * (127 / max|x|) rounded to
 * nearest, ties to even; all zero when 127 / max|x| is no finite number (max|x| is
 * 0, or below about 2^-121). A block with an Inf or NaN has q = 0 and a non-finite d, so
 * that it shows in the output. The row's layout is private to the kernels of one
 * table. */
typedef void rmli_quantize_activations_fn(void *dst, const float *x, size_t n);

struct rmli_matmul_kernels {
    /* dst[i] = the f32 value of element i; n a multiple of the block. Exact
     * conversion for F32 F16 BF16; for quantised types the GGUF definition
     * evaluated in f32 in the order written in tensor/blocks.h. */
    void (*widen[RML_N_WEIGHT_DTYPES])(float *dst, const void *src, size_t n);
    rmli_matmul_f32_fn *matmul_f32[RML_N_WEIGHT_DTYPES];
    /* NULL for F32, F16 and BF16, which use f32 activations in both arithmetics. */
    rmli_matmul_i8_fn *matmul_i8[RML_N_WEIGHT_DTYPES];
    rmli_quantize_activations_fn *quantize_activations[RML_N_WEIGHT_DTYPES];
};

/* Bytes of one quantised row of n_cols activations for weights of that dtype
 * (0 when it has no i8 kernel); a multiple of 64. */
size_t rmli_activation_row_nbytes(enum rml_dtype dtype, size_t n_cols);

/* True when two dtypes take the same quantised activations (same block), so
 * that one quantisation serves several matrices. */
bool rmli_activation_same(enum rml_dtype a, enum rml_dtype b);

/* ---- Vectors ------------------------------------------------------------ */

struct rmli_vector_kernels {
    /* dst[i] = x[i] * r * w[i], r = 1 / sqrt(s / n + eps), s = sum of squares in
     * lane order; products left to right. dst may be x. */
    void (*rms_norm)(float *dst, const float *x, const float *w, size_t n, float eps);
    void (*add)(float *dst, const float *x, size_t n);                 /* dst += x */
    void (*add_scaled)(float *dst, const float *x, float s, size_t n); /* dst = fma(s, x, dst) */
    void (*scale)(float *dst, float s, size_t n);                      /* dst *= s */
    void (*silu_mul)(float *gate, const float *up, size_t n);          /* gate = silu(gate) * up */
    void (*gelu_tanh_mul)(float *gate, const float *up, size_t n);     /* tanh-approximated GELU */
    /* x = softmax(x): maximum subtracted, own exp, sum in lane order (plain
     * additions), one division by the sum for each element. */
    void (*softmax)(float *x, size_t n);
    /* Rotates one head in place: pair i turns by the angle whose cosine and
     * sine are cos[i] and sin[i], i in [0, n / 2):
     *     half          (x[i], x[i + n/2])
     *     interleaved   (x[2i], x[2i + 1])
     * a' = a cos - b sin, b' = b cos + a sin: two products and one addition
     * each, no fma, all rounded to f32. n is even. */
    void (*rope_half)(float *x, const float *cos, const float *sin, size_t n);
    void (*rope_interleaved)(float *x, const float *cos, const float *sin, size_t n);
};

/* ---- Attention ---------------------------------------------------------- */

/* Keys per block. Blocks start at positions that are multiples of it, are
 * reduced alone and merged from left to right. */
#define RMLI_ATTENTION_BLOCK 64

/* Largest head_dim and largest number of query heads that share a kv head. */
#define RMLI_MAX_HEAD_DIM 512
#define RMLI_MAX_HEAD_GROUP 64

/* One cached head row in each cache dtype:
 *     f32, f16   head_dim elements
 *     i8         head_dim / g scales in f32, then head_dim int8, padded to a
 *                multiple of 4 bytes; g = largest power of two that divides
 *                head_dim, at most 32; value = scale * (float)q in f32
 * i8: scale = max|x| / 127, q = x * (127 / max|x|) to nearest even, zeros when
 * max|x| is below 2^-120. A group with an infinity or a NaN reads as NaN. */
size_t rmli_kv_group(size_t head_dim);
size_t rmli_kv_head_nbytes(enum rml_kv_dtype dtype, size_t head_dim);

/* A tile of query rows against (part of) one block of keys of one kv head. */
struct rmli_attention_tile {
    size_t n_rows; /* query rows: every head of the group for each query */
    size_t head_dim;
    float scale;           /* applied to each finished dot product */
    const float *const *q; /* [n_rows] -> [head_dim] */
    const uint8_t *first;  /* [n_rows] keys [first, last) of the block are seen */
    const uint8_t *last;   /* by the row; first < last <= RMLI_ATTENTION_BLOCK */
    float *weights;        /* [n_rows][RMLI_ATTENTION_BLOCK] scores, then exp(score - max);
                             outside [first, last) undefined */
    float *max;            /* [n_rows] */
    float *sum;            /* [n_rows] */
    float *out;            /* [n_rows][head_dim] */
    const uint8_t *next;   /* a hint: what scores and values may prefetch, for it is read */
    size_t next_nbytes;    /* after them; 0: nothing */
};

struct rmli_attention_kernels {
    /* weights[r][t] = scale * dot(q[r], key t) in lane order over head_dim, for
     * t in [first[r], last[r]). keys: row t at keys + t * key_nbytes. */
    void (*scores[RML_N_KV_DTYPES])(const struct rmli_attention_tile *t, const uint8_t *keys,
                                    size_t key_nbytes);
    /* max[r] = largest score, weights = exp(score - max), sum[r] = their sum in
     * 8 lanes by t % 8 (additions; lanes folded as in lane order). NaN and +inf
     * among the scores make sum and output NaN; -inf weighs 0, and when there is
     * nothing else, max is -inf, sum 0 and output 0. */
    void (*softmax)(const struct rmli_attention_tile *t);
    /* out[r][d] = sum over t in [first, last) ascending, from +0,
     *     f32, f16   acc = fma(weight, value, acc)
     *     i8         acc = fma(weight * scale, (float)q, acc) */
    void (*values[RML_N_KV_DTYPES])(const struct rmli_attention_tile *t, const uint8_t *values,
                                    size_t value_nbytes);
    /* Merges a reduced block (b) into a running state (a), one row:
     * m = max(am, bm), ca = exp(am - m), cb = exp(bm - m),
     * a_sum = a_sum * ca + b_sum * cb, a_out[d] = a_out[d] * ca + b_out[d] * cb
     * (two products and one addition, no fma); in exponents an m of -inf counts
     * as 0. */
    void (*merge)(float *a_max, float *a_sum, float *a_out, float b_max, float b_sum,
                  const float *b_out, size_t head_dim);
    /* Writes one head row of a cache. */
    void (*store[RML_N_KV_DTYPES])(void *row, const float *x, size_t head_dim);
};

/* ---- Tables ------------------------------------------------------------- */

struct rmli_kernels {
    enum rml_isa isa;
    const struct rmli_matmul_kernels *matmul;
    const struct rmli_vector_kernels *vector;
    const struct rmli_attention_kernels *attention;
};

/* The instances that the table of each ISA is built from. */
extern const struct rmli_matmul_kernels rmli_matmul_ref, rmli_matmul_avx2, rmli_matmul_avx512;
extern const struct rmli_vector_kernels rmli_vector_ref, rmli_vector_avx2;
extern const struct rmli_attention_kernels rmli_attention_ref, rmli_attention_avx2;

/* The table for exactly that ISA; NULL when it was not built or this machine
 * cannot run it. rmli_kernels_for(RML_ISA_REF) is never NULL. */
const struct rmli_kernels *rmli_kernels_for(enum rml_isa isa);

/* The best table of this machine that is not above the cap in RML_CPU (unset:
 * no cap). A cap between two built levels gives the lower one. NULL when
 * RML_CPU holds an unknown name. */
const struct rmli_kernels *rmli_kernels_best(struct rml_error *err);

#endif
