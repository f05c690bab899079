/*
 * rml-results prune: deletes old runs. Without --yes it only tells what would go.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "results/commands.h"
#include "results/figures.h"
#include "results/prune.h"
#include "results/result_rows.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    const char *db;
    bool yes, ruled;
    struct prune_rules rules;
};

static void print_plan(const json_t *plan, const struct prune_kept *kept, bool yes)
{
    struct cli_table *table =
        cli_table_create("<run|<started|<kind|<state|>results|>samples|<label");
    const json_t *row;
    size_t i;
    json_array_foreach(plan, i, row)
    {
        char start[32];
        utc_text(json_integer_value(json_object_get(row, "start_ns")), start);
        cli_table_cell(table, "%.8s", row_text(row, "run"));
        cell_text(table, start);
        cell_text(table, row_text(row, "kind"));
        cell_text(table, row_text(row, "state"));
        cell_whole(table, row_real(row, "n_results"));
        cell_whole(table, row_real(row, "n_samples"));
        cell_text(table, row_text(row, "label"));
    }
    if (i > 0)
        cli_table_print(table, stdout);
    cli_table_destroy(table);
    printf("%zu run%s %s\n", i, cli_plural(i), yes ? "deleted" : "would go; --yes deletes them");
    if (kept->running)
        printf("kept: %" PRId64 " that may be going on\n", kept->running);
    if (kept->last)
        printf("kept: %" PRId64 " among the last of a case\n", kept->last);
    if (kept->annotated)
        printf("kept: %" PRId64 " of commits that are annotated (--annotated)\n", kept->annotated);
    if (kept->referenced)
        printf("kept: %" PRId64 " that verdicts of other runs rest on (--referenced)\n",
               kept->referenced);
}

static json_t *plan_json(const json_t *plan, const struct prune_kept *kept, bool yes)
{
    return json_pack("{sb sO s{sI sI sI sI}}", "deleted", yes, "runs", plan, "kept", "running",
                     (json_int_t)kept->running, "last", (json_int_t)kept->last, "annotated",
                     (json_int_t)kept->annotated, "referenced", (json_int_t)kept->referenced);
}

/* Plan and deletion are one transaction; the space is given back afterwards. */
static json_t *prune(struct store *store, const struct arguments *a, struct prune_kept *kept,
                     struct rml_error *err)
{
    if (!a->yes)
        return prune_plan(store, &a->rules, kept, err);
    if (!store_begin(store, "pruning", err))
        return NULL;
    json_t *plan = prune_plan(store, &a->rules, kept, err);
    bool ok = store_end(store, plan && prune_delete(store, plan, err), "pruning", err);
    ok = ok && (json_array_size(plan) == 0 ||
                store_execute(store, "VACUUM", "giving space back after pruning", err));
    if (ok)
        return plan;
    json_decref(plan);
    return NULL;
}

enum { KEY_KEEP_LAST = CLI_OWN_KEY, KEY_ANNOTATED, KEY_REFERENCED, KEY_YES };

static const struct argp_option options[] = {
    {"keep-last", KEY_KEEP_LAST, "N", 0, "Keep the last N results of each case on each machine", 1},
    {"annotated", KEY_ANNOTATED, NULL, 0, "Also runs of commits that an annotation names", 1},
    {"referenced", KEY_REFERENCED, NULL, 0,
     "Also runs that a verdict of another run rests on; it goes with them", 1},
    {"yes", KEY_YES, NULL, 0, "Delete (otherwise it is only told what would go)", 1},
    RUN_FILTER_OPTIONS,
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_KEEP_LAST:
        a->rules.keep_last = (int64_t)cli_arg_u64(state, "--keep-last", arg, 1, INT32_MAX);
        a->ruled = true;
        return 0;
    case KEY_ANNOTATED:
        a->rules.annotated = true;
        return 0;
    case KEY_REFERENCED:
        a->rules.referenced = true;
        return 0;
    case KEY_YES:
        a->yes = true;
        return 0;
    case ARGP_KEY_END:
        if (!a->ruled)
            argp_error(state, "no rule found, expected --before, --keep-last, --state, --label, "
                              "--kind or --since");
        return 0;
    default:
        if (run_filter_parse(key, arg, state, &a->rules.filter) != 0)
            return results_parse_db(key, arg, state, &a->db);
        a->ruled = true;
        return 0;
    }
}

int results_prune_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Deletes the runs that pass every filter, with all that hangs on them, and gives "
               "the space back. Without --yes nothing is changed. Runs that may still be going on, "
               "runs of annotated commits and runs that verdicts of others rest on stay.\v"
               "Example: of what is older than 90 days, the last 10 results of each case stay:\n\n"
               "  rml-results prune --before 90d --keep-last 10 --yes"};
    struct cli_options common;
    struct arguments a = {.rules = {.filter = RUN_FILTER_ALL, .keep_last = -1}};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct prune_kept kept = {0};
    struct store *store = a.yes ? results_open_writable(a.db, &err) : results_open(a.db, &err);
    json_t *plan = store ? prune(store, &a, &kept, &err) : NULL;
    store_close(store);
    if (!plan)
        return cli_error(&err);
    if (common.json) {
        json_t *document = plan_json(plan, &kept, a.yes);
        cli_json_print(document, 17);
        json_decref(document);
    } else {
        print_plan(plan, &kept, a.yes);
    }
    json_decref(plan);
    return CLI_PASS;
}
