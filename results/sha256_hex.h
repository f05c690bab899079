/*
 * SHA-256 as 64 lower-case hex digits and a NUL.
 */
#ifndef RESULTS_SHA256_HEX_H
#define RESULTS_SHA256_HEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define SHA256_HEX_NBYTES 65

/* False only when libcrypto fails, which takes exhausted memory or a policy that
 * forbids SHA-256. */
bool sha256_hex(const void *data, size_t nbytes, char hex[SHA256_HEX_NBYTES],
                struct rml_error *err);
bool sha256_hex_of_file(const char *path, char hex[SHA256_HEX_NBYTES], struct rml_error *err);

#endif
