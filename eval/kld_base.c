/*
 * The base of a KL divergence: what its kinds have in common, and a checkpoint as one.
 */
#include "eval/kld_base.h"

#include <stdlib.h>
#include <string.h>

#include "eval/nonfinite.h"
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

bool kld_base_from_engine(struct kld_base *base, struct eval_engine *engine, size_t max_tokens,
                          struct rml_error *err)
{
    *base = (struct kld_base){.name = engine->name, .engine = engine, .n_vocab = engine->n_vocab};
    size_t n_pages = (max_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    if (!request_key_engine(engine, base->identity, sizeof base->identity))
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "the settings of the base are too long");
    base->context = eval_engine_context(engine, max_tokens, 0, err);
    base->cache = base->context ? eval_engine_cache(engine, n_pages, err) : NULL;
    base->sequence = base->cache ? rml_sequence_create(base->cache, max_tokens, err) : NULL;
    if (base->sequence && kld_base_make_room(base, err))
        return true;
    kld_base_release(base);
    return false;
}

void kld_base_release(struct kld_base *base)
{
    rml_sequence_destroy(base->sequence);
    rml_kv_cache_destroy(base->cache);
    rml_context_destroy(base->context);
    for (size_t w = 0; base->requests && w < base->n_windows; w++)
        free((int32_t *)(uintptr_t)base->requests[w].tokens);
    free(base->requests);
    free(base->offsets);
    free(base->logits);
    free(base->raw);
    free(base->rows);
    free(base->reduced);
    if (base->stream)
        fclose(base->stream);
    *base = (struct kld_base){0};
}

/* ---- Rows ---------------------------------------------------------------------------------- */

bool kld_base_begin(struct kld_base *base, size_t w, struct rml_error *err)
{
    if (base->engine) {
        rml_sequence_truncate(base->sequence, 0);
        return true;
    }
    return fseeko(base->stream, base->offsets[w], SEEK_SET) == 0 ||
           rmli_fail(err, RML_IO, base->name, base->offsets[w], "cannot be read");
}

static bool run_rows(struct kld_base *base, const struct eval_request *request, size_t first,
                     size_t n, struct rml_error *err)
{
    size_t begin = rml_sequence_length(base->sequence);
    size_t end =
        request->first_target + first + n - 1; /* the row before the last target, and one */
    const struct rml_segment segment = {.sequence = base->sequence,
                                        .tokens = request->tokens + begin,
                                        .n_tokens = end - begin,
                                        .n_logit_rows = n};
    const struct rml_batch batch = {.segments = &segment, .n_segments = 1, .logits = base->logits};
    struct rml_error why = RML_ERROR_INIT;
    if (!rml_forward(base->context, &batch, &why))
        return rmli_fail(err, why.code, base->name, -1, "%s", why.message);
    log_softmax_rows(base->engine->pool, base->logits, n, base->n_vocab, base->reduced);
    for (size_t i = 0; i < n; i++) {
        const float *row = base->logits + i * base->n_vocab;
        if (base->reduced[i].bad >= 0) {
            const struct nonfinite bad = {.request = request,
                                          .position = request->first_target + first + i - 1,
                                          .id = base->reduced[i].bad,
                                          .value = row[base->reduced[i].bad]};
            return nonfinite_explain(base->engine, &bad, err);
        }
        base->rows[i] = (struct base_row){
            .logits = row, .logsumexp = base->reduced[i].logsumexp, .best = base->reduced[i].best};
    }
    return true;
}

static void decode_codes(struct kld_base *base, size_t i)
{
    const unsigned char *raw = base->raw + i * base->row_nbytes;
    struct base_row *row = &base->rows[i];
    *row = (struct base_row){.codes = (const uint16_t *)(const void *)(raw + 8)};
    memcpy(&row->scale, raw, sizeof row->scale);
    memcpy(&row->min_log_prob, raw + 4, sizeof row->min_log_prob);
    for (uint32_t v = 1; v < base->n_vocab; v++)
        if (row->codes[v] > row->codes[row->best])
            row->best = (int32_t)v;
}

static bool decode_row(struct kld_base *base, size_t i, struct rml_error *err)
{
    const unsigned char *raw = base->raw + i * base->row_nbytes;
    struct base_row *row = &base->rows[i];
    *row = (struct base_row){.logits = (const float *)(const void *)(raw + 8)};
    memcpy(&row->logsumexp, raw, sizeof row->logsumexp);
    struct logit_row reduced = log_softmax_row(row->logits, base->n_vocab);
    row->best = reduced.best;
    return reduced.bad < 0 || rmli_fail(err, RML_FORMAT, base->name, -1,
                                        "a logit that is NaN or infinite found, expected a number");
}

bool kld_base_rows(struct kld_base *base, const struct eval_request *request, size_t w,
                   size_t first, size_t n, struct rml_error *err)
{
    if (base->engine)
        return run_rows(base, request, first, n, err);
    int64_t offset = base->offsets[w] + (int64_t)(first * base->row_nbytes);
    if (fread(base->raw, base->row_nbytes, n, base->stream) != n)
        return rmli_fail(err, RML_IO, base->name, offset, "cannot be read");
    for (size_t i = 0; i < n; i++) {
        if (base->is_coded)
            decode_codes(base, i);
        else if (!decode_row(base, i, err))
            return false;
    }
    return true;
}
