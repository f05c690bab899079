/*
 * main() of a program with commands.
 *
 * The command word may stand behind common options, whose values must not be
 * taken for it. So the front of the command line is read once with all common
 * options, only to find the word; the command then reads everything again.
 */
#include "tools/cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/help_text.h"

static const struct cli_command *find(const struct cli_program *program, const char *name)
{
    for (const struct cli_command *c = program->commands; c && c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* Index of the first word that is neither an option nor the value of one, or argc. */
static int first_word(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return argc;
        if (argv[i][0] != '-' || !argv[i][1])
            return i;
        if (strncmp(argv[i], "--", 2) == 0 && cli_common_takes_value(argv[i] + 2))
            i++;
    }
    return argc;
}

static void print_command(FILE *stream, const struct cli_command *c)
{
    enum { SUMMARY = 17 }; /* column */
    char *summary = cli_help_text(c->summary, CLI_HELP_COLUMNS - SUMMARY, SUMMARY);
    fprintf(stream, "  %-*s %s\n", SUMMARY - 3, c->name, summary ? summary : c->summary);
    free(summary);
}

/* --help, --version and usage errors of the program itself. */
static int parse_without_command(const struct cli_program *program, int argc, char **argv,
                                 const char *word)
{
    char *doc = NULL;
    size_t doc_nbytes = 0;
    FILE *stream = open_memstream(&doc, &doc_nbytes);
    if (!stream) {
        perror(argv[0]);
        return CLI_ERROR;
    }
    char *summary = cli_help_text(program->summary, CLI_HELP_COLUMNS, 0);
    fprintf(stream, "%s\n\nCommands:\n", summary ? summary : program->summary);
    free(summary);
    for (const struct cli_command *c = program->commands; c && c->name; c++)
        if (c->summary)
            print_command(stream, c);
    fprintf(stream, "\nEach command has a --help of its own.");
    fclose(stream);

    static char args_doc[256];
    snprintf(args_doc, sizeof args_doc, "COMMAND [ARG...]%s%s", program->fallback_args ? "\n" : "",
             program->fallback_args ? program->fallback_args : "");
    const struct argp argp = {.args_doc = args_doc, .doc = doc};
    char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    char *help_argv[] = {argv[0], (char *)"--help", NULL};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0)
            argp_parse(&argp, 2, help_argv, 0, NULL, NULL);
    help_argv[1] = (char *)"--usage";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--usage") == 0)
            argp_parse(&argp, 2, help_argv, 0, NULL, NULL);
    help_argv[1] = (char *)"--version";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
            argp_parse(&argp, 2, help_argv, 0, NULL, NULL);

    fprintf(stderr, "%s: ", name);
    if (word)
        fprintf(stderr, "'%s' found, expected a command: ", word);
    else
        fprintf(stderr, "no command found, expected one of ");
    const struct cli_command *last = NULL;
    for (const struct cli_command *c = program->commands; c && c->name; c++)
        last = c->summary ? c : last;
    for (const struct cli_command *c = program->commands; c && c->name; c++)
        if (c->summary)
            fprintf(stderr, "%s%s",
                    c == program->commands ? ""
                    : c != last            ? ", "
                                           : " or ",
                    c->name);
    fprintf(stderr, "\nTry `%s --help' for more information.\n", name);
    free(doc);
    return CLI_USAGE;
}

int cli_run(const struct cli_program *program, int argc, char **argv)
{
    cli_start(argc, argv);
    int at = first_word(argc, argv);
    const struct cli_command *command = at < argc ? find(program, argv[at]) : NULL;
    if (!command) {
        bool asks = false; /* for the help of the whole program */
        for (int i = 1; i < at; i++)
            asks |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0 ||
                    strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0;
        if (program->fallback && !asks)
            return program->fallback(argc, argv);
        return parse_without_command(program, argc, argv, at < argc ? argv[at] : NULL);
    }

    /* argv without the word, and with a name that usage messages show. */
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    char *name = NULL;
    if (!rest || asprintf(&name, "%s %s", program_invocation_short_name, command->name) < 0) {
        perror(argv[0]);
        free(rest);
        return CLI_ERROR;
    }
    int n = 0;
    rest[n++] = name;
    for (int i = 1; i < argc; i++)
        if (i != at)
            rest[n++] = argv[i];
    int code = command->main(n, rest);
    free(rest);
    free(name);
    return code;
}
