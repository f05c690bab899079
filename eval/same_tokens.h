/*
 * Do two checkpoints mean the same by an id? Only then can their distributions be compared.
 */
#ifndef EVAL_SAME_TOKENS_H
#define EVAL_SAME_TOKENS_H

#include "eval/kld_base.h"

/* Vocabularies of one size; `candidate` is named when they are not. */
bool check_same_vocabulary(uint32_t base, const struct eval_engine *candidate,
                           struct rml_error *err);

/* And both tokenizers give the same ids for every text: `windows` are the base's. Opens the
 * candidate's tokenizer. */
bool check_same_tokens(uint32_t base_n_vocab, struct eval_engine *candidate,
                       const struct documents *documents, const struct window_settings *settings,
                       const struct windows *windows, struct rml_error *err);

/* And the candidate's tokenizer, which is open, gives the ids of a stored base for the texts in it,
 * or is the base's own, which is all that can be asked of a file without texts. */
bool check_same_tokens_of_file(const struct kld_base *base, const struct eval_engine *candidate,
                               struct rml_error *err);

#endif
