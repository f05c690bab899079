/*
 * Texts of mixed origin.
 *
 * The spans are joined and encoded like any text; all that differs is where a special token may be
 * found. One kind of token makes that harder: those looked for in the normalised text, whose places
 * are other ones. A border is carried over by normalising what lies before it, where that is how
 * the whole begins; where it is not (a border inside of what normalisation joins), the text up to
 * the next border counts as untrusted.
 */
#include "text/spans.h"

#include "base/memory.h"
#include "text/growing.h"
#include "text/tokenizer_private.h"

/* ---- Normalised sections ----------------------------------------------------------------- */

/* Where text[at .. border) ends in the normalised section; false when it is not its beginning. */
static bool carry_over(struct rmli_section *section, struct rmli_run *run, const char *text,
                       size_t nbytes, size_t *place, bool *known)
{
    const char *normalized = "";
    size_t normalized_nbytes = 0;
    if (nbytes > 0 && !rmli_normalize(run, text, nbytes, &normalized, &normalized_nbytes))
        return false;
    *place = normalized_nbytes;
    *known =
        normalized_nbytes <= section->copy.n &&
        (normalized_nbytes == 0 || memcmp(section->copy.data, normalized, normalized_nbytes) == 0);
    return true;
}

bool rmli_section_init(struct rmli_section *section, struct rmli_run *run, const char *text,
                       size_t at, size_t nbytes, const struct rmli_trust *trust)
{
    if (!rmli_normalize(run, text + at, nbytes, &section->text, &section->nbytes))
        return false;
    section->n_start = run->n_start;
    section->trust.all = trust->all;
    size_t i = rmli_trust_range(trust, at), end = i;
    while (end < trust->n && trust->ranges[end].begin < at + nbytes)
        end++;
    if (i == end)
        return true;
    if (trust->ranges[i].begin <= at && trust->ranges[i].end >= at + nbytes) {
        section->trust.all = true;
        return true;
    }
    section->ranges = rmli_alloc(end - i, sizeof *section->ranges, run->err);
    if (!section->ranges ||
        !rmli_bytes_append(&section->copy, section->text, section->nbytes, run->err))
        return false;
    size_t n = 0;
    for (; i < end; i++) {
        size_t begin = trust->ranges[i].begin > at ? trust->ranges[i].begin - at : 0;
        size_t stop = trust->ranges[i].end < at + nbytes ? trust->ranges[i].end - at : nbytes;
        struct rmli_range *range = &section->ranges[n];
        bool known_begin, known_end;
        if (!carry_over(section, run, text + at, begin, &range->begin, &known_begin) ||
            !carry_over(section, run, text + at, stop, &range->end, &known_end))
            return false;
        n += known_begin && known_end && range->begin < range->end;
    }
    section->text = section->copy.data;
    section->trust.ranges = section->ranges;
    section->trust.n = n;
    return true;
}

void rmli_section_release(struct rmli_section *section)
{
    rml_bytes_release(&section->copy);
    rmli_free(section->ranges);
    *section = (struct rmli_section){0};
}

/* ---- Joining ------------------------------------------------------------------------------- */

/* Spans of one kind that follow each other, joined and well-formed, at the end of `joined`. */
static bool join_run(const struct rml_tokenizer *t, const struct rml_text_span *spans, size_t n,
                     struct rml_bytes *joined, struct rml_error *err)
{
    size_t begin = joined->n;
    for (size_t i = 0; i < n; i++)
        if (!rmli_bytes_append(joined, spans[i].text, spans[i].nbytes, err))
            return false;
    size_t nbytes = joined->n - begin;
    if (nbytes == 0 || rmli_tokenizer_is_well_formed(joined->data + begin, nbytes))
        return true;
    struct rml_bytes repaired = {0};
    bool ok = rmli_tokenizer_make_well_formed(t, joined->data + begin, nbytes, &repaired, err);
    joined->n = begin;
    ok = ok && rmli_bytes_append(joined, repaired.data, repaired.n, err);
    rml_bytes_release(&repaired);
    return ok;
}

bool rml_tokenizer_encode_spans(const struct rml_tokenizer *tokenizer,
                                const struct rml_text_span *spans, size_t n, unsigned flags,
                                struct rml_ids *out, struct rml_error *err)
{
    size_t before = out->n, n_ranges = 0;
    struct rml_bytes joined = {0};
    struct rmli_range *ranges = rmli_alloc(n, sizeof *ranges, err);
    bool ok = ranges != NULL;
    for (size_t i = 0; ok && i < n;) {
        size_t stop = i + 1, begin = joined.n;
        while (stop < n && spans[stop].trusted == spans[i].trusted)
            stop++;
        ok = join_run(tokenizer, spans + i, stop - i, &joined, err);
        if (ok && spans[i].trusted && n_ranges > 0 && ranges[n_ranges - 1].end == begin)
            ranges[n_ranges - 1].end = joined.n; /* what lay between was empty */
        else if (ok && spans[i].trusted && joined.n > begin)
            ranges[n_ranges++] = (struct rmli_range){begin, joined.n};
        i = stop;
    }
    if (ok && joined.n > INT32_MAX)
        ok = rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                       "the text has %zu bytes, expected less than 2^31", joined.n);
    struct rmli_trust trust = {.ranges = ranges, .n = n_ranges};
    ok = ok && rmli_tokenizer_encode_added(tokenizer, joined.n > 0 ? joined.data : "", joined.n,
                                           &trust, flags & RML_ADD_SPECIAL, out, err);
    if (!ok)
        out->n = before;
    rml_bytes_release(&joined);
    rmli_free(ranges);
    return ok;
}
