/*
 * A sweep: one checkpoint, and variants of it, in many settings, against one base, which is the
 * checkpoint in f32 arithmetic with an f32 cache.
 *
 * All settings run beside the base (kld_pass.h): it is computed once, nothing lies between, and
 * their speeds are of the same minutes. Each setting is a run of the database under a label that
 * they share, with the scores that `rml-eval kld` would keep of it, under the same keys.
 */
#ifndef EVAL_SWEEP_COMMAND_H
#define EVAL_SWEEP_COMMAND_H

#include "eval/eval_options.h"
#include "eval/kld_pass.h"
#include "eval/kld_result.h"
#include "eval/text_options.h"
#include "tools/cli/order_statistics.h"

struct json_t;

/* What the command line asks for. */
struct sweep_request {
    const struct cli_options *options;
    const struct eval_options *eval_options;
    const struct text_options *text;
    const char **checkpoints; /* [n_checkpoints] the base's first, then variants */
    size_t n_checkpoints;
    struct sweep_kv {
        enum rml_kv_dtype k, v;
    } * kv; /* [n_kv] */
    size_t n_kv;
    enum rml_arithmetic arithmetics[2]; /* [n_arithmetics] */
    size_t n_arithmetics;
};

/* One line of the table. */
struct sweep_setting {
    const struct eval_engine *checkpoint;
    struct eval_engine engine; /* the checkpoint's in these settings; borrows its parts */
    bool is_base;
    const char *skipped;               /* NULL, or why it does not run */
    uint64_t weight_nbytes, kv_nbytes; /* of the weights; of the cache of one window of n_ctx */

    struct eval_run run;
    struct eval_task task;
    char *settings_text; /* of the task */
    struct kld_result result;
    double tokens_per_second;         /* NaN: all its windows were there already */
    struct summary speed_ratio;       /* of its passes: the base's time / its own */
    struct store_decode_speed decode; /* tokens_per_second NaN: rml-bench has not measured it */
};

struct sweep {
    const struct sweep_request *request;
    struct eval_engine *checkpoints;     /* [request->n_checkpoints] */
    struct windows windows;              /* of all texts */
    struct eval_request *requests;       /* [n_windows] those chosen */
    size_t n_windows, n_tokens, longest; /* tokens scored; ids that the longest window feeds */
    struct text_options text;            /* settled */
    struct sweep_setting *settings;      /* [n_settings] the base first */
    size_t n_settings;
    struct kld_base base;
    char label[128];
};

/* Opens all checkpoints, cuts the texts, and lists the settings. A variant that means something
 * else by an id than the base is refused by name. */
bool sweep_init(struct sweep *sweep, const struct sweep_request *request,
                const struct documents *documents, struct rml_thread_pool *pool,
                struct rml_error *err);
void sweep_release(struct sweep *sweep); /* safe on a zero struct */

/* Runs what the database does not have and works out all figures. */
bool sweep_run(struct sweep *sweep, struct store *store, struct rml_error *err);

/* Ends the runs, as the exit code says, and returns it. */
int sweep_end(struct sweep *sweep, struct store *store, int exit_code);

/* ---- Output ------------------------------------------------------------------------------ */

/* Settings without figures when `plan`. */
struct json_t *sweep_json(const struct sweep *sweep, bool plan);

/* From that document. `file` ends in .json, .csv or .md; "-" is JSON on standard output. */
bool sweep_output_fits(const char *file);
bool sweep_write(const struct json_t *document, const char *file, struct rml_error *err);
void sweep_print(const struct json_t *document, bool plan);

#endif
