/*
 * Aligned memory: sizes checked before the system is asked.
 *
 * A block ends where its allocation ends, so that a sanitizer sees the first
 * byte beyond it. The exception are large zeroed blocks: only calloc knows that
 * fresh pages are zero already, which keeps a large cache from costing memory
 * before it is used, and calloc does not align.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool rmli_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool rmli_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* Zeroed blocks from here on are left to calloc. */
#define LARGE_NBYTES ((size_t)1 << 18)

/*
 * Every block:   base ... [ base pointer ] block
 *
 * where the system knows the allocation as `base` and `block` is a multiple of
 * RMLI_ALIGNMENT. base_nbytes is that of the whole allocation.
 */
static void *place(char *base, char *block)
{
    memcpy(block - sizeof base, &base, sizeof base);
    return block;
}

static void *allocate_exact(size_t base_nbytes)
{
    void *base;
    if (posix_memalign(&base, RMLI_ALIGNMENT, base_nbytes) != 0)
        return NULL;
    return place(base, (char *)base + RMLI_ALIGNMENT);
}

static void *allocate_large_zeroed(size_t base_nbytes, size_t alignment)
{
    char *base = calloc(1, base_nbytes);
    if (!base)
        return NULL;
    uintptr_t address = (uintptr_t)base + sizeof base;
    size_t to_boundary = (alignment - address % alignment) % alignment;
    return place(base, base + sizeof base + to_boundary);
}

static void *allocate(size_t nelems, size_t elem_nbytes, bool zeroed, struct rml_error *err)
{
    /* The alignment and the pointer, wherever the allocation begins. */
    const size_t slack_nbytes = RMLI_ALIGNMENT + sizeof(void *);
    size_t nbytes, base_nbytes;
    if (!rmli_size_mul(nelems, elem_nbytes, &nbytes) ||
        !rmli_size_add(nbytes, slack_nbytes, &base_nbytes) || base_nbytes > PTRDIFF_MAX) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "%zu x %zu bytes do not fit an address", nelems,
                  elem_nbytes);
        return NULL;
    }
    bool by_calloc = zeroed && nbytes >= LARGE_NBYTES;
    void *block = by_calloc ? allocate_large_zeroed(base_nbytes, RMLI_ALIGNMENT)
                            : allocate_exact(RMLI_ALIGNMENT + nbytes);
    if (!block)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
    else if (zeroed && !by_calloc)
        memset(block, 0, nbytes);
    return block;
}

void *rmli_alloc(size_t nelems, size_t elem_nbytes, struct rml_error *err)
{
    return allocate(nelems, elem_nbytes, false, err);
}

void *rmli_alloc_zeroed(size_t nelems, size_t elem_nbytes, struct rml_error *err)
{
    return allocate(nelems, elem_nbytes, true, err);
}

/* The large pages of x86 and of most ARM systems. Where they are larger, or where the system has
 * none to give, the advice has no effect. */
#define LARGE_PAGE_NBYTES ((size_t)1 << 21)

/* Gives the whole pages of a block their memory now; systems before Linux 5.14 do so when they are
 * written to. */
static void populate(void *block, size_t nbytes)
{
#ifdef MADV_POPULATE_WRITE
    const size_t page_nbytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)block + page_nbytes - 1) & ~(page_nbytes - 1);
    uintptr_t end = ((uintptr_t)block + nbytes) & ~(page_nbytes - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)block, (void)nbytes;
#endif
}

void *rmli_alloc_table(size_t nelems, size_t elem_nbytes, struct rml_error *err)
{
    size_t nbytes, base_nbytes;
    if (!rmli_size_mul(nelems, elem_nbytes, &nbytes) || nbytes < LARGE_NBYTES ||
        !rmli_size_add(nbytes, LARGE_PAGE_NBYTES + sizeof(void *), &base_nbytes) ||
        base_nbytes > PTRDIFF_MAX)
        return rmli_alloc_zeroed(nelems, elem_nbytes, err);
    bool large = nbytes >= LARGE_PAGE_NBYTES;
    void *table =
        large ? allocate_large_zeroed(base_nbytes, LARGE_PAGE_NBYTES)
              : allocate_large_zeroed(RMLI_ALIGNMENT + sizeof(void *) + nbytes, RMLI_ALIGNMENT);
    if (!table) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
        return NULL;
    }
    if (large)
        (void)madvise(table, nbytes & ~(LARGE_PAGE_NBYTES - 1), MADV_HUGEPAGE);
    populate(table, nbytes);
    return table;
}

bool rmli_reserve_one(void **elems, size_t n, size_t *capacity, size_t elem_nbytes,
                      struct rml_error *err)
{
    if (n < *capacity)
        return true;
    size_t larger;
    if (!rmli_size_mul(*capacity < 8 ? 8 : *capacity, 2, &larger))
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "a table of %zu entries is full", n);
    void *moved = rmli_alloc(larger, elem_nbytes, err);
    if (!moved)
        return false;
    if (n > 0)
        memcpy(moved, *elems, n * elem_nbytes);
    rmli_free(*elems);
    *elems = moved;
    *capacity = larger;
    return true;
}

void rmli_free(void *p)
{
    if (!p)
        return;
    void *base;
    memcpy(&base, (char *)p - sizeof(void *), sizeof base);
    free(base);
}

char *rmli_strdup(const char *s, struct rml_error *err)
{
    char *copy = strdup(s);
    if (!copy)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a string of %zu bytes", strlen(s));
    return copy;
}
