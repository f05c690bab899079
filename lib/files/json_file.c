/*
 * Whole JSON files by jansson, with errors of our own kind.
 *
 * jansson refuses a text for an integer of more than 64 bits, wherever it stands; Python, which
 * writes such files, has integers of any size. So when it does, the text is parsed again with
 * the last three digits of each such integer replaced by "e03": a real, within a part in 10^15
 * of the integer, and no byte behind it moves.
 */
#include "files/json_file.h"

#include <jansson.h>
#include <string.h>

#include "base/mapped_file.h"
#include "base/memory.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What makes a number a real. */
static bool is_real_mark(char c)
{
    return c == '.' || c == 'e' || c == 'E';
}

static bool fits_64_bits(const char *digits, size_t n, bool negative)
{
    const char *most = negative ? "9223372036854775808" : "9223372036854775807";
    size_t n_most = strlen(most);
    return n < n_most || (n == n_most && memcmp(digits, most, n) <= 0);
}

static void make_reals_of_long_integers(char *text, size_t nbytes)
{
    static const char exponent[] = {'e', '0', '3'};
    bool in_string = false;
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '"')
            in_string = !in_string;
        else if (in_string && text[i] == '\\')
            i++;
        if (in_string || !is_digit(text[i]))
            continue;
        size_t first = i;
        while (i < nbytes && is_digit(text[i]))
            i++;
        bool is_integer = i == nbytes || !is_real_mark(text[i]);
        if (is_integer &&
            !fits_64_bits(text + first, i - first, first > 0 && text[first - 1] == '-'))
            memcpy(text + i - sizeof exponent, exponent, sizeof exponent);
        /* Digits of a fraction or an exponent are no integer. */
        while (!is_integer && i < nbytes &&
               (is_digit(text[i]) || is_real_mark(text[i]) || text[i] == '+' || text[i] == '-'))
            i++;
        i--;
    }
}

static json_t *parse(const char *text, size_t nbytes, size_t flags, json_error_t *why)
{
    return json_loadb(text, nbytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, why);
}

/* The text once more, long integers as reals; NULL with *why as it was when there is no memory. */
static json_t *parse_long_integers(const struct rmli_mapped_file *file, size_t flags,
                                   json_error_t *why)
{
    char *copy = rmli_alloc(file->nbytes, 1, NULL);
    if (!copy)
        return NULL;
    memcpy(copy, file->data, file->nbytes);
    make_reals_of_long_integers(copy, file->nbytes);
    json_t *value = parse(copy, file->nbytes, flags, why);
    rmli_free(copy);
    return value;
}

static json_t *load(const char *path, size_t max_nbytes, size_t flags, struct rml_error *err)
{
    struct rmli_mapped_file file;
    if (!rmli_mapped_file_init(&file, path, err))
        return NULL;
    json_t *value = NULL;
    if (file.nbytes > max_nbytes) {
        rmli_fail(err, RML_FORMAT, path, -1, "the file has %zu bytes, expected at most %zu",
                  file.nbytes, max_nbytes);
    } else if (file.nbytes == 0) {
        rmli_fail(err, RML_FORMAT, path, 0, "the file is empty, expected JSON");
    } else {
        json_error_t why;
        value = parse((const char *)file.data, file.nbytes, flags, &why);
        if (!value && json_error_code(&why) == json_error_numeric_overflow)
            value = parse_long_integers(&file, flags, &why);
        if (!value)
            rmli_fail(
                err, json_error_code(&why) == json_error_out_of_memory ? RML_NO_MEMORY : RML_FORMAT,
                path, why.position, "not valid JSON: %s (line %d, column %d)", why.text, why.line,
                why.column);
    }
    rmli_mapped_file_release(&file);
    return value;
}

json_t *rmli_json_load_file(const char *path, size_t max_nbytes, struct rml_error *err)
{
    return load(path, max_nbytes, 0, err);
}

json_t *rmli_json_load_file_in_reals(const char *path, size_t max_nbytes, struct rml_error *err)
{
    return load(path, max_nbytes, JSON_DECODE_INT_AS_REAL, err);
}
