/* CPUID and XGETBV, read once for each question; see the header. */
#include "kernels/cpu_features.h"

#include <strings.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const isa_names[RML_N_ISAS] = {
    [RML_ISA_REF] = "ref",       [RML_ISA_SSE2] = "sse2", [RML_ISA_AVX2] = "avx2",
    [RML_ISA_AVX512] = "avx512", [RML_ISA_NEON] = "neon",
};

const char *rml_isa_name(enum rml_isa isa)
{
    return (unsigned)isa < RML_N_ISAS ? isa_names[isa] : "unknown";
}

bool rml_isa_parse(const char *name, enum rml_isa *isa)
{
    for (int i = 0; i < RML_N_ISAS; i++) {
        if (strcasecmp(name, isa_names[i]) == 0) {
            *isa = (enum rml_isa)i;
            return true;
        }
    }
    return false;
}

#if defined(__x86_64__)
/* Clang's builtin does not know this name; AVX2 (checked beside it) already
 * vouches for the operating system saving the registers. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}
#endif

bool rml_isa_available(enum rml_isa isa)
{
    switch (isa) {
    case RML_ISA_REF:
        return true;
#if defined(__x86_64__)
    /* The builtins check XGETBV too: a register file that the operating
     * system does not save counts as absent. */
    case RML_ISA_SSE2:
        return true;
    case RML_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case RML_ISA_AVX512:
        return rml_isa_available(RML_ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#endif
#if defined(__aarch64__)
    case RML_ISA_NEON:
        return true;
#endif
    default:
        return false;
    }
}
