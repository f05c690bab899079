/*
 * Python's random.Random(seed).sample(range(n), k).
 */
#include "eval/python_random.h"

#include <stdlib.h>
#include <string.h>

/* ---- MT19937 -------------------------------------------------------------------------------- */

#define N PYTHON_RANDOM_N
#define M 397

static void init_by_number(struct python_random *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        r->state[i] = 1812433253U * (r->state[i - 1] ^ r->state[i - 1] >> 30) + i;
    r->next = N;
}

/* The reference's init_by_array: key [n], n in [1, N]. */
static void init_by_array(struct python_random *r, const uint32_t *key, size_t n)
{
    uint32_t *s = r->state;
    size_t i = 1, j = 0;
    init_by_number(r, 19650218U);
    for (size_t k = 0; k < N; k++) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525U) + key[j] + (uint32_t)j;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
        j = (j + 1) % n;
    }
    for (size_t k = 0; k < N - 1; k++) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941U) - (uint32_t)i;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000U;
}

/* Python hands over the seed's 32-bit digits, lowest first, one at least. */
void python_random_init(struct python_random *random, uint64_t seed)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    init_by_array(random, key, key[1] ? 2 : 1);
}

static void refill(struct python_random *r)
{
    uint32_t *s = r->state;
    for (size_t i = 0; i < N; i++) {
        uint32_t y = (s[i] & 0x80000000U) | (s[(i + 1) % N] & 0x7fffffffU);
        s[i] = s[(i + M) % N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfU : 0);
    }
    r->next = 0;
}

uint32_t python_random_bits(struct python_random *random)
{
    if (random->next == N)
        refill(random);
    uint32_t y = random->state[random->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* ---- Sampling --------------------------------------------------------------------------------- */

/* _randbelow(n), n in [1, 2^32): as many bits as n has, again until they are below it. */
static size_t below(struct python_random *random, size_t n)
{
    unsigned n_bits = 0;
    for (size_t left = n; left > 0; left >>= 1)
        n_bits++;
    for (;;) {
        size_t draw = python_random_bits(random) >> (32 - n_bits);
        if (draw < n)
            return draw;
    }
}

/* Whether sample() takes from a pool: 21 is the size of a small set, 4 ** ceil(log(3 k, 4)) what
 * a set of k numbers may grow to; a pool that is no larger is cheaper. */
static bool uses_pool(size_t n, size_t k)
{
    size_t set_size = 21;
    if (k > 5) {
        size_t power = 1;
        while (power < 3 * k)
            power *= 4;
        set_size += power;
    }
    return n <= set_size;
}

static bool sample_pool(struct python_random *random, size_t n, size_t k, size_t *out)
{
    size_t *pool = calloc(n + 1, sizeof *pool);
    if (!pool)
        return false;
    for (size_t i = 0; i < n; i++)
        pool[i] = i;
    for (size_t i = 0; i < k; i++) {
        size_t j = below(random, n - i);
        out[i] = pool[j];
        pool[j] = pool[n - i - 1];
    }
    free(pool);
    return true;
}

static bool is_among(const size_t *numbers, size_t n, size_t number)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

bool python_random_sample(struct python_random *random, size_t n, size_t k, size_t *out)
{
    if (uses_pool(n, k))
        return sample_pool(random, n, k, out);
    for (size_t i = 0; i < k; i++) {
        do
            out[i] = below(random, n);
        while (is_among(out, i, out[i]));
    }
    return true;
}
