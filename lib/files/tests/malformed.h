/* Tables of malformed files and the errors that they get. */
#ifndef RML_FILES_TESTS_MALFORMED_H
#define RML_FILES_TESTS_MALFORMED_H

#include "base/error.h"
#include "byte_script.h"
#include "temp_folder.h"

struct malformed_case {
    const char *name;
    const char *script; /* byte_script.h; its mark is the offset expected */
    enum rml_code code;
    const char *message; /* part of the message */
};

/* Opens a file, closes it and tells whether it opened. */
typedef bool malformed_open_fn(const char *path, struct rml_error *err);

/* Writes each script as `file`, opens `opened`, and expects the error to be as the
 * table says and about `file`. */
void malformed_check(const struct malformed_case *cases, size_t n, const char *file,
                     const char *opened, malformed_open_fn *open);

bool malformed_open_gguf(const char *path, struct rml_error *err);
bool malformed_open_safetensors(const char *path, struct rml_error *err);
bool malformed_open_checkpoint(const char *path, struct rml_error *err);

#define MALFORMED_CHECK_GGUF(cases)                                                                \
    malformed_check(cases, sizeof(cases) / sizeof *(cases), "bad.gguf", "bad.gguf",                \
                    malformed_open_gguf)

#endif
