/*
 * Text as Python counts it.
 */
#include "eval/python_text.h"

#include <stdbool.h>
#include <stdint.h>

/* str.isspace: bidirectional type WS, B or S, or category Zs (Unicode 15). */
static bool is_space(uint32_t c)
{
    return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The code point at text[i], i < nbytes; *n: its bytes. White space is all that is asked for, and
 * the last of it is U+3000, so sequences of four bytes are only measured. */
static uint32_t code_point(const char *text, size_t nbytes, size_t i, size_t *n)
{
    const unsigned char *p = (const unsigned char *)text + i;
    size_t length = p[0] < 0xc2 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 1;
    *n = 1;
    for (size_t j = 1; j < length; j++)
        if (i + j >= nbytes || !continues(text[i + j]))
            return p[0];
    *n = length;
    return length == 1   ? p[0]
           : length == 2 ? (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU)
           : length == 3 ? (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU)
                         : 0x10000;
}

size_t python_length(const char *text, size_t nbytes)
{
    size_t count = 0, n;
    for (size_t i = 0; i < nbytes; i += n, count++)
        code_point(text, nbytes, i, &n);
    return count;
}

size_t python_rstrip_nbytes(const char *text, size_t nbytes)
{
    size_t end = 0, n;
    for (size_t i = 0; i < nbytes; i += n)
        if (!is_space(code_point(text, nbytes, i, &n)))
            end = i + n;
    return end;
}

size_t python_leading_space_nbytes(const char *text, size_t nbytes)
{
    size_t i = 0, n;
    while (i < nbytes && is_space(code_point(text, nbytes, i, &n)))
        i += n;
    return i;
}

size_t python_n_words_begun(const char *text, size_t nbytes, size_t begin)
{
    size_t count = 0, n;
    bool in_space = true;
    for (size_t i = 0; i < nbytes; i += n) {
        bool space = is_space(code_point(text, nbytes, i, &n));
        count += i >= begin && !space && in_space;
        in_space = space;
    }
    return count;
}

size_t python_n_words(const char *text, size_t nbytes)
{
    size_t count = 1, n;
    bool in_space = false;
    for (size_t i = 0; i < nbytes; i += n) {
        bool space = is_space(code_point(text, nbytes, i, &n));
        count += space && !in_space;
        in_space = space;
    }
    return count;
}
