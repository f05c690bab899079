/*
 * A session: one conversation whose keys and values stay in a cache from call to call.
 *
 * Each call passes the whole context so far; the session finds how much of it the cache holds and
 * runs only the rest, so that a chat turn costs its new tokens and not the history. Then it
 * samples, reports and feeds back one token at a time. What is reused changes no bit of the
 * result (contract 5 of the architecture).
 *
 * With a draft, a smaller model of the same vocabulary, it decodes speculatively: the draft
 * guesses up to n_draft tokens, one pass of the target checks them all, and a guess x is kept with
 * probability min(1, p(x) / q(x)), p and q being what the target and the draft would have sampled
 * from. The first that is not kept is replaced by a draw from max(0, p - q), normalised; when all
 * are kept, one more comes from the target's last row. So every token is distributed as if the
 * target had sampled it alone, and a greedy reply is the target's token for token (Leviathan,
 * Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding", 2023; Chen et
 * al., "Accelerating Large Language Model Decoding with Speculative Sampling", 2023).
 *
 * Thread rule: a session, its contexts and its sampler belong to one thread at a time.
 */
#ifndef RML_GENERATE_SESSION_H
#define RML_GENERATE_SESSION_H

#include "generate/sampler.h"
#include "model/decoder.h"

struct rml_session;

#define RML_MAX_DRAFT_TOKENS 64

struct rml_session_params {
    enum rml_kv_dtype k_dtype, v_dtype; /* of the caches, the draft's too */
    size_t n_context;        /* tokens the cache holds; 0: as long as the contexts take */
    const int32_t *stop_ids; /* [n_stop_ids], copied: they end a reply */
    size_t n_stop_ids;
    struct rml_context *draft; /* NULL: none; a context of the draft model, borrowed */
    size_t n_draft;            /* tokens guessed at a time, 1 to RML_MAX_DRAFT_TOKENS */
};

/* f16 cache as long as the contexts take, no stop ids, no draft. */
/* clang-format off */
#define RML_SESSION_DEFAULTS {.k_dtype = RML_KV_F16, .v_dtype = RML_KV_F16, .n_draft = 4}
/* clang-format on */

/*
 * The context and the sampler are borrowed and outlive the session. params NULL:
 * RML_SESSION_DEFAULTS. RML_INVALID_ARGUMENT when the vocabularies of model, draft and sampler
 * differ in size, n_context is longer than a context takes, or n_draft is outside its range.
 */
struct rml_session *rml_session_create(struct rml_context *context, struct rml_sampler *sampler,
                                       const struct rml_session_params *params,
                                       struct rml_error *err);
void rml_session_destroy(struct rml_session *session); /* NULL is allowed */

size_t rml_session_n_context(const struct rml_session *session);
size_t rml_session_n_cached(const struct rml_session *session);  /* tokens in the cache now */
size_t rml_session_kv_nbytes(const struct rml_session *session); /* pages in use, the draft's too */

/* Forgets the conversation; the sampler goes on where it is. */
void rml_session_reset(struct rml_session *session);

/* Gets each token of the reply as soon as it is known; false ends the reply after it. */
typedef bool rml_token_fn(void *user, int32_t id);

struct rml_generation {
    const int32_t *prompt; /* [n_prompt] the whole context so far, at least one token */
    size_t n_prompt;
    size_t max_tokens;      /* of the reply, at least 1 */
    rml_token_fn *on_token; /* NULL: none */
    void *user;
};

enum rml_finish {
    RML_FINISH_STOP,     /* a stop id came: it is neither counted nor reported */
    RML_FINISH_CALLBACK, /* on_token said so */
    RML_FINISH_LIMIT,    /* max_tokens were reported */
    RML_FINISH_FULL      /* the cache has no room for the last token */
};
const char *rml_finish_name(enum rml_finish finish); /* "stop", "callback", "limit", "full" */

struct rml_generation_stats {
    size_t n_run;       /* tokens of the prompt that were run, */
    size_t n_reused;    /* and that the cache held */
    size_t n_generated; /* tokens reported */
    int64_t prefill_ns; /* until the first logits */
    int64_t decode_ns;  /* from then on */
    enum rml_finish finish;
    int32_t stop_id;                        /* with RML_FINISH_STOP, else -1 */
    size_t n_rounds, n_drafted, n_accepted; /* speculation; 0 without a draft */
};

/*
 * Generates a reply. The last token of one that ends otherwise than by a stop id is reported, but
 * not in the cache. `stats` may be NULL.
 *
 * RML_INVALID_ARGUMENT for an empty prompt, an id outside the vocabulary or max_tokens 0,
 * RML_OUT_OF_RANGE for a prompt longer than the cache: nothing has changed then. When a later step
 * fails (logits that are no numbers: RML_INVALID_ARGUMENT) the tokens until then have been
 * reported, and the session can still be used.
 */
bool rml_session_generate(struct rml_session *session, const struct rml_generation *generation,
                          struct rml_generation_stats *stats, struct rml_error *err);

#endif
