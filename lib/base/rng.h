/*
 * A small random number generator for benchmarks and tests: xoshiro256** seeded by
 * splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
 * 2018, and prng.di.unimi.it). The same seed gives the same numbers on every machine.
 * Not for secrets.
 */
#ifndef RML_BASE_RNG_H
#define RML_BASE_RNG_H

#include <stdint.h>

struct rmli_rng {
    uint64_t state[4];
};

/* The next output of splitmix64, whose whole state is *seed. */
static inline uint64_t rmli_splitmix64(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline void rmli_rng_seed(struct rmli_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = rmli_splitmix64(&seed);
}

static inline uint64_t rmli_rotate_left(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t rmli_rng_next(struct rmli_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rmli_rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rmli_rotate_left(s[3], 45);
    return result;
}

/* A double in [0, 1), a multiple of 2^-53. */
static inline double rmli_rng_uniform(struct rmli_rng *rng)
{
    return (double)(rmli_rng_next(rng) >> 11) * 0x1p-53;
}

/* An integer in [0, n), n > 0; the bias of the product is below n / 2^64. */
static inline uint64_t rmli_rng_below(struct rmli_rng *rng, uint64_t n)
{
    return (uint64_t)((unsigned __int128)rmli_rng_next(rng) * n >> 64);
}

#endif
