/*
 * Which tokens of which windows go into a pass.
 */
#include "eval/kld_schedule.h"

/* The id at position i predicts target i + 1 - first_target. */
static size_t n_targets_before(const struct eval_request *request, size_t position)
{
    return position + 1 > request->first_target ? position + 1 - request->first_target : 0;
}

static void add_piece(struct kld_schedule *s)
{
    size_t window = s->windows[s->next];
    const struct eval_request *request = &s->requests[window];
    size_t begin = s->n_fed, end = eval_n_fed(request);
    if (end - begin > s->batch_rows - s->n_ids)
        end = begin + s->batch_rows - s->n_ids;
    size_t first = n_targets_before(request, begin), n = n_targets_before(request, end) - first;
    if (n > s->max_rows - s->n_rows) {
        end -= n - (s->max_rows - s->n_rows);
        n = s->max_rows - s->n_rows;
    }
    if (end == begin) /* no row of the base is left */
        return;
    s->pieces[s->n_pieces++] = (struct kld_piece){.request = request,
                                                  .window = window,
                                                  .slot = s->next % KLD_MAX_PIECES,
                                                  .begin = begin,
                                                  .end = end,
                                                  .first = first,
                                                  .n = n,
                                                  .row = s->n_rows};
    s->n_ids += end - begin;
    s->n_rows += n;
    s->n_fed = end;
}

bool kld_schedule_next(struct kld_schedule *s)
{
    s->n_pieces = s->n_rows = s->n_ids = 0;
    while (s->next < s->n_windows && s->n_pieces < KLD_MAX_PIECES) {
        size_t n_before = s->n_pieces;
        add_piece(s);
        if (s->n_pieces == n_before || !kld_piece_is_last(&s->pieces[s->n_pieces - 1]))
            break;
        s->next++;
        s->n_fed = 0;
        if (s->n_ids == s->batch_rows)
            break;
    }
    return s->n_pieces > 0;
}
