/*
 * Questions as requests of the scorer, and the scores of a question back.
 */
#ifndef EVAL_CHOICE_REQUESTS_H
#define EVAL_CHOICE_REQUESTS_H

#include "eval/choice_items.h"
#include "eval/pair_ids.h"
#include "eval/request.h"

struct choice_rules {
    struct pair_rules pair;
    struct chat_options chat;
    const char *delimiter; /* between context and choice */
    bool mutual_info;      /* each choice is also scored alone, without context */
};

/* Where a question's requests are; none when it is skipped. */
struct choice_slots {
    size_t item;             /* index into the items */
    size_t first, n;         /* requests; with mutual_info the second half are the choices alone */
    enum pair_status status; /* why it is skipped: that of the first choice that has to be */
    size_t n_truncated;      /* ids dropped, the most of any choice */
};

struct choice_requests {
    struct eval_request *requests; /* [n], ids owned */
    size_t n;
    struct choice_slots *slots; /* [n_slots], one for each item chosen, in order */
    size_t n_slots;
    size_t n_truncated, n_skipped; /* items */
    size_t n_reencoded;            /* choices whose boundary a token spans (rule 4) */
};

/*
 * Encodes the items `chosen`, all before anything runs; an item that a rule refuses ends it with
 * an error that names file and line. Choices whose boundary a token spans are told of.
 */
bool choice_requests_init(struct choice_requests *out, const struct eval_engine *engine,
                          const struct choice_items *items, const size_t *chosen, size_t n_chosen,
                          const char *file, const struct choice_rules *rules,
                          struct rml_error *err);
void choice_requests_release(struct choice_requests *requests);

#endif
