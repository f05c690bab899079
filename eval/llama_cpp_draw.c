/*
 * The samples that llama.cpp's perplexity tool draws.
 */
#include "eval/llama_cpp_draw.h"

#include <string.h>

#define N_STATE 624
#define SHIFT 397

/* ---- The generator ---------------------------------------------------------------------------- */

void mt19937_init(struct mt19937 *generator, uint32_t seed)
{
    uint32_t *state = generator->state;
    state[0] = seed;
    for (uint32_t i = 1; i < N_STATE; i++)
        state[i] = UINT32_C(1812433253) * (state[i - 1] ^ state[i - 1] >> 30) + i;
    generator->at = N_STATE;
}

static void refill(struct mt19937 *generator)
{
    uint32_t *state = generator->state;
    for (size_t i = 0; i < N_STATE; i++) {
        uint32_t y =
            (state[i] & UINT32_C(0x80000000)) | (state[(i + 1) % N_STATE] & UINT32_C(0x7fffffff));
        state[i] = state[(i + SHIFT) % N_STATE] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
    }
    generator->at = 0;
}

uint32_t mt19937_next(struct mt19937 *generator)
{
    if (generator->at == N_STATE)
        refill(generator);
    uint32_t y = generator->state[generator->at++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* ---- Draws ------------------------------------------------------------------------------------- */

/* Uniform in [0, range): the high half of a product; the few low halves that would make some
 * values likelier are drawn again. */
static size_t below(struct mt19937 *generator, uint32_t range)
{
    uint64_t product = (uint64_t)mt19937_next(generator) * range;
    if ((uint32_t)product < range) {
        uint32_t least = -range % range;
        while ((uint32_t)product < least)
            product = (uint64_t)mt19937_next(generator) * range;
    }
    return (size_t)(product >> 32);
}

void llama_cpp_draw_hellaswag(uint32_t seed, size_t n, size_t count, size_t *left, size_t *drawn)
{
    struct mt19937 generator;
    mt19937_init(&generator, seed);
    for (size_t i = 0; i < n; i++)
        left[i] = i;
    for (size_t i = 0; i < count; i++) {
        size_t n_left = n - i;
        size_t at = below(&generator, (uint32_t)n_left);
        drawn[i] = left[at];
        memmove(left + at, left + at + 1, (n_left - at - 1) * sizeof *left);
    }
}

void llama_cpp_draw_winogrande(uint32_t seed, size_t n, size_t count, size_t *left, size_t *drawn)
{
    struct mt19937 generator;
    mt19937_init(&generator, seed);
    for (size_t i = 0; i < n; i++)
        left[i] = i;
    for (size_t i = 0; i < count; i++) {
        size_t n_left = n - i;
        size_t at = (size_t)(0x1p-32f * (float)mt19937_next(&generator) * (float)n_left);
        if (at >= n_left) /* the fraction was rounded to 1: there llama.cpp reads past the end */
            at = n_left - 1;
        drawn[i] = left[at];
        left[at] = left[n_left - 1];
    }
}
