/*
 * An arena: many small allocations that live and die together.
 *
 * Memory comes in chunks that never move, so pointers stay valid until the
 * arena is released. For names and tables read out of files; nothing in it is
 * aligned for vector code.
 */
#ifndef RML_BASE_ARENA_H
#define RML_BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"

struct rmli_arena_chunk;

/* All zero is an empty arena. */
struct rmli_arena {
    struct rmli_arena_chunk *chunks; /* newest first */
    size_t used_nbytes;              /* of the newest chunk */
};

/* nbytes bytes aligned for any scalar type, contents undefined; NULL with
 * RML_NO_MEMORY. */
void *rmli_arena_alloc(struct rmli_arena *arena, size_t nbytes, struct rml_error *err);

/* A terminated copy of nbytes bytes; NULL with RML_NO_MEMORY. */
char *rmli_arena_copy_string(struct rmli_arena *arena, const char *s, size_t nbytes,
                             struct rml_error *err);

/* Frees everything and leaves an empty arena. */
void rmli_arena_release(struct rmli_arena *arena);

#endif
