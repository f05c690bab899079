/*
 * Which instruction sets this processor and operating system offer.
 *
 * Levels are ordered within an architecture; a level is offered when CPUID
 * reports every extension that its kernels use AND the operating system saves
 * the registers (XGETBV). Kernels are chosen at run time, never by -march.
 */
#ifndef RML_KERNELS_CPU_FEATURES_H
#define RML_KERNELS_CPU_FEATURES_H

#include "base/error.h"

enum rml_isa {
    RML_ISA_REF,    /* portable C */
    RML_ISA_SSE2,   /* x86-64 baseline */
    RML_ISA_AVX2,   /* AVX2, FMA and F16C */
    RML_ISA_AVX512, /* AVX-512 F, BW, DQ, VL and VNNI */
    RML_ISA_NEON,   /* AArch64 */
    RML_N_ISAS
};

/* "ref", "sse2", "avx2", "avx512", "neon": the values of RML_CPU. */
const char *rml_isa_name(enum rml_isa isa);
bool rml_isa_parse(const char *name, enum rml_isa *isa);

/* True when this machine can run code of that level. */
bool rml_isa_available(enum rml_isa isa);

#endif
