/*
 * The distributions behind the tests of comparisons: normal, Student's t.
 *
 * Quantiles are found by bisection of the tail, to the last bits of a double: they are asked for
 * a few times a run, so nothing is gained by an approximation with coefficients.
 */
#ifndef EVAL_DISTRIBUTIONS_H
#define EVAL_DISTRIBUTIONS_H

/* z with P(Z <= z) = p, for p in (0, 1). */
double normal_quantile(double p);

/* P(|T| >= |t|) of Student's t with df > 0 degrees of freedom, which need not be whole. */
double student_t_two_sided(double t, double df);

/* t > 0 with P(|T| <= t) = confidence, for confidence in (0, 1) and df > 0. */
double student_t_critical(double confidence, double df);

#endif
