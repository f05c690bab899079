/*
 * Every entry of the kernel table as something that can be run: operands, one call, output.
 *
 * The same cases test the kernels (each instruction set against the reference, bit for bit)
 * and are timed by rml-bench, so no entry is fast that was not found right, and an entry that
 * is added to the table shows up in both.
 */
#ifndef RML_KERNELS_KERNEL_CASE_H
#define RML_KERNELS_KERNEL_CASE_H

#include "base/error.h"
#include "kernels/kernels.h"

/* The members of rmli_kernels, in the order of their declaration. */
enum rmli_kernel_op {
    RMLI_OP_WIDEN,
    RMLI_OP_MATMUL_F32,
    RMLI_OP_MATMUL_I8,
    RMLI_OP_QUANTIZE_ACTIVATIONS,
    RMLI_OP_RMS_NORM,
    RMLI_OP_ADD,
    RMLI_OP_ADD_SCALED,
    RMLI_OP_SCALE,
    RMLI_OP_SILU_MUL,
    RMLI_OP_GELU_TANH_MUL,
    RMLI_OP_SOFTMAX,
    RMLI_OP_ROPE_HALF,
    RMLI_OP_ROPE_INTERLEAVED,
    RMLI_OP_ATTENTION_SCORES,
    RMLI_OP_ATTENTION_SOFTMAX,
    RMLI_OP_ATTENTION_VALUES,
    RMLI_OP_ATTENTION_MERGE,
    RMLI_OP_ATTENTION_STORE,
    RMLI_N_KERNEL_OPS
};

/* "matmul_i8"; NULL when there is no such op. */
const char *rmli_kernel_op_name(enum rmli_kernel_op op);
bool rmli_kernel_op_parse(const char *name, enum rmli_kernel_op *op);

/* What `dtype` of an entry is a member of. */
enum rmli_kernel_dtypes { RMLI_NO_DTYPE, RMLI_WEIGHT_DTYPE, RMLI_KV_DTYPE };
enum rmli_kernel_dtypes rmli_kernel_op_dtypes(enum rmli_kernel_op op);

/* True when the table has that entry; dtype is 0 for ops without one. */
bool rmli_kernel_entry_exists(const struct rmli_kernels *table, enum rmli_kernel_op op, int dtype);

/*
 * Sizes of the operands, each at least 1.
 *
 *     matrix products   W [n_rows][n_cols] with n_x vectors
 *     widen             n_rows rows of n_cols
 *     quantize          n_x vectors of n_cols
 *     vectors           n_cols elements; rotations an even number
 *     attention         n_rows query rows of head_dim n_cols against a whole block of keys;
 *                       store: n_rows head rows; merge: n_rows states
 *
 * n_cols is a multiple of the dtype's block where there is one, at most RMLI_MATMUL_MAX_COLS,
 * for attention at most RMLI_MAX_HEAD_DIM; n_rows then at most RMLI_MAX_HEAD_GROUP.
 */
struct rmli_kernel_size {
    size_t n_rows, n_cols, n_x;
};

struct rmli_kernel_case;

/* Operands are drawn from the seed. RML_INVALID_ARGUMENT for a size out of bounds, RML_NO_MEMORY. */
struct rmli_kernel_case *rmli_kernel_case_create(enum rmli_kernel_op op, int dtype,
                                                 const struct rmli_kernel_size *size, uint64_t seed,
                                                 struct rml_error *err);
void rmli_kernel_case_destroy(struct rmli_kernel_case *c); /* NULL is allowed */

/* Puts back what the last runs have changed, and brings operands into the layout that the table
 * asks for (quantised activations). Before the first run and after a change of tables. */
void rmli_kernel_case_reset(struct rmli_kernel_case *c, const struct rmli_kernels *table);

/* n calls. What works in place goes on from its own output: its values stay of moderate size,
 * for SiLU and GELU by copying the operand anew for each call. */
void rmli_kernel_case_run(struct rmli_kernel_case *c, const struct rmli_kernels *table, size_t n);

/* The output of one call after a reset. Of quantised activations, whose layout is the table's own
 * matter, a product with them. Valid until the next call. */
const void *rmli_kernel_case_output(struct rmli_kernel_case *c, const struct rmli_kernels *table,
                                    size_t *nbytes);

/* Of one call, from the sizes: read and written; two operations for each multiply-add of products
 * and attention, 0 for the rest. */
double rmli_kernel_case_bytes(const struct rmli_kernel_case *c);
double rmli_kernel_case_flops(const struct rmli_kernel_case *c);

#endif
