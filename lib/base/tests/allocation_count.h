/*
 * Counts what a test program allocates: to be included by one file of it. Sanitizers have
 * allocators of their own; SANITIZED is then defined, and nothing is counted.
 */
#ifndef BASE_TESTS_ALLOCATION_COUNT_H
#define BASE_TESTS_ALLOCATION_COUNT_H

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#ifndef SANITIZED
static atomic_size_t n_allocations;

/* glibc's own entry points, behind the standard names that this program replaces. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t n)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    atomic_fetch_add(&n_allocations, 1);
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    atomic_fetch_add(&n_allocations, 1);
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : 12;
}
#endif

#endif
