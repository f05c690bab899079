/* What the harnesses share: an input as a file, as the readers map files, and a round of use. */
#ifndef RML_TEXT_FUZZ_MEMORY_FILE_H
#define RML_TEXT_FUZZ_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "text/tokenizer.h"

/* The path of a file with these bytes, valid until the next call. NULL when none can be made. */
const char *memory_file(const uint8_t *data, size_t nbytes);

/* Encodes the text with all flags and decodes it again, at once and as a stream; traps when the
 * two differ or an id is outside of the vocabulary. */
void use_tokenizer(const struct rml_tokenizer *t, const char *text, size_t nbytes);

#endif
