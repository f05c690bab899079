/* The thread pool: every task runs once, whatever the counts; sleeping and
 * oversubscribed pools included; thread counts and their limits. */
#include "base/thread_pool.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

struct tally {
    atomic_uint *runs; /* [n_tasks] */
    atomic_uint worker_runs[RML_MAX_THREADS];
    unsigned n_workers;
    atomic_bool bad_worker;
};

static void count_run(void *arg, size_t i, unsigned worker)
{
    struct tally *tally = arg;
    atomic_fetch_add(&tally->runs[i], 1);
    if (worker >= tally->n_workers)
        atomic_store(&tally->bad_worker, true);
    else
        atomic_fetch_add(&tally->worker_runs[worker], 1);
}

static void check_loop(struct rml_thread_pool *pool, size_t n_tasks)
{
    struct tally tally = {.n_workers = rml_thread_pool_size(pool)};
    tally.runs = rmli_alloc_zeroed(n_tasks, sizeof *tally.runs, NULL);
    rmli_parallel_for(pool, n_tasks, count_run, &tally);
    for (size_t i = 0; i < n_tasks; i++)
        cr_assert_eq(atomic_load(&tally.runs[i]), 1u, "task %zu of %zu ran %u times", i, n_tasks,
                     atomic_load(&tally.runs[i]));
    cr_assert_not(atomic_load(&tally.bad_worker));
    rmli_free(tally.runs);
}

Test(thread_pool, every_task_runs_once)
{
    static const unsigned sizes[] = {1, 2, 3, 8, 33};
    static const size_t n_tasks[] = {0, 1, 2, 3, 7, 64, 1000, 20000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct rml_thread_pool *pool = rml_thread_pool_create(sizes[s], NULL);
        cr_assert_not_null(pool);
        cr_assert_eq(rml_thread_pool_size(pool), sizes[s]);
        for (size_t n = 0; n < sizeof n_tasks / sizeof n_tasks[0]; n++)
            check_loop(pool, n_tasks[n]);
        rml_thread_pool_destroy(pool);
    }
}

Test(thread_pool, survives_sleep_between_loops)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(4, NULL);
    for (int i = 0; i < 30; i++) {
        usleep(i % 3 == 0 ? 2000 : 40); /* 40 us: about when spinning ends */
        check_loop(pool, 16);
    }
    rml_thread_pool_destroy(pool);
}

Test(thread_pool, many_short_loops_when_oversubscribed)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(16, NULL);
    for (int i = 0; i < 2000; i++)
        check_loop(pool, (size_t)(i % 20));
    rml_thread_pool_destroy(pool);
}

static void sum_squares(void *arg, size_t i, unsigned worker)
{
    (void)worker;
    ((size_t *)arg)[i] = i * i;
}

Test(thread_pool, results_are_visible_after_the_loop)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(3, NULL);
    size_t squares[500];
    for (int round = 0; round < 200; round++) {
        memset(squares, 0, sizeof squares);
        rmli_parallel_for(pool, 500, sum_squares, squares);
        for (size_t i = 0; i < 500; i++)
            cr_assert_eq(squares[i], i * i);
    }
    rml_thread_pool_destroy(pool);
}

Test(thread_pool, a_pool_that_never_worked_ends)
{
    rml_thread_pool_destroy(NULL);
    for (unsigned n = 1; n <= 8; n++)
        rml_thread_pool_destroy(rml_thread_pool_create(n, NULL));
}

Test(thread_pool, count_comes_from_the_environment)
{
    static const struct {
        const char *value;
        unsigned expected; /* 0: the default */
    } cases[] = {{"3", 3}, {"1", 1}, {"07", 7}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("RML_THREADS", cases[i].value, 1);
        struct rml_thread_pool *pool = rml_thread_pool_create(0, NULL);
        cr_assert_not_null(pool);
        unsigned expected = cases[i].expected ? cases[i].expected : rml_default_thread_count();
        cr_assert_eq(rml_thread_pool_size(pool), expected, "RML_THREADS='%s'", cases[i].value);
        rml_thread_pool_destroy(pool);
    }
    setenv("RML_THREADS", "7", 1);
    struct rml_thread_pool *pool = rml_thread_pool_create(2, NULL);
    cr_assert_eq(rml_thread_pool_size(pool), 2u, "an explicit count wins over RML_THREADS");
    rml_thread_pool_destroy(pool);
}

Test(thread_pool, environment_that_is_no_count_is_refused)
{
    static const char *const values[] = {
        "0",   "-1",  "+1",  "two", "4x",  " 5",         "5 ",
        "1e1", "0x2", "1.5", " ",   "257", "4294967297", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        char expected[80];
        setenv("RML_THREADS", values[i], 1);
        cr_expect_null(rml_thread_pool_create(0, &err), "'%s'", values[i]);
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
        snprintf(expected, sizeof expected, "RML_THREADS is '%s', expected a whole number",
                 values[i]);
        cr_expect_not_null(strstr(err.message, expected), "%s", err.message);
        struct rml_thread_pool *pool = rml_thread_pool_create(2, NULL);
        cr_expect_not_null(pool, "an explicit count does not look at it");
        rml_thread_pool_destroy(pool);
    }
}

Test(thread_pool, too_many_threads_are_refused)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_assert_null(rml_thread_pool_create(RML_MAX_THREADS + 1, &err));
    cr_assert_eq(err.code, RML_INVALID_ARGUMENT);
    cr_assert_null(strstr(err.message, "RML_THREADS"), "not what asked for them");
}
