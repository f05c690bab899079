/*
 * Which tokens of which windows go into a pass of a KL divergence.
 *
 * Windows are taken in order and put end to end; a pass takes as many ids as it has rows, and as
 * many targets as there is room for rows of the base. So short windows share a pass, a long one
 * runs over several, and at most one is under way between two passes.
 *
 *     pass 1   | window 0      | window 1      | window 2  |
 *     pass 2   | the rest of 2 | window 3 ...
 */
#ifndef EVAL_KLD_SCHEDULE_H
#define EVAL_KLD_SCHEDULE_H

#include "eval/request.h"

/* Most windows in a pass: each of them holds at least a page of keys and values. */
#define KLD_MAX_PIECES 32

/* Some ids of a window. */
struct kld_piece {
    const struct eval_request *request;
    size_t window;
    size_t slot;       /* of its sequence: the same for all pieces of a window */
    size_t begin, end; /* ids that are fed */
    size_t first, n;   /* targets that rows of them predict, counted from 0; n may be 0 */
    size_t row;        /* of the first of these among the rows of the pass */
};

struct kld_schedule {
    const struct eval_request *requests;
    const size_t *windows; /* [n_windows] those that run, ascending */
    size_t n_windows;
    size_t batch_rows, max_rows; /* ids and targets of a pass */

    size_t next;  /* index into `windows` of the one that the next pass begins with, */
    size_t n_fed; /* and how many of its ids have been fed */
    struct kld_piece pieces[KLD_MAX_PIECES];
    size_t n_pieces, n_rows, n_ids; /* of the pass: pieces, targets, ids */
};

/* The next pass; false when there is none. */
bool kld_schedule_next(struct kld_schedule *schedule);

/* Is the piece the last of its window? */
static inline bool kld_piece_is_last(const struct kld_piece *piece)
{
    return piece->end == eval_n_fed(piece->request);
}

/* Where in its window the row lies that predicts target `i` of the piece. */
static inline size_t kld_piece_position(const struct kld_piece *piece, size_t i)
{
    return piece->request->first_target + piece->first + i - 1;
}

#endif
