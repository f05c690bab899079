/*
 * One golden file held against one checkpoint, and what came of it.
 */
#ifndef GOLDENS_GOLDEN_JUDGE_H
#define GOLDENS_GOLDEN_JUDGE_H

#include "goldens/golden_compare.h"
#include "goldens/golden_run.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/options.h"

/* What the command line says about how to compare; negative: the file's. */
struct golden_overrides {
    double logit_abs; /* also logsumexp_abs */
    double residual_rel;
    bool any_model; /* another content hash is no reason to fail; what cannot be compared is */
};

enum golden_status {
    GOLDEN_PASSED,
    GOLDEN_FAILED,
    GOLDEN_OTHER_MODEL, /* the checkpoint is not the one that the file is about */
    GOLDEN_BROKEN,      /* could not be run; `error` says why */
    GOLDEN_SKIPPED      /* the checkpoint is not here */
};

struct golden_verdict {
    enum golden_status status;
    char *file, *checkpoint; /* as named; owned */
    char *name;              /* of the golden; NULL when it was not read */
    struct golden_settings settings;
    bool settings_differ; /* arithmetic or cache types are not the file's */
    char isa[16];
    unsigned threads;
    char model_want[65], model_got[65]; /* "": not known */
    char **case_names;                  /* [n_cases] owned */
    struct golden_outcome *outcomes;    /* [n_cases]; those from n_done on are not run */
    size_t n_cases, n_done;
    /* With GOLDEN_BROKEN and GOLDEN_SKIPPED; with GOLDEN_OTHER_MODEL why nothing was compared. */
    struct rml_error error;
};

/* Starts a verdict on nothing yet. False when memory is short. */
bool golden_verdict_init(struct golden_verdict *verdict, const char *file, const char *checkpoint);
void golden_verdict_release(struct golden_verdict *verdict);

/* Runs every case and records each in the database as it ends. What goes wrong with this pair
 * alone becomes the verdict's status; false is for what ends the program: the database cannot
 * be written, or SIGINT (RML_CANCELLED). */
bool golden_judge(struct golden_engine *engine, const struct golden *golden,
                  const struct cli_options *options, const struct golden_overrides *overrides,
                  struct golden_run *run, struct golden_verdict *verdict, struct rml_error *err);

/* The exit code of a list of verdicts: an error before another model before a mismatch. */
enum cli_exit golden_exit_code(const struct golden_verdict *verdicts, size_t n);

#endif
