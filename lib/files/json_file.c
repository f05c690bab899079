/*
 * Whole JSON files by jansson, with errors of our own kind.
 */
#include "files/json_file.h"

#include <jansson.h>

#include "base/mapped_file.h"

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
        value = json_loadb((const char *)file.data, file.nbytes,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, &why);
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
