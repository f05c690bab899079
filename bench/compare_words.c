#include "bench/compare_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sweep.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

enum { KEY_GATE = CLI_OWN_KEY, KEY_JUNIT, KEY_MARKDOWN };

const struct argp_option compare_options[] = {
    {"gate", KEY_GATE, "PERCENT", 0, "A slowdown from which on it is a regression (5)", 1},
    {"junit", KEY_JUNIT, "FILE", 0, "Write a test report in JUnit's XML", 1},
    {"markdown", KEY_MARKDOWN, "FILE", 0, "Write a table in Markdown, for a job's summary", 1},
    {0},
};

error_t compare_parse_option(int key, char *arg, struct argp_state *state)
{
    struct compare_job *job = state->input;
    switch (key) {
    case KEY_GATE:
        job->gate = cli_arg_f64(state, "--gate", arg, 0.1, 1000) / 100;
        return 0;
    case KEY_JUNIT:
        job->junit = cli_arg_output(state, "--junit", arg);
        return 0;
    case KEY_MARKDOWN:
        job->markdown = cli_arg_output(state, "--markdown", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool compare_takes_value(const char *word)
{
    if (strncmp(word, "--", 2) != 0 || strchr(word, '='))
        return false;
    for (const struct argp_option *o = compare_options; o->name; o++)
        if (o->arg && strcmp(word + 2, o->name) == 0)
            return true;
    return cli_common_takes_value(word + 2);
}

/* argv of a command line with `name` in front. NULL without memory. */
static char **command_line(char *name, const struct compare_words *words)
{
    char **argv = calloc(words->n + 2, sizeof *argv);
    if (!argv)
        return NULL;
    argv[0] = name;
    for (size_t i = 0; i < words->n; i++)
        argv[i + 1] = words->words[i];
    return argv;
}

bool compare_plan(const char *command, const struct bench_suite *suite,
                  const struct compare_words *words, const struct compare_words *over,
                  struct bench_plan *plan, struct rml_error *err)
{
    static const struct compare_words none = {0};
    char name[128];
    *plan = (struct bench_plan){0};
    snprintf(name, sizeof name, "rml-bench %s %s", command, suite->name);
    char **argv = command_line(name, words), **argv_over = command_line(name, over ? over : &none);
    bool ok = argv && argv_over
                  ? bench_plan_parse(suite, (int)words->n + 1, argv, over ? (int)over->n + 1 : 0,
                                     argv_over, plan, err)
                  : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    free(argv);
    free(argv_over);
    return ok;
}

int compare_words_failed(const struct rml_error *err)
{
    int code = cli_error(err);
    /* of a file it would be the file that is wrong */
    return err->code == RML_INVALID_ARGUMENT && !err->file[0] ? CLI_USAGE : code;
}

bool compare_plan_text(const char *command, const char *text, struct bench_plan *plan,
                       struct rml_error *err)
{
    static const char blanks[] = " \t\n";
    char *copy = strdup(text), *rest = NULL;
    char **words = calloc(strlen(text) + 1, sizeof *words);
    size_t n = 0;
    *plan = (struct bench_plan){0};
    bool ok = (copy && words) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
    for (char *word = ok ? strtok_r(copy, blanks, &rest) : NULL; word;
         word = strtok_r(NULL, blanks, &rest))
        words[n++] = word;
    const struct bench_suite *suite = ok && n > 0 ? bench_find_suite(words[0]) : NULL;
    if (ok && !suite)
        ok = rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                       "case '%s': expected a suite and its options", text);
    ok = ok &&
         compare_plan(command, suite, &(struct compare_words){words + 1, n - 1}, NULL, plan, err);
    free(copy);
    free(words);
    return ok;
}
