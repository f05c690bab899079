/*
 * rml-results compare A B: two runs side by side, as a table, Markdown or JSON.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/commands.h"
#include "results/compare_runs.h"
#include "results/figures.h"
#include "results/result_rows.h"
#include "results/run_select.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/report.h"

static const char caution[] =
    "A and B were measured one after the other, not interleaved: on a shared machine the same "
    "program differs by 25 % and more between two runs. The interval is of these samples; it is no "
    "verdict on the programs (rml-bench ab gives one).";

/* ---- Words for a row --------------------------------------------------------------------- */

/* What is to be known of a row besides its ratio. */
static void remark(const json_t *row, char text[256])
{
    const json_t *sides[] = {json_object_get(row, "a"), json_object_get(row, "b")};
    const char *output = row_text(row, "output");
    text[0] = 0;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(text);
        const char *status = row_text(sides[i], "status");
        const char *what = json_is_true(json_object_get(sides[i], "is_wrong")) ? "wrong"
                           : status && strcmp(status, "ok") != 0               ? status
                                                                               : NULL;
        if (what)
            snprintf(text + n, 256 - n, "%s%c %s", n ? ", " : "", 'A' + i, what);
    }
    size_t n = strlen(text);
    if (output && strcmp(output, "differs") == 0)
        snprintf(text + n, 256 - n, "%soutput differs", n ? ", " : "");
}

/* "1.034 [0.990, 1.081]" */
static void ratio_words(const json_t *row, char text[64])
{
    double ratio = row_real(row, "ratio"), lo = row_real(row, "ratio_lo");
    if (isnan(ratio))
        strcpy(text, "-");
    else if (isnan(lo))
        snprintf(text, 64, "%.3f", ratio);
    else
        snprintf(text, 64, "%.3f [%.3f, %.3f]", ratio, lo, row_real(row, "ratio_hi"));
}

/* "threads 1, there 2; ..." */
static char *difference_words(const json_t *lonely)
{
    char *text = NULL;
    size_t nbytes = 0, i;
    const json_t *list = json_object_get(lonely, "differs_in"), *item;
    FILE *out = open_memstream(&text, &nbytes);
    if (!out)
        return NULL;
    json_array_foreach(list, i, item)
        fprintf(out, "%s%s %s, there %s", i ? "; " : "", row_text(item, "field"),
                row_text(item, "here"), row_text(item, "there"));
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static void run_words(const json_t *run, char text[256])
{
    char start[32];
    const char *label = row_text(run, "label"), *commit = row_text(run, "git_commit");
    utc_text(json_integer_value(json_object_get(run, "start_ns")), start);
    snprintf(text, 256, "%.8s  %s  %s%s%.9s%s%s%s", row_text(run, "uuid"), start,
             row_text(run, "version"), commit ? " " : "", commit ? commit : "",
             json_is_true(json_object_get(run, "git_dirty")) ? "+" : "", label ? "  " : "",
             label ? label : "");
}

/* ---- Table ---------------------------------------------------------------------------------- */

static void print_lonely(const json_t *list, const char *where)
{
    const json_t *lonely;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    printf("\nonly in %s:\n", where);
    json_array_foreach(list, i, lonely)
    {
        char *differs = difference_words(lonely);
        printf("  %s%s%s%s\n", row_text(lonely, "label"), differs && *differs ? " (" : "",
               differs ? differs : "", differs && *differs ? ")" : "");
        free(differs);
    }
}

static void print_side(struct cli_table *table, const json_t *side)
{
    cell_interval(table, row_real(side, "median_ns"), row_real(side, "ci_lo_ns"),
                  row_real(side, "ci_hi_ns"));
}

static void print_table(const json_t *document)
{
    char text[256];
    run_words(json_object_get(document, "a"), text);
    printf("A: %s\n", text);
    run_words(json_object_get(document, "b"), text);
    printf("B: %s\n\n", text);
    struct cli_table *table =
        cli_table_create("<case|>A, median [95 %]|>B, median [95 %]|>B / A [95 %]|<");
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        char ratio[64];
        cell_text(table, row_text(row, "label"));
        print_side(table, json_object_get(row, "a"));
        print_side(table, json_object_get(row, "b"));
        ratio_words(row, ratio);
        cli_table_cell(table, "%s", ratio);
        remark(row, text);
        cli_table_cell(table, "%s", text);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    print_lonely(json_object_get(document, "only_in_a"), "A");
    print_lonely(json_object_get(document, "only_in_b"), "B");
    putchar('\n');
    if (json_is_true(json_object_get(document, "same_binary")))
        printf("A and B are the same binary.\n");
    printf("%s\n", caution);
}

/* ---- Markdown --------------------------------------------------------------------------------- */

/* A bar would end the cell. */
static void put_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    for (; text && *text; text++) {
        if (strchr("|\\`<", *text))
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc(' ', out);
}

static void put_time(FILE *out, const json_t *side)
{
    struct cli_table *one = cli_table_create("<x");
    char *text = NULL;
    size_t nbytes = 0;
    FILE *memory = open_memstream(&text, &nbytes);
    print_side(one, side);
    if (memory) {
        cli_table_print(one, memory);
        fclose(memory);
    }
    char *cell = text ? strchr(text, '\n') : NULL; /* behind the heading */
    if (cell) {
        cell[1 + strcspn(cell + 1, "\n")] = 0;
        put_cell(out, cell + 1);
    }
    free(text);
    cli_table_destroy(one);
}

static void write_markdown(FILE *out, const json_t *document)
{
    char text[256];
    const json_t *row;
    size_t i;
    run_words(json_object_get(document, "a"), text);
    fprintf(out, "A: `%s`  \n", text);
    run_words(json_object_get(document, "b"), text);
    fprintf(out, "B: `%s`\n\n", text);
    fprintf(out, "| case | A, median [95 %%] | B, median [95 %%] | B / A [95 %%] | |\n"
                 "| :-- | --: | --: | --: | :-- |\n");
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        char ratio[64];
        put_cell(out, row_text(row, "label"));
        put_time(out, json_object_get(row, "a"));
        put_time(out, json_object_get(row, "b"));
        ratio_words(row, ratio);
        put_cell(out, ratio);
        remark(row, text);
        put_cell(out, text);
        fputs("|\n", out);
    }
    static const char *const sides[] = {"only_in_a", "only_in_b"};
    for (int s = 0; s < 2; s++) {
        json_array_foreach(json_object_get(document, sides[s]), i, row)
        {
            char *differs = difference_words(row);
            fprintf(out, "%sonly in %c: `%s`%s%s\n", i ? "- " : "\n- ", 'A' + s,
                    row_text(row, "label"), differs && *differs ? ": " : "",
                    differs ? differs : "");
            free(differs);
        }
    }
    fprintf(out, "\n%s%s\n",
            json_is_true(json_object_get(document, "same_binary")) ? "A and B are the same binary. "
                                                                   : "",
            caution);
}

/* ---- Command ------------------------------------------------------------------------------------ */

struct arguments {
    const char *db, *runs[2], *output;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE.md", 0, "Write the comparison as Markdown as well ('-': only that)", 1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'o':
        a->output = cli_arg_output(state, "-o", arg);
        size_t n = strlen(arg);
        if (strcmp(arg, "-") != 0 && (n < 4 || strcmp(arg + n - 3, ".md") != 0))
            argp_error(state, "-o: '%s' found, expected a name that ends in .md, or -", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected two runs", arg);
        a->runs[state->arg_num] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->runs[1])
            argp_error(state, "%s found, expected two runs, A and B",
                       a->runs[0] ? "one run" : "no run");
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

static bool write_output(const char *name, const json_t *document, struct rml_error *err)
{
    struct cli_output output;
    if (!cli_output_open(&output, name, err))
        return false;
    write_markdown(output.stream, document);
    return cli_output_commit(&output, err);
}

int results_compare_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "A B",
        .doc = "Compares two runs case by case: the ratio of the medians, B / A, in time, with an "
               "interval. Runs are named as for show; a label means the newest run that has it. "
               "Runs of different hosts, or that share no case because ISA path, model, threads or "
               "work version differ, are refused (exit 6).\v"
               "Example:\n\n"
               "  rml-results compare baseline last -o comparison.md"};
    struct cli_options common;
    struct arguments a = {0};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    if (common.json && a.output && strcmp(a.output, "-") == 0) {
        cli_fail(RML_INVALID_ARGUMENT, NULL, "--json and -o - found, expected one of them");
        return CLI_USAGE;
    }
    struct rml_error err = RML_ERROR_INIT;
    int64_t id_a, id_b;
    bool incomparable = false;
    json_t *document = NULL;
    struct store *store = results_open(a.db, &err);
    if (store && store_find_run(store, a.runs[0], &id_a, &err) &&
        store_find_run(store, a.runs[1], &id_b, &err))
        document = compare_runs(store, id_a, id_b, &incomparable, &err);
    else
        incomparable = err.code == RML_NOT_FOUND; /* no such baseline, or no database at all */
    store_close(store);
    bool ok = document && (!a.output || write_output(a.output, document, &err));
    if (ok && common.json)
        cli_json_print(document, 17);
    else if (ok && !(a.output && strcmp(a.output, "-") == 0))
        print_table(document);
    json_decref(document);
    if (ok)
        return CLI_PASS;
    cli_error(&err);
    return incomparable ? CLI_NO_BASELINE : CLI_ERROR;
}
