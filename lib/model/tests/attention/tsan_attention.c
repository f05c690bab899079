/* A plain program for ThreadSanitizer: random batches in pools of several sizes,
 * split and not, must give the bits of one thread. Exit 0: right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/tests/attention/attention_cases.h"

static int check(struct rmli_rng *rng, const struct attention_limits *limits,
                 struct rml_thread_pool *const *pools, size_t n_pools)
{
    const struct rmli_kernels *kernels = rmli_kernels_best(NULL);
    struct attention_case c;
    attention_case_init(&c, rng, limits);
    size_t nbytes = c.n_rows * c.params.n_head * c.params.head_dim * sizeof(float);
    float *expected = malloc(nbytes);
    int n_wrong = !expected || !kernels;
    for (size_t p = 0; p < n_pools && !n_wrong; p++) {
        attention_run(&c, kernels, pools[p], p == 0 ? expected : c.out);
        n_wrong = p > 0 && memcmp(c.out, expected, nbytes) != 0;
    }
    free(expected);
    attention_case_release(&c);
    return n_wrong;
}

int main(void)
{
    static const unsigned sizes[] = {1, 2, 4};
    static const struct attention_limits many = {
        .n_head_kv = 3, .group = 4, .n_layer = 1, .n_tokens = 200};
    static const struct attention_limits few = {
        .n_head_kv = 1, .group = 2, .n_layer = 1, .n_tokens = 900};
    struct rml_thread_pool *pools[3];
    for (size_t p = 0; p < 3; p++)
        if (!(pools[p] = rml_thread_pool_create(sizes[p], NULL)))
            return 1;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed());
    int n_wrong = 0;
    for (int i = 0; i < 6; i++)
        n_wrong += check(&rng, &many, pools, 3) + check(&rng, &few, pools, 3);
    for (size_t p = 0; p < 3; p++)
        rml_thread_pool_destroy(pools[p]);
    if (n_wrong)
        fprintf(stderr, "%d batches differ (RML_TEST_SEED=%llu)\n", n_wrong,
                (unsigned long long)attention_seed());
    return n_wrong != 0;
}
