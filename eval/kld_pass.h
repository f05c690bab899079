/*
 * Base and candidate side by side over all windows.
 */
#ifndef EVAL_KLD_PASS_H
#define EVAL_KLD_PASS_H

#include "eval/eval_run.h"
#include "eval/kld_base.h"

/* What a pass gives: all scored tokens of all windows in order. */
struct kld_tokens {
    struct kld_token *tokens; /* [n] */
    size_t n;
    size_t *first; /* [n_windows + 1] where each window's begin */
};

/*
 * For each window: the candidate runs rows by rows beside the base, and each row is reduced at
 * once. Windows that the database has (by the keys of both sides) are taken from there, unless
 * the rows are to be written; finished ones are committed about every second.
 *
 * writer NULL: rows are not kept. False with RML_CANCELLED after a signal.
 */
bool kld_pass(struct eval_run *run, const struct eval_task *task, struct kld_base *base,
              const struct eval_request *requests, size_t n_windows, struct base_writer *writer,
              struct kld_tokens *out, struct rml_error *err);
void kld_tokens_release(struct kld_tokens *tokens);

#endif
