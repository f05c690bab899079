/*
 * Questions: contexts and what may follow them, read from a file and checked whole before
 * anything runs.
 *
 * One struct serves all layouts. Usually one context has several choices; in a Winogrande item
 * several contexts have one continuation; a pair of `rml-eval loglik` is one of each.
 */
#ifndef EVAL_CHOICE_ITEMS_H
#define EVAL_CHOICE_ITEMS_H

#include "eval/text_input.h"

struct choice_text {
    char *data; /* [nbytes], owned; may hold NUL */
    size_t nbytes;
};

struct choice_item {
    struct json_t *id; /* what the file says, or the line's number */
    char *doc_id;      /* the same as text */
    char *group;       /* NULL: none */
    const char *file;  /* NULL: the one that all items are of; borrowed */
    size_t line;
    struct choice_text *contexts; /* [n_contexts]: 1, or n_choices */
    size_t n_contexts;
    struct rml_conversation *conversations; /* [n_contexts] with --chat; NULL: one message */
    struct choice_text *choices;            /* [n_choices] without delimiter */
    size_t n_choices;
    bool one_continuation; /* choices are all choices[0], contexts differ */
    struct json_t *gold;   /* as printed: an index or an array of them; NULL: none */
    size_t *golds;         /* [n_golds] indices, any of which is right */
    size_t n_golds;
};

enum choice_layout {
    LAYOUT_JSONL,      /* {"context", "choices", "gold"}, names by `fields` */
    LAYOUT_HELLASWAG,  /* llama.cpp's text, six lines an item */
    LAYOUT_WINOGRANDE, /* llama.cpp's CSV: index,sentence,choice,choice,answer */
    LAYOUT_ARC,        /* {"question", "choices": {"text", "label"}, "answerKey"} */
    LAYOUT_MMLU,       /* {"question", "choices", "answer"}, answered by letter */
    LAYOUT_PAIRS,      /* {"context", "continuation"}: loglik */
    LAYOUT_ANSWERS     /* {"context", "gold"}: generate; its choices are the accepted answers, a
                          string, an array of strings, or none */
};
bool choice_layout_parse(const char *name, enum choice_layout *layout);
const char *choice_layout_name(enum choice_layout layout);

/* Names of the fields of LAYOUT_JSONL and LAYOUT_PAIRS. */
struct choice_fields {
    const char *id, *context, *choices, *gold, *group, *continuation;
};
#define CHOICE_FIELDS_DEFAULT                                                                      \
    {                                                                                              \
        .id = "id", .context = "context", .choices = "choices", .gold = "gold", .group = "group",  \
        .continuation = "continuation"                                                             \
    }

struct choice_items {
    struct choice_item *items; /* [n] */
    size_t n, capacity;
    char *text_sha256; /* of the file, 64 hex digits */
};

/*
 * Errors name file, line and what was expected: JSON that is none, a missing field, no choices,
 * an empty choice, a gold that is no choice, an id that stood before, no item at all. Empty
 * lines of JSONL are skipped.
 */
bool choice_items_read(struct choice_items *items, const char *file, enum choice_layout layout,
                       const struct choice_fields *fields, struct rml_error *err);
void choice_items_release(struct choice_items *items);

/* ---- For the readers of layouts ------------------------------------------------------------- */

/* An item to be filled, at `line`; NULL when memory is exhausted. */
struct choice_item *choice_items_add(struct choice_items *items, size_t line,
                                     struct rml_error *err);
/* Each appends a copy. */
bool choice_add_context(struct choice_item *item, const char *text, size_t nbytes,
                        struct rml_error *err);
bool choice_add_choice(struct choice_item *item, const char *text, size_t nbytes,
                       struct rml_error *err);
/* Takes the one right answer. */
bool choice_set_gold(struct choice_item *item, size_t gold, struct rml_error *err);

bool choice_read_arc(const struct text_file *file, const struct text_line *line,
                     const struct json_t *object, struct choice_item *item, struct rml_error *err);
bool choice_read_mmlu(const struct text_file *file, const struct text_line *line,
                      const struct json_t *object, struct choice_item *item, struct rml_error *err);
bool choice_read_hellaswag(const struct text_file *file, struct choice_items *items,
                           struct rml_error *err);
bool choice_read_winogrande(const struct text_file *file, struct choice_items *items,
                            struct rml_error *err);

/* Of an object's field with an array of strings; errors name the line. */
bool choice_read_strings(const struct text_file *file, const struct text_line *line,
                         const struct json_t *array, const char *field, struct choice_item *item,
                         struct rml_error *err);

#endif
