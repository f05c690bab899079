/*
 * A base and its candidates side by side over all windows.
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

/* How fast a side ran: forward passes alone, without what is made of their logits. */
struct kld_speed {
    double *ns; /* [n] of each pass that it ran in full; NaN: it had some windows already */
    size_t n;
    double seconds, n_ids; /* of the ids that it was fed */
};

/* What is compared with the base. */
struct kld_candidate {
    struct eval_run *run;
    const struct eval_task *task;
    struct rml_context *context; /* NULL, or shared: see kld_side_init */
    bool is_base;                /* the base itself: its rows are compared with themselves */

    /* Results, zero before; given back by kld_candidate_release. */
    struct kld_tokens tokens;
    struct kld_speed speed;
};

struct kld_pass_options {
    size_t batch_rows;          /* ids of a pass; 0: 512 */
    struct base_writer *writer; /* NULL, or the base's rows are kept there */
};

/*
 * Runs each pass of the windows through the base and then through every candidate, and reduces
 * each row at once. The base runs only where a candidate needs it, once for all of them; of the
 * candidates another one comes first in each pass, so that what slows the machine down for a while
 * meets all of them. Windows that the database has (by the keys of both sides) are taken from
 * there, unless the rows are to be written; finished ones are committed about every second.
 *
 * No bit depends on the batches or on who runs beside whom (contract 5). *base_speed may be NULL.
 * False with RML_CANCELLED after a signal.
 */
bool kld_pass(struct kld_base *base, const struct eval_request *requests, size_t n_windows,
              struct kld_candidate *candidates, size_t n_candidates,
              const struct kld_pass_options *options, struct kld_speed *base_speed,
              struct rml_error *err);
void kld_candidate_release(struct kld_candidate *candidate); /* safe on results of zero */
void kld_speed_release(struct kld_speed *speed);

#define KLD_BATCH_ROWS 512

#endif
