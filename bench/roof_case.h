/*
 * One roof as work to be timed: what an iteration does, and on how many threads.
 */
#ifndef BENCH_ROOF_CASE_H
#define BENCH_ROOF_CASE_H

#include "bench/measure.h"
#include "rml.h"

enum roof_limit {
    ROOF_READ_BANDWIDTH, /* memory that no cache holds */
    ROOF_FMA_F32,
    ROOF_DOT_I8,
    ROOF_N_LIMITS
};
/* "read_bandwidth", "fma_f32", "dot_i8": the names of the cases of suite "roof". */
const char *roof_limit_name(enum roof_limit limit);

struct roof_case;

/* The pool is borrowed and outlives the case. read_nbytes: of the memory that
 * ROOF_READ_BANDWIDTH goes through again and again, a multiple of ROOF_READ_PART.
 * RML_UNSUPPORTED: no such kernels here. */
struct roof_case *roof_case_create(enum roof_limit limit, enum rml_isa isa, size_t read_nbytes,
                                   struct rml_thread_pool *pool, struct rml_error *err);
void roof_case_destroy(struct roof_case *c); /* NULL is allowed */

/* Fails with RML_INTERNAL when the loop's result is not what it must be. */
struct bench_work roof_case_work(struct roof_case *c);

/* Of one iteration; 0 when the limit is another. Two operations for each multiply-add. */
double roof_case_bytes(const struct roof_case *c);
double roof_case_flops(const struct roof_case *c);

/* So much memory that no cache helps: four times the last level if known, from 256 MiB to
 * 1 GiB, at most a quarter of what is free. */
#define ROOF_READ_PART ((size_t)32 << 20) /* an iteration's */
size_t roof_read_nbytes(void);

#endif
