#include "tools/cli/help_text.h"

#include <stdio.h>
#include <string.h>

static size_t columns_of(const char *text, size_t nbytes)
{
    size_t n = 0;
    for (size_t i = 0; i < nbytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80; /* what begins a UTF-8 character */
    return n;
}

static void put_broken(FILE *out, const char *line, size_t nbytes, size_t width, size_t indent)
{
    size_t column = 0;
    while (nbytes > 0) {
        const char *blank = memchr(line, ' ', nbytes);
        size_t n = blank ? (size_t)(blank - line) : nbytes, columns = columns_of(line, n);
        if (column > 0 && column + 1 + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        fwrite(line, 1, n, out);
        column += columns;
        n += blank != NULL;
        line += n;
        nbytes -= n;
    }
}

char *cli_help_text(const char *text, size_t width, size_t indent)
{
    char *broken = NULL;
    size_t broken_nbytes = 0;
    FILE *out = open_memstream(&broken, &broken_nbytes);
    if (!out)
        return NULL;
    for (;;) {
        size_t n = strcspn(text, "\n");
        if (*text == ' ')
            fwrite(text, 1, n, out);
        else
            put_broken(out, text, n, width, indent);
        text += n;
        if (*text == 0)
            break;
        fputc(*text++, out);
    }
    return fclose(out) == 0 ? broken : NULL;
}
