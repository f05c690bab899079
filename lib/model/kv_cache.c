/*
 * The paged cache: one mapping, a count of owners for each page, a stack of
 * free pages.
 *
 * Invariants
 *   - owners[p] is the number of sequences whose page table holds p; it is 0
 *     exactly for the pages on the free stack.
 *   - a sequence's table holds at least ceil(length / 64) pages; pages beyond
 *     that (reserved, not committed) belong to it alone.
 *   - slots at and after a sequence's length hold nothing anyone reads; so a
 *     copied page needs only the slots before it.
 *
 * The mapping is made without reserving swap and its pages are handed out from
 * the lowest, so what was never written never becomes resident.
 */
#include "model/kv_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "kernels/kernels.h"

_Static_assert(RML_PAGE_TOKENS == RMLI_ATTENTION_BLOCK, "a page is what attention reduces alone");

/* Sizes that follow from a shape. */
struct layout {
    size_t key_nbytes, value_nbytes;           /* one head row */
    size_t key_head_nbytes, value_head_nbytes; /* the rows of one head in a page */
    size_t values_offset;                      /* within a layer */
    size_t layer_nbytes;
    size_t page_nbytes; /* a multiple of 64 */
};

struct rml_kv_cache {
    struct rml_kv_shape shape;
    struct layout layout;
    uint8_t *arena; /* [n_pages][page_nbytes] */
    size_t arena_nbytes;
    size_t n_pages;
    uint32_t *owners; /* [n_pages] */
    uint32_t *free;   /* [n_free] page numbers, the next one to use last */
    size_t n_free;
};

struct rml_sequence {
    struct rml_kv_cache *cache;
    size_t length;
    size_t max_tokens;
    size_t n_pages;  /* used entries of the table */
    uint32_t *pages; /* position / 64 -> page number */
    /* Between reserve and commit: the shared page whose place a copy took. It stays owned, so that
     * unreserve can put it back as it was. */
    bool has_replaced;
    uint32_t replaced;
};

/* n / 64 rounded up, without overflow. */
static size_t pages_for(size_t n_tokens)
{
    return n_tokens / RML_PAGE_TOKENS + (n_tokens % RML_PAGE_TOKENS != 0);
}

/* False when a size does not fit; the shape's fields are in range. */
static bool compute_layout(const struct rml_kv_shape *shape, struct layout *l)
{
    l->key_nbytes = rmli_kv_head_nbytes(shape->k_dtype, shape->head_dim);
    l->value_nbytes = rmli_kv_head_nbytes(shape->v_dtype, shape->head_dim);
    /* A row is a multiple of 2 bytes, a head's 64 rows one of 128. */
    l->key_head_nbytes = l->key_nbytes * RML_PAGE_TOKENS;
    l->value_head_nbytes = l->value_nbytes * RML_PAGE_TOKENS;
    return rmli_size_mul(l->key_head_nbytes, shape->n_head_kv, &l->values_offset) &&
           rmli_size_mul(l->key_head_nbytes + l->value_head_nbytes, shape->n_head_kv,
                         &l->layer_nbytes) &&
           rmli_size_mul(l->layer_nbytes, shape->n_layer, &l->page_nbytes);
}

static bool shape_is_valid(const struct rml_kv_shape *shape, struct rml_error *err)
{
    if (shape->n_layer == 0 || shape->n_head_kv == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a cache of %u layers and %u heads, expected at least 1 of each",
                         shape->n_layer, shape->n_head_kv);
    if (shape->head_dim == 0 || shape->head_dim % 2 != 0 || shape->head_dim > RMLI_MAX_HEAD_DIM)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a cache of head_dim %u, expected an even number up to %d",
                         shape->head_dim, RMLI_MAX_HEAD_DIM);
    if ((unsigned)shape->k_dtype >= RML_N_KV_DTYPES || (unsigned)shape->v_dtype >= RML_N_KV_DTYPES)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "unknown dtype of the cache");
    return true;
}

size_t rml_kv_page_nbytes(const struct rml_kv_shape *shape)
{
    struct layout layout;
    if (!shape_is_valid(shape, NULL) || !compute_layout(shape, &layout))
        return 0;
    return layout.page_nbytes;
}

/* Maps the arena and asks for huge pages, which save the attention kernels a
 * TLB miss every 4 KB; whether the system grants them is its own affair. */
static bool map_arena(struct rml_kv_cache *cache, struct rml_error *err)
{
    void *p = mmap(NULL, cache->arena_nbytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "cannot reserve %zu bytes of cache: %s",
                         cache->arena_nbytes, strerror(errno));
    const size_t huge_page_nbytes = (size_t)2 << 20;
    if (cache->arena_nbytes >= 4 * huge_page_nbytes)
        madvise(p, cache->arena_nbytes, MADV_HUGEPAGE);
    cache->arena = p;
    return true;
}

struct rml_kv_cache *rml_kv_cache_create(const struct rml_kv_shape *shape, size_t n_pages,
                                         struct rml_error *err)
{
    if (!shape_is_valid(shape, err))
        return NULL;
    if (n_pages == 0) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "a cache of 0 pages, expected at least 1");
        return NULL;
    }
    struct layout layout;
    size_t arena_nbytes;
    if (!compute_layout(shape, &layout) ||
        !rmli_size_mul(layout.page_nbytes, n_pages, &arena_nbytes) || arena_nbytes > PTRDIFF_MAX ||
        n_pages > UINT32_MAX) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "%zu pages of cache do not fit an address",
                  n_pages);
        return NULL;
    }
    struct rml_kv_cache *cache = rmli_alloc_zeroed(1, sizeof *cache, err);
    if (!cache)
        return NULL;
    cache->shape = *shape;
    cache->layout = layout;
    cache->arena_nbytes = arena_nbytes;
    cache->n_pages = n_pages;
    cache->owners = rmli_alloc_zeroed(n_pages, sizeof *cache->owners, err);
    cache->free = rmli_alloc(n_pages, sizeof *cache->free, err);
    if (!cache->owners || !cache->free || !map_arena(cache, err)) {
        rml_kv_cache_destroy(cache);
        return NULL;
    }
    cache->n_free = n_pages;
    for (size_t i = 0; i < n_pages; i++)
        cache->free[i] = (uint32_t)(n_pages - 1 - i);
    return cache;
}

void rml_kv_cache_destroy(struct rml_kv_cache *cache)
{
    if (!cache)
        return;
    if (cache->arena)
        munmap(cache->arena, cache->arena_nbytes);
    rmli_free(cache->owners);
    rmli_free(cache->free);
    rmli_free(cache);
}

const struct rml_kv_shape *rml_kv_cache_shape(const struct rml_kv_cache *cache)
{
    return &cache->shape;
}

size_t rml_kv_cache_n_free_pages(const struct rml_kv_cache *cache)
{
    return cache->n_free;
}

size_t rml_kv_cache_nbytes_used(const struct rml_kv_cache *cache)
{
    return (cache->n_pages - cache->n_free) * cache->layout.page_nbytes;
}

/* The caller has checked that one is free. */
static uint32_t take_page(struct rml_kv_cache *cache)
{
    uint32_t page = cache->free[--cache->n_free];
    cache->owners[page] = 1;
    return page;
}

static void drop_page(struct rml_kv_cache *cache, uint32_t page)
{
    if (--cache->owners[page] == 0)
        cache->free[cache->n_free++] = page;
}

/* The rows of all heads and layers in the first n_slots slots. */
static void copy_slots(const struct rml_kv_cache *cache, uint32_t to, uint32_t from, size_t n_slots)
{
    const struct layout *l = &cache->layout;
    uint8_t *dst = cache->arena + to * l->page_nbytes;
    const uint8_t *src = cache->arena + from * l->page_nbytes;
    for (uint32_t layer = 0; layer < cache->shape.n_layer; layer++) {
        for (uint32_t head = 0; head < cache->shape.n_head_kv; head++) {
            size_t keys = layer * l->layer_nbytes + head * l->key_head_nbytes;
            size_t values =
                layer * l->layer_nbytes + l->values_offset + head * l->value_head_nbytes;
            memcpy(dst + keys, src + keys, n_slots * l->key_nbytes);
            memcpy(dst + values, src + values, n_slots * l->value_nbytes);
        }
    }
}

static struct rml_sequence *new_sequence(struct rml_kv_cache *cache, size_t max_tokens,
                                         struct rml_error *err)
{
    struct rml_sequence *sequence = rmli_alloc_zeroed(1, sizeof *sequence, err);
    if (!sequence)
        return NULL;
    sequence->cache = cache;
    sequence->max_tokens = max_tokens;
    /* No sequence can hold more pages than there are. */
    size_t n_pages = pages_for(max_tokens);
    n_pages = n_pages < cache->n_pages ? n_pages : cache->n_pages;
    sequence->pages = rmli_alloc(n_pages, sizeof *sequence->pages, err);
    if (!sequence->pages) {
        rmli_free(sequence);
        return NULL;
    }
    return sequence;
}

struct rml_sequence *rml_sequence_create(struct rml_kv_cache *cache, size_t max_tokens,
                                         struct rml_error *err)
{
    return new_sequence(cache, max_tokens, err);
}

struct rml_sequence *rml_sequence_fork(const struct rml_sequence *sequence, size_t n_tokens,
                                       struct rml_error *err)
{
    if (n_tokens > sequence->length) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "cannot share %zu tokens of a sequence that holds %zu", n_tokens,
                  sequence->length);
        return NULL;
    }
    struct rml_sequence *fork = new_sequence(sequence->cache, sequence->max_tokens, err);
    if (!fork)
        return NULL;
    fork->length = n_tokens;
    fork->n_pages = pages_for(n_tokens);
    for (size_t i = 0; i < fork->n_pages; i++) {
        fork->pages[i] = sequence->pages[i];
        fork->cache->owners[fork->pages[i]]++;
    }
    return fork;
}

/* Gives back all pages from the n-th of the table on. */
static void drop_pages_from(struct rml_sequence *sequence, size_t n)
{
    while (sequence->n_pages > n)
        drop_page(sequence->cache, sequence->pages[--sequence->n_pages]);
}

/* Gives up the page that a copy replaced, if there is one. */
static void forget_replaced(struct rml_sequence *sequence)
{
    if (sequence->has_replaced)
        drop_page(sequence->cache, sequence->replaced);
    sequence->has_replaced = false;
}

void rml_sequence_destroy(struct rml_sequence *sequence)
{
    if (!sequence)
        return;
    forget_replaced(sequence);
    drop_pages_from(sequence, 0);
    rmli_free(sequence->pages);
    rmli_free(sequence);
}

size_t rml_sequence_length(const struct rml_sequence *sequence)
{
    return sequence->length;
}

size_t rml_sequence_max_tokens(const struct rml_sequence *sequence)
{
    return sequence->max_tokens;
}

struct rml_kv_cache *rml_sequence_cache(const struct rml_sequence *sequence)
{
    return sequence->cache;
}

void rml_sequence_truncate(struct rml_sequence *sequence, size_t n_tokens)
{
    if (n_tokens >= sequence->length)
        return;
    sequence->length = n_tokens;
    drop_pages_from(sequence, pages_for(n_tokens));
}

bool rmli_sequence_reserve(struct rml_sequence *sequence, size_t n, struct rml_error *err)
{
    struct rml_kv_cache *cache = sequence->cache;
    if (n == 0)
        return true;
    if (n > sequence->max_tokens - sequence->length)
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1,
                         "the sequence holds %zu of at most %zu tokens, no room for %zu more",
                         sequence->length, sequence->max_tokens, n);
    size_t n_used_slots = sequence->length % RML_PAGE_TOKENS;
    uint32_t *last = &sequence->pages[sequence->length / RML_PAGE_TOKENS];
    bool copy = n_used_slots > 0 && cache->owners[*last] > 1;
    size_t n_pages = pages_for(sequence->length + n);
    size_t n_new = n_pages > sequence->n_pages ? n_pages - sequence->n_pages : 0;
    if (n_new + copy > cache->n_free)
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1,
                         "the cache has %zu free pages of %d tokens, %zu are needed", cache->n_free,
                         RML_PAGE_TOKENS, n_new + copy);
    if (copy) {
        uint32_t page = take_page(cache);
        copy_slots(cache, page, *last, n_used_slots);
        sequence->has_replaced = true;
        sequence->replaced = *last;
        *last = page;
    }
    while (sequence->n_pages < n_pages)
        sequence->pages[sequence->n_pages++] = take_page(cache);
    return true;
}

void rmli_sequence_unreserve(struct rml_sequence *sequence)
{
    drop_pages_from(sequence, pages_for(sequence->length));
    if (sequence->has_replaced) {
        uint32_t *last = &sequence->pages[sequence->length / RML_PAGE_TOKENS];
        uint32_t copy = *last;
        *last = sequence->replaced;
        sequence->replaced = copy;
        forget_replaced(sequence);
    }
}

void rmli_sequence_commit(struct rml_sequence *sequence, size_t n)
{
    sequence->length += n;
    forget_replaced(sequence);
}

static uint8_t *layer_of(const struct rml_sequence *s, uint32_t layer, size_t position)
{
    const struct layout *l = &s->cache->layout;
    return s->cache->arena + s->pages[position / RML_PAGE_TOKENS] * l->page_nbytes +
           layer * l->layer_nbytes;
}

uint8_t *rmli_sequence_key(const struct rml_sequence *s, uint32_t layer, uint32_t head,
                           size_t position)
{
    const struct layout *l = &s->cache->layout;
    return layer_of(s, layer, position) + head * l->key_head_nbytes +
           position % RML_PAGE_TOKENS * l->key_nbytes;
}

uint8_t *rmli_sequence_value(const struct rml_sequence *s, uint32_t layer, uint32_t head,
                             size_t position)
{
    const struct layout *l = &s->cache->layout;
    return layer_of(s, layer, position) + l->values_offset + head * l->value_head_nbytes +
           position % RML_PAGE_TOKENS * l->value_nbytes;
}
