/*
 * The command lines of ab and gate: options of their own, then the words that say what is
 * measured, which a suite reads as it does in `rml-bench SUITE WORDS`.
 */
#ifndef BENCH_COMPARE_WORDS_H
#define BENCH_COMPARE_WORDS_H

#include "bench/compare_job.h"

/* Options that ab and gate share; parser for cli_parse, whose input is a struct compare_job. */
extern const struct argp_option compare_options[];
error_t compare_parse_option(int key, char *arg, struct argp_state *state);

/* Common options that both take. */
#define COMPARE_COMMON (CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED)

/* True for a word of argv that is an option of ours with its value in the next word. */
bool compare_takes_value(const char *word);

/* Words of a suite, without its name. */
struct compare_words {
    char **words; /* [n] argv's */
    size_t n;
};

/* The plan of `SUITE WORDS...`; messages show the suite's name. `over` (NULL: none) takes the place
 * of what it says anew. A bad word ends the program as a usage error. */
bool compare_plan(const char *command, const struct bench_suite *suite,
                  const struct compare_words *words, const struct compare_words *over,
                  struct bench_plan *plan, struct rml_error *err);

/* Tells of a plan that could not be made; the exit code: CLI_USAGE where the words are to blame. */
int compare_words_failed(const struct rml_error *err);

/* The same of one text, "attention --kv f16 --depth 512", cut at blanks. RML_INVALID_ARGUMENT:
 * its first word is no suite. */
bool compare_plan_text(const char *command, const char *text, struct bench_plan *plan,
                       struct rml_error *err);

#endif
