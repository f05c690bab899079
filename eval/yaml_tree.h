/*
 * A YAML file as a tree, each node with its file and line, so that whatever is wrong with a task
 * can be said with its place.
 *
 * Plain scalars have the types that PyYAML gives them (YAML 1.1: yes and off are booleans), since
 * lm-eval reads with it. Of those only what task files need has a value here; others (octal and
 * sexagesimal numbers, dates, infinities) are YAML_OTHER, which nobody asks for. Tags, among them
 * lm-eval's !function, merge keys, a key twice and a second document are refused by name.
 *
 * Aliases are copied out, up to YAML_MAX_NODES and YAML_MAX_DEPTH: a file of a few lines can stand
 * for a billion of nodes or for one that holds itself.
 */
#ifndef EVAL_YAML_TREE_H
#define EVAL_YAML_TREE_H

#include "eval/text_input.h"

#define YAML_MAX_NBYTES ((size_t)4 << 20)
#define YAML_MAX_NODES 100000
#define YAML_MAX_DEPTH 32

enum yaml_kind {
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,
    YAML_REAL,
    YAML_STRING,
    YAML_OTHER,
    YAML_LIST,
    YAML_MAP
};

struct yaml_tree_node {
    enum yaml_kind kind;
    const char *file; /* borrowed */
    size_t line;
    char *text; /* [nbytes] of a scalar, as it is written, then a NUL; may hold NUL */
    size_t nbytes;
    int64_t integer;              /* of YAML_INT, and 0 or 1 of YAML_BOOL */
    double real;                  /* of YAML_REAL and YAML_INT */
    struct yaml_tree_node *items; /* [n] of a list; [2 n] of a map: keys and values in turn */
    size_t n;
};

/* `name` outlives the tree. On failure *root is zero. */
bool yaml_tree_read(struct yaml_tree_node *root, const char *name, struct rml_error *err);
void yaml_tree_release(struct yaml_tree_node *root); /* safe on a zero struct */

/* The value of a key; NULL when there is none or node is no map. */
const struct yaml_tree_node *yaml_tree_get(const struct yaml_tree_node *map, const char *key);

/* *err: "line N: ..." of the node's file. Returns false. */
bool yaml_fail(const struct yaml_tree_node *node, struct rml_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "a list", "the number 5": what a message calls a node. Of *buffer [64] or static. */
const char *yaml_describe(const struct yaml_tree_node *node, char buffer[64]);

/* The node as JSON; NULL with *err for what JSON has no value for. */
struct json_t *yaml_to_json(const struct yaml_tree_node *node, struct rml_error *err);

#endif
