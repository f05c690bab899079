#include "byte_script.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void put(struct script_bytes *out, const void *bytes, size_t nbytes)
{
    cr_assert_leq(nbytes, sizeof out->bytes - out->nbytes, "a script makes too many bytes");
    memcpy(out->bytes + out->nbytes, bytes, nbytes);
    out->nbytes += nbytes;
}

static void put_zeros(struct script_bytes *out, size_t nbytes)
{
    cr_assert_leq(nbytes, sizeof out->bytes - out->nbytes, "a script makes too many bytes");
    memset(out->bytes + out->nbytes, 0, nbytes);
    out->nbytes += nbytes;
}

/* s is behind the opening quote; the result is behind the closing one. */
static const char *put_text(struct script_bytes *out, const char *s)
{
    for (; *s != '\''; s++) {
        cr_assert_neq(*s, 0, "a script has a text without end");
        if (*s == '^') {
            out->mark = (int64_t)out->nbytes;
        } else if (*s == '%') {
            char digits[3] = {s[1], s[2], 0};
            uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);
            put(out, &byte, 1);
            s += 2;
        } else {
            put(out, *s == '`' ? "\"" : s, 1);
        }
    }
    return s + 1;
}

static const char *put_item(struct script_bytes *out, const char *s)
{
    if (*s == '^') {
        out->mark = (int64_t)out->nbytes;
        return s + 1;
    }
    if (*s == '\'')
        return put_text(out, s + 1);
    if ((*s == 's' || *s == 'j') && s[1] == '\'') {
        size_t start = out->nbytes;
        put_zeros(out, 8);
        const char *end = put_text(out, s + 2);
        uint64_t nbytes = out->nbytes - start - 8;
        memcpy(out->bytes + start, &nbytes, sizeof nbytes);
        return end;
    }
    cr_assert_eq(s[1], ':', "a script has an unknown item: %s", s);
    char *end;
    if (*s == 'f') {
        float value = strtof(s + 2, &end);
        put(out, &value, sizeof value);
        return end;
    }
    uint64_t value = strtoull(s + 2, &end, 0);
    if (*s == 'z')
        put_zeros(out, value);
    else if (*s == 'a')
        put_zeros(out, (value - out->nbytes % value) % value);
    else
        put(out, &value, (size_t)(*s - '0'));
    return end;
}

void script_assemble(struct script_bytes *out, const char *script)
{
    out->nbytes = 0;
    out->mark = -1;
    while (*script) {
        if (*script == ' ')
            script++;
        else
            script = put_item(out, script);
    }
}
