/*
 * JSON as the programs print it.
 */
#include "tools/cli/json_out.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_json_print(const json_t *document, int digits)
{
    json_dumpf(document, stdout,
               JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION((size_t)digits));
    fputc('\n', stdout);
}

json_t *cli_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *cli_json_text(const char *text)
{
    if (!text)
        return json_null();
    json_t *string = json_string(text);
    if (string)
        return string;
    /* Not UTF-8: a file name may hold any bytes. */
    char *copy = strdup(text);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    string = copy ? json_string(copy) : NULL;
    free(copy);
    return string;
}

/* Bytes of the sequence at p as far as it is well-formed (Unicode Standard, table 3-7), at least
 * one; *whole tells whether it is a character. */
static size_t sequence_nbytes(const unsigned char *p, size_t n, bool *whole)
{
    size_t length = p[0] < 0x80   ? 1
                    : p[0] < 0xc2 ? 0
                    : p[0] < 0xe0 ? 2
                    : p[0] < 0xf0 ? 3
                    : p[0] < 0xf5 ? 4
                                  : 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    size_t i = 1;
    for (; i < length && i < n && p[i] >= low && p[i] <= high; i++) {
        low = 0x80;
        high = 0xbf;
    }
    *whole = i == length;
    return i;
}

json_t *cli_json_bytes(const char *bytes, size_t nbytes)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *text = malloc(3 * nbytes + 1);
    if (!text)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < nbytes;) {
        bool whole;
        size_t length = sequence_nbytes((const unsigned char *)bytes + i, nbytes - i, &whole);
        size_t n_out = whole ? length : 3;
        memcpy(text + n, whole ? bytes + i : replacement, n_out);
        n += n_out;
        i += length;
    }
    json_t *string = json_stringn_nocheck(text, n);
    free(text);
    return string;
}
