/*
 * Finds entries of a file by name, and names that stand twice.
 *
 * A sorted array rather than a hash table: the cost stays n log n whatever
 * names a hostile file chooses.
 *
 *     init(n), fill entries[0 .. n), sort, then any number of finds
 */
#ifndef RML_FILES_NAME_INDEX_H
#define RML_FILES_NAME_INDEX_H

#include "base/error.h"

#include <stddef.h>

struct rmli_name {
    const char *data; /* borrowed, not terminated; lives as long as the index */
    size_t nbytes;
    size_t i; /* the entry that has the name */
};

/* All zero is an empty index. */
struct rmli_name_index {
    struct rmli_name *entries;
    size_t n;
};

/* Room for n names, to be filled by the caller; false with RML_NO_MEMORY. */
bool rmli_name_index_init(struct rmli_name_index *index, size_t n, struct rml_error *err);

/* Sorts. When a name stands twice, false, and *first < *second are the places
 * of two entries that have it. */
bool rmli_name_index_sort(struct rmli_name_index *index, size_t *first, size_t *second);

/* *i = the entry of that name; false when there is none. */
bool rmli_name_index_find(const struct rmli_name_index *index, const char *name, size_t nbytes,
                          size_t *i);

void rmli_name_index_release(struct rmli_name_index *index);

#endif
