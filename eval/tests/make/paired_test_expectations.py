#!/usr/bin/env python3
"""Expected values of eval/tests/test_paired_tests.c: written to standard output.

    paired_test_expectations.py > ../expected_paired_tests.h      (then: make format)

Packages: numpy, scipy, statsmodels (the first line of the output has their versions).
"""
import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def number(x):
    return "NAN" if np.isnan(x) else repr(float(x))


def braced(line):
    return "{" + ", ".join(braced(x) if isinstance(x, tuple) else
                           number(x) if isinstance(x, float) else str(x) for x in line) + "}"


def rows(kind, name, lines):
    print(f"static const struct {kind} {name}[] = {{")
    for line in lines:
        print("    " + braced(line) + ",")
    print("};\n")


def paired(a, b, groups, confidence):
    """Ordinary least squares on a constant, its covariance robust to clusters, with statsmodels'
    correction G / (G - 1) x (n - 1) / (n - 1); without groups the paired t test."""
    d = a - b
    fit = OLS(d, np.ones(len(d)))
    if groups is None:
        result, df = fit.fit(), len(d) - 1
        check = stats.ttest_rel(a, b)
        assert abs(check.pvalue - result.pvalues[0]) < 1e-12
    else:
        result = fit.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        df = len(set(groups)) - 1
    se = float(result.bse[0])
    t = stats.t(df)
    half = t.ppf((1 + confidence) / 2) * se
    mean = float(d.mean())
    return mean, se, mean - half, mean + half, float(2 * t.sf(abs(mean / se)))


def main():
    print("/* Written by make/paired_test_expectations.py: numpy "
          f"{np.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}. */")
    print("#ifndef EVAL_TESTS_EXPECTED_PAIRED_TESTS_H\n#define EVAL_TESTS_EXPECTED_PAIRED_TESTS_H\n")
    print('#include "eval/tests/paired_test_case.h"\n')
    rows("value2", "normal_quantiles", [(p, float(stats.norm.ppf(p))) for p in
         (1e-300, 1e-20, 1e-6, 0.025, 0.2, 0.5, 0.8, 0.9, 0.975, 0.999999)])
    rows("value3", "t_tails", [(t, df, float(2 * stats.t.sf(t, df)))
         for df in (1.0, 2.0, 3.5, 30.0, 511.0, 1e6) for t in (0.0, 1e-4, 0.5, 1.0, 1.96, 5.0, 30.0)])
    rows("value3", "t_criticals", [(c, df, float(stats.t.ppf((1 + c) / 2, df)))
         for df in (1.0, 2.0, 5.0, 60.0, 9999.0) for c in (0.5, 0.9, 0.95, 0.99, 0.9999)])
    rows("mcnemar_case", "mcnemar_cases", [(b, c, float(mcnemar([[5, b], [c, 5]], exact=True).pvalue))
         for b, c in ((0, 0), (1, 0), (0, 6), (3, 3), (10, 3), (14, 29), (120, 80), (0, 100), (700, 500))])
    rows("wilson_case", "wilson_cases", [(float(k), float(n), conf) + tuple(float(x) for x in
         proportion_confint(k, n, alpha=1 - conf, method="wilson"))
         for k, n in ((0, 1), (1, 1), (0, 10), (3, 10), (256, 512), (511, 512)) for conf in (0.9, 0.95)])
    p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.02]
    rows("value2", "holm_cases", list(zip(p, (float(x) for x in multipletests(p, method="holm")[1]))))

    draw = np.random.default_rng(4)
    n = 40
    a = (draw.random(n) < 0.7).astype(float)
    b = np.where(draw.random(n) < 0.2, 1 - a, a)
    groups = np.sort(draw.integers(0, 11, n))
    x, y = draw.normal(3, 1, n), draw.normal(3.2, 1, n)
    rows("paired_item", "paired_items",
         [(float(a[i]), float(b[i]), float(x[i]), float(y[i]), int(groups[i])) for i in range(n)])
    cases = [("right", a, b, None), ("right", a, b, groups), ("score", x, y, None), ("score", x, y, groups)]
    rows("paired_case", "paired_cases",
         [(int(kind == "score"), int(g is not None), conf, paired(u, v, g, conf))
          for kind, u, v, g in cases for conf in (0.9, 0.95)])
    se = paired(x, y, None, 0.95)[1]
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    sd = float(np.std(x - y, ddof=1))
    print(f"static const double detectable_of_scores = {float(z * se)!r};")
    print(f"static const double items_for_a_tenth = {float(np.ceil(z * z * sd * sd / 0.01))!r};")

    # Mean nll of tokens in documents: ln(PPL_a / PPL_b) and bits per byte as a ratio.
    tokens = draw.integers(20, 200, 9)
    d = draw.normal(0.02, 0.05, 9) * tokens
    ratio = d.sum() / tokens.sum()
    g = len(tokens)
    se = np.sqrt(g / (g - 1) * ((d - ratio * tokens) ** 2).sum()) / tokens.sum()
    half = stats.t.ppf(0.975, g - 1) * se
    rows("value2", "ppl_blocks", [(float(u), float(v)) for u, v in zip(d, tokens)])
    rows("value5", "ppl_difference", [tuple(float(v) for v in (
        ratio, se, ratio - half, ratio + half, 2 * stats.t.sf(abs(ratio / se), g - 1)))])

    print("\n#endif")

if __name__ == "__main__":
    main()
