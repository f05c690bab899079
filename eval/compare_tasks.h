/*
 * Two runs of the same items, task by task: read from the database, checked to be comparable,
 * judged (eval/paired_tests.h).
 *
 * What is compared is a figure of every item: right or wrong of a question, or the nll of a
 * window. Runs whose items, texts, right answers, protocol or settings differ in a way that
 * changes the question are refused by the name of that field: a number would mean nothing.
 */
#ifndef EVAL_COMPARE_TASKS_H
#define EVAL_COMPARE_TASKS_H

#include "eval/paired_tests.h"
#include "results/store.h"
#include "rml.h"

struct json_t;

enum compare_kind {
    COMPARE_ITEMS,        /* mean of a figure of items */
    COMPARE_PERPLEXITY,   /* nll of windows of the same tokens: ln(PPL_a / PPL_b) */
    COMPARE_BITS_PER_BYTE /* nll of documents by their bytes; tokenizers may differ */
};

struct task_comparison {
    char *task, *metric;
    enum compare_kind kind;
    bool lower_is_better;
    bool is_binary;       /* every figure is 0 or 1 */
    bool is_grouped;      /* some items are not independent */
    size_t n;             /* items or windows */
    double a, b;          /* the figure of each run */
    struct block *blocks; /* [n_blocks] of differences a - b */
    size_t n_blocks;
    struct paired_difference difference;
    size_t n10, n01;  /* items that only a, only b has right */
    double p_mcnemar; /* NaN when the figure is not binary */
    double p_holm;    /* of all tasks together */
    double mde;
    double wilson[2][2];        /* intervals of a and b; NaN unless binary and not grouped */
    struct json_t *flipped;     /* array of objects: id, a, b, text, gold, pick, pick_b */
    struct json_t *of_a, *of_b; /* rows of store_eval_tasks_json */
};

struct run_comparison {
    struct task_comparison *tasks; /* [n] those that both runs have */
    size_t n;
    double confidence, power;
    int64_t run_a, run_b;
};

/*
 * metric NULL: of each task as compare_choose_metric has it. confidence: of the two-sided intervals. On failure *incomparable tells whether
 * the runs are there and differ (exit 6).
 */
bool run_comparison_init(struct run_comparison *comparison, struct store *store, const char *name_a,
                         const char *name_b, const char *metric, double confidence, double power,
                         bool *incomparable, struct rml_error *err);
void run_comparison_release(struct run_comparison *comparison); /* safe on a zero struct */

/* The test that decides: McNemar's for independent items that are right or wrong, which is exact
 * where the paired t test of few items that differ is not; else that one. */
bool task_comparison_by_mcnemar(const struct task_comparison *task);
/* Its p-value, which Holm's adjustment is of; NaN when it is not defined. */
double task_comparison_p(const struct task_comparison *task);

#endif
