/*
 * Names of tensors that differ in numbers alone, put together: "blk.{0..31}.attn_q.weight".
 */
#ifndef TOOLS_CLI_NAME_GROUPS_H
#define TOOLS_CLI_NAME_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

struct cli_name_group {
    char *name;   /* of one tensor, or with a range for each number that differs; owned */
    size_t first; /* the member that comes first */
    size_t n;
};
struct cli_name_groups {
    struct cli_name_group *groups; /* [n] by their first members */
    size_t n;
};

/*
 * A group's name stands for exactly its members: numbers run over all of their ranges. Only names of
 * the same kind are put together, compared as texts; those whose kind is NULL stand alone. Names and
 * kinds are borrowed for the call. False without memory, with nothing to release.
 */
bool cli_group_names(struct cli_name_groups *out, const char *const *names,
                     const char *const *kinds, size_t n);
void cli_name_groups_release(struct cli_name_groups *groups);

#endif
