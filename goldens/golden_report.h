/*
 * Verdicts as people and as programs read them.
 */
#ifndef GOLDENS_GOLDEN_REPORT_H
#define GOLDENS_GOLDEN_REPORT_H

#include <stdio.h>

#include "goldens/golden_judge.h"

/* A table with a row for each case, then a line for each deviation and what stands out. */
void golden_print_cases(const struct golden_verdict *verdicts, size_t n, FILE *stream);

/* A table with a row for each verdict, the worst of its cases; then the same lines and a
 * count. */
void golden_print_suite(const struct golden_verdict *verdicts, size_t n, FILE *stream);

/* The document of --json on standard output. */
void golden_print_json(const struct golden_verdict *verdicts, size_t n);

#endif
