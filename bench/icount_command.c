/*
 * rml-bench icount: counts, records them, or compares them with a file's or another build's.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/icount.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/output_names.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

struct arguments {
    const char *record, *baseline;
    const char *programs[2];
    unsigned n_programs;
};

enum { KEY_RECORD = CLI_OWN_KEY, KEY_BASELINE };

static const struct argp_option options[] = {
    {"record", KEY_RECORD, "FILE", 0, "Write the counts of this build to FILE", 1},
    {"baseline", KEY_BASELINE, "FILE", 0, "Compare with the counts of FILE", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_RECORD:
        a->record = cli_arg_output(state, "--record", arg);
        return 0;
    case KEY_BASELINE:
        a->baseline = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (a->n_programs == 2)
            return ARGP_ERR_UNKNOWN;
        a->programs[a->n_programs++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n_programs == 1)
            argp_error(state, "'%s' found, expected two programs, BASE and HEAD, or none",
                       a->programs[0]);
        if (a->n_programs + (a->record != NULL) + (a->baseline != NULL) > 1 + (a->n_programs == 2))
            argp_error(state, "expected one of --record, --baseline and two programs");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Reports -------------------------------------------------------------------------------- */

struct comparison_line {
    const char *name;
    int64_t base, head; /* -1: not there */
    bool worse;
};

struct report {
    struct comparison_line lines[2 * ICOUNT_MAX_CASES];
    size_t n, n_worse, n_compared;
};

static double change_of(const struct comparison_line *l)
{
    return l->base > 0 && l->head > 0 ? (double)l->head / (double)l->base - 1 : NAN;
}

/* The head's cases, then those that only the base has. */
static void compare(const struct icounts *base, const struct icounts *head, struct report *r)
{
    *r = (struct report){0};
    for (size_t i = 0; i < head->n; i++) {
        int b = icount_find(base, head->counts[i].name);
        struct comparison_line *l = &r->lines[r->n++];
        *l = (struct comparison_line){head->counts[i].name,
                                      b < 0 ? -1 : base->counts[b].n_instructions,
                                      head->counts[i].n_instructions, false};
        l->worse = change_of(l) >= ICOUNT_GATE;
        r->n_worse += l->worse;
        r->n_compared += b >= 0;
    }
    for (size_t i = 0; i < base->n; i++)
        if (icount_find(head, base->counts[i].name) < 0)
            r->lines[r->n++] = (struct comparison_line){base->counts[i].name,
                                                        base->counts[i].n_instructions, -1, false};
}

static void cell_count(struct cli_table *table, int64_t n)
{
    if (n < 0)
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%" PRId64, n);
}

static const char *verdict_of(const struct comparison_line *l)
{
    if (l->base < 0 || l->head < 0)
        return l->base < 0 ? "only in head" : "only in base";
    return l->worse ? "more" : "ok";
}

static void print_comparison(const struct report *r)
{
    struct cli_table *table = cli_table_create("<case|>base|>head|>change|<verdict");
    for (size_t i = 0; i < r->n; i++) {
        const struct comparison_line *l = &r->lines[i];
        cli_table_cell(table, "%s", l->name);
        cell_count(table, l->base);
        cell_count(table, l->head);
        if (isnan(change_of(l)))
            cli_table_cell(table, "-");
        else
            cli_table_cell(table, "%+.3f %%", 100 * change_of(l));
        cli_table_cell(table, "%s", verdict_of(l));
        cli_table_color(table, l->worse ? CLI_RED : CLI_GREEN);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    printf("\nat least %.3g %% more instructions: %zu of %zu case%s\n", 100 * ICOUNT_GATE,
           r->n_worse, r->n_compared, cli_plural(r->n_compared));
}

static json_t *comparison_json(const struct report *r, int code)
{
    json_t *cases = json_array();
    for (size_t i = 0; i < r->n; i++) {
        const struct comparison_line *l = &r->lines[i];
        json_array_append_new(cases,
                              json_pack("{ss so so so ss}", "name", l->name, "base",
                                        l->base < 0 ? json_null() : json_integer(l->base), "head",
                                        l->head < 0 ? json_null() : json_integer(l->head), "change",
                                        cli_json_real(change_of(l)), "verdict", verdict_of(l)));
    }
    return json_pack("{si sf so}", "exit_code", code, "gate", ICOUNT_GATE, "cases", cases);
}

static void print_counts(const struct icounts *counts)
{
    struct cli_table *table = cli_table_create("<case|>instructions");
    for (size_t i = 0; i < counts->n; i++) {
        cli_table_cell(table, "%s", counts->counts[i].name);
        cli_table_cell(table, "%" PRId64, counts->counts[i].n_instructions);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* ---- The command ---------------------------------------------------------------------------- */

static void print_json(json_t *document)
{
    if (document)
        cli_json_print(document, 17);
    json_decref(document);
}

/* The exit code of a comparison whose two sides are there. */
static int judge_counts(const struct icounts *base, const struct icounts *head, bool from_file,
                        const struct cli_options *common)
{
    const char *field = icount_difference(base, head);
    if (field && from_file) {
        /* Counts of another compiler say nothing about this one: no failure, and no pass. */
        if (common->json)
            print_json(json_pack("{si ss}", "exit_code", CLI_PASS, "skipped", field));
        else
            printf("skipped: the counts on file are of another %s\n", field);
        return CLI_PASS;
    }
    if (field) {
        cli_fail(RML_UNSUPPORTED, NULL, "base and head cannot be compared: the %s differs", field);
        return CLI_NO_BASELINE;
    }
    struct report report;
    compare(base, head, &report);
    int code = report.n_compared == 0 ? CLI_NO_BASELINE
               : report.n_worse > 0   ? CLI_REGRESSION
                                      : CLI_PASS;
    if (common->json)
        print_json(comparison_json(&report, code));
    else
        print_comparison(&report);
    return code;
}

/* An error of the base is the lack of one. */
static int base_error(const struct rml_error *err)
{
    int code = cli_error(err);
    return err->code == RML_UNSUPPORTED || (err->code == RML_NOT_FOUND && err->file[0])
               ? CLI_NO_BASELINE
               : code;
}

static int run(const struct arguments *a, const struct cli_options *common)
{
    struct rml_error err = RML_ERROR_INIT;
    struct icounts base, head;
    if (a->baseline && !icount_read(a->baseline, &base, &err))
        return base_error(&err);
    if (a->n_programs == 2 && !icount_run(a->programs[0], &base, &err))
        return err.code == RML_CANCELLED ? cli_interrupted_code() : base_error(&err);
    if (!icount_run(a->n_programs == 2 ? a->programs[1] : NULL, &head, &err))
        return err.code == RML_CANCELLED ? cli_interrupted_code() : cli_error(&err);
    if (a->baseline || a->n_programs == 2)
        return judge_counts(&base, &head, a->baseline != NULL, common);
    if (a->record && !icount_write(a->record, &head, &err))
        return cli_error(&err);
    if (common->json)
        print_json(icount_to_json(&head));
    else if (!a->record)
        print_counts(&head);
    return CLI_PASS;
}

static const char doc[] =
    "Counts the instructions that a dozen kernels execute, by valgrind: on one thread, with fixed "
    "operands, an empty environment and AVX2 at most, the same number each time on the noisiest "
    "machine. Compared with the counts of FILE (only when compiler, its flags, C library and "
    "instruction set are those of the file; else one line says 'skipped') or of another build, an "
    "increase of 0.5 % fails.\v"
    "Exit code: 0 pass or skipped, 1 error, 3 more instructions, 6 no base to compare with.\n\n"
    "Examples: record the counts, compare with them, compare two builds:\n\n"
    "  rml-bench icount --record bench/icount.json\n"
    "  rml-bench icount --baseline bench/icount.json\n"
    "  rml-bench icount old/rml-bench new/rml-bench";

int bench_icount_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[BASE HEAD]", .doc = doc};
    struct arguments a = {0};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);
    return run(&a, &common);
}
