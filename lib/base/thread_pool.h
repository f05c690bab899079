/*
 * A persistent pool of worker threads that run one parallel loop at a time.
 *
 * Tasks are claimed one by one with an atomic counter, never split statically:
 * on a shared machine a preempted core would otherwise hold up all the others.
 * Idle workers spin for some tens of microseconds (a decode step has a
 * parallel loop every few microseconds; waking a sleeper costs 7-22 us) and
 * then sleep on a futex.
 *
 * The calling thread is worker 0 and takes part. A pool of one thread starts
 * no threads at all.
 */
#ifndef RML_BASE_THREAD_POOL_H
#define RML_BASE_THREAD_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rml_thread_pool;

/* Number of physical cores that this process may use: CPU affinity and cgroup
 * quota (v1 and v2) respected, sibling hyper-threads counted once; at least 1. */
unsigned rml_default_thread_count(void);

/* n_threads workers including the caller; 0 means RML_THREADS from the
 * environment, or rml_default_thread_count() when that is unset or empty. At
 * most RML_MAX_THREADS; more, or an RML_THREADS that is no number from 1 to
 * that, is RML_INVALID_ARGUMENT. NULL on failure. */
#define RML_MAX_THREADS 256
struct rml_thread_pool *rml_thread_pool_create(unsigned n_threads, struct rml_error *err);
void rml_thread_pool_destroy(struct rml_thread_pool *pool); /* NULL is allowed */
unsigned rml_thread_pool_size(const struct rml_thread_pool *pool);

/* Runs task(arg, i, worker) for every i in [0, n_tasks), worker in
 * [0, pool size), and returns when all are done. `worker` is the same for all
 * tasks that one thread runs, so it can select scratch memory. Never
 * allocates. Not reentrant: one loop at a time, from one thread at a time. */
typedef void rmli_task_fn(void *arg, size_t i, unsigned worker);
void rmli_parallel_for(struct rml_thread_pool *pool, size_t n_tasks, rmli_task_fn *task, void *arg);

/* Switches on (then from 0) or off that each thread counts its time in tasks; off at first, and
 * then it costs a test of a pointer for each share of a loop. Not while a loop is running. */
void rmli_thread_pool_count_busy(struct rml_thread_pool *pool, bool on);
/* Time in tasks of all threads together, of loops that have ended; 0 when it is not counted. */
int64_t rmli_thread_pool_busy_ns(const struct rml_thread_pool *pool);

#endif
