/*
 * Data types of tensors, and what a block of each holds.
 *
 * Quantised types store their elements in blocks: block_nelems consecutive
 * elements of a row share block_nbytes bytes. A row is a whole number of
 * blocks; plain types have blocks of one element. The bit layouts are in
 * tensor/blocks.h.
 */
#ifndef RML_TENSOR_DTYPE_H
#define RML_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rml_dtype {
    /* types that a weight may have */
    RML_F32,
    RML_F16,
    RML_BF16,
    RML_Q4_0,
    RML_Q4_1,
    RML_Q5_0,
    RML_Q5_1,
    RML_Q8_0,
    RML_Q2_K,
    RML_Q3_K,
    RML_Q4_K,
    RML_Q5_K,
    RML_Q6_K,
    RML_IQ4_NL,
    RML_IQ4_XS,
    RML_N_WEIGHT_DTYPES,
    /* types that a file may hold, but that have no meaning as weights */
    RML_I8 = RML_N_WEIGHT_DTYPES,
    RML_I16,
    RML_I32,
    RML_I64,
    RML_F64,
    RML_N_DTYPES
};

struct rml_dtype_traits {
    const char *name; /* "Q4_K", as GGUF tools print it */
    uint32_t block_nelems;
    uint32_t block_nbytes;
    uint32_t alignment; /* bytes that a pointer to blocks must be aligned to */
};

/* Never NULL for a valid dtype. */
const struct rml_dtype_traits *rml_dtype_traits(enum rml_dtype dtype);

/* Finds a dtype by name, in either case ("q4_k", "Q4_K"). False when unknown. */
bool rml_dtype_parse(const char *name, enum rml_dtype *dtype);

/* Bytes of a row of nelems elements. False when nelems is not a multiple of
 * the block or the size overflows. */
bool rml_dtype_row_nbytes(enum rml_dtype dtype, uint64_t nelems, size_t *nbytes);

/* Element types of the key-value cache. i8 is not a tensor dtype: it carries
 * one f32 scale for each group of channels (model/kv_cache.h). */
enum rml_kv_dtype { RML_KV_F32, RML_KV_F16, RML_KV_I8, RML_N_KV_DTYPES };

/* "f32", "f16", "i8". */
const char *rml_kv_dtype_name(enum rml_kv_dtype dtype);
bool rml_kv_dtype_parse(const char *name, enum rml_kv_dtype *dtype);

#endif
