/*
 * The results database: one SQLite file into which every run of every tool goes.
 *
 *     char path[PATH_MAX];
 *     struct store *store = NULL;
 *     if (!no_db && (!store_path(db_option, path, sizeof path, &err) ||
 *                    !(store = store_open(path, STORE_WRITE, &err))))
 *         ...
 *     struct store_run run = {.kind = STORE_RUN_GOLDEN, .argc = argc, .argv = argv};
 *     int64_t run_id = store_begin_run(store, &run, &err);
 *     int64_t model_id = store_add_model(store, run_id, &model, &err);
 *     store_add_golden(store, run_id, &golden, &err);          any number of times
 *     store_finish_run(store, run_id, STORE_COMPLETE, exit_code, &err);
 *     store_close(store);
 *
 * A run is a row before it is work: begin_run inserts it as `running`, with the
 * host, the build and the environment, and what is added afterwards is committed
 * by each call on its own, so that a kill at any moment loses nothing that was
 * finished. Every write is one BEGIN IMMEDIATE transaction; several processes may
 * write to one file at once (a writer waits up to 10 s for another).
 *
 * A NULL store is the store of --no-db: every function takes it, does nothing and
 * succeeds; ids are then 0.
 *
 * Errors name the database file. Ids are positive; -1 says that the call failed
 * and that nothing was stored by it. Text members may be NULL where "NULL:" says
 * what that means; numbers that are optional are negative when they do not apply.
 * All of it is copied: nothing is kept after the call.
 *
 * Thread rule: a store belongs to one thread at a time. Do not use it in a child
 * after fork; open another.
 */
#ifndef RESULTS_STORE_H
#define RESULTS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* ---- Opening ------------------------------------------------------------ */

/* The database that a program uses: `option` (the argument of --db, NULL when not
 * given); else RML_DB; else results/rml.db if the folder ./results exists; else
 * $XDG_DATA_HOME/rml/rml.db (XDG_DATA_HOME unset: ~/.local/share). Only the last
 * one's folder is created. An empty variable counts as unset. RML_NOT_FOUND when
 * there is not even a home folder, RML_INVALID_ARGUMENT when the name is too long
 * or `option` is empty. */
bool store_path(const char *option, char *path, size_t path_nbytes, struct rml_error *err);

enum store_mode {
    STORE_WRITE,   /* created when it is not there, brought to the current schema */
    STORE_READ,    /* must exist and have the current schema; nothing is written */
    STORE_READ_OLD /* the same, but the schema may be an older one (store_schema_version) */
};

struct store;

/*
 * Opens a database. NULL on failure:
 *   RML_NOT_FOUND     STORE_READ and no such file
 *   RML_IO            cannot be created, opened or written, disk full, or locked by
 *                     another program for longer than 10 s
 *   RML_FORMAT        no SQLite database, damaged, or a database of something else
 *   RML_UNSUPPORTED   a newer schema than this program knows; with STORE_READ also an
 *                     older one; an SQLite older than 3.37
 */
struct store *store_open(const char *path, enum store_mode mode, struct rml_error *err);
void store_close(struct store *store);             /* NULL is allowed */
const char *store_file(const struct store *store); /* the path it was opened with; NULL for NULL */

/* Versions of the schema that have been applied (PRAGMA user_version); -1 with an error. */
int store_schema_version(struct store *store, struct rml_error *err);

/* Writes a whole and compact copy to `path`, which must not exist (VACUUM INTO). */
bool store_copy(struct store *store, const char *path, struct rml_error *err);

/* ---- Runs --------------------------------------------------------------- */

enum store_run_kind {
    STORE_RUN_BENCH,
    STORE_RUN_GOLDEN,
    STORE_RUN_EVAL,
    STORE_RUN_CHAT,
    STORE_RUN_QUANTIZE,
    STORE_RUN_IMPORT
};

struct store_run {
    enum store_run_kind kind;
    int argc;
    char *const *argv; /* stored as JSON; in one that is no UTF-8, bytes beyond ASCII become '?' */
    int64_t seed;      /* negative: none */
    const char *label; /* NULL: none */
    /* Identity of what the run is going to do, 64 hex digits, so that it can be gone on with (kept
     * in run_env); NULL: it cannot. */
    const char *plan_sha256;
};

enum store_run_state {
    STORE_COMPLETE, /* came to its end, whatever its verdict (the exit code says it) */
    STORE_FAILED,   /* ended by an error */
    STORE_ABORTED   /* stopped by the user (SIGINT, SIGTERM) */
};

/* Inserts the run as `running` with host, build and environment at the start. */
int64_t store_begin_run(struct store *store, const struct store_run *run, struct rml_error *err);

/*
 * Goes on with a run that did not come to its end: the newest of this kind, host, build and plan
 * whose process is gone, or which failed or was stopped; or that came to its end, as the last of its
 * plan, with a result that is an error. It becomes this process's, `running`
 * again, under run->label if that is not NULL, in the same transaction that finds it, so that no two
 * processes get the same one. 0 when there is none; run->plan_sha256 is not NULL.
 */
int64_t store_resume_run(struct store *store, const struct store_run *run, struct rml_error *err);

/* Says that the run is alive. For runs of many minutes, now and then. */
bool store_heartbeat(struct store *store, int64_t run_id, struct rml_error *err);

/* Ends the run: state, exit code, end time, environment at the end. */
bool store_finish_run(struct store *store, int64_t run_id, enum store_run_state state,
                      int exit_code, struct rml_error *err);

/* What messages call a run. */
struct store_run_name {
    char uuid[37], kind[16];
};
bool store_run_name(struct store *store, int64_t run_id, struct store_run_name *name,
                    struct rml_error *err);

/* ---- What a run was about ------------------------------------------------ */

struct rml_model_config;

/* A checkpoint. Its identity is the content hash; the facts of one that is known
 * already are brought up to date. */
struct store_model {
    const char *content_sha256; /* 64 hex digits (rml_checkpoint_content_sha256) */
    const char *file_name;      /* of the checkpoint; folders are cut off */
    uint64_t file_nbytes;
    const struct rml_model_config *config; /* the recipe: goes into columns and config_json */
    const char *weight_dtype;              /* the one of most bytes, "Q4_K" */
    const char *tokenizer_sha256;          /* NULL: not known */
};

/* Stores it, and that the run has read or written it. */
int64_t store_add_model(struct store *store, int64_t run_id, const struct store_model *model,
                        struct rml_error *err);

/* ---- Goldens -------------------------------------------------------------- */

/* The outcome of one case of a golden file. */
struct store_golden {
    int64_t model_id;             /* 0: not known */
    const char *name;             /* "NAME/CASE": of the golden, of the case */
    const char *kind;             /* what was compared: "logits", "greedy", "residual", "text" */
    const char *reference_sha256; /* of the golden file, 64 hex digits */
    const char *arithmetic;       /* "f32", "i8" */
    const char *k_dtype, *v_dtype;
    const char *isa;
    int threads;
    int64_t n_positions;  /* compared */
    double max_abs_error; /* over logits; NaN is stored as NULL */
    double max_logsumexp_error;
    double tolerance;      /* logit_abs that held */
    const char *first_bad; /* NULL: none; else where, in words */
    bool passed;
};

int64_t store_add_golden(struct store *store, int64_t run_id, const struct store_golden *golden,
                         struct rml_error *err);

/* ---- Evaluations ----------------------------------------------------------- */

/* What a task of a run is of: one row, before its items. */
struct store_eval {
    const char *task;     /* names it within the run: "perplexity", "choices" */
    const char *protocol; /* what its numbers mean (eval-semantics: "llama.cpp", "lm-eval") */
    int64_t model_id;     /* 0: not known */
    const char *tokenizer_sha256; /* NULL: none; so for all text below */
    const char *arithmetic, *k_dtype, *v_dtype, *isa;
    int threads;          /* negative: does not apply */
    int numerics_version; /* RML_NUMERICS_VERSION; negative: another engine's numbers */
    int64_t base_model_id;
    const char *base_arithmetic, *base_k_dtype, *base_v_dtype;
    const char *settings_json; /* an object with all else that the numbers depend on */
};

int64_t store_add_eval(struct store *store, int64_t run_id, const struct store_eval *eval,
                       struct rml_error *err);

/* The score of one request: a window of a text, one choice of a question. */
struct store_eval_item {
    const char *task, *doc_id;
    int64_t choice_idx;         /* number of the window or choice, from 0 */
    const char *request_sha256; /* the content key: equal keys, equal bits */
    const int32_t *token_ids;   /* [n_token_ids] all ids that the model saw or was scored on */
    size_t n_token_ids;
    const double *token_logprobs; /* [n_tokens], ln p of each scored token */
    size_t n_tokens;
    const double *token_extra; /* [n_extra], see schema_v3_eval.c; NULL: none */
    size_t n_extra;
    double loglik;       /* their sum */
    int64_t n_truncated; /* negative: not known */
    int is_greedy;       /* 0, 1; negative: does not apply */
    int64_t wall_ns;     /* negative: not known */
};

/* Stores n items and moves the run's heartbeat, in ONE transaction: all or none. */
bool store_add_eval_items(struct store *store, int64_t run_id, const struct store_eval_item *items,
                          size_t n, struct rml_error *err);

/* A score found by its key, from any run; the arrays are the caller's to free. */
struct store_score {
    double *token_logprobs; /* [n_tokens] */
    size_t n_tokens;
    double *token_extra; /* [n_extra] or NULL */
    size_t n_extra;
    int is_greedy;
};

/* *found is false when there is none. Not found in a NULL store. */
bool store_find_score(struct store *store, const char *request_sha256, bool *found,
                      struct store_score *score, struct rml_error *err);

/* The ids of the item with that key, as they were stored (token_ids), and its token_logprobs; the
 * arrays are the caller's to free. *found is false when there is none. Not found in a NULL
 * store. */
bool store_find_generation(struct store *store, const char *request_sha256, bool *found,
                           int32_t **token_ids, size_t *n_token_ids, double **token_logprobs,
                           size_t *n_tokens, struct rml_error *err);

/* A document (text, question) and its figures; NaN is stored as NULL. */
struct store_eval_doc {
    const char *task, *doc_id;
    int64_t doc_idx;            /* place in the input, from 0 */
    const char *group_key;      /* NULL: independent of the others */
    const char *text;           /* NULL: not kept */
    const char *gold_json;      /* NULL: none */
    const char *const *metrics; /* [n_metrics] names, and values beside them */
    const double *values;
    size_t n_metrics;
};
bool store_add_eval_docs(struct store *store, int64_t run_id, const struct store_eval_doc *docs,
                         size_t n, struct rml_error *err);

/* A figure of a task. value and stderr: NaN is stored as NULL; n negative: does not apply. */
struct store_eval_metric {
    const char *task, *metric;
    double value, standard_error;
    int64_t n;
};
bool store_add_eval_metrics(struct store *store, int64_t run_id,
                            const struct store_eval_metric *metrics, size_t n,
                            struct rml_error *err);

/* What another program has evaluated, read from one of its files. */
struct store_eval_import {
    const char *program; /* "lm-eval"; part of the run's identity, as the file's bytes are */
    const char *file;    /* its name */
    const void *data;    /* [nbytes] */
    size_t nbytes;
    const char *label; /* NULL: none */
    int argc;
    char *const *argv;
    int64_t measured_ns; /* since 1970; -1: not told */
    const struct store_eval *evals;
    size_t n_evals;
    const struct store_eval_doc *docs;
    size_t n_docs;
    const struct store_eval_item *items;
    size_t n_items;
    const struct store_eval_metric *metrics;
    size_t n_metrics;
};
/*
 * Stores it as a run of kind `import`, all or nothing, unless it is there: the uuid is made from
 * the program and the bytes. *known: it was there, and nothing was stored.
 */
bool store_import_eval(struct store *store, const struct store_eval_import *what, char uuid[37],
                       bool *known, struct rml_error *err);

/* Two runs compared, or judged, on the same items of a task: eval/compare_tasks.h. NaN is stored
 * as NULL. */
struct store_eval_verdict {
    int64_t run_id, base_run_id; /* of the candidate, b, and of the base, a */
    const char *task, *metric;
    int64_t n, n_blocks; /* items, and what of them is independent */
    double a, b, difference, standard_error, ci_lo, ci_hi, confidence, p_value, p_holm;
    int64_t n10, n01; /* only a, only b right; negative: the figure is not binary */
    double p_mcnemar, mde, power;
    double margin, loss, loss_lo, loss_hi; /* of a gate; margin NaN: compared, not judged */
    const char *verdict;
    const char *flipped_json; /* an array */
};
/* All of them in ONE transaction; one with the same runs, task, metric, margin, confidence and
 * power takes the place of the one before. */
bool store_add_eval_verdicts(struct store *store, const struct store_eval_verdict *verdicts,
                             size_t n, struct rml_error *err);

/* How fast rml-bench has measured the decoding of what a task of a run is of: the same checkpoint,
 * arithmetic, cache types, threads and instruction set, on the same host, one sequence, the
 * least depth, the newest. tokens_per_second is NaN when it has not. */
struct store_decode_speed {
    double tokens_per_second;
    int64_t n_depth;
    char run_uuid[64];
};
bool store_find_decode_speed(struct store *store, int64_t run_id, const char *task,
                             struct store_decode_speed *speed, struct rml_error *err);

/* ---- Reading evaluations back ---------------------------------------------- */

/*
 * The run that `name` means: "last" (the newest begun); an id; a uuid or at least 4 of its
 * first characters; else the newest run with that label ("label:NAME" is always a label).
 * RML_NOT_FOUND when there is none, RML_INVALID_ARGUMENT when a prefix fits several.
 */
bool store_find_run(struct store *store, const char *name, int64_t *run_id, struct rml_error *err);

struct json_t;
/* The same where several may be meant: a label stands for all runs that have it, as those of a sweep
 * do. Appends their ids to an array. */
bool store_find_runs(struct store *store, const char *name, struct json_t *run_ids,
                     struct rml_error *err);

/*
 * What a run evaluated: an array of objects with task, protocol, model, model_sha256,
 * tokenizer_sha256, arithmetic, k_dtype, v_dtype, isa, settings_json, run (uuid), label, kind,
 * state, n_docs, metrics_json (an array of the figures that documents have). All these arrays
 * are the caller's to give back by json_decref; NULL on failure.
 */
struct json_t *store_eval_tasks_json(struct store *store, int64_t run_id, struct rml_error *err);

/* A task of a run. */
struct store_eval_side {
    int64_t run_id;
    const char *task;
};
/*
 * Documents of `a` in order, each beside the one of `b` with the same id, or by_idx at the same
 * place: id, id_b (null: b has none), idx, group, text, text_b, gold, gold_b (JSON as text) and
 * three figures of both: metric (a, b), size_metric (size, size_b), pick_metric (pick, pick_b),
 * null where there is none.
 */
struct json_t *store_eval_doc_pairs_json(struct store *store, const struct store_eval_side *a,
                                         const struct store_eval_side *b, bool by_idx,
                                         const char *metric, const char *size_metric,
                                         const char *pick_metric, struct rml_error *err);
/* Windows of `a` in order, each beside the same one of `b`: id, part, a and b (sums of nll), size
 * and size_b (tokens scored), is_same (the same ids). */
struct json_t *store_eval_window_pairs_json(struct store *store, const struct store_eval_side *a,
                                            const struct store_eval_side *b, struct rml_error *err);
int64_t store_eval_window_count(struct store *store, const struct store_eval_side *side,
                                struct rml_error *err);

/* ---- Benchmarks ----------------------------------------------------------- */

/* What was measured: the members together are its identity. */
struct store_case {
    const char *suite;      /* "attention", "decoder" */
    const char *name;       /* what within the suite */
    int work_version;       /* raised when the suite's work changes: rows then no longer compare */
    const char *engine;     /* "rml"; a peer's name */
    const char *arithmetic; /* NULL: does not apply; so for all text below */
    const char *isa;
    int64_t model_id; /* 0: no checkpoint (random weights) */
    const char *weight_dtype;
    const char *k_dtype, *v_dtype;
    int threads;
    int64_t n_batch;         /* sequences or rows at once */
    int64_t n_prompt;        /* tokens of a prefill; -1 does not apply, so for all below */
    int64_t n_gen;           /* tokens decoded */
    int64_t n_depth;         /* tokens already cached */
    const char *params_json; /* an object with what else fixes the work */
};

/* One measured (or warm-up) repetition of `iters` iterations. */
struct store_sample {
    int rep;       /* from 0, warm-up included */
    int order_idx; /* when in the run it was made, from 0 */
    bool is_warmup;
    int64_t t_mono_ns; /* CLOCK_MONOTONIC at its start */
    int64_t iters;
    int64_t wall_ns;
    int64_t cpu_ns;      /* of the process; -1 not known, so for all below */
    int64_t steal_ticks; /* of the machine */
    int64_t nvcsw, nivcsw, minflt, majflt;
};

/* When a decoded token was there. */
struct store_token_time {
    int rep;
    int idx; /* within the repetition */
    int64_t t_mono_ns;
};

/* All members in one readable text, the same wherever the case is measured; to be freed, NULL
 * when memory is exhausted. model_sha256: the content hash of the model, NULL without one. */
char *store_case_key(const struct store_case *bench_case, const char *model_sha256);

/* A figure of a result that has no column of its own, such as the time of an operation. */
struct store_counter {
    const char *metric;
    double value;
};

enum store_status { STORE_OK, STORE_ERROR, STORE_SKIPPED, STORE_UNSTABLE };
const char *store_status_name(enum store_status status); /* "ok", "error" ... */

struct store_result {
    const char *arm; /* NULL: none; of a comparison: which side */
    const char *engine_version;
    enum store_status status;
    const char *error; /* with STORE_ERROR and STORE_SKIPPED the reason, else NULL */
    int64_t warmup_iters;
    int64_t iters_per_rep;     /* 0 when nothing was measured */
    double items_per_iter;     /* rows (tokens) that an iteration processes */
    double bytes_per_iter;     /* read and written, from shapes; negative: not known */
    double flops_per_iter;     /* 2 for each multiply-add, from shapes */
    int64_t rss_bytes;         /* resident set after the case; -1: not known */
    int64_t kv_bytes;          /* of the cache in use; -1: none */
    const char *output_sha256; /* of what the timed code computed; NULL when it did not */
    double max_abs_error;      /* of its logits against the golden's; above tolerance (or NaN or
                                * infinite): the row is wrong, and left out of every ratio */
    double tolerance;          /* allowed; 0: nothing was compared */
    const struct store_sample *samples;
    size_t n_samples;
    const struct store_token_time *token_times;
    size_t n_token_times;
    const struct store_counter *counters; /* over all measured repetitions: stored with rep -1 */
    size_t n_counters;
};

/* Stores the case (unless known), the result and all its samples in ONE transaction, and
 * moves the run's heartbeat. The id of the result. */
int64_t store_add_result(struct store *store, int64_t run_id, const struct store_case *bench_case,
                         const struct store_result *result, struct rml_error *err);
/* The same in a run that is gone on with: what it has of the case without an arm, an error or a case
 * that was skipped, goes in the same transaction. */
int64_t store_renew_result(struct store *store, int64_t run_id, const struct store_case *bench_case,
                           const struct store_result *result, struct rml_error *err);

/* ---- Comparisons ----------------------------------------------------------- */

/* Two results of one run, compared by their interleaved samples. */
struct store_verdict {
    int64_t base_result_id, candidate_result_id;
    const char *metric;  /* "wall_ns" */
    const char *method;  /* how it was judged: "abba-sign-test" */
    int64_t n;           /* blocks */
    double ratio;        /* candidate / base, 1.05: 5 % slower; NaN is stored as NULL */
    double ci_lo, ci_hi; /* of the ratio */
    double confidence;   /* of that interval, 0.99 */
    double gate_pct;     /* a slowdown from which on it is a regression, in percent */
    const char *verdict; /* "pass", "warn", "inconclusive", "regression" */
};

int64_t store_add_verdict(struct store *store, int64_t run_id, const struct store_verdict *verdict,
                          struct rml_error *err);

/* A result as it was stored; what the members of `result` point to belongs to it. */
struct store_loaded_result {
    struct store_result result;
    void *memory[7];
};

/* The result of a case (store_case_key) that the run has, without an arm. *found: whether there is
 * one; it is then to be released. */
bool store_find_result(struct store *store, int64_t run_id, const char *case_key,
                       struct store_loaded_result *loaded, bool *found, struct rml_error *err);
void store_loaded_result_release(struct store_loaded_result *loaded); /* safe on all zero */

/* ---- Is a run still going on? --------------------------------------------- */

enum store_liveness {
    STORE_ENDED,  /* has a final state */
    STORE_ALIVE,  /* `running`, and its process is there */
    STORE_DEAD,   /* `running`, but its process is gone */
    STORE_UNKNOWN /* `running` on another machine or in another container, heard of not long ago */
};

/*
 * Judged by boot id, pid namespace, pid and the process's start time when it ran in
 * this boot of this machine; when it ran in another boot by the host's name (the same:
 * dead) or by its last heartbeat (older than a day: dead). False when there is no such run.
 */
bool store_run_liveness(struct store *store, int64_t run_id, enum store_liveness *liveness,
                        struct rml_error *err);

/* ---- Where numbers come from ----------------------------------------------- */

/* The machine and the build as JSON objects whose keys are the columns of the tables host and
 * build, null for what is not known. To be given back by json_decref; NULL on failure. */
struct json_t;
struct json_t *store_host_json(struct rml_error *err);
struct json_t *store_build_json(struct rml_error *err);
/* The state of the machine now, what is stored of it at the start and end of a run (run_env.h has
 * the keys): {KEY: {"value": text or null, "reason": null or why there is none}}. */
struct json_t *store_environment_json(struct rml_error *err);
/* True when the file (or folder) is on a network filesystem, where a database keeps a rollback
 * journal; false too when there is no such file. */
bool store_is_on_network(const char *path);

/* ---- For readers ---------------------------------------------------------- */

/* The handle, for queries of one's own (rml-results). NULL for NULL. */
struct sqlite3;
struct sqlite3 *store_handle(struct store *store);

/* Records what SQLite last said about this store, and returns false. `doing` completes the
 * sentence "while ...": "listing runs". */
bool store_fail(struct store *store, const char *doing, struct rml_error *err);

#endif
