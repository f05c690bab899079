/*
 * The paged key-value cache, and sequences that live in it.
 *
 * A page holds RML_PAGE_TOKENS consecutive positions for every layer: the same
 * 64 that attention reduces as one block, so a block is never split over pages.
 * Inside a page rows are head-major,
 *
 *     [layer][keys | values][kv head][slot]       one head row each
 *
 * which makes the keys that one task reads contiguous (token-major was measured
 * 1.6 to 2.2 times slower). Head rows are laid out by dtype as kernels.h says;
 * keys and values may differ in dtype.
 *
 * All pages come from one arena reserved when the cache is created; pages that
 * were never written are not resident. A sequence is a page table and a length.
 * Pages are counted references: rml_sequence_fork shares a prefix, and a shared
 * page is copied when one of its sequences writes to it.
 *
 * Thread rule: a cache and all its sequences belong to one thread at a time.
 */
#ifndef RML_MODEL_KV_CACHE_H
#define RML_MODEL_KV_CACHE_H

#include "base/error.h"
#include "tensor/dtype.h"

#define RML_PAGE_TOKENS 64

struct rml_kv_shape {
    uint32_t n_layer;
    uint32_t n_head_kv;
    uint32_t head_dim;
    enum rml_kv_dtype k_dtype, v_dtype;
};

struct rml_kv_cache;
struct rml_sequence;

/* n_pages pages, at least 1. NULL with RML_NO_MEMORY when the size overflows or
 * cannot be reserved. The cache outlives its sequences. */
struct rml_kv_cache *rml_kv_cache_create(const struct rml_kv_shape *shape, size_t n_pages,
                                         struct rml_error *err);
void rml_kv_cache_destroy(struct rml_kv_cache *cache); /* NULL is allowed */
const struct rml_kv_shape *rml_kv_cache_shape(const struct rml_kv_cache *cache);
size_t rml_kv_cache_n_free_pages(const struct rml_kv_cache *cache);
size_t rml_kv_page_nbytes(const struct rml_kv_shape *shape);       /* 0 on overflow */
size_t rml_kv_cache_nbytes_used(const struct rml_kv_cache *cache); /* pages in use */

/* An empty sequence of at most max_tokens positions. Its page table is allocated
 * here, its pages when they are needed. */
struct rml_sequence *rml_sequence_create(struct rml_kv_cache *cache, size_t max_tokens,
                                         struct rml_error *err);
/* A new sequence of the same limit that shares the first n_tokens positions of
 * another; n_tokens <= its length. */
struct rml_sequence *rml_sequence_fork(const struct rml_sequence *sequence, size_t n_tokens,
                                       struct rml_error *err);
void rml_sequence_destroy(struct rml_sequence *sequence); /* NULL is allowed */
size_t rml_sequence_length(const struct rml_sequence *sequence);
size_t rml_sequence_max_tokens(const struct rml_sequence *sequence);
struct rml_kv_cache *rml_sequence_cache(const struct rml_sequence *sequence);
/* Forgets positions from n_tokens on (no effect when it is not shorter) and
 * gives back whole pages that nobody else uses. */
void rml_sequence_truncate(struct rml_sequence *sequence, size_t n_tokens);

/* ---- For the forward pass ------------------------------------------------ */

/* Makes positions length .. length + n - 1 writable: pages allocated, shared ones
 * copied. RML_OUT_OF_RANGE when the sequence's limit or the free pages do not
 * suffice; then nothing has changed. Does not move the length. Allocates no
 * heap memory. */
bool rmli_sequence_reserve(struct rml_sequence *sequence, size_t n, struct rml_error *err);
/* Undoes a reserve that will not be used: frees pages past the length and puts a shared page
 * back where a copy took its place. */
void rmli_sequence_unreserve(struct rml_sequence *sequence);
/* Counts n positions as written; gives up the page that a copy replaced. */
void rmli_sequence_commit(struct rml_sequence *sequence, size_t n);
/* The head row of a reserved or committed position. */
uint8_t *rmli_sequence_key(const struct rml_sequence *s, uint32_t layer, uint32_t head,
                           size_t position);
uint8_t *rmli_sequence_value(const struct rml_sequence *s, uint32_t layer, uint32_t head,
                             size_t position);

#endif
