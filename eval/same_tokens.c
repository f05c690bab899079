/*
 * Do two checkpoints mean the same by an id?
 */
#include "eval/same_tokens.h"

#include <string.h>

bool check_same_vocabulary(uint32_t base, const struct eval_engine *candidate,
                           struct rml_error *err)
{
    return base == candidate->n_vocab ||
           rmli_fail(err, RML_FORMAT, candidate->name, -1,
                     "a vocabulary of %u tokens found, expected the base's %u", candidate->n_vocab,
                     base);
}

static bool check_ids(const struct eval_engine *candidate, const struct documents *documents,
                      const struct windows *base, const struct windows *other,
                      struct rml_error *err)
{
    for (size_t d = 0; d < base->n_docs; d++) {
        size_t n = base->docs[d].n_tokens;
        if (n != other->docs[d].n_tokens ||
            memcmp(base->ids[d], other->ids[d], n * sizeof(int32_t)) != 0)
            return rmli_fail(err, RML_FORMAT, candidate->name, -1,
                             "its tokenizer gives other ids for '%s' than the base's, expected the "
                             "same",
                             documents->docs[d].id);
    }
    return true;
}

bool check_same_tokens(uint32_t base_n_vocab, struct eval_engine *candidate,
                       const struct documents *documents, const struct window_settings *settings,
                       const struct windows *windows, struct rml_error *err)
{
    struct windows other = {0};
    bool ok = check_same_vocabulary(base_n_vocab, candidate, err) &&
              eval_engine_need_tokenizer(candidate, err) &&
              windows_init(&other, candidate, documents, settings, err) &&
              check_ids(candidate, documents, windows, &other, err);
    windows_release(&other);
    return ok;
}
