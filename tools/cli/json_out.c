/*
 * JSON as the programs print it.
 */
#include "tools/cli/json_out.h"

#include <math.h>
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
