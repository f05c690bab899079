/* Small models for the tests of generation. */
#ifndef RML_GENERATE_TESTS_GENERATE_TOYS_H
#define RML_GENERATE_TESTS_GENERATE_TOYS_H

#include "generate/session.h"

struct toy {
    struct rml_thread_pool *pool;
    struct rml_model *model;
    struct rml_context *context;
};

/* Random weights drawn from `seed`, a context of max_context positions. */
struct toy toy_random(size_t n_vocab, uint64_t seed, size_t max_context);
/* A checkpoint of goldens/fixtures. */
struct toy toy_fixture(const char *name);
void toy_release(struct toy *toy);

/* The logits of each token of ids [n], [n][n_vocab], by one pass over all of them without a session;
 * f32 caches. To be freed. */
float *toy_logits(struct toy *toy, const int32_t *ids, size_t n);

/* Collects a reply: a callback's user. */
struct reply {
    int32_t ids[256];
    size_t n;
    size_t stop_after; /* 0: never; else the callback ends the reply with this many */
};
bool reply_add(void *user, int32_t id);

#endif
