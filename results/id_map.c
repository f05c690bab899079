#include "results/id_map.h"

#include <stdlib.h>

bool id_map_add(struct id_map *map, int64_t from, int64_t to)
{
    if (map->n == map->room) {
        size_t room = map->room * 2 + 64;
        struct id_pair *pairs = realloc(map->pairs, room * sizeof *pairs);
        if (!pairs)
            return false;
        map->pairs = pairs;
        map->room = room;
    }
    map->pairs[map->n++] = (struct id_pair){from, to};
    return true;
}

int64_t id_map_find(const struct id_map *map, int64_t from)
{
    size_t lo = 0, hi = map->n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (map->pairs[middle].from < from)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < map->n && map->pairs[lo].from == from ? map->pairs[lo].to : 0;
}

void id_map_release(struct id_map *map)
{
    free(map->pairs);
    *map = (struct id_map){0};
}

/* The slot that holds the id, or the free one where it would be. */
static size_t slot_of(const int64_t *slots, size_t n_slots, int64_t id)
{
    /* Fibonacci hashing: 2^64 / golden ratio spreads ids that are close together. */
    size_t i = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & (n_slots - 1);
    while (slots[i] != 0 && slots[i] != id)
        i = (i + 1) & (n_slots - 1);
    return i;
}

static bool grow(struct id_set *set)
{
    size_t n_slots = set->n_slots ? set->n_slots * 2 : 64;
    int64_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i] != 0)
            slots[slot_of(slots, n_slots, set->slots[i])] = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return true;
}

bool id_set_add(struct id_set *set, int64_t id)
{
    if (2 * (set->n + 1) > set->n_slots && !grow(set))
        return false;
    size_t i = slot_of(set->slots, set->n_slots, id);
    set->n += set->slots[i] == 0;
    set->slots[i] = id;
    return true;
}

bool id_set_has(const struct id_set *set, int64_t id)
{
    return set->n_slots > 0 && set->slots[slot_of(set->slots, set->n_slots, id)] == id;
}

void id_set_release(struct id_set *set)
{
    free(set->slots);
    *set = (struct id_set){0};
}
