/*
 * Aligned memory.
 *
 * All buffers that vector code touches come from here: 64-byte aligned, so
 * that a row never straddles more cache lines than it must. Sizes are counts
 * times element sizes, multiplied with overflow checks, because many of them
 * derive from file data.
 */
#ifndef RML_BASE_MEMORY_H
#define RML_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define RMLI_ALIGNMENT 64

/* *out = a * b (+ c); false when the result does not fit a size_t. */
bool rmli_size_mul(size_t a, size_t b, size_t *out);
bool rmli_size_add(size_t a, size_t b, size_t *out);

/* nelems * elem_nbytes bytes, 64-byte aligned, contents undefined. A product
 * of 0 gives a valid pointer. NULL with RML_NO_MEMORY in *err on overflow or
 * exhaustion. Freed by rmli_free. */
void *rmli_alloc(size_t nelems, size_t elem_nbytes, struct rml_error *err);

/* The same, zeroed; large blocks come zeroed from the system and stay
 * non-resident until touched. */
void *rmli_alloc_zeroed(size_t nelems, size_t elem_nbytes, struct rml_error *err);

/* The same for a table that is soon written all over, such as a hash table: the system is asked
 * to back it with large pages, which cost fewer TLB misses, and to do so at once, as a fault for
 * each page would cost more than the writing. */
void *rmli_alloc_table(size_t nelems, size_t elem_nbytes, struct rml_error *err);

/*
 * Room for one more element in a vector: *elems is a block of rmli_alloc (or
 * NULL) with n of *capacity elements used, moved to a block of twice the
 * capacity when it is full. false with RML_NO_MEMORY, and nothing changed. For
 * tables whose length is only known once a file has been read.
 */
bool rmli_reserve_one(void **elems, size_t n, size_t *capacity, size_t elem_nbytes,
                      struct rml_error *err);

/* NULL is allowed. */
void rmli_free(void *p);

/* A copy of the string (malloc, freed by free); NULL with RML_NO_MEMORY. */
char *rmli_strdup(const char *s, struct rml_error *err);

#endif
