/*
 * What may be a name in a golden file: names are printed in tables and messages,
 * so they are short and cannot drive a terminal. What writes files and what reads
 * them ask the same function.
 */
#ifndef GOLDENS_GOLDEN_NAME_H
#define GOLDENS_GOLDEN_NAME_H

#include <stddef.h>

#define GOLDEN_NAME_NBYTES 256  /* most of a name */
#define GOLDEN_PATH_NBYTES 4095 /* most of a path */

/* NULL for 1 to max_nbytes bytes of UTF-8 without control characters (C0, DEL, C1, and those
 * that override the direction of text); else what was found, as in "an empty string". `text`
 * ends with a NUL beyond its nbytes. */
const char *golden_name_fault(const char *text, size_t nbytes, size_t max_nbytes);

#endif
