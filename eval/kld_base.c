/*
 * The base of a KL divergence: what its kinds have in common, and a checkpoint as one.
 */
#include "eval/kld_base.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/request_key.h"

#define ROOM_NBYTES ((size_t)128 << 20)
#define LEAST_ROWS 16
#define MOST_ROWS 512

bool kld_base_is_file(const char *name)
{
    char magic[8] = "";
    FILE *stream = fopen(name, "rb");
    bool is_file = stream && fread(magic, 1, 8, stream) == 8 &&
                   (memcmp(magic, "rmlbase1", 8) == 0 || memcmp(magic, "_logits_", 8) == 0);
    if (stream)
        fclose(stream);
    return is_file;
}

bool kld_base_make_room(struct kld_base *base, struct rml_error *err)
{
    size_t rows = ROOM_NBYTES / (sizeof(float) * base->n_vocab);
    base->max_rows = rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
    base->rows = calloc(base->max_rows, sizeof *base->rows);
    base->reduced = calloc(base->max_rows, sizeof *base->reduced);
    if (base->engine)
        base->logits = calloc(base->max_rows * base->n_vocab, sizeof *base->logits);
    else
        base->raw = calloc(base->max_rows, base->row_nbytes);
    if (!base->rows || !base->reduced || !(base->engine ? (void *)base->logits : base->raw))
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu rows of the base",
                         base->max_rows);
    return true;
}

bool kld_base_from_engine(struct kld_base *base, const struct eval_engine *engine,
                          size_t max_tokens, size_t batch_rows, struct rml_error *err)
{
    *base = (struct kld_base){.name = engine->name, .engine = engine, .n_vocab = engine->n_vocab};
    if (!request_key_engine(engine, base->identity, sizeof base->identity))
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "the settings of the base are too long");
    if (kld_side_init(&base->side, engine, NULL, max_tokens, batch_rows, err) &&
        kld_base_make_room(base, err))
        return true;
    kld_base_release(base);
    return false;
}

void kld_base_release(struct kld_base *base)
{
    kld_side_release(&base->side);
    for (size_t w = 0; base->requests && w < base->n_windows; w++)
        free((int32_t *)(uintptr_t)base->requests[w].tokens);
    free(base->requests);
    free(base->offsets);
    free(base->logits);
    free(base->raw);
    free(base->rows);
    free(base->reduced);
    json_decref(base->texts);
    if (base->stream)
        fclose(base->stream);
    *base = (struct kld_base){0};
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static bool run_rows(struct kld_base *base, const struct kld_schedule *pass, struct rml_error *err)
{
    const struct kld_sink sink = {.logits = base->logits};
    if (!kld_side_run(&base->side, pass->pieces, pass->n_pieces, &sink, err))
        return false;
    log_softmax_rows(base->engine->pool, base->logits, pass->n_rows, base->n_vocab, base->reduced);
    for (size_t p = 0; p < pass->n_pieces; p++) {
        const struct kld_piece *piece = &pass->pieces[p];
        for (size_t i = 0; i < piece->n; i++) {
            const struct logit_row *reduced = &base->reduced[piece->row + i];
            const float *row = base->logits + (piece->row + i) * base->n_vocab;
            if (reduced->bad >= 0) {
                const struct nonfinite bad = {.request = piece->request,
                                              .position = kld_piece_position(piece, i),
                                              .id = reduced->bad,
                                              .value = row[reduced->bad]};
                return nonfinite_explain(base->engine, &bad, err);
            }
            base->rows[piece->row + i] = (struct base_row){
                .logits = row, .logsumexp = reduced->logsumexp, .best = reduced->best};
        }
    }
    return true;
}

/* Where row i of a piece stands in a file. */
static int64_t row_offset(const struct kld_base *base, const struct kld_piece *piece, size_t i)
{
    return base->offsets[piece->window] + (int64_t)((piece->first + i) * base->row_nbytes);
}

static bool decode_codes(struct kld_base *base, size_t i, char *found, size_t nbytes)
{
    const unsigned char *raw = base->raw + i * base->row_nbytes;
    struct base_row *row = &base->rows[i];
    *row = (struct base_row){.codes = (const uint16_t *)(const void *)(raw + 8)};
    memcpy(&row->scale, raw, sizeof row->scale);
    memcpy(&row->min_log_prob, raw + 4, sizeof row->min_log_prob);
    for (uint32_t v = 1; v < base->n_vocab; v++)
        if (row->codes[v] > row->codes[row->best])
            row->best = (int32_t)v;
    snprintf(found, nbytes, "scale %g and least log-probability %g", (double)row->scale,
             (double)row->min_log_prob);
    /* Logarithms of probabilities are not above 0; a code's rounding may put one there. */
    return isfinite(row->scale) && isfinite(row->min_log_prob) && row->scale >= 0 &&
           row->scale * (float)row->codes[row->best] + row->min_log_prob < 0.01f;
}

static bool decode_row(struct kld_base *base, size_t i, char *found, size_t nbytes)
{
    const unsigned char *raw = base->raw + i * base->row_nbytes;
    struct base_row *row = &base->rows[i];
    *row = (struct base_row){.logits = (const float *)(const void *)(raw + 8)};
    memcpy(&row->logsumexp, raw, sizeof row->logsumexp);
    struct logit_row reduced = log_softmax_row(row->logits, base->n_vocab);
    row->best = reduced.best;
    if (reduced.bad >= 0)
        snprintf(found, nbytes, "logit %g of id %d", (double)row->logits[reduced.bad], reduced.bad);
    else
        snprintf(found, nbytes, "log of a sum %g", row->logsumexp);
    return reduced.bad < 0 && isfinite(row->logsumexp);
}

static bool read_rows(struct kld_base *base, const struct kld_piece *piece, struct rml_error *err)
{
    int64_t offset = row_offset(base, piece, 0);
    errno = 0;
    if (fseeko(base->stream, offset, SEEK_SET) != 0 ||
        fread(base->raw + piece->row * base->row_nbytes, base->row_nbytes, piece->n,
              base->stream) != piece->n)
        return rmli_fail(err, RML_IO, base->name, offset, "cannot be read: %s",
                         errno ? strerror(errno) : "the file has become shorter");
    for (size_t i = 0; i < piece->n; i++) {
        char found[96];
        if (!(base->is_coded ? decode_codes : decode_row)(base, piece->row + i, found,
                                                          sizeof found))
            return rmli_fail(err, RML_FORMAT, base->name, row_offset(base, piece, i),
                             "%s found in row %zu of window %lld, expected %s", found,
                             piece->first + i, (long long)piece->request->choice_idx,
                             base->is_coded ? "those of log-probabilities" : "finite numbers");
    }
    return true;
}

bool kld_base_rows(struct kld_base *base, const struct kld_schedule *pass, struct rml_error *err)
{
    if (base->engine)
        return run_rows(base, pass, err);
    for (size_t p = 0; p < pass->n_pieces; p++)
        if (pass->pieces[p].n > 0 && !read_rows(base, &pass->pieces[p], err))
            return false;
    return true;
}
