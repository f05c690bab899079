/*
 * The measuring loop, with work whose time is known.
 */
#include "bench/measure.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "bench/row.h"
#include "bench/suite.h"

#define ITER_NS 50000 /* an iteration spins this long */

struct fake {
    int64_t n_runs, n_prepared, n_iters;
    int64_t fail_at; /* fail in this run; 0: never */
    bool prepared;
};

static bool fake_prepare(void *arg, struct rml_error *err)
{
    struct fake *fake = arg;
    (void)err;
    fake->prepared = true;
    fake->n_prepared++;
    return true;
}

static bool fake_run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct fake *fake = arg;
    cr_assert(fake->prepared);
    fake->prepared = false;
    fake->n_iters += iters;
    if (++fake->n_runs == fake->fail_at)
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1, "too far");
    for (int64_t i = 0; i < iters; i++) {
        int64_t end = rmli_clock_ns() + ITER_NS;
        while (rmli_clock_ns() < end)
            continue;
        if (times)
            times[i] = rmli_clock_ns();
    }
    return true;
}

static struct bench_work work_of(struct fake *fake, int64_t step, bool tokens)
{
    return (struct bench_work){.run = fake_run,
                               .prepare = fake_prepare,
                               .arg = fake,
                               .iters_step = step,
                               .wants_token_times = tokens};
}

Test(measure, repetitions_are_long_enough_and_all_kept)
{
    struct fake fake = {0};
    struct bench_work work = work_of(&fake, 8, false);
    struct bench_samples s;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(bench_measure(&work, 25, &s, &err), "%s", err.message);

    cr_expect(s.iters_per_rep % 8 == 0 && s.iters_per_rep * ITER_NS >= 2000000);
    cr_expect((int64_t)s.n_samples == fake.n_runs && fake.n_prepared == fake.n_runs);
    size_t n_measured = 0;
    int64_t warmup_iters = 0, n_iters = 0, end_ns = 0;
    for (size_t i = 0; i < s.n_samples; i++) {
        const struct store_sample *x = &s.samples[i];
        cr_expect(x->rep == (int)i && x->order_idx == (int)i);
        cr_expect(x->wall_ns >= x->iters * ITER_NS);
        cr_expect(x->t_mono_ns >= end_ns);
        end_ns = x->t_mono_ns + x->wall_ns;
        n_iters += x->iters;
        if (x->is_warmup) {
            cr_expect(n_measured == 0);
            warmup_iters += x->iters;
            continue;
        }
        n_measured++;
        cr_expect(x->iters == s.iters_per_rep && x->wall_ns >= 2000000);
        cr_expect(x->cpu_ns > 0 && x->nvcsw >= 0 && x->nivcsw >= 0 && x->minflt >= 0);
    }
    cr_expect(n_measured == 25 && s.n_samples > 25);
    cr_expect(warmup_iters == s.warmup_iters && n_iters == fake.n_iters);
    cr_expect(s.n_token_times == 0);
    bench_samples_release(&s);
}

Test(measure, tokens_have_times)
{
    struct fake fake = {0};
    struct bench_work work = work_of(&fake, 60, true);
    struct rml_error err = RML_ERROR_INIT;
    struct bench_plan plan = {0};
    struct bench_spec *spec = bench_plan_add(&plan, &bench_attention_suite, "name", &err);
    struct bench_row *row = bench_row_create(spec, &err);
    bench_row_set_facts(
        row,
        &(struct bench_facts){.items_per_iter = 1, .bytes_per_iter = 1000, .flops_per_iter = -1});
    struct bench_samples samples;
    cr_assert(bench_measure(&work, 21, &samples, &err), "%s", err.message);
    cr_assert(bench_row_take_samples(row, &samples, &err), "%s", err.message);
    const struct bench_samples *s = &row->samples;
    cr_assert((int64_t)s->n_token_times == 21 * s->iters_per_rep);
    for (size_t i = 0; i < s->n_token_times; i++) {
        const struct store_token_time *t = &s->token_times[i];
        const struct store_sample *sample = &s->samples[t->rep];
        cr_expect(!sample->is_warmup && t->idx == (int)(i % (size_t)s->iters_per_rep));
        cr_expect(t->t_mono_ns > sample->t_mono_ns &&
                  t->t_mono_ns <= sample->t_mono_ns + sample->wall_ns);
    }
    cr_expect(row->itl_p50_ns >= ITER_NS && row->itl_p90_ns >= row->itl_p50_ns &&
              row->itl_p99_ns >= row->itl_p90_ns && row->itl_max_ns >= row->itl_p99_ns);
    cr_expect(row->stats.n == 21 && row->stats.min >= ITER_NS);
    cr_expect(row->stats.ci_lo <= row->stats.median && row->stats.median <= row->stats.ci_hi);
    double rate = bench_row_tokens_per_second(row);
    cr_expect(rate > 0 && rate <= 1e9 / ITER_NS);
    cr_expect_float_eq(bench_row_bytes_per_second(row), 1000 * rate, 1e-6 * rate);
    cr_expect(bench_row_flops_per_second(row) != bench_row_flops_per_second(row)); /* NaN */

    bench_row_fail(row, &(struct rml_error){.message = "too far"});
    cr_expect(row->result.status == STORE_ERROR && strcmp(row->result.error, "too far") == 0);
    cr_expect(row->result.n_samples == 0 && row->result.n_token_times == 0);
    cr_expect(row->result.iters_per_rep == 0 && row->samples.samples == NULL);
    bench_row_destroy(row);
    bench_plan_release(&plan);
}

Test(measure, failing_work_fails_with_its_own_reason)
{
    /* In the first run and in the 20th, which there is however slow the machine: 21 repetitions. */
    for (int64_t fail_at = 1; fail_at < 21; fail_at += 19) {
        struct fake fake = {.fail_at = fail_at};
        struct bench_work work = work_of(&fake, 60, true);
        struct bench_samples samples;
        struct rml_error err = RML_ERROR_INIT;
        cr_expect(!bench_measure(&work, 21, &samples, &err));
        cr_expect(err.code == RML_OUT_OF_RANGE && fake.n_runs == fail_at);
        cr_expect(samples.samples == NULL && samples.n_samples == 0);
    }
}

static const void *run_count(const void *arg, size_t *nbytes)
{
    const struct fake *fake = arg;
    static int64_t n;
    n = fake->n_runs < 7 ? 1 : 2;
    *nbytes = sizeof n;
    return &n;
}

Test(measure, output_that_changes_is_an_error)
{
    struct fake fake = {0};
    struct bench_work work = work_of(&fake, 60, false);
    work.output = run_count;
    struct bench_samples samples;
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(!bench_measure(&work, 21, &samples, &err));
    cr_expect(err.code == RML_INTERNAL && fake.n_runs == 7, "%s after %d", err.message,
              (int)fake.n_runs);
    cr_expect(strstr(err.message, "output of repetition 7 differs"), "%s", err.message);
}
