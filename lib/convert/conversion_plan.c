/*
 * What the output will hold: one entry a tensor, each with its type and where its rows
 * come from.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/folder.h"
#include "files/gguf.h"
#include "text/pre_names.h"
#include "text/tokenizer.h"

/* ---- Types ------------------------------------------------------------------------ */

/* From llama.cpp's llama-quant.cpp (tensor_type_fallback). */
static enum rml_dtype fallback(enum rml_dtype dtype)
{
    switch (dtype) {
    case RML_Q2_K:
    case RML_Q3_K:
        return RML_Q4_0;
    case RML_Q4_K:
        return RML_Q5_0;
    case RML_Q5_K:
        return RML_Q5_1;
    case RML_Q6_K:
        return RML_Q8_0;
    case RML_IQ4_XS:
        return RML_IQ4_NL;
    default:
        return RML_F16;
    }
}

static bool takes_type(const char *name, int n_dims, const uint64_t *dims)
{
    for (; n_dims > 0 && *dims == 1; dims++)
        n_dims--; /* outermost dimensions of 1 do not count */
    size_t n = strlen(name), n_weight = strlen("weight");
    return n_dims >= 2 && n >= n_weight && strcmp(name + n - n_weight, "weight") == 0 &&
           !strstr(name, "_norm.weight") && !strstr(name, "ffn_gate_inp.weight");
}

static void choose_type(const struct rml_conversion *c, struct rml_conversion_tensor *t)
{
    if (!takes_type(t->name, t->n_dims, t->dims)) {
        t->to = rml_checkpoint_kind(c->cp) == RML_CHECKPOINT_HF ? RML_F32 : t->from;
        t->choice = RML_CONVERT_KEPT;
        return;
    }
    uint64_t n_cols = t->dims[t->n_dims - 1];
    t->to = c->options.dtype;
    t->choice = RML_CONVERT_CHOSEN;
    while (n_cols % rml_dtype_traits(t->to)->block_nelems != 0) {
        t->to = fallback(t->to);
        t->choice = RML_CONVERT_FALLBACK;
    }
}

/* llama_ftype of llama.h. Of the K-quants with several mixtures the plain one, _S. */
uint32_t rmli_file_type(enum rml_dtype dtype)
{
    static const uint32_t file_types[RML_N_WEIGHT_DTYPES] = {
        [RML_F32] = 0,   [RML_F16] = 1,   [RML_BF16] = 32, [RML_Q4_0] = 2,    [RML_Q4_1] = 3,
        [RML_Q5_0] = 8,  [RML_Q5_1] = 9,  [RML_Q8_0] = 7,  [RML_Q2_K] = 10,   [RML_Q3_K] = 11,
        [RML_Q4_K] = 14, [RML_Q5_K] = 16, [RML_Q6_K] = 18, [RML_IQ4_NL] = 25, [RML_IQ4_XS] = 30,
    };
    return file_types[dtype];
}

/* ---- Entries ------------------------------------------------------------------------ */

struct rmli_planned_tensor *rmli_conversion_add(struct rml_conversion *c, const char *name,
                                                enum rml_dtype from, int n_dims,
                                                const uint64_t *dims, struct rml_error *err)
{
    void *tensors = c->tensors;
    if (!rmli_reserve_one(&tensors, c->n_tensors, &c->tensor_capacity, sizeof *c->tensors, err))
        return NULL;
    c->tensors = tensors;
    struct rmli_planned_tensor *t = &c->tensors[c->n_tensors];
    *t = (struct rmli_planned_tensor){
        .info = {.name = rmli_arena_copy_string(&c->arena, name, strlen(name), err),
                 .n_dims = n_dims,
                 .from = from,
                 .nelems = 1}};
    if (!t->info.name)
        return NULL;
    for (int i = 0; i < RML_MAX_DIMS; i++) {
        t->info.dims[i] = i < n_dims ? dims[i] : 1;
        t->info.nelems *= t->info.dims[i];
    }
    choose_type(c, &t->info);
    size_t nbytes = 0;
    if (!rml_dtype_row_nbytes(t->info.to, t->info.nelems, &nbytes)) {
        rmli_fail(err, RML_INTERNAL, rml_checkpoint_path(c->cp), -1,
                  "the tensor '%s' does not fit blocks of %s", name,
                  rml_dtype_traits(t->info.to)->name);
        return NULL;
    }
    t->info.nbytes_after = nbytes;
    c->n_tensors++;
    return t;
}

bool rmli_conversion_add_sources(struct rml_conversion *c, struct rmli_planned_tensor *tensor,
                                 size_t n, struct rml_error *err)
{
    size_t nbytes;
    if (!rmli_size_mul(n, sizeof *tensor->sources, &nbytes))
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tensors", n);
    tensor->sources = rmli_arena_alloc(&c->arena, nbytes, err);
    if (!tensor->sources)
        return false;
    memset(tensor->sources, 0, nbytes);
    tensor->n_sources = n;
    return true;
}

static bool plan_gguf(struct rml_conversion *c, struct rml_error *err)
{
    for (size_t i = 0; i < rml_checkpoint_n_tensors(c->cp); i++) {
        const struct rml_tensor_info *info = rml_checkpoint_tensor(c->cp, i);
        struct rmli_planned_tensor *t =
            rmli_conversion_add(c, info->name, info->dtype, info->n_dims, info->dims, err);
        if (!t || !rmli_conversion_add_sources(c, t, 1, err))
            return false;
        t->sources[0].tensor = info;
        uint64_t n_cols = info->n_dims > 0 ? info->dims[info->n_dims - 1] : 1;
        t->rows_per_source = t->info.nelems / n_cols;
        t->info.nbytes_before = info->nbytes;
    }
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(c->cp);
    c->has_tokenizer = rmli_gguf_find(gguf, "tokenizer.ggml.tokens") != NULL;
    struct rmli_gguf_string model = {"none", 4};
    return !c->options.pre ||
           (rmli_gguf_get_string(gguf, "tokenizer.ggml.model", &model, NULL, err) &&
            rmli_pre_may_choose(c->options.pre, model.data, model.nbytes,
                                rml_checkpoint_path(c->cp), err));
}

struct rml_conversion *rml_conversion_plan(const struct rml_checkpoint *cp,
                                           const struct rml_conversion_options *options,
                                           struct rml_error *err)
{
    if (options->dtype >= RML_N_WEIGHT_DTYPES) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the type asked for is none of weights");
        return NULL;
    }
    struct rml_conversion *c = calloc(1, sizeof *c);
    if (!c) {
        rmli_fail(err, RML_NO_MEMORY, rml_checkpoint_path(cp), -1, "no memory for a conversion");
        return NULL;
    }
    c->cp = cp;
    c->options = *options;
    bool ok = rml_model_config_read(cp, &c->config, err);
    if (ok && rml_checkpoint_kind(cp) == RML_CHECKPOINT_HF)
        ok = rmli_conversion_plan_folder(c, err) && rmli_conversion_check_vocabulary(c, err);
    else
        ok = ok && plan_gguf(c, err);
    if (ok && rmli_conversion_note_differences(c, err))
        return c;
    rml_conversion_destroy(c);
    return NULL;
}

void rml_conversion_destroy(struct rml_conversion *c)
{
    if (!c)
        return;
    rml_tokenizer_destroy(c->tokenizer);
    rmli_free(c->tensors);
    rmli_arena_release(&c->arena);
    free(c);
}

size_t rml_conversion_n_tensors(const struct rml_conversion *c)
{
    return c->n_tensors;
}

const struct rml_conversion_tensor *rml_conversion_tensor(const struct rml_conversion *c, size_t i)
{
    return &c->tensors[i].info;
}

bool rml_conversion_has_tokenizer(const struct rml_conversion *c)
{
    return c->has_tokenizer;
}
