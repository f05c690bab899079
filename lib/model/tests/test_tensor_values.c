/* Values of tensors as f32 and names of weights, against the table of names turned around. */
#include "model/tensor_values.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "model/weight_names.h"

/* A tensor of n elements over bytes. */
static struct rml_tensor_info tensor_of(enum rml_dtype dtype, const void *data, uint64_t n)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(dtype);
    return (struct rml_tensor_info){
        .name = "t",
        .dtype = dtype,
        .n_dims = 2,
        .dims = {1, n, 1, 1},
        .nbytes = (size_t)(n / traits->block_nelems * traits->block_nbytes),
        .data = data,
    };
}

Test(tensor_values, equal_the_reference_at_any_alignment_and_place)
{
    enum { N = 8192 };
    static uint8_t bytes[N * 4 + 64];
    static float expected[N], got[N];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761U >> 24);
    const struct rmli_kernels *ref = rmli_kernels_for(RML_ISA_REF);
    for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
        enum rml_dtype dtype = (enum rml_dtype)d;
        const struct rml_dtype_traits *traits = rml_dtype_traits(dtype);
        static _Alignas(64) uint8_t aligned[N * 4];
        for (size_t shift = 0; shift < 3; shift++) {
            struct rml_tensor_info tensor = tensor_of(dtype, bytes + shift, N);
            memcpy(aligned, bytes + shift, tensor.nbytes);
            ref->matmul->widen[d](expected, aligned, N);
            cr_assert(rml_tensor_widen(&tensor, 0, N, got));
            cr_expect(memcmp(got, expected, sizeof got) == 0, "%s at %zu", traits->name, shift);
            cr_assert(rml_tensor_widen(&tensor, 512, 768, got));
            cr_expect(memcmp(got, expected + 512, 768 * sizeof *got) == 0, "%s", traits->name);
        }
    }
}

Test(tensor_values, of_types_that_are_no_weights)
{
    const int8_t i8[] = {-128, 0, 127};
    const int64_t i64[] = {-5, (int64_t)1 << 40, 7};
    const double f64[] = {0.5, 1e300, NAN};
    float got[3];
    struct rml_tensor_info tensor = tensor_of(RML_I8, i8, 3);
    cr_assert(rml_tensor_widen(&tensor, 0, 3, got));
    cr_expect(got[0] == -128 && got[1] == 0 && got[2] == 127);
    tensor = tensor_of(RML_I64, i64, 3);
    cr_assert(rml_tensor_widen(&tensor, 1, 2, got));
    cr_expect(got[0] == 0x1p40F && got[1] == 7);
    tensor = tensor_of(RML_F64, f64, 3);
    cr_assert(rml_tensor_widen(&tensor, 0, 3, got));
    cr_expect(got[0] == 0.5F && isinf(got[1]) && isnan(got[2]));
}

Test(tensor_values, stretches_that_are_none)
{
    static const uint8_t zeros[34 * 4];
    float got[128];
    struct rml_tensor_info tensor = tensor_of(RML_Q8_0, zeros, 128);
    cr_expect(rml_tensor_nelems(&tensor) == 128);
    cr_expect(rml_tensor_widen(&tensor, 96, 32, got));
    cr_expect(rml_tensor_widen(&tensor, 128, 0, got));
    cr_expect_not(rml_tensor_widen(&tensor, 1, 32, got));
    cr_expect_not(rml_tensor_widen(&tensor, 0, 31, got));
    cr_expect_not(rml_tensor_widen(&tensor, 96, 64, got));
    cr_expect_not(rml_tensor_widen(&tensor, UINT64_MAX - 31, 32, got));
}

Test(tensor_values, names_of_every_weight_of_every_family)
{
    static const char *const architectures[] = {"llama", "mixtral", "qwen3_moe", "gemma3_text"};
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
    char gguf[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES], got[RML_WEIGHT_NAME_NBYTES];
    for (size_t a = 0; a < sizeof architectures / sizeof *architectures; a++) {
        for (int w = 0; w < RMLI_N_WEIGHTS; w++) {
            enum rmli_weight weight = (enum rmli_weight)w;
            int n = rmli_weight_names(RML_CHECKPOINT_HF, architectures[a], weight, 17, 103, names);
            rmli_weight_names(RML_CHECKPOINT_GGUF, architectures[a], weight, 17, 103, gguf);
            for (int i = 0; i < n; i++) {
                rml_weight_name(RML_CHECKPOINT_HF, architectures[a], names[i], got);
                cr_expect_str_eq(got, gguf[0], "%s: %s", architectures[a], names[i]);
            }
        }
    }
}

Test(tensor_values, names_of_nothing_known_stay)
{
    static const char *const unknown[] = {
        "",
        ".",
        "7",
        "model.layers.3",
        "model.layers.99999999999999999999.self_attn.q_proj.weight",
        "model.layers.03.self_attn.q_proj.weight",
        "model.layers.3.self_attn.q_proj.weight.weight",
    };
    char got[RML_WEIGHT_NAME_NBYTES], longest[1000];
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        rml_weight_name(RML_CHECKPOINT_HF, "llama", unknown[i], got);
        cr_expect_str_eq(got, unknown[i]);
    }
    rml_weight_name(RML_CHECKPOINT_GGUF, "llama", "model.norm.weight", got);
    cr_expect_str_eq(got, "model.norm.weight");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    rml_weight_name(RML_CHECKPOINT_HF, "llama", longest, got);
    cr_expect_eq(strlen(got), RML_WEIGHT_NAME_NBYTES - 1);
}
