/*
 * Files that lm-eval writes: samples_TASK_DATE.jsonl, a line an item and filter, and
 * results_DATE.json, the figures of tasks.
 *
 * Items keep lm-eval's doc_id, the place in the split from 0, as their place (doc_idx), so that
 * they meet those that rml-eval has read from the same file. Of a multiple-choice item the
 * log-likelihoods, the greedy flags, the pick and the figures come in; of a rolling one the
 * nll with words and bytes; of any other its figures.
 *
 * Of a task with several filters figures are called NAME,FILTER, as rml-eval task calls its own, so
 * that those of one filter meet; else NAME.
 */
#ifndef EVAL_IMPORT_LM_EVAL_H
#define EVAL_IMPORT_LM_EVAL_H

#include <jansson.h>

#include "eval/text_input.h"
#include "results/store.h"

/* Names and values of a document's figures. */
struct import_figures {
    const char **names; /* [n] */
    double *values;
    size_t n;
};

struct lm_eval_import {
    struct store_eval *evals;
    size_t n_evals;
    struct store_eval_doc *docs;
    size_t n_docs;
    struct import_figures *figures; /* [n_docs] */
    struct store_eval_item *items;
    size_t n_items;
    struct store_eval_metric *metrics;
    size_t n_metrics;
    int64_t measured_ns; /* -1: the file does not say */

    char **texts; /* [n_texts] owned, what the rows point to */
    size_t n_texts;
    json_t *documents; /* array: the file's JSON, whose strings the rows point to */
};

/* Reads either kind of file. `task` NULL: of samples as the file's name has it; else its name. */
bool lm_eval_import_read(struct lm_eval_import *import, const struct text_file *file,
                         const char *task, struct rml_error *err);
void lm_eval_import_release(struct lm_eval_import *import); /* safe on a zero struct */

/* ---- Between the readers ------------------------------------------------------------------- */

/* A text that lives as long as the import; NULL when memory is exhausted (and recorded). */
char *lm_eval_import_text(struct lm_eval_import *import, struct rml_error *err, const char *format,
                          ...) __attribute__((format(printf, 3, 4)));
/* Takes a text of malloc over, also on failure; NULL is recorded as memory exhausted. */
char *lm_eval_import_keep(struct lm_eval_import *import, char *text, struct rml_error *err);
/* One more element of an array of n elements of this size, all zero; *array is replaced. */
void *lm_eval_import_grow(void **array, size_t *n, size_t size, struct rml_error *err);

bool lm_eval_read_results(struct lm_eval_import *import, const struct text_file *file,
                          const json_t *document, struct rml_error *err);
bool lm_eval_read_samples(struct lm_eval_import *import, const struct text_file *file,
                          const char *task, struct rml_error *err);

#endif
