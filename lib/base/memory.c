/*
 * Aligned memory: sizes checked before the system is asked.
 *
 * The aligned block lies inside a larger one of malloc or calloc rather than
 * one of aligned_alloc, because only calloc knows that fresh pages are zero
 * already: a large cache costs no memory until it is touched.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool rmli_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool rmli_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/*
 * Every block:   base ... [ base pointer ] block
 *
 * where `base` came from malloc or calloc and `block` is the first multiple
 * of RMLI_ALIGNMENT that leaves room for the pointer.
 */
static void *allocate(size_t nelems, size_t elem_nbytes, bool zeroed, struct rml_error *err)
{
    const size_t slack = RMLI_ALIGNMENT + sizeof(void *);
    size_t nbytes, total_nbytes;
    if (!rmli_size_mul(nelems, elem_nbytes, &nbytes) ||
        !rmli_size_add(nbytes, slack, &total_nbytes) || total_nbytes > PTRDIFF_MAX) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "%zu x %zu bytes do not fit an address", nelems,
                  elem_nbytes);
        return NULL;
    }
    char *base = zeroed ? calloc(1, total_nbytes) : malloc(total_nbytes);
    if (!base) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
        return NULL;
    }
    uintptr_t address = (uintptr_t)base + sizeof(void *);
    size_t to_boundary = (RMLI_ALIGNMENT - address % RMLI_ALIGNMENT) % RMLI_ALIGNMENT;
    char *block = base + sizeof(void *) + to_boundary;
    memcpy(block - sizeof(void *), &base, sizeof base);
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
