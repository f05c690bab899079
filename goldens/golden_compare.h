/*
 * Comparing a checkpoint's numbers with one case of a golden file.
 */
#ifndef GOLDENS_GOLDEN_COMPARE_H
#define GOLDENS_GOLDEN_COMPARE_H

#include "goldens/golden_engine.h"
#include "goldens/golden_file.h"

/* How the numbers are computed and what may differ. */
struct golden_settings {
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k_dtype, v_dtype;
    double logit_abs, logsumexp_abs, residual_rel;
    bool compare_residual;
};

enum golden_deviation_kind {
    GOLDEN_NO_DEVIATION,
    GOLDEN_NONFINITE,
    GOLDEN_RESIDUAL,
    GOLDEN_LOGIT,
    GOLDEN_LOGSUMEXP,
    GOLDEN_GREEDY
};
const char *golden_deviation_name(enum golden_deviation_kind kind); /* "non-finite", "logit" ... */

struct golden_deviation {
    enum golden_deviation_kind kind;
    const char *branch; /* NULL: layer and branch are not known; "head": after "output" */
    int layer;
    size_t position;
    int32_t id;       /* the logit; -1: none */
    double got, want; /* greedy: ids; non-finite: want is NaN */
    double error;     /* residual: relative to the norm */
    bool within;      /* residual: below the tolerance, but the first that is not equal */
};

/* Whether the checkpoint's tokenizer gives the case's tokens for its text or messages. */
enum golden_text_state {
    GOLDEN_NO_TEXT,
    GOLDEN_TEXT_EQUAL,
    GOLDEN_TEXT_DIFFERS,
    GOLDEN_TEXT_NOT_COMPARED /* no tokenizer, or no chat format, that is known */
};

/* The first token that differs; an id of -1: there the list has ended. */
struct golden_token_deviation {
    size_t index;
    int32_t got, want;                  /* of the tokenizer; of the file */
    char got_piece[64], want_piece[64]; /* what the tokens stand for, quoted; "" of none */
};

struct golden_outcome {
    bool passed;
    enum golden_text_state text; /* set by golden_compare_text alone, as is `token` */
    struct golden_token_deviation token;
    size_t n_positions;                        /* whose logits were compared */
    double max_abs_error, max_logsumexp_error; /* NaN once something is not finite */
    size_t n_greedy;                           /* steps in the file */
    size_t n_greedy_compared;
    bool greedy_equal;         /* those compared; true when there are none */
    size_t n_residual;         /* compared */
    double max_residual_error; /* relative */
    bool logits_passed, residual_passed;
    struct golden_deviation first; /* in the order of golden_compare_case */
};

/*
 * Runs the case and fills *outcome. The first deviation named is, of those there are: a number
 * that is not finite; a residual, by layer, branch, position; a logit or logsumexp, by position;
 * a greedy step. A fault may start below the tolerance and grow past it layers later. So when
 * fingerprints of the first layer are equal to the bit, which rounding would not leave them, a
 * failing case is blamed on the first one that is not equal. False when it could not be run (RML_CANCELLED after SIGINT); the engine is
 * configured with these settings.
 */
bool golden_compare_case(const struct golden_engine *engine, const struct golden_case *c,
                         const struct golden_settings *settings, struct golden_outcome *outcome,
                         struct rml_error *err);

/* A sentence about a deviation: "layer 3, feed_forward, position 5: ...". */
void golden_deviation_text(const struct golden_deviation *deviation, char *text, size_t nbytes);

#endif
