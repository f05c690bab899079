/*
 * A task's documents, and the examples that each of them is shown first.
 *
 * Examples are lm-eval 0.4.13's: the sampler `default` is random.Random(1234).sample, drawn for
 * every document of the split in its order, whatever part of them is then scored, so that neither
 * --limit nor --shard changes an example. A document is kept out of its own examples where lm-eval
 * does that: when fewshot_split and test_split are the same, both missing included; then one example
 * more is drawn and the document left out of them, by its content.
 */
#ifndef EVAL_TASK_DOCS_H
#define EVAL_TASK_DOCS_H

#include "eval/data_records.h"
#include "eval/task_config.h"

/* lm-eval's default seed of few-shot examples. */
#define TASK_FEWSHOT_SEED 1234

struct task_docs {
    struct data_records docs;            /* of test_split, else of validation_split */
    struct data_records others;          /* what examples are from, unless it is `docs` */
    const struct data_records *examples; /* one of both; NULL: none are shown */
    size_t n_shots;
    size_t *draws; /* [docs.n][n_shots] indices into `examples` */
};

bool task_docs_init(struct task_docs *docs, const struct task_config *config, size_t n_shots,
                    struct rml_error *err);
void task_docs_release(struct task_docs *docs); /* safe on a zero struct */

#endif
