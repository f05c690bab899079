/*
 * Python's random.Random(seed).sample(range(n), k), number for number.
 *
 * lm-eval draws few-shot examples with it, so a prompt can only be lm-eval's when the draws are.
 * The generator is MT19937 (Matsumoto and Nishimura 1998) with Python's way of seeding it by a whole
 * number; sample() is that of CPython 3.8 to 3.13.
 */
#ifndef EVAL_PYTHON_RANDOM_H
#define EVAL_PYTHON_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_RANDOM_N 624

struct python_random {
    uint32_t state[PYTHON_RANDOM_N];
    size_t next; /* PYTHON_RANDOM_N: all are used up */
};

/* random.Random(seed) */
void python_random_init(struct python_random *random, uint64_t seed);

/* random.getrandbits(32) */
uint32_t python_random_bits(struct python_random *random);

/* out [k] gets random.sample(range(n), k), k <= n < 2^32. False when memory is exhausted. */
bool python_random_sample(struct python_random *random, size_t n, size_t k, size_t *out);

#endif
