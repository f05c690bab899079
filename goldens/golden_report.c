/*
 * Verdicts as tables.
 */
#include "goldens/golden_report.h"

#include <math.h>
#include <string.h>

#include "goldens/golden_text.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

static void cell_error(struct cli_table *table, double error, bool applies)
{
    if (!applies)
        cli_table_cell(table, "-");
    else if (isnan(error))
        cli_table_cell(table, "nan");
    else
        cli_table_cell(table, "%.1e", error);
}

static void cell_text(struct cli_table *table, enum golden_text_state state)
{
    static const char *const words[] = {
        [GOLDEN_NO_TEXT] = "-",
        [GOLDEN_TEXT_EQUAL] = "equal",
        [GOLDEN_TEXT_DIFFERS] = "differs",
        [GOLDEN_TEXT_NOT_COMPARED] = "unknown",
    };
    cli_table_cell(table, "%s", words[state]);
}

/* "8/8": steps compared of steps in the file. */
static void cell_greedy(struct cli_table *table, bool equal, size_t n_compared, size_t n)
{
    if (n == 0)
        cli_table_cell(table, "-");
    else if (!equal)
        cli_table_cell(table, "differs");
    else
        cli_table_cell(table, "%zu/%zu", n_compared, n);
}

static void print_deviation(const struct golden_verdict *v, size_t i, const char *what,
                            const char *text, FILE *stream)
{
    fprintf(stream, "%s%s on %s, case %s: %s: %s%s\n", cli_color(stream, CLI_RED), v->name,
            v->checkpoint, v->case_names[i], what, text, cli_color(stream, CLI_PLAIN));
}

static void print_deviations(const struct golden_verdict *v, FILE *stream)
{
    for (size_t i = 0; i < v->n_done; i++) {
        if (v->outcomes[i].passed)
            continue;
        const struct golden_outcome *o = &v->outcomes[i];
        char text[256];
        if (o->text == GOLDEN_TEXT_DIFFERS) {
            golden_token_deviation_text(&o->token, text, sizeof text);
            print_deviation(v, i, "its text", text, stream);
        }
        golden_deviation_text(&o->first, text, sizeof text);
        if (o->text != GOLDEN_TEXT_DIFFERS || o->first.kind != GOLDEN_NO_DEVIATION)
            print_deviation(v, i, "first deviation", text, stream);
    }
    if (v->status == GOLDEN_OTHER_MODEL)
        fprintf(stream, "%s is about a checkpoint of content %.16s..., %s has %.16s...%s%s\n",
                v->file, v->model_want, v->checkpoint, v->model_got,
                v->error.code == RML_OK ? "" : ", and cannot be compared: ",
                v->error.code == RML_OK ? "" : v->error.message);
}

static void print_settings(const struct golden_verdict *v, FILE *stream)
{
    const struct golden_settings *s = &v->settings;
    if (!v->settings_differ)
        return;
    fprintf(stream,
            "%s: run in %s arithmetic with an %s:%s cache, which the file is not about; "
            "tolerance %g, %s\n",
            v->file, rml_arithmetic_name(s->arithmetic), rml_kv_dtype_name(s->k_dtype),
            rml_kv_dtype_name(s->v_dtype), s->logit_abs,
            s->compare_residual ? "residuals compared" : "residuals not compared");
}

void golden_print_cases(const struct golden_verdict *verdicts, size_t n, FILE *stream)
{
    struct cli_table *table = cli_table_create(
        "<golden|<case|<text|>positions|>max error|>logsumexp|>residual|>greedy|<verdict");
    for (size_t i = 0; i < n; i++) {
        const struct golden_verdict *v = &verdicts[i];
        for (size_t j = 0; j < v->n_done; j++) {
            const struct golden_outcome *o = &v->outcomes[j];
            cli_table_cell(table, "%s", v->name);
            cli_table_cell(table, "%s", v->case_names[j]);
            cell_text(table, o->text);
            cli_table_cell(table, "%zu", o->n_positions);
            cell_error(table, o->max_abs_error, o->n_positions > 0);
            cell_error(table, o->max_logsumexp_error, o->n_positions > 0);
            cell_error(table, o->max_residual_error, o->n_residual > 0);
            cell_greedy(table, o->greedy_equal, o->n_greedy_compared, o->n_greedy);
            cli_table_cell(table, "%s", o->passed ? "pass" : "FAIL");
            cli_table_color(table, o->passed ? CLI_GREEN : CLI_RED);
        }
    }
    cli_table_print(table, stream);
    cli_table_destroy(table);
    for (size_t i = 0; i < n; i++) {
        print_settings(&verdicts[i], stream);
        print_deviations(&verdicts[i], stream);
    }
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void suite_row(struct cli_table *table, const struct golden_verdict *v)
{
    static const struct {
        const char *text;
        enum cli_color color;
    } words[] = {
        [GOLDEN_PASSED] = {"pass", CLI_GREEN},           [GOLDEN_FAILED] = {"FAIL", CLI_RED},
        [GOLDEN_OTHER_MODEL] = {"OTHER MODEL", CLI_RED}, [GOLDEN_BROKEN] = {"ERROR", CLI_RED},
        [GOLDEN_SKIPPED] = {"skipped", CLI_YELLOW},
    };
    struct golden_outcome all = {.greedy_equal = true};
    for (size_t i = 0; i < v->n_done; i++) {
        const struct golden_outcome *o = &v->outcomes[i];
        all.n_positions += o->n_positions;
        if (!(o->max_abs_error <= all.max_abs_error))
            all.max_abs_error = o->max_abs_error;
        if (!(o->max_logsumexp_error <= all.max_logsumexp_error))
            all.max_logsumexp_error = o->max_logsumexp_error;
        all.greedy_equal &= o->greedy_equal;
        all.n_greedy += o->n_greedy;
        all.n_greedy_compared += o->n_greedy_compared;
    }
    cli_table_cell(table, "%s", v->name ? v->name : file_name(v->file));
    cli_table_cell(table, "%s", file_name(v->checkpoint));
    if (v->n_done > 0)
        cli_table_cell(table, "%zu", v->n_done);
    else
        cli_table_cell(table, "-");
    cell_error(table, all.max_abs_error, all.n_positions > 0);
    cell_error(table, all.max_logsumexp_error, all.n_positions > 0);
    cell_greedy(table, all.greedy_equal, all.n_greedy_compared, all.n_greedy);
    cli_table_cell(table, "%s", words[v->status].text);
    cli_table_color(table, words[v->status].color);
}

void golden_print_suite(const struct golden_verdict *verdicts, size_t n, FILE *stream)
{
    struct cli_table *table =
        cli_table_create("<golden|<checkpoint|>cases|>max error|>logsumexp|>greedy|<verdict");
    size_t n_passed = 0, n_skipped = 0;
    for (size_t i = 0; i < n; i++) {
        suite_row(table, &verdicts[i]);
        n_passed += verdicts[i].status == GOLDEN_PASSED;
        n_skipped += verdicts[i].status == GOLDEN_SKIPPED;
    }
    cli_table_print(table, stream);
    cli_table_destroy(table);
    for (size_t i = 0; i < n; i++) {
        print_settings(&verdicts[i], stream);
        print_deviations(&verdicts[i], stream);
        if (verdicts[i].status == GOLDEN_SKIPPED)
            fprintf(stream, "skipped: %s: %s\n", verdicts[i].checkpoint, verdicts[i].error.message);
    }
    fprintf(stream, "%zu passed, %zu failed, %zu skipped\n", n_passed, n - n_passed - n_skipped,
            n_skipped);
}
