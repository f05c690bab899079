/* Taking weights out of a checkpoint: see weight_loader.h. */
#include "model/weight_loader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"

/* What weights->owned points at. */
struct owned {
    void **blocks;
    size_t n, n_allocated;
};

bool rmli_loader_init(struct rmli_weight_loader *l)
{
    l->weights->owned = calloc(1, sizeof(struct owned));
    l->used = calloc(rml_checkpoint_n_tensors(l->cp) + 1, sizeof *l->used);
    if (!l->weights->owned || !l->used)
        return rmli_fail(l->err, RML_NO_MEMORY, rml_checkpoint_path(l->cp), -1,
                         "no memory for the table of weights");
    return true;
}

void rmli_loader_release(struct rmli_weight_loader *l)
{
    free(l->used);
}

void *rmli_own(struct rmli_weight_loader *l, size_t nelems, size_t elem_nbytes)
{
    struct owned *owned = l->weights->owned;
    if (owned->n == owned->n_allocated) {
        size_t n = owned->n_allocated ? 2 * owned->n_allocated : 64;
        void **blocks = realloc(owned->blocks, n * sizeof *blocks);
        if (!blocks) {
            rmli_fail(l->err, RML_NO_MEMORY, rml_checkpoint_path(l->cp), -1,
                      "no memory for the table of weights");
            return NULL;
        }
        owned->blocks = blocks;
        owned->n_allocated = n;
    }
    void *block = rmli_alloc(nelems, elem_nbytes, l->err);
    if (block)
        owned->blocks[owned->n++] = block;
    return block;
}

void *rmli_own_zeroed(struct rmli_weight_loader *l, size_t nelems, size_t elem_nbytes)
{
    void *block = rmli_own(l, nelems, elem_nbytes);
    if (block)
        memset(block, 0, nelems * elem_nbytes);
    return block;
}

void rmli_free_owned(void *pointer)
{
    struct owned *owned = pointer;
    if (!owned)
        return;
    for (size_t i = 0; i < owned->n; i++)
        rmli_free(owned->blocks[i]);
    free(owned->blocks);
    free(owned);
}

/* ---- Looking up and checking --------------------------------------------- */

/* "[32, 64]" */
static void show_shape(char *out, size_t out_nbytes, int n_dims, const uint64_t *dims)
{
    size_t n = (size_t)snprintf(out, out_nbytes, "[");
    for (int i = 0; i < n_dims && n < out_nbytes; i++)
        n += (size_t)snprintf(out + n, out_nbytes - n, "%s%" PRIu64, i ? ", " : "", dims[i]);
    if (n < out_nbytes)
        snprintf(out + n, out_nbytes - n, "]");
}

/* NULL when the checkpoint does not have it, under any of its names. */
static const struct rml_tensor_info *find(struct rmli_weight_loader *l, enum rmli_weight weight,
                                          uint32_t layer, uint32_t expert)
{
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
    int n = rmli_weight_names(rml_checkpoint_kind(l->cp), l->config->architecture, weight, layer,
                              expert, names);
    for (int i = 0; i < n; i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_find_tensor(l->cp, names[i]);
        if (tensor)
            return tensor;
    }
    return NULL;
}

/* Outermost dimensions of 1 may be there or not: GGUF writers leave them out. */
static bool has_shape(const struct rml_tensor_info *tensor, int n_dims, const uint64_t *dims)
{
    const uint64_t *found = tensor->dims;
    int n_found = tensor->n_dims;
    for (; n_found > 0 && *found == 1; found++)
        n_found--;
    for (; n_dims > 0 && *dims == 1; dims++)
        n_dims--;
    return n_found == n_dims && memcmp(found, dims, (size_t)n_dims * sizeof *dims) == 0;
}

/* Finds, checks the shape and notes as used. */
static const struct rml_tensor_info *take(struct rmli_weight_loader *l, enum rmli_weight weight,
                                          uint32_t layer, uint32_t expert, int n_dims,
                                          const uint64_t *dims)
{
    const struct rml_tensor_info *tensor = find(l, weight, layer, expert);
    char expected[96], found[96];
    show_shape(expected, sizeof expected, n_dims, dims);
    if (!tensor) {
        char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
        int n = rmli_weight_names(rml_checkpoint_kind(l->cp), l->config->architecture, weight,
                                  layer, expert, names);
        rmli_fail(l->err, RML_NOT_FOUND, rml_checkpoint_path(l->cp), -1,
                  "the tensor '%s' is missing, expected shape %s", n ? names[0] : "?", expected);
        return NULL;
    }
    if (!has_shape(tensor, n_dims, dims)) {
        show_shape(found, sizeof found, tensor->n_dims, tensor->dims);
        rmli_fail(l->err, RML_FORMAT, tensor->file, (int64_t)tensor->offset,
                  "the tensor '%s' has shape %s, expected %s", tensor->name, found, expected);
        return NULL;
    }
    /* A tensor that serves as two (fused q, k and v) is taken once. */
    l->used[l->n_used++] = tensor;
    l->weights->nbytes += tensor->nbytes;
    return tensor;
}

/* The matrix of n_rows x n_cols that a tensor holds, stacked ones as one above the other. */
static bool view(struct rmli_weight_loader *l, const struct rml_tensor_info *tensor,
                 uint64_t n_rows, uint64_t n_cols, struct rmli_matrix *m)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(tensor->dtype);
    size_t row_nbytes, nbytes;
    if (tensor->dtype >= RML_N_WEIGHT_DTYPES)
        return rmli_fail(l->err, RML_UNSUPPORTED, tensor->file, (int64_t)tensor->offset,
                         "the tensor '%s' is stored as %s, which is no type of weights",
                         tensor->name, traits->name);
    if (!rml_dtype_row_nbytes(tensor->dtype, n_cols, &row_nbytes))
        return rmli_fail(l->err, RML_FORMAT, tensor->file, (int64_t)tensor->offset,
                         "the tensor '%s' has rows of %" PRIu64 " elements, expected a multiple of "
                         "%u (blocks of %s)",
                         tensor->name, n_cols, traits->block_nelems, traits->name);
    if (!rmli_size_mul((size_t)n_rows, row_nbytes, &nbytes) || nbytes != tensor->nbytes)
        return rmli_fail(l->err, RML_FORMAT, tensor->file, (int64_t)tensor->offset,
                         "the tensor '%s' has %zu bytes, expected %zu", tensor->name,
                         tensor->nbytes, nbytes);
    *m = (struct rmli_matrix){.dtype = tensor->dtype,
                              .n_rows = (size_t)n_rows,
                              .n_cols = (size_t)n_cols,
                              .row_nbytes = row_nbytes,
                              .data = tensor->data};
    if ((uintptr_t)tensor->data % traits->alignment != 0) {
        uint8_t *copy = rmli_own(l, nbytes, 1);
        if (!copy)
            return false;
        memcpy(copy, tensor->data, nbytes);
        l->weights->nbytes_copied += nbytes;
        m->data = copy;
    }
    return true;
}

static struct rmli_matrix rows_of(const struct rmli_matrix *m, uint64_t first, uint64_t n_rows)
{
    struct rmli_matrix part = *m;
    part.n_rows = (size_t)n_rows;
    part.data = rmli_matrix_row(m, (size_t)first);
    return part;
}

bool rmli_load_matrix(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                      uint32_t expert, uint64_t n_rows, uint64_t n_cols, struct rmli_matrix *m)
{
    const uint64_t dims[2] = {n_rows, n_cols};
    const struct rml_tensor_info *tensor = take(l, weight, layer, expert, 2, dims);
    return tensor && view(l, tensor, n_rows, n_cols, m);
}

/* ---- Vectors ------------------------------------------------------------- */

static bool load_vector(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                        uint64_t n, float **out)
{
    const struct rml_tensor_info *tensor = take(l, weight, layer, 0, 1, &n);
    if (!tensor)
        return false;
    bool is_f32 = tensor->dtype == RML_F32;
    if (!is_f32 && tensor->dtype != RML_F16 && tensor->dtype != RML_BF16)
        return rmli_fail(l->err, RML_UNSUPPORTED, tensor->file, (int64_t)tensor->offset,
                         "the tensor '%s' is stored as %s, expected F32, F16 or BF16", tensor->name,
                         rml_dtype_traits(tensor->dtype)->name);
    float *values = rmli_own(l, (size_t)n, sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        if (is_f32) {
            memcpy(&values[i], tensor->data + i * sizeof(float), sizeof(float));
        } else {
            memcpy(&half, tensor->data + i * sizeof half, sizeof half);
            values[i] =
                tensor->dtype == RML_F16 ? rmli_f32_from_f16(half) : rmli_f32_from_bf16(half);
        }
    }
    l->weights->nbytes_copied += (size_t)n * sizeof *values;
    *out = values;
    return true;
}

bool rmli_load_norm(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                    uint64_t n, float **out)
{
    if (!load_vector(l, weight, layer, n, out))
        return false;
    for (size_t i = 0; l->config->norm_plus_one && i < n; i++)
        (*out)[i] += 1;
    return true;
}

bool rmli_load_rope_factors(struct rmli_weight_loader *l)
{
    uint32_t n_pairs = l->config->head_dim / 2;
    float *factors;
    if (!load_vector(l, RMLI_WEIGHT_ROPE_FACTORS, 0, n_pairs, &factors))
        return false;
    for (uint32_t i = 0; i < n_pairs; i++)
        if (!isfinite(factors[i]) || factors[i] <= 0)
            return rmli_fail(l->err, RML_FORMAT, rml_checkpoint_path(l->cp), -1,
                             "factor %u of the tensor 'rope_freqs.weight' is %g, expected more "
                             "than 0",
                             i, (double)factors[i]);
    l->weights->rope_factors = factors;
    return true;
}

/* ---- Tensors that hold several weights ----------------------------------- */

bool rmli_load_qkv(struct rmli_weight_loader *l, uint32_t layer, const struct rmli_rows rows[3])
{
    static const enum rmli_weight matrices[] = {RMLI_WEIGHT_Q, RMLI_WEIGHT_K, RMLI_WEIGHT_V};
    static const enum rmli_weight biases[] = {RMLI_WEIGHT_Q_BIAS, RMLI_WEIGHT_K_BIAS,
                                              RMLI_WEIGHT_V_BIAS};
    uint64_t n_embd = l->config->n_embd, n_rows = rows[0].n + rows[1].n + rows[2].n, first = 0;
    struct rmli_matrix fused = {.n_rows = 0};
    float *fused_bias = NULL;

    if (find(l, RMLI_WEIGHT_QKV, layer, 0) &&
        !rmli_load_matrix(l, RMLI_WEIGHT_QKV, layer, 0, n_rows, n_embd, &fused))
        return false;
    if (l->config->attention_bias && find(l, RMLI_WEIGHT_QKV_BIAS, layer, 0) &&
        !load_vector(l, RMLI_WEIGHT_QKV_BIAS, layer, n_rows, &fused_bias))
        return false;
    for (int i = 0; i < 3; first += rows[i++].n) {
        if (fused.n_rows)
            *rows[i].matrix = rows_of(&fused, first, rows[i].n);
        else if (!rmli_load_matrix(l, matrices[i], layer, 0, rows[i].n, n_embd, rows[i].matrix))
            return false;
        if (fused_bias)
            *rows[i].bias = fused_bias + first;
        else if (l->config->attention_bias &&
                 !load_vector(l, biases[i], layer, rows[i].n, rows[i].bias))
            return false;
    }
    return true;
}

/* Expert e of a stacked tensor: n_rows rows from first on, in blocks of stride rows. */
static bool unstack(struct rmli_weight_loader *l, enum rmli_weight weight, uint32_t layer,
                    uint64_t n_rows, uint64_t n_cols, struct rmli_matrix *stack)
{
    uint64_t n_expert = l->config->n_expert;
    const uint64_t dims[3] = {n_expert, n_rows, n_cols};
    const struct rml_tensor_info *tensor = take(l, weight, layer, 0, 3, dims);
    return tensor && view(l, tensor, n_expert * n_rows, n_cols, stack);
}

bool rmli_load_experts(struct rmli_weight_loader *l, uint32_t layer)
{
    struct rmli_layer_weights *w = &l->weights->layers[layer];
    uint64_t n_ff = l->config->n_ff_expert, n_embd = l->config->n_embd;
    uint32_t n_expert = l->config->n_expert;
    struct rmli_matrix gate = {0}, up = {0}, down = {0};
    struct rmli_matrix *m = rmli_own(l, 3 * (size_t)n_expert, sizeof *m);
    if (!m)
        return false;
    w->expert_gate = m;
    w->expert_up = m + n_expert;
    w->expert_down = m + 2 * (size_t)n_expert;

    /* Hugging Face's experts are apart, but for the fused form; GGUF's are stacked, but for
     * files from before 2024. */
    bool fused = find(l, RMLI_WEIGHT_STACKED_GATE_UP, layer, 0) != NULL;
    bool is_hf = rml_checkpoint_kind(l->cp) == RML_CHECKPOINT_HF;
    if (!fused && (is_hf || find(l, RMLI_WEIGHT_EXPERT_GATE, layer, 0))) {
        for (uint32_t e = 0; e < n_expert; e++)
            if (!rmli_load_matrix(l, RMLI_WEIGHT_EXPERT_GATE, layer, e, n_ff, n_embd,
                                  &w->expert_gate[e]) ||
                !rmli_load_matrix(l, RMLI_WEIGHT_EXPERT_UP, layer, e, n_ff, n_embd,
                                  &w->expert_up[e]) ||
                !rmli_load_matrix(l, RMLI_WEIGHT_EXPERT_DOWN, layer, e, n_embd, n_ff,
                                  &w->expert_down[e]))
                return false;
        return true;
    }
    if (fused) {
        if (!unstack(l, RMLI_WEIGHT_STACKED_GATE_UP, layer, 2 * n_ff, n_embd, &gate))
            return false;
        up = gate;
        up.data += n_ff * up.row_nbytes;
    } else if (!unstack(l, RMLI_WEIGHT_STACKED_GATE, layer, n_ff, n_embd, &gate) ||
               !unstack(l, RMLI_WEIGHT_STACKED_UP, layer, n_ff, n_embd, &up)) {
        return false;
    }
    if (!unstack(l, RMLI_WEIGHT_STACKED_DOWN, layer, n_embd, n_ff, &down))
        return false;
    uint64_t stride = fused ? 2 * n_ff : n_ff;
    for (uint32_t e = 0; e < n_expert; e++) {
        w->expert_gate[e] = rows_of(&gate, e * stride, n_ff);
        w->expert_up[e] = rows_of(&up, e * stride, n_ff);
        w->expert_down[e] = rows_of(&down, e * n_embd, n_embd);
    }
    return true;
}

/* ---- What is left over --------------------------------------------------- */

static int compare_pointers(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const void *const *)a, y = (uintptr_t) * (const void *const *)b;
    return (x > y) - (x < y);
}

/* A tied head that stands in the file all the same. transformers 4 ignores it, 5 uses it
 * when it differs from the embedding: only a copy is harmless. */
static bool is_copied_head(struct rmli_weight_loader *l, const struct rml_tensor_info *tensor)
{
    const struct rml_tensor_info *embedding = find(l, RMLI_WEIGHT_EMBEDDING, 0, 0);
    return l->config->tied_head && tensor == find(l, RMLI_WEIGHT_HEAD, 0, 0) &&
           tensor->dtype == embedding->dtype && tensor->nbytes == embedding->nbytes &&
           memcmp(tensor->data, embedding->data, tensor->nbytes) == 0;
}

bool rmli_check_unused(struct rmli_weight_loader *l)
{
    qsort(l->used, l->n_used, sizeof *l->used, compare_pointers);
    for (size_t i = 0; i < rml_checkpoint_n_tensors(l->cp); i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_tensor(l->cp, i);
        if (bsearch(&tensor, l->used, l->n_used, sizeof *l->used, compare_pointers) ||
            rmli_is_inert_tensor(tensor->name) || is_copied_head(l, tensor))
            continue;
        return rmli_fail(l->err, RML_UNSUPPORTED, tensor->file, (int64_t)tensor->offset,
                         "the tensor '%s' is not part of this %s model, and may change its result",
                         tensor->name, l->config->architecture);
    }
    return true;
}
