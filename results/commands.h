/*
 * The commands of rml-results.
 */
#ifndef RESULTS_COMMANDS_H
#define RESULTS_COMMANDS_H

#include "results/store.h"
#include "tools/cli/options.h"

int results_list_main(int argc, char **argv);
int results_check_main(int argc, char **argv);
int results_plot_main(int argc, char **argv);

/* Opens the database that the options mean for reading; NULL with an error. */
struct store *results_open(const struct cli_options *options, struct rml_error *err);

#endif
