/*
 * rml-results history CASE: a case over time, and where it changed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/change_points.h"
#include "results/commands.h"
#include "results/figures.h"
#include "results/history.h"
#include "results/result_rows.h"
#include "tools/cli/report.h"

static const json_t *change_at(const json_t *history, size_t index)
{
    const json_t *change;
    size_t i;
    json_array_foreach(json_object_get(history, "change_points"), i,
                       change) if ((size_t)json_integer_value(json_object_get(change, "index")) ==
                                   index) return change;
    return NULL;
}

/* What stands at the end of a point's line. */
static void remark(const json_t *history, const json_t *point, size_t index, char text[512])
{
    size_t n = 0, i;
    const json_t *change = change_at(history, index), *note;
    text[0] = 0;
    if (change)
        n = (size_t)snprintf(text, 512, "<- change: x %.3f (p = %.3f)%s", row_real(change, "ratio"),
                             row_real(change, "p_value"),
                             json_is_true(json_object_get(change, "is_muted")) ? ", muted" : "");
    json_array_foreach(json_object_get(point, "notes"), i, note) if (n < 400) n +=
        (size_t)snprintf(text + n, 512 - n, "%s%s: %.200s", n ? "; " : "", row_text(note, "kind"),
                         row_text(note, "note"));
}

/* Annotations that name no commit. */
static void print_general_notes(const json_t *annotations)
{
    struct cli_table *table = cli_table_create("<note|<");
    const json_t *annotation;
    size_t i, n = 0;
    json_array_foreach(annotations, i, annotation)
    {
        if (row_text(annotation, "commit_sha"))
            continue;
        n++;
        cell_text(table, row_text(annotation, "kind"));
        cli_table_cell(table, "%s%s", row_text(annotation, "note"),
                       json_is_true(json_object_get(annotation, "is_expired")) ? " (expired)" : "");
    }
    if (n > 0) {
        putchar('\n');
        cli_table_print(table, stdout);
    }
    cli_table_destroy(table);
}

/* The key, with the checkpoint's file and the first digits of its hash in place of the hash. */
static void cell_case(struct cli_table *table, const json_t *history)
{
    static const char word[] = " model=";
    const char *key = row_text(history, "case_key"), *arm = row_text(history, "arm");
    const char *model = row_text(history, "model"), *found = strstr(key, word);
    const char *before = arm ? " arm=" : "";
    if (!found || !model) {
        cli_table_cell(table, "%s%s%s", key, before, arm ? arm : "");
        return;
    }
    const char *hash = found + strlen(word);
    size_t n_hash = strcspn(hash, " ");
    cli_table_cell(table, "%.*s%s (%.*s)%s%s%s", (int)(hash - key), key, model,
                   (int)(n_hash < 12 ? n_hash : 12), hash, hash + n_hash, before, arm ? arm : "");
}

static void print_history(const json_t *history)
{
    const char *hostname = row_text(history, "hostname");
    const json_t *points = json_object_get(history, "points"), *point;
    size_t i;
    /* By way of a table, which makes text of a hostile database printable. */
    struct cli_table *head = cli_table_create("<host|<processor|<fingerprint|<case");
    cell_text(head, hostname);
    cell_text(head, row_text(history, "cpu_model"));
    cli_table_cell(head, "%.12s", row_text(history, "host_fingerprint"));
    cell_case(head, history);
    cli_table_print(head, stdout);
    cli_table_destroy(head);
    putchar('\n');
    struct cli_table *table = cli_table_create("<measured|<run|<build|>n|>median [95 %]|<status|<");
    json_array_foreach(points, i, point)
    {
        char text[512];
        const char *commit = row_text(point, "git_commit");
        utc_text(json_integer_value(json_object_get(point, "start_ns")), text);
        cell_text(table, text);
        cli_table_cell(table, "%.8s", row_text(point, "run"));
        cli_table_cell(table, "%s%s%.9s%s", row_text(point, "version"), commit ? " " : "",
                       commit ? commit : "",
                       json_is_true(json_object_get(point, "git_dirty")) ? "+" : "");
        cell_whole(table, row_real(point, "n_samples"));
        cell_interval(table, row_real(point, "median_ns"), row_real(point, "ci_lo_ns"),
                      row_real(point, "ci_hi_ns"));
        cell_text(table, row_text(point, "status"));
        remark(history, point, i, text);
        cli_table_cell(table, "%s", text);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    print_general_notes(json_object_get(history, "annotations"));
    double left_out = row_real(history, "n_left_out"), cut = row_real(history, "n_cut");
    if (left_out > 0)
        printf("%.0f result%s without a figure, or wrong, left out\n", left_out,
               cli_plural((uint64_t)left_out));
    if (cut > 0)
        printf("%.0f older results are left out\n", cut);
}

static void print_histories(const json_t *document)
{
    const json_t *history;
    size_t i, n_shown = 0, n_empty = 0;
    json_array_foreach(json_object_get(document, "histories"), i, history)
    {
        if (json_array_size(json_object_get(history, "points")) == 0) {
            n_empty++;
            continue;
        }
        if (n_shown++ > 0)
            putchar('\n');
        print_history(history);
    }
    if (n_empty > 0)
        printf("%s%zu case%s without a figure, or with only wrong ones, left out\n",
               n_shown ? "\n" : "", n_empty, cli_plural(n_empty));
}

struct arguments {
    const char *db, *pattern, *host;
};

enum { KEY_HOST = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"host", KEY_HOST, "HOST", 0, "Only that machine: its name, or the start of its fingerprint",
     1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_HOST:
        if (!*arg)
            argp_error(state, "--host: '' found, expected a name or the start of a fingerprint");
        a->host = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (a->pattern)
            argp_error(state, "'%s' found, expected one CASE", arg);
        a->pattern = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->pattern)
            argp_error(state, "no CASE found, expected a case key, a name or a pattern");
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_history_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "CASE",
        .doc = "Shows a case over time, each machine for itself, and where its median changed: "
               "E-divisive on the logarithms of the medians with a permutation test, by which a "
               "history without a change gets one in at most 1 of 100 cases; a change needs 4 "
               "results on each side. CASE is a case's name as rml-bench shows it, its case key, "
               "SUITE/NAME, or a pattern of the name or the key with * and ?.\v"
               "Examples:\n\n"
               "  rml-results history 'model.gguf/prefill 64'\n"
               "  rml-results history 'attention/*kv=f16:f16*depth=512 *'"};
    struct cli_options common;
    struct arguments a = {0};
    cli_parse(&common, CLI_OPT_JSON | CLI_OPT_SEED, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    json_t *histories = store ? history_read(store, a.pattern, a.host, common.seed, &err) : NULL;
    store_close(store);
    json_t *document =
        histories ? json_pack("{sf so}", "alpha", CHANGE_ALPHA, "histories", histories) : NULL;
    return results_print(document, common.json, print_histories, &err);
}
