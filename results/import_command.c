/*
 * rml-results import PROGRAM FILE...: what other benchmark programs have written.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/commands.h"
#include "results/import.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

#define MAX_FILE_NBYTES ((size_t)256 << 20)

static const struct reader {
    const char *program;
    import_reader *read;
} readers[] = {
    {"llama-bench", import_llama_bench},
    {"google-benchmark", import_google_benchmark},
    {"hyperfine", import_hyperfine},
    {"peers", import_peers},
    {0},
};

/* ---- Files ----------------------------------------------------------------------------- */

/* All of a file ("-": standard input), and a NUL; to be freed. */
static char *read_file(const char *path, size_t *nbytes, struct rml_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    char *data = NULL;
    size_t n = 0, room = 0, got = 1;
    if (!file) {
        rmli_fail(err, errno == ENOENT ? RML_NOT_FOUND : RML_IO, path, -1, "cannot be opened: %s",
                  strerror(errno));
        return NULL;
    }
    while (got > 0 && n <= MAX_FILE_NBYTES) {
        if (n + 1 >= room) {
            room = room * 2 + 65536;
            char *bigger = realloc(data, room);
            if (!bigger)
                break;
            data = bigger;
        }
        got = fread(data + n, 1, room - n - 1, file);
        n += got;
    }
    bool ok = false;
    if (ferror(file))
        rmli_fail(err, RML_IO, path, -1, "cannot be read: %s", strerror(errno));
    else if (n > MAX_FILE_NBYTES)
        rmli_fail(err, RML_UNSUPPORTED, path, -1, "more than %zu MiB, expected a file of results",
                  MAX_FILE_NBYTES >> 20);
    else if (got > 0)
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to read it");
    else
        ok = true;
    if (!is_stdin)
        fclose(file);
    if (!ok) {
        free(data);
        return NULL;
    }
    data[n] = 0;
    *nbytes = n;
    return data;
}

/* ---- Command ------------------------------------------------------------------------------ */

struct arguments {
    const char *db;
    const struct reader *reader;
    char **files;
    size_t n_files;
    struct import_options options;
};

static bool import_files(const struct arguments *a, struct import *imports, json_t *report,
                         struct cli_table *table, struct rml_error *err)
{
    char path[PATH_MAX];
    /* All are read before the database is opened, which may create it. */
    for (size_t i = 0; i < a->n_files; i++) {
        struct import *import = &imports[i];
        *import = (struct import){.path = a->files[i], .err = err, .measured_ns = -1, .cores = -1};
        import->data = read_file(a->files[i], &import->nbytes, err);
        if (!import->data || !a->reader->read(import))
            return false;
    }
    struct store *store =
        store_path(a->db, path, sizeof path, err) ? store_open(path, STORE_WRITE, err) : NULL;
    bool ok = store != NULL;
    for (size_t i = 0; ok && i < a->n_files; i++) {
        char uuid[37];
        bool known;
        ok = import_store(&imports[i], store, &a->options, uuid, &known);
        if (!ok)
            break;
        json_array_append_new(report,
                              json_pack("{so ss sI sb}", "file", cli_json_text(a->files[i]), "run",
                                        uuid, "results_added",
                                        known ? (json_int_t)0 : (json_int_t)imports[i].n_rows,
                                        "known", known));
        cli_table_cell(table, "%s", a->files[i]);
        cli_table_cell(table, "%.8s", uuid);
        cli_table_cell(table, "%zu", known ? 0 : imports[i].n_rows);
        cli_table_cell(table, "%s", known ? "there already" : "imported");
    }
    store_close(store);
    return ok;
}

enum { KEY_LABEL = CLI_OWN_KEY, KEY_HOST_NAME, KEY_THIS_HOST };

static const struct argp_option options[] = {
    {"label", KEY_LABEL, "NAME", 0, "Label of the run", 1},
    {"host-name", KEY_HOST_NAME, "NAME", 0,
     "Name of the machine that measured (that in the file; hyperfine's files have none)", 1},
    {"this-host", KEY_THIS_HOST, NULL, 0,
     "It was measured on this machine, so it belongs with what rml measured here", 1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_LABEL:
        a->options.label = arg;
        return 0;
    case KEY_HOST_NAME:
        if (!*arg)
            argp_error(state, "--host-name: '' found, expected a name");
        a->options.host_name = arg;
        return 0;
    case KEY_THIS_HOST:
        a->options.this_host = true;
        return 0;
    case ARGP_KEY_ARG:
        for (a->reader = readers; a->reader->program; a->reader++)
            if (strcmp(a->reader->program, arg) == 0)
                break;
        if (!a->reader->program)
            argp_error(state,
                       "'%s' found, expected llama-bench, google-benchmark, hyperfine or peers",
                       arg);
        a->options.program = a->reader->program;
        a->files = state->argv + state->next;
        a->n_files = (size_t)(state->argc - state->next);
        state->next = state->argc;
        if (a->n_files == 0)
            argp_error(state, "no file found, expected the name of at least one, or -");
        return 0;
    case ARGP_KEY_END:
        if (!a->reader)
            argp_error(state, "no program found, expected llama-bench, google-benchmark, "
                              "hyperfine or peers");
        if (a->options.host_name && a->options.this_host)
            argp_error(state, "--host-name and --this-host exclude each other");
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_import_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROGRAM FILE...",
        .doc = "Takes over what another benchmark program has written: llama-bench (its json, "
               "jsonl, csv or sql output), google-benchmark or hyperfine (json), or bench/peers, "
               "which "
               "measures other engines beside rml. A file becomes "
               "one run; the same file again adds nothing. The database is created when it is not "
               "there. csv and sql of llama-bench hold only the mean of the repetitions: such a "
               "result has one sample and no interval.\v"
               "Example:\n\n"
               "  llama-bench -m model.gguf -o json > peer.json\n"
               "  rml-results import llama-bench --this-host peer.json"};
    struct cli_options common;
    struct arguments a = {0};
    a.options.argv = cli_command_line(&a.options.argc);
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct import *imports = calloc(a.n_files, sizeof *imports);
    json_t *report = json_array();
    struct cli_table *table = cli_table_create("<file|<run|>results|<");
    bool ok = imports ? import_files(&a, imports, report, table, &err)
                      : rmli_fail(&err, RML_NO_MEMORY, NULL, -1, "no memory to import");
    for (size_t i = 0; imports && i < a.n_files; i++) {
        import_release(&imports[i]);
        free((char *)imports[i].data);
    }
    free(imports);
    if (ok || (!common.json && json_array_size(report) > 0))
        results_print_rows(common.json, "files", report, table);
    json_decref(report);
    cli_table_destroy(table);
    return ok ? CLI_PASS : cli_error(&err);
}
