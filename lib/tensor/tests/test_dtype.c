/*
 * Data types: sizes against the block layouts of the GGUF formats, added up
 * here field by field.
 */
#include "tensor/dtype.h"

#include <criterion/criterion.h>
#include <string.h>

enum { HALF = 2, NIBBLES_32 = 16, NIBBLES_256 = 128 };

static const struct {
    enum rml_dtype dtype;
    const char *name;
    uint32_t nelems, nbytes;
} layouts[] = {
    {RML_F32, "F32", 1, 4},
    {RML_F16, "F16", 1, 2},
    {RML_BF16, "BF16", 1, 2},
    {RML_Q4_0, "Q4_0", 32, HALF + NIBBLES_32},
    {RML_Q4_1, "Q4_1", 32, 2 * HALF + NIBBLES_32},
    {RML_Q5_0, "Q5_0", 32, HALF + 4 + NIBBLES_32},
    {RML_Q5_1, "Q5_1", 32, 2 * HALF + 4 + NIBBLES_32},
    {RML_Q8_0, "Q8_0", 32, HALF + 32},
    {RML_Q2_K, "Q2_K", 256, 16 + 256 / 4 + 2 * HALF},
    {RML_Q3_K, "Q3_K", 256, 256 / 8 + 256 / 4 + 12 + HALF},
    {RML_Q4_K, "Q4_K", 256, 2 * HALF + 12 + NIBBLES_256},
    {RML_Q5_K, "Q5_K", 256, 2 * HALF + 12 + 256 / 8 + NIBBLES_256},
    {RML_Q6_K, "Q6_K", 256, NIBBLES_256 + 256 / 4 + 16 + HALF},
    {RML_IQ4_NL, "IQ4_NL", 32, HALF + NIBBLES_32},
    {RML_IQ4_XS, "IQ4_XS", 256, HALF + 2 + 4 + NIBBLES_256},
    {RML_I8, "I8", 1, 1},
    {RML_I16, "I16", 1, 2},
    {RML_I32, "I32", 1, 4},
    {RML_I64, "I64", 1, 8},
    {RML_F64, "F64", 1, 8},
};

Test(dtype, traits)
{
    cr_assert_eq(sizeof layouts / sizeof layouts[0], (size_t)RML_N_DTYPES);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct rml_dtype_traits *t = rml_dtype_traits(layouts[i].dtype);
        cr_assert_not_null(t);
        cr_expect_str_eq(t->name, layouts[i].name);
        cr_expect_eq(t->block_nelems, layouts[i].nelems, "%s", t->name);
        cr_expect_eq(t->block_nbytes, layouts[i].nbytes, "%s", t->name);
        cr_expect_eq(t->block_nbytes % t->alignment, 0u, "%s: blocks stay aligned", t->name);
    }
    cr_expect_null(rml_dtype_traits(RML_N_DTYPES));
    cr_expect_null(rml_dtype_traits((enum rml_dtype) - 1));
}

Test(dtype, names_are_found_in_either_case)
{
    for (int i = 0; i < RML_N_DTYPES; i++) {
        char lower[16];
        enum rml_dtype dtype = RML_N_DTYPES;
        const char *name = rml_dtype_traits((enum rml_dtype)i)->name;
        cr_assert(rml_dtype_parse(name, &dtype));
        cr_expect_eq(dtype, (enum rml_dtype)i);
        for (size_t k = 0; k <= strlen(name); k++)
            lower[k] = name[k] >= 'A' && name[k] <= 'Z' ? (char)(name[k] + 32) : name[k];
        dtype = RML_N_DTYPES;
        cr_assert(rml_dtype_parse(lower, &dtype));
        cr_expect_eq(dtype, (enum rml_dtype)i);
    }
    enum rml_dtype dtype = RML_Q6_K;
    static const char *const unknown[] = {"", "F", "F32 ", "Q4", "Q4_KM", "q8_1"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        cr_expect_not(rml_dtype_parse(unknown[i], &dtype), "%s", unknown[i]);
    cr_expect_eq(dtype, RML_Q6_K, "untouched");
}

Test(dtype, row_sizes)
{
    size_t nbytes = 0;
    cr_expect(rml_dtype_row_nbytes(RML_F32, 7, &nbytes));
    cr_expect_eq(nbytes, 28u);
    cr_expect(rml_dtype_row_nbytes(RML_Q4_K, 4096, &nbytes));
    cr_expect_eq(nbytes, 16u * 144);
    cr_expect(rml_dtype_row_nbytes(RML_Q8_0, 0, &nbytes));
    cr_expect_eq(nbytes, 0u);
    cr_expect_not(rml_dtype_row_nbytes(RML_Q8_0, 33, &nbytes));
    cr_expect_not(rml_dtype_row_nbytes(RML_Q6_K, 128, &nbytes));
    cr_expect_not(rml_dtype_row_nbytes(RML_F32, (uint64_t)1 << 62, &nbytes));
    cr_expect(rml_dtype_row_nbytes(RML_I8, UINT64_MAX, &nbytes));
    cr_expect_eq(nbytes, SIZE_MAX);
    cr_expect_not(rml_dtype_row_nbytes(RML_Q8_0, UINT64_MAX - 31, &nbytes));
    cr_expect_not(rml_dtype_row_nbytes(RML_N_DTYPES, 32, &nbytes));
}

Test(dtype, kv_cache_names)
{
    static const char *const names[RML_N_KV_DTYPES] = {"f32", "f16", "i8"};
    for (int i = 0; i < RML_N_KV_DTYPES; i++) {
        enum rml_kv_dtype dtype = RML_N_KV_DTYPES;
        cr_expect_str_eq(rml_kv_dtype_name((enum rml_kv_dtype)i), names[i]);
        cr_expect(rml_kv_dtype_parse(names[i], &dtype));
        cr_expect_eq(dtype, (enum rml_kv_dtype)i);
    }
    enum rml_kv_dtype dtype;
    cr_expect(rml_kv_dtype_parse("F16", &dtype));
    cr_expect_not(rml_kv_dtype_parse("q8_0", &dtype));
    cr_expect_not(rml_kv_dtype_parse("", &dtype));
}
