/*
 * A golden file: what a checkpoint's numbers were when somebody trusted them.
 *
 * Reading checks everything that can be checked without the model; the rest
 * (ids within the vocabulary, lengths of logits, layers, room in the context) is
 * golden_fits. After both, the rest of the program trusts the file.
 *
 * Every error names the file and the place in it, as in
 * "cases[1].positions[3].top[0][1]".
 */
#ifndef GOLDENS_GOLDEN_FILE_H
#define GOLDENS_GOLDEN_FILE_H

#include <stdio.h>

#include "rml.h"
#include "goldens/residual.h"

#define GOLDEN_RESIDUAL_REL 1e-4 /* tolerance.residual_rel when a file does not give it */

/* Logits of one position. */
struct golden_position {
    size_t position;
    double logsumexp;
    size_t n;       /* logits listed, at least 1 */
    int32_t *ids;   /* [n] distinct; NULL: ids 0 .. n - 1, the whole vocabulary */
    double *logits; /* [n] */
};

/* What a case's tokens are the ids of: a text, messages, or neither. */
struct golden_source {
    char *text; /* [text_nbytes] and a NUL; NULL: none */
    size_t text_nbytes;
    bool add_special;                     /* of a text */
    struct rml_conversation conversation; /* n is 0: none */
    char *chat_format;                    /* NULL: the one of the checkpoint's template */
};

struct golden_case {
    char *name;
    struct golden_source source;
    int32_t *tokens;
    size_t n_tokens;                   /* at least 1 */
    struct golden_position *positions; /* ascending */
    size_t n_positions;
    int32_t *greedy; /* NULL: not given */
    size_t n_greedy;
    double greedy_margin;             /* negative: not given */
    struct golden_residual *residual; /* in the order of golden_residual_order, no place twice */
    size_t n_residual;
};

struct golden {
    char *path;      /* or "standard input" */
    char sha256[65]; /* of the file */
    char *name;
    char *source_engine, *source_version, *source_dtype;
    char model_sha256[65]; /* "": not given */
    char *model_arch;      /* NULL: not given */
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k_dtype, v_dtype;
    double logit_abs, logsumexp_abs, residual_rel;
    struct golden_case *cases;
    size_t n_cases; /* at least 1; each compares something */
};

/* NULL on failure: RML_NOT_FOUND, RML_IO, RML_FORMAT, RML_UNSUPPORTED (too large) or
 * RML_CANCELLED. "-" is standard input. Keys of no meaning are named by cli_warn and ignored. */
struct golden *golden_read(const char *path, struct rml_error *err);
void golden_destroy(struct golden *golden); /* NULL is allowed */
void golden_release(struct golden *golden); /* of a struct of the caller's */

/* False when the file cannot be about a model of this recipe; the error names the place
 * and the number that does not fit. */
bool golden_fits(const struct golden *golden, const struct rml_model_config *config,
                 struct rml_error *err);

bool golden_case_has_text(const struct golden_case *c); /* or messages */

/* Positions that a case needs: its tokens and all greedy steps but the last. */
size_t golden_case_max_tokens(const struct golden_case *c);
/* The most that any case needs. */
size_t golden_max_tokens(const struct golden *golden);

/* Writes the file as golden_read reads it back, number for number; `path` and `sha256` are
 * not looked at. `isa` names what computed it. Write errors stay in the stream. */
void golden_write(const struct golden *golden, const char *isa, FILE *stream);

#endif
