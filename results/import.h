/*
 * Results of other benchmark programs: what a reader of one of their formats finds in a
 * file, and how it gets into the database.
 *
 * A file becomes one run of kind `import`, whose uuid is made from the file's bytes, so that
 * the same file is the same run wherever and however often it is imported. Its host is the
 * machine that measured, as far as the file tells, and never taken for this one unless the
 * user says so. What the file does not say stays unknown; t_mono_ns of its samples is 0 unless the
 * file has it.
 */
#ifndef RESULTS_IMPORT_H
#define RESULTS_IMPORT_H

#include <jansson.h>

#include "results/host.h"
#include "results/store_private.h"

/* A figure that the file gives and that is no sample. */
struct import_figure {
    int rep; /* 0 when it is of the whole row */
    const char *metric;
    double value;
};

struct import_row {
    struct store_case what;
    struct store_result result; /* samples is `samples` */
    struct store_sample *samples;
    size_t n_samples;
    struct import_figure *figures;
    size_t n_figures;
};

/* The checkpoint that all rows of a file are about. */
struct import_model {
    const char *content_sha256; /* NULL: the file names none by its content */
    const char *file_name, *weight_dtype;
    int64_t file_nbytes; /* -1: not told */
};

struct import {
    const char *path;      /* for messages */
    struct rml_error *err; /* where failures are recorded */
    const char *data;      /* [nbytes], and a NUL after it */
    size_t nbytes;

    struct import_row *rows;
    size_t n_rows;
    bool is_ordered; /* order_idx of the samples is the file's; else that in which they stand */
    struct import_model model;
    int64_t measured_ns; /* when the first of them was measured; -1: not told */
    const char *hostname, *cpu_model;
    int64_t cores; /* -1: not told */
    json_t *facts; /* what else is told of machine and build: an object of strings */
    char **texts;  /* owned, below */
    size_t n_texts;

    /* Rows of other tables, inserted in the same transaction; NULL: none. */
    bool (*insert_more)(struct store *store, int64_t run_id, void *user);
    void *user;
};

/* Each fills rows and facts, at least one row; false with the place of what is wrong. */
typedef bool import_reader(struct import *import);
import_reader import_llama_bench, import_google_benchmark, import_hyperfine, import_peers;

/* ---- For readers -------------------------------------------------------------------- */

/* A failure at a byte of the file, -1: nowhere. Returns false. */
bool import_fail(struct import *import, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A text that lives as long as the import; NULL when memory is exhausted (and recorded). */
const char *import_text(struct import *import, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A row of which nothing is known but its suite; valid until the next one is added. NULL when
 * memory is exhausted (and recorded). */
struct import_row *import_add_row(struct import *import, const char *suite);

/* `iters` iterations that took wall_ns together. */
bool import_add_sample(struct import *import, struct import_row *row, int64_t iters,
                       int64_t wall_ns, int64_t cpu_ns);
bool import_add_figure(struct import *import, struct import_row *row, int rep, const char *metric,
                       double value);
bool import_add_fact(struct import *import, const char *key, const char *value);

/* JSON as one document; NULL with line and column of what is wrong. */
json_t *import_json(struct import *import);

/* A positive number of ns, at most 10^17 (three years): false with "PLACE: ..." else. */
bool import_check_ns(struct import *import, const char *place, double ns);

/* ---- For the command ------------------------------------------------------------------ */

struct import_options {
    const char *program;   /* "llama-bench" */
    const char *label;     /* NULL: none */
    const char *host_name; /* NULL: as the file has it */
    bool this_host;        /* measured on this machine */
    int argc;
    char *const *argv;
};

/* Stores the file as a run, in one transaction, unless it is there. *known: it was. The run's
 * uuid goes to uuid. */
bool import_store(struct import *import, struct store *store, const struct import_options *options,
                  char uuid[37], bool *known);

void import_release(struct import *import);

#endif
