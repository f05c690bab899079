/*
 * Normal and Student's t. The tail of t is the regularised incomplete beta function,
 *
 *     P(|T| >= t) = I_x(df / 2, 1 / 2),   x = df / (df + t^2)
 *
 * by its continued fraction (Abramowitz and Stegun 26.5.8), evaluated from the front (modified
 * Lentz: Thompson and Barnett 1986). The fraction converges fast for x below
 * (a + 1) / (a + b + 2); above that I_x(a, b) = 1 - I_(1-x)(b, a) is used.
 */
#include "eval/distributions.h"

#include <float.h>
#include <math.h>

/* Doubles differ by some 2^-52 of their size: that many halvings of an interval leave two
 * neighbours. */
#define MAX_HALVINGS 1100

double normal_quantile(double p)
{
    /* The lower tail is the one that erfc knows to all its digits; 1 - p is exact there. */
    if (p > 0.5)
        return -normal_quantile(1 - p);
    double lo = -40, hi = 40; /* P(Z < -40) is below the least double */
    for (int i = 0; i < MAX_HALVINGS; i++) {
        double z = lo + (hi - lo) / 2;
        if (z <= lo || z >= hi)
            break;
        if (erfc(-z / M_SQRT2) / 2 < p)
            lo = z;
        else
            hi = z;
    }
    return hi;
}

/* Terms of Lentz's products must not vanish. */
static double not_zero(double x)
{
    return fabs(x) < DBL_MIN * 16 ? DBL_MIN * 16 : x;
}

static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;
    /* Needs some sqrt(max(a, b)) terms: 1e5 do for 1e9 degrees of freedom. */
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        value *= d * c;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < 4 * DBL_EPSILON)
            break;
    }
    return value;
}

/* I_x(a, b); y = 1 - x is given, because it is known without cancellation. */
static double incomplete_beta(double a, double b, double x, double y)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    int sign;
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double student_t_two_sided(double t, double df)
{
    if (isinf(t))
        return 0;
    double square = t * t;
    return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

double student_t_critical(double confidence, double df)
{
    double lo = 0, hi = 1;
    while (hi < 1e300 && student_t_two_sided(hi, df) > 1 - confidence)
        hi *= 2;
    for (int i = 0; i < MAX_HALVINGS; i++) {
        double t = lo + (hi - lo) / 2;
        if (t <= lo || t >= hi)
            break;
        if (student_t_two_sided(t, df) > 1 - confidence)
            lo = t;
        else
            hi = t;
    }
    return hi;
}
