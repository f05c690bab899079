#include "kernels/kernel_case.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "tensor/encode.h"

enum { BLOCK = RMLI_ATTENTION_BLOCK };

#define DRAWN_ROWS 8 /* distinct rows of a weight matrix; the others repeat them */

static const struct {
    const char *name;
    enum rmli_kernel_dtypes dtypes;
} ops[RMLI_N_KERNEL_OPS] = {
    [RMLI_OP_WIDEN] = {"widen", RMLI_WEIGHT_DTYPE},
    [RMLI_OP_MATMUL_F32] = {"matmul_f32", RMLI_WEIGHT_DTYPE},
    [RMLI_OP_MATMUL_I8] = {"matmul_i8", RMLI_WEIGHT_DTYPE},
    [RMLI_OP_QUANTIZE_ACTIVATIONS] = {"quantize_activations", RMLI_WEIGHT_DTYPE},
    [RMLI_OP_RMS_NORM] = {"rms_norm", RMLI_NO_DTYPE},
    [RMLI_OP_ADD] = {"add", RMLI_NO_DTYPE},
    [RMLI_OP_ADD_SCALED] = {"add_scaled", RMLI_NO_DTYPE},
    [RMLI_OP_SCALE] = {"scale", RMLI_NO_DTYPE},
    [RMLI_OP_SILU_MUL] = {"silu_mul", RMLI_NO_DTYPE},
    [RMLI_OP_GELU_TANH_MUL] = {"gelu_tanh_mul", RMLI_NO_DTYPE},
    [RMLI_OP_SOFTMAX] = {"softmax", RMLI_NO_DTYPE},
    [RMLI_OP_ROPE_HALF] = {"rope_half", RMLI_NO_DTYPE},
    [RMLI_OP_ROPE_INTERLEAVED] = {"rope_interleaved", RMLI_NO_DTYPE},
    [RMLI_OP_ATTENTION_SCORES] = {"attention_scores", RMLI_KV_DTYPE},
    [RMLI_OP_ATTENTION_SOFTMAX] = {"attention_softmax", RMLI_NO_DTYPE},
    [RMLI_OP_ATTENTION_VALUES] = {"attention_values", RMLI_KV_DTYPE},
    [RMLI_OP_ATTENTION_MERGE] = {"attention_merge", RMLI_NO_DTYPE},
    [RMLI_OP_ATTENTION_STORE] = {"attention_store", RMLI_KV_DTYPE},
};

struct rmli_kernel_case {
    enum rmli_kernel_op op;
    int dtype;
    struct rmli_kernel_size size;
    size_t head_nbytes; /* of a cached row */

    struct rmli_matrix w;
    uint8_t *weights;         /* of w */
    float *x, *y;             /* operands that stay: [n_x][n_cols], or what the op makes of them */
    uint8_t *activations;     /* [n_x] quantised rows */
    size_t activation_nbytes; /* of one */
    float *drawn, *out;       /* what works in place starts from `drawn` */
    size_t n_out;
    float *product; /* with quantised activations: [n_x][DRAWN_ROWS] */
    void *scratch;

    uint8_t *rows; /* [BLOCK or n_rows] cached rows */
    const float *q[RMLI_MAX_HEAD_GROUP];
    uint8_t first[RMLI_MAX_HEAD_GROUP], last[RMLI_MAX_HEAD_GROUP];
    float *max, *sum, *tile_weights;
    struct rmli_attention_tile tile;
};

const char *rmli_kernel_op_name(enum rmli_kernel_op op)
{
    return (unsigned)op < RMLI_N_KERNEL_OPS ? ops[op].name : NULL;
}

bool rmli_kernel_op_parse(const char *name, enum rmli_kernel_op *op)
{
    for (int i = 0; i < RMLI_N_KERNEL_OPS; i++) {
        if (strcmp(name, ops[i].name) == 0) {
            *op = (enum rmli_kernel_op)i;
            return true;
        }
    }
    return false;
}

enum rmli_kernel_dtypes rmli_kernel_op_dtypes(enum rmli_kernel_op op)
{
    return ops[op].dtypes;
}

bool rmli_kernel_entry_exists(const struct rmli_kernels *table, enum rmli_kernel_op op, int dtype)
{
    int limit = ops[op].dtypes == RMLI_WEIGHT_DTYPE ? RML_N_WEIGHT_DTYPES
                : ops[op].dtypes == RMLI_KV_DTYPE   ? RML_N_KV_DTYPES
                                                    : 1;
    if (dtype < 0 || dtype >= limit)
        return false;
    switch (op) {
    case RMLI_OP_WIDEN:
        return table->matmul->widen[dtype];
    case RMLI_OP_MATMUL_F32:
        return table->matmul->matmul_f32[dtype];
    case RMLI_OP_MATMUL_I8:
        return table->matmul->matmul_i8[dtype];
    case RMLI_OP_QUANTIZE_ACTIVATIONS:
        return table->matmul->quantize_activations[dtype];
    default:
        return true; /* the contract knows no table without them */
    }
}

/* ---- Operands ------------------------------------------------------------------------------- */

static bool is_attention(enum rmli_kernel_op op)
{
    return op >= RMLI_OP_ATTENTION_SCORES;
}

static bool uses_weights(enum rmli_kernel_op op)
{
    return ops[op].dtypes == RMLI_WEIGHT_DTYPE;
}

/* About normal, within +-1: the sum of four uniform 16-bit numbers. */
static void draw(struct rmli_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = rmli_rng_next(rng);
        int sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (int)(bits >> (16 * k) & 0xffff) - 0x8000;
        x[i] = (float)sum / (4 * 0x8000);
    }
}

static float *draw_new(struct rmli_rng *rng, size_t n, struct rml_error *err)
{
    float *x = rmli_alloc(n, sizeof *x, err);
    if (x)
        draw(rng, x, n);
    return x;
}

static bool make_weights(struct rmli_kernel_case *c, struct rmli_rng *rng, struct rml_error *err)
{
    enum rml_dtype dtype = (enum rml_dtype)c->dtype;
    const struct rmli_kernel_size *s = &c->size;
    size_t n_rows = c->op == RMLI_OP_QUANTIZE_ACTIVATIONS ? DRAWN_ROWS : s->n_rows;
    size_t n_drawn = n_rows < DRAWN_ROWS ? n_rows : DRAWN_ROWS;
    c->w = (struct rmli_matrix){.dtype = dtype, .n_rows = n_rows, .n_cols = s->n_cols};
    if (!rml_dtype_row_nbytes(dtype, s->n_cols, &c->w.row_nbytes))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "%zu columns are no whole blocks of %s", s->n_cols,
                         rml_dtype_traits(dtype)->name);
    float *values = draw_new(rng, s->n_cols * n_drawn, err);
    c->weights = values ? rmli_alloc(n_rows, c->w.row_nbytes, err) : NULL;
    if (c->weights) {
        rmli_encode(dtype, c->weights, values, s->n_cols * n_drawn); /* values fit any type */
        for (size_t r = n_drawn; r < n_rows; r++)
            memcpy(c->weights + r * c->w.row_nbytes, c->weights + r % n_drawn * c->w.row_nbytes,
                   c->w.row_nbytes);
    }
    c->w.data = c->weights;
    rmli_free(values);
    return c->weights != NULL;
}

static bool make_products(struct rmli_kernel_case *c, struct rmli_rng *rng, struct rml_error *err)
{
    const struct rmli_kernel_size *s = &c->size;
    c->n_out = c->op == RMLI_OP_WIDEN ? s->n_rows * s->n_cols : s->n_x * c->w.n_rows;
    c->activation_nbytes = rmli_activation_row_nbytes(c->w.dtype, s->n_cols);
    return (c->x = draw_new(rng, s->n_x * s->n_cols, err)) &&
           (c->activations = rmli_alloc_zeroed(s->n_x, c->activation_nbytes + 1, err)) &&
           (c->out = rmli_alloc_zeroed(c->n_out, sizeof *c->out, err)) &&
           (c->product = rmli_alloc_zeroed(s->n_x * DRAWN_ROWS, sizeof *c->product, err)) &&
           (c->scratch = rmli_alloc(1, RMLI_MATMUL_SCRATCH_NBYTES, err));
}

/* x and y; y of rotations holds cosines, then sines, of angles that are drawn. */
static bool make_vectors(struct rmli_kernel_case *c, struct rmli_rng *rng, struct rml_error *err)
{
    size_t n = c->n_out = c->size.n_cols;
    if (!(c->x = draw_new(rng, n, err)) || !(c->y = draw_new(rng, n, err)) ||
        !(c->drawn = draw_new(rng, n, err)) ||
        !(c->out = rmli_alloc_zeroed(n, sizeof *c->out, err)))
        return false;
    if (c->op == RMLI_OP_ROPE_HALF || c->op == RMLI_OP_ROPE_INTERLEAVED) {
        for (size_t i = 0; i < n / 2; i++) {
            double angle = 3 * (double)c->y[i];
            c->y[i] = (float)cos(angle);
            c->y[n / 2 + i] = (float)sin(angle);
        }
    }
    return true;
}

static bool make_attention(struct rmli_kernel_case *c, struct rmli_rng *rng, struct rml_error *err)
{
    size_t n_rows = c->size.n_rows, dim = c->size.n_cols;
    enum rml_kv_dtype kv =
        ops[c->op].dtypes == RMLI_KV_DTYPE ? (enum rml_kv_dtype)c->dtype : RML_KV_F32;
    size_t n_cached = c->op == RMLI_OP_ATTENTION_STORE ? n_rows : BLOCK;
    c->head_nbytes = rmli_kv_head_nbytes(kv, dim);
    c->n_out = n_rows * dim;
    if (!(c->x = draw_new(rng, n_rows * dim, err)) || !(c->y = draw_new(rng, BLOCK * dim, err)) ||
        !(c->rows = rmli_alloc_zeroed(n_cached, c->head_nbytes, err)) ||
        !(c->drawn = draw_new(rng, n_rows * (dim > BLOCK ? dim : BLOCK), err)) ||
        !(c->tile_weights = rmli_alloc_zeroed(n_rows * BLOCK, sizeof(float), err)) ||
        !(c->max = rmli_alloc_zeroed(n_rows, sizeof(float), err)) ||
        !(c->sum = rmli_alloc_zeroed(n_rows, sizeof(float), err)) ||
        !(c->out = rmli_alloc_zeroed(n_rows * dim, sizeof(float), err)))
        return false;
    for (size_t k = 0; k < n_cached && c->op != RMLI_OP_ATTENTION_STORE; k++)
        rmli_attention_ref.store[kv](c->rows + k * c->head_nbytes, c->y + k * dim, dim);
    for (size_t r = 0; r < n_rows; r++) {
        c->q[r] = c->x + r * dim;
        c->last[r] = BLOCK;
    }
    c->tile = (struct rmli_attention_tile){.n_rows = n_rows,
                                           .head_dim = dim,
                                           .scale = 1 / sqrtf((float)dim),
                                           .q = c->q,
                                           .first = c->first,
                                           .last = c->last,
                                           .weights = c->tile_weights,
                                           .max = c->max,
                                           .sum = c->sum,
                                           .out = c->out};
    return true;
}

static bool size_is_valid(enum rmli_kernel_op op, const struct rmli_kernel_size *s,
                          struct rml_error *err)
{
    bool even = op != RMLI_OP_ROPE_HALF && op != RMLI_OP_ROPE_INTERLEAVED;
    size_t most_cols = is_attention(op) ? RMLI_MAX_HEAD_DIM : RMLI_MATMUL_MAX_COLS;
    size_t most_rows = is_attention(op) ? RMLI_MAX_HEAD_GROUP : SIZE_MAX;
    if (s->n_rows > 0 && s->n_cols > 0 && s->n_x > 0 && s->n_cols <= most_cols &&
        s->n_rows <= most_rows && (even || s->n_cols % 2 == 0))
        return true;
    return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                     "%s of %zu rows, %zu columns, %zu vectors: out of bounds", ops[op].name,
                     s->n_rows, s->n_cols, s->n_x);
}

struct rmli_kernel_case *rmli_kernel_case_create(enum rmli_kernel_op op, int dtype,
                                                 const struct rmli_kernel_size *size, uint64_t seed,
                                                 struct rml_error *err)
{
    if (!rmli_kernel_entry_exists(rmli_kernels_for(RML_ISA_REF), op, dtype)) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "no %s of that data type", ops[op].name);
        return NULL;
    }
    if (!size_is_valid(op, size, err))
        return NULL;
    struct rmli_kernel_case *c = rmli_alloc_zeroed(1, sizeof *c, err);
    if (!c)
        return NULL;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, seed);
    c->op = op;
    c->dtype = dtype;
    c->size = *size;
    bool ok = uses_weights(op)   ? make_weights(c, &rng, err) && make_products(c, &rng, err)
              : is_attention(op) ? make_attention(c, &rng, err)
                                 : make_vectors(c, &rng, err);
    if (ok)
        return c;
    rmli_kernel_case_destroy(c);
    return NULL;
}

void rmli_kernel_case_destroy(struct rmli_kernel_case *c)
{
    if (!c)
        return;
    void *blocks[] = {c->weights, c->x,       c->y,    c->activations, c->drawn, c->out,
                      c->product, c->scratch, c->rows, c->max,         c->sum,   c->tile_weights};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        rmli_free(blocks[i]);
    rmli_free(c);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static void quantize_all(struct rmli_kernel_case *c, const struct rmli_kernels *table)
{
    for (size_t j = 0; j < c->size.n_x; j++)
        table->matmul->quantize_activations[c->dtype](c->activations + j * c->activation_nbytes,
                                                      c->x + j * c->size.n_cols, c->size.n_cols);
}

void rmli_kernel_case_reset(struct rmli_kernel_case *c, const struct rmli_kernels *table)
{
    size_t n_rows = c->size.n_rows;
    if (c->op == RMLI_OP_MATMUL_I8)
        quantize_all(c, table);
    if (is_attention(c->op)) {
        memcpy(c->tile_weights, c->drawn, n_rows * BLOCK * sizeof(float));
        for (size_t r = 0; r < n_rows; r++)
            c->max[r] = c->sum[r] = 1;
    }
    if (c->op == RMLI_OP_ATTENTION_MERGE || (!uses_weights(c->op) && !is_attention(c->op)))
        memcpy(c->out, c->drawn, c->n_out * sizeof(float));
}

static void run_vector(struct rmli_kernel_case *c, const struct rmli_vector_kernels *v)
{
    size_t n = c->size.n_cols;
    switch (c->op) {
    case RMLI_OP_RMS_NORM:
        v->rms_norm(c->out, c->x, c->y, n, 1e-5f);
        break;
    case RMLI_OP_ADD:
        v->add(c->out, c->x, n);
        break;
    case RMLI_OP_ADD_SCALED:
        v->add_scaled(c->out, c->x, 0.25f, n);
        break;
    case RMLI_OP_SCALE:
        v->scale(c->out, -1, n);
        break;
    case RMLI_OP_SILU_MUL:
        memcpy(c->out, c->x, n * sizeof(float));
        v->silu_mul(c->out, c->y, n);
        break;
    case RMLI_OP_GELU_TANH_MUL:
        memcpy(c->out, c->x, n * sizeof(float));
        v->gelu_tanh_mul(c->out, c->y, n);
        break;
    case RMLI_OP_SOFTMAX:
        v->softmax(c->out, n);
        break;
    case RMLI_OP_ROPE_HALF:
        v->rope_half(c->out, c->y, c->y + n / 2, n);
        break;
    default:
        v->rope_interleaved(c->out, c->y, c->y + n / 2, n);
    }
}

static void run_attention(struct rmli_kernel_case *c, const struct rmli_attention_kernels *a)
{
    size_t dim = c->size.n_cols;
    switch (c->op) {
    case RMLI_OP_ATTENTION_SCORES:
        a->scores[c->dtype](&c->tile, c->rows, c->head_nbytes);
        break;
    case RMLI_OP_ATTENTION_SOFTMAX:
        a->softmax(&c->tile);
        break;
    case RMLI_OP_ATTENTION_VALUES:
        a->values[c->dtype](&c->tile, c->rows, c->head_nbytes);
        break;
    case RMLI_OP_ATTENTION_MERGE:
        for (size_t r = 0; r < c->size.n_rows; r++)
            a->merge(&c->max[r], &c->sum[r], c->out + r * dim, 0.5f, 1, c->x + r * dim, dim);
        break;
    default:
        for (size_t r = 0; r < c->size.n_rows; r++)
            a->store[c->dtype](c->rows + r * c->head_nbytes, c->x + r * dim, dim);
    }
}

static void run_once(struct rmli_kernel_case *c, const struct rmli_kernels *table)
{
    const struct rmli_matmul_kernels *m = table->matmul;
    const struct rmli_kernel_size *s = &c->size;
    switch (c->op) {
    case RMLI_OP_WIDEN:
        for (size_t r = 0; r < s->n_rows; r++)
            m->widen[c->dtype](c->out + r * s->n_cols, rmli_matrix_row(&c->w, r), s->n_cols);
        break;
    case RMLI_OP_MATMUL_F32:
        m->matmul_f32[c->dtype](c->out, s->n_rows, &c->w, 0, s->n_rows, c->x, s->n_cols, s->n_x,
                                false, c->scratch);
        break;
    case RMLI_OP_MATMUL_I8:
        m->matmul_i8[c->dtype](c->out, s->n_rows, &c->w, 0, s->n_rows, c->activations, s->n_x,
                               false, c->scratch);
        break;
    case RMLI_OP_QUANTIZE_ACTIVATIONS:
        quantize_all(c, table);
        break;
    default:
        if (is_attention(c->op))
            run_attention(c, table->attention);
        else
            run_vector(c, table->vector);
    }
}

void rmli_kernel_case_run(struct rmli_kernel_case *c, const struct rmli_kernels *table, size_t n)
{
    while (n-- > 0)
        run_once(c, table);
}

const void *rmli_kernel_case_output(struct rmli_kernel_case *c, const struct rmli_kernels *table,
                                    size_t *nbytes)
{
    rmli_kernel_case_reset(c, table);
    run_once(c, table);
    switch (c->op) {
    case RMLI_OP_QUANTIZE_ACTIVATIONS:
        table->matmul->matmul_i8[c->dtype](c->product, DRAWN_ROWS, &c->w, 0, DRAWN_ROWS,
                                           c->activations, c->size.n_x, false, c->scratch);
        *nbytes = c->size.n_x * DRAWN_ROWS * sizeof *c->product;
        return c->product;
    case RMLI_OP_ATTENTION_SCORES:
    case RMLI_OP_ATTENTION_SOFTMAX:
        *nbytes = c->size.n_rows * BLOCK * sizeof *c->tile_weights;
        return c->tile_weights;
    case RMLI_OP_ATTENTION_STORE:
        *nbytes = c->size.n_rows * c->head_nbytes;
        return c->rows;
    default:
        *nbytes = c->n_out * sizeof *c->out;
        return c->out;
    }
}

/* ---- Costs ---------------------------------------------------------------------------------- */

double rmli_kernel_case_bytes(const struct rmli_kernel_case *c)
{
    const struct rmli_kernel_size *s = &c->size;
    double n_rows = (double)s->n_rows, n_cols = (double)s->n_cols, n_x = (double)s->n_x;
    double weights = n_rows * (double)c->w.row_nbytes,
           activations = n_x * (double)c->activation_nbytes;
    switch (c->op) {
    case RMLI_OP_WIDEN:
        return weights + 4 * n_rows * n_cols;
    case RMLI_OP_MATMUL_F32:
        return weights + 4 * n_x * (n_cols + n_rows);
    case RMLI_OP_MATMUL_I8:
        return weights + activations + 4 * n_x * n_rows;
    case RMLI_OP_QUANTIZE_ACTIVATIONS:
        return 4 * n_x * n_cols + activations;
    case RMLI_OP_SCALE:
    case RMLI_OP_SOFTMAX:
        return 8 * n_cols;
    case RMLI_OP_SILU_MUL:
    case RMLI_OP_GELU_TANH_MUL:
        return 20 * n_cols; /* the copy too */
    case RMLI_OP_ATTENTION_SCORES:
        return BLOCK * ((double)c->head_nbytes + 4 * n_rows) + 4 * n_rows * n_cols;
    case RMLI_OP_ATTENTION_SOFTMAX:
        return 8 * BLOCK * n_rows;
    case RMLI_OP_ATTENTION_VALUES:
        return BLOCK * ((double)c->head_nbytes + 4 * n_rows) + 4 * n_rows * n_cols;
    case RMLI_OP_ATTENTION_STORE:
        return n_rows * (4 * n_cols + (double)c->head_nbytes);
    case RMLI_OP_ATTENTION_MERGE:
        return 12 * n_rows * n_cols;
    default:
        return 12 * n_cols; /* two vectors read, one written */
    }
}

double rmli_kernel_case_flops(const struct rmli_kernel_case *c)
{
    const struct rmli_kernel_size *s = &c->size;
    if (c->op == RMLI_OP_MATMUL_F32 || c->op == RMLI_OP_MATMUL_I8)
        return 2.0 * (double)s->n_rows * (double)s->n_cols * (double)s->n_x;
    if (c->op == RMLI_OP_ATTENTION_SCORES || c->op == RMLI_OP_ATTENTION_VALUES)
        return 2.0 * BLOCK * (double)s->n_rows * (double)s->n_cols;
    return 0;
}
