/*
 * Values of JSON as fields of CSV (RFC 4180).
 */
#ifndef TOOLS_CLI_JSON_CSV_H
#define TOOLS_CLI_JSON_CSV_H

#include <jansson.h>
#include <stdio.h>

/* Quoted when it has to be, quotes doubled. */
void cli_put_csv_text(FILE *out, const char *text);

/* A text, or a number with the digits that read back as it; anything else is an empty field. */
void cli_put_csv(FILE *out, const json_t *value);

#endif
