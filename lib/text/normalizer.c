/*
 * Normalizers: a text in, a text out.
 */
#include "text/growing.h"
#include "text/pipeline.h"
#include "text/unicode.h"

static bool lowercase(const char *text, size_t nbytes, struct rml_bytes *out, struct rml_error *err)
{
    for (size_t i = 0, length; i < nbytes; i += length) {
        uint32_t lower[3];
        size_t n = rmli_unicode_lowercase(rmli_utf8_decode(text + i, &length), lower);
        if (!rmli_bytes_reserve(out, 12, err))
            return false;
        for (size_t k = 0; k < n; k++)
            out->n += rmli_utf8_encode(lower[k], out->data + out->n);
    }
    return true;
}

static bool replace(struct rmli_run *run, const struct rmli_normalizer *step, const char *text,
                    size_t nbytes, struct rml_bytes *out, bool *changed)
{
    size_t from = 0, last_end = SIZE_MAX, begin, end;
    int found;
    *changed = false;
    while ((found = rmli_pattern_next(step->pattern, &run->match, text, nbytes, from, last_end,
                                      &begin, &end, run->err)) > 0) {
        size_t copied = last_end == SIZE_MAX ? 0 : last_end;
        if (!rmli_bytes_append(out, text + copied, begin - copied, run->err) ||
            !rmli_bytes_append(out, step->content, step->content_nbytes, run->err))
            return false;
        *changed = true;
        from = last_end = end;
    }
    if (found < 0)
        return false;
    return !*changed || rmli_bytes_append(out, text + last_end, nbytes - last_end, run->err);
}

static void strip(const struct rmli_normalizer *step, const char **text, size_t *nbytes)
{
    const char *s = *text;
    size_t begin = 0, end = *nbytes, length;
    while (step->left && begin < end &&
           rmli_unicode_mask(rmli_utf8_decode(s + begin, &length)) & RMLI_UC_SPACE)
        begin += length;
    while (step->right && begin < end) {
        size_t last = rmli_utf8_previous(s, begin, end);
        if (!(rmli_unicode_mask(rmli_utf8_decode(s + last, &length)) & RMLI_UC_SPACE))
            break;
        end = last;
    }
    *text = s + begin;
    *nbytes = end - begin;
}

bool rmli_normalize(struct rmli_run *run, const char *text, size_t nbytes, const char **normalized,
                    size_t *normalized_nbytes)
{
    const struct rmli_pipeline *pipeline = run->pipeline;
    int which = 0;
    for (size_t i = 0; i < pipeline->n_normalizers; i++) {
        const struct rmli_normalizer *step = &pipeline->normalizers[i];
        struct rml_bytes *out = &run->normalized[which];
        bool ok = true, changed = true;
        out->n = 0;
        switch (step->kind) {
        case RMLI_NORMALIZE_NFC:
        case RMLI_NORMALIZE_NFD:
        case RMLI_NORMALIZE_NFKC:
        case RMLI_NORMALIZE_NFKD:
            ok = rmli_unicode_normalize(step->kind, text, nbytes, out, &changed, run->err);
            break;
        case RMLI_NORMALIZE_LOWERCASE:
            ok = lowercase(text, nbytes, out, run->err);
            break;
        case RMLI_NORMALIZE_REPLACE:
            ok = replace(run, step, text, nbytes, out, &changed);
            break;
        case RMLI_NORMALIZE_PREPEND:
            changed = nbytes > 0;
            ok = !changed ||
                 (rmli_bytes_append(out, step->content, step->content_nbytes, run->err) &&
                  rmli_bytes_append(out, text, nbytes, run->err));
            break;
        case RMLI_NORMALIZE_STRIP:
            strip(step, &text, &nbytes);
            changed = false;
            break;
        }
        if (!ok)
            return false;
        if (changed) {
            text = out->data ? out->data : "";
            nbytes = out->n;
            which = !which;
        }
    }
    *normalized = text;
    *normalized_nbytes = nbytes;
    return true;
}
