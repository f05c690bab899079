/*
 * Where files of the user are: the XDG base directories, and what was installed.
 */
#ifndef TOOLS_CLI_PATHS_H
#define TOOLS_CLI_PATHS_H

#include "rml.h"

/* All return a string that the caller frees, or NULL when there is no such place
 * (no home directory, or out of memory). */

/* "<$XDG_CACHE_HOME or ~/.cache>/rml/<name>"; a relative XDG_CACHE_HOME is ignored, as the
 * XDG specification asks. Nothing is created. */
char *cli_cache_path(const char *name);
/* The same below $XDG_DATA_HOME or ~/.local/share. */
char *cli_data_path(const char *name);

/* The cache_file of rml_checkpoint_content_sha256, its folder created if that can be. */
char *cli_content_hash_cache(void);

/* The folder that holds the running program. */
char *cli_program_folder(void);

/*
 * A file that belongs to the program: `in_tree` in the source tree whose build folder the
 * program is in; else `installed` in share/rml of its installation; else `in_tree` in the
 * tree that it was built from, wherever its build folder is. NULL when it is in none of them.
 */
char *cli_find_data(const char *in_tree, const char *installed);

/*
 * A new folder that only this user can enter: "<$TMPDIR or /tmp>/rml-<what>-XXXXXX". NULL on
 * failure: RML_IO or RML_NO_MEMORY.
 */
char *cli_temporary_folder(const char *what, struct rml_error *err);

/* "a/b" from "a" and "b"; `name` itself when it is absolute. */
char *cli_path_join(const char *folder, const char *name);

#endif
