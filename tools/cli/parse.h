/*
 * Strict readers of what stands on a command line: the whole text must be the
 * value, nothing is skipped, rounded or clipped.
 */
#ifndef TOOLS_CLI_PARSE_H
#define TOOLS_CLI_PARSE_H

#include <argp.h>

#include "rml.h"

/* Decimal digits only, min <= value <= max. *out is untouched on failure, as below. */
bool cli_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* A decimal number with optional sign, fraction and exponent; finite, in [min, max]. */
bool cli_parse_f64(const char *text, double min, double max, double *out);
/* K or K:V, e.g. "f16" or "f16:i8". */
bool cli_parse_kv(const char *text, enum rml_kv_dtype *k, enum rml_kv_dtype *v);

/*
 * Token ids separated by commas, each in [0, INT32_MAX], at least one; blanks may follow
 * a comma. On success *ids [*n] is the caller's to free; on failure *bad is the start of
 * the item that is no id.
 */
bool cli_parse_ids(const char *text, int32_t **ids, size_t *n, const char **bad);

/*
 * The same as they are used in an argp parser: a bad value ends the program as a usage
 * error, "OPTION: 'VALUE' found, expected ...".
 */
uint64_t cli_arg_u64(struct argp_state *state, const char *option, const char *text, uint64_t min,
                     uint64_t max);
double cli_arg_f64(struct argp_state *state, const char *option, const char *text, double min,
                   double max);
void cli_arg_kv(struct argp_state *state, const char *option, const char *text,
                enum rml_kv_dtype *k, enum rml_kv_dtype *v);
/* The label of a run: 1 to 100 bytes. */
const char *cli_arg_label(struct argp_state *state, const char *text);
/* Numbers separated by commas, each in [min, max], at least one: *out [n] is the caller's
 * to free. */
size_t cli_arg_u64_list(struct argp_state *state, const char *option, const char *text,
                        uint64_t min, uint64_t max, uint64_t **out);
/* Words separated by commas, no empty one; the array ends with NULL and is freed with one
 * free(). Returns their number. */
size_t cli_arg_words(struct argp_state *state, const char *option, const char *text, char ***words);

#endif
