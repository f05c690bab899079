/* Values of the document as text for people. */
#ifndef TOOLS_INSPECT_TEXT_H
#define TOOLS_INSPECT_TEXT_H

#include "inspect.h"
#include "tools/cli/table.h"

/* The string under a key, or "-". */
const char *inspect_text_of(const json_t *object, const char *key);
json_int_t inspect_integer_of(const json_t *object, const char *key);

/* Compact JSON of a value, strings without quotes unless inside another value, "-" for null. malloc. */
char *inspect_show(const json_t *value);
void inspect_cell(struct cli_table *table, const json_t *value);

/* Prints and destroys a table; apart: after an empty line. */
void inspect_print_table(struct cli_table *table, bool apart);

#endif
