/*
 * Bytes that grow.
 */
#include "eval/append_bytes.h"

#include <stdlib.h>
#include <string.h>

bool append_bytes(struct rml_bytes *out, const char *data, size_t nbytes, struct rml_error *err)
{
    if (out->capacity - out->n < nbytes) {
        size_t capacity = 2 * out->capacity + nbytes + 64;
        char *grown = realloc(out->data, capacity);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", capacity);
        out->data = grown;
        out->capacity = capacity;
    }
    if (nbytes > 0) /* out->data may be NULL */
        memcpy(out->data + out->n, data, nbytes);
    out->n += nbytes;
    return true;
}
