/*
 * The outputs that a command line names. Each is a file of its own: written over what a command reads
 * or keeps, it would destroy that.
 */
#ifndef TOOLS_CLI_OUTPUT_NAMES_H
#define TOOLS_CLI_OUTPUT_NAMES_H

#include <argp.h>
#include <stdbool.h>

#include "rml.h"

/* The name of a file to write, or "-"; not empty. cli_parse sees to it that it can be opened, so
 * that a folder that is not there is found out before the work, not behind it. */
const char *cli_arg_output(struct argp_state *state, const char *option, const char *text);

/* Can all of them be opened, and is none of them another, a file that another word of the command
 * line names, or a file of a checkpoint in a folder that one names? */
bool cli_outputs_check(struct rml_error *err);

/* For a file that no word names, before it is read or written: an error when an output is that file. */
bool cli_input_check(const char *path, struct rml_error *err);

#endif
