#include "bench/judge.h"

#include <math.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/order_statistics.h"

bool judge_base_first(struct rmli_rng *rng)
{
    return rmli_rng_below(rng, 2) == 0;
}

double judge_log_ratio(const int64_t *ns, bool base_first)
{
    double outer = log((double)ns[0]) + log((double)ns[3]);
    double inner = log((double)ns[1]) + log((double)ns[2]);
    return (base_first ? inner - outer : outer - inner) / 2;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {[VERDICT_PASS] = "pass",
                                        [VERDICT_WARN] = "warn",
                                        [VERDICT_INCONCLUSIVE] = "inconclusive",
                                        [VERDICT_REGRESSION] = "regression"};
    return names[verdict];
}

double judge_confidence(size_t n_cases)
{
    return 1 - JUDGE_ALPHA / (double)n_cases;
}

/* P(Bin(n, p) < l), 0 < p < 1 */
static double binomial_below(size_t n, double p, size_t l)
{
    int sign;
    double sum = 0;
    for (size_t k = 0; k < l; k++)
        sum += exp(lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
                   lgamma_r((double)(n - k) + 1, &sign) + (double)k * log(p) +
                   (double)(n - k) * log1p(-p));
    return sum;
}

/*
 * A true slowdown of d moves every log ratio, and with them the interval's lower bound,
 * by d. That bound is the l-th smallest of n, and it lies above the noise's p-quantile
 * unless l or more of the n fall below that one: with probability P(Bin(n, p) < l). So for
 * the p that makes this JUDGE_POWER, a d that lifts the p-quantile to zero is detected
 * with that probability. The quantile is estimated by its rank among the log ratios,
 * rounded down: to the safe side.
 */
static double detectable(const double *sorted, size_t n, size_t l)
{
    size_t rank = 0, too_high = l; /* the probability falls as the rank rises */
    while (rank + 1 < too_high) {
        size_t middle = rank + (too_high - rank) / 2;
        if (binomial_below(n, (double)middle / (double)n, l) >= JUDGE_POWER)
            rank = middle;
        else
            too_high = middle;
    }
    return rank > 0 ? expm1(median_of_sorted(sorted, n) - sorted[rank - 1]) : NAN;
}

struct judgement judge(double *log_ratios, size_t n, double confidence, double gate)
{
    struct judgement j = {n, NAN, NAN, NAN, confidence, NAN, VERDICT_PASS};
    size_t l = median_interval_rank(n, confidence);
    sort_ascending(log_ratios, n);
    j.slowdown = expm1(median_of_sorted(log_ratios, n));
    if (l > 0) {
        j.lo = expm1(log_ratios[l - 1]);
        j.hi = expm1(log_ratios[n - l]);
        j.detectable = detectable(log_ratios, n, l);
    }
    bool narrow = j.hi - j.lo <= JUDGE_MAX_WIDTH; /* false for NaN */
    if (j.lo > 0 && j.slowdown >= gate)
        j.verdict = VERDICT_REGRESSION;
    else if (!narrow && !(j.hi < gate))
        j.verdict = VERDICT_INCONCLUSIVE;
    else if (j.lo > 0 && j.slowdown >= JUDGE_WARN)
        j.verdict = VERDICT_WARN;
    return j;
}

size_t judge_blocks_missing(const struct judgement *j)
{
    if (j->n < JUDGE_FIRST_BLOCKS)
        return JUDGE_FIRST_BLOCKS - j->n;
    if (j->n >= JUDGE_MAX_BLOCKS || j->hi - j->lo <= JUDGE_MAX_WIDTH)
        return 0;
    size_t left = JUDGE_MAX_BLOCKS - j->n;
    return left < JUDGE_MORE_BLOCKS ? left : JUDGE_MORE_BLOCKS;
}

bool judge_canary_fails(const struct judgement *canary, double gate)
{
    /* Turned round, a slowdown of s is one of 1 / (1 + s) - 1, and the bounds swap. */
    double turned = 1 / (1 + canary->slowdown) - 1;
    return (canary->lo > 0 && canary->slowdown >= gate) || (canary->hi < 0 && turned >= gate);
}

int judge_exit_code(const struct judge_job *job)
{
    if (job->error)
        return CLI_ERROR;
    if (job->incomparable)
        return CLI_NO_BASELINE;
    if (job->canary_fails)
        return CLI_INCONCLUSIVE;
    if (job->n_regressions > 0)
        return CLI_REGRESSION;
    return job->n_inconclusive > 0 ? CLI_INCONCLUSIVE : CLI_PASS;
}
