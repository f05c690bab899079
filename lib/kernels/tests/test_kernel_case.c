/*
 * Every entry of every table, by the cases that are timed as well: the same bits as the
 * reference; and no entry of the table is left out.
 */
#include "kernels/kernel_case.h"

#include <criterion/criterion.h>
#include <string.h>

#include "kernels/tests/kernel_cases.h"

static struct rmli_kernel_size size_of(enum rmli_kernel_op op, int variant)
{
    if (op >= RMLI_OP_ATTENTION_SCORES)
        return (struct rmli_kernel_size){variant ? 5 : 4, variant ? 80 : 128, 1};
    return (struct rmli_kernel_size){variant ? 49 : 9, variant ? 768 : 512, variant ? 5 : 1};
}

static void check_entry(enum rmli_kernel_op op, int dtype, int variant)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct rmli_kernels *ref = rmli_kernels_for(RML_ISA_REF);
    struct rmli_kernel_size size = size_of(op, variant);
    struct rmli_kernel_case *c = rmli_kernel_case_create(op, dtype, &size, 7, &err);
    cr_assert(c, "%s %d: %s", rmli_kernel_op_name(op), dtype, err.message);
    size_t nbytes, n_want;
    const void *output = rmli_kernel_case_output(c, ref, &n_want);
    uint8_t *want = memcpy(calloc(1, n_want), output, n_want);
    bool any = false;
    for (size_t i = 0; i < n_want; i++)
        any = any || want[i];
    cr_expect(any, "%s %d: the output is zero", rmli_kernel_op_name(op), dtype);

    for (const struct rmli_kernels *t = next_table(RML_ISA_REF); t; t = next_table(t->isa)) {
        if (!rmli_kernel_entry_exists(t, op, dtype))
            continue;
        /* after runs that go on from their own output, the case starts over all the same */
        rmli_kernel_case_reset(c, t);
        rmli_kernel_case_run(c, t, 3);
        output = rmli_kernel_case_output(c, t, &nbytes);
        cr_expect(nbytes == n_want && memcmp(output, want, n_want) == 0, "%s %d: %s differs",
                  rmli_kernel_op_name(op), dtype, rml_isa_name(t->isa));
    }
    cr_expect(rmli_kernel_case_bytes(c) > 0);
    free(want);
    rmli_kernel_case_destroy(c);
}

Test(kernel_case, every_entry_equals_the_reference)
{
    size_t n = 0;
    for (int op = 0; op < RMLI_N_KERNEL_OPS; op++) {
        for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++) {
            const struct rmli_kernels *ref = rmli_kernels_for(RML_ISA_REF);
            if (!rmli_kernel_entry_exists(ref, (enum rmli_kernel_op)op, dtype))
                continue;
            n++;
            for (int variant = 0; variant < 2; variant++)
                check_entry((enum rmli_kernel_op)op, dtype, variant);
        }
    }
    /* Pointers of the three parts of the table that are not NULL: all of them are entries. */
    const struct rmli_kernels *ref = rmli_kernels_for(RML_ISA_REF);
    const struct {
        const void *part;
        size_t nbytes;
    } parts[] = {{ref->matmul, sizeof *ref->matmul},
                 {ref->vector, sizeof *ref->vector},
                 {ref->attention, sizeof *ref->attention}};
    size_t n_pointers = 0;
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < parts[p].nbytes; i += sizeof(void (*)(void))) {
            void (*f)(void);
            memcpy(&f, (const char *)parts[p].part + i, sizeof f);
            n_pointers += f != NULL;
        }
    }
    cr_expect(n == n_pointers, "%zu entries, %zu pointers", n, n_pointers);
}

Test(kernel_case, counts_of_a_product_by_hand)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_kernel_size size = {10, 512, 3};
    struct rmli_kernel_case *c =
        rmli_kernel_case_create(RMLI_OP_MATMUL_F32, RML_Q8_0, &size, 1, &err);
    /* 16 blocks of 34 bytes a row; 3 vectors of 512 in, of 10 out */
    cr_expect(rmli_kernel_case_bytes(c) == 10 * 16 * 34 + 4 * 3 * (512 + 10));
    cr_expect(rmli_kernel_case_flops(c) == 2.0 * 10 * 512 * 3);
    rmli_kernel_case_destroy(c);
}

Test(kernel_case, sizes_out_of_bounds_are_refused)
{
    const struct {
        enum rmli_kernel_op op;
        int dtype;
        struct rmli_kernel_size size;
    } cases[] = {
        {RMLI_OP_MATMUL_I8, RML_Q4_0, {0, 32, 1}},
        {RMLI_OP_MATMUL_I8, RML_Q4_0, {1, 33, 1}},
        {RMLI_OP_MATMUL_I8, RML_F32, {1, 32, 1}},
        {RMLI_OP_MATMUL_F32, RML_F32, {1, 1 << 18, 1}},
        {RMLI_OP_ROPE_HALF, 0, {1, 7, 1}},
        {RMLI_OP_ATTENTION_VALUES, RML_KV_I8, {65, 64, 1}},
        {RMLI_OP_ATTENTION_STORE, RML_KV_I8, {1, 513, 1}},
        {RMLI_OP_ADD, 1, {1, 8, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect(!rmli_kernel_case_create(cases[i].op, cases[i].dtype, &cases[i].size, 1, &err));
        cr_expect(err.code == RML_INVALID_ARGUMENT, "case %zu", i);
    }
}
