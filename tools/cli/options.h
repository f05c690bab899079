/*
 * Options that are the same in every program, from one table.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return cli_run(&program, argc, argv);       commands, or one fallback
 *     }
 *     static int check_main(int argc, char **argv)
 *     {
 *         struct cli_options options;
 *         cli_parse(&options, CLI_OPT_THREADS | CLI_OPT_JSON, &own_argp, argc, argv, &own_input);
 *         ...
 *         return CLI_PASS;
 *     }
 *
 * A usage error ends the program with CLI_USAGE inside cli_parse.
 */
#ifndef TOOLS_CLI_OPTIONS_H
#define TOOLS_CLI_OPTIONS_H

#include <argp.h>

#include "rml.h"

/* Which common options a command takes; -q and -v are always there. */
enum {
    CLI_OPT_THREADS = 1 << 0,
    CLI_OPT_ARITHMETIC = 1 << 1,
    CLI_OPT_KV = 1 << 2,
    CLI_OPT_CTX = 1 << 3,
    CLI_OPT_DB_FILE = 1 << 4, /* --db alone: of a command that is nothing without a database */
    CLI_OPT_JSON = 1 << 5,
    CLI_OPT_SEED = 1 << 6,
    CLI_OPT_NO_DB = 1 << 7,
    CLI_OPT_DB = CLI_OPT_DB_FILE | CLI_OPT_NO_DB,
};
#define CLI_OPT_RUN_MODEL (CLI_OPT_THREADS | CLI_OPT_ARITHMETIC | CLI_OPT_KV)

/* What was not given is 0, NULL or false; what that means is the command's default. */
struct cli_options {
    unsigned threads; /* 0: rml_thread_pool_create chooses */
    bool arithmetic_given;
    enum rml_arithmetic arithmetic;
    bool kv_given;
    enum rml_kv_dtype k_dtype, v_dtype;
    size_t ctx;     /* 0: not given */
    const char *db; /* NULL: results/store.h finds it */
    bool no_db;
    bool json;
    bool seed_given;
    uint64_t seed;
    int verbosity; /* -1 with -q, +1 for each -v */
};

/* Keys of a program's own options that have no short form start here. */
#define CLI_OWN_KEY 0x2000

/*
 * Parses a command's own options (`own`, whose children must be NULL and whose parser gets
 * own_input) and the common ones in `accepted`, then sets up reports. The strings in
 * *options are borrowed from argv. An output that cannot be opened ends the program, too.
 */
void cli_parse(struct cli_options *options, unsigned accepted, const struct argp *own, int argc,
               char **argv, void *own_input);

/* True for the name of a common option ("threads") that has a value in the next word. */
bool cli_common_takes_value(const char *name);

struct cli_command {
    const char *name;                   /* NULL ends a table */
    const char *summary;                /* one line, no full stop; NULL: not listed */
    int (*main)(int argc, char **argv); /* argv[0] is "rml-golden check"; returns an exit code */
};

struct cli_program {
    const char *summary; /* what the program is for: lines of --help */
    const struct cli_command *commands;
    int (*fallback)(int argc, char **argv); /* no command given; NULL: a usage error */
    const char *fallback_args; /* "[OPTION...] CHECKPOINT" for --help; NULL without a fallback */
};

/*
 * main() of a program with commands: does cli_start, finds the command (common options may
 * stand before it) and runs it. Without `fallback` an unknown command is a usage error.
 */
int cli_run(const struct cli_program *program, int argc, char **argv);

/*
 * What every program does first: SIGINT and SIGTERM become a flag, a closed pipe becomes a write error,
 * and at exit standard output is flushed and checked: when something written to it was lost,
 * the program says so and exits with CLI_ERROR. Where it was lost because the reader of a pipe has
 * gone (`| head`), the program ends by SIGPIPE without a word, but only then, when its run is
 * whole in the database. cli_run calls it.
 */
void cli_start(int argc, char **argv);

/* True for an error of standard output whose reader has gone: it is not told, and the program will
 * end by SIGPIPE. */
bool cli_output_reader_gone(const struct rml_error *err);

/* An error of standard output is being reported by the caller: it is not said again at exit. */
void cli_output_error_told(void);

/* The command line as it was typed; ends with NULL. Valid after cli_start. */
char *const *cli_command_line(int *argc);

/* True after SIGINT or SIGTERM: finish the item at hand, keep it, and return
 * cli_interrupted_code(). Another half a second later kills. Safe to poll from any thread. */
bool cli_interrupted(void);
/* The same for a context's `cancelled` (model/decoder.h). */
bool cli_cancelled(void *unused);
/* CLI_INTERRUPTED or CLI_TERMINATED, by the first signal that came. */
int cli_interrupted_code(void);

#endif
