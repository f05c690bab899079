/*
 * The ids of a (context, continuation) pair, by the rules of lm-eval (eval-semantics.md,
 * section 2), with its crashes turned into rules:
 *
 *   1. white space at the end of the context moves to the continuation;
 *   2. the continuation's ids are those of the whole beyond the number of the context's, and
 *      the model is fed the context's ids and then those;
 *   3. without context the prefix id (BOS, else EOS) is the context, and the continuation is
 *      encoded without special tokens; if that begins with the prefix id, this one is the context;
 *   4. nothing may be left of the continuation (a token spans the boundary, or the whole has
 *      fewer ids): see enum pair_boundary;
 *   5. more ids than the model's length and one: see enum pair_overlong.
 */
#ifndef EVAL_PAIR_IDS_H
#define EVAL_PAIR_IDS_H

#include "eval/eval_prompt.h"

enum pair_boundary {
    PAIR_BOUNDARY_REENCODE, /* the continuation encoded alone; the default */
    PAIR_BOUNDARY_SKIP,
    PAIR_BOUNDARY_ERROR
};
enum pair_overlong {
    PAIR_OVERLONG_TRUNCATE, /* ids are dropped from the left; the default */
    PAIR_OVERLONG_SKIP,
    PAIR_OVERLONG_ERROR
};

struct pair_rules {
    enum pair_boundary boundary;
    enum pair_overlong overlong;
    size_t max_length; /* ids that the model is fed at most, at least 1 */
};

enum pair_status { PAIR_SCORED, PAIR_SKIPPED_BOUNDARY, PAIR_SKIPPED_OVERLONG };

struct pair_ids {
    int32_t *ids; /* [n] to be freed; NULL when it is skipped */
    size_t n, first_target, n_truncated;
    bool is_reencoded; /* rule 4 came in */
    enum pair_status status;
};

/* The context's part of the work, done once for all its continuations. */
struct pair_context {
    struct rml_text_span *spans; /* [n] and room for one more: without trailing white space */
    size_t n;
    const char *space; /* that white space, borrowed */
    size_t space_nbytes;
    bool is_chat;       /* special-token text in a continuation stays text */
    struct rml_ids ids; /* empty without text */
};

/* `text` outlives the context. */
bool pair_context_init(struct pair_context *context, const struct eval_engine *engine,
                       const struct eval_prompt *text, struct rml_error *err);
void pair_context_release(struct pair_context *context); /* safe on a zero struct */

/* False on failure, also where a rule is `error`; the caller adds which item it was. */
bool pair_ids_init(struct pair_ids *pair, const struct eval_engine *engine,
                   const struct pair_context *context, const char *continuation, size_t nbytes,
                   const struct pair_rules *rules, struct rml_error *err);

bool pair_boundary_parse(const char *name, enum pair_boundary *boundary);
bool pair_overlong_parse(const char *name, enum pair_overlong *overlong);
const char *pair_boundary_name(enum pair_boundary boundary);
const char *pair_overlong_name(enum pair_overlong overlong);

#endif
