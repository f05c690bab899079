#include "bench/roof_case.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/thread_pool.h"
#include "bench/roof_kernels.h"

/* Threads take slices of memory one by one: long work beside claiming one. */
#define SLICE_NBYTES ((size_t)1 << 20)

/* Arithmetic comes in tasks of about 0.1 ms, some for each thread. */
#define TASKS_PER_THREAD 4
#define TASK_OPERATIONS 4e6

struct roof_case {
    enum roof_limit limit;
    struct rml_thread_pool *pool;
    const struct roof_kernels *kernels;
    uint64_t *buffer; /* buffer[i] == i; mapped; NULL unless it is read */
    size_t buffer_nbytes;
    size_t at;       /* where the next part begins, in bytes */
    size_t n_rounds; /* of arithmetic in a task */
    size_t n_tasks;
    _Atomic size_t n_wrong; /* tasks whose result was not what it must be */
};

const char *roof_limit_name(enum roof_limit limit)
{
    static const char *const names[ROOF_N_LIMITS] = {[ROOF_READ_BANDWIDTH] = "read_bandwidth",
                                                     [ROOF_FMA_F32] = "fma_f32",
                                                     [ROOF_DOT_I8] = "dot_i8"};
    return names[limit];
}

/* ---- Reading --------------------------------------------------------------------------- */

static void fill_slice(void *arg, size_t i, unsigned worker)
{
    struct roof_case *c = arg;
    size_t n = SLICE_NBYTES / sizeof *c->buffer;
    (void)worker;
    for (size_t k = i * n; k < (i + 1) * n; k++)
        c->buffer[k] = k;
}

static void read_slice(void *arg, size_t i, unsigned worker)
{
    struct roof_case *c = arg;
    uint64_t n = SLICE_NBYTES / sizeof *c->buffer;
    uint64_t first = (c->at + i * SLICE_NBYTES) / sizeof *c->buffer;
    (void)worker;
    /* first + (first + 1) + ... : n is even, so the halving is exact also modulo 2^64 */
    uint64_t expected = n / 2 * (2 * first + n - 1);
    if (c->kernels->read(c->buffer + first, SLICE_NBYTES) != expected)
        atomic_fetch_add(&c->n_wrong, 1);
}

size_t roof_read_nbytes(void)
{
    size_t least = (size_t)256 << 20, most = (size_t)1 << 30, nbytes = least;
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (l3 > 0 && (size_t)l3 > least / 4)
        nbytes = (size_t)l3 < most / 4 ? 4 * (size_t)l3 : most;
    if (pages > 0 && page > 0 && nbytes > (size_t)pages * (size_t)page / 4)
        nbytes = (size_t)pages * (size_t)page / 4;
    nbytes -= nbytes % ROOF_READ_PART;
    return nbytes < 2 * ROOF_READ_PART ? 2 * ROOF_READ_PART : nbytes;
}

static bool map_buffer(struct roof_case *c, size_t nbytes, struct rml_error *err)
{
    c->buffer_nbytes = nbytes;
    void *map =
        mmap(NULL, c->buffer_nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes to be read",
                         c->buffer_nbytes);
    c->buffer = map;
    /* As weights are kept: in huge pages where the system has them, else it is no worse. */
    madvise(map, c->buffer_nbytes, MADV_HUGEPAGE);
    rmli_parallel_for(c->pool, c->buffer_nbytes / SLICE_NBYTES, fill_slice, c);
    return true;
}

/* ---- Arithmetic -------------------------------------------------------------------------- */

static void multiply_add(void *arg, size_t i, unsigned worker)
{
    struct roof_case *c = arg;
    (void)i, (void)worker;
    /* x = x / 2 + 1 goes from 0 to 2, and is there after 25 rounds in f32 (2 - 2^-24 rounds to
     * 2); the sum of so few lanes is exact. */
    if (c->kernels->fma_f32(c->n_rounds, 0.5f, 1) != 2 * (float)c->kernels->fma_f32_lanes)
        atomic_fetch_add(&c->n_wrong, 1);
}

static void add_products(void *arg, size_t i, unsigned worker)
{
    struct roof_case *c = arg;
    (void)i, (void)worker;
    int8_t w = 15, x = -3;
    int64_t expected = (int64_t)(c->n_rounds * c->kernels->dot_i8_lane_products) * w * x;
    if (c->kernels->dot_i8(c->n_rounds, w, x) != expected)
        atomic_fetch_add(&c->n_wrong, 1);
}

/* ---- The case ------------------------------------------------------------------------------ */

static double operations_per_round(const struct roof_case *c)
{
    return 2.0 * (double)(c->limit == ROOF_FMA_F32 ? c->kernels->fma_f32_lanes
                                                   : c->kernels->dot_i8_products);
}

struct roof_case *roof_case_create(enum roof_limit limit, enum rml_isa isa, size_t read_nbytes,
                                   struct rml_thread_pool *pool, struct rml_error *err)
{
    struct roof_case *c = calloc(1, sizeof *c);
    if (!c) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a roof");
        return NULL;
    }
    c->limit = limit;
    c->pool = pool;
    c->kernels = roof_kernels_for(isa);
    bool ok = c->kernels || rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                                      "no roof for %s on this machine", rml_isa_name(isa));
    if (ok && limit == ROOF_READ_BANDWIDTH) {
        ok = map_buffer(c, read_nbytes, err);
    } else if (ok) {
        c->n_rounds = (size_t)(TASK_OPERATIONS / operations_per_round(c));
        c->n_tasks = (size_t)TASKS_PER_THREAD * rml_thread_pool_size(pool);
    }
    if (ok)
        return c;
    roof_case_destroy(c);
    return NULL;
}

void roof_case_destroy(struct roof_case *c)
{
    if (c && c->buffer)
        munmap(c->buffer, c->buffer_nbytes);
    free(c);
}

static bool run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct roof_case *c = arg;
    (void)times;
    for (int64_t i = 0; i < iters; i++) {
        if (c->limit == ROOF_READ_BANDWIDTH) {
            rmli_parallel_for(c->pool, ROOF_READ_PART / SLICE_NBYTES, read_slice, c);
            c->at = (c->at + ROOF_READ_PART) % c->buffer_nbytes;
        } else {
            rmli_parallel_for(c->pool, c->n_tasks,
                              c->limit == ROOF_FMA_F32 ? multiply_add : add_products, c);
        }
    }
    return c->n_wrong == 0 ||
           rmli_fail(err, RML_INTERNAL, NULL, -1, "wrong result in %zu tasks of %s (%s)",
                     c->n_wrong, roof_limit_name(c->limit), rml_isa_name(c->kernels->isa));
}

struct bench_work roof_case_work(struct roof_case *c)
{
    return (struct bench_work){.run = run, .arg = c, .iters_step = 1};
}

double roof_case_bytes(const struct roof_case *c)
{
    return c->limit == ROOF_READ_BANDWIDTH ? (double)ROOF_READ_PART : 0;
}

double roof_case_flops(const struct roof_case *c)
{
    if (c->limit == ROOF_READ_BANDWIDTH)
        return 0;
    return operations_per_round(c) * (double)c->n_rounds * (double)c->n_tasks;
}
