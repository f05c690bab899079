/* One parallel loop over the output rows of all jobs; see the header. */
#include "model/project.h"

#include "base/memory.h"

/* Tasks for each thread that a loop aims at: enough to even out a preempted core. With many
 * input rows a task should be tall, since it reads all of them. */
#define TASKS_PER_THREAD_FEW_ROWS 32
#define TASKS_PER_THREAD_MANY_ROWS 8
#define MANY_ROWS 16

/* The lowest dtype that takes the same quantised activations. */
static enum rml_dtype activation_class(enum rml_dtype dtype)
{
    enum rml_dtype c = RML_F32;
    while (c < dtype && !rmli_activation_same(c, dtype))
        c++;
    return c;
}

static bool uses_i8(const struct rmli_projector *p, const struct rmli_matrix *matrix)
{
    return p->arithmetic == RML_ARITHMETIC_I8 && p->kernels->matmul->matmul_i8[matrix->dtype];
}

void rmli_projector_plan(struct rmli_projector *p, const struct rmli_matrix *matrix, size_t n_rows)
{
    if (!uses_i8(p, matrix))
        return;
    enum rml_dtype class = activation_class(matrix->dtype);
    size_t nbytes = n_rows * rmli_activation_row_nbytes(matrix->dtype, matrix->n_cols);
    if (nbytes > p->quantised_nbytes[class])
        p->quantised_nbytes[class] = nbytes;
}

bool rmli_projector_allocate(struct rmli_projector *p, struct rml_error *err)
{
    p->scratch = rmli_alloc(rml_thread_pool_size(p->pool), RMLI_MATMUL_SCRATCH_NBYTES, err);
    if (!p->scratch)
        return false;
    for (int class = 0; class < RML_N_WEIGHT_DTYPES; class ++) {
        if (!p->quantised_nbytes[class])
            continue;
        p->quantised[class] = rmli_alloc(p->quantised_nbytes[class], 1, err);
        if (!p->quantised[class])
            return false;
    }
    return true;
}

void rmli_projector_release(struct rmli_projector *p)
{
    rmli_free(p->scratch);
    p->scratch = NULL;
    for (int class = 0; class < RML_N_WEIGHT_DTYPES; class ++) {
        rmli_free(p->quantised[class]);
        p->quantised[class] = NULL;
    }
}

size_t rmli_projector_nbytes(const struct rmli_projector *p)
{
    size_t nbytes = rml_thread_pool_size(p->pool) * RMLI_MATMUL_SCRATCH_NBYTES;
    for (int class = 0; class < RML_N_WEIGHT_DTYPES; class ++)
        nbytes += p->quantised_nbytes[class];
    return nbytes;
}

struct quantise_loop {
    rmli_quantize_activations_fn *quantize;
    const float *x;
    size_t ld_x, n_cols;
    uint8_t *out;
    size_t row_nbytes;
};

static void quantise_row(void *arg, size_t row, unsigned worker)
{
    (void)worker;
    const struct quantise_loop *loop = arg;
    loop->quantize(loop->out + row * loop->row_nbytes, loop->x + row * loop->ld_x, loop->n_cols);
}

/* Quantises x once for each class among the jobs, which share n_cols. */
static void quantise_inputs(const struct rmli_projector *p, const float *x, size_t ld_x,
                            size_t n_rows, const struct rmli_job *jobs, size_t n_jobs)
{
    bool done[RML_N_WEIGHT_DTYPES] = {false};
    for (size_t j = 0; j < n_jobs; j++) {
        const struct rmli_matrix *matrix = jobs[j].matrix;
        enum rml_dtype class = activation_class(matrix->dtype);
        if (!uses_i8(p, matrix) || done[class])
            continue;
        done[class] = true;
        struct quantise_loop loop = {
            .quantize = p->kernels->matmul->quantize_activations[matrix->dtype],
            .x = x,
            .ld_x = ld_x,
            .n_cols = matrix->n_cols,
            .out = p->quantised[class],
            .row_nbytes = rmli_activation_row_nbytes(matrix->dtype, matrix->n_cols),
        };
        rmli_parallel_for(p->pool, n_rows, quantise_row, &loop);
    }
}

struct project_loop {
    const struct rmli_projector *p;
    const float *x;
    size_t ld_x;
    const struct rmli_job *jobs;
    size_t n_jobs;
    size_t grain;
};

static size_t job_tasks(const struct rmli_job *job, size_t grain)
{
    return job->n_rows ? (job->matrix->n_rows + grain - 1) / grain : 0;
}

static void project_rows(void *arg, size_t task, unsigned worker)
{
    const struct project_loop *loop = arg;
    const struct rmli_projector *p = loop->p;
    const struct rmli_job *job = loop->jobs;
    for (size_t n; task >= (n = job_tasks(job, loop->grain)); job++)
        task -= n;

    const struct rmli_matrix *matrix = job->matrix;
    size_t begin = task * loop->grain, end = begin + loop->grain;
    if (end > matrix->n_rows)
        end = matrix->n_rows;
    void *scratch = p->scratch + worker * RMLI_MATMUL_SCRATCH_NBYTES;
    if (uses_i8(p, matrix)) {
        size_t row_nbytes = rmli_activation_row_nbytes(matrix->dtype, matrix->n_cols);
        const uint8_t *x = p->quantised[activation_class(matrix->dtype)] + job->row0 * row_nbytes;
        p->kernels->matmul->matmul_i8[matrix->dtype](job->out, job->ld_out, matrix, begin, end, x,
                                                     job->n_rows, job->accumulate, scratch);
    } else {
        p->kernels->matmul->matmul_f32[matrix->dtype](job->out, job->ld_out, matrix, begin, end,
                                                      loop->x + job->row0 * loop->ld_x, loop->ld_x,
                                                      job->n_rows, job->accumulate, scratch);
    }
}

void rmli_project(const struct rmli_projector *p, const float *x, size_t ld_x, size_t n_rows,
                  const struct rmli_job *jobs, size_t n_jobs)
{
    quantise_inputs(p, x, ld_x, n_rows, jobs, n_jobs);

    size_t out_rows = 0;
    for (size_t j = 0; j < n_jobs; j++)
        out_rows += jobs[j].n_rows ? jobs[j].matrix->n_rows : 0;
    size_t wanted_tasks =
        rml_thread_pool_size(p->pool) *
        (size_t)(n_rows < MANY_ROWS ? TASKS_PER_THREAD_FEW_ROWS : TASKS_PER_THREAD_MANY_ROWS);
    size_t grain = RMLI_MATMUL_ROW_GRAIN * (1 + out_rows / (wanted_tasks * RMLI_MATMUL_ROW_GRAIN));
    size_t n_tasks = 0;
    for (size_t j = 0; j < n_jobs; j++)
        n_tasks += job_tasks(&jobs[j], grain);
    struct project_loop loop = {p, x, ld_x, jobs, n_jobs, grain};
    rmli_parallel_for(p->pool, n_tasks, project_rows, &loop);
}
