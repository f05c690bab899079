/* The forms of the expected values of test_paired_tests.c. */
#ifndef EVAL_TESTS_PAIRED_TEST_CASE_H
#define EVAL_TESTS_PAIRED_TEST_CASE_H

#include <stddef.h>

struct value2 {
    double x, value;
};
struct value3 {
    double x, df, value;
};
struct value5 {
    double estimate, standard_error, lo, hi, p_value;
};
struct mcnemar_case {
    size_t n10, n01;
    double p_value;
};
struct wilson_case {
    double n_right, n, confidence, lo, hi;
};
struct paired_item {
    double right_a, right_b, score_a, score_b;
    size_t group;
};
struct paired_case {
    int is_score, is_grouped;
    double confidence;
    struct value5 expected;
};

#endif
