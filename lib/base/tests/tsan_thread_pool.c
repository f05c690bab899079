/* A plain program for ThreadSanitizer: unsynchronised data handed from loop to
 * loop through pools of several sizes, with and without sleeps. Exit 0: right. */
#include "base/thread_pool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N_TASKS = 37, N_LOOPS = 400 };

struct state {
    size_t values[N_TASKS]; /* each written by whoever runs the task */
    size_t by_worker[RML_MAX_THREADS];
};

static void advance(void *arg, size_t i, unsigned worker)
{
    struct state *state = arg;
    state->values[i] += i + 1;
    state->by_worker[worker]++;
}

static int check(unsigned n_threads, unsigned pause_us)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(n_threads, NULL);
    if (!pool)
        return 1;
    static struct state state;
    memset(&state, 0, sizeof state);
    for (int loop = 0; loop < N_LOOPS; loop++) {
        rmli_parallel_for(pool, N_TASKS, advance, &state);
        if (pause_us && loop % 20 == 0)
            usleep(pause_us);
    }
    rml_thread_pool_destroy(pool);
    size_t n_runs = 0;
    for (unsigned w = 0; w < n_threads; w++)
        n_runs += state.by_worker[w];
    int n_wrong = n_runs != (size_t)N_TASKS * N_LOOPS;
    for (size_t i = 0; i < N_TASKS; i++)
        n_wrong += state.values[i] != (i + 1) * N_LOOPS;
    if (n_wrong)
        fprintf(stderr, "%u threads: %d values are wrong\n", n_threads, n_wrong);
    return n_wrong;
}

int main(void)
{
    int n_wrong = 0;
    static const unsigned sizes[] = {1, 2, 4, 9};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        n_wrong += check(sizes[s], 0) + check(sizes[s], 200);
    return n_wrong != 0;
}
