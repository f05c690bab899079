/*
 * Charts: a query's rows become a data file, a gnuplot script draws it.
 *
 * gnuplot exits with 0 when its data is missing or a piped query fails, so the rows are
 * counted here and written to a file with a header; its exit status and its output file say
 * whether there is a chart, and what it says beside a whole chart is passed on as a warning.
 */
#ifndef RESULTS_PLOT_H
#define RESULTS_PLOT_H

#include <stdio.h>

#include "results/plot_select.h"

struct plot_kind {
    const char *name;
    const char *summary;
    const char *script; /* <script>.gnuplot: kinds of one form share it */
    /* Writes the data file. False when there is nothing to draw (RML_NOT_FOUND) or the database
     * cannot be read. */
    bool (*export)(const struct plot_kind *kind, struct store *store,
                   const struct plot_selection *selection, FILE *data, struct rml_error *err);
};

/* Ends with a name of NULL. */
extern const struct plot_kind plot_kinds[];

/* The kind of that name; NULL when there is none. */
const struct plot_kind *plot_find_kind(const char *name);

/*
 * Draws into `output`, whose ending says how: .svg, .png or .txt; "-" is text on standard
 * output. data_output: where a copy of the data file goes, NULL for none. Files are
 * whole or not there.
 */
bool plot_draw(const struct plot_kind *kind, struct store *store,
               const struct plot_selection *selection, const char *output, const char *data_output,
               struct rml_error *err);

/* True when plot_draw failed because there is nothing to draw. */
bool plot_is_empty(const struct rml_error *err, const struct store *store);

/* True when plot_draw failed because gnuplot is not installed. */
bool plot_is_without_gnuplot(const struct rml_error *err);

/* True when the ending is one that plot_draw knows. */
bool plot_output_is_known(const char *output);

#endif
