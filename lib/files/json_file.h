/* Whole JSON files as trees of jansson values. */
#ifndef RML_FILES_JSON_FILE_H
#define RML_FILES_JSON_FILE_H

#include <stddef.h>

#include "base/error.h"

struct json_t;

/* The value in `path`, with a reference for the caller (json_decref). Refused
 * are files of more than max_nbytes, keys that stand twice in one object, and
 * (by jansson) nesting beyond 2048, NUL in strings and numbers beyond a double.
 * An integer of more than 64 bits is a real. NULL on failure, with the byte
 * offset of a syntax error. */
struct json_t *rmli_json_load_file(const char *path, size_t max_nbytes, struct rml_error *err);

/* The same with all numbers as doubles: tokenizer_config.json's model_max_length is often 10^30,
 * which is no integer of 64 bits. */
struct json_t *rmli_json_load_file_in_reals(const char *path, size_t max_nbytes,
                                            struct rml_error *err);

#endif
