/*
 * rml-bench icount-worker: says what it is and which cases it has, then runs each once inside
 * icount_region. Standard output is for the first; the counts come from valgrind.
 */
#include <stdio.h>

#include "bench/icount.h"
#include "results/store.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* Products as decode and prefill have them, the vectors between, one block of attention. */
const struct icount_case icount_cases[] = {
    {"matmul_i8/q4_0", RMLI_OP_MATMUL_I8, RML_Q4_0, {48, 1024, 1}},
    {"matmul_i8/q4_k", RMLI_OP_MATMUL_I8, RML_Q4_K, {48, 1024, 1}},
    {"matmul_i8/q6_k", RMLI_OP_MATMUL_I8, RML_Q6_K, {48, 1024, 1}},
    {"matmul_i8/q8_0 x 8", RMLI_OP_MATMUL_I8, RML_Q8_0, {48, 1024, 8}},
    {"matmul_f32/f16", RMLI_OP_MATMUL_F32, RML_F16, {48, 1024, 1}},
    {"matmul_f32/f32 x 8", RMLI_OP_MATMUL_F32, RML_F32, {48, 1024, 8}},
    {"quantize_activations/q4_0", RMLI_OP_QUANTIZE_ACTIVATIONS, RML_Q4_0, {1, 4096, 1}},
    {"rms_norm", RMLI_OP_RMS_NORM, 0, {1, 4096, 1}},
    {"silu_mul", RMLI_OP_SILU_MUL, 0, {1, 4096, 1}},
    {"attention_scores/f16", RMLI_OP_ATTENTION_SCORES, RML_KV_F16, {4, 128, 1}},
    {"attention_softmax", RMLI_OP_ATTENTION_SOFTMAX, 0, {4, 128, 1}},
    {"attention_values/i8", RMLI_OP_ATTENTION_VALUES, RML_KV_I8, {4, 128, 1}},
};
const size_t n_icount_cases = sizeof icount_cases / sizeof icount_cases[0];

static bool run_case(const struct icount_case *c, const struct rmli_kernels *table,
                     struct rml_error *err)
{
    struct rmli_kernel_case *made = rmli_kernel_case_create(c->op, c->dtype, &c->size, 1, err);
    if (!made)
        return false;
    rmli_kernel_case_reset(made, table);
    icount_region(made, table);
    rmli_kernel_case_destroy(made);
    return true;
}

static bool introduce(const struct rmli_kernels *table, struct rml_error *err)
{
    json_t *build = store_build_json(err), *names = json_array();
    for (size_t i = 0; i < n_icount_cases; i++)
        json_array_append_new(names, json_string(icount_cases[i].name));
    json_t *document = build ? json_pack("{ss sO sO}", "isa", rml_isa_name(table->isa), "build",
                                         build, "cases", names)
                             : NULL;
    if (document)
        cli_json_print(document, 17);
    json_decref(document);
    json_decref(build);
    json_decref(names);
    return document != NULL;
}

int bench_icount_worker_main(int argc, char **argv)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct rmli_kernels *table = rmli_kernels_for(RML_ISA_AVX2);
    (void)argc, (void)argv;
    if (!table)
        table = rmli_kernels_for(RML_ISA_REF);
    bool ok = introduce(table, &err);
    for (size_t i = 0; ok && i < n_icount_cases; i++)
        ok = run_case(&icount_cases[i], table, &err);
    return ok ? CLI_PASS : cli_error(&err);
}
