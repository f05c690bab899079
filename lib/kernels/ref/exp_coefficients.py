"""Computes the polynomial of kernels/elementwise_f32.h.

    e^r ~ 1 + r + r^2 (C2 + C3 r + C4 r^2 + C5 r^3 + C6 r^4),  |r| <= ln(2) / 2

with the least largest relative error: weighted least squares whose weights grow
where the error is large (Lawson's iteration), one coefficient after the other
rounded to f32 and the rest fitted again to what remains. Needs numpy.
"""

import math

import numpy as np

N_COEFFICIENTS = 5
N_POINTS = 2000

half_ln2 = math.log(2) / 2 * 1.0001  # a hair wider: the reduction rounds too
angles = np.pi * (np.arange(N_POINTS) + 0.5) / N_POINTS
r = (half_ln2 * np.cos(angles)).astype(np.longdouble)
# (e^r - 1 - r) / r^2 as a series, which cancels nothing.
rest = sum(r**j / np.longdouble(math.factorial(j + 2)) for j in range(18))
to_relative_error = r * r / np.exp(r)


def fit(powers, target):
    """Coefficients of r^p for p in powers, and the largest relative error."""
    a = (np.stack([r**p for p in powers], 1) * to_relative_error[:, None]).astype(float)
    b = (target * to_relative_error).astype(float)
    weights = np.ones(N_POINTS)
    for _ in range(400):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(a * root[:, None], b * root, rcond=None)[0]
        error = np.abs(a @ solution - b)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    return solution, error.max()


for first in range(N_COEFFICIENTS):
    solution, error = fit(range(first, N_COEFFICIENTS), rest)
    rounded = np.float32(solution[0])
    rest = rest - np.longdouble(rounded) * r**first
    print(f"C{first + 2} = {float(rounded).hex()}")
print(f"largest relative error {float(np.abs(rest * to_relative_error).max()):.3g}")
