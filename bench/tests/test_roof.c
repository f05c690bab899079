/*
 * Roofs: the loops do the work that is counted, and the newest roof of a host is found.
 */
#include "bench/roof.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread_pool.h"
#include "bench/roof_case.h"
#include "bench/roof_kernels.h"

Test(roof, loops_give_the_sums_of_their_operands)
{
    struct rml_error err = RML_ERROR_INIT;
    uint64_t *words = rmli_alloc(ROOF_READ_STEP * 3, 1, &err);
    size_t n_words = ROOF_READ_STEP * 3 / sizeof *words;
    cr_assert(words);
    for (int isa = 0; isa < RML_N_ISAS; isa++) {
        const struct roof_kernels *k = roof_kernels_for((enum rml_isa)isa);
        if (!k)
            continue;
        cr_assert(k->isa == (enum rml_isa)isa);
        /* every word counts: one bit in a different place in each of them */
        uint64_t sum = 0;
        for (size_t i = 0; i < n_words; i++)
            sum += words[i] = UINT64_C(1) << i % 61;
        cr_expect(k->read(words, ROOF_READ_STEP * 3) == sum, "%s", rml_isa_name(k->isa));
        for (size_t i = 0; i < n_words; i++) {
            words[i]++;
            cr_expect(k->read(words, ROOF_READ_STEP * 3) == sum + 1, "%s, word %zu",
                      rml_isa_name(k->isa), i);
            words[i]--;
        }
        /* 0 -> 3 -> 9 -> 21: x = 2 x + 3, exact */
        cr_expect(k->fma_f32(3, 2, 3) == 21 * (float)k->fma_f32_lanes, "%s", rml_isa_name(k->isa));
        for (int x = -127; x <= 127; x += 127)
            cr_expect(k->dot_i8(5, 15, (int8_t)x) == 5 * (int)k->dot_i8_lane_products * 15 * x,
                      "%s, %d", rml_isa_name(k->isa), x);
        /* lanes of 32 bits: what one of them adds up times their number is a round */
        cr_expect(k->dot_i8_products % k->dot_i8_lane_products == 0);
    }
    rmli_free(words);
}

Test(roof, every_limit_runs_on_several_threads)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(3, &err);
    for (int limit = 0; limit < ROOF_N_LIMITS; limit++) {
        struct roof_case *c =
            roof_case_create((enum roof_limit)limit, RML_ISA_REF, 2 * ROOF_READ_PART, pool, &err);
        cr_assert(c, "%s", err.message);
        struct bench_work work = roof_case_work(c);
        cr_expect(work.run(work.arg, 3, NULL, &err), "%s", err.message);
        bool reads = limit == ROOF_READ_BANDWIDTH;
        cr_expect((roof_case_bytes(c) > 0) == reads && (roof_case_flops(c) > 0) == !reads);
        roof_case_destroy(c);
    }
    cr_expect(!roof_case_create(ROOF_DOT_I8, RML_N_ISAS, 0, pool, &err));
    cr_expect(err.code == RML_UNSUPPORTED);
    rml_thread_pool_destroy(pool);
}

Test(roof, fraction_is_that_of_the_longer_limit)
{
    struct roof roof = {
        .read_bytes_per_second = 10e9, .fma_f32_per_second = 100e9, .dot_i8_per_second = 400e9};
    /* 1 MB takes 100 us; 1 MFLOP takes 10 us, 40 MFLOP 400 us, or 100 us as integers */
    cr_expect(fabs(roof_fraction(&roof, 1e6, 1e6, false, 200e3) - 0.5) < 1e-12);
    cr_expect(fabs(roof_fraction(&roof, 1e6, 40e6, false, 500e3) - 0.8) < 1e-12);
    cr_expect(fabs(roof_fraction(&roof, 0, 40e6, true, 500e3) - 0.2) < 1e-12);
    cr_expect(fabs(roof_fraction(&roof, 1e6, -1, true, 100e3) - 1) < 1e-12);
    cr_expect(isnan(roof_fraction(&roof, -1, -1, true, 100e3)));
    roof.fma_f32_per_second = NAN;
    cr_expect(isnan(roof_fraction(&roof, 1e6, 1e6, false, 1e3)));
    cr_expect(fabs(roof_fraction(&roof, 1e6, 1e6, true, 1e6) - 0.1) < 1e-12);
}

static void add(struct store *store, int64_t run, const char *name, const char *isa, int threads,
                double bytes, double flops, int64_t ns)
{
    struct rml_error err = RML_ERROR_INIT;
    struct store_case what = {.suite = "roof",
                              .name = name,
                              .work_version = 1,
                              .engine = "rml",
                              .isa = isa,
                              .threads = threads,
                              .n_batch = -1,
                              .n_prompt = -1,
                              .n_gen = -1,
                              .n_depth = -1};
    struct store_sample samples[3];
    for (int i = 0; i < 3; i++)
        samples[i] = (struct store_sample){.rep = i, .iters = 2, .wall_ns = 2 * ns + i - 1};
    struct store_result result = {.iters_per_rep = 2,
                                  .items_per_iter = NAN,
                                  .bytes_per_iter = bytes,
                                  .flops_per_iter = flops,
                                  .rss_bytes = -1,
                                  .kv_bytes = -1,
                                  .samples = samples,
                                  .n_samples = 3};
    cr_assert(store_add_result(store, run, &what, &result, &err) > 0, "%s", err.message);
}

Test(roof, the_newest_of_the_same_threads_and_instruction_set)
{
    struct rml_error err = RML_ERROR_INIT;
    char path[] = "/tmp/rml-roof-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
    struct store *store = store_open(path, STORE_WRITE, &err);
    cr_assert(store, "%s", err.message);
    char *argv[] = {"roof", NULL};
    struct store_run run = {.kind = STORE_RUN_BENCH, .argc = 1, .argv = argv, .seed = -1};
    int64_t id = store_begin_run(store, &run, &err);
    struct roof roof;
    cr_assert(roof_of(store, id, 2, "avx2", &roof, &err), "%s", err.message);
    cr_expect(isnan(roof.read_bytes_per_second) && isnan(roof.fma_f32_per_second));

    add(store, id, "read_bandwidth", "avx2", 2, 1e6, 0, 50000);  /* 20 GB/s */
    add(store, id, "read_bandwidth", "avx2", 2, 1e6, 0, 100000); /* newer: 10 GB/s */
    add(store, id, "read_bandwidth", "avx2", 1, 1e6, 0, 200000);
    add(store, id, "fma_f32", "avx2", 2, 0, 1e6, 4000); /* 250 GFLOP/s */
    add(store, id, "dot_i8", "avx512", 2, 0, 1e6, 1000);
    int64_t later = store_begin_run(store, &run, &err);
    cr_assert(roof_of(store, later, 2, "avx2", &roof, &err), "%s", err.message);
    cr_expect(fabs(roof.read_bytes_per_second - 10e9) < 1, "%g", roof.read_bytes_per_second);
    cr_expect(fabs(roof.fma_f32_per_second - 250e9) < 1);
    cr_expect(isnan(roof.dot_i8_per_second));
    cr_assert(roof_of(NULL, 0, 2, "avx2", &roof, &err));
    cr_expect(isnan(roof.read_bytes_per_second));
    store_close(store);
    remove(path);
}
