/*
 * From scores of windows to a perplexity.
 */
#ifndef EVAL_PERPLEXITY_RESULT_H
#define EVAL_PERPLEXITY_RESULT_H

#include "eval/windows.h"

struct json_t;

/* Of one window that was scored. */
struct window_result {
    size_t window, document; /* indices into windows->requests and ->docs */
    size_t n_scored;
    double nll_sum, running_ppl; /* of all windows up to this one */
};

/* Of one document, as far as its windows were scored. */
struct document_result {
    size_t n_scored;
    double nll_sum;
    bool is_whole;           /* all its windows were scored */
    double n_words, n_bytes; /* what nll_sum is related to; NaN: not defined */
};

struct perplexity_result {
    size_t n_scored, n_tokens;
    double nll_sum, ppl, ppl_stderr, ppl_stderr_iid;
    double word_perplexity, byte_perplexity, bits_per_byte, bits_per_byte_stderr;
    struct window_result *windows; /* [n_windows] in order */
    size_t n_windows;
    struct document_result *docs; /* [windows->n_docs] */
    size_t n_dropped;             /* llama.cpp: ids of remainders */
};

/*
 * A window's sum runs in f64 from its first scored token to the last; sums of windows are exact
 * before they are rounded, so no total depends on the order of windows or documents. Blocks of the standard error are documents, or windows of a single one.
 * Figures that are not defined are NaN.
 *
 * Words and bytes: of the whole text in hf-stride and lm-eval, when all of it was scored; in
 * llama.cpp's protocol, which scores about half, the bytes of the scored tokens and the words
 * that begin in them.
 */
bool perplexity_result_init(struct perplexity_result *result, const struct eval_engine *engine,
                            const struct documents *documents, const struct windows *windows,
                            const struct window_settings *settings, const size_t *chosen,
                            size_t n_chosen, const struct eval_scores *scores,
                            struct rml_error *err);
void perplexity_result_release(struct perplexity_result *result);

/* The document of --json; `run_settings` goes in as "settings" and is taken over. */
struct json_t *perplexity_json(const struct perplexity_result *result,
                               const struct documents *documents, const struct windows *windows,
                               const struct window_settings *settings, struct json_t *run_settings);
void perplexity_print(const struct perplexity_result *result, const struct documents *documents,
                      const struct windows *windows, const struct window_settings *settings);

#endif
