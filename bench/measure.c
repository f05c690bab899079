#include "bench/measure.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench/process_usage.h"
#include "tools/cli/order_statistics.h"
#include "tools/cli/options.h"

#define REP_NS 2000000 /* least length of a repetition */

/* Warm-up: steady when the medians of two windows in a row are within 2 %. A window is
 * about 20 ms, but at most 5 repetitions; it ends unsteady after a second. */
#define WINDOW_NS 20000000
#define WINDOW_REPS 5
#define STEADY 0.02
#define WARMUP_NS 1000000000
#define WARMUP_REPS 512

struct measuring {
    const struct bench_work *work;
    struct bench_samples *out;
    int64_t *times;   /* of one repetition; NULL when nobody wants them */
    int proc_stat_fd; /* -1: cannot be read */
    uint64_t output;  /* hash after the first repetition */
};

static int64_t process_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Output --------------------------------------------------------------------------------- */

/* Four independent lanes of multiply and rotate: some bytes a cycle, so that logits of a large
 * vocabulary are hashed in some 50 us between two repetitions. */
uint64_t bench_work_output_hash(const struct bench_work *work)
{
    if (!work->output)
        return 0;
    size_t nbytes;
    const uint8_t *data = work->output(work->arg, &nbytes);
    uint64_t lanes[4] = {nbytes, 1, 2, 3};
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t word = 0, *lane = &lanes[i / 8 % 4];
        memcpy(&word, data + i, nbytes - i < 8 ? nbytes - i : 8);
        *lane = rmli_rotate_left((*lane ^ word) * 0x9e3779b97f4a7c15, 29);
    }
    uint64_t hash = 0;
    for (int l = 0; l < 4; l++)
        hash = (hash ^ rmli_splitmix64(&lanes[l])) * 0x9e3779b97f4a7c15;
    return hash ? hash : 1;
}

static bool same_output(struct measuring *m, struct rml_error *err)
{
    uint64_t hash = bench_work_output_hash(m->work);
    if (m->output == 0)
        m->output = hash;
    return hash == m->output ||
           rmli_fail(err, RML_INTERNAL, NULL, -1,
                     "the output of repetition %zu differs from that of the first",
                     m->out->n_samples);
}

/* ---- Repetitions ---------------------------------------------------------------------------- */

/* One repetition, appended to the samples. */
static bool repeat(struct measuring *m, int64_t iters, bool is_warmup, struct rml_error *err)
{
    const struct bench_work *work = m->work;
    if (cli_interrupted())
        return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    if (work->prepare && !work->prepare(work->arg, err))
        return false;

    struct rusage before, after;
    int64_t steal = bench_steal_ticks(m->proc_stat_fd);
    getrusage(RUSAGE_SELF, &before);
    int64_t cpu_ns = process_cpu_ns();
    int64_t start_ns = rmli_clock_ns();
    bool ok = work->run(work->arg, iters, is_warmup ? NULL : m->times, err);
    int64_t wall_ns = rmli_clock_ns() - start_ns;
    cpu_ns = process_cpu_ns() - cpu_ns;
    getrusage(RUSAGE_SELF, &after);
    if (!ok)
        return false;

    int64_t steal_after = bench_steal_ticks(m->proc_stat_fd);
    int rep = (int)m->out->n_samples;
    m->out->samples[m->out->n_samples++] = (struct store_sample){
        .rep = rep,
        .order_idx = rep,
        .is_warmup = is_warmup,
        .t_mono_ns = start_ns,
        .iters = iters,
        .wall_ns = wall_ns,
        .cpu_ns = cpu_ns,
        .steal_ticks = steal < 0 || steal_after < 0 ? -1 : steal_after - steal,
        .nvcsw = after.ru_nvcsw - before.ru_nvcsw,
        .nivcsw = after.ru_nivcsw - before.ru_nivcsw,
        .minflt = after.ru_minflt - before.ru_minflt,
        .majflt = after.ru_majflt - before.ru_majflt,
    };
    for (int64_t i = 0; i < iters && m->times && !is_warmup; i++)
        m->out->token_times[m->out->n_token_times++] =
            (struct store_token_time){.rep = rep, .idx = (int)i, .t_mono_ns = m->times[i]};
    return same_output(m, err);
}

static int64_t last_wall_ns(const struct measuring *m)
{
    return m->out->samples[m->out->n_samples - 1].wall_ns;
}

/* Iterations that take REP_NS and a quarter more, in whole steps. */
static int64_t larger(const struct measuring *m, int64_t iters)
{
    int64_t step = m->work->iters_step;
    double factor = 1.25 * REP_NS / (double)(last_wall_ns(m) + 1);
    double wanted = (double)iters * fmin(fmax(factor, 1.25), 16);
    return ((int64_t)ceil(wanted / (double)step)) * step;
}

/* Warms up and settles how many iterations a repetition has. */
static bool warm_up(struct measuring *m, struct rml_error *err)
{
    struct bench_samples *out = m->out;
    int64_t started_ns = rmli_clock_ns();
    int64_t iters = m->work->iters_step;
    double window[WINDOW_REPS], previous = 0;
    size_t n = 0, n_windows = 0;

    while (!out->steady) {
        if (!repeat(m, iters, true, err))
            return false;
        out->warmup_iters += iters;
        if (last_wall_ns(m) < REP_NS && !m->work->fixed_iters) {
            iters = larger(m, iters);
            n = n_windows = 0;
        } else {
            window[n++] = (double)last_wall_ns(m);
            if (n == WINDOW_REPS || (double)n * (double)last_wall_ns(m) >= WINDOW_NS) {
                sort_ascending(window, n);
                double median = median_of_sorted(window, n);
                out->steady = n_windows > 0 && fabs(median - previous) <= STEADY * previous;
                previous = median;
                n = 0;
                n_windows++;
            }
        }
        if (out->n_samples >= WARMUP_REPS ||
            (rmli_clock_ns() - started_ns > WARMUP_NS && n_windows >= 3))
            break;
    }
    out->iters_per_rep = iters;
    return true;
}

static bool allocate(struct measuring *m, int n_reps, struct rml_error *err)
{
    m->out->samples = calloc(WARMUP_REPS + (size_t)n_reps, sizeof *m->out->samples);
    return m->out->samples || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for samples");
}

/* Only now is the number of iterations known. */
static bool allocate_times(struct measuring *m, int n_reps, struct rml_error *err)
{
    if (!m->work->wants_token_times || n_reps == 0)
        return true;
    size_t n = (size_t)m->out->iters_per_rep;
    m->times = calloc(n, sizeof *m->times);
    m->out->token_times = calloc(n * (size_t)n_reps, sizeof *m->out->token_times);
    return (m->times && m->out->token_times) ||
           rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for token times");
}

bool bench_measure(const struct bench_work *work, int n_reps, struct bench_samples *samples,
                   struct rml_error *err)
{
    *samples = (struct bench_samples){0};
    struct measuring m = {.work = work, .out = samples};
    m.proc_stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    bool ok = allocate(&m, n_reps, err) && warm_up(&m, err) && allocate_times(&m, n_reps, err);
    for (int i = 0; ok && i < n_reps; i++)
        ok = repeat(&m, samples->iters_per_rep, false, err);
    free(m.times);
    if (m.proc_stat_fd >= 0)
        close(m.proc_stat_fd);
    if (!ok)
        bench_samples_release(samples);
    return ok;
}

bool bench_measure_block(const struct bench_work *work, int64_t iters, int64_t *wall_ns,
                         int64_t *cpu_ns, struct rml_error *err)
{
    if (work->prepare && !work->prepare(work->arg, err))
        return false;
    int64_t start_cpu_ns = process_cpu_ns(), start_ns = rmli_clock_ns();
    bool ok = work->run(work->arg, iters, NULL, err);
    *wall_ns = rmli_clock_ns() - start_ns;
    *cpu_ns = process_cpu_ns() - start_cpu_ns;
    return ok;
}

void bench_samples_release(struct bench_samples *samples)
{
    free(samples->samples);
    free(samples->token_times);
    *samples = (struct bench_samples){0};
}
