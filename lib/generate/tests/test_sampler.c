/*
 * The sampler: distributions against transformers' logits processors (sampler_cases.json, written
 * by make_sampler_cases.py), ties, draws and what is refused.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "generate/sampler.h"

static double number(json_t *entry, const char *key, double otherwise)
{
    json_t *value = json_object_get(entry, key);
    return value ? json_number_value(value) : otherwise;
}

static struct rml_sampler *sampler_of(json_t *entry, size_t n_vocab)
{
    const struct rml_sampler_params params = {.temperature = number(entry, "temperature", 1),
                                              .top_k = (int64_t)number(entry, "top_k", 0),
                                              .top_p = number(entry, "top_p", 1),
                                              .min_p = number(entry, "min_p", 0),
                                              .repetition_penalty = number(entry, "penalty", 1),
                                              .repetition_window =
                                                  (int64_t)number(entry, "window", 0)};
    struct rml_error err = RML_ERROR_INIT;
    struct rml_sampler *sampler = rml_sampler_create(n_vocab, &params, &err);
    cr_assert(sampler, "%s", err.message);
    return sampler;
}

enum { MAX_VOCAB = 256 };

Test(sampler, equals_transformers)
{
    char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/lib/generate/tests/sampler_cases.json", root ? root : ".");
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    cr_assert(json, "%s: %s", error.source, error.text);
    json_t *cases = json_object_get(json, "cases"), *entry;
    cr_assert(json_array_size(cases) > 20);
    size_t c, i;
    json_array_foreach(cases, c, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        json_t *value, *values = json_object_get(entry, "logits");
        size_t n = json_array_size(values), n_context = 0;
        float logits[MAX_VOCAB];
        int32_t context[MAX_VOCAB];
        double got[MAX_VOCAB], want[MAX_VOCAB] = {0};
        cr_assert_leq(n, MAX_VOCAB);
        json_array_foreach(values, i, value) logits[i] =
            json_is_null(value) ? -INFINITY : (float)json_number_value(value);
        json_array_foreach(json_object_get(entry, "context"), i, value) context[n_context++] =
            (int32_t)json_integer_value(value);
        json_array_foreach(json_object_get(entry, "probabilities"), i, value)
            want[json_integer_value(json_array_get(value, 0))] =
                json_number_value(json_array_get(value, 1));
        struct rml_sampler *sampler = sampler_of(entry, n);
        cr_assert(rml_sampler_distribution(sampler, logits, context, n_context, got, NULL));
        for (i = 0; i < n; i++) {
            cr_expect_eq(got[i] > 0, want[i] > 0, "%s: token %zu has %g, expected %g", name, i,
                         got[i], want[i]);
            /* f32 logits, penalised in f32: 2^-24 of a logit of at most 12. */
            cr_expect_float_eq(got[i], want[i], 2e-6, "%s: token %zu has %.9g, expected %.9g", name,
                               i, got[i], want[i]);
        }
        /* Every draw is of that distribution, and the penalty's marks are gone after each. */
        for (int draw = 0; draw < 50; draw++) {
            int32_t id;
            cr_assert(rml_sampler_sample(sampler, logits, context, n_context, &id, NULL));
            cr_expect(want[id] > 0, "%s: token %d drawn", name, id);
        }
        rml_sampler_destroy(sampler);
    }
    json_decref(json);
}

/* The specification's example: 66.5 %, 24.5 % and 9.0 %. */
Test(sampler, worked_example)
{
    const struct rml_sampler_params params = {
        .temperature = 1, .top_p = 0.9, .min_p = 0.05, .repetition_penalty = 1};
    struct rml_sampler *sampler = rml_sampler_create(4, &params, NULL);
    const float logits[] = {2, 1, 0, -1};
    double p[4];
    cr_assert(rml_sampler_distribution(sampler, logits, NULL, 0, p, NULL));
    cr_expect_float_eq(p[0], 0.665, 5e-4);
    cr_expect_float_eq(p[1], 0.245, 5e-4);
    cr_expect_float_eq(p[2], 0.090, 5e-4);
    cr_expect_eq(p[3], 0.0);
    rml_sampler_destroy(sampler);
}

/* ---- Ties ---------------------------------------------------------------------------- */

Test(sampler, ties_go_to_the_lower_id)
{
    const float logits[] = {1, 3, 2, 3, 2, 3, 2, -5};
    struct rml_sampler_params params = RML_SAMPLER_DEFAULTS;
    struct rml_error err = RML_ERROR_INIT;
    params.temperature = 0;
    struct rml_sampler *greedy = rml_sampler_create(8, &params, NULL);
    int32_t id;
    double p[8];
    cr_assert(rml_sampler_sample(greedy, logits, NULL, 0, &id, &err));
    cr_expect_eq(id, 1);
    cr_assert(rml_sampler_distribution(greedy, logits, NULL, 0, p, &err));
    for (int i = 0; i < 8; i++)
        cr_expect_eq(p[i], i == 1 ? 1.0 : 0.0);
    rml_sampler_destroy(greedy);

    /* Ranked: 1, 3, 5, 2, 4, 6, 0, 7. */
    static const int rank[] = {6, 0, 3, 1, 4, 2, 5, 7};
    for (int k = 1; k <= 8; k++) {
        params = (struct rml_sampler_params)RML_SAMPLER_DEFAULTS;
        params.top_k = k;
        struct rml_sampler *sampler = rml_sampler_create(8, &params, NULL);
        cr_assert(rml_sampler_distribution(sampler, logits, NULL, 0, p, &err));
        for (int i = 0; i < 8; i++)
            cr_expect_eq(p[i] > 0, rank[i] < k, "k = %d, token %d", k, i);
        rml_sampler_destroy(sampler);
    }
    /* e^3 three times out of 3 e^3 + 3 e^2 + e + e^-5: 0.2358 each, so a half takes the first
     * three and 0.4 the first two. */
    static const struct {
        double top_p;
        int n;
    } shares[] = {{0.2, 1}, {0.4, 2}, {0.5, 3}, {0.72, 4}};
    for (size_t c = 0; c < sizeof shares / sizeof *shares; c++) {
        params = (struct rml_sampler_params)RML_SAMPLER_DEFAULTS;
        params.top_p = shares[c].top_p;
        struct rml_sampler *sampler = rml_sampler_create(8, &params, NULL);
        cr_assert(rml_sampler_distribution(sampler, logits, NULL, 0, p, &err));
        for (int i = 0; i < 8; i++)
            cr_expect_eq(p[i] > 0, rank[i] < shares[c].n, "top-p %g, token %d", shares[c].top_p, i);
        rml_sampler_destroy(sampler);
    }
}

/* ---- Draws ---------------------------------------------------------------------------- */

enum { N_DRAWS = 20000, N = 12 };

/* Pearson's statistic of counts against probabilities; what is impossible must not occur. */
static double chi_square(const int *counts, const double *p)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double expected = p[i] * N_DRAWS;
        if (p[i] == 0)
            cr_expect_eq(counts[i], 0);
        else
            sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

Test(sampler, draws_follow_the_distribution)
{
    const struct rml_sampler_params params = {.temperature = 1.2,
                                              .top_k = 10,
                                              .top_p = 0.98,
                                              .min_p = 0.01,
                                              .repetition_penalty = 1.2,
                                              .seed = 11};
    struct rml_sampler *sampler = rml_sampler_create(N, &params, NULL);
    float logits[N];
    for (int i = 0; i < N; i++)
        logits[i] = (float)((i * 7 + 3) % N) * 0.3f - 1;
    const int32_t context[] = {5, 9};
    double p[N];
    cr_assert(rml_sampler_distribution(sampler, logits, context, 2, p, NULL));
    int sampled[N] = {0}, drawn[N] = {0};
    for (int i = 0; i < N_DRAWS; i++) {
        int32_t id;
        cr_assert(rml_sampler_sample(sampler, logits, context, 2, &id, NULL));
        sampled[id]++;
        drawn[rml_sampler_draw(sampler, p, N)]++;
    }
    /* The 99.9 % quantile of chi-square with 9 degrees of freedom is 27.88. */
    cr_expect_lt(chi_square(sampled, p), 27.88);
    cr_expect_lt(chi_square(drawn, p), 27.88);
    rml_sampler_destroy(sampler);
}

Test(sampler, equal_seeds_give_equal_draws)
{
    struct rml_sampler_params params = RML_SAMPLER_DEFAULTS;
    params.seed = 5;
    struct rml_sampler *a = rml_sampler_create(N, &params, NULL);
    struct rml_sampler *b = rml_sampler_create(N, NULL, NULL);
    float logits[N];
    for (int i = 0; i < N; i++)
        logits[i] = (float)i * 0.1f;
    int32_t first[64], id;
    int n_other = 0;
    for (int i = 0; i < 64; i++) {
        cr_assert(rml_sampler_sample(a, logits, NULL, 0, &first[i], NULL));
        cr_assert(rml_sampler_sample(b, logits, NULL, 0, &id, NULL));
        n_other += id != first[i];
    }
    cr_expect_gt(n_other, 10, "seed 0 draws otherwise");
    rml_sampler_seed(b, 5);
    for (int i = 0; i < 64; i++) {
        cr_assert(rml_sampler_sample(b, logits, NULL, 0, &id, NULL));
        cr_expect_eq(id, first[i]);
    }
    const double none[3] = {0}, one[3] = {0, 2, 0};
    cr_expect_eq(rml_sampler_draw(a, none, 3), -1);
    cr_expect_eq(rml_sampler_draw(a, one, 3), 1);
    rml_sampler_destroy(a);
    rml_sampler_destroy(b);
}

/* ---- What is refused ------------------------------------------------------------------- */

Test(sampler, refuses_settings_outside_their_range)
{
    static const struct rml_sampler_params good = RML_SAMPLER_DEFAULTS;
    struct rml_sampler_params bad[14];
    for (int i = 0; i < 14; i++)
        bad[i] = good;
    bad[0].temperature = -0.1;
    bad[1].temperature = NAN;
    bad[2].temperature = INFINITY;
    bad[3].top_k = -1;
    bad[4].top_p = 0;
    bad[5].top_p = 1.01;
    bad[6].top_p = NAN;
    bad[7].min_p = -0.01;
    bad[8].min_p = 1;
    bad[9].min_p = NAN;
    bad[10].repetition_penalty = 0;
    bad[11].repetition_penalty = -1;
    bad[12].repetition_penalty = NAN;
    bad[13].repetition_window = -1;
    for (int i = 0; i < 14; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_null(rml_sampler_create(4, &bad[i], &err), "%d", i);
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    }
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rml_sampler_create(0, &good, &err));
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
}

Test(sampler, refuses_logits_and_ids_that_mean_nothing)
{
    struct rml_sampler_params params = RML_SAMPLER_DEFAULTS;
    params.repetition_penalty = 1.5;
    struct rml_sampler *sampler = rml_sampler_create(3, &params, NULL);
    const float nan[] = {1, NAN, 2}, inf[] = {1, INFINITY, 2},
                none[] = {-INFINITY, -INFINITY, -INFINITY}, good[] = {1, 2, 3};
    const int32_t beyond[] = {0, 3}, negative[] = {-1};
    int32_t id = 77;
    cr_expect_not(rml_sampler_sample(sampler, nan, NULL, 0, &id, NULL));
    cr_expect_not(rml_sampler_sample(sampler, inf, NULL, 0, &id, NULL));
    cr_expect_not(rml_sampler_sample(sampler, none, NULL, 0, &id, NULL));
    cr_expect_not(rml_sampler_sample(sampler, good, beyond, 2, &id, NULL));
    cr_expect_not(rml_sampler_sample(sampler, good, negative, 1, &id, NULL));
    cr_expect_eq(id, 77);
    /* A refused context leaves no marks: token 0 is penalised again. */
    const int32_t context[] = {0, 0};
    double p[3], plain = exp(2.0) + exp(3.0) + exp(1 / 1.5);
    cr_assert(rml_sampler_distribution(sampler, good, context, 2, p, NULL));
    cr_expect_float_eq(p[0], exp(1 / 1.5) / plain, 1e-7);
    rml_sampler_destroy(sampler);
}
