/*
 * Windows of a KL divergence in the database: found by their keys, stored when they are done.
 */
#ifndef EVAL_KLD_KEEP_H
#define EVAL_KLD_KEEP_H

#include "eval/kld_pass.h"

/* Takes window `w` of a candidate from the database; *found is false when it is not there. */
bool kld_keep_find(struct kld_candidate *candidate, const struct eval_request *request, size_t w,
                   const char *key, bool *found, struct rml_error *err);

/* Stores the windows [begin, end), all done, in one transaction. */
bool kld_keep_store(struct kld_candidate *candidate, const struct eval_request *requests,
                    char (*keys)[REQUEST_KEY_NBYTES], size_t begin, size_t end,
                    struct rml_error *err);

#endif
