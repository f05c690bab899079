/*
 * Items as prompts to be replied to.
 */
#ifndef EVAL_GENERATE_REQUESTS_H
#define EVAL_GENERATE_REQUESTS_H

#include "eval/eval_prompt.h"
#include "eval/generate_pass.h"

struct generate_requests {
    struct generate_request *requests; /* [n], ids and logprobs owned */
    size_t n;
    struct rml_ids stops; /* ids that end a reply: of the checkpoint and its chat format */
};

/*
 * Encodes the items `chosen`, and finds the stop ids, which go into *rules, too. max_length: ids of
 * a prompt and its reply at most; a longer prompt loses its beginning, as in lm-eval. The seed of
 * each request depends on `seed` and the item's id alone.
 */
bool generate_requests_init(struct generate_requests *out, const struct eval_engine *engine,
                            struct generate_rules *rules, const struct chat_options *chat,
                            const struct choice_items *items, const size_t *chosen, size_t n_chosen,
                            size_t max_length, uint64_t seed, struct rml_error *err);
void generate_requests_release(struct generate_requests *requests);

#endif
