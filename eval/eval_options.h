/*
 * Options that several commands of rml-eval have in common, beside those of tools/cli.
 */
#ifndef EVAL_EVAL_OPTIONS_H
#define EVAL_EVAL_OPTIONS_H

#include "eval/eval_engine.h"
#include "eval/eval_run.h"
#include "tools/cli/options.h"

struct json_t;

/* How a sample is drawn: by tickets of our own, or as llama.cpp does from its own files. */
enum selection_draw { DRAW_TICKETS, DRAW_HELLASWAG, DRAW_WINOGRANDE };

/* Which part of the items is scored. */
struct selection {
    enum selection_draw draw;
    size_t limit;           /* 0: all */
    bool head;              /* the first `limit` instead of a sample drawn with the seed */
    size_t shard, n_shards; /* shard in [1, n_shards]; n_shards 0: not given */
};

struct eval_options {
    struct selection selection;
    bool fresh;
    const char *label; /* of the run; NULL: none */
};

/*
 * --limit, --head, --shard, --fresh and --label as an argp child. The child's input is a struct
 * eval_options *: a command's own parser sets state->child_inputs[0] at ARGP_KEY_INIT.
 */
#define EVAL_OPTION_KEYS                                                                           \
    {"limit", EVAL_KEY_LIMIT, "N", 0, "Only N items: a sample drawn with --seed", 5},              \
        {"head", EVAL_KEY_HEAD, NULL, 0, "With --limit: the first N items, not a sample", 5},      \
        {"shard",                                                                                  \
         EVAL_KEY_SHARD,                                                                           \
         "I/N",                                                                                    \
         0,                                                                                        \
         "Only every N-th item, from the I-th on: N runs with I = 1 ... N score all of them "      \
         "once; merged databases give the same totals",                                            \
         5},                                                                                       \
        {"fresh", EVAL_KEY_FRESH, NULL, 0, "Compute scores that the database has already", 5},     \
    {                                                                                              \
        "label", EVAL_KEY_LABEL, "NAME", 0, "Label of the run, by which commands find it", 5       \
    }

enum {
    EVAL_KEY_LIMIT = CLI_OWN_KEY + 0x100,
    EVAL_KEY_HEAD,
    EVAL_KEY_SHARD,
    EVAL_KEY_FRESH,
    EVAL_KEY_LABEL
};

/* Handles these keys, and checks at ARGP_KEY_END; ARGP_ERR_UNKNOWN for any other key. */
error_t eval_options_parse(struct eval_options *options, int key, char *arg,
                           struct argp_state *state);

/*
 * The items that are scored, ascending: of n items first `limit` (a sample without replacement,
 * the same for the same seed and n, on every machine), then the shard's part of those. With seed
 * 0 llama.cpp's draws are the ones that it makes.
 * *chosen [*n_chosen] is the caller's to free.
 */
bool selection_apply(const struct selection *selection, uint64_t seed, size_t n, size_t **chosen,
                     size_t *n_chosen, struct rml_error *err);

/* Settings of a run as an object: model, arithmetic, cache, isa, threads, numerics version,
 * seed, limit, shard. NULL when memory is exhausted. */
struct json_t *eval_settings_json(const struct eval_engine *engine,
                                  const struct cli_options *options,
                                  const struct eval_options *eval_options);

/* f32 arithmetic and cache unless the command line says otherwise. */
struct eval_settings eval_settings_of(const struct cli_options *options);

/* Opens the database and inserts the run. */
bool eval_run_begin(struct eval_run *run, const struct cli_options *options,
                    const struct eval_options *eval_options, struct rml_error *err);

/* The exit code of a command that ended with *err (RML_OK: `code`), after telling it. */
int eval_exit(const struct rml_error *err, int code);

#endif
