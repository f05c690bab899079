/*
 * An arena: a list of chunks, the newest of which is filled from its start.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Large enough that the list stays short, small enough for a toy. */
#define CHUNK_NBYTES ((size_t)16 << 10)

struct rmli_arena_chunk {
    struct rmli_arena_chunk *next;
    size_t nbytes; /* of bytes[] */
    alignas(max_align_t) unsigned char bytes[];
};

void *rmli_arena_alloc(struct rmli_arena *arena, size_t nbytes, struct rml_error *err)
{
    size_t rounded;
    if (!rmli_size_add(nbytes, alignof(max_align_t) - 1, &rounded)) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "%zu bytes do not fit an address", nbytes);
        return NULL;
    }
    rounded -= rounded % alignof(max_align_t);

    struct rmli_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->nbytes - arena->used_nbytes < rounded) {
        size_t chunk_nbytes = rounded > CHUNK_NBYTES ? rounded : CHUNK_NBYTES, total_nbytes;
        bool fits = rmli_size_add(chunk_nbytes, sizeof *chunk, &total_nbytes);
        chunk = fits && total_nbytes <= PTRDIFF_MAX ? malloc(total_nbytes) : NULL;
        if (!chunk) {
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
            return NULL;
        }
        chunk->nbytes = chunk_nbytes;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used_nbytes = 0;
    }
    void *block = chunk->bytes + arena->used_nbytes;
    arena->used_nbytes += rounded;
    return block;
}

char *rmli_arena_copy_string(struct rmli_arena *arena, const char *s, size_t nbytes,
                             struct rml_error *err)
{
    char *copy = nbytes < SIZE_MAX ? rmli_arena_alloc(arena, nbytes + 1, err) : NULL;
    if (!copy)
        return NULL;
    if (nbytes > 0)
        memcpy(copy, s, nbytes);
    copy[nbytes] = 0;
    return copy;
}

void rmli_arena_release(struct rmli_arena *arena)
{
    while (arena->chunks) {
        struct rmli_arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->used_nbytes = 0;
}
