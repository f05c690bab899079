/* Aligned memory, vectors that grow, and the arena. */
#include "base/memory.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"

Test(memory, sizes_are_checked)
{
    size_t n = 7;
    cr_assert(rmli_size_mul(1 << 20, 1 << 20, &n));
    cr_assert_eq(n, (size_t)1 << 40);
    cr_assert_not(rmli_size_mul((size_t)1 << 32, (size_t)1 << 32, &n));
    cr_assert(rmli_size_mul(SIZE_MAX, 1, &n));
    cr_assert(rmli_size_mul(SIZE_MAX, 0, &n));
    cr_assert_eq(n, 0u);
    cr_assert(rmli_size_add(SIZE_MAX - 1, 1, &n));
    cr_assert_eq(n, SIZE_MAX);
    cr_assert_not(rmli_size_add(SIZE_MAX, 1, &n));
}

Test(memory, blocks_are_aligned_and_writable)
{
    static const size_t sizes[] = {0, 1, 7, 63, 64, 65, 4096, 1 << 17, (1 << 20) - 1, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        uint8_t *p = rmli_alloc(sizes[i], 1, &err);
        cr_assert_not_null(p);
        cr_expect_eq((uintptr_t)p % RMLI_ALIGNMENT, 0u);
        memset(p, 0xa5, sizes[i]);
        rmli_free(p);
        uint64_t *zeroed = rmli_alloc_zeroed(sizes[i], sizeof *zeroed, &err);
        cr_assert_not_null(zeroed);
        cr_expect_eq((uintptr_t)zeroed % RMLI_ALIGNMENT, 0u);
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(zeroed[k], 0u);
        rmli_free(zeroed);
        cr_expect_eq(err.code, RML_OK);
    }
    rmli_free(NULL);
}

Test(memory, tables_are_zeroed_and_begin_at_large_pages)
{
    static const size_t sizes[] = {0, 100, (2 << 20) - 1, 2 << 20, (4 << 20) + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        uint8_t *p = rmli_alloc_table(sizes[i], 1, &err);
        cr_assert_not_null(p);
        cr_expect_eq((uintptr_t)p % (sizes[i] < 2 << 20 ? RMLI_ALIGNMENT : 2 << 20), 0u);
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(p[k], 0u);
        memset(p, 0xa5, sizes[i]);
        rmli_free(p);
    }
}

Test(memory, impossible_sizes_are_errors)
{
    static const size_t pairs[][2] = {{SIZE_MAX, 2},
                                      {SIZE_MAX, 1},
                                      {SIZE_MAX - 70, 1},
                                      {(size_t)1 << 33, (size_t)1 << 31},
                                      {PTRDIFF_MAX, 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_null(rmli_alloc(pairs[i][0], pairs[i][1], &err));
        cr_expect_eq(err.code, RML_NO_MEMORY);
        cr_expect_null(rmli_alloc_zeroed(pairs[i][0], pairs[i][1], NULL));
        cr_expect_null(rmli_alloc_table(pairs[i][0], pairs[i][1], NULL));
    }
}

/* A zeroed gigabyte costs no memory until it is touched. */
Test(memory, large_zeroed_blocks_are_not_resident)
{
    size_t nbytes = (size_t)1 << 30, page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = rmli_alloc_zeroed(nbytes, 1, NULL);
    cr_assert_not_null(p);
    uint8_t *begin = (uint8_t *)(((uintptr_t)p + page - 1) / page * page);
    size_t n_pages = nbytes / page - 1, n_resident = 0;
    unsigned char *resident = malloc(n_pages);
    cr_assert_not_null(resident);
    cr_assert_eq(mincore(begin, n_pages * page, resident), 0);
    for (size_t i = 0; i < n_pages; i++)
        n_resident += resident[i] & 1;
    cr_expect_lt(n_resident, n_pages / 8);
    free(resident);
    rmli_free(p);
}

Test(memory, a_vector_grows_and_keeps_its_elements)
{
    uint32_t *elems = NULL;
    size_t n = 0, capacity = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        void *grown = elems;
        cr_assert(rmli_reserve_one(&grown, n, &capacity, sizeof *elems, NULL));
        elems = grown;
        elems[n++] = i * 2654435761u;
    }
    cr_expect_geq(capacity, n);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(elems[i], i * 2654435761u);
    rmli_free(elems);
}

Test(memory, a_vector_that_cannot_grow_stays_as_it_was)
{
    uint8_t some[4] = {1, 2, 3, 4};
    void *elems = some;
    size_t capacity = SIZE_MAX / 2 + 1;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert_not(rmli_reserve_one(&elems, capacity, &capacity, 1, &err));
    cr_expect_eq(err.code, RML_NO_MEMORY);
    cr_expect_eq(elems, some);
    cr_expect_eq(capacity, SIZE_MAX / 2 + 1);
}

Test(memory, strings_are_copied)
{
    char text[] = "abc";
    char *copy = rmli_strdup(text, NULL);
    text[0] = 'x';
    cr_assert_str_eq(copy, "abc");
    free(copy);
}

Test(arena, blocks_stay_apart_and_in_place)
{
    struct rmli_arena arena = {0};
    enum { N = 2000 };
    static uint8_t *blocks[N];
    for (size_t i = 0; i < N; i++) {
        size_t nbytes = i * 37 % 501 + (i % 400 == 399 ? 100000 : 0);
        blocks[i] = rmli_arena_alloc(&arena, nbytes, NULL);
        cr_assert_not_null(blocks[i]);
        cr_assert_eq((uintptr_t)blocks[i] % _Alignof(max_align_t), 0u);
        memset(blocks[i], (int)(i % 251), nbytes);
    }
    for (size_t i = 0; i < N; i++) {
        size_t nbytes = i * 37 % 501 + (i % 400 == 399 ? 100000 : 0);
        for (size_t k = 0; k < nbytes; k++)
            cr_assert_eq(blocks[i][k], i % 251);
    }
    rmli_arena_release(&arena);
    cr_assert_null(arena.chunks);
    cr_assert_not_null(rmli_arena_alloc(&arena, 1, NULL), "usable again");
    rmli_arena_release(&arena);
}

Test(arena, strings_are_terminated_copies)
{
    struct rmli_arena arena = {0};
    const char bytes[] = {'a', 0, 'b'};
    const char *copy = rmli_arena_copy_string(&arena, bytes, sizeof bytes, NULL);
    cr_assert_eq(memcmp(copy, "a\0b\0", 4), 0);
    cr_assert_str_eq(rmli_arena_copy_string(&arena, NULL, 0, NULL), "");
    rmli_arena_release(&arena);
}

Test(arena, impossible_sizes_are_errors)
{
    struct rmli_arena arena = {0};
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 16, SIZE_MAX - 100,
                                   PTRDIFF_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_null(rmli_arena_alloc(&arena, sizes[i], &err), "%zu", sizes[i]);
        cr_expect_eq(err.code, RML_NO_MEMORY);
    }
    rmli_arena_release(&arena);
}
