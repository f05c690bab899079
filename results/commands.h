/*
 * The commands of rml-results.
 */
#ifndef RESULTS_COMMANDS_H
#define RESULTS_COMMANDS_H

#include "results/store.h"
#include "tools/cli/options.h"

int results_list_main(int argc, char **argv);
int results_show_main(int argc, char **argv);
int results_merge_main(int argc, char **argv);
int results_import_main(int argc, char **argv);
int results_compare_main(int argc, char **argv);
int results_history_main(int argc, char **argv);
int results_export_main(int argc, char **argv);
int results_annotate_main(int argc, char **argv);
int results_prune_main(int argc, char **argv);
int results_migrate_main(int argc, char **argv);
int results_check_main(int argc, char **argv);
int results_plot_main(int argc, char **argv);
int results_report_main(int argc, char **argv);

/* The option --db of every command: there is no --no-db for a program that reads. */
#define RESULTS_KEY_DB (CLI_OWN_KEY + 100)
#define RESULTS_DB_OPTION                                                                          \
    {                                                                                              \
        "db", RESULTS_KEY_DB, "FILE", 0,                                                           \
            "Results database (RML_DB; else results/rml.db if ./results exists; else "             \
            "$XDG_DATA_HOME/rml/rml.db)",                                                          \
            1                                                                                      \
    }

/* The end of every command's parser: takes --db into *db. An argument that the command has not
 * taken is a usage error, and so is an empty name; ARGP_ERR_UNKNOWN for other keys. */
error_t results_parse_db(int key, char *arg, struct argp_state *state, const char **db);

/* Opens the database that --db (NULL: not given) means for reading; NULL with an error. */
struct store *results_open(const char *db, struct rml_error *err);

/* For changing it; it must be there. */
struct store *results_open_writable(const char *db, struct rml_error *err);

/* The end of a command that has made a document (NULL: *err says why not), which is given back:
 * prints it, with --json as it is, else by `print`. Returns the exit code. */
int results_print(struct json_t *document, bool json, void (*print)(const struct json_t *document),
                  const struct rml_error *err);
struct cli_table;
/* Prints {KEY: rows} with --json, else the table that says the same. */
void results_print_rows(bool json, const char *key, struct json_t *rows, struct cli_table *table);

#endif
