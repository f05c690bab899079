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

static bool is_within(size_t n, size_t most, struct rml_error *err)
{
    return n <= most ||
           rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                     "the normalizers make more than %zu bytes of a text, which is not supported",
                     most);
}

static bool replace(struct rmli_run *run, const struct rmli_normalizer *step, const char *text,
                    size_t nbytes, size_t most, struct rml_bytes *out, bool *changed)
{
    size_t from = 0, last_end = SIZE_MAX, begin, end;
    int found;
    *changed = false;
    if (nbytes == 0) /* where the reference finds not even an empty match */
        return true;
    while ((found = rmli_pattern_next(step->pattern, &run->match, text, nbytes, from, last_end,
                                      &begin, &end, run->err)) > 0) {
        size_t copied = last_end == SIZE_MAX ? 0 : last_end;
        if (!rmli_bytes_append(out, text + copied, begin - copied, run->err) ||
            !is_within(out->n + step->content_nbytes, most, run->err) ||
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

/*
 * The reference knows the first word of a text by where its first character stood before
 * normalisation; so a text that has lost its first character has no first word. A replacement
 * stands where the last of the characters that it replaces stood, or, of an empty match, where the
 * character before it stood; what is put before all of the text stands at its beginning. (Before
 * ByteLevel the reference, tokenizers 0.23.3, gives such text twice, or panics; here it is text.)
 *
 * *n bytes at the beginning of `text` come from the first character; how many after the step.
 */
static bool follow_replaced(struct rmli_run *run, const struct rmli_normalizer *step,
                            const char *text, size_t nbytes, size_t *n)
{
    size_t last_end = SIZE_MAX, begin, end, left = *n;
    int found = 0;
    while (nbytes > 0 && (found = rmli_pattern_next(step->pattern, &run->match, text, nbytes,
                                                    last_end == SIZE_MAX ? 0 : last_end, last_end,
                                                    &begin, &end, run->err)) > 0) {
        if (end > left) {
            *n -= begin < left ? left - begin : 0;
            break;
        }
        *n = *n - (end - begin) + step->content_nbytes;
        last_end = end;
    }
    return found >= 0;
}

static bool follow_start(struct rmli_run *run, const struct rmli_normalizer *step, const char *text,
                         size_t nbytes, size_t *n)
{
    struct rml_bytes out = {0};
    bool ok = true, changed;
    if (step->kind == RMLI_NORMALIZE_REPLACE)
        return follow_replaced(run, step, text, nbytes, n);
    if (*n == 0)
        return true;
    switch (step->kind) {
    case RMLI_NORMALIZE_PREPEND:
        *n += step->content_nbytes;
        return true;
    case RMLI_NORMALIZE_STRIP: {
        const char *from = text;
        size_t left = nbytes;
        strip(step, &from, &left);
        size_t lost = (size_t)(from - text);
        *n = lost < *n ? *n - lost : 0;
        return true;
    }
    case RMLI_NORMALIZE_LOWERCASE:
        ok = lowercase(text, *n, &out, run->err);
        *n = out.n;
        break;
    default:
        ok = rmli_unicode_normalize(step->kind, text, *n, &out, &changed, run->err);
        *n = changed ? out.n : *n;
        break;
    }
    free(out.data);
    return ok;
}

bool rmli_normalize(struct rmli_run *run, const char *text, size_t nbytes, const char **normalized,
                    size_t *normalized_nbytes)
{
    const struct rmli_pipeline *pipeline = run->pipeline;
    int which = 0;
    size_t most = rmli_growth_limit(nbytes), n_start = 0;
    if (nbytes > 0)
        rmli_utf8_decode(text, &n_start);
    for (size_t i = 0; i < pipeline->n_normalizers; i++) {
        const struct rmli_normalizer *step = &pipeline->normalizers[i];
        struct rml_bytes *out = &run->normalized[which];
        bool ok = true, changed = true;
        out->n = 0;
        if (run->follows_start && !follow_start(run, step, text, nbytes, &n_start))
            return false;
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
            ok = replace(run, step, text, nbytes, most, out, &changed);
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
        if (!ok || (changed && !is_within(out->n, most, run->err)))
            return false;
        if (changed) {
            text = out->data ? out->data : "";
            nbytes = out->n;
            which = !which;
        }
    }
    *normalized = text;
    *normalized_nbytes = nbytes;
    run->n_start = n_start;
    return true;
}
