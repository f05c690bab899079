/*
 * rml-results merge OTHER...: takes the runs of other databases into this one.
 */
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/commands.h"
#include "results/merge.h"
#include "results/schema.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/paths.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

/* ---- A database that is merged --------------------------------------------------------- */

/* One of an older schema is not touched: a copy of it is brought up to date and read. */
struct other {
    struct store *store;
    char *folder, *copy; /* of the copy, NULL without one */
};

static void other_close(struct other *other)
{
    store_close(other->store);
    if (other->copy) {
        static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s%s", other->copy, endings[i]);
            unlink(path);
        }
    }
    if (other->folder)
        rmdir(other->folder);
    free(other->copy);
    free(other->folder);
    *other = (struct other){0};
}

static bool open_copy(struct other *other, struct rml_error *err)
{
    other->folder = cli_temporary_folder("merge", err);
    if (!other->folder)
        return false;
    other->copy = cli_path_join(other->folder, "copy.db");
    if (!other->copy)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a copy");
    bool copied = store_copy(other->store, other->copy, err);
    store_close(other->store);
    other->store = copied ? store_open(other->copy, STORE_WRITE, err) : NULL;
    return other->store != NULL;
}

static bool other_open(struct other *other, const char *path, struct rml_error *err)
{
    *other = (struct other){.store = store_open(path, STORE_READ_OLD, err)};
    int version = other->store ? store_schema_version(other->store, err) : -1;
    bool ok = version == schema_n_versions || (version >= 0 && open_copy(other, err));
    if (!ok)
        other_close(other);
    return ok;
}

/* ---- Command ----------------------------------------------------------------------------- */

struct arguments {
    const char *db;
    char **others; /* [n_others], in argv */
    size_t n_others;
};

static bool same_file(const char *a, const char *b)
{
    struct stat st_a, st_b;
    return stat(a, &st_a) == 0 && stat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
           st_a.st_ino == st_b.st_ino;
}

static int64_t added_to(const struct merge_counts *counts, const char *table)
{
    for (int t = 0; merge_table_name(t); t++)
        if (strcmp(merge_table_name(t), table) == 0)
            return counts->added[t];
    return 0;
}

static json_t *counts_json(const char *file, const struct merge_counts *counts)
{
    json_t *added = json_object();
    for (int t = 0; merge_table_name(t); t++)
        json_object_set_new(added, merge_table_name(t), json_integer(counts->added[t]));
    return json_pack("{so so sI sI}", "file", cli_json_text(file), "added", added, "runs_renewed",
                     (json_int_t)counts->runs_renewed, "runs_unfinished",
                     (json_int_t)counts->runs_unfinished);
}

static void add_line(struct cli_table *table, const char *file, const struct merge_counts *counts)
{
    int64_t all = 0;
    for (int t = 0; merge_table_name(t); t++)
        all += counts->added[t];
    cli_table_cell(table, "%s", file);
    cli_table_cell(table, "%" PRId64, added_to(counts, "run"));
    cli_table_cell(table, "%" PRId64, counts->runs_renewed);
    cli_table_cell(table, "%" PRId64, added_to(counts, "result"));
    cli_table_cell(table, "%" PRId64, added_to(counts, "golden"));
    cli_table_cell(table, "%" PRId64, added_to(counts, "eval_metric"));
    cli_table_cell(table, "%" PRId64, all);
}

/* Every file is opened before the database is: nothing is created for the sake of a file that
 * cannot be read. */
static bool merge_all(const struct arguments *a, const char *path, struct other *others,
                      json_t *files, struct cli_table *table, struct rml_error *err)
{
    for (size_t i = 0; i < a->n_others; i++) {
        if (same_file(path, a->others[i]))
            return rmli_fail(err, RML_INVALID_ARGUMENT, a->others[i], -1,
                             "this is the database itself, expected another");
        if (!other_open(&others[i], a->others[i], err))
            return false;
    }
    struct store *store = store_open(path, STORE_WRITE, err);
    bool ok = store != NULL;
    for (size_t i = 0; ok && i < a->n_others; i++) {
        struct merge_counts counts;
        cli_progress("merging %s", a->others[i]);
        ok = store_merge(store, others[i].store, &counts, err);
        if (!ok)
            break;
        json_array_append_new(files, counts_json(a->others[i], &counts));
        add_line(table, a->others[i], &counts);
        if (counts.runs_unfinished > 0)
            cli_note(
                "%s: %" PRId64 " run%s had not ended; what is added there, another merge brings",
                a->others[i], counts.runs_unfinished, cli_plural((uint64_t)counts.runs_unfinished));
    }
    cli_progress_clear();
    store_close(store);
    return ok;
}

static const struct argp_option options[] = {RESULTS_DB_OPTION, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* then argp hands all of them over at once */
    case ARGP_KEY_ARGS:
        a->others = state->argv + state->next;
        a->n_others = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no database to merge found, expected the name of at least one");
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_merge_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "OTHER...",
        .doc = "Takes the runs of other databases into this one, which is created when it is not "
               "there. Runs are told apart by their uuid, so a file can be merged again: that adds "
               "what is new in it and nothing else. Each file is taken whole or not at all.\v"
               "Example: what two machines of a pipeline have measured:\n\n"
               "  rml-results merge --db all.db runner-1.db runner-2.db"};
    struct cli_options common;
    struct arguments a = {0};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    char path[PATH_MAX];
    json_t *files = json_array();
    struct cli_table *table = cli_table_create(
        "<merged|>new runs|>runs gone on|>results|>goldens|>scores|>rows of all kinds");
    struct other *others = calloc(a.n_others, sizeof *others);
    bool ok = others ? store_path(a.db, path, sizeof path, &err) &&
                           merge_all(&a, path, others, files, table, &err)
                     : rmli_fail(&err, RML_NO_MEMORY, NULL, -1, "no memory to merge");
    for (size_t i = 0; others && i < a.n_others; i++)
        other_close(&others[i]);
    free(others);

    if (ok || (!common.json && json_array_size(files) > 0))
        results_print_rows(common.json, "files", files, table);
    json_decref(files);
    cli_table_destroy(table);
    if (ok)
        return CLI_PASS;
    int code = cli_error(&err);
    return err.code == RML_CANCELLED ? cli_interrupted_code() : code;
}
