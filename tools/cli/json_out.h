/*
 * JSON as the programs print it: one document on standard output.
 */
#ifndef TOOLS_CLI_JSON_OUT_H
#define TOOLS_CLI_JSON_OUT_H

#include <jansson.h>

/* Prints the document and a newline. `digits`: significant digits of reals, 9 read back
 * an f32 exactly, 17 a double. Write errors show at exit (cli_start). */
void cli_json_print(const json_t *document, int digits);

/* A real, or null when x is NaN or infinite, which JSON cannot say. */
json_t *cli_json_real(double x);

/* A string, or null for NULL; text that is no UTF-8 has '?' for each byte
 * beyond ASCII. */
json_t *cli_json_text(const char *text);

/* A string of any bytes, NUL too; each ill-formed sequence becomes one U+FFFD (its maximal
 * subpart, as Python's errors="replace" has it). NULL when out of memory. */
json_t *cli_json_bytes(const char *bytes, size_t nbytes);

#endif
