/*
 * The sampler's steps. Only what has to be ranked is ranked, by heaps: top-k keeps one of k tokens
 * while it passes over the vocabulary, top-p alone takes the best off one of all until their share
 * suffices. (qsort would not do: glibc's allocates.)
 */
#include "generate/sampler.h"

#include <math.h>

#include "base/memory.h"
#include "base/rng.h"

struct rml_sampler {
    struct rml_sampler_params params;
    size_t n_vocab;
    struct rmli_rng rng;
    float *logits;      /* [n_vocab] after the penalty */
    int32_t *ids;       /* [n_vocab] a heap; after the steps what stays, ascending */
    int32_t *taken;     /* [n_vocab] the best tokens, best first */
    double *weights;    /* [n_vocab] by token id, relative to the best's; set as far as needed */
    uint8_t *is_marked; /* [n_vocab] by token id; all 0 between uses */
};

/* ---- Making one -------------------------------------------------------------------- */

static bool check(const struct rml_sampler_params *p, struct rml_error *err)
{
    /* Written so that NaN fails. */
    if (!(p->temperature >= 0 && isfinite(p->temperature)))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the temperature is %g, expected a number >= 0", p->temperature);
    if (p->top_k < 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "top-k is %lld, expected >= 0 (0: off)", (long long)p->top_k);
    if (!(p->top_p > 0 && p->top_p <= 1))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "top-p is %g, expected above 0 and at most 1 (1: off)", p->top_p);
    if (!(p->min_p >= 0 && p->min_p < 1))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "min-p is %g, expected at least 0 and below 1 (0: off)", p->min_p);
    if (!(p->repetition_penalty > 0 && isfinite(p->repetition_penalty)))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the repetition penalty is %g, expected a number above 0 (1: off)",
                         p->repetition_penalty);
    return p->repetition_window >= 0 ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                     "the repetition window is %lld, expected >= 0 (0: the whole context)",
                     (long long)p->repetition_window);
}

struct rml_sampler *rml_sampler_create(size_t n_vocab, const struct rml_sampler_params *params,
                                       struct rml_error *err)
{
    const struct rml_sampler_params defaults = RML_SAMPLER_DEFAULTS;
    if (!params)
        params = &defaults;
    if (!check(params, err))
        return NULL;
    if (n_vocab == 0 || n_vocab > INT32_MAX) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "a vocabulary of %zu tokens, expected 1 to %d", n_vocab, INT32_MAX);
        return NULL;
    }
    struct rml_sampler *s = rmli_alloc_zeroed(1, sizeof *s, err);
    if (!s)
        return NULL;
    s->params = *params;
    s->n_vocab = n_vocab;
    rmli_rng_seed(&s->rng, params->seed);
    s->logits = rmli_alloc(n_vocab, sizeof *s->logits, err);
    s->ids = rmli_alloc(n_vocab, sizeof *s->ids, err);
    s->taken = rmli_alloc(n_vocab, sizeof *s->taken, err);
    s->weights = rmli_alloc(n_vocab, sizeof *s->weights, err);
    s->is_marked = rmli_alloc_zeroed(n_vocab, sizeof *s->is_marked, err);
    if (!s->logits || !s->ids || !s->taken || !s->weights || !s->is_marked) {
        rml_sampler_destroy(s);
        return NULL;
    }
    return s;
}

void rml_sampler_destroy(struct rml_sampler *sampler)
{
    if (!sampler)
        return;
    rmli_free(sampler->logits);
    rmli_free(sampler->ids);
    rmli_free(sampler->taken);
    rmli_free(sampler->weights);
    rmli_free(sampler->is_marked);
    rmli_free(sampler);
}

size_t rml_sampler_n_vocab(const struct rml_sampler *sampler)
{
    return sampler->n_vocab;
}

const struct rml_sampler_params *rml_sampler_params(const struct rml_sampler *sampler)
{
    return &sampler->params;
}

void rml_sampler_seed(struct rml_sampler *sampler, uint64_t seed)
{
    rmli_rng_seed(&sampler->rng, seed);
}

double rml_sampler_uniform(struct rml_sampler *sampler)
{
    return rmli_rng_uniform(&sampler->rng);
}

/* ---- Penalty and best token ----------------------------------------------------------- */

/* In f32, as the processor of the reference computes. */
static bool penalise(struct rml_sampler *s, const int32_t *context, size_t n_context,
                     struct rml_error *err)
{
    size_t window = (size_t)s->params.repetition_window;
    size_t first = window > 0 && window < n_context ? n_context - window : 0;
    const float penalty = (float)s->params.repetition_penalty;
    for (size_t i = first; i < n_context; i++)
        if (context[i] < 0 || (size_t)context[i] >= s->n_vocab)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "token %zu of the context is %d, expected 0 to %zu", i, context[i],
                             s->n_vocab - 1);
    for (size_t i = first; i < n_context; i++) {
        float *logit = &s->logits[context[i]];
        if (!s->is_marked[context[i]])
            *logit = *logit < 0 ? *logit * penalty : *logit / penalty;
        s->is_marked[context[i]] = 1;
    }
    for (size_t i = first; i < n_context; i++)
        s->is_marked[context[i]] = 0;
    return true;
}

/* Copies the logits, applies the penalty and finds the best token. */
static bool begin(struct rml_sampler *s, const float *logits, const int32_t *context,
                  size_t n_context, int32_t *best, struct rml_error *err)
{
    for (size_t i = 0; i < s->n_vocab; i++) {
        s->logits[i] = logits[i];
        if (!(logits[i] < INFINITY))
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "the logit of token %zu is %g, expected a number", i,
                             (double)logits[i]);
    }
    if (s->params.repetition_penalty != 1 && !penalise(s, context, n_context, err))
        return false;
    size_t at = 0;
    for (size_t i = 1; i < s->n_vocab; i++)
        at = s->logits[i] > s->logits[at] ? i : at;
    *best = (int32_t)at;
    /* -inf when no token can come; inf when a tiny penalty lets a quotient overflow. */
    return isfinite(s->logits[at]) ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                     "the best logit is %g, expected a finite number", (double)s->logits[at]);
}

/* ---- Ranking -------------------------------------------------------------------------- */

static bool is_better(const struct rml_sampler *s, int32_t a, int32_t b)
{
    float x = s->logits[a], y = s->logits[b];
    return x > y || (x == y && a < b);
}

/* A heap's root is its best token, or its worst. */
enum root { BEST, WORST };

/* heap[0, n) is a heap but for the place `at`, whose token may belong below. */
static void sift_down(const struct rml_sampler *s, int32_t *heap, enum root root, size_t at,
                      size_t n)
{
    int32_t id = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_better(s, heap[child + 1], heap[child]) == (root == BEST))
            child++;
        if (is_better(s, heap[child], id) != (root == BEST))
            break;
        heap[at] = heap[child];
    }
    heap[at] = id;
}

static void make_heap(const struct rml_sampler *s, int32_t *heap, enum root root, size_t n)
{
    for (size_t at = n / 2; at-- > 0;)
        sift_down(s, heap, root, at, n);
}

/* taken[0, k) = the k best, best first; k < n_vocab. */
static void take_k_best(struct rml_sampler *s, size_t k)
{
    for (size_t i = 0; i < k; i++)
        s->taken[i] = (int32_t)i;
    make_heap(s, s->taken, WORST, k);
    /* A later token of the same logit ranks lower, so only a greater one displaces the root. */
    for (size_t i = k; i < s->n_vocab; i++) {
        if (s->logits[i] > s->logits[s->taken[0]]) {
            s->taken[0] = (int32_t)i;
            sift_down(s, s->taken, WORST, 0, k);
        }
    }
    for (size_t n = k; n > 1;) { /* heap sort: the worst goes to the end */
        int32_t worst = s->taken[0];
        s->taken[0] = s->taken[--n];
        s->taken[n] = worst;
        sift_down(s, s->taken, WORST, 0, n);
    }
}

/* ---- Temperature, top-k, top-p, min-p ---------------------------------------------------- */

/* Of a token, relative to the best; sets it. A temperature so small that the quotient overflows
 * gives exp(-inf) = 0. */
static double weigh(struct rml_sampler *s, int32_t id, double best)
{
    double x = (double)s->logits[id] - best;
    return s->weights[id] = x == 0 ? 1 : exp(x / s->params.temperature);
}

/* How many of taken[0, n), which are best first, top-p and min-p leave; the sum of n is total. */
static size_t cut(const struct rml_sampler *s, size_t n, double total)
{
    const double enough = s->params.top_p < 1 ? s->params.top_p * total : INFINITY;
    double sum = 0;
    size_t n_kept = 0;
    while (n_kept < n && sum < enough) {
        double weight = s->weights[s->taken[n_kept]];
        if (weight < s->params.min_p || weight == 0)
            break;
        sum += weight;
        n_kept++;
    }
    return n_kept;
}

/* taken = the best of all n_vocab that top-p and min-p leave; their number. */
static size_t take_by_share(struct rml_sampler *s, double total)
{
    size_t n_heap = s->n_vocab, n_kept = 0;
    for (size_t i = 0; i < n_heap; i++)
        s->ids[i] = (int32_t)i;
    make_heap(s, s->ids, BEST, n_heap);
    const double enough = s->params.top_p * total;
    /* What comes below min-p would be removed by the next step, so the sum may stop there. */
    for (double sum = 0; n_heap > 0 && sum < enough;) {
        double weight = s->weights[s->ids[0]];
        if (weight < s->params.min_p || weight == 0)
            break;
        sum += weight;
        s->taken[n_kept++] = s->ids[0];
        s->ids[0] = s->ids[--n_heap];
        if (n_heap > 0)
            sift_down(s, s->ids, BEST, 0, n_heap);
    }
    return n_kept;
}

/* ids = taken[0, n) in ascending order. */
static size_t put_in_order(struct rml_sampler *s, size_t n)
{
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++)
        s->is_marked[s->taken[i]] = 1;
    for (size_t i = 0; n_found < n; i++) {
        if (s->is_marked[i])
            s->ids[n_found++] = (int32_t)i;
        s->is_marked[i] = 0;
    }
    return n;
}

/*
 * Steps 2 to 5 for a temperature above 0. Afterwards ids[0, result) are the tokens that stay,
 * ascending, and their weights are set.
 */
static size_t filter(struct rml_sampler *s, int32_t best_id)
{
    const struct rml_sampler_params *p = &s->params;
    const double best = (double)s->logits[best_id];
    double total = 0;
    if (p->top_k > 0 && (uint64_t)p->top_k < s->n_vocab) {
        const size_t k = (size_t)p->top_k;
        take_k_best(s, k);
        for (size_t i = 0; i < k; i++)
            total += weigh(s, s->taken[i], best);
        return put_in_order(s, cut(s, k, total));
    }
    for (size_t i = 0; i < s->n_vocab; i++)
        total += weigh(s, (int32_t)i, best);
    if (p->top_p < 1)
        return put_in_order(s, take_by_share(s, total));
    size_t n = 0;
    for (size_t i = 0; i < s->n_vocab; i++)
        if (s->weights[i] >= p->min_p && s->weights[i] > 0)
            s->ids[n++] = (int32_t)i;
    return n;
}

/* ---- Drawing -------------------------------------------------------------------------- */

bool rml_sampler_sample(struct rml_sampler *s, const float *logits, const int32_t *context,
                        size_t n_context, int32_t *id, struct rml_error *err)
{
    int32_t best = 0;
    if (!begin(s, logits, context, n_context, &best, err))
        return false;
    if (s->params.temperature == 0) {
        *id = best;
        return true;
    }
    size_t n = filter(s, best);
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += s->weights[s->ids[i]];
    const double target = rmli_rng_uniform(&s->rng) * total;
    /* The last of positive weight when rounding keeps the sum from passing the target. */
    *id = s->ids[n - 1];
    for (size_t i = 0; i < n; i++) {
        sum += s->weights[s->ids[i]];
        if (sum > target) {
            *id = s->ids[i];
            break;
        }
    }
    return true;
}

bool rml_sampler_distribution(struct rml_sampler *s, const float *logits, const int32_t *context,
                              size_t n_context, double *probabilities, struct rml_error *err)
{
    int32_t best = 0;
    if (!begin(s, logits, context, n_context, &best, err))
        return false;
    for (size_t i = 0; i < s->n_vocab; i++)
        probabilities[i] = 0;
    if (s->params.temperature == 0) {
        probabilities[best] = 1;
        return true;
    }
    size_t n = filter(s, best);
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += s->weights[s->ids[i]];
    for (size_t i = 0; i < n; i++)
        probabilities[s->ids[i]] = s->weights[s->ids[i]] / total;
    return true;
}

int64_t rml_sampler_draw(struct rml_sampler *s, const double *weights, size_t n)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += weights[i];
    const double target = rmli_rng_uniform(&s->rng) * total;
    int64_t last = -1;
    for (size_t i = 0; i < n; i++) {
        sum += weights[i];
        if (weights[i] > 0)
            last = (int64_t)i;
        if (sum > target)
            return (int64_t)i;
    }
    return last;
}
