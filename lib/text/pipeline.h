/*
 * The steps between text and model: normalizers and pre-tokenizers.
 *
 * A normalizer rewrites a text; the list of them is applied from first to last. A
 * pre-tokenizer takes one span of text and hands its parts on to the next in the list, the last to
 * the model, so that a text of any length passes through without a list of its pieces being
 * made. Steps look at their span alone: what lies outside is invisible to their patterns, as in the
 * reference.
 */
#ifndef RML_TEXT_PIPELINE_H
#define RML_TEXT_PIPELINE_H

#include "text/bpe.h"
#include "text/pattern.h"
#include "text/unigram.h"

enum rmli_normalizer_kind {
    RMLI_NORMALIZE_NFC,
    RMLI_NORMALIZE_NFD,
    RMLI_NORMALIZE_NFKC,
    RMLI_NORMALIZE_NFKD,
    RMLI_NORMALIZE_LOWERCASE,
    RMLI_NORMALIZE_REPLACE,
    RMLI_NORMALIZE_PREPEND, /* unless the text is empty */
    RMLI_NORMALIZE_STRIP
};
struct rmli_normalizer {
    enum rmli_normalizer_kind kind;
    bool left, right;             /* strip */
    struct rmli_pattern *pattern; /* replace; owned */
    char *content;                /* replace, prepend; owned */
    size_t content_nbytes;
};

enum rmli_split_behavior {
    RMLI_SPLIT_REMOVED,
    RMLI_SPLIT_ISOLATED,
    RMLI_SPLIT_MERGED_WITH_PREVIOUS,
    RMLI_SPLIT_MERGED_WITH_NEXT,
    RMLI_SPLIT_CONTIGUOUS
};
enum rmli_pretokenizer_kind {
    RMLI_PRETOKENIZE_PATTERN,
    RMLI_PRETOKENIZE_CLASS,     /* each character of a class is a match: digits, punctuation, white
                                   space */
    RMLI_PRETOKENIZE_WORDS,     /* "\w+|[^\w\s]+", the rest removed */
    RMLI_PRETOKENIZE_METASPACE, /* spaces become `replacement`, with which each part begins */
    RMLI_PRETOKENIZE_BYTELEVEL  /* what follows sees bytes as characters (vocabulary.h) */
};
enum rmli_prepend_scheme { RMLI_PREPEND_ALWAYS, RMLI_PREPEND_FIRST, RMLI_PREPEND_NEVER };

struct rmli_pretokenizer {
    enum rmli_pretokenizer_kind kind;
    enum rmli_split_behavior behavior;
    bool invert;
    uint64_t class;               /* a mask of unicode.h */
    struct rmli_pattern *pattern; /* owned; of ByteLevel with use_regex, GPT-2's */
    bool add_prefix_space;        /* ByteLevel */
    bool split;                   /* Metaspace */
    enum rmli_prepend_scheme scheme;
    char replacement[8]; /* Metaspace: one character */
    size_t replacement_nbytes;
};
#define RMLI_MAX_STEPS 24

struct rmli_pipeline {
    struct rmli_normalizer normalizers[RMLI_MAX_STEPS];
    size_t n_normalizers;
    struct rmli_pretokenizer pretokenizers[RMLI_MAX_STEPS];
    size_t n_pretokenizers;
    bool bytelevel; /* one of the pre-tokenizers is */
    bool is_unigram;
    struct rmli_bpe bpe;
    struct rmli_unigram unigram;
};
void rmli_pipeline_release(struct rmli_pipeline *pipeline);

/* What one call needs; zero to begin with, then rmli_run_init. */
/* What normalizers or decoders may make of nbytes: a few that replace a letter by many would fill
 * any memory. Unicode's own forms make at most eleven bytes of one. */
static inline size_t rmli_growth_limit(size_t nbytes)
{
    size_t room = (size_t)1 << 20, most = INT32_MAX;
    return nbytes < (most - room) / 64 ? 64 * nbytes + room : most;
}

struct rmli_run {
    const struct rmli_pipeline *pipeline;
    struct rml_ids *out;
    struct rml_error *err;
    struct rmli_bpe_scratch bpe;
    struct rmli_unigram_scratch unigram;
    struct rmli_match_scratch match;
    struct rml_bytes normalized[2];
    bool follows_start; /* somebody asks for the next: Metaspace that prepends to the first word */
    size_t n_start; /* bytes that the text normalised last begins with and that come from its first
                       character; several words may, when a normalizer puts text before it */
    struct rml_bytes
        rewritten[RMLI_MAX_STEPS + 1]; /* by a pre-tokenizer; the last: for the model */
};
void rmli_run_init(struct rmli_run *run, const struct rmli_pipeline *pipeline, size_t nbytes,
                   struct rml_ids *out, struct rml_error *err);
void rmli_run_release(struct rmli_run *run);

/* The normalised text, either text itself or in the run (until the next call). Sets n_start. */
bool rmli_normalize(struct rmli_run *run, const char *text, size_t nbytes, const char **normalized,
                    size_t *normalized_nbytes);

/* Pre-tokenizes a span and appends the model's ids. It begins with n_start bytes, or more, that come
 * from the first character of the whole text. */
bool rmli_pretokenize(struct rmli_run *run, const char *text, size_t nbytes, size_t n_start);

/* The four forms, for normalizer.c; appends. */
bool rmli_unicode_normalize(enum rmli_normalizer_kind form, const char *text, size_t nbytes,
                            struct rml_bytes *out, bool *changed, struct rml_error *err);

#endif
