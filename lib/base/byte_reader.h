/*
 * A bounds-checked cursor over untrusted bytes.
 *
 * Every read either succeeds and moves on, or returns false and changes
 * nothing, so that `position` names the place of a failure. Numbers are
 * little-endian at any alignment.
 */
#ifndef RML_BASE_BYTE_READER_H
#define RML_BASE_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* File numbers are copied into native ones as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rml needs a little-endian machine");

struct rmli_byte_reader {
    const uint8_t *data; /* borrowed */
    size_t nbytes;
    size_t position; /* <= nbytes */
};

static inline size_t rmli_reader_remaining(const struct rmli_byte_reader *r)
{
    return r->nbytes - r->position;
}

/* *bytes points at the next nbytes of the input. */
static inline bool rmli_read_bytes(struct rmli_byte_reader *r, uint64_t nbytes,
                                   const uint8_t **bytes)
{
    if (nbytes > rmli_reader_remaining(r))
        return false;
    *bytes = r->data + r->position;
    r->position += (size_t)nbytes;
    return true;
}

static inline bool rmli_read_u32(struct rmli_byte_reader *r, uint32_t *value)
{
    const uint8_t *bytes;
    if (!rmli_read_bytes(r, sizeof *value, &bytes))
        return false;
    memcpy(value, bytes, sizeof *value);
    return true;
}

static inline bool rmli_read_u64(struct rmli_byte_reader *r, uint64_t *value)
{
    const uint8_t *bytes;
    if (!rmli_read_bytes(r, sizeof *value, &bytes))
        return false;
    memcpy(value, bytes, sizeof *value);
    return true;
}

#endif
