/*
 * NFC, NFD, NFKC and NFKD.
 *
 * utf8proc does the work, but only on the stretches that need it: from the starter before a
 * character that could change up to the next one that could not. Everything else is copied,
 * and a text without such characters is not touched at all. Code points that mean nothing to
 * the reference's older tables (RMLI_UC_INERT) stay outside of the stretches, so that a newer
 * utf8proc gives the same ids.
 */
#include <stdlib.h>

#include <utf8proc.h>

#include "text/growing.h"
#include "text/pipeline.h"
#include "text/unicode.h"

/*
 * utf8proc puts combining marks in order by exchanging neighbours, quadratic in their number. No
 * script stacks more than a few; the Stream-Safe Text Format of UAX #15 allows 30. A stretch
 * longer than this is first sorted by us.
 */
enum { LONG_STRETCH_NBYTES = 512 };

struct mark {
    uint32_t code_point;
    uint32_t order; /* class << 24 would lose positions: kept apart */
    uint8_t class;
};

static int compare_marks(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Decomposes fully and orders the marks: the canonical form that any further normalisation
 * starts from, so it changes no result. */
static bool sort_marks(const char *text, size_t nbytes, bool compatibility, struct rml_bytes *out,
                       struct rml_error *err)
{
    struct mark *marks = NULL;
    size_t n = 0, capacity = 0;
    bool ok = true;
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    if (compatibility)
        options |= UTF8PROC_COMPAT;
    for (size_t i = 0, length; ok && i <= nbytes; i += length) {
        utf8proc_int32_t parts[32];
        utf8proc_ssize_t n_parts = 0;
        length = 1;
        if (i < nbytes) {
            int boundary = 0;
            uint32_t code_point = rmli_utf8_decode(text + i, &length);
            n_parts = utf8proc_decompose_char((utf8proc_int32_t)code_point, parts, 32, options,
                                              &boundary);
            if (n_parts < 0 || n_parts > 32)
                return rmli_fail(err, RML_INTERNAL, NULL, -1, "a decomposition fails");
        }
        for (utf8proc_ssize_t k = 0; ok && (k < n_parts || i == nbytes); k++) {
            uint8_t class = 0;
            if (i < nbytes)
                class = (uint8_t)utf8proc_get_property(parts[k])->combining_class;
            if (class == 0) { /* a starter, or the end: the marks before it are complete */
                if (n > 1)
                    qsort(marks, n, sizeof *marks, compare_marks);
                for (size_t m = 0; ok && m < n; m++) {
                    char bytes[4];
                    ok = rmli_bytes_append(out, bytes, rmli_utf8_encode(marks[m].code_point, bytes),
                                           err);
                }
                n = 0;
                if (i == nbytes)
                    break;
                char bytes[4];
                ok = ok && rmli_bytes_append(out, bytes,
                                             rmli_utf8_encode((uint32_t)parts[k], bytes), err);
            } else {
                ok = rmli_reserve_one((void **)&marks, n, &capacity, sizeof *marks, err);
                if (ok) {
                    marks[n] = (struct mark){(uint32_t)parts[k], (uint32_t)n, class};
                    n++;
                }
            }
        }
    }
    rmli_free(marks);
    return ok;
}

static bool normalize_stretch(enum rmli_normalizer_kind form, const char *text, size_t nbytes,
                              struct rml_bytes *out, struct rml_error *err)
{
    bool compatibility = form == RMLI_NORMALIZE_NFKC || form == RMLI_NORMALIZE_NFKD;
    bool composes = form == RMLI_NORMALIZE_NFC || form == RMLI_NORMALIZE_NFKC;
    struct rml_bytes sorted = {0};
    if (nbytes > LONG_STRETCH_NBYTES) {
        if (!sort_marks(text, nbytes, compatibility, &sorted, err)) {
            free(sorted.data);
            return false;
        }
        text = sorted.data;
        nbytes = sorted.n;
    }
    utf8proc_option_t options = UTF8PROC_STABLE;
    options |= composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    if (compatibility)
        options |= UTF8PROC_COMPAT;
    utf8proc_uint8_t *result = NULL;
    utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)nbytes, &result, options);
    free(sorted.data);
    if (n < 0)
        return rmli_fail(err, n == UTF8PROC_ERROR_NOMEM ? RML_NO_MEMORY : RML_INTERNAL, NULL, -1,
                         "normalisation fails: %s", utf8proc_errmsg(n));
    bool ok = rmli_bytes_append(out, (const char *)result, (size_t)n, err);
    free(result);
    return ok;
}

bool rmli_unicode_normalize(enum rmli_normalizer_kind form, const char *text, size_t nbytes,
                            struct rml_bytes *out, bool *changed, struct rml_error *err)
{
    uint64_t unstable = form == RMLI_NORMALIZE_NFC ? RMLI_UC_UNSTABLE_NFC : RMLI_UC_UNSTABLE;
    *changed = false;
    size_t copied = 0;  /* text before this is in `out` */
    size_t starter = 0; /* the last stable character */
    bool has_starter = false;
    size_t i = 0, length;
    while (i < nbytes) {
        if ((uint8_t)text[i] < 0x80) {
            starter = i++;
            has_starter = true;
            continue;
        }
        uint64_t mask = rmli_unicode_mask(rmli_utf8_decode(text + i, &length));
        if (!(mask & unstable)) {
            starter = i;
            has_starter = !(mask & RMLI_UC_INERT);
            i += length;
            continue;
        }
        size_t begin = has_starter && starter >= copied ? starter : i;
        for (; i < nbytes; i += length)
            if (!(rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & unstable))
                break;
        *changed = true;
        if (!rmli_bytes_append(out, text + copied, begin - copied, err) ||
            !normalize_stretch(form, text + begin, i - begin, out, err))
            return false;
        copied = i;
        has_starter = false;
    }
    return !*changed || rmli_bytes_append(out, text + copied, nbytes - copied, err);
}
