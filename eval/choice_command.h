/*
 * What rml-eval choices and rml-eval loglik share: options, and the way from a file to scores.
 */
#ifndef EVAL_CHOICE_COMMAND_H
#define EVAL_CHOICE_COMMAND_H

#include "eval/choice_requests.h"
#include "eval/eval_options.h"

struct choice_command {
    struct cli_options options;
    struct eval_options eval_options;
    struct choice_rules rules;
    struct choice_fields fields;
    enum choice_layout layout;
    const char *checkpoint, *file, *items_file; /* items_file NULL: none is written */
};

/* Options of both commands: selection, --boundary, --overlong, --rename, --items. */
#define CHOICE_COMMAND_OPTIONS                                                                     \
    {"boundary",                                                                                   \
     CHOICE_KEY_BOUNDARY,                                                                          \
     "HOW",                                                                                        \
     0,                                                                                            \
     "When a token spans the end of the context and the choice is left without: reencode (the "    \
     "choice alone), skip or error (reencode)",                                                    \
     2},                                                                                           \
        {"overlong",                                                                               \
         CHOICE_KEY_OVERLONG,                                                                      \
         "HOW",                                                                                    \
         0,                                                                                        \
         "When an item is longer than --ctx: truncate (from the left; counted), skip or error "    \
         "(truncate)",                                                                             \
         2},                                                                                       \
        {"rename",                                                                                 \
         CHOICE_KEY_RENAME,                                                                        \
         "FIELD=NAME",                                                                             \
         0,                                                                                        \
         "A field of the file has another name: --rename context=question",                        \
         2},                                                                                       \
        CHAT_OPTION_KEYS(3),                                                                       \
        {"items", CHOICE_KEY_ITEMS, "FILE", 0, "Write a line of JSON for each item", 3},           \
        EVAL_OPTION_KEYS

enum {
    CHOICE_KEY_BOUNDARY = CLI_OWN_KEY + 0x200,
    CHOICE_KEY_OVERLONG,
    CHOICE_KEY_RENAME,
    CHOICE_KEY_ITEMS
};

void choice_command_init(struct choice_command *command, enum choice_layout layout);
error_t choice_command_parse(struct choice_command *command, int key, char *arg,
                             struct argp_state *state);

/* What a command makes of its scores: prints and stores. */
struct choice_scored {
    const struct choice_command *command;
    struct eval_run *run;
    const struct eval_task *task;
    const struct choice_items *items;
    const struct choice_requests *requests;
    const struct eval_scores *scores;
    struct json_t *settings; /* borrowed */
};
typedef bool choice_report_fn(const struct choice_scored *scored, struct rml_error *err);

/* Reads, encodes, scores, reports; returns the exit code. `task_name`: of the database's rows. */
int choice_command_run(struct choice_command *command, const char *task_name,
                       choice_report_fn *report);

/* Writes the lines of --items, made by `line` for each slot; nothing without the option. */
typedef struct json_t *choice_line_fn(const struct choice_scored *scored, size_t slot, void *user);
bool choice_write_items(const struct choice_scored *scored, choice_line_fn *line, void *user,
                        struct rml_error *err);

#endif
