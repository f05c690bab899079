/*
 * rml-eval compare and rml-eval gate: two runs on the same items. One tells what differs, the
 * other whether a pipeline may go on.
 */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/compare_keep.h"
#include "eval/eval_commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    struct cli_options options;
    const char *runs[2];
    const char *metric, *markdown, *junit;
    bool is_gate;
    double margin; /* of a gate */
    double confidence, power;
};

enum { KEY_METRIC = CLI_OWN_KEY, KEY_CONFIDENCE, KEY_POWER, KEY_MARKDOWN, KEY_JUNIT, KEY_MARGIN };

#define COMMON_OPTIONS                                                                             \
    {"metric",                                                                                     \
     KEY_METRIC,                                                                                   \
     "NAME",                                                                                       \
     0,                                                                                            \
     "Figure of quality that is compared: acc, acc_norm, acc_bytes, acc_token, exact_match, ppl, " \
     "bits_per_byte, or one that an import has (acc or exact_match; of texts ppl, and in "         \
     "lm-eval's protocol bits_per_byte)",                                                          \
     1},                                                                                           \
        {"power",                                                                                  \
         KEY_POWER,                                                                                \
         "P",                                                                                      \
         0,                                                                                        \
         "Probability with which the detectable difference is found (0.8)",                        \
         1},                                                                                       \
        {"markdown", KEY_MARKDOWN, "FILE", 0, "Write a report in Markdown", 2},                    \
    {                                                                                              \
        "junit", KEY_JUNIT, "FILE", 0, "Write a report in JUnit's XML", 2                          \
    }

static const struct argp_option compare_table[] = {
    COMMON_OPTIONS,
    {"confidence", KEY_CONFIDENCE, "P", 0, "Of the intervals, and 1 - P the level of tests (0.95)",
     1},
    {0},
};

static const struct argp_option gate_table[] = {
    {"margin", KEY_MARGIN, "M", 0,
     "Needed: the loss that is allowed, of accuracies in their unit (0.01 is one point), of "
     "perplexities ln(PPL_b / PPL_a) (0.01 is one percent), of bits per byte in bits",
     0},
    COMMON_OPTIONS,
    {"confidence", KEY_CONFIDENCE, "P", 0, "One-sided, of the loss's bound (0.95)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_METRIC:
        a->metric = arg;
        return 0;
    case KEY_CONFIDENCE:
        a->confidence = cli_arg_f64(state, "--confidence", arg, 0.5, 0.999999);
        return 0;
    case KEY_POWER:
        a->power = cli_arg_f64(state, "--power", arg, 0.5, 0.999999);
        return 0;
    case KEY_MARGIN:
        a->margin = cli_arg_f64(state, "--margin", arg, 1e-12, 1e6);
        return 0;
    case KEY_MARKDOWN:
        a->markdown = cli_arg_output(state, "--markdown", arg);
        return 0;
    case KEY_JUNIT:
        a->junit = cli_arg_output(state, "--junit", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected two runs", arg);
        a->runs[state->arg_num] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->runs[1])
            argp_error(state, "expected two runs: ids, starts of uuids, labels or last");
        if (a->is_gate && !(a->margin > 0))
            argp_error(state, "expected --margin M");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Standard output is wanted once. */
static bool to_stdout(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

static bool report_all(const struct arguments *a, const struct compare_report *report,
                       struct rml_error *err)
{
    if (a->options.json) {
        json_t *json = compare_json(report);
        cli_json_print(json, 17);
        json_decref(json);
    } else if (!to_stdout(a->markdown) && !to_stdout(a->junit)) {
        compare_print(report);
    }
    return (!a->markdown || compare_write_markdown(report, a->markdown, err)) &&
           (!a->junit || compare_write_junit(report, a->junit, err));
}

static struct gate_judgement *judge_all(const struct arguments *a, struct compare_report *report,
                                        struct rml_error *err)
{
    const struct run_comparison *c = report->comparison;
    struct gate_judgement *gates = calloc(c->n + 1, sizeof *gates);
    if (!gates) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to judge");
        return NULL;
    }
    for (size_t i = 0; i < c->n; i++) {
        gates[i] = gate_judge(&c->tasks[i], a->margin, 1 - a->confidence, a->power, c->n);
        if (gates[i].verdict > report->verdict)
            report->verdict = gates[i].verdict;
    }
    report->gates = gates;
    report->margin = a->margin;
    return gates;
}

/* The verdict is kept with the runs where that can be; a database that is read-only can still be
 * asked. One that is not there has no baseline. */
static struct store *open_store(const struct arguments *a, bool *keeps, bool *incomparable,
                                struct rml_error *err)
{
    char path[PATH_MAX];
    if (!store_path(a->options.db, path, sizeof path, err))
        return NULL;
    *keeps = access(path, W_OK) == 0;
    struct store *store = store_open(path, *keeps ? STORE_WRITE : STORE_READ, err);
    *incomparable = !store && err->code == RML_NOT_FOUND;
    return store;
}

static int run(const struct arguments *a)
{
    static const int codes[] = {CLI_PASS, CLI_INCONCLUSIVE, CLI_MISMATCH};
    struct rml_error err = RML_ERROR_INIT;
    struct run_comparison comparison = {0};
    struct gate_judgement *gates = NULL;
    bool incomparable = false;
    bool keeps = false;
    /* The gate's bound is one-sided: the interval beside it is the two-sided one that ends there. */
    double confidence = a->is_gate ? 2 * a->confidence - 1 : a->confidence;
    struct store *store = open_store(a, &keeps, &incomparable, &err);
    bool ok = store && run_comparison_init(&comparison, store, a->runs[0], a->runs[1], a->metric,
                                           confidence, a->power, &incomparable, &err);
    struct compare_report report = {.comparison = &comparison, .verdict = GATE_WITHIN};
    if (ok && a->is_gate)
        ok = (gates = judge_all(a, &report, &err)) != NULL;
    if (ok && keeps)
        ok = compare_keep(&report, store, &err);
    else if (ok)
        cli_note("the database cannot be written: the verdict is not kept in it");
    ok = ok && report_all(a, &report, &err);
    int code = ok ? codes[report.verdict] : cli_error(&err);
    free(gates);
    run_comparison_release(&comparison);
    store_close(store);
    return incomparable ? CLI_NO_BASELINE : code;
}

static int command_main(const struct argp *argp, struct arguments *a, int argc, char **argv)
{
    cli_parse(&a->options, CLI_OPT_DB_FILE | CLI_OPT_JSON, argp, argc, argv, a);
    if (to_stdout(a->markdown) + to_stdout(a->junit) + a->options.json > 1) {
        cli_fail(RML_INVALID_ARGUMENT, NULL,
                 "standard output is asked for by more than one of --json, --markdown and "
                 "--junit, expected one");
        return CLI_USAGE;
    }
    return run(a);
}

int eval_compare_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = compare_table,
        .parser = parse,
        .args_doc = "A B",
        .doc = "Compares two runs on the same items, paired by item: the difference a - b with its "
               "interval and p-value, McNemar's exact test of what is right or wrong, Holm's "
               "adjustment over several tasks, the least difference that could have been seen, "
               "and the items that flipped. The verdict is the test's: McNemar's for independent "
               "items that are right or wrong, else the paired t test's, whose interval is the one "
               "shown. Of perplexities the difference is ln(PPL_a / PPL_b). "
               "Runs whose items, protocol or settings differ are refused (exit code 6).\n\n"
               "A run is an id, the start of a uuid, a label, or last. Runs of other programs "
               "come in by rml-eval import.\v"
               "Example:\n\n"
               "  rml-eval choices a.gguf questions.jsonl\n"
               "  rml-eval choices b.gguf questions.jsonl\n"
               "  rml-eval compare 1 2 --markdown report.md"};
    struct arguments a = {.confidence = 0.95, .power = 0.8};
    return command_main(&argp, &a, argc, argv);
}

int eval_gate_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = gate_table,
        .parser = parse,
        .args_doc = "A B",
        .doc = "Is B not worse than A by more than a margin? The upper bound of the loss must lie "
               "below it; that no difference was seen is never enough.\n\n"
               "Exit code: 0 within the margin, 4 worse, 5 inconclusive, 6 a run is missing or "
               "the two cannot be compared, 1 error.\v"
               "Example: may the quantised checkpoint lose one point of accuracy?\n\n"
               "  rml-eval gate original quantised --margin 0.01 --junit gate.xml"};
    struct arguments a = {.confidence = 0.95, .power = 0.8, .is_gate = true};
    return command_main(&argp, &a, argc, argv);
}
