/*
 * Working out what each token stands for.
 */
#include "text/token_decoder.h"

#include "text/growing.h"
#include "text/unicode.h"

/* ---- One token ---------------------------------------------------------------------- */

static bool replace_in(const struct rmli_decoder_step *step, struct rmli_match_scratch *match,
                       const char *text, size_t nbytes, size_t most, struct rml_bytes *out,
                       struct rml_error *err)
{
    size_t copied = 0, last_end = SIZE_MAX, begin, end;
    int found;
    if (nbytes == 0) /* where the reference finds not even an empty match */
        return true;
    while ((found = rmli_pattern_next(step->pattern, match, text, nbytes, copied, last_end, &begin,
                                      &end, err)) > 0) {
        if (!rmli_bytes_append(out, text + copied, begin - copied, err) ||
            !rmli_bytes_append(out, step->content, step->content_nbytes, err))
            return false;
        if (out->n > most)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "the decoder makes more than %zu bytes of a token, which is not "
                             "supported",
                             most);
        copied = last_end = end;
    }
    return found == 0 && rmli_bytes_append(out, text + copied, nbytes - copied, err);
}

/* Moves the bounds over up to start and stop characters. */
static void strip_bounds(const struct rmli_decoder_step *step, const char *text, size_t *begin,
                         size_t *end)
{
    size_t length = step->character_nbytes;
    for (size_t i = 0; i < step->start && *end - *begin >= length &&
                       memcmp(text + *begin, step->character, length) == 0;
         i++)
        *begin += length;
    for (size_t i = 0; i < step->stop && *end - *begin >= length &&
                       memcmp(text + *end - length, step->character, length) == 0;
         i++)
        *end -= length;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool byte_of(const char *text, size_t nbytes, char *byte)
{
    if (nbytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return false;
    int high = hex(text[3]), low = hex(text[4]);
    if (high < 0 || low < 0)
        return false;
    *byte = (char)(high << 4 | low);
    return true;
}

/* Characters of the alphabet as their bytes; one outside it, and the whole token is itself. */
static bool from_bytelevel(const char *text, size_t nbytes, struct rml_bytes *out,
                           struct rml_error *err)
{
    size_t before = out->n;
    if (!rmli_bytes_reserve(out, nbytes, err))
        return false;
    int64_t n = rmli_bytelevel_bytes(text, nbytes, out->data + before);
    if (n < 0)
        return rmli_bytes_append(out, text, nbytes, err);
    out->n = before + (size_t)n;
    return true;
}

struct work {
    struct rmli_match_scratch match;
    struct rml_bytes texts[2];
};

static bool decode_token(const struct rmli_decoder *decoder, struct work *work, const char *text,
                         size_t nbytes, bool first, struct rml_bytes *out, struct rml_error *err)
{
    int which = 0;
    size_t most = rmli_growth_limit(nbytes);
    char byte;
    for (size_t k = 0; k < decoder->n_steps; k++) {
        const struct rmli_decoder_step *step = &decoder->steps[k];
        struct rml_bytes *next = &work->texts[which];
        next->n = 0;
        size_t begin = 0, end = nbytes;
        switch (step->kind) {
        case RMLI_DECODE_BYTELEVEL:
            return from_bytelevel(text, nbytes, out, err);
        case RMLI_DECODE_BYTE_FALLBACK:
            if (byte_of(text, nbytes, &byte))
                return rmli_bytes_append(out, &byte, 1, err);
            continue;
        case RMLI_DECODE_FUSE:
            return rmli_bytes_append(out, text, nbytes, err);
        case RMLI_DECODE_STRIP:
            strip_bounds(step, text, &begin, &end);
            text += begin;
            nbytes = end - begin;
            continue;
        case RMLI_DECODE_METASPACE: {
            bool drop = first && step->scheme != RMLI_PREPEND_NEVER;
            for (size_t i = 0, length; i < nbytes; i += length) {
                length = rmli_utf8_length(text[i]);
                bool is_space = length == step->character_nbytes &&
                                memcmp(text + i, step->character, length) == 0;
                if (is_space ? !drop && !rmli_bytes_append(next, " ", 1, err)
                             : !rmli_bytes_append(next, text + i, length, err))
                    return false;
            }
            break;
        }
        case RMLI_DECODE_REPLACE:
            if (!replace_in(step, &work->match, text, nbytes, most, next, err))
                return false;
            break;
        }
        text = next->data ? next->data : "";
        nbytes = next->n;
        which = !which;
    }
    return rmli_bytes_append(out, text, nbytes, err);
}

static void work_release(struct work *work)
{
    rmli_match_scratch_release(&work->match);
    free(work->texts[0].data);
    free(work->texts[1].data);
}

bool rmli_decoder_first(const struct rmli_decoder *decoder,
                        const struct rmli_vocabulary *vocabulary, int32_t id, struct rml_bytes *out,
                        struct rml_error *err)
{
    struct work work = {0};
    size_t nbytes;
    const char *text = rmli_vocabulary_decoded_text(vocabulary, id, &nbytes);
    bool ok = decode_token(decoder, &work, text, nbytes, true, out, err);
    work_release(&work);
    return ok;
}

/* ---- All of them ---------------------------------------------------------------------- */

static bool check_order(struct rmli_decoder *decoder, struct rml_error *err)
{
    static const char *const names[] = {"ByteLevel",    "Metaspace", "Replace",
                                        "ByteFallback", "Fuse",      "Strip"};
    enum { TOKENS, BYTES, FUSED, STRIPPED } state = TOKENS;
    for (size_t k = 0; k < decoder->n_steps; k++) {
        const struct rmli_decoder_step *step = &decoder->steps[k];
        bool fits = false;
        switch (step->kind) {
        case RMLI_DECODE_BYTELEVEL:
            fits = state == TOKENS;
            state = FUSED;
            break;
        case RMLI_DECODE_METASPACE:
            decoder->first_differs |= step->scheme != RMLI_PREPEND_NEVER;
            fits = state == TOKENS;
            break;
        case RMLI_DECODE_REPLACE:
            fits = state == TOKENS;
            break;
        case RMLI_DECODE_BYTE_FALLBACK:
            fits = state == TOKENS;
            state = BYTES;
            break;
        case RMLI_DECODE_FUSE:
            fits = state != STRIPPED;
            state = FUSED;
            break;
        case RMLI_DECODE_STRIP:
            fits = state == TOKENS || state == FUSED;
            if (state == FUSED) {
                decoder->strip = *step;
                state = STRIPPED;
            }
            break;
        }
        if (!fits)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "the decoder has %s after steps that leave no tokens, which is not "
                             "supported",
                             names[step->kind]);
        if (step->kind == RMLI_DECODE_STRIP &&
            (step->start > RMLI_MAX_STRIP || step->stop > RMLI_MAX_STRIP))
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "the decoder strips more than %d characters", RMLI_MAX_STRIP);
    }
    decoder->spaced = !decoder->present;
    return true;
}

bool rmli_decoder_finish(struct rmli_decoder *decoder, struct rmli_vocabulary *vocabulary,
                         struct rml_error *err)
{
    if (!check_order(decoder, err))
        return false;
    /* What ByteLevel makes of a text is its key. */
    if (vocabulary->bytelevel && vocabulary->n_overrides == 0 && decoder->n_steps > 0 &&
        decoder->steps[0].kind == RMLI_DECODE_BYTELEVEL) {
        vocabulary->pieces = vocabulary->keys;
        return true;
    }
    struct rml_bytes out = {0};
    struct work work = {0};
    uint32_t *offsets = rmli_alloc(vocabulary->n + 1, sizeof *offsets, err);
    bool ok = offsets && rmli_bytes_reserve(&out, vocabulary->text.offsets[vocabulary->n] + 1, err);
    for (size_t id = 0; ok && id < vocabulary->n; id++) {
        size_t nbytes;
        offsets[id] = (uint32_t)out.n;
        const char *text = rmli_vocabulary_decoded_text(vocabulary, (int32_t)id, &nbytes);
        ok = decode_token(decoder, &work, text, nbytes, false, &out, err);
        if (ok && out.n > UINT32_MAX)
            ok = rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "the decoded tokens exceed 4 GB");
    }
    char *data = ok ? rmli_alloc(out.n + 1, 1, err) : NULL;
    if (data) {
        memcpy(data, out.data, out.n);
        offsets[vocabulary->n] = (uint32_t)out.n;
        vocabulary->pieces = (struct rmli_strings){data, offsets};
    } else {
        rmli_free(offsets);
    }
    free(out.data);
    work_release(&work);
    return data != NULL;
}

void rmli_decoder_release(struct rmli_decoder *decoder)
{
    for (size_t k = 0; k < decoder->n_steps; k++) {
        rmli_pattern_destroy(decoder->steps[k].pattern);
        rmli_free(decoder->steps[k].content);
    }
}
