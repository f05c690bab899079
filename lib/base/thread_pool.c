/*
 * The pool: one counter of unclaimed tasks, one of finished ones, one futex to
 * sleep on.
 *
 * A loop is published by storing its task count in `unclaimed`, after the plain
 * fields of `loop`. A worker claims a task by compare-and-swap from k to k - 1.
 * The claim itself proves that the loop is live: it cannot end before that task
 * has been counted in `finished`, so `loop` cannot change under the worker.
 * Hence no barrier at the end: a worker that was asleep or preempted through
 * the whole loop holds nobody up, which is what makes a pool of more threads
 * than cores usable.
 *
 * Sleeping follows Dekker's pattern in sequentially consistent order: the
 * sleeper announces itself, then looks again; the waker publishes, then looks
 * for sleepers. At least one of them sees the other.
 */
#include "base/thread_pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_count.h"
#include "base/memory.h"

/* A decode step leaves gaps of a few microseconds between loops, prefill some
 * tens; waking a sleeper costs 7-22 us. When threads outnumber CPUs, whoever
 * spins keeps a thread with work off its CPU. */
enum { SPIN_NS = 40000, SPIN_OVERSUBSCRIBED_NS = 1000 };

struct worker {
    struct rml_thread_pool *pool;
    pthread_t thread;
    unsigned index;
};

struct loop {
    size_t n_tasks;
    rmli_task_fn *task;
    void *arg;
};

/* A counter of its own cache line, written by one thread alone. */
struct busy {
    _Alignas(64) int64_t ns;
};

struct rml_thread_pool {
    struct loop loop;
    unsigned n_threads;
    int64_t spin_ns;
    struct worker *workers; /* [n_threads - 1], for indices from 1 */
    struct busy *busy;      /* [n_threads] */
    bool counts_busy;       /* changes between loops only */

    _Alignas(64) atomic_size_t unclaimed; /* tasks nobody has taken yet */
    _Alignas(64) atomic_size_t finished;  /* tasks of this loop that are done */
    atomic_uint caller_waits;             /* futex: 1 while the caller may sleep */
    _Alignas(64) atomic_uint epoch;       /* futex: changes with each loop and at the end */
    atomic_uint n_sleeping;
    atomic_bool stop;
};

unsigned rml_default_thread_count(void)
{
    unsigned n = rmli_usable_core_count("");
    return n < RML_MAX_THREADS ? n : RML_MAX_THREADS;
}

static void futex_wait(atomic_uint *word, unsigned expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int n_threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n_threads, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Runs tasks until none is left to claim. */
static void run_tasks(struct rml_thread_pool *pool, unsigned worker)
{
    size_t n_done = 0, n_tasks = 0;
    int64_t start_ns = 0; /* 0: not counted */
    size_t left = atomic_load_explicit(&pool->unclaimed, memory_order_relaxed);
    while (left > 0) {
        if (!atomic_compare_exchange_weak_explicit(&pool->unclaimed, &left, left - 1,
                                                   memory_order_acquire, memory_order_relaxed))
            continue;
        if (n_done == 0 && pool->counts_busy)
            start_ns = now_ns();
        n_tasks = pool->loop.n_tasks;
        pool->loop.task(pool->loop.arg, n_tasks - left, worker);
        n_done++;
        left = atomic_load_explicit(&pool->unclaimed, memory_order_relaxed);
    }
    if (start_ns)
        pool->busy[worker].ns += now_ns() - start_ns;
    /* Until this addition the loop is live; all n_done tasks belong to it. */
    if (n_done > 0 && atomic_fetch_add(&pool->finished, n_done) + n_done == n_tasks &&
        atomic_load(&pool->caller_waits)) {
        atomic_store(&pool->caller_waits, 0);
        futex_wake(&pool->caller_waits, 1);
    }
}

static bool has_work(struct rml_thread_pool *pool)
{
    return atomic_load(&pool->unclaimed) > 0 || atomic_load(&pool->stop);
}

static bool all_finished(struct rml_thread_pool *pool)
{
    return atomic_load(&pool->finished) == pool->loop.n_tasks;
}

/* Spins until `ready` or the pool's spinning time is over. */
static bool spin(struct rml_thread_pool *pool, bool (*ready)(struct rml_thread_pool *))
{
    enum { LOOKS_PER_CLOCK = 16 }; /* 16 pauses take 0.2 to 1 us */
    int64_t end_ns = 0;
    for (;;) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (ready(pool))
                return true;
            relax();
        }
        int64_t t_ns = now_ns();
        if (end_ns == 0)
            end_ns = t_ns + pool->spin_ns;
        else if (t_ns >= end_ns)
            return false;
    }
}

static void wait_for_work(struct rml_thread_pool *pool)
{
    while (!spin(pool, has_work)) {
        unsigned epoch = atomic_load(&pool->epoch);
        atomic_fetch_add(&pool->n_sleeping, 1);
        /* Read before looking: a loop published after the look changes it. */
        if (!has_work(pool))
            futex_wait(&pool->epoch, epoch);
        atomic_fetch_sub(&pool->n_sleeping, 1);
    }
}

static void wait_for_finish(struct rml_thread_pool *pool)
{
    while (!spin(pool, all_finished)) {
        atomic_store(&pool->caller_waits, 1);
        if (!all_finished(pool))
            futex_wait(&pool->caller_waits, 1);
        atomic_store(&pool->caller_waits, 0);
    }
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct rml_thread_pool *pool = worker->pool;
    for (;;) {
        wait_for_work(pool);
        if (atomic_load(&pool->stop))
            return NULL;
        run_tasks(pool, worker->index);
    }
}

static void wake_workers(struct rml_thread_pool *pool, size_t n_wanted)
{
    atomic_fetch_add(&pool->epoch, 1);
    if (atomic_load(&pool->n_sleeping) > 0)
        futex_wake(&pool->epoch, n_wanted < INT_MAX ? (int)n_wanted : INT_MAX);
}

void rmli_parallel_for(struct rml_thread_pool *pool, size_t n_tasks, rmli_task_fn *task, void *arg)
{
    if (pool->n_threads == 1 || n_tasks <= 1) {
        int64_t start_ns = pool->counts_busy ? now_ns() : 0;
        for (size_t i = 0; i < n_tasks; i++)
            task(arg, i, 0);
        if (start_ns)
            pool->busy[0].ns += now_ns() - start_ns;
        return;
    }
    pool->loop = (struct loop){n_tasks, task, arg};
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    atomic_store(&pool->unclaimed, n_tasks);
    wake_workers(pool, n_tasks - 1);
    run_tasks(pool, 0);
    wait_for_finish(pool);
}

/* Ends and joins the first n_started workers. */
static void stop_workers(struct rml_thread_pool *pool, unsigned n_started)
{
    atomic_store(&pool->stop, true);
    wake_workers(pool, INT_MAX);
    for (unsigned i = 0; i < n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

static void free_pool(struct rml_thread_pool *pool)
{
    rmli_free(pool->workers);
    rmli_free(pool->busy);
    rmli_free(pool);
}

/* Starts all workers, or none: then false with errno's text in *err. Signals
 * stay with the program's own threads. */
static bool start_workers(struct rml_thread_pool *pool, struct rml_error *err)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = 0;
    unsigned i;
    for (i = 0; i + 1 < pool->n_threads && !error; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){.pool = pool, .index = i + 1};
        error = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (!error)
            pthread_setname_np(worker->thread, "rml-worker");
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!error)
        return true;
    stop_workers(pool, i - 1);
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "cannot start thread %u of %u: %s", i + 1,
                     pool->n_threads, strerror(error));
}

/* *n becomes RML_THREADS, or the default when that is unset or empty. */
static bool env_thread_count(unsigned *n, struct rml_error *err)
{
    const char *text = getenv("RML_THREADS");
    if (!text || !*text) {
        *n = rml_default_thread_count();
        return true;
    }
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    bool digits = *text >= '0' && *text <= '9' && !*end; /* strtoul takes blanks and signs */
    if (!digits || errno || value < 1 || value > RML_MAX_THREADS)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "RML_THREADS is '%s', expected a whole number from 1 to %d", text,
                         RML_MAX_THREADS);
    *n = (unsigned)value;
    return true;
}

struct rml_thread_pool *rml_thread_pool_create(unsigned n_threads, struct rml_error *err)
{
    if (n_threads == 0 && !env_thread_count(&n_threads, err))
        return NULL;
    if (n_threads > RML_MAX_THREADS) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "%u threads, expected at most %d", n_threads,
                  RML_MAX_THREADS);
        return NULL;
    }
    struct rml_thread_pool *pool = rmli_alloc_zeroed(1, sizeof *pool, err);
    if (!pool)
        return NULL;
    pool->n_threads = n_threads;
    pool->spin_ns = n_threads > rmli_concurrent_thread_count("") ? SPIN_OVERSUBSCRIBED_NS : SPIN_NS;
    atomic_init(&pool->unclaimed, 0);
    atomic_init(&pool->finished, 0);
    atomic_init(&pool->caller_waits, 0);
    atomic_init(&pool->epoch, 0);
    atomic_init(&pool->n_sleeping, 0);
    atomic_init(&pool->stop, false);
    pool->workers = rmli_alloc(n_threads - 1, sizeof *pool->workers, err);
    pool->busy = rmli_alloc_zeroed(n_threads, sizeof *pool->busy, err);
    if (!pool->workers || !pool->busy || !start_workers(pool, err)) {
        free_pool(pool);
        return NULL;
    }
    return pool;
}

void rml_thread_pool_destroy(struct rml_thread_pool *pool)
{
    if (!pool)
        return;
    stop_workers(pool, pool->n_threads - 1);
    free_pool(pool);
}

void rmli_thread_pool_count_busy(struct rml_thread_pool *pool, bool on)
{
    for (unsigned i = 0; i < pool->n_threads; i++)
        pool->busy[i].ns = 0;
    pool->counts_busy = on;
}

int64_t rmli_thread_pool_busy_ns(const struct rml_thread_pool *pool)
{
    int64_t ns = 0;
    for (unsigned i = 0; i < pool->n_threads; i++)
        ns += pool->busy[i].ns;
    return ns;
}

unsigned rml_thread_pool_size(const struct rml_thread_pool *pool)
{
    return pool->n_threads;
}
