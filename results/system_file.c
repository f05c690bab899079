#include "results/system_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)4 << 20)

char *system_file_text(const char *root, const char *path)
{
    char *name = NULL;
    if (asprintf(&name, "%s%s", root, path) < 0)
        return NULL;
    FILE *file = fopen(name, "r");
    free(name);
    if (!file)
        return NULL;

    /* These files tell no size; they are read until they end. */
    char *text = NULL;
    size_t room = 0, n = 0;
    for (;;) {
        if (room - n < 2) {
            char *larger = room < LARGEST ? realloc(text, room = 2 * room + 4096) : NULL;
            if (!larger) {
                errno = room < LARGEST ? ENOMEM : EFBIG;
                break;
            }
            text = larger;
        }
        errno = 0;
        size_t got = fread(text + n, 1, room - n - 1, file);
        n += got;
        if (got == 0)
            break;
    }
    int why = errno;
    bool failed = ferror(file) != 0 || !feof(file);
    fclose(file);
    if (failed) {
        free(text);
        errno = why ? why : EIO;
        return NULL;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = 0;
    return text;
}

bool system_file_line(const char *root, const char *path, char *out, size_t out_nbytes)
{
    char *text = system_file_text(root, path);
    out[0] = 0;
    if (!text)
        return false;
    snprintf(out, out_nbytes, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    return true;
}

int64_t system_file_number(const char *root, const char *path)
{
    char line[64], *end;
    if (!system_file_line(root, path, line, sizeof line))
        return -1;
    errno = 0;
    long long value = strtoll(line, &end, 10);
    return errno || end == line || value < 0 ? -1 : value;
}
