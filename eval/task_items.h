/*
 * A task as what the other commands score: questions, pairs or prompts, or documents.
 */
#ifndef EVAL_TASK_ITEMS_H
#define EVAL_TASK_ITEMS_H

#include "eval/documents.h"
#include "eval/task_parts.h"

struct task_items {
    struct choice_items items;  /* of all but rolling tasks, one a document, in order */
    struct documents documents; /* of rolling tasks */
    bool multiple_input;        /* several contexts, one continuation */
};

/*
 * Every document of the split, with its prompt; ids are numbers from 0, as lm-eval's doc_id. All is
 * checked: a gold that is no choice, an answer that is no text, an empty continuation.
 */
bool task_items_init(struct task_items *items, const struct task_source *source,
                     struct rml_error *err);
void task_items_release(struct task_items *items); /* safe on a zero struct */

#endif
