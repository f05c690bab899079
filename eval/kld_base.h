/*
 * The base of a KL divergence: a checkpoint that runs beside the candidate, or a file of stored
 * rows, of ours or of llama.cpp.
 *
 * Whatever it is, it has windows, and gives the rows of a pass over them (eval/kld_schedule.h), a
 * bounded number: memory is O(vocabulary).
 *
 * Our file ("rmlbase1"), everything little-endian:
 *
 *     8 bytes   "rmlbase1"
 *     u32       n: bytes of the header
 *     n bytes   header, a JSON object: "identity" (what the rows' bits depend on: model hash,
 *               arithmetic, cache types, instruction set, numerics version), "model_sha256",
 *               "tokenizer_sha256", "protocol", "n_ctx", "n_vocab", "n_windows", "stride",
 *               "double_bos", and "texts", an array of {"id", "text", "ids_sha256"}: what the windows
 *               were cut from, and of its ids. A file without it takes no candidate whose tokenizer
 *               has another hash
 *     for each window
 *         u32  n_tokens, u32 first_target, i32 tokens[n_tokens], and for each of the
 *         n_tokens - first_target targets: f64 logsumexp, f32 logits[n_vocab] of the row before it
 *     32 bytes  SHA-256 of all of the above
 *
 * Rows are whole, so that a divergence from the file equals one from the checkpoint bit for bit.
 */
#ifndef EVAL_KLD_BASE_H
#define EVAL_KLD_BASE_H

#include <stdio.h>

#include "eval/kld_row.h"
#include "eval/kld_side.h"
#include "eval/windows.h"
#include "tools/cli/output.h"

struct json_t;

struct kld_base {
    char identity[512]; /* goes into the keys of scores */
    const char *name;   /* as the user gave it; borrowed */
    char protocol[16];
    size_t n_ctx;

    /* Of a checkpoint: it runs in windows of the caller. */
    const struct eval_engine *engine; /* NULL: a file. Borrowed */
    struct kld_side side;
    float *logits; /* [max_rows][n_vocab] */

    /* Of a file. */
    FILE *stream;
    struct eval_request *requests; /* [n_windows] ids owned */
    int64_t *offsets;              /* [n_windows] where its rows begin */
    size_t n_windows;
    size_t row_nbytes;
    bool is_coded;      /* llama.cpp's */
    unsigned char *raw; /* [max_rows][row_nbytes] */
    char tokenizer_sha256[65];
    struct json_t *texts;          /* "texts" of the header; NULL: it has none */
    struct window_settings window; /* how they were cut */

    uint32_t n_vocab;
    size_t max_rows;           /* that are had at a time */
    struct base_row *rows;     /* [max_rows] */
    struct logit_row *reduced; /* [max_rows] */
};

/* True when the file begins as a stored base, ours or llama.cpp's. */
bool kld_base_is_file(const char *name);

/* Both check all that can be checked before anything runs: sizes, ids, the checksum. */
bool kld_base_open_file(struct kld_base *base, const char *name, struct rml_error *err);
bool kld_base_open_llama_cpp(struct kld_base *base, const char *name, struct rml_error *err);
/* Its windows feed at most max_tokens ids, batch_rows a pass. */
bool kld_base_from_engine(struct kld_base *base, const struct eval_engine *engine,
                          size_t max_tokens, size_t batch_rows, struct rml_error *err);
void kld_base_release(struct kld_base *base); /* safe on a zero struct */

/* Room for as many rows at a time as 128 MiB hold, 16 to 512. */
bool kld_base_make_room(struct kld_base *base, struct rml_error *err);

/* base->rows of all targets of the pass; every pass of a schedule, in order. A NaN or infinite logit
 * is an error. */
bool kld_base_rows(struct kld_base *base, const struct kld_schedule *pass, struct rml_error *err);

/* ---- Writing ----------------------------------------------------------------------------- */

struct base_writer {
    const struct cli_output *output; /* borrowed */
    void *hash;                      /* EVP_MD_CTX */
};

/* What the windows of a base come from. */
struct base_source {
    const struct documents *documents;
    const struct windows *windows; /* of all of them */
    const struct window_settings *settings;
};

/* `chosen`: the windows that will be written. */
bool base_writer_begin(struct base_writer *writer, const struct cli_output *output,
                       const struct kld_base *base, const struct base_source *source,
                       const struct windows *chosen, struct rml_error *err);
/* The rows of a pass; all passes, in order. */
bool base_writer_pass(struct base_writer *writer, const struct kld_base *base,
                      const struct kld_schedule *pass, struct rml_error *err);
bool base_writer_end(struct base_writer *writer, struct rml_error *err); /* the checksum */
void base_writer_release(struct base_writer *writer);                    /* safe on a zero struct */

#endif
