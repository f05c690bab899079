/*
 * What scoring wants to know of a row of logits: the logarithm of the sum of exponentials,
 * and the greatest.
 */
#ifndef EVAL_LOG_SOFTMAX_H
#define EVAL_LOG_SOFTMAX_H

#include "rml.h"

struct logit_row {
    double logsumexp; /* ln sum exp(logit): ln p(v) = logit[v] - logsumexp */
    int32_t best;     /* the id of the greatest logit, the lowest of equals */
    int32_t bad;      /* -1; else the first id whose logit is NaN or infinite, and the other
                         members say nothing */
};

/*
 * rows[r] of logits [n_rows][n_vocab], n_vocab >= 1, spread over the pool. A row is one
 * worker's and its additions have one order, so the result has the same bits for any number
 * of workers. Differences, exponentials and sums are f64; exp is ours (its error is below
 * 1e-14 relative), so the bits do not depend on the C library either.
 */
void log_softmax_rows(struct rml_thread_pool *pool, const float *logits, size_t n_rows,
                      size_t n_vocab, struct logit_row *rows);

/* The same of one row, on the calling thread. */
struct logit_row log_softmax_row(const float *logits, size_t n_vocab);

#endif
