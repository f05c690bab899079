/*
 * Which rows a chart is made of.
 *
 * Without options: of the newest complete run that has rows of the kind, the host and the build;
 * of these, each case's latest result. Runs that are named are taken as they are.
 */
#ifndef RESULTS_PLOT_SELECT_H
#define RESULTS_PLOT_SELECT_H

#include "results/plot_chart.h"

/* Patterns as SQLite's GLOB has them (*, ?, [a-z]); NULL: all. */
struct plot_selection {
    char *runs; /* ids of runs as an array of JSON (plot_selection_find), or NULL; owned */
    const char *host, *suite, *case_name, *engine, *model;
    int64_t since_ns; /* runs that began then or later; INT64_MIN: all */
};

/* Sets the runs that the names (ending with NULL; NULL: all runs) mean as store_find_runs has it. */
bool plot_selection_find(struct plot_selection *selection, struct store *store, char *const *names,
                         struct rml_error *err);

/* What a kind makes of a row. */
struct plot_figures {
    double tokens_per_second, tokens_per_second_lo, tokens_per_second_hi;
    double flops_per_second, bytes_per_second;
    double median_ns, ci_lo_ns, ci_hi_ns;
    double rss_bytes, kv_bytes, model_bytes;
    double start_ns;
    int64_t result_id;
    const char *note; /* of an annotation of kind step for this commit; "" none */
};
typedef void plot_take_fn(struct chart_point *point, const struct plot_figures *figures,
                          struct chart *chart);

enum { PLOT_EVERY_RESULT = 1, PLOT_FAMILIES = 2 };

/*
 * Adds a point for each row of the view v_chart with status ok or unstable for which `condition`
 * (SQL over its columns) holds. flags: PLOT_EVERY_RESULT: of every build and run of the newest
 * run's host, not only the latest; PLOT_FAMILIES: as
 * plot_use_families. *sql: the query, to be freed by the caller.
 */
bool plot_load(struct chart *chart, struct store *store, const struct plot_selection *selection,
               const char *condition, int flags, plot_take_fn *take, char **sql,
               struct rml_error *err);

/* Checkpoints of one architecture and size that differ in their weight types become one model. */
void plot_use_families(struct chart *chart);

/* Names the work of each point by what it has different from that of points otherwise alike: mostly
 * by nothing. For charts that never join points. */
void plot_name_work(struct chart *chart);

/* "CPU (HOST)" */
const char *plot_machine(struct chart *chart, const char *cpu_model, const char *hostname);

/* Parameters 1 to 7 of a query: runs, host, suite, case, engine, model, since. */
struct query;
void plot_bind(struct query *q, const struct plot_selection *selection);

/* A column of a row: "" and NaN for NULL. */
struct sqlite3_stmt;
const char *plot_column_text(struct sqlite3_stmt *stmt, int column);
double plot_column_number(struct sqlite3_stmt *stmt, int column);

/* "llama 135M"; the file's name when that is not known. */
const char *plot_family(struct chart *chart, const char *arch, double n_params, const char *file);

/* No rows: says what the kind needs (`needs`), and whether runs that did not end have some. */
bool plot_nothing(struct store *store, const struct plot_selection *selection, const char *needs,
                  struct rml_error *err);

/* "1234", "12.3k"; with a star when the mark says unstable. */
const char *plot_value_label(struct chart *chart, double value, unsigned marks);

#endif
