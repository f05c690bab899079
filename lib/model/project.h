/*
 * Projections: products of weight matrices with rows of activations, several at
 * a time in one parallel loop.
 *
 * Q, K and V share an input, and the experts of a layer share a gathered one; so a
 * call takes one block of input rows and a list of jobs, each a matrix, the range
 * of input rows that it multiplies, and its output. In i8 arithmetic the input is
 * quantised once for each kind of block that the jobs' dtypes need.
 */
#ifndef RML_MODEL_PROJECT_H
#define RML_MODEL_PROJECT_H

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/decoder.h"

struct rmli_job {
    const struct rmli_matrix *matrix;
    size_t row0, n_rows; /* input rows [row0, row0 + n_rows) */
    float *out;          /* [n_rows][ld_out], its first row belongs to input row row0 */
    size_t ld_out;
    bool accumulate;
};

struct rmli_projector {
    struct rml_thread_pool *pool;
    const struct rmli_kernels *kernels;
    enum rml_arithmetic arithmetic;
    uint8_t *scratch;                        /* [pool size][RMLI_MATMUL_SCRATCH_NBYTES] */
    uint8_t *quantised[RML_N_WEIGHT_DTYPES]; /* by class of dtype; NULL when not needed */
    size_t quantised_nbytes[RML_N_WEIGHT_DTYPES];
};

/* Before any call: room for the input of `matrix` with n_rows rows is noted ... */
void rmli_projector_plan(struct rmli_projector *p, const struct rmli_matrix *matrix, size_t n_rows);
/* ... and allocated. pool, kernels and arithmetic are set by the caller first. */
bool rmli_projector_allocate(struct rmli_projector *p, struct rml_error *err);
void rmli_projector_release(struct rmli_projector *p); /* safe on an all-zero struct */
size_t rmli_projector_nbytes(const struct rmli_projector *p);

/* Runs the jobs on x [n_rows][ld_x]. Allocates nothing. */
void rmli_project(const struct rmli_projector *p, const float *x, size_t ld_x, size_t n_rows,
                  const struct rmli_job *jobs, size_t n_jobs);

#endif
