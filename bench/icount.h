/*
 * The instruction-count gate: how many instructions does a kernel execute?
 *
 * Counted by valgrind's callgrind, which runs the program on a simulated processor: on one
 * thread, with fixed operands and an empty environment the count is the same each time, to the
 * last instruction, however noisy the machine is. So a change of half a percent is found that no
 * clock could show; but not whether it matters, and nothing that only costs time (a cache line,
 * a barrier).
 *
 * Counts hang on what compiled them, on the C library and on the instruction set, which valgrind
 * limits to AVX2. Counts of a file are compared only when all three are the same.
 */
#ifndef BENCH_ICOUNT_H
#define BENCH_ICOUNT_H

#include <jansson.h>

#include "base/error.h"
#include "kernels/kernel_case.h"

#define ICOUNT_GATE 0.005 /* an increase from which on it fails */
#define ICOUNT_MAX_CASES 32

struct icount_case {
    const char *name; /* "matmul_i8/q4_0" */
    enum rmli_kernel_op op;
    int dtype;
    struct rmli_kernel_size size;
};
extern const struct icount_case icount_cases[];
extern const size_t n_icount_cases;

/* What is counted: one call of the kernel. A function of its own and its own file, for callgrind
 * finds it by its name. */
void icount_region(struct rmli_kernel_case *c, const struct rmli_kernels *table);

/* Counts of one build. */
struct icounts {
    char compiler[256], cflags[1024], libc[64], isa[16]; /* cflags without warnings (-W...) */
    size_t n;
    struct {
        char name[64];
        int64_t n_instructions;
    } counts[ICOUNT_MAX_CASES];
};

/* Runs the program (NULL: this one) under valgrind. RML_NOT_FOUND: no valgrind; RML_UNSUPPORTED:
 * a program that has no such command. */
bool icount_run(const char *program, struct icounts *counts, struct rml_error *err);

/* The file that --record writes: {"format": "rml-icount", "version": 1, "compiler", "cflags",
 * "libc", "isa", "counts": {NAME: N}}. */
bool icount_write(const char *file, const struct icounts *counts, struct rml_error *err);
bool icount_read(const char *file, struct icounts *counts, struct rml_error *err);
json_t *icount_to_json(const struct icounts *counts);

/* The first thing in which the two may not differ but do: "compiler"; NULL: they compare. */
const char *icount_difference(const struct icounts *base, const struct icounts *head);

/* Index of the name in counts; -1. */
int icount_find(const struct icounts *counts, const char *name);

/* Reads what callgrind has left in FILE: the total of its only event. */
bool icount_parse_callgrind(const char *file, int64_t *n_instructions, struct rml_error *err);

int bench_icount_main(int argc, char **argv);
/* The hidden command that runs under valgrind. */
int bench_icount_worker_main(int argc, char **argv);

#endif
