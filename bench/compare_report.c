/*
 * A job of comparisons as a table for people and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare_job.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

/* ---- Texts ---------------------------------------------------------------------------------- */

void compare_case_text(const struct comparison *c, char *text, size_t nbytes)
{
    bench_spec_describe_pair(c->sides[SIDE_BASE].spec, c->sides[SIDE_HEAD].spec, text, nbytes);
}

const char *compare_verdict_text(const struct comparison *c)
{
    switch (c->state) {
    case COMPARISON_JUDGED:
        return verdict_name(c->judgement.verdict);
    case COMPARISON_SKIPPED:
        return "skipped";
    case COMPARISON_INCOMPARABLE:
        return "incomparable";
    default:
        return "error";
    }
}

bool compare_canary_fails(const struct compare_job *job)
{
    return job->canary_done && job->canary.state == COMPARISON_JUDGED &&
           judge_canary_fails(&job->canary.judgement, job->gate);
}

void compare_time_text(double ns, char text[32])
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t u = 0;
    if (isnan(ns)) {
        snprintf(text, 32, "-");
        return;
    }
    while (u < 3 && ns < units[u].ns)
        u++;
    double x = ns / units[u].ns;
    snprintf(text, 32, "%.*f %s", x < 10 ? 2 : x < 100 ? 1 : 0, x, units[u].unit);
}

void compare_percent_text(double fraction, bool sign, char text[32])
{
    if (isnan(fraction))
        snprintf(text, 32, "-");
    else
        snprintf(text, 32, sign ? "%+.1f %%" : "%.1f %%", 100 * fraction);
}

void compare_summary(const struct compare_job *job, char *text, size_t nbytes)
{
    size_t n_failed = 0, n_incomparable = 0, n_warned = 0;
    for (size_t i = 0; i < job->n_done; i++) {
        const struct comparison *c = &job->done[i];
        n_failed += c->state == COMPARISON_FAILED;
        n_incomparable += c->state == COMPARISON_INCOMPARABLE;
        n_warned += c->state == COMPARISON_JUDGED && c->judgement.verdict == VERDICT_WARN;
    }
    const struct judge_job *o = &job->outcome;
    char of[32];
    snprintf(of, sizeof of, "%zu case%s", job->n_cases, cli_plural(job->n_cases));
    if (job->interrupted)
        snprintf(text, nbytes, "interrupted after %zu of %s", job->n_done, of);
    else if (o->error)
        snprintf(text, nbytes, "error: %zu of %s could not be measured", n_failed, of);
    else if (o->incomparable)
        snprintf(text, nbytes, "incomparable: %zu of %s", n_incomparable, of);
    else if (o->canary_fails)
        snprintf(text, nbytes, "inconclusive: the base seems to differ from itself");
    else if (o->n_regressions > 0)
        snprintf(text, nbytes, "regression: %zu of %s", o->n_regressions, of);
    else if (o->n_inconclusive > 0)
        snprintf(text, nbytes, "inconclusive: %zu of %s too noisy", o->n_inconclusive, of);
    else if (n_warned > 0)
        snprintf(text, nbytes, "pass: %zu of %s slower by less than the gate of %.3g %%", n_warned,
                 of, 100 * job->gate);
    else
        snprintf(text, nbytes, "pass: no slowdown of %.3g %% or more", 100 * job->gate);
}

/* ---- The table ------------------------------------------------------------------------------ */

static enum cli_color color_of(const struct comparison *c)
{
    if (c->state == COMPARISON_FAILED || c->state == COMPARISON_INCOMPARABLE)
        return CLI_RED;
    if (c->state == COMPARISON_SKIPPED)
        return CLI_PLAIN;
    switch (c->judgement.verdict) {
    case VERDICT_PASS:
        return CLI_GREEN;
    case VERDICT_REGRESSION:
        return CLI_RED;
    default:
        return CLI_YELLOW;
    }
}

static void put_row(struct cli_table *table, const struct comparison *c, const char *name,
                    const char *verdict, enum cli_color color)
{
    const struct judgement *j = &c->judgement;
    char text[32], lo[32], hi[32];
    cli_table_cell(table, "%s", name);
    if (c->state != COMPARISON_JUDGED) {
        for (int i = 0; i < 6; i++)
            cli_table_cell(table, "-");
    } else {
        for (int side = 0; side < N_SIDES; side++) {
            compare_time_text(c->rows[side]->stats.median, text);
            cli_table_cell(table, "%s", text);
        }
        compare_percent_text(j->slowdown, true, text);
        cli_table_cell(table, "%s", text);
        compare_percent_text(j->lo, true, lo);
        compare_percent_text(j->hi, true, hi);
        cli_table_cell(table, "[%s, %s]", lo, hi);
        compare_percent_text(j->detectable, false, text);
        cli_table_cell(table, "%s", text);
        cli_table_cell(table, "%zu", j->n);
    }
    cli_table_cell(table, "%s", verdict);
    cli_table_color(table, color);
}

/* What the two sides are. */
static void print_sides(const struct compare_job *job)
{
    static const char *const names[N_SIDES] = {"base", "head"};
    for (int side = 0; side < N_SIDES; side++) {
        const struct bench_row *row = NULL;
        for (size_t i = 0; i < job->n_done && !row; i++)
            row = job->done[i].rows[side];
        printf("%s: %s", names[side],
               job->programs[side] ? job->programs[side] : job->settings[side]);
        if (job->programs[side] && row)
            printf(" (%s)", row->engine_version);
        putchar('\n');
    }
    putchar('\n');
}

void compare_print(const struct compare_job *job)
{
    char headings[160], text[256];
    print_sides(job);
    snprintf(headings, sizeof headings,
             "<case|>base|>head|>slowdown|<%.5g %% interval|>detects|>blocks|<verdict",
             100 * judge_confidence(job->n_cases));
    struct cli_table *table = cli_table_create(headings);
    for (size_t i = 0; i < job->n_done; i++) {
        compare_case_text(&job->done[i], text, sizeof text);
        put_row(table, &job->done[i], text, compare_verdict_text(&job->done[i]),
                color_of(&job->done[i]));
    }
    if (job->canary_done) {
        bool fails = compare_canary_fails(job) || job->canary.state != COMPARISON_JUDGED;
        put_row(table, &job->canary, "canary: base against base", fails ? "fails" : "holds",
                fails ? CLI_RED : CLI_GREEN);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    putchar('\n');
    for (size_t i = 0; i < job->n_done; i++) {
        const struct comparison *c = &job->done[i];
        compare_case_text(c, text, sizeof text);
        if (c->state != COMPARISON_JUDGED)
            printf("%s: %s\n", text, c->why);
        else if (c->outputs_differ)
            printf("%s: base and head do not compute the same\n", text);
    }
    compare_summary(job, text, sizeof text);
    printf("%s (%.0f s)\n", text, job->seconds);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *side_json(const struct comparison *c, int side)
{
    const struct bench_row *row = c->rows[side];
    char *key = bench_spec_key(c->sides[side].spec);
    json_t *object = json_pack("{so so so so so so}", "case_key", cli_json_text(key),
                               "engine_version", cli_json_text(row ? row->engine_version : NULL),
                               "isa", cli_json_text(row ? row->what.isa : NULL), "median_ns",
                               cli_json_real(row ? row->stats.median : NAN), "ci_lo_ns",
                               cli_json_real(row ? row->stats.ci_lo : NAN), "ci_hi_ns",
                               cli_json_real(row ? row->stats.ci_hi : NAN));
    free(key);
    return object;
}

static json_t *comparison_json(const struct compare_job *job, const struct comparison *c)
{
    const struct judgement *j = &c->judgement;
    bool judged = c->state == COMPARISON_JUDGED;
    char text[256];
    compare_case_text(c, text, sizeof text);
    return json_pack("{ss ss so so so so so so so sf so so so}", "name", text, "verdict",
                     compare_verdict_text(c), "reason", cli_json_text(judged ? NULL : c->why),
                     "n_blocks", judged ? json_integer((json_int_t)j->n) : json_null(), "slowdown",
                     cli_json_real(judged ? j->slowdown : NAN), "ci_lo",
                     cli_json_real(judged ? j->lo : NAN), "ci_hi",
                     cli_json_real(judged ? j->hi : NAN), "confidence",
                     cli_json_real(judged ? j->confidence : NAN), "detectable",
                     cli_json_real(judged ? j->detectable : NAN), "gate", job->gate,
                     "outputs_differ", judged ? json_boolean(c->outputs_differ) : json_null(),
                     "base", side_json(c, SIDE_BASE), "head", side_json(c, SIDE_HEAD));
}

json_t *compare_json(const struct compare_job *job, struct rml_error *err)
{
    json_t *host = store_host_json(err), *build = store_build_json(err), *cases = json_array();
    char summary[256];
    compare_summary(job, summary, sizeof summary);
    for (size_t i = 0; cases && i < job->n_done; i++)
        json_array_append_new(cases, comparison_json(job, &job->done[i]));
    json_t *canary = job->canary_done ? comparison_json(job, &job->canary) : json_null();
    if (job->canary_done)
        json_object_set_new(
            canary, "holds",
            json_boolean(job->canary.state == COMPARISON_JUDGED && !compare_canary_fails(job)));
    json_t *document = json_pack(
        "{ss si ss so so so so sI sf so so}", "command", job->command, "exit_code", job->exit_code,
        "summary", summary, "base_program", cli_json_text(job->programs[SIDE_BASE]), "head_program",
        cli_json_text(job->programs[SIDE_HEAD]), "base_settings",
        cli_json_text(job->settings[SIDE_BASE]), "head_settings",
        cli_json_text(job->settings[SIDE_HEAD]), "n_cases", (json_int_t)job->n_cases, "seconds",
        job->seconds, "canary", canary, "cases", cases);
    if (document && host && build) {
        json_object_set(document, "host", host);
        json_object_set(document, "build", build);
    }
    json_decref(host);
    json_decref(build);
    if (!document)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the JSON document");
    return document;
}
