/*
 * Blocks of items by their groups (questions on one text, rewordings of one question): items of
 * one group are not independent of each other and count as one block, each without a group is one
 * of its own.
 */
#ifndef EVAL_GROUP_BLOCKS_H
#define EVAL_GROUP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/standard_errors.h"
#include "rml.h"

struct grouped_value {
    const char *group; /* borrowed; NULL: alone */
    double value, size;
};

/*
 * *blocks [*n_blocks] by malloc, to be freed by the caller; their order means nothing. Reorders
 * `values`. On failure (memory) *blocks is NULL.
 */
bool group_blocks(struct grouped_value *values, size_t n, struct block **blocks, size_t *n_blocks,
                  struct rml_error *err);

#endif
