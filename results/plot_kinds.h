/*
 * The kinds of charts, each with its query and its layout.
 */
#ifndef RESULTS_PLOT_KINDS_H
#define RESULTS_PLOT_KINDS_H

#include "results/plot.h"

#define PLOT_EXPORT(name)                                                                          \
    bool name(const struct plot_kind *kind, struct store *store,                                   \
              const struct plot_selection *selection, FILE *data, struct rml_error *err)

PLOT_EXPORT(plot_export_speed);
PLOT_EXPORT(plot_export_memory);
PLOT_EXPORT(plot_export_latency);
PLOT_EXPORT(plot_export_roofline);
PLOT_EXPORT(plot_export_history);
PLOT_EXPORT(plot_export_samples);
PLOT_EXPORT(plot_export_verdicts);
PLOT_EXPORT(plot_export_quality);

/* Writes an arranged chart, and notes what was left out. */
bool plot_finish(struct chart *chart, const struct plot_kind *kind, const char *sql, FILE *data);

#endif
