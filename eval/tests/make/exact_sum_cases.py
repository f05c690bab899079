#!/usr/bin/env python3
"""eval/tests/expected_exact_sum.h: what Python's math.fsum makes of lists of numbers.

    exact_sum_cases.py >expected_exact_sum.h

Where fsum gives up because a sum on the way is beyond the doubles, the total is that of exact
fractions; elsewhere both must agree.
"""
import math
from fractions import Fraction
from random import Random

HAND = [
    [], [-0.0], [5e-324], [-5e-324, 5e-324], [0.1] * 10, [1e100, 1.0, -1e100], [1e16, 1.0, 1e-16],
    # ties to even, and what lies far below decides them
    [2.0**53, 1.0], [2.0**53, 1.0, 2.0**-1074], [2.0**53, 3.0], [2.0**53, 3.0, -(2.0**-1074)],
    [-(2.0**53), -1.0, -(2.0**-60)], [2.0**63, 2.0**10], [2.0**63, 2.0**10, -(2.0**-1000)], [2.0**64, 2.0**11, 1.0],
    # subnormal numbers, and the least normal one from either side
    [2.0**-1022, -(2.0**-1074)], [2.0**-1023, 2.0**-1023], [2.0**-1022, 2.0**-1074], [3 * 2.0**-1074, -(2.0**-1070)],
    # the greatest, and beyond it
    [1.7976931348623157e308, 2.0**969], [1.7976931348623157e308, 1.7976931348623157e308, -1.7976931348623157e308],
    [-1e308, -1e308, 1e308, 1.0, -1.0], [2.0**1023, -(2.0**-1074)], [2.0**1023, 2.0**1023, -(2.0**1023), -(2.0**1023), 7.0],
]


def total(values):
    exact = sum(map(Fraction, values), Fraction(0))
    try:
        whole = math.fsum(values)
    except OverflowError:
        return float(exact)
    assert whole == float(exact), values
    return whole


def drawn(draw, kind):
    if kind == "logliks":
        return [-draw.expovariate(0.4) for _ in range(40)]
    values = [math.ldexp(draw.uniform(-1, 1), draw.randrange(-1060, 1000) if kind == "huge" else draw.randrange(80))
              for _ in range(20)]
    if kind == "cancels":  # but for a little
        values += [-x for x in values] + [draw.uniform(-1e-9, 1e-9), draw.uniform(-1e-300, 1e-300)]
        draw.shuffle(values)
    return values


draw = Random(3)
cases = HAND + [drawn(draw, kind) for kind in ("logliks", "huge", "cancels") for _ in range(6)]
print("/* Written by make/exact_sum_cases.py. */")
print(f"#define MOST_VALUES {max(map(len, cases))}")
print("#define SUMS \\")
print(", \\\n".join(
    f"    {{{total(values).hex()}, {len(values)}, {{{', '.join(x.hex() for x in values) or '0'}}}}}"
    for values in cases))
