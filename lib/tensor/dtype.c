/*
 * The traits of each data type. Block sizes are those of ggml's formats; the
 * bytes of a block are derived in tensor/blocks.h.
 */
#include "tensor/dtype.h"

#include <strings.h>

/* clang-format off */
static const struct rml_dtype_traits traits[RML_N_DTYPES] = {
    /*                name  elements bytes alignment */
    [RML_F32] =    {"F32",      1,   4, 4},
    [RML_F16] =    {"F16",      1,   2, 2},
    [RML_BF16] =   {"BF16",     1,   2, 2},
    [RML_Q4_0] =   {"Q4_0",    32,  18, 2},
    [RML_Q4_1] =   {"Q4_1",    32,  20, 2},
    [RML_Q5_0] =   {"Q5_0",    32,  22, 2},
    [RML_Q5_1] =   {"Q5_1",    32,  24, 2},
    [RML_Q8_0] =   {"Q8_0",    32,  34, 2},
    [RML_Q2_K] =   {"Q2_K",   256,  84, 2},
    [RML_Q3_K] =   {"Q3_K",   256, 110, 2},
    [RML_Q4_K] =   {"Q4_K",   256, 144, 2},
    [RML_Q5_K] =   {"Q5_K",   256, 176, 2},
    [RML_Q6_K] =   {"Q6_K",   256, 210, 2},
    [RML_IQ4_NL] = {"IQ4_NL",  32,  18, 2},
    [RML_IQ4_XS] = {"IQ4_XS", 256, 136, 2},
    [RML_I8] =     {"I8",       1,   1, 1},
    [RML_I16] =    {"I16",      1,   2, 2},
    [RML_I32] =    {"I32",      1,   4, 4},
    [RML_I64] =    {"I64",      1,   8, 8},
    [RML_F64] =    {"F64",      1,   8, 8},
};
/* clang-format on */

static const char *const kv_names[RML_N_KV_DTYPES] = {
    [RML_KV_F32] = "f32",
    [RML_KV_F16] = "f16",
    [RML_KV_I8] = "i8",
};

const struct rml_dtype_traits *rml_dtype_traits(enum rml_dtype dtype)
{
    return (unsigned)dtype < RML_N_DTYPES ? &traits[dtype] : NULL;
}

bool rml_dtype_parse(const char *name, enum rml_dtype *dtype)
{
    for (int i = 0; i < RML_N_DTYPES; i++) {
        if (strcasecmp(name, traits[i].name) == 0) {
            *dtype = (enum rml_dtype)i;
            return true;
        }
    }
    return false;
}

bool rml_dtype_row_nbytes(enum rml_dtype dtype, uint64_t nelems, size_t *nbytes)
{
    const struct rml_dtype_traits *t = rml_dtype_traits(dtype);
    if (!t || nelems % t->block_nelems != 0)
        return false;
    return !__builtin_mul_overflow(nelems / t->block_nelems, t->block_nbytes, nbytes);
}

const char *rml_kv_dtype_name(enum rml_kv_dtype dtype)
{
    return (unsigned)dtype < RML_N_KV_DTYPES ? kv_names[dtype] : NULL;
}

bool rml_kv_dtype_parse(const char *name, enum rml_kv_dtype *dtype)
{
    for (int i = 0; i < RML_N_KV_DTYPES; i++) {
        if (strcasecmp(name, kv_names[i]) == 0) {
            *dtype = (enum rml_kv_dtype)i;
            return true;
        }
    }
    return false;
}
