/*
 * UTF-8: well-formedness by Table 3-7 of the Unicode Standard (no overlong forms, no
 * surrogates, nothing above U+10FFFF), and reading and writing of what is well-formed.
 */
#ifndef RML_BASE_UTF8_H
#define RML_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed sequence at p (1 to 4), or 0 when the first of the
 * n bytes does not begin one. n may be 0. */
static inline size_t rmli_utf8_sequence_nbytes(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n < length)
        return 0;
    /* The lead bytes E0 ED F0 F4 narrow the range of the second byte. */
    uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* True for C0, DEL and C1 controls, given a well-formed sequence. */
static inline bool rmli_utf8_is_control(const uint8_t *p, size_t sequence_nbytes)
{
    return p[0] < 0x20 || p[0] == 0x7f || (sequence_nbytes == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

/* True when all n bytes are well-formed UTF-8 free of control characters. */
static inline bool rmli_utf8_is_printable(const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t length = rmli_utf8_sequence_nbytes(p, n);
        if (length == 0 || rmli_utf8_is_control(p, length))
            return false;
        p += length;
        n -= length;
    }
    return true;
}

/* The code point at p, which begins a well-formed sequence; *nbytes is its length. */
static inline uint32_t rmli_utf8_decode(const char *s, size_t *nbytes)
{
    const uint8_t *p = (const uint8_t *)s;
    if (p[0] < 0x80) {
        *nbytes = 1;
        return p[0];
    }
    if (p[0] < 0xe0) {
        *nbytes = 2;
        return (uint32_t)(p[0] & 31) << 6 | (p[1] & 63);
    }
    if (p[0] < 0xf0) {
        *nbytes = 3;
        return (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
    }
    *nbytes = 4;
    return (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 | (uint32_t)(p[2] & 63) << 6 |
           (p[3] & 63);
}

/* Bytes of the sequence that begins with this byte. */
static inline size_t rmli_utf8_length(char first)
{
    uint8_t byte = (uint8_t)first;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* The start of the code point that ends before `end`, not before `begin`. */
static inline size_t rmli_utf8_previous(const char *s, size_t begin, size_t end)
{
    do
        end--;
    while (end > begin && ((uint8_t)s[end] & 0xc0) == 0x80);
    return end;
}

/* Writes the code point, which is no surrogate, to out (up to 4 bytes); the number of them. */
static inline size_t rmli_utf8_encode(uint32_t code_point, char *out)
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xc0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 63));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xe0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 63));
        out[2] = (char)(0x80 | (code_point & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 63));
    out[2] = (char)(0x80 | (code_point >> 6 & 63));
    out[3] = (char)(0x80 | (code_point & 63));
    return 4;
}

#endif
