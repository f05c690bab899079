/* Tensors widened a stretch at a time, and names of weights turned around. */
#include "model/tensor_values.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "model/weight_names.h"

uint64_t rml_tensor_nelems(const struct rml_tensor_info *tensor)
{
    uint64_t n = 1;
    for (int i = 0; i < tensor->n_dims; i++)
        n *= tensor->dims[i]; /* cannot overflow: the reader checked it against the file */
    return n;
}

static float number_at(enum rml_dtype dtype, const uint8_t *p)
{
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    double f64;
    switch (dtype) {
    case RML_I8:
        memcpy(&i8, p, sizeof i8);
        return (float)i8;
    case RML_I16:
        memcpy(&i16, p, sizeof i16);
        return (float)i16;
    case RML_I32:
        memcpy(&i32, p, sizeof i32);
        return (float)i32;
    case RML_I64:
        memcpy(&i64, p, sizeof i64);
        return (float)i64;
    default:
        memcpy(&f64, p, sizeof f64);
        return (float)f64;
    }
}

bool rml_tensor_widen(const struct rml_tensor_info *tensor, uint64_t first, size_t n, float *values)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(tensor->dtype);
    uint64_t nelems = rml_tensor_nelems(tensor), block = traits->block_nelems;
    if (first % block != 0 || n % block != 0 || first > nelems || n > nelems - first)
        return false;
    const uint8_t *data = tensor->data + first / block * traits->block_nbytes;
    if (tensor->dtype >= RML_N_WEIGHT_DTYPES) {
        for (size_t i = 0; i < n; i++)
            values[i] = number_at(tensor->dtype, data + i * traits->block_nbytes);
        return true;
    }
    /* Every instruction set gives the same bits, so the fastest will do. */
    const struct rmli_kernels *kernels = rmli_kernels_best(NULL);
    if (!kernels)
        kernels = rmli_kernels_for(RML_ISA_REF);
    void (*widen)(float *, const void *, size_t) = kernels->matmul->widen[tensor->dtype];
    if ((uintptr_t)data % traits->alignment == 0) {
        widen(values, data, n);
        return true;
    }
    /* Kernels want aligned blocks, a safetensors file need not have them. */
    _Alignas(64) uint8_t copy[4096];
    size_t n_fitting = sizeof copy / traits->block_nbytes;
    for (size_t n_blocks = n / block; n_blocks > 0;) {
        size_t n_now = n_blocks < n_fitting ? n_blocks : n_fitting;
        memcpy(copy, data, n_now * traits->block_nbytes);
        widen(values, copy, n_now * block);
        data += n_now * traits->block_nbytes;
        values += n_now * block;
        n_blocks -= n_now;
    }
    return true;
}

/* The number in the path component that begins at *p, which is moved past it. */
static bool next_number(const char **p, uint32_t *out)
{
    for (const char *q = *p; *q; q++) {
        bool begins = q == *p || q[-1] == '.';
        if (!begins || !isdigit((unsigned char)*q))
            continue;
        char *end;
        unsigned long value = strtoul(q, &end, 10);
        if ((*end != '.' && *end != 0) || value >= UINT32_MAX)
            continue;
        *out = (uint32_t)value;
        *p = end;
        return true;
    }
    return false;
}

void rml_weight_name(enum rml_checkpoint_kind kind, const char *architecture, const char *name,
                     char out[RML_WEIGHT_NAME_NBYTES])
{
    snprintf(out, RML_WEIGHT_NAME_NBYTES, "%s", name);
    if (kind == RML_CHECKPOINT_GGUF)
        return;
    uint32_t layer = 0, expert = 0;
    const char *rest = name;
    if (next_number(&rest, &layer))
        next_number(&rest, &expert);
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
    for (int w = 0; w < RMLI_N_WEIGHTS; w++) {
        enum rmli_weight weight = (enum rmli_weight)w;
        int n = rmli_weight_names(kind, architecture, weight, layer, expert, names);
        for (int i = 0; i < n; i++) {
            if (strcmp(names[i], name) != 0)
                continue;
            if (rmli_weight_names(RML_CHECKPOINT_GGUF, architecture, weight, layer, expert, names))
                snprintf(out, RML_WEIGHT_NAME_NBYTES, "%s", names[0]);
            return;
        }
    }
}
