/*
 * Values of JSON as fields of CSV.
 */
#include "tools/cli/json_csv.h"

#include <string.h>

void cli_put_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void cli_put_csv(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        cli_put_csv_text(out, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.17g", json_real_value(value));
}
