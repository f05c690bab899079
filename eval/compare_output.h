/*
 * A comparison as people and pipelines read it: JSON, a table, Markdown, JUnit.
 */
#ifndef EVAL_COMPARE_OUTPUT_H
#define EVAL_COMPARE_OUTPUT_H

#include "eval/gate.h"

struct compare_report {
    const struct run_comparison *comparison;
    const struct gate_judgement *gates; /* [comparison->n]; NULL: compared, not judged */
    double margin;                      /* with gates */
    enum gate_verdict verdict;          /* the weightiest of them */
};

/*
 * One task without gates: the object of interfaces.md. Else {"tasks": [such objects]}, and with
 * gates "verdict", "passed" and "margin" beside it. What is not defined is null.
 */
struct json_t *compare_json(const struct compare_report *report);

/* Tasks, then the items that flipped with their texts. */
void compare_print(const struct compare_report *report);

/* "-" is standard output. */
bool compare_write_markdown(const struct compare_report *report, const char *file,
                            struct rml_error *err);
/* A test case for each task; without gates none of them fails. */
bool compare_write_junit(const struct compare_report *report, const char *file,
                         struct rml_error *err);

#endif
