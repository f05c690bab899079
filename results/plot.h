/*
 * Charts: a query's rows become a data file, a gnuplot script draws it.
 *
 * gnuplot exits with 0 when its data is missing or a piped query fails, so the rows are
 * counted here, written to a file with a header, and gnuplot's exit status, its standard
 * error and its output file are all looked at.
 */
#ifndef RESULTS_PLOT_H
#define RESULTS_PLOT_H

#include <stdio.h>

#include "results/store.h"

/* What a script is told beside the data. */
struct plot_texts {
    char title[256];
    char subtitle[512];
    size_t n_rows;
    size_t n_panels;
};

/* Writes the rows of one kind of chart to `data` and fills *texts. False when there is
 * nothing to draw (RML_NOT_FOUND) or the database cannot be read. */
typedef bool plot_export_fn(struct store *store, FILE *data, struct plot_texts *texts,
                            struct rml_error *err);

struct plot_kind {
    const char *name; /* also of the script: <name>.gnuplot */
    const char *summary;
    plot_export_fn *export;
};

/* Ends with a name of NULL. */
extern const struct plot_kind plot_kinds[];

plot_export_fn plot_export_throughput_by_kv;

/*
 * Draws into `output`, whose ending says how: .svg, .png or .txt; "-" is text on standard
 * output. data_output: where a copy of the data file goes, NULL for none. Files are
 * whole or not there.
 */
bool plot_draw(const struct plot_kind *kind, struct store *store, const char *output,
               const char *data_output, struct rml_error *err);

/* True when the ending is one that plot_draw knows. */
bool plot_output_is_known(const char *output);

#endif
