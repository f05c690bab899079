/*
 * Row ids of one database and those of the same rows in another, and sets of ids.
 */
#ifndef RESULTS_ID_MAP_H
#define RESULTS_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero is an empty map. A pair is (from, to). */
struct id_map {
    struct id_pair {
        int64_t from, to;
    } * pairs; /* ascending by `from` */
    size_t n, room;
};

/* `from` is above all that were added before. False when memory is exhausted. */
bool id_map_add(struct id_map *map, int64_t from, int64_t to);
/* 0 when it is not there. */
int64_t id_map_find(const struct id_map *map, int64_t from);
void id_map_release(struct id_map *map);

/* Open addressing, ids are positive. Zero is an empty set. */
struct id_set {
    int64_t *slots; /* [n_slots], 0 is free; n_slots is a power of two or 0 */
    size_t n_slots, n;
};

bool id_set_add(struct id_set *set, int64_t id); /* false when memory is exhausted */
bool id_set_has(const struct id_set *set, int64_t id);
void id_set_release(struct id_set *set);

#endif
