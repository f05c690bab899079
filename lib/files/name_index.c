/*
 * A sorted array of names: bytewise, shorter first, then by entry, so that
 * equal names are neighbours in the order of the file.
 */
#include "files/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int compare_bytes(const struct rmli_name *a, const struct rmli_name *b)
{
    size_t common_nbytes = a->nbytes < b->nbytes ? a->nbytes : b->nbytes;
    int order = common_nbytes > 0 ? memcmp(a->data, b->data, common_nbytes) : 0;
    if (order != 0)
        return order;
    return (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

static int compare_entries(const void *left, const void *right)
{
    const struct rmli_name *a = left, *b = right;
    int order = compare_bytes(a, b);
    return order != 0 ? order : (a->i > b->i) - (a->i < b->i);
}

static int compare_names(const void *left, const void *right)
{
    return compare_bytes(left, right);
}

bool rmli_name_index_init(struct rmli_name_index *index, size_t n, struct rml_error *err)
{
    *index = (struct rmli_name_index){0};
    index->entries = rmli_alloc(n, sizeof *index->entries, err);
    if (!index->entries)
        return false;
    index->n = n;
    return true;
}

bool rmli_name_index_sort(struct rmli_name_index *index, size_t *first, size_t *second)
{
    if (index->n < 2)
        return true;
    qsort(index->entries, index->n, sizeof *index->entries, compare_entries);
    for (size_t k = 1; k < index->n; k++) {
        if (compare_bytes(&index->entries[k - 1], &index->entries[k]) == 0) {
            *first = index->entries[k - 1].i;
            *second = index->entries[k].i;
            return false;
        }
    }
    return true;
}

bool rmli_name_index_find(const struct rmli_name_index *index, const char *name, size_t nbytes,
                          size_t *i)
{
    if (index->n == 0)
        return false;
    struct rmli_name key = {.data = name, .nbytes = nbytes};
    const struct rmli_name *entry =
        bsearch(&key, index->entries, index->n, sizeof key, compare_names);
    if (!entry)
        return false;
    *i = entry->i;
    return true;
}

void rmli_name_index_release(struct rmli_name_index *index)
{
    rmli_free(index->entries);
    *index = (struct rmli_name_index){0};
}
