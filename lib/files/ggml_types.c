/*
 * Tensor type numbers of GGUF files.
 *
 * Numbers 4, 5, 31 to 33 and 36 to 38 were given to types that ggml has
 * removed since; they keep their names here, so that an old file is told what
 * it holds.
 */
#include "files/ggml_types.h"

enum { NOT_READ = -1 };

static const struct {
    const char *name;
    int dtype; /* enum rml_dtype, or NOT_READ */
} types[] = {
    [0] = {"F32", RML_F32},
    [1] = {"F16", RML_F16},
    [2] = {"Q4_0", RML_Q4_0},
    [3] = {"Q4_1", RML_Q4_1},
    [4] = {"Q4_2, removed from ggml", NOT_READ},
    [5] = {"Q4_3, removed from ggml", NOT_READ},
    [6] = {"Q5_0", RML_Q5_0},
    [7] = {"Q5_1", RML_Q5_1},
    [8] = {"Q8_0", RML_Q8_0},
    [9] = {"Q8_1", NOT_READ},
    [10] = {"Q2_K", RML_Q2_K},
    [11] = {"Q3_K", RML_Q3_K},
    [12] = {"Q4_K", RML_Q4_K},
    [13] = {"Q5_K", RML_Q5_K},
    [14] = {"Q6_K", RML_Q6_K},
    [15] = {"Q8_K", NOT_READ},
    [16] = {"IQ2_XXS", NOT_READ},
    [17] = {"IQ2_XS", NOT_READ},
    [18] = {"IQ3_XXS", NOT_READ},
    [19] = {"IQ1_S", NOT_READ},
    [20] = {"IQ4_NL", RML_IQ4_NL},
    [21] = {"IQ3_S", NOT_READ},
    [22] = {"IQ2_S", NOT_READ},
    [23] = {"IQ4_XS", RML_IQ4_XS},
    [24] = {"I8", NOT_READ},
    [25] = {"I16", NOT_READ},
    [26] = {"I32", NOT_READ},
    [27] = {"I64", NOT_READ},
    [28] = {"F64", NOT_READ},
    [29] = {"IQ1_M", NOT_READ},
    [30] = {"BF16", RML_BF16},
    [31] = {"Q4_0_4_4, removed from ggml", NOT_READ},
    [32] = {"Q4_0_4_8, removed from ggml", NOT_READ},
    [33] = {"Q4_0_8_8, removed from ggml", NOT_READ},
    [34] = {"TQ1_0", NOT_READ},
    [35] = {"TQ2_0", NOT_READ},
    [36] = {"IQ4_NL_4_4, removed from ggml", NOT_READ},
    [37] = {"IQ4_NL_4_8, removed from ggml", NOT_READ},
    [38] = {"IQ4_NL_8_8, removed from ggml", NOT_READ},
    [39] = {"MXFP4", NOT_READ},
    [40] = {"NVFP4", NOT_READ},
    [41] = {"Q1_0", NOT_READ},
    [42] = {"Q2_0", NOT_READ},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

bool rmli_ggml_type_to_dtype(uint32_t type, enum rml_dtype *dtype)
{
    if (type >= N_TYPES || types[type].dtype == NOT_READ)
        return false;
    *dtype = (enum rml_dtype)types[type].dtype;
    return true;
}

bool rmli_ggml_type_of_dtype(enum rml_dtype dtype, uint32_t *type)
{
    for (uint32_t i = 0; i < N_TYPES; i++) {
        if (types[i].dtype == (int)dtype) {
            *type = i;
            return true;
        }
    }
    return false;
}

const char *rmli_ggml_type_name(uint32_t type)
{
    return type < N_TYPES ? types[type].name : NULL;
}
