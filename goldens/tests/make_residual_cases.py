"""Prints the expected values of test_residual.c, from the definition in residual.h.

    python3 make_residual_cases.py signs|projections
"""

import pathlib
import sys

M = 2**64 - 1
G = 0x9E3779B97F4A7C15
BRANCHES = ["embedding", "attention", "feed_forward", "output"]


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M
    return z ^ z >> 31


def sign_word(layer, branch, k, word):
    seed = mix(((layer + 1) * 4 + branch + 1) * G & M)
    return mix(seed + (k * 2**32 + word + 1) * G & M)


def signs(layer, branch, k, n):
    return [-1 if sign_word(layer, branch, k, i // 64) >> i % 64 & 1 else 1 for i in range(n)]


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "make"))
    import script_arguments

    what = ("what", {"choices": ["signs", "projections"]})
    if script_arguments.parse(__doc__, what).what == "signs":
        for layer, branch, k, word in [(-1, 0, 0, 0), (0, 1, 0, 0), (0, 1, 7, 3), (0, 2, 1, 0),
                                       (41, 2, 4, 100), (1024, 3, 7, 0)]:
            print(f"    {{{layer}, RML_BRANCH_{BRANCHES[branch].upper()}, {k}, {word}, "
                  f"0x{sign_word(layer, branch, k, word):016x}u}},")
    else:
        for row in range(2):
            sums = [sum(s * (i - 3 + 100 * row) for i, s in enumerate(signs(5, 2, k, 70)))
                    for k in range(8)]
            print("    {" + ", ".join(map(str, sums)) + "},")


if __name__ == "__main__":
    main()
