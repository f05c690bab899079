/* Tokenizers for tests: a tokenizer.json with some members replaced. */
#ifndef RML_TEXT_TESTS_TOKENIZER_FILES_H
#define RML_TEXT_TESTS_TOKENIZER_FILES_H

#include <jansson.h>

#include "text/tokenizer.h"

/* folder/name below the source tree; asserts that it is JSON. */
json_t *test_load_json(const char *folder, const char *name);

/* The tokenizer whose members are `patch`'s, then `base`'s; members of "model" are replaced one by
 * one. NULL on failure. */
struct rml_tokenizer *test_open_patched(const json_t *base, const json_t *patch,
                                        struct rml_error *err);

/* A path below the source tree. */
void test_source_path(char path[1024], const char *folder, const char *name);

#endif
