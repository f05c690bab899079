/*
 * rml-eval import: what lm-eval has written, so that its runs can be compared with ours item by
 * item.
 */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>

#include "eval/eval_commands.h"
#include "eval/eval_options.h"
#include "eval/import_lm_eval.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

struct arguments {
    struct cli_options options;
    char **files; /* [n_files] */
    size_t n_files;
    const char *label, *task;
};

enum { KEY_LABEL = CLI_OWN_KEY, KEY_TASK };

static const struct argp_option option_table[] = {
    {"label", KEY_LABEL, "NAME", 0, "Label of the runs, by which commands find them", 1},
    {"task", KEY_TASK, "NAME", 0,
     "Name of the task of a samples file (as the file's name has it). Tasks are compared with "
     "those of the same name: choices, perplexity",
     1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_LABEL:
        a->label = cli_arg_label(state, arg);
        return 0;
    case KEY_TASK:
        if (!*arg)
            argp_error(state, "--task: an empty name found, expected one");
        a->task = arg;
        return 0;
    case ARGP_KEY_ARGS:
        a->files = state->argv + state->next;
        a->n_files = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "expected files of lm-eval");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct imported {
    struct text_file file;
    struct lm_eval_import import;
    char uuid[37], program[256];
    bool known;
};

/* All files are read before the database is opened, which may create it. */
static bool read_files(const struct arguments *a, struct imported *all, struct rml_error *err)
{
    for (size_t i = 0; i < a->n_files; i++)
        if (!text_file_read(&all[i].file, a->files[i], true, err) ||
            !lm_eval_import_read(&all[i].import, &all[i].file, a->task, err))
            return false;
    return true;
}

static bool store_file_of(const struct arguments *a, struct store *store, struct imported *one,
                          struct rml_error *err)
{
    const struct lm_eval_import *import = &one->import;
    /* The same samples under another task's name are another run. */
    snprintf(one->program, sizeof one->program, "lm-eval%s%.200s", a->task ? " " : "",
             a->task ? a->task : "");
    struct store_eval_import what = {.program = one->program,
                                     .file = one->file.name,
                                     .data = one->file.data,
                                     .nbytes = one->file.nbytes,
                                     .label = a->label,
                                     .measured_ns = import->measured_ns,
                                     .evals = import->evals,
                                     .n_evals = import->n_evals,
                                     .docs = import->docs,
                                     .n_docs = import->n_docs,
                                     .items = import->items,
                                     .n_items = import->n_items,
                                     .metrics = import->metrics,
                                     .n_metrics = import->n_metrics};
    what.argv = cli_command_line(&what.argc);
    return store_import_eval(store, &what, one->uuid, &one->known, err);
}

static void print(const struct arguments *a, const struct imported *all)
{
    json_t *files = json_array();
    struct cli_table *table = cli_table_create("<file|<run|<task|>items|>figures|<");
    for (size_t i = 0; i < a->n_files; i++) {
        const struct lm_eval_import *import = &all[i].import;
        json_t *tasks = json_array();
        for (size_t t = 0; t < import->n_evals; t++)
            json_array_append_new(tasks, cli_json_text(import->evals[t].task));
        json_array_append_new(
            files, json_pack("{so ss so sI sI sb}", "file", cli_json_text(a->files[i]), "run",
                             all[i].uuid, "tasks", tasks, "n_items", (json_int_t)import->n_docs,
                             "n_metrics", (json_int_t)import->n_metrics, "known", all[i].known));
        cli_table_cell(table, "%s", a->files[i]);
        cli_table_cell(table, "%.8s", all[i].uuid);
        cli_table_cell(table, "%s%s", import->evals[0].task, import->n_evals > 1 ? " ..." : "");
        cli_table_cell(table, "%zu", import->n_docs);
        cli_table_cell(table, "%zu", import->n_metrics);
        cli_table_cell(table, "%s", all[i].known ? "there already" : "imported");
    }
    if (a->options.json) {
        json_t *document = json_pack("{sO}", "files", files);
        cli_json_print(document, 17);
        json_decref(document);
    } else {
        cli_table_print(table, stdout);
    }
    json_decref(files);
    cli_table_destroy(table);
}

int eval_import_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Brings runs of lm-eval into the database: samples_TASK_DATE.jsonl (written with "
               "--log_samples), whose items can then be compared with ours one by one, and "
               "results_DATE.json with the figures of tasks. Each file is a run; one that is there "
               "already is left alone.\v"
               "Example: the same questions scored by both:\n\n"
               "  rml-eval choices model.gguf questions.jsonl\n"
               "  rml-eval import --task choices --label theirs samples_mine_2026-11-30.jsonl\n"
               "  rml-eval compare last theirs"};
    struct arguments a = {.n_files = 0};
    struct rml_error err = RML_ERROR_INIT;
    cli_parse(&a.options, CLI_OPT_DB_FILE | CLI_OPT_JSON, &argp, argc, argv, &a);
    char path[PATH_MAX];
    struct imported *all = calloc(a.n_files, sizeof *all);
    bool ok = all || rmli_fail(&err, RML_NO_MEMORY, NULL, -1, "no memory to import");
    ok = ok && read_files(&a, all, &err) && store_path(a.options.db, path, sizeof path, &err);
    struct store *store = ok ? store_open(path, STORE_WRITE, &err) : NULL;
    ok = store != NULL;
    for (size_t i = 0; ok && i < a.n_files; i++)
        ok = store_file_of(&a, store, &all[i], &err);
    store_close(store);
    if (ok)
        print(&a, all);
    for (size_t i = 0; all && i < a.n_files; i++) {
        lm_eval_import_release(&all[i].import);
        text_file_release(&all[i].file);
    }
    free(all);
    return ok ? CLI_PASS : cli_error(&err);
}
