/*
 * Errors: the first one wins, and what it says is safe to print.
 *
 * Names in a message often come from a hostile file. Control characters could
 * drive a terminal and broken UTF-8 could not be written as JSON, so both
 * become '?' before anyone sees them; a cut never leaves half a character.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char *const code_names[] = {
    [RML_OK] = "ok",
    [RML_INVALID_ARGUMENT] = "invalid-argument",
    [RML_NOT_FOUND] = "not-found",
    [RML_IO] = "io",
    [RML_FORMAT] = "format",
    [RML_UNSUPPORTED] = "unsupported",
    [RML_OUT_OF_RANGE] = "out-of-range",
    [RML_NO_MEMORY] = "no-memory",
    [RML_CANCELLED] = "cancelled",
    [RML_INTERNAL] = "internal",
};

const char *rml_code_name(enum rml_code code)
{
    size_t i = (size_t)code;
    return i < sizeof code_names / sizeof code_names[0] ? code_names[i] : "unknown";
}

void rml_error_clear(struct rml_error *err)
{
    if (err)
        *err = (struct rml_error)RML_ERROR_INIT;
}

/* `cut`: the text was truncated at its end, where a broken sequence is
 * dropped instead of replaced. */
static void make_printable(char *text, bool cut)
{
    uint8_t *p = (uint8_t *)text;
    size_t n = strlen(text);
    while (n > 0) {
        size_t length = rmli_utf8_sequence_nbytes(p, n);
        if (length == 0 || rmli_utf8_is_control(p, length)) {
            if (length == 0 && cut && n < 4 && p[0] >= 0xc2) {
                *p = 0;
                return;
            }
            *p = '?';
            if (length == 2) { /* a C1 control: both bytes go */
                memmove(p + 1, p + 2, n - 1);
                n--;
            }
            length = 1;
        }
        p += length;
        n -= length;
    }
}

bool rmli_fail(struct rml_error *err, enum rml_code code, const char *file, int64_t offset,
               const char *format, ...)
{
    if (!err || err->code != RML_OK)
        return false;
    err->code = code;
    err->offset = offset;

    size_t file_nbytes = file ? strlen(file) : 0;
    const char *tail = file ? file : "";
    if (file_nbytes >= sizeof err->file) {
        tail += file_nbytes - (sizeof err->file - 1);
        while (((uint8_t)*tail & 0xc0) == 0x80)
            tail++;
    }
    snprintf(err->file, sizeof err->file, "%s", tail);
    make_printable(err->file, false);

    va_list args;
    va_start(args, format);
    int nbytes = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (nbytes < 0)
        snprintf(err->message, sizeof err->message, "a message that could not be formatted");
    make_printable(err->message, nbytes >= (int)sizeof err->message);
    return false;
}
