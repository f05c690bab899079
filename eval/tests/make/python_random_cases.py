#!/usr/bin/env python3
"""eval/tests/expected_python_random.h: what Python's random draws.

    python_random_cases.py >expected_python_random.h

Each case draws twice from one generator, so that the state between draws counts; n and k lie on
both sides of the sizes at which sample() changes from a pool to a set.
"""
from random import Random

CASES = [(1234, 10, 5), (1234, 21, 3), (1234, 22, 3), (1234, 85, 6), (1234, 86, 6), (1234, 277, 22),
         (1234, 278, 22), (1234, 1000, 26), (1234, 1, 1), (1234, 7, 0), (0, 100000, 4), (42, 5, 5),
         (2**40 + 7, 3000, 8), (1234, 4294967295, 4)]

print("/* Written by make/python_random_cases.py. */")
for seed in (1234, 0, 2**40 + 7):
    draw = Random(seed)
    print(f"#define BITS_{seed} {{{', '.join(str(draw.getrandbits(32)) + 'U' for _ in range(8))}}}")
print("#define SAMPLES \\")
lines = []
for seed, n, k in CASES:
    draw = Random(seed)
    first, second = draw.sample(range(n), k), draw.sample(range(n), k)
    both = ", ".join(map(str, first + second)) or "0"
    lines.append(f"    {{{seed}, {n}, {k}, {{{both}}}}}")
print(", \\\n".join(lines))
