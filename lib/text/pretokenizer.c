/*
 * Pre-tokenizers: a span in, its parts on to the next.
 */
#include "text/growing.h"
#include "text/pipeline.h"
#include "text/unicode.h"

static bool step(struct rmli_run *run, size_t k, const char *text, size_t nbytes, size_t n_start,
                 bool mapped);

/* ---- The model ---------------------------------------------------------------- */

/* A piece in which bytes are written as characters, back into bytes. */
static bool unmap(struct rml_bytes *out, const char *text, size_t nbytes, struct rml_error *err)
{
    out->n = 0;
    if (!rmli_bytes_reserve(out, nbytes, err))
        return false;
    for (size_t i = 0, length; i < nbytes; i += length)
        out->data[out->n++] = (char)rmli_bytelevel_byte(rmli_utf8_decode(text + i, &length));
    return true;
}

static bool map(struct rml_bytes *out, const char *text, size_t nbytes, struct rml_error *err)
{
    out->n = 0;
    if (!rmli_bytes_reserve(out, 2 * nbytes, err))
        return false;
    for (size_t i = 0; i < nbytes; i++)
        out->n += rmli_utf8_encode(rmli_bytelevel_code_point((uint8_t)text[i]), out->data + out->n);
    return true;
}

static bool model(struct rmli_run *run, const char *text, size_t nbytes, bool mapped)
{
    if (nbytes == 0)
        return true;
    if (mapped) {
        struct rml_bytes *bytes = &run->rewritten[RMLI_MAX_STEPS];
        if (!unmap(bytes, text, nbytes, run->err))
            return false;
        text = bytes->data;
        nbytes = bytes->n;
    }
    if (run->pipeline->is_unigram)
        return rmli_unigram_encode(&run->pipeline->unigram, &run->unigram, text, nbytes, run->out,
                                   run->err);
    return rmli_bpe_encode(&run->pipeline->bpe, &run->bpe, text, nbytes, run->out, run->err);
}

/* ---- Splitting ------------------------------------------------------------------ */

/* The next match of a step that splits, as rmli_pattern_next. */
static int next_match(struct rmli_run *run, const struct rmli_pretokenizer *p, const char *text,
                      size_t nbytes, size_t from, size_t last_end, size_t *begin, size_t *end)
{
    size_t i = from, length;
    if (p->kind == RMLI_PRETOKENIZE_PATTERN || p->kind == RMLI_PRETOKENIZE_BYTELEVEL)
        return rmli_pattern_next(p->pattern, &run->match, text, nbytes, from, last_end, begin, end,
                                 run->err);
    if (p->kind == RMLI_PRETOKENIZE_METASPACE) {
        const char *found =
            memmem(text + from, nbytes - from, p->replacement, p->replacement_nbytes);
        if (!found)
            return 0;
        *begin = (size_t)(found - text);
        *end = *begin + p->replacement_nbytes;
        return 1;
    }
    if (p->kind == RMLI_PRETOKENIZE_CLASS) {
        for (; i < nbytes; i += length)
            if (rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & p->class) {
                *begin = i;
                *end = i + length;
                return 1;
            }
        return 0;
    }
    /* "\w+|[^\w\s]+" */
    for (; i < nbytes; i += length)
        if (!(rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & RMLI_UC_SPACE))
            break;
    if (i >= nbytes)
        return 0;
    *begin = i;
    bool word = rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & RMLI_UC_PLAIN_WORD;
    for (; i < nbytes; i += length) {
        uint64_t mask = rmli_unicode_mask(rmli_utf8_decode(text + i, &length));
        if (word ? !(mask & RMLI_UC_PLAIN_WORD)
                 : (mask & (RMLI_UC_PLAIN_WORD | RMLI_UC_SPACE)) != 0)
            break;
    }
    *end = i;
    return 1;
}

/* Applies a behaviour to the alternating spans of a split as they come. */
struct splitter {
    struct rmli_run *run;
    const struct rmli_pretokenizer *p;
    size_t k;
    const char *text;
    size_t n_start;
    bool mapped;

    bool holds, held_is_match, previous_is_match;
    size_t held_begin, held_end;
};

/* What is left of n_start bytes behind `begin`. */
static size_t rest(size_t n_start, size_t begin)
{
    return n_start > begin ? n_start - begin : 0;
}

static bool emit(struct splitter *s, size_t begin, size_t end)
{
    return end <= begin ||
           step(s->run, s->k + 1, s->text + begin, end - begin, rest(s->n_start, begin), s->mapped);
}

static bool release_held(struct splitter *s)
{
    bool held = s->holds;
    s->holds = false;
    return !held || emit(s, s->held_begin, s->held_end);
}

static bool add_span(struct splitter *s, size_t begin, size_t end, bool is_match)
{
    is_match ^= s->p->invert;
    bool joins = false;
    switch (s->p->behavior) {
    case RMLI_SPLIT_ISOLATED:
        return emit(s, begin, end);
    case RMLI_SPLIT_REMOVED:
        return is_match || emit(s, begin, end);
    case RMLI_SPLIT_MERGED_WITH_PREVIOUS:
        joins = is_match && !s->previous_is_match;
        break;
    case RMLI_SPLIT_MERGED_WITH_NEXT:
        joins = !is_match && s->held_is_match;
        break;
    case RMLI_SPLIT_CONTIGUOUS:
        joins = is_match == s->previous_is_match;
        break;
    }
    if (!(s->holds && joins)) {
        if (!release_held(s))
            return false;
        s->held_begin = begin;
        s->holds = true;
        s->held_is_match = is_match;
    } else if (s->p->behavior == RMLI_SPLIT_MERGED_WITH_NEXT) {
        s->held_is_match = false; /* complete: takes nothing more */
    }
    s->held_end = end;
    s->previous_is_match = is_match;
    return true;
}

static bool split(struct rmli_run *run, size_t k, const char *text, size_t nbytes, size_t n_start,
                  bool mapped)
{
    const struct rmli_pretokenizer *p = &run->pipeline->pretokenizers[k];
    rmli_matcher_fn *matcher = p->pattern ? rmli_pattern_matcher(p->pattern) : NULL;
    bool is_last = k + 1 == run->pipeline->n_pretokenizers;
    if (matcher && !p->invert && p->behavior == RMLI_SPLIT_ISOLATED) {
        for (size_t i = 0, end; i < nbytes; i = end) {
            end = matcher(text, i, nbytes);
            if (is_last && !mapped && !run->pipeline->is_unigram) {
                if (!rmli_bpe_encode(&run->pipeline->bpe, &run->bpe, text + i, end - i, run->out,
                                     run->err))
                    return false;
            } else if (!step(run, k + 1, text + i, end - i, rest(n_start, i), mapped)) {
                return false;
            }
        }
        return true;
    }
    struct splitter s = {
        .run = run, .p = p, .k = k, .text = text, .n_start = n_start, .mapped = mapped};
    size_t previous = 0, last_end = SIZE_MAX, begin, end;
    int found;
    while ((found = next_match(run, p, text, nbytes, previous, last_end, &begin, &end)) > 0) {
        if (begin > previous && !add_span(&s, previous, begin, false))
            return false;
        if (!add_span(&s, begin, end, true))
            return false;
        previous = last_end = end;
    }
    if (found < 0 || (previous < nbytes && !add_span(&s, previous, nbytes, false)))
        return false;
    return release_held(&s);
}

/* ---- Steps that rewrite ----------------------------------------------------------- */

/* What it puts before a word and what it makes of a space come from the characters there. */
static bool metaspace(struct rmli_run *run, size_t k, const char *text, size_t nbytes,
                      size_t n_start)
{
    const struct rmli_pretokenizer *p = &run->pipeline->pretokenizers[k];
    struct rml_bytes *out = &run->rewritten[k];
    out->n = 0;
    bool begins = text[0] == ' ' || (nbytes >= p->replacement_nbytes &&
                                     memcmp(text, p->replacement, p->replacement_nbytes) == 0);
    bool prepends = !begins && (p->scheme == RMLI_PREPEND_ALWAYS ||
                                (p->scheme == RMLI_PREPEND_FIRST && n_start > 0));
    size_t n_rewritten = n_start > 0 && prepends ? p->replacement_nbytes : 0;
    if (prepends && !rmli_bytes_append(out, p->replacement, p->replacement_nbytes, run->err))
        return false;
    if (n_start > nbytes)
        n_start = nbytes;
    n_rewritten += n_start;
    for (size_t i = 0; i < n_start; i++)
        n_rewritten += text[i] == ' ' ? p->replacement_nbytes - 1 : 0;
    for (size_t i = 0; i < nbytes;) {
        const char *space = memchr(text + i, ' ', nbytes - i);
        size_t end = space ? (size_t)(space - text) : nbytes;
        if (!rmli_bytes_append(out, text + i, end - i, run->err) ||
            (space && !rmli_bytes_append(out, p->replacement, p->replacement_nbytes, run->err)))
            return false;
        i = end + (space != NULL);
    }
    if (p->split)
        return split(run, k, out->data, out->n, n_rewritten, false);
    return step(run, k + 1, out->data, out->n, n_rewritten, false);
}

static bool bytelevel(struct rmli_run *run, size_t k, const char *text, size_t nbytes)
{
    const struct rmli_pretokenizer *p = &run->pipeline->pretokenizers[k];
    struct rml_bytes *out = &run->rewritten[k];
    if (p->add_prefix_space && text[0] != ' ') {
        out->n = 0;
        if (!rmli_bytes_append(out, " ", 1, run->err) ||
            !rmli_bytes_append(out, text, nbytes, run->err))
            return false;
        text = out->data;
        nbytes = out->n;
    }
    if (p->pattern)
        return split(run, k, text, nbytes, 0, false);
    return step(run, k + 1, text, nbytes, 0, false);
}

/* Hands a span to step k, or to the model after the last. `mapped`: its bytes are written as
 * characters, which is done when steps follow ByteLevel; none of those asks for n_start. */
static bool step(struct rmli_run *run, size_t k, const char *text, size_t nbytes, size_t n_start,
                 bool mapped)
{
    const struct rmli_pipeline *pipeline = run->pipeline;
    if (k == pipeline->n_pretokenizers || nbytes == 0)
        return model(run, text, nbytes, mapped);
    if (!mapped && k > 0 && pipeline->pretokenizers[k - 1].kind == RMLI_PRETOKENIZE_BYTELEVEL) {
        struct rml_bytes *out = &run->rewritten[k];
        if (!map(out, text, nbytes, run->err))
            return false;
        text = out->data;
        nbytes = out->n;
        mapped = true;
    }
    switch (pipeline->pretokenizers[k].kind) {
    case RMLI_PRETOKENIZE_METASPACE:
        return metaspace(run, k, text, nbytes, n_start);
    case RMLI_PRETOKENIZE_BYTELEVEL:
        return bytelevel(run, k, text, nbytes);
    default:
        return split(run, k, text, nbytes, n_start, mapped);
    }
}

bool rmli_pretokenize(struct rmli_run *run, const char *text, size_t nbytes, size_t n_start)
{
    return step(run, 0, text, nbytes, n_start, false);
}

/* ---- Lifecycle ----------------------------------------------------------------------- */

void rmli_run_init(struct rmli_run *run, const struct rmli_pipeline *pipeline, size_t nbytes,
                   struct rml_ids *out, struct rml_error *err)
{
    *run = (struct rmli_run){.pipeline = pipeline, .out = out, .err = err};
    for (size_t i = 0; i < pipeline->n_pretokenizers; i++)
        run->follows_start |= pipeline->pretokenizers[i].kind == RMLI_PRETOKENIZE_METASPACE &&
                              pipeline->pretokenizers[i].scheme == RMLI_PREPEND_FIRST;
    if (!pipeline->is_unigram)
        rmli_bpe_scratch_init(&run->bpe, nbytes);
}

void rmli_run_release(struct rmli_run *run)
{
    rmli_bpe_scratch_release(&run->bpe);
    rmli_unigram_scratch_release(&run->unigram);
    rmli_match_scratch_release(&run->match);
    for (size_t i = 0; i < 2; i++)
        free(run->normalized[i].data);
    for (size_t i = 0; i <= RMLI_MAX_STEPS; i++)
        free(run->rewritten[i].data);
}

void rmli_pipeline_release(struct rmli_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->n_normalizers; i++) {
        rmli_pattern_destroy(pipeline->normalizers[i].pattern);
        rmli_free(pipeline->normalizers[i].content);
    }
    for (size_t i = 0; i < pipeline->n_pretokenizers; i++)
        rmli_pattern_destroy(pipeline->pretokenizers[i].pattern);
    rmli_bpe_release(&pipeline->bpe);
    rmli_unigram_release(&pipeline->unigram);
}
