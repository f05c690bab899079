/* Byte strings that grow: rml_bytes with the operations of the text pipeline. */
#ifndef RML_TEXT_GROWING_H
#define RML_TEXT_GROWING_H

#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

static inline bool rmli_bytes_reserve(struct rml_bytes *b, size_t nbytes, struct rml_error *err)
{
    if (b->capacity - b->n >= nbytes)
        return true;
    size_t capacity = b->capacity < 64 ? 64 : b->capacity;
    while (capacity - b->n < nbytes && capacity < SIZE_MAX / 2)
        capacity *= 2;
    char *grown = capacity - b->n < nbytes ? NULL : realloc(b->data, capacity);
    if (!grown)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes of text", nbytes);
    b->data = grown;
    b->capacity = capacity;
    return true;
}

static inline bool rmli_bytes_append(struct rml_bytes *b, const char *data, size_t nbytes,
                                     struct rml_error *err)
{
    if (!rmli_bytes_reserve(b, nbytes, err))
        return false;
    if (nbytes > 0)
        memcpy(b->data + b->n, data, nbytes);
    b->n += nbytes;
    return true;
}

#endif
