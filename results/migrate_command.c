/*
 * rml-results migrate: brings a database of an older schema to the current one, and keeps a
 * copy of it as it was.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "results/commands.h"
#include "results/schema.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    const char *db, *backup;
};

enum { KEY_BACKUP = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"backup", KEY_BACKUP, "FILE", 0, "Where the copy goes (the database's name with .schema-N)",
     1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_BACKUP:
        if (!*arg)
            argp_error(state, "--backup: '' found, expected the name of a new file");
        a->backup = arg;
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

/* The version that it had; -1 with an error. The copy is made first: without one nothing is
 * changed. */
static int migrate(const char *path, char *backup, size_t backup_nbytes, struct rml_error *err)
{
    struct store *store = store_open(path, STORE_READ_OLD, err);
    int version = store ? store_schema_version(store, err) : -1;
    bool older = version >= 0 && version < schema_n_versions;
    bool ok = version >= 0;
    if (older && !*backup)
        snprintf(backup, backup_nbytes, "%s.schema-%d", path, version);
    if (older)
        ok = store_copy(store, backup, err);
    store_close(store);
    if (ok && older) {
        store = store_open(path, STORE_WRITE, err); /* migrates, in one transaction */
        ok = store != NULL;
        store_close(store);
    }
    return ok ? version : -1;
}

int results_migrate_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Brings a database of an older schema to this program's, after copying it. Every "
               "program that writes does the same without a copy.\v"
               "Example:\n\n"
               "  rml-results migrate --db results/rml.db"};
    struct cli_options common;
    struct arguments a = {0};
    cli_parse(&common, 0, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    char path[PATH_MAX], backup[PATH_MAX + 32];
    snprintf(backup, sizeof backup, "%s", a.backup ? a.backup : "");
    int version =
        store_path(a.db, path, sizeof path, &err) ? migrate(path, backup, sizeof backup, &err) : -1;
    if (version < 0)
        return cli_error(&err);
    if (version == schema_n_versions)
        printf("%s: has schema %d already\n", path, version);
    else
        printf("%s: schema %d became %d; as it was: %s\n", path, version, schema_n_versions,
               backup);
    return CLI_PASS;
}
