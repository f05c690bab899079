/*
 * Blocks of items by their groups.
 */
#include "eval/group_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "eval/exact_sum.h"

/* Those without a group come first. */
static int by_group(const void *a, const void *b)
{
    const char *x = ((const struct grouped_value *)a)->group;
    const char *y = ((const struct grouped_value *)b)->group;
    return x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);
}

static bool continues(const struct grouped_value *values, size_t i)
{
    return values[i].group && values[i - 1].group &&
           strcmp(values[i].group, values[i - 1].group) == 0;
}

bool group_blocks(struct grouped_value *values, size_t n, struct block **blocks, size_t *n_blocks,
                  struct rml_error *err)
{
    *n_blocks = 0;
    *blocks = calloc(n + 1, sizeof **blocks);
    if (!*blocks)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu blocks", n);
    qsort(values, n, sizeof *values, by_group);
    struct exact_sum sum = {0}, size = {0};
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !continues(values, i)) {
            sum = size = (struct exact_sum){0};
            ++*n_blocks;
        }
        exact_sum_add(&sum, values[i].value);
        exact_sum_add(&size, values[i].size);
        (*blocks)[*n_blocks - 1] =
            (struct block){.sum = exact_sum_value(&sum), .size = exact_sum_value(&size)};
    }
    return true;
}
