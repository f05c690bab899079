#include "tools/cli/byte_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/options.h"

bool cli_bytes_append(struct rml_bytes *out, const void *data, size_t nbytes, struct rml_error *err)
{
    if (nbytes > out->capacity - out->n) {
        size_t capacity = 2 * out->capacity + nbytes + 64;
        char *grown = realloc(out->data, capacity);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", capacity);
        out->data = grown;
        out->capacity = capacity;
    }
    if (nbytes)
        memcpy(out->data + out->n, data, nbytes);
    out->n += nbytes;
    return true;
}

bool cli_read_stdin(struct rml_bytes *out, struct rml_error *err)
{
    static char piece[1 << 16];
    for (;;) {
        size_t n = fread(piece, 1, sizeof piece, stdin);
        int error = ferror(stdin) ? errno : 0;
        if (!cli_bytes_append(out, piece, n, err))
            return false;
        if (n == sizeof piece)
            continue;
        if (!error)
            return true;
        if (error != EINTR)
            return rmli_fail(err, RML_IO, "standard input", -1, "cannot read: %s", strerror(error));
        if (cli_interrupted())
            return rmli_fail(err, RML_CANCELLED, "standard input", -1, "interrupted");
        clearerr(stdin); /* a signal that does not end the program interrupts nothing */
    }
}
