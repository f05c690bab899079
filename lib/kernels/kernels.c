/* Puts the tables together and picks one. */
#include "kernels/kernels.h"

#include <stdlib.h>

static const struct rmli_kernels ref_table = {
    .isa = RML_ISA_REF,
    .matmul = &rmli_matmul_ref,
    .vector = &rmli_vector_ref,
    .attention = &rmli_attention_ref,
};

#if defined(__x86_64__)
static const struct rmli_kernels avx2_table = {
    .isa = RML_ISA_AVX2,
    .matmul = &rmli_matmul_avx2,
    .vector = &rmli_vector_avx2,
    .attention = &rmli_attention_avx2,
};

/* Only the integer products gain from more: the rest is bound by memory or by the same two
 * multipliers. */
static const struct rmli_kernels avx512_table = {
    .isa = RML_ISA_AVX512,
    .matmul = &rmli_matmul_avx512,
    .vector = &rmli_vector_avx2,
    .attention = &rmli_attention_avx2,
};
#endif

const struct rmli_kernels *rmli_kernels_for(enum rml_isa isa)
{
    if (isa == RML_ISA_REF)
        return &ref_table;
#if defined(__x86_64__)
    if (isa == RML_ISA_AVX2 && rml_isa_available(RML_ISA_AVX2))
        return &avx2_table;
    if (isa == RML_ISA_AVX512 && rml_isa_available(RML_ISA_AVX512))
        return &avx512_table;
#endif
    return NULL;
}

const struct rmli_kernels *rmli_kernels_best(struct rml_error *err)
{
    enum rml_isa cap = RML_N_ISAS - 1;
    const char *name = getenv("RML_CPU");
    if (name && *name && !rml_isa_parse(name, &cap)) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "RML_CPU is '%s', expected ref, sse2, avx2, avx512 or neon", name);
        return NULL;
    }
    for (int isa = (int)cap; isa > RML_ISA_REF; isa--) {
        const struct rmli_kernels *table = rmli_kernels_for((enum rml_isa)isa);
        if (table)
            return table;
    }
    return &ref_table;
}
