/*
 * Writing the output: slabs of rows, encoded in parallel, written in order.
 *
 * A slab is as many rows as fit SLAB_NELEMS elements, at least one. Its tasks are runs of rows;
 * each widens a row to f32, encodes it to its place in the slab, and decodes what it
 * encoded to know the error. Sums of a task are added in the order of the rows, so that they do
 * not depend on the number of threads.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "convert/folder.h"
#include "model/tensor_values.h"
#include "tensor/encode.h"

#define SLAB_NELEMS ((uint64_t)4 << 20)
#define TASK_NELEMS ((uint64_t)32 << 10)

struct task {
    double sum_squares, squared_error;
    uint64_t bad_row, bad_col; /* the first value that cannot be written */
    bool bad;
};

struct job {
    const struct rmli_planned_tensor *tensor;
    uint64_t n_cols;
    size_t row_nbytes;
    uint64_t first_row, n_rows; /* of the slab */
    uint64_t rows_per_task;
    uint8_t *slab;
    float *scratch; /* [n_workers][2][n_cols] */
    struct task *tasks;
};

/* ---- Rows ---------------------------------------------------------------------------- */

/* Where row r of the output is. */
static const struct rml_tensor_info *find_row(const struct rmli_planned_tensor *t, uint64_t r,
                                              uint64_t *row)
{
    const struct rmli_conversion_source *source = &t->sources[r / t->rows_per_source];
    uint64_t local = r % t->rows_per_source;
    if (t->n_heads) {
        uint64_t head_dim = t->rows_per_source / t->n_heads, in_head = local % head_dim;
        local += in_head / 2 + in_head % 2 * (head_dim / 2) - in_head;
    }
    *row = source->first_row + local;
    return source->tensor;
}

static void read_row(const struct rmli_planned_tensor *t, uint64_t r, uint64_t n_cols, float *x)
{
    if (t->values) {
        memcpy(x, t->values + r * n_cols, n_cols * sizeof *x);
        return;
    }
    uint64_t row;
    const struct rml_tensor_info *source = find_row(t, r, &row);
    rml_tensor_widen(source, row * n_cols, (size_t)n_cols, x);
    for (uint64_t i = 0; t->plus_one && i < n_cols; i++)
        x[i] += 1;
}

static void widen_encoded(const struct job *job, const uint8_t *row, float *out)
{
    const struct rml_tensor_info encoded = {.dtype = job->tensor->info.to,
                                            .n_dims = 1,
                                            .dims = {job->n_cols, 1, 1, 1},
                                            .nbytes = job->row_nbytes,
                                            .data = row};
    rml_tensor_widen(&encoded, 0, (size_t)job->n_cols, out);
}

/* False with the column of the first value that cannot be written. */
static bool encode_row(const struct job *job, uint64_t r, float *x, float *decoded,
                       struct task *task)
{
    const struct rmli_planned_tensor *t = job->tensor;
    uint8_t *out = job->slab + (r - job->first_row) * job->row_nbytes;
    read_row(t, r, job->n_cols, x);
    for (uint64_t i = 0; i < job->n_cols; i++) {
        if (!isfinite(x[i])) {
            task->bad_col = i;
            return false;
        }
        task->sum_squares += (double)x[i] * x[i];
    }
    uint64_t row;
    const struct rml_tensor_info *source = t->values ? NULL : find_row(t, r, &row);
    if (source && source->dtype == t->info.to && !t->plus_one) {
        /* copied, whatever its blocks hold */
        memcpy(out, source->data + row * job->row_nbytes, job->row_nbytes);
        return true;
    }
    size_t n_encoded = rmli_encode(t->info.to, out, x, (size_t)job->n_cols);
    if (n_encoded < job->n_cols) {
        task->bad_col = n_encoded;
        for (uint64_t i = n_encoded; i < job->n_cols && /* the largest of the block */
                                     i < n_encoded + rml_dtype_traits(t->info.to)->block_nelems;
             i++)
            if (fabsf(x[i]) > fabsf(x[task->bad_col]))
                task->bad_col = i;
        return false;
    }
    widen_encoded(job, out, decoded);
    for (uint64_t i = 0; i < job->n_cols; i++)
        task->squared_error += ((double)decoded[i] - x[i]) * ((double)decoded[i] - x[i]);
    return true;
}

static void run_task(void *arg, size_t i, unsigned worker)
{
    const struct job *job = arg;
    struct task *task = &job->tasks[i];
    float *x = job->scratch + (size_t)worker * 2 * job->n_cols;
    uint64_t begin = job->first_row + i * job->rows_per_task, end = begin + job->rows_per_task;
    uint64_t slab_end = job->first_row + job->n_rows;
    *task = (struct task){0};
    for (uint64_t r = begin; r < end && r < slab_end; r++)
        if (!encode_row(job, r, x, x + job->n_cols, task)) {
            task->bad = true;
            task->bad_row = r;
            return;
        }
}

/* ---- Tensors ---------------------------------------------------------------------------- */

struct run {
    struct rml_conversion *c;
    struct rmli_gguf_writer *w;
    struct rml_thread_pool *pool;
    rml_conversion_progress_fn *progress;
    void *user;
    uint64_t nelems_done, nelems_total;
    struct rml_error *err;
};

static bool fail_value(const struct run *run, const struct job *job, const struct task *task)
{
    const struct rmli_planned_tensor *t = job->tensor;
    const char *name = t->info.name, *file = rml_checkpoint_path(run->c->cp);
    int64_t offset = -1;
    read_row(t, task->bad_row, job->n_cols, job->scratch);
    float value = job->scratch[task->bad_col];
    uint64_t element = task->bad_row * job->n_cols + task->bad_col;
    if (!t->values) {
        uint64_t row;
        const struct rml_tensor_info *source = find_row(t, task->bad_row, &row);
        name = source->name;
        file = source->file;
        offset = (int64_t)source->offset;
        element = row * job->n_cols + task->bad_col;
    }
    if (!isfinite(value))
        return rmli_fail(run->err, RML_UNSUPPORTED, file, offset,
                         "element %" PRIu64 " of the tensor '%s' is %g, expected a finite number",
                         element, name, (double)value);
    return rmli_fail(run->err, RML_UNSUPPORTED, file, offset,
                     "element %" PRIu64 " of the tensor '%s' is %g, beyond what %s can hold",
                     element, name, (double)value, rml_dtype_traits(t->info.to)->name);
}

static bool write_slab(struct run *run, struct job *job, struct rml_conversion_tensor *info)
{
    size_t n_tasks = (size_t)((job->n_rows + job->rows_per_task - 1) / job->rows_per_task);
    rmli_parallel_for(run->pool, n_tasks, run_task, job);
    for (size_t i = 0; i < n_tasks; i++) {
        if (job->tasks[i].bad)
            return fail_value(run, job, &job->tasks[i]);
        info->sum_squares += job->tasks[i].sum_squares;
        info->squared_error += job->tasks[i].squared_error;
    }
    return rmli_gguf_writer_write(run->w, job->slab, (size_t)job->n_rows * job->row_nbytes,
                                  run->err);
}

static bool write_slabs(struct run *run, struct job *job, struct rml_conversion_tensor *info,
                        uint64_t rows_per_slab)
{
    uint64_t n_rows = info->nelems / job->n_cols;
    for (; job->first_row < n_rows; job->first_row += job->n_rows) {
        uint64_t left = n_rows - job->first_row;
        job->n_rows = left < rows_per_slab ? left : rows_per_slab;
        if (run->progress && !run->progress(run->user, run->nelems_done, run->nelems_total))
            return rmli_fail(run->err, RML_CANCELLED, NULL, -1, "interrupted");
        if (!write_slab(run, job, info))
            return false;
        run->nelems_done += job->n_rows * job->n_cols;
    }
    return true;
}

static bool write_tensor(struct run *run, struct rmli_planned_tensor *t)
{
    struct rml_conversion_tensor *info = &t->info;
    struct job job = {.tensor = t, .n_cols = info->n_dims ? info->dims[info->n_dims - 1] : 1};
    uint64_t n_rows = info->nelems / job.n_cols, rows_per_slab = SLAB_NELEMS / job.n_cols;
    rows_per_slab = rows_per_slab == 0 ? 1 : rows_per_slab > n_rows ? n_rows : rows_per_slab;
    job.rows_per_task = job.n_cols >= TASK_NELEMS ? 1 : TASK_NELEMS / job.n_cols;
    info->sum_squares = info->squared_error = 0;

    size_t n_tasks = (size_t)((rows_per_slab + job.rows_per_task - 1) / job.rows_per_task);
    bool ok = rml_dtype_row_nbytes(info->to, job.n_cols, &job.row_nbytes) &&
              (job.slab = rmli_alloc((size_t)rows_per_slab, job.row_nbytes, run->err)) &&
              (job.scratch = rmli_alloc(2 * (size_t)rml_thread_pool_size(run->pool),
                                        (size_t)job.n_cols * sizeof(float), run->err)) &&
              (job.tasks = rmli_alloc(n_tasks, sizeof *job.tasks, run->err)) &&
              write_slabs(run, &job, info, rows_per_slab);
    rmli_free(job.slab);
    rmli_free(job.scratch);
    rmli_free(job.tasks);
    return ok;
}

/* ---- The file --------------------------------------------------------------------------- */

/* The output must not be one of the files that are read. */
static bool check_apart(const struct rml_conversion *c, const char *path, struct rml_error *err)
{
    struct stat out, in;
    if (stat(path, &out) != 0)
        return errno == ENOENT ||
               rmli_fail(err, RML_IO, path, -1, "cannot look at it: %s", strerror(errno));
    if (!S_ISREG(out.st_mode))
        return rmli_fail(err, RML_INVALID_ARGUMENT, path, -1,
                         "no regular file, expected a name for a new one");
    const char *before = NULL;
    for (size_t i = 0; i < rml_checkpoint_n_tensors(c->cp); i++) {
        const char *file = rml_checkpoint_tensor(c->cp, i)->file;
        if (file == before)
            continue;
        before = file;
        if (stat(file, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return rmli_fail(err, RML_INVALID_ARGUMENT, path, -1,
                             "the output is a file of the input");
    }
    return true;
}

static bool write_all(struct run *run)
{
    struct rml_conversion *c = run->c;
    bool ok = rml_checkpoint_kind(c->cp) == RML_CHECKPOINT_HF
                  ? rmli_conversion_folder_metadata(c, run->w, run->err) &&
                        rmli_conversion_folder_vocabulary(c, run->w, run->err)
                  : rmli_conversion_gguf_metadata(c, run->w, run->err);
    if (!ok)
        return false;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const struct rml_conversion_tensor *t = &c->tensors[i].info;
        run->nelems_total += t->nelems;
        if (!rmli_gguf_writer_declare(run->w, t->name, t->to, t->n_dims, t->dims, run->err))
            return false;
    }
    for (size_t i = 0; i < c->n_tensors; i++)
        if (!write_tensor(run, &c->tensors[i]))
            return false;
    return true;
}

bool rml_conversion_write(struct rml_conversion *c, const char *path, struct rml_thread_pool *pool,
                          rml_conversion_progress_fn *progress, void *user, struct rml_error *err)
{
    uint32_t alignment = 0;
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(c->cp);
    if (!check_apart(c, path, err) ||
        (gguf && !rmli_gguf_get_u32(gguf, "general.alignment", &alignment, NULL, err)))
        return false;
    struct run run = {.c = c, .pool = pool, .progress = progress, .user = user, .err = err};
    run.w = rmli_gguf_writer_create(path, alignment, err);
    if (!run.w)
        return false;
    if (!write_all(&run)) {
        rmli_gguf_writer_abandon(run.w);
        return false;
    }
    return rmli_gguf_writer_finish(run.w, err);
}
