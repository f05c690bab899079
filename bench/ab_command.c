/*
 * rml-bench ab: two programs on the same cases, or two settings of this program.
 *
 *     rml-bench ab [OPTION...] BASE HEAD SUITE [SUITE OPTION...]
 *     rml-bench ab [OPTION...] [SUITE] SUITE OPTION... --vs SUITE OPTION...
 *
 * What stands behind the suite's name is the suite's, so the line is cut before any of it is
 * parsed: at the first word that is neither an option of ours nor BASE or HEAD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare_commands.h"
#include "bench/compare_words.h"
#include "bench/suite.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

/* The parts of the command line; words are argv's. */
struct ab_line {
    char **own; /* options of ours, a command line of its own; [n_own] */
    int n_own;
    const char *programs[N_SIDES];
    int n_programs;
    const struct bench_suite *suite;     /* NULL: none is named */
    struct compare_words words[N_SIDES]; /* of the suite, before and behind --vs */
    bool vs;
};

/* True for an option of ours. Those with an argument in the same word ("--db=x") too. */
static bool is_own(const char *word)
{
    static const char *const flags[] = {"--no-db", "--json",    "-q",     "--quiet",
                                        "-v",      "--verbose", "--help", "-?",
                                        "--usage", "--version", "-V"};
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i]) == 0)
            return true;
    /* Options of every suite are the suite's. */
    return strcmp(name, "--threads") != 0 && strcmp(name, "--kv") != 0 &&
           strcmp(name, "--arithmetic") != 0 && strcmp(name, "--ctx") != 0 &&
           compare_takes_value(name);
}

static bool cut(struct ab_line *line, int argc, char **argv)
{
    *line = (struct ab_line){.own = calloc((size_t)argc + 1, sizeof *line->own)};
    if (!line->own)
        return false;
    line->own[line->n_own++] = argv[0];
    int i = 1;
    for (; i < argc && !line->suite; i++) {
        if (is_own(argv[i])) {
            line->own[line->n_own++] = argv[i];
            if (compare_takes_value(argv[i]) && i + 1 < argc)
                line->own[line->n_own++] = argv[++i];
        } else if (argv[i][0] == '-') {
            break;
        } else {
            line->suite = bench_find_suite(argv[i]);
            if (!line->suite && line->n_programs == N_SIDES)
                break;
            if (!line->suite)
                line->programs[line->n_programs++] = argv[i];
        }
    }
    line->words[SIDE_BASE].words = argv + i;
    for (int side = SIDE_BASE; i < argc; i++) {
        if (strcmp(argv[i], "--vs") == 0 && !line->vs) {
            line->vs = true;
            side = SIDE_HEAD;
            line->words[SIDE_HEAD].words = argv + i + 1;
        } else {
            line->words[side].n++;
        }
    }
    return true;
}

static int misused(const char *what)
{
    fprintf(stderr,
            "rml-bench ab: %s\n"
            "Try `rml-bench ab --help' or `rml-bench ab --usage' for more information.\n",
            what);
    return CLI_USAGE;
}

/* The words of a side in one text, for reports. */
static char *join(const struct bench_suite *suite, const struct compare_words *words)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    if (!out)
        return NULL;
    fputs(suite->name, out);
    for (size_t i = 0; i < words->n; i++)
        fprintf(out, " %s", words->words[i]);
    return fclose(out) == 0 ? text : NULL;
}

static bool make_cases(struct compare_job *job, const struct ab_line *line, struct rml_error *err)
{
    struct bench_plan base, head;
    const struct bench_suite *suite = line->suite ? line->suite : &bench_attention_suite;
    const struct compare_words *words = line->words;
    if (!compare_plan(job->command, suite, &words[SIDE_BASE], NULL, &base, err))
        return false;
    if (!line->vs)
        return compare_job_add(job, &base, NULL, err);
    if (!compare_plan(job->command, suite, &words[SIDE_BASE], &words[SIDE_HEAD], &head, err)) {
        bench_plan_release(&base);
        return false;
    }
    for (int side = 0; side < N_SIDES; side++)
        job->settings[side] = join(suite, &words[side]);
    return compare_job_add(job, &base, &head, err);
}

static const char doc[] =
    "Compares the speed of two builds of rml-bench on the same cases, or of two settings of this "
    "one: runs take turns in blocks (ABBA or BAAB at random), so that what a shared machine does "
    "meanwhile strikes both. 61 blocks a case, up to 201 while the interval is wider than 4 %. "
    "Prints the slowdown of HEAD (or of the settings behind --vs), its interval, and the least "
    "slowdown that could have been detected. Options stand before SUITE; what follows it is read "
    "as by `rml-bench SUITE'. What is not said anew behind --vs is as before it.\v"
    "Exit code: 0 pass, 1 error, 3 regression, 5 inconclusive, 6 the two cannot be compared.\n\n"
    "Examples: a build against another; two cache types; two weight types:\n\n"
    "  rml-bench ab old/rml-bench new/rml-bench attention --depth 512 --threads 1\n"
    "  rml-bench ab attention --depth 512 --kv f16 --vs --kv i8\n"
    "  rml-bench ab --junit ab.xml decoder --weights q8_0 --vs --weights q4_0";

int bench_ab_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = compare_options,
        .parser = compare_parse_option,
        .args_doc = "BASE HEAD SUITE [SUITE-OPTION...]\n[SUITE] SUITE-OPTION... --vs "
                    "SUITE-OPTION...",
        .doc = doc};
    struct compare_job job = {.command = "ab", .gate = JUDGE_GATE};
    struct cli_options options;
    struct ab_line line;
    struct rml_error err = RML_ERROR_INIT;
    if (!cut(&line, argc, argv))
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for options");
    cli_parse(&options, COMPARE_COMMON, &argp, line.n_own, line.own, &job);
    job.options = &options;
    int code = CLI_USAGE;
    if (line.n_programs == 1)
        code = misused("BASE without HEAD, expected two programs and a suite, or settings --vs "
                       "settings");
    else if (line.n_programs == 0 && !line.vs)
        code = misused("nothing to compare with, expected BASE HEAD before the suite, or --vs "
                       "behind its settings");
    else if (line.n_programs == N_SIDES && (line.vs || !line.suite))
        code = misused(line.vs ? "two programs and --vs, expected one of the two"
                               : "no suite found behind BASE and HEAD");
    else if (line.vs && line.words[SIDE_HEAD].n == 0)
        code = misused("nothing found behind --vs, expected the settings that differ");
    else {
        for (int side = 0; side < N_SIDES; side++)
            job.programs[side] = line.programs[side];
        bool made = make_cases(&job, &line, &err);
        cli_report_setup(options.json, options.verbosity); /* reading the suite's words undid it */
        code = made ? compare_job_run(&job) : compare_words_failed(&err);
    }
    compare_job_release(&job);
    free(line.own);
    return code;
}
