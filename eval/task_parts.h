/*
 * What a task's file makes of a document: the values of doc_to_text, doc_to_target and
 * doc_to_choice, and the turns of questions and answers before it.
 */
#ifndef EVAL_TASK_PARTS_H
#define EVAL_TASK_PARTS_H

#include "eval/eval_prompt.h"
#include "eval/task_docs.h"

/* A task with its documents, as parts are asked for. */
struct task_source {
    const struct task_config *config;
    const struct task_docs *docs;
    const struct chat_options *chat;
};

/* A part that names a field which no document has, or is a word that is none, is refused here. */
bool task_parts_check(const struct task_source *source, struct rml_error *err);

/*
 * Values of record i, references of the caller's; NULL with *err, which names file and line.
 *
 *     text     a string, or where there are choices a whole number: the choices are contexts
 *     choices  an array of strings, none empty
 *     target   a string, a whole number, an array of those, or what else a field holds
 */
struct json_t *task_text_of(const struct task_source *source, const struct data_records *records,
                            size_t i, bool is_example, struct rml_error *err);
struct json_t *task_choices_of(const struct task_source *source, const struct data_records *records,
                               size_t i, bool is_example, struct rml_error *err);
struct json_t *task_target_of(const struct task_source *source, const struct data_records *records,
                              size_t i, bool is_example, struct rml_error *err);

/* The prompt of a document whose question is the string `question`: its plain text, and with a chat
 * also the messages, an array in *messages (else NULL). multiple_input: doc_to_text is the number of
 * a choice and the choices are contexts. */
struct json_t *task_prompt_of(const struct task_source *source, size_t doc,
                              const struct json_t *question, bool multiple_input,
                              struct json_t **messages, struct rml_error *err);

#endif
