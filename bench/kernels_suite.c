/*
 * The kernels suite: each entry of the kernel table on each instruction set, by the cases that
 * test them too (kernels/kernel_case.h). Output that differs from the reference's is an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite.h"
#include "kernels/kernel_case.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"

/* A row of Llama 3 8B's width and as many rows as one thread gets at a time; a cached head of
 * its dimension for the query heads that share it. */
#define COLS 4096
#define ROWS 512
#define HEAD_DIM 128
#define HEAD_GROUP 4

struct settings {
    bool ops_given, ops[RMLI_N_KERNEL_OPS];
    struct bench_isas isas;
    struct bench_numbers vectors;
};

enum { KEY_OP = CLI_OWN_KEY, KEY_ISA, KEY_VECTORS };

static const struct argp_option options[] = {
    {"op", KEY_OP, "LIST", 0, "Entries, e.g. matmul_i8,rms_norm (all of the table)", 1},
    {"isa", KEY_ISA, "LIST", 0, "Instruction sets, e.g. ref,avx2 (all that this machine has)", 1},
    {"vectors", KEY_VECTORS, "LIST", 0, "Vectors of a matrix product (1,32)", 1},
    {0},
};

static void parse_ops(struct argp_state *state, char *arg, struct settings *s)
{
    char **words;
    size_t n = cli_arg_words(state, "--op", arg, &words);
    s->ops_given = true;
    memset(s->ops, 0, sizeof s->ops);
    for (size_t i = 0; i < n; i++) {
        enum rmli_kernel_op op;
        if (!rmli_kernel_op_parse(words[i], &op))
            argp_error(state,
                       "--op: '%s' found, expected a member of the kernel table: widen, "
                       "matmul_f32, matmul_i8, quantize_activations, rms_norm ...",
                       words[i]);
        else if (s->ops[op])
            argp_error(state, "--op: '%s' found twice", words[i]);
        else
            s->ops[op] = true;
    }
    free(words);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case KEY_OP:
        parse_ops(state, arg, s);
        return 0;
    case KEY_ISA:
        bench_arg_isas(state, arg, &s->isas);
        return 0;
    case KEY_VECTORS:
        bench_arg_numbers(state, "--vectors", arg, 1, 4096, &s->vectors);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->vectors.values);
}

/* ---- The list ------------------------------------------------------------------------------- */

static bool is_product(enum rmli_kernel_op op)
{
    return op == RMLI_OP_MATMUL_F32 || op == RMLI_OP_MATMUL_I8 ||
           op == RMLI_OP_QUANTIZE_ACTIVATIONS;
}

static bool takes_rows(enum rmli_kernel_op op)
{
    return op <= RMLI_OP_MATMUL_I8 || op >= RMLI_OP_ATTENTION_SCORES;
}

static struct rmli_kernel_size size_of(enum rmli_kernel_op op, uint64_t n_x)
{
    bool attention = op >= RMLI_OP_ATTENTION_SCORES;
    return (struct rmli_kernel_size){.n_rows = !takes_rows(op) ? 1
                                               : attention     ? HEAD_GROUP
                                                               : ROWS,
                                     .n_cols = attention ? HEAD_DIM : COLS,
                                     .n_x = (size_t)n_x};
}

static bool add(struct bench_plan *plan, enum rmli_kernel_op op, int dtype, enum rml_isa isa,
                uint64_t n_x, uint64_t seed, struct rml_error *err)
{
    struct bench_spec *spec =
        bench_plan_add(plan, &bench_kernels_suite, rmli_kernel_op_name(op), err);
    if (!spec)
        return false;
    struct rmli_kernel_size size = size_of(op, n_x);
    struct store_case *what = &spec->what;
    what->isa = rml_isa_name(isa);
    what->threads = 1;
    what->n_batch = (int64_t)n_x;
    what->arithmetic = rml_arithmetic_name(
        op == RMLI_OP_MATMUL_I8 || op == RMLI_OP_QUANTIZE_ACTIVATIONS ? RML_ARITHMETIC_I8
                                                                      : RML_ARITHMETIC_F32);
    if (rmli_kernel_op_dtypes(op) == RMLI_WEIGHT_DTYPE)
        what->weight_dtype = rml_dtype_traits((enum rml_dtype)dtype)->name;
    if (rmli_kernel_op_dtypes(op) == RMLI_KV_DTYPE)
        what->k_dtype = what->v_dtype = rml_kv_dtype_name((enum rml_kv_dtype)dtype);
    if (!rmli_kernels_for(isa))
        bench_spec_skip(spec, "%s: this machine or this build has no such kernels",
                        rml_isa_name(isa));
    return bench_spec_params(spec,
                             json_pack("{sI sI sI}", "n_rows", (json_int_t)size.n_rows, "n_cols",
                                       (json_int_t)size.n_cols, "seed", (json_int_t)seed),
                             err);
}

static bool add_entry(struct bench_plan *plan, const struct settings *s, enum rmli_kernel_op op,
                      int dtype, enum rml_isa isa, uint64_t seed, struct rml_error *err)
{
    static uint64_t default_vectors[] = {1, 32}, one[] = {1};
    struct bench_numbers vectors =
        s->vectors.n ? s->vectors : (struct bench_numbers){2, default_vectors};
    if (!is_product(op))
        vectors = (struct bench_numbers){1, one};
    bool ok = true;
    for (size_t v = 0; ok && v < vectors.n; v++)
        ok = add(plan, op, dtype, isa, vectors.values[v], seed, err);
    return ok;
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    const struct settings *s = settings;
    const struct rmli_kernels *ref = rmli_kernels_for(RML_ISA_REF);
    bool ok = true;
    for (int op = 0; op < RMLI_N_KERNEL_OPS; op++) {
        for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++) {
            if ((s->ops_given && !s->ops[op]) ||
                !rmli_kernel_entry_exists(ref, (enum rmli_kernel_op)op, dtype))
                continue;
            for (int isa = 0; ok && isa < RML_N_ISAS; isa++)
                if (s->isas.given ? s->isas.has[isa] : rmli_kernels_for((enum rml_isa)isa) != NULL)
                    ok = add_entry(plan, s, (enum rmli_kernel_op)op, dtype, (enum rml_isa)isa,
                                   sweep->seed, err);
        }
    }
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct opened {
    struct rmli_kernel_case *c;
    const struct rmli_kernels *table;
};

static bool run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct opened *o = arg;
    (void)times, (void)err;
    rmli_kernel_case_run(o->c, o->table, (size_t)iters);
    return true;
}

static bool prepare(void *arg, struct rml_error *err)
{
    struct opened *o = arg;
    (void)err;
    rmli_kernel_case_reset(o->c, o->table);
    return true;
}

/* Computed anew: what the repetitions leave depends on their number. */
static const void *output(const void *arg, size_t *nbytes)
{
    const struct opened *o = arg;
    return rmli_kernel_case_output(o->c, o->table, nbytes);
}

static bool verify(const void *state, struct rml_error *err)
{
    const struct opened *o = state;
    size_t nbytes, n_want;
    const void *want = rmli_kernel_case_output(o->c, rmli_kernels_for(RML_ISA_REF), &n_want);
    void *copy = malloc(n_want);
    if (!copy)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the reference's output");
    memcpy(copy, want, n_want);
    const void *got = rmli_kernel_case_output(o->c, o->table, &nbytes);
    bool same = nbytes == n_want && memcmp(got, copy, n_want) == 0;
    free(copy);
    return same || rmli_fail(err, RML_INTERNAL, NULL, -1,
                             "output differs from that of the reference kernel");
}

static void close_case(void *state)
{
    struct opened *o = state;
    rmli_kernel_case_destroy(o->c);
    free(o);
}

static bool dtype_of(const struct bench_spec *spec, enum rmli_kernel_op op, int *dtype,
                     struct rml_error *err)
{
    enum rml_dtype weight;
    enum rml_kv_dtype k, v;
    *dtype = 0;
    switch (rmli_kernel_op_dtypes(op)) {
    case RMLI_WEIGHT_DTYPE:
        if (!spec->what.weight_dtype || !rml_dtype_parse(spec->what.weight_dtype, &weight))
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no weight type");
        *dtype = (int)weight;
        return true;
    case RMLI_KV_DTYPE:
        if (!bench_spec_kv(spec, &k, &v, err))
            return false;
        *dtype = (int)k;
        return true;
    default:
        return true;
    }
}

static bool open_kernel(const struct bench_spec *spec, struct opened *o, enum rml_isa *isa,
                        struct rml_error *err)
{
    enum rmli_kernel_op op;
    int dtype;
    uint64_t n_rows, n_cols;
    if (!rmli_kernel_op_parse(spec->what.name, &op))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "no kernel of the name '%s'",
                         spec->what.name);
    if (!spec->what.isa || !rml_isa_parse(spec->what.isa, isa) ||
        !(o->table = rmli_kernels_for(*isa)))
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "no kernels of that instruction set here");
    if (!dtype_of(spec, op, &dtype, err) ||
        !bench_spec_u64(spec, "n_rows", 1, SIZE_MAX, &n_rows, err) ||
        !bench_spec_u64(spec, "n_cols", 1, SIZE_MAX, &n_cols, err))
        return false;
    struct rmli_kernel_size size = {(size_t)n_rows, (size_t)n_cols, (size_t)spec->what.n_batch};
    o->c = rmli_kernel_case_create(op, dtype, &size, bench_spec_seed(spec), err);
    return o->c != NULL;
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    enum rml_isa isa;
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    if (!open_kernel(spec, o, &isa, err)) {
        close_case(o);
        return false;
    }
    double flops = rmli_kernel_case_flops(o->c);
    *opened = (struct bench_case){
        .state = o,
        .work = {.run = run, .prepare = prepare, .output = output, .arg = o, .iters_step = 1},
        .facts = {.isa = rml_isa_name(isa),
                  .items_per_iter = NAN,
                  .bytes_per_iter = rmli_kernel_case_bytes(o->c),
                  .flops_per_iter = flops > 0 ? flops : -1,
                  .kv_nbytes = -1},
        .verify = verify,
        .close = close_case,
    };
    return true;
}

const struct bench_suite bench_kernels_suite = {
    .name = "kernels",
    .summary = "each entry of the kernel table, every data type and instruction set",
    .doc = "Times every kernel alone, on one thread: matrix products of 512 rows of 4096, vectors "
           "of 4096, attention of 4 query heads of 128 over a block of 64 keys. The operands fit "
           "the processor's caches, so what only moves data may reach more than the roof of "
           "memory. The cases are those that test the kernels, and each output is "
           "compared bit for bit with the reference kernel's before the time counts.\v"
           "Example, what AVX-512 gains over AVX2:\n\n"
           "  rml-bench kernels --op matmul_i8 --isa avx2,avx512",
    .work_version = 1,
    .has_roof = true,
    .has_isas = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .release = release,
    .enumerate = enumerate,
    .open = open_case,
};
