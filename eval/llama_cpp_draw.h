/*
 * The samples that llama.cpp's perplexity tool draws from HellaSwag and Winogrande files, so that
 * a part of a file means the same questions here and there. Both come from the Mersenne Twister
 * MT19937 (Matsumoto and Nishimura, 1998) seeded with 1.
 */
#ifndef EVAL_LLAMA_CPP_DRAW_H
#define EVAL_LLAMA_CPP_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt19937 {
    uint32_t state[624];
    size_t at;
};

void mt19937_init(struct mt19937 *generator, uint32_t seed);
uint32_t mt19937_next(struct mt19937 *generator);

/*
 * The first `count` <= n of the tasks 0 ... n - 1 in the order in which they are drawn without
 * replacement. `left` [n] is working memory.
 *
 * HellaSwag: each is uniform over what is left, which keeps its order, as libstdc++'s
 * uniform_int_distribution makes it of 32 bits (Lemire 2019). Winogrande: a fraction in f32; the
 * last one takes the place of what was drawn.
 */
void llama_cpp_draw_hellaswag(uint32_t seed, size_t n, size_t count, size_t *left, size_t *drawn);
void llama_cpp_draw_winogrande(uint32_t seed, size_t n, size_t count, size_t *left, size_t *drawn);

#endif
