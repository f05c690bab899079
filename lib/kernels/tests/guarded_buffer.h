/*
 * Memory between two pages that cannot be touched: a read or write past either
 * end is a crash, not luck. A buffer is pressed against one of the two pages.
 */
#ifndef RML_KERNELS_TESTS_GUARDED_BUFFER_H
#define RML_KERNELS_TESTS_GUARDED_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum guard_side { GUARD_BEFORE, GUARD_BEHIND };

struct guarded_buffer {
    uint8_t *data; /* nbytes, zeroed; [nbytes] or [-1] faults, by the side */
    size_t nbytes;
    uint8_t *mapping;
    size_t mapping_nbytes;
};

/* Ends the test program when there is no memory. With GUARD_BEHIND the data is
 * aligned as well as nbytes is. Pairs with guarded_buffer_release. */
void guarded_buffer_init(struct guarded_buffer *b, size_t nbytes, enum guard_side side);
void guarded_buffer_release(struct guarded_buffer *b);

#endif
