/*
 * Input files of evaluations.
 */
#include "eval/text_input.h"
#include "tools/cli/output_names.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Reading ------------------------------------------------------------------------------ */

static bool read_stream(struct text_file *file, FILE *stream, struct rml_error *err)
{
    size_t capacity = 0;
    for (;;) {
        if (capacity - file->nbytes < 2) {
            capacity = 2 * capacity + ((size_t)1 << 16);
            char *grown = realloc(file->data, capacity);
            if (!grown)
                return rmli_fail(err, RML_NO_MEMORY, file->name, -1, "no memory for %zu bytes",
                                 capacity);
            file->data = grown;
        }
        size_t n = fread(file->data + file->nbytes, 1, capacity - file->nbytes - 1, stream);
        file->nbytes += n;
        if (n > 0)
            continue;
        file->data[file->nbytes] = 0;
        return !ferror(stream) ||
               rmli_fail(err, RML_IO, file->name, -1, "cannot be read: %s", strerror(errno));
    }
}

static bool read_whole(struct text_file *file, struct rml_error *err)
{
    if (strcmp(file->name, "-") == 0)
        return read_stream(file, stdin, err);
    struct stat status;
    FILE *stream = fopen(file->name, "rb");
    if (!stream)
        return rmli_fail(err, errno == ENOENT ? RML_NOT_FOUND : RML_IO, file->name, -1,
                         "cannot be opened: %s", strerror(errno));
    bool ok = fstat(fileno(stream), &status) != 0 || !S_ISDIR(status.st_mode)
                  ? read_stream(file, stream, err)
                  : rmli_fail(err, RML_IO, file->name, -1, "a folder found, expected a file");
    fclose(stream);
    return ok;
}

/* ---- Checks ------------------------------------------------------------------------------- */

bool text_fail(const struct text_file *file, size_t line, struct rml_error *err, const char *format,
               ...)
{
    char message[900];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return rmli_fail(err, RML_FORMAT, file->name, -1, "line %zu: %s", line, message);
}

/* Bytes of the well-formed sequence at p (Unicode Standard, table 3-7), 0 when there is none. */
static size_t sequence_nbytes(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || n < length)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < length; i++, low = 0x80, high = 0xbf)
        if (p[i] < low || p[i] > high)
            return 0;
    return length;
}

static bool check_text(const struct text_file *file, bool by_lines, struct rml_error *err)
{
    const unsigned char *p = (const unsigned char *)file->data;
    size_t line = 1, begin = 0;
    if (file->nbytes >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        return text_fail(file, 1, err,
                         "a byte order mark found, expected UTF-8 text that begins without one");
    for (size_t i = 0; i < file->nbytes;) {
        size_t n = sequence_nbytes(p + i, file->nbytes - i);
        if (n == 0)
            return text_fail(file, line, err, "byte 0x%02x at %zu found, expected UTF-8", p[i],
                             i - begin + 1);
        if (p[i] == 0)
            return text_fail(file, line, err, "a NUL at byte %zu found, expected text",
                             i - begin + 1);
        if (p[i] == '\r' && i + 1 < file->nbytes && p[i + 1] == '\n')
            return text_fail(file, line, err,
                             "a carriage return before the line feed found, expected lines that "
                             "end with a line feed alone");
        i += n;
        bool fed = p[i - n] == '\n';
        size_t line_nbytes = i - begin - fed;
        if (by_lines && (fed || i == file->nbytes) && line_nbytes > TEXT_MAX_LINE_NBYTES)
            return text_fail(file, line, err, "%zu bytes found, expected at most %zu", line_nbytes,
                             TEXT_MAX_LINE_NBYTES);
        if (fed) {
            line++;
            begin = i;
        }
    }
    return true;
}

bool text_file_read(struct text_file *file, const char *name, bool by_lines, struct rml_error *err)
{
    *file = (struct text_file){.name = name};
    if (cli_input_check(name, err) && read_whole(file, err) && check_text(file, by_lines, err))
        return true;
    text_file_release(file);
    return false;
}

void text_file_release(struct text_file *file)
{
    free(file->data);
    *file = (struct text_file){0};
}

bool text_next_line(const struct text_file *file, struct text_line *line)
{
    if (line->next >= file->nbytes)
        return false;
    const char *begin = file->data + line->next;
    const char *end = memchr(begin, '\n', file->nbytes - line->next);
    line->data = begin;
    line->nbytes = end ? (size_t)(end - begin) : file->nbytes - line->next;
    line->next += line->nbytes + (end != NULL);
    line->number++;
    return true;
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

json_t *text_json_line(const struct text_file *file, const struct text_line *line,
                       struct rml_error *err)
{
    json_error_t why;
    json_t *object = json_loadb(line->data, line->nbytes,
                                JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!object) {
        text_fail(file, line->number, err, "%s at byte %d, expected one JSON object", why.text,
                  why.position);
        return NULL;
    }
    if (json_is_object(object))
        return object;
    json_decref(object);
    text_fail(file, line->number, err, "a JSON value that is no object found, expected an object");
    return NULL;
}

bool text_json_string(const struct text_file *file, const struct text_line *line,
                      const json_t *object, const char *field, const char **text, size_t *nbytes,
                      struct rml_error *err)
{
    const json_t *value = json_object_get(object, field);
    if (!value)
        return text_fail(file, line->number, err, "no field \"%s\" found, expected a string",
                         field);
    if (!json_is_string(value))
        return text_fail(file, line->number, err, "field \"%s\" is no string, expected one", field);
    *text = json_string_value(value);
    *nbytes = json_string_length(value);
    return true;
}
