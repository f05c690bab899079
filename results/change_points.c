/*
 * The sums over all pairs that the statistic needs for every split come from one pass: when a
 * value moves from the right part to the left, what changes is its distance to all values on
 * either side. Sums of distances to a prefix are kept by rank in a Fenwick tree, so that a
 * series takes n log n, shuffled or not.
 */
#include "results/change_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
    size_t n;
    double *values;   /* [n] in the order of the series */
    size_t *ranks;    /* [n] 1 + place of values[i] among all, ties in any order */
    double *to_all;   /* [n] by rank - 1: sum of distances to every value */
    double *sums;     /* [n + 1] Fenwick tree by rank: sum of the values so far */
    double *counts;   /* [n + 1] and their number */
    double all_pairs; /* sum of distances over all pairs */
};

static void search_release(struct search *s)
{
    free(s->values);
    free(s->ranks);
    free(s->to_all);
    free(s->sums);
    free(s->counts);
}

struct ranked {
    double value;
    size_t place;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

static bool search_init(struct search *s, const double *x, size_t n)
{
    struct ranked *order = malloc(n * sizeof *order);
    *s = (struct search){.n = n,
                         .values = malloc(n * sizeof(double)),
                         .ranks = malloc(n * sizeof(size_t)),
                         .to_all = malloc(n * sizeof(double)),
                         .sums = malloc((n + 1) * sizeof(double)),
                         .counts = malloc((n + 1) * sizeof(double))};
    if (!order || !s->values || !s->ranks || !s->to_all || !s->sums || !s->counts) {
        free(order);
        search_release(s);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){s->values[i] = x[i], i};
    qsort(order, n, sizeof *order, by_value);
    double total = 0, below = 0;
    for (size_t r = 0; r < n; r++)
        total += order[r].value;
    for (size_t r = 0; r < n; r++) {
        double v = order[r].value, m = (double)r, rest = (double)(n - r);
        s->ranks[order[r].place] = r + 1;
        /* below: the r smaller ones; total - below: this and the larger ones */
        s->to_all[r] = (v * m - below) + (total - below - v * rest);
        s->all_pairs += s->to_all[r] / 2;
        below += v;
    }
    free(order);
    return true;
}

/* The greatest statistic over all splits of the series in its present order. */
static double best_split(struct search *s, size_t *at)
{
    double left = 0, right = s->all_pairs, cross = 0, best = 0, sum = 0;
    memset(s->sums, 0, (s->n + 1) * sizeof *s->sums);
    memset(s->counts, 0, (s->n + 1) * sizeof *s->counts);
    *at = 0;
    for (size_t i = 0; i + 1 < s->n; i++) {
        double v = s->values[i], sum_below = 0, n_below = 0;
        for (size_t r = s->ranks[i]; r > 0; r &= r - 1) {
            sum_below += s->sums[r];
            n_below += s->counts[r];
        }
        double to_left = (v * n_below - sum_below) + (sum - sum_below) - v * ((double)i - n_below);
        double to_right = s->to_all[s->ranks[i] - 1] - to_left;
        left += to_left;
        right -= to_right;
        cross += to_right - to_left;
        for (size_t r = s->ranks[i]; r <= s->n; r += r & -r) {
            s->sums[r] += v;
            s->counts[r] += 1;
        }
        sum += v;

        double m = (double)(i + 1), k = (double)(s->n - i - 1);
        if (i + 1 < CHANGE_MIN_SEGMENT || s->n - i - 1 < CHANGE_MIN_SEGMENT)
            continue;
        double distance =
            2 / (m * k) * cross - 2 / (m * (m - 1)) * left - 2 / (k * (k - 1)) * right;
        double statistic = m * k / (m + k) * distance;
        if (statistic > best) {
            best = statistic;
            *at = i + 1;
        }
    }
    return best;
}

double change_statistic(const double *x, size_t n, size_t *at)
{
    struct search s;
    *at = 0;
    if (n < 2 * CHANGE_MIN_SEGMENT)
        return 0;
    if (!search_init(&s, x, n))
        return NAN;
    double best = best_split(&s, at);
    search_release(&s);
    return best;
}

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(struct search *s, uint64_t *state)
{
    for (size_t n = s->n; n > 1; n--) {
        size_t j = (size_t)(next_random(state) % n);
        double value = s->values[n - 1];
        size_t rank = s->ranks[n - 1];
        s->values[n - 1] = s->values[j];
        s->ranks[n - 1] = s->ranks[j];
        s->values[j] = value;
        s->ranks[j] = rank;
    }
}

/* Of the permutation test; 1 as soon as it cannot be at most CHANGE_ALPHA any more. */
static double p_value(struct search *s, double statistic, uint64_t *state)
{
    const double allowed = CHANGE_ALPHA * (CHANGE_PERMUTATIONS + 1) - 1;
    size_t at;
    int n_larger = 0;
    for (int i = 0; i < CHANGE_PERMUTATIONS; i++) {
        shuffle(s, state);
        /* Rounding must not make an equal one smaller. */
        n_larger += best_split(s, &at) >= statistic * (1 - 1e-12);
        if (n_larger > allowed)
            return 1;
    }
    return (1.0 + n_larger) / (CHANGE_PERMUTATIONS + 1);
}

static bool find_between(const double *x, size_t from, size_t to, uint64_t *state,
                         struct change_point *found, size_t *n_found)
{
    struct search s;
    size_t n = to - from, at;
    if (n < 2 * CHANGE_MIN_SEGMENT)
        return true;
    if (!search_init(&s, x + from, n))
        return false;
    double statistic = best_split(&s, &at);
    double p = statistic > 0 ? p_value(&s, statistic, state) : 1;
    search_release(&s);
    if (p > CHANGE_ALPHA)
        return true;
    if (!find_between(x, from, from + at, state, found, n_found))
        return false;
    found[(*n_found)++] = (struct change_point){from + at, p};
    return find_between(x, from + at, to, state, found, n_found);
}

bool change_points_find(const double *x, size_t n, uint64_t seed, struct change_point *found,
                        size_t *n_found)
{
    uint64_t state = seed;
    *n_found = 0;
    return find_between(x, 0, n, &state, found, n_found);
}
