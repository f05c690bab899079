/*
 * Comparisons for people and pipelines.
 */
#include "eval/compare_output.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/table.h"
#include "tools/cli/xml_text.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double alpha_of(const struct compare_report *r)
{
    return 1 - r->comparison->confidence;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static void set_real(json_t *object, const char *key, double x)
{
    json_object_set_new(object, key, cli_json_real(x));
}

static json_t *side_json(const json_t *of)
{
    static const char *const keys[] = {"run",   "label",      "model",   "model_sha256", "protocol",
                                       "state", "arithmetic", "k_dtype", "v_dtype",      "isa"};
    json_t *side = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        json_object_set(side, keys[i], json_object_get(of, keys[i]));
    return side;
}

static json_t *task_json(const struct compare_report *r, size_t i)
{
    const struct task_comparison *t = &r->comparison->tasks[i];
    const struct paired_difference *d = &t->difference;
    json_t *json =
        json_pack("{ss sI ss}", "task", t->task, "n", (json_int_t)t->n, "metric", t->metric);
    set_real(json, "a", t->a);
    set_real(json, "b", t->b);
    set_real(json, "difference", d->estimate);
    set_real(json, "stderr", d->standard_error);
    set_real(json, "ci_lo", d->lo);
    set_real(json, "ci_hi", d->hi);
    set_real(json, "confidence", r->comparison->confidence);
    set_real(json, "p_value", d->p_value);
    json_object_set_new(json, "test",
                        json_string(task_comparison_by_mcnemar(t) ? "mcnemar" : "paired-t"));
    set_real(json, "p_holm", t->p_holm);
    json_object_set_new(json, "mcnemar",
                        t->is_binary
                            ? json_pack("{sI sI so}", "n10", (json_int_t)t->n10, "n01",
                                        (json_int_t)t->n01, "p_value", cli_json_real(t->p_mcnemar))
                            : json_null());
    set_real(json, "mde", t->mde);
    set_real(json, "power", r->comparison->power);
    json_object_set_new(json, "n_blocks", json_integer((json_int_t)d->n_blocks));
    set_real(json, "a_ci_lo", t->wilson[0][0]);
    set_real(json, "a_ci_hi", t->wilson[0][1]);
    set_real(json, "b_ci_lo", t->wilson[1][0]);
    set_real(json, "b_ci_hi", t->wilson[1][1]);
    if (t->kind == COMPARE_PERPLEXITY) {
        set_real(json, "ratio", exp(d->estimate));
        set_real(json, "ratio_ci_lo", exp(d->lo));
        set_real(json, "ratio_ci_hi", exp(d->hi));
    }
    json_t *ids = json_array(), *item;
    size_t k;
    json_array_foreach(t->flipped, k, item) json_array_append(ids, json_object_get(item, "id"));
    json_object_set_new(json, "flipped", ids);
    json_object_set(json, "flipped_items", t->flipped);
    json_object_set_new(json, "run_a", side_json(t->of_a));
    json_object_set_new(json, "run_b", side_json(t->of_b));
    if (r->gates) {
        set_real(json, "loss", r->gates[i].loss);
        set_real(json, "loss_lo", r->gates[i].lo);
        set_real(json, "loss_hi", r->gates[i].hi);
        set_real(json, "n_needed", r->gates[i].n_needed);
        json_object_set_new(json, "verdict", json_string(gate_verdict_name(r->gates[i].verdict)));
    }
    return json;
}

json_t *compare_json(const struct compare_report *r)
{
    if (r->comparison->n == 1 && !r->gates)
        return task_json(r, 0);
    json_t *tasks = json_array(), *json = json_object();
    for (size_t i = 0; i < r->comparison->n; i++)
        json_array_append_new(tasks, task_json(r, i));
    if (r->gates) {
        json_object_set_new(json, "verdict", json_string(gate_verdict_name(r->verdict)));
        json_object_set_new(json, "passed", json_boolean(r->verdict == GATE_WITHIN));
        set_real(json, "margin", r->margin);
    }
    json_object_set_new(json, "tasks", tasks);
    return json;
}

/* ---- Words ---------------------------------------------------------------------------------------- */

#define WORDS_NBYTES 160

static void number_words(double x, char words[WORDS_NBYTES])
{
    snprintf(words, WORDS_NBYTES, isnan(x) ? "-" : "%.4g", x);
}

static void interval_words(double lo, double hi, char words[WORDS_NBYTES])
{
    snprintf(words, WORDS_NBYTES, isnan(lo) ? "-" : "%+.4g to %+.4g", lo, hi);
}

/* The verdict is the test's, after Holm's adjustment; the interval, by Student's t for one task, may
 * leave out 0 where that sees nothing, or hold it where that sees something. Then this says why. */
static const char *decided_by(const struct compare_report *r, const struct task_comparison *t)
{
    bool leaves_out_0 = t->difference.lo > 0 || t->difference.hi < 0;
    if (isnan(t->difference.lo) || leaves_out_0 == (t->p_holm < alpha_of(r)))
        return "";
    if (leaves_out_0 == (task_comparison_p(t) < alpha_of(r)))
        return " after Holm's adjustment";
    return " by McNemar's test, which decides";
}

/* What it comes to; "no difference" never stands without what could have been seen. */
static void verdict_words(const struct compare_report *r, size_t i, char words[WORDS_NBYTES])
{
    const struct task_comparison *t = &r->comparison->tasks[i];
    if (r->gates) {
        const struct gate_judgement *g = &r->gates[i];
        if (g->verdict == GATE_INCONCLUSIVE && g->n_needed > (double)t->n)
            snprintf(words, WORDS_NBYTES, "inconclusive; needs some %.0f items", g->n_needed);
        else
            snprintf(words, WORDS_NBYTES, "%s", gate_verdict_name(g->verdict));
    } else if (t->p_holm < alpha_of(r)) {
        bool a_better = (t->difference.estimate > 0) != t->lower_is_better;
        snprintf(words, WORDS_NBYTES, "%s is better%s", a_better ? "a" : "b", decided_by(r, t));
    } else if (!isnan(t->mde)) {
        snprintf(words, WORDS_NBYTES, "no difference seen%s; detectable: %.3g", decided_by(r, t),
                 t->mde);
    } else {
        snprintf(words, WORDS_NBYTES,
                 t->difference.standard_error == 0 ? "no variance between the items"
                                                   : "too few items to tell");
    }
}

static struct cli_table *make_table(const struct compare_report *r)
{
    char words[WORDS_NBYTES];
    struct cli_table *table = cli_table_create(
        r->gates ? "<task|<metric|>n|>a|>b|>loss|<bounds|>margin|<verdict"
                 : "<task|<metric|>n|>a|>b|>a - b|<interval|<test|>p|>p (Holm)|<verdict");
    for (size_t i = 0; i < r->comparison->n; i++) {
        const struct task_comparison *t = &r->comparison->tasks[i];
        cli_table_cell(table, "%s", t->task);
        cli_table_cell(table, "%s", t->kind == COMPARE_PERPLEXITY ? "ln ppl" : t->metric);
        cli_table_cell(table, "%zu", t->n);
        bool ln = t->kind == COMPARE_PERPLEXITY;
        cli_table_cell(table, "%.6g", ln ? log(t->a) : t->a);
        cli_table_cell(table, "%.6g", ln ? log(t->b) : t->b);
        if (r->gates) {
            cli_table_cell(table, "%+.4g", r->gates[i].loss);
            interval_words(r->gates[i].lo, r->gates[i].hi, words);
            cli_table_cell(table, "%s", words);
            cli_table_cell(table, "%.4g", r->margin);
        } else {
            cli_table_cell(table, "%+.4g", t->difference.estimate);
            interval_words(t->difference.lo, t->difference.hi, words);
            cli_table_cell(table, "%s", words);
            cli_table_cell(table, "%s", task_comparison_by_mcnemar(t) ? "McNemar" : "paired t");
            number_words(task_comparison_p(t), words);
            cli_table_cell(table, "%s", words);
            number_words(t->p_holm, words);
            cli_table_cell(table, "%s", words);
        }
        verdict_words(r, i, words);
        cli_table_cell(table, "%s", words);
    }
    return table;
}

/* "3545059d hf-text f32/f32:f32"; of another program's run only what is known. */
static void side_words(const json_t *of, char *words, size_t nbytes)
{
    const char *model = text_of(of, "model"), *label = text_of(of, "label");
    const char *arithmetic = text_of(of, "arithmetic");
    char settings[64] = "";
    if (*arithmetic)
        snprintf(settings, sizeof settings, " %.16s/%.16s:%.16s", arithmetic,
                 text_of(of, "k_dtype"), text_of(of, "v_dtype"));
    snprintf(words, nbytes, "%.8s%s%s%s%s%s%s", text_of(of, "run"), *model ? " " : "", model,
             *label ? " " : "", label, settings,
             strcmp(text_of(of, "kind"), "import") == 0 ? " (imported)" : "");
}

/* ---- Items that flipped ------------------------------------------------------------------------------ */

/* The end of a text, where the question is, on one line: at most this many bytes. */
#define SHOWN_NBYTES 100

static const char *end_of(const char *text)
{
    size_t n = strlen(text);
    if (n <= SHOWN_NBYTES)
        return text;
    text += n - SHOWN_NBYTES;
    while (((unsigned char)*text & 0xc0) == 0x80) /* not inside a character */
        text++;
    return text;
}

static void add_flipped(struct cli_table *table, const struct task_comparison *t)
{
    size_t k;
    json_t *item;
    json_array_foreach(t->flipped, k, item)
    {
        const json_t *pick = json_object_get(item, "pick"),
                     *other = json_object_get(item, "pick_b");
        const char *text = text_of(item, "text"), *shown = end_of(text);
        char line[SHOWN_NBYTES + 1];
        snprintf(line, sizeof line, "%s", shown);
        for (char *c = line; *c; c++)
            if ((unsigned char)*c < 0x20)
                *c = ' ';
        cli_table_cell(table, "%s", t->task);
        cli_table_cell(table, "%s", text_of(item, "id"));
        cli_table_cell(table, "%s", json_number_value(json_object_get(item, "a")) > 0 ? "a" : "b");
        cli_table_cell(table, "%s", text_of(item, "gold"));
        if (json_is_number(pick) && json_is_number(other))
            cli_table_cell(table, "%.0f, %.0f", json_number_value(pick), json_number_value(other));
        else
            cli_table_cell(table, "-");
        cli_table_cell(table, "%s%s", shown == text ? "" : "...", line);
    }
}

/* NULL when none has flipped. */
static struct cli_table *flipped_table(const struct compare_report *r, size_t *n)
{
    struct cli_table *table = cli_table_create("<task|<item|<right in|<gold|<picks a, b|<text");
    *n = 0;
    for (size_t i = 0; i < r->comparison->n; i++) {
        add_flipped(table, &r->comparison->tasks[i]);
        *n += json_array_size(r->comparison->tasks[i].flipped);
    }
    if (*n > 0)
        return table;
    cli_table_destroy(table);
    return NULL;
}

void compare_print(const struct compare_report *r)
{
    char a[512], b[512];
    size_t n_flipped;
    side_words(r->comparison->tasks[0].of_a, a, sizeof a);
    side_words(r->comparison->tasks[0].of_b, b, sizeof b);
    printf("a  %s\nb  %s\n\n", a, b);
    struct cli_table *table = make_table(r);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    table = flipped_table(r, &n_flipped);
    if (table) {
        printf("\nitems that flipped: %zu\n", n_flipped);
        cli_table_print(table, stdout);
        cli_table_destroy(table);
    }
}

/* ---- Markdown and JUnit --------------------------------------------------------------------------------- */

/* By what the verdicts come about. */
static void write_footnote(const struct compare_report *r, FILE *out)
{
    if (r->gates)
        fprintf(
            out,
            "\nPaired by item. The bounds of the loss decide: within when the upper one is "
            "below the margin, worse when the lower one is above it, else inconclusive. Each is "
            "one-sided, with a confidence of %.4g%s.\n",
            1 - alpha_of(r) / 2,
            r->comparison->n > 1 ? "; of the lower ones, of all tasks together" : "");
    else
        fprintf(out,
                "\nPaired by item. The test decides; the interval is that of the paired t test. "
                "Detectable: the least difference that a test at the level %.4g finds "
                "with probability %.4g.\n",
                alpha_of(r), r->comparison->power);
}

bool compare_write_markdown(const struct compare_report *r, const char *file, struct rml_error *err)
{
    struct cli_output output;
    char a[512], b[512];
    size_t n_flipped;
    if (!cli_output_open(&output, file, err))
        return false;
    side_words(r->comparison->tasks[0].of_a, a, sizeof a);
    side_words(r->comparison->tasks[0].of_b, b, sizeof b);
    if (r->gates)
        fprintf(output.stream, "### rml-eval gate: %s (margin %.4g)\n\n",
                gate_verdict_name(r->verdict), r->margin);
    else
        fprintf(output.stream, "### rml-eval compare\n\n");
    fprintf(output.stream, "- a: `%s`\n- b: `%s`\n\n", a, b);
    struct cli_table *table = make_table(r);
    cli_table_print_markdown(table, output.stream);
    cli_table_destroy(table);
    write_footnote(r, output.stream);
    table = flipped_table(r, &n_flipped);
    if (table) {
        fprintf(output.stream, "\n<details><summary>items that flipped: %zu</summary>\n\n",
                n_flipped);
        cli_table_print_markdown(table, output.stream);
        fputs("\n</details>\n", output.stream);
        cli_table_destroy(table);
    }
    return cli_output_commit(&output, err);
}

static void put_testcase(FILE *out, const struct compare_report *r, size_t i)
{
    const struct task_comparison *t = &r->comparison->tasks[i];
    char figures[512], bounds[WORDS_NBYTES], verdict[WORDS_NBYTES];
    verdict_words(r, i, verdict);
    if (r->gates)
        interval_words(r->gates[i].lo, r->gates[i].hi, bounds);
    else
        interval_words(t->difference.lo, t->difference.hi, bounds);
    snprintf(figures, sizeof figures, "%s: a %.6g, b %.6g, %s %+.4g (%s), n %zu", verdict, t->a,
             t->b, r->gates ? "loss" : "a - b",
             r->gates ? r->gates[i].loss : t->difference.estimate, bounds, t->n);
    fputs("  <testcase classname=\"rml-eval.", out);
    cli_put_xml(out, t->task);
    fputs("\" name=\"", out);
    cli_put_xml(out, t->metric);
    fputs("\">\n", out);
    if (r->gates && r->gates[i].verdict != GATE_WITHIN) {
        fprintf(out, "    <failure type=\"%s\" message=\"", gate_verdict_name(r->gates[i].verdict));
        cli_put_xml(out, figures);
        fputs("\"/>\n", out);
    }
    fputs("    <system-out>", out);
    cli_put_xml(out, figures);
    fputs("</system-out>\n  </testcase>\n", out);
}

bool compare_write_junit(const struct compare_report *r, const char *file, struct rml_error *err)
{
    struct cli_output output;
    if (!cli_output_open(&output, file, err))
        return false;
    size_t n_failures = 0;
    for (size_t i = 0; r->gates && i < r->comparison->n; i++)
        n_failures += r->gates[i].verdict != GATE_WITHIN;
    fprintf(output.stream,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"rml-eval %s\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
            r->gates ? "gate" : "compare", r->comparison->n, n_failures);
    for (size_t i = 0; i < r->comparison->n; i++)
        put_testcase(output.stream, r, i);
    fputs("</testsuite>\n", output.stream);
    return cli_output_commit(&output, err);
}
