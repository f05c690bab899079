/*
 * The statistics of a comparison against scipy.stats.binom (ranks), hand calculation
 * (verdicts) and simulated noise (how often it cries wolf, how often it misses one).
 */
#include "bench/judge.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tools/cli/order_statistics.h"

#define N_MAX JUDGE_MAX_BLOCKS

Test(judge, a_block_is_one_log_ratio)
{
    /* ABBA with b = 2a; the first and the last run drift by 4 and by 1/4 */
    const int64_t abba[] = {4000, 2000, 2000, 250}, baab[] = {2000, 1000, 1000, 2000};
    cr_expect(fabs(judge_log_ratio(abba, true) - log(2)) < 1e-12);
    cr_expect(fabs(judge_log_ratio(abba, false) + log(2)) < 1e-12);
    cr_expect(fabs(judge_log_ratio(baab, false) - log(2)) < 1e-12);
    /* what grows steadily (geometrically, by 3 a run) is the same for both */
    const int64_t drift[] = {1000, 3000, 9000, 27000};
    cr_expect(fabs(judge_log_ratio(drift, true)) < 1e-12);
}

Test(judge, both_orders_come_up)
{
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 1);
    int n = 0;
    for (int i = 0; i < 1000; i++)
        n += judge_base_first(&rng);
    cr_expect(n > 420 && n < 580, "%d", n); /* 5 deviations of 15.8 */
}

/* i - n/2 for i in [0, n), in thousandths: the value tells its rank. */
static void ramp(double *x, size_t n, double center, double step)
{
    for (size_t i = 0; i < n; i++)
        x[(i * 7) % n] = center + ((double)i - (double)(n / 2)) * step; /* 7 divides no n here */
}

struct rank_case {
    size_t n, n_cases;
    size_t lo_rank, hi_rank; /* from 1 */
    size_t power_rank;
};

/*
 * c = 1 - 0.01 / n_cases; lo: the largest l with 2 binom.cdf(l - 1, n, 1/2) <= 1 - c;
 * power: the largest r with binom.cdf(l - 1, n, r / n) >= 0.9. scipy 1.17.1.
 */
static const struct rank_case rank_cases[] = {
    {61, 1, 21, 41, 16},   {61, 10, 18, 44, 13},   {81, 1, 29, 53, 23},   {101, 1, 38, 64, 31},
    {201, 1, 82, 120, 72}, {201, 10, 77, 125, 67}, {61, 100, 16, 46, 11}, {61, 1000, 14, 48, 9},
};

Test(judge, ranks_of_interval_and_of_what_can_be_detected)
{
    for (size_t i = 0; i < sizeof rank_cases / sizeof rank_cases[0]; i++) {
        const struct rank_case *c = &rank_cases[i];
        double x[N_MAX];
        ramp(x, c->n, 0, 1e-3);
        struct judgement j = judge(x, c->n, judge_confidence(c->n_cases), JUDGE_GATE);
        double middle = (double)(c->n / 2 + 1);
        double lo = expm1(((double)c->lo_rank - middle) * 1e-3);
        double hi = expm1(((double)c->hi_rank - middle) * 1e-3);
        double least = expm1((middle - (double)c->power_rank) * 1e-3);
        cr_expect(fabs(j.lo - lo) < 1e-9 && fabs(j.hi - hi) < 1e-9,
                  "n %zu, %zu cases: [%.6f, %.6f], expected [%.6f, %.6f]", c->n, c->n_cases, j.lo,
                  j.hi, lo, hi);
        cr_expect(fabs(j.detectable - least) < 1e-9, "n %zu, %zu cases: detectable %.6f, not %.6f",
                  c->n, c->n_cases, j.detectable, least);
    }
}

/* Of a ramp of 61 the interval is 20 steps wide: +- 10 around the center. */
static enum verdict verdict_of(double center, double half_width, double gate)
{
    double x[JUDGE_FIRST_BLOCKS];
    ramp(x, JUDGE_FIRST_BLOCKS, log1p(center), half_width / 10);
    return judge(x, JUDGE_FIRST_BLOCKS, judge_confidence(1), gate).verdict;
}

Test(judge, verdicts)
{
    cr_expect(verdict_of(0, 0.01, 0.05) == VERDICT_PASS);
    cr_expect(verdict_of(-0.3, 0.01, 0.05) == VERDICT_PASS);
    cr_expect(verdict_of(0.0199, 0.01, 0.05) == VERDICT_PASS); /* seen, too small to tell */
    cr_expect(verdict_of(0.0201, 0.01, 0.05) == VERDICT_WARN); /* lo > 0 */
    cr_expect(verdict_of(0.018, 0.019, 0.05) == VERDICT_PASS); /* lo < 0 */
    cr_expect(verdict_of(0.0499, 0.01, 0.05) == VERDICT_WARN);
    cr_expect(verdict_of(0.0501, 0.01, 0.05) == VERDICT_REGRESSION);
    cr_expect(verdict_of(0.0501, 0.045, 0.05) == VERDICT_REGRESSION); /* wide, but lo > 0 */
    cr_expect(verdict_of(0.0501, 0.055, 0.05) == VERDICT_INCONCLUSIVE);
    cr_expect(verdict_of(0, 0.06, 0.05) == VERDICT_INCONCLUSIVE);     /* hi reaches the gate */
    cr_expect(verdict_of(0, 0.045, 0.05) == VERDICT_PASS);            /* wide, but hi stays below */
    cr_expect(verdict_of(0.03, 0.025, 0.05) == VERDICT_INCONCLUSIVE); /* would be a warning */
    cr_expect(verdict_of(0.0501, 0.01, 0.1) == VERDICT_WARN);
    cr_expect(verdict_of(0.101, 0.01, 0.1) == VERDICT_REGRESSION);
}

Test(judge, too_few_blocks_are_inconclusive)
{
    double x[] = {0.001, -0.001, 0.002, 0, 0};
    struct judgement j = judge(x, 5, judge_confidence(1), JUDGE_GATE);
    cr_expect(j.verdict == VERDICT_INCONCLUSIVE && isnan(j.lo) && isnan(j.detectable));
    cr_expect(j.slowdown == 0);
    j = judge(x, 0, judge_confidence(1), JUDGE_GATE);
    cr_expect(j.verdict == VERDICT_INCONCLUSIVE && isnan(j.slowdown));
    cr_expect(judge_blocks_missing(&j) == 61);
}

Test(judge, only_the_width_makes_it_go_on)
{
    double x[N_MAX];
    const struct {
        size_t n;
        double center, half_width;
        size_t missing;
    } cases[] = {
        {61, 0, 0.019, 0},      {61, 0, 0.021, 20}, {61, 0.5, 0.012, 0}, {61, 0.5, 0.014, 20},
        {61, 0.019, 0.0195, 0}, {181, 0, 0.1, 20},  {201, 0, 0.1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = cases[i].n;
        /* ranks 21 .. 41 of 61, 72 .. 110 of 181, 82 .. 120 of 201 */
        double half_ranks = n == 61 ? 10 : 19;
        ramp(x, n, log1p(cases[i].center), cases[i].half_width / half_ranks);
        struct judgement j = judge(x, n, judge_confidence(1), JUDGE_GATE);
        cr_expect(judge_blocks_missing(&j) == cases[i].missing, "case %zu: width %.4f", i,
                  j.hi - j.lo);
    }
}

Test(judge, a_canary_fails_either_way_round)
{
    double x[JUDGE_FIRST_BLOCKS];
    const struct {
        double center, half_width;
        bool fails;
    } cases[] = {{0, 0.01, false},    {0.051, 0.01, true},  {-0.051, 0.01, true},
                 {0.04, 0.01, false}, {-0.04, 0.01, false}, {0.06, 0.1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ramp(x, JUDGE_FIRST_BLOCKS, cases[i].center, cases[i].half_width / 10);
        struct judgement j = judge(x, JUDGE_FIRST_BLOCKS, judge_confidence(1), JUDGE_GATE);
        cr_expect(judge_canary_fails(&j, JUDGE_GATE) == cases[i].fails, "case %zu", i);
    }
}

Test(judge, order_of_exit_codes)
{
    static const struct {
        struct judge_job job;
        int code;
    } cases[] = {
        {{false, false, false, 0, 0}, 0}, {{true, true, true, 1, 1}, 1},
        {{false, true, true, 1, 1}, 6},   {{false, false, true, 1, 1}, 5},
        {{false, false, true, 0, 0}, 5},  {{false, false, false, 1, 1}, 3},
        {{false, false, false, 0, 1}, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect(judge_exit_code(&cases[i].job) == cases[i].code, "case %zu", i);
}

/* ---- Simulated machines ------------------------------------------------------------------ */

/* Noise of the kind that a shared machine has, symmetric as A/A noise is: mostly a few
 * per cent (a logistic variable of scale `scale`), one block in ten struck by a neighbour. */
static double noise(struct rmli_rng *rng, double scale)
{
    double u = rmli_rng_uniform(rng) * (1 - 0x1p-40) + 0x1p-42;
    double x = scale * log(u / (1 - u));
    return rmli_rng_below(rng, 10) == 0 ? 20 * x : x;
}

/* A whole comparison of a head that is slower by exp(effect) - 1. */
static struct judgement simulate(struct rmli_rng *rng, double effect, double scale)
{
    double x[N_MAX];
    struct judgement j = {0};
    for (size_t more; (more = judge_blocks_missing(&j)) > 0;) {
        for (size_t i = 0; i < more; i++)
            x[j.n + i] = effect + noise(rng, scale);
        j = judge(x, j.n + more, judge_confidence(1), JUDGE_GATE);
    }
    return j;
}

/* Tails of Bin(2000, p), from scipy: P(X > 36) = 3.9e-4 for p = 0.01. */
#define N_TRIALS 2000

Test(judge, equal_programs_are_not_told_apart_more_often_than_promised)
{
    const double scales[] = {0.005, 0.02, 0.05};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct rmli_rng rng;
        rmli_rng_seed(&rng, seed);
        int n_apart = 0, n_regressions = 0;
        for (int i = 0; i < N_TRIALS; i++) {
            struct judgement j = simulate(&rng, 0, scales[seed - 1]);
            n_apart += j.lo > 0 || j.hi < 0;
            n_regressions += j.verdict == VERDICT_REGRESSION;
        }
        /* Looking again after more blocks is nearly free, as the width that leads to it says
         * nothing of the median. */
        cr_expect(n_apart <= 36, "scale %g: %d of %d", scales[seed - 1], n_apart, N_TRIALS);
        cr_expect(n_regressions <= 3, "scale %g: %d", scales[seed - 1], n_regressions);
    }
}

Test(judge, planted_slowdowns_are_found)
{
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 4);
    int n_found = 0, n_passed = 0;
    for (int i = 0; i < 400; i++) {
        enum verdict v = simulate(&rng, log(1.08), 0.02).verdict;
        n_found += v == VERDICT_REGRESSION;
        n_passed += v == VERDICT_PASS || v == VERDICT_WARN;
    }
    cr_expect(n_found >= 390, "%d of 400", n_found);
    cr_expect(n_passed <= 4, "%d of 400", n_passed);
}

/* What a run says it could have detected, is detected with the probability it claims. */
Test(judge, detectable_effects_are_detected)
{
    const double scales[] = {0.005, 0.02};
    for (uint64_t seed = 5; seed <= 6; seed++) {
        struct rmli_rng rng;
        rmli_rng_seed(&rng, seed);
        int n_detected = 0;
        for (int i = 0; i < N_TRIALS; i++) {
            double effect = log1p(simulate(&rng, 0, scales[seed - 5]).detectable);
            n_detected += simulate(&rng, effect, scales[seed - 5]).lo > 0;
        }
        double power = (double)n_detected / N_TRIALS;
        cr_expect(power > JUDGE_POWER - 0.05 && power < 1, "scale %g: %.3f", scales[seed - 5],
                  power);
    }
}
