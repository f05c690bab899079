/*
 * A job of comparisons for machines that show the results of pipelines: JUnit XML for a test
 * report, Markdown for a job's summary.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/compare_job.h"
#include "tools/cli/output.h"
#include "tools/cli/xml_text.h"

/* ---- JUnit ---------------------------------------------------------------------------------- */

/* "+8.1 % [+7.2 %, +9.0 %], 61 blocks, detects 0.9 %" */
static void judgement_text(const struct judgement *j, char *text, size_t nbytes)
{
    char slowdown[32], lo[32], hi[32], detectable[32];
    compare_percent_text(j->slowdown, true, slowdown);
    compare_percent_text(j->lo, true, lo);
    compare_percent_text(j->hi, true, hi);
    compare_percent_text(j->detectable, false, detectable);
    snprintf(text, nbytes, "%s [%s, %s] at %.5g %%, %zu blocks, detects %s", slowdown, lo, hi,
             100 * j->confidence, j->n, detectable);
}

/* Seconds that the samples of both sides took. */
static double seconds_of(const struct comparison *c)
{
    double ns = 0;
    for (int side = 0; side < N_SIDES; side++)
        for (size_t i = 0; c->rows[side] && i < c->rows[side]->samples.n_samples; i++)
            ns += (double)c->rows[side]->samples.samples[i].wall_ns;
    return ns / 1e9;
}

static void put_element(FILE *out, const char *element, const char *type, const char *message)
{
    fprintf(out, "    <%s type=\"%s\" message=\"", element, type);
    cli_put_xml(out, message);
    fputs("\"/>\n", out);
}

static void put_testcase(FILE *out, const char *suite, const char *name, const struct comparison *c,
                         bool canary_fails)
{
    char figures[256];
    judgement_text(&c->judgement, figures, sizeof figures);
    fputs("  <testcase classname=\"rml-bench.", out);
    cli_put_xml(out, suite);
    fputs("\" name=\"", out);
    cli_put_xml(out, name);
    fprintf(out, "\" time=\"%.3f\">\n", seconds_of(c));
    if (c->state == COMPARISON_SKIPPED)
        fputs("    <skipped message=\"", out), cli_put_xml(out, c->why), fputs("\"/>\n", out);
    else if (c->state != COMPARISON_JUDGED)
        put_element(out, "error", compare_verdict_text(c), c->why);
    else if (canary_fails)
        put_element(out, "failure", "canary", figures);
    else if (c->judgement.verdict == VERDICT_REGRESSION)
        put_element(out, "failure", "regression", figures);
    else if (c->judgement.verdict == VERDICT_INCONCLUSIVE)
        put_element(out, "failure", "inconclusive", figures);
    if (c->state == COMPARISON_JUDGED)
        fprintf(out, "    <system-out>%s: %s</system-out>\n", compare_verdict_text(c), figures);
    fputs("  </testcase>\n", out);
}

bool compare_write_junit(const struct compare_job *job, const char *file, struct rml_error *err)
{
    struct cli_output output;
    if (!cli_output_open(&output, file, err))
        return false;
    size_t n_errors = 0, n_skipped = 0;
    for (size_t i = 0; i < job->n_done; i++) {
        n_errors += job->done[i].state == COMPARISON_FAILED ||
                    job->done[i].state == COMPARISON_INCOMPARABLE;
        n_skipped += job->done[i].state == COMPARISON_SKIPPED;
    }
    bool canary_judged = job->canary.state == COMPARISON_JUDGED;
    FILE *out = output.stream;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"rml-bench %s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "skipped=\"%zu\" time=\"%.3f\">\n",
            job->command, job->n_done + job->canary_done,
            job->outcome.n_regressions + job->outcome.n_inconclusive + compare_canary_fails(job),
            n_errors + (job->canary_done && !canary_judged), n_skipped, job->seconds);
    for (size_t i = 0; i < job->n_done; i++) {
        char name[256];
        compare_case_text(&job->done[i], name, sizeof name);
        put_testcase(out, job->done[i].sides[SIDE_HEAD].spec->what.suite, name, &job->done[i],
                     false);
    }
    if (job->canary_done)
        put_testcase(out, "canary", "base against base", &job->canary, compare_canary_fails(job));
    fputs("</testsuite>\n", out);
    return cli_output_commit(&output, err);
}

/* ---- Markdown ------------------------------------------------------------------------------- */

/* A '|' would end the cell. */
static void put_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    for (const char *c = text; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c == '\n' ? ' ' : *c);
    fputs(" |", out);
}

static void put_line(FILE *out, const char *name, const struct comparison *c, const char *verdict)
{
    char text[8][96] = {"", "-", "-", "-", "-", "-", "-", ""};
    const struct judgement *j = &c->judgement;
    if (c->state == COMPARISON_JUDGED) {
        char lo[32], hi[32];
        compare_time_text(c->rows[SIDE_BASE]->stats.median, text[1]);
        compare_time_text(c->rows[SIDE_HEAD]->stats.median, text[2]);
        compare_percent_text(j->slowdown, true, text[3]);
        compare_percent_text(j->lo, true, lo);
        compare_percent_text(j->hi, true, hi);
        snprintf(text[4], sizeof text[4], "%s to %s", lo, hi);
        compare_percent_text(j->detectable, false, text[5]);
        snprintf(text[6], sizeof text[6], "%zu", j->n);
    }
    fputs("|", out);
    put_cell(out, name);
    for (int i = 1; i < 7; i++)
        put_cell(out, text[i]);
    put_cell(out, verdict);
    fputs("\n", out);
}

bool compare_write_markdown(const struct compare_job *job, const char *file, struct rml_error *err)
{
    struct cli_output output;
    char text[256], verdict[2300];
    if (!cli_output_open(&output, file, err))
        return false;
    FILE *out = output.stream;
    compare_summary(job, text, sizeof text);
    fprintf(out, "### rml-bench %s: %s\n\n", job->command, text);
    fprintf(out,
            "| case | base | head | slowdown | %.5g %% interval | detects | blocks | verdict |\n"
            "|---|--:|--:|--:|:-:|--:|--:|---|\n",
            100 * judge_confidence(job->n_cases));
    for (size_t i = 0; i < job->n_done; i++) {
        const struct comparison *c = &job->done[i];
        bool bad = c->state != COMPARISON_JUDGED || c->judgement.verdict != VERDICT_PASS;
        compare_case_text(c, text, sizeof text);
        snprintf(verdict, sizeof verdict, bad ? "**%s**%s%s%s" : "%s%s%s%s",
                 compare_verdict_text(c), c->why[0] ? ": " : "", c->why,
                 c->outputs_differ ? "; outputs differ" : "");
        put_line(out, text, c, verdict);
    }
    if (job->canary_done) {
        bool holds = job->canary.state == COMPARISON_JUDGED && !compare_canary_fails(job);
        put_line(out, "canary: base against base", &job->canary, holds ? "holds" : "**fails**");
    }
    fprintf(out,
            "\nSlowdown: median over blocks of interleaved runs (ABBA or BAAB). Detects: the least "
            "slowdown that a run as noisy as this one tells from none nine times in ten. "
            "Gate: %.3g %%.\n",
            100 * job->gate);
    return cli_output_commit(&output, err);
}
