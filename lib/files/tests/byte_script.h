/*
 * Files written down as short scripts, so that a table can hold a hundred
 * broken ones.
 *
 *     'text'      the bytes between the quotes
 *     s'text'     u64 length, then the bytes (a GGUF string)
 *     j'text'     the same; the header of a safetensors file
 *     1:n 2:n 4:n 8:n    a little-endian integer of that many bytes, as strtoull
 *                        reads it (decimal, 0x..., negative)
 *     f:x         an f32
 *     z:n         n zero bytes
 *     a:n         zero bytes up to a multiple of n
 *     ^           nothing; marks the offset that an error should name
 *
 * Items are separated by spaces. In text ` stands for ", ^ is the mark as
 * well, and %xx (two hex digits) is a byte.
 */
#ifndef RML_FILES_TESTS_BYTE_SCRIPT_H
#define RML_FILES_TESTS_BYTE_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct script_bytes {
    uint8_t bytes[1 << 17];
    size_t nbytes;
    int64_t mark; /* -1 when the script has none */
};

/* Assembles a script; a mistake in it ends the test. */
void script_assemble(struct script_bytes *out, const char *script);

#endif
