/*
 * A JSON pull parser (RFC 8259), strict: no comments, no trailing commas, no
 * leading zeros, strings in well-formed UTF-8, surrogates in pairs.
 */
#include "files/json_cursor.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

size_t rmli_json_offset(const struct rmli_json_cursor *c)
{
    return c->file_offset + c->in.position;
}

bool rmli_json_fail(struct rmli_json_cursor *c, size_t offset, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    c->failed = true;
    return rmli_fail(c->err, RML_FORMAT, c->file, (int64_t)offset, "%s", message);
}

static int peek(const struct rmli_json_cursor *c)
{
    return rmli_reader_remaining(&c->in) > 0 ? c->in.data[c->in.position] : -1;
}

int rmli_json_peek(struct rmli_json_cursor *c)
{
    int byte = peek(c);
    while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        c->in.position++;
        byte = peek(c);
    }
    return byte;
}

size_t rmli_json_value_offset(struct rmli_json_cursor *c)
{
    rmli_json_peek(c);
    return rmli_json_offset(c);
}

static bool fail_expected(struct rmli_json_cursor *c, const char *expected)
{
    int byte = peek(c);
    if (byte < 0)
        return rmli_json_fail(c, rmli_json_offset(c), "the JSON text ends, expected %s", expected);
    if (byte > 0x20 && byte < 0x7f)
        return rmli_json_fail(c, rmli_json_offset(c), "JSON has '%c', expected %s", byte, expected);
    return rmli_json_fail(c, rmli_json_offset(c), "JSON has byte 0x%02x, expected %s",
                          (unsigned)byte, expected);
}

static bool expect(struct rmli_json_cursor *c, char token)
{
    if (c->failed)
        return false;
    if (rmli_json_peek(c) != token) {
        char expected[] = {'\'', token, '\'', 0};
        return fail_expected(c, expected);
    }
    c->in.position++;
    return true;
}

/* ---- Strings ------------------------------------------------------------ */

static bool read_hex4(struct rmli_json_cursor *c, uint32_t *unit)
{
    const uint8_t *digits;
    size_t start = rmli_json_offset(c);
    *unit = 0;
    if (!rmli_read_bytes(&c->in, 4, &digits))
        return rmli_json_fail(c, start, "the JSON text ends inside an escape");
    for (int i = 0; i < 4; i++) {
        uint8_t d = digits[i], lower = d | 0x20;
        if (d >= '0' && d <= '9')
            *unit = *unit << 4 | (uint32_t)(d - '0');
        else if (lower >= 'a' && lower <= 'f')
            *unit = *unit << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return rmli_json_fail(c, start, "JSON has an escape \\u without four hex digits");
    }
    return true;
}

/* The escape at the cursor, its backslash already read, appended to out. */
static bool read_escape(struct rmli_json_cursor *c, char *out, size_t *nbytes)
{
    size_t start = rmli_json_offset(c) - 1;
    int byte = peek(c);
    if (byte < 0)
        return rmli_json_fail(c, start, "the JSON text ends inside an escape");
    c->in.position++;
    uint32_t unit, low;
    switch (byte) {
    case '"':
    case '\\':
    case '/':
        out[(*nbytes)++] = (char)byte;
        return true;
    case 'b':
        out[(*nbytes)++] = '\b';
        return true;
    case 'f':
        out[(*nbytes)++] = '\f';
        return true;
    case 'n':
        out[(*nbytes)++] = '\n';
        return true;
    case 'r':
        out[(*nbytes)++] = '\r';
        return true;
    case 't':
        out[(*nbytes)++] = '\t';
        return true;
    case 'u':
        if (!read_hex4(c, &unit))
            return false;
        if (unit >= 0xd800 && unit <= 0xdfff) {
            const uint8_t *bytes;
            if (unit >= 0xdc00 || !rmli_read_bytes(&c->in, 2, &bytes) || bytes[0] != '\\' ||
                bytes[1] != 'u')
                return rmli_json_fail(c, start, "JSON has half a surrogate pair");
            if (!read_hex4(c, &low))
                return false;
            if (low < 0xdc00 || low > 0xdfff)
                return rmli_json_fail(c, start, "JSON has half a surrogate pair");
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
        *nbytes += rmli_utf8_encode(unit, out + *nbytes);
        return true;
    default:
        return rmli_json_fail(c, start, "JSON has an unknown escape");
    }
}

/* Moves behind the closing quote; *has_escapes tells whether the bytes between
 * the quotes are the string itself. */
static bool scan_string(struct rmli_json_cursor *c, bool *has_escapes)
{
    size_t start = rmli_json_offset(c) - 1;
    *has_escapes = false;
    for (;;) {
        const uint8_t *p = c->in.data + c->in.position;
        size_t length = rmli_utf8_sequence_nbytes(p, rmli_reader_remaining(&c->in));
        if (length == 0 && peek(c) < 0)
            return rmli_json_fail(c, start, "a JSON string has no end");
        if (length == 0)
            return rmli_json_fail(c, rmli_json_offset(c), "a JSON string is not UTF-8");
        if (*p < 0x20)
            return rmli_json_fail(c, rmli_json_offset(c),
                                  "a JSON string has the bare control character 0x%02x", *p);
        c->in.position += length;
        if (*p == '"')
            return true;
        if (*p == '\\') {
            *has_escapes = true;
            if (peek(c) == '"' || peek(c) == '\\')
                c->in.position++;
        }
    }
}

bool rmli_json_read_string(struct rmli_json_cursor *c, struct rmli_json_string *s)
{
    if (c->failed)
        return false;
    if (rmli_json_peek(c) != '"')
        return fail_expected(c, "a string");
    s->offset = rmli_json_offset(c);
    c->in.position++;
    size_t begin = c->in.position;
    bool has_escapes;
    if (!scan_string(c, &has_escapes))
        return false;
    size_t end = c->in.position - 1;
    s->data = (const char *)c->in.data + begin;
    s->nbytes = end - begin;
    if (!has_escapes)
        return true;

    /* No escape is shorter than what it stands for. */
    char *out = rmli_arena_alloc(c->strings, s->nbytes, c->err);
    if (!out) {
        c->failed = true;
        return false;
    }
    size_t nbytes = 0;
    c->in.position = begin;
    while (c->in.position < end) {
        char byte = (char)c->in.data[c->in.position++];
        if (byte != '\\')
            out[nbytes++] = byte;
        else if (!read_escape(c, out, &nbytes))
            return false;
    }
    c->in.position = end + 1;
    s->data = out;
    s->nbytes = nbytes;
    return true;
}

/* ---- Objects and arrays ------------------------------------------------- */

bool rmli_json_enter(struct rmli_json_cursor *c, char open)
{
    c->entered = true;
    return expect(c, open);
}

/* True when one more member of what ends with `close` comes next. */
static bool next_member(struct rmli_json_cursor *c, char close)
{
    if (c->failed)
        return false;
    int byte = rmli_json_peek(c);
    bool first = c->entered;
    c->entered = false;
    if (byte == close) {
        c->in.position++;
        return false;
    }
    if (first)
        return true;
    if (byte != ',')
        return fail_expected(c, close == '}' ? "',' or '}'" : "',' or ']'");
    c->in.position++;
    return true;
}

bool rmli_json_next_key(struct rmli_json_cursor *c, struct rmli_json_string *key)
{
    return next_member(c, '}') && rmli_json_read_string(c, key) && expect(c, ':');
}

bool rmli_json_next_element(struct rmli_json_cursor *c)
{
    return next_member(c, ']');
}

/* ---- Other values ------------------------------------------------------- */

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

bool rmli_json_read_u64(struct rmli_json_cursor *c, uint64_t *value)
{
    if (c->failed)
        return false;
    if (!is_digit(rmli_json_peek(c)))
        return fail_expected(c, "an integer that is not negative");
    size_t start = rmli_json_offset(c);
    bool leading_zero = peek(c) == '0', fits = true;
    size_t n_digits = 0;
    *value = 0;
    for (; is_digit(peek(c)); c->in.position++, n_digits++)
        fits = fits && !__builtin_mul_overflow(*value, 10, value) &&
               !__builtin_add_overflow(*value, (uint64_t)(peek(c) - '0'), value);
    if (leading_zero && n_digits > 1)
        return rmli_json_fail(c, start, "JSON has a number with a leading zero");
    if (!fits)
        return rmli_json_fail(c, start, "JSON has an integer that does not fit 64 bits");
    if (peek(c) == '.' || peek(c) == 'e' || peek(c) == 'E')
        return rmli_json_fail(c, start, "JSON has a fraction or exponent, expected an integer");
    return true;
}

static bool skip_digits(struct rmli_json_cursor *c)
{
    if (!is_digit(peek(c)))
        return fail_expected(c, "a digit");
    while (is_digit(peek(c)))
        c->in.position++;
    return true;
}

static bool skip_number(struct rmli_json_cursor *c)
{
    if (peek(c) == '-')
        c->in.position++;
    if (peek(c) == '0')
        c->in.position++;
    else if (!skip_digits(c))
        return false;
    if (peek(c) == '.') {
        c->in.position++;
        if (!skip_digits(c))
            return false;
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        c->in.position++;
        if (peek(c) == '+' || peek(c) == '-')
            c->in.position++;
        return skip_digits(c);
    }
    return true;
}

static bool skip_literal(struct rmli_json_cursor *c, const char *literal)
{
    const uint8_t *bytes;
    size_t start = rmli_json_offset(c);
    if (!rmli_read_bytes(&c->in, strlen(literal), &bytes) ||
        memcmp(bytes, literal, strlen(literal)) != 0)
        return rmli_json_fail(c, start, "JSON has an unknown word, expected %s", literal);
    return true;
}

static bool skip_nested(struct rmli_json_cursor *c, int depth)
{
    struct rmli_json_string ignored;
    switch (rmli_json_peek(c)) {
    case '{':
    case '[':
        if (depth >= RMLI_JSON_MAX_DEPTH)
            return rmli_json_fail(c, rmli_json_offset(c), "JSON is nested more than %d deep",
                                  RMLI_JSON_MAX_DEPTH);
        if (peek(c) == '{') {
            rmli_json_enter(c, '{');
            while (rmli_json_next_key(c, &ignored) && skip_nested(c, depth + 1))
                ;
        } else {
            rmli_json_enter(c, '[');
            while (rmli_json_next_element(c) && skip_nested(c, depth + 1))
                ;
        }
        return !c->failed;
    case '"':
        return rmli_json_read_string(c, &ignored);
    case 't':
        return skip_literal(c, "true");
    case 'f':
        return skip_literal(c, "false");
    case 'n':
        return skip_literal(c, "null");
    default:
        if (peek(c) != '-' && !is_digit(peek(c)))
            return fail_expected(c, "a value");
        return skip_number(c);
    }
}

bool rmli_json_skip(struct rmli_json_cursor *c)
{
    return !c->failed && skip_nested(c, 0);
}

bool rmli_json_end(struct rmli_json_cursor *c)
{
    if (c->failed)
        return false;
    return rmli_json_peek(c) < 0 || fail_expected(c, "the end");
}
