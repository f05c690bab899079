/*
 * How a program starts and ends: signals, --version, and the check that what was
 * printed has arrived.
 */
#include "tools/cli/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/build_info.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

static volatile sig_atomic_t interrupted; /* by this signal; 0: by none */
static struct timespec interrupted_at;

/* A first signal asks to end in order, a second one ends at once. One that follows within half a
 * second is the first again: timeout(1) signals the program, and then its group. */
static void on_signal(int signal_number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted) {
        interrupted_at = now;
        interrupted = signal_number;
    } else if ((double)(now.tv_sec - interrupted_at.tv_sec) +
                   1e-9 * (double)(now.tv_nsec - interrupted_at.tv_nsec) >
               0.5) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

bool cli_cancelled(void *unused)
{
    (void)unused;
    return cli_interrupted();
}

int cli_interrupted_code(void)
{
    return interrupted == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED;
}

/* A copy, because getopt moves the words of argv about. */
static char **command_line;
static int n_command_line;

char *const *cli_command_line(int *argc)
{
    *argc = n_command_line;
    return command_line;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "%s %s\n", program_invocation_short_name, build_info.version);
    fprintf(stream, "commit: %s%s\n", build_info.git_commit[0] ? build_info.git_commit : "unknown",
            build_info.git_dirty ? " (with local changes)" : "");
    fprintf(stream, "compiler: %s\n", build_info.compiler);
    fprintf(stream, "instruction sets:");
    for (int isa = 0; isa < RML_N_ISAS; isa++)
        if (rml_isa_available((enum rml_isa)isa))
            fprintf(stream, " %s", rml_isa_name((enum rml_isa)isa));
    fprintf(stream, "\nnumerics: %d\n", RML_NUMERICS_VERSION);
}

/* A usage error is found before the options are known, so whether --json is among them is
 * looked up here. */
static bool json_on_command_line;

static bool is_output_error_told;

void cli_output_error_told(void)
{
    is_output_error_told = true;
}

static bool is_reader_gone; /* an error was not told because of it */

/* stdio forgets errno, but the writing end of a pipe without a reader keeps saying so. */
static bool has_reader_gone(void)
{
    struct pollfd end = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0;
}

bool cli_output_reader_gone(const struct rml_error *err)
{
    bool of_stdout = strcmp(err->file, "standard output") == 0 || strcmp(err->file, "-") == 0;
    bool gone = err->code == RML_IO && of_stdout && has_reader_gone();
    is_reader_gone |= gone;
    return gone;
}

static void end_by_sigpipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

static void at_exit(int status, void *arg)
{
    (void)arg;
    cli_progress_clear();
    if (status == CLI_USAGE && json_on_command_line) {
        /* Nothing has been printed: usage errors come first. */
        printf("{\"error\": {\"code\": \"invalid-argument\", \"message\": \"bad usage, standard "
               "error says what\", \"file\": null, \"offset\": null}}\n");
    }
    bool lost = ferror(stdout) != 0;
    int error = 0;
    if (fflush(stdout) != 0) {
        error = errno;
        lost = true;
    }
    if (!lost && close(STDOUT_FILENO) != 0 && errno != EBADF) {
        error = errno;
        lost = true;
    }
    if (is_reader_gone || (lost && has_reader_gone()))
        end_by_sigpipe();
    if (!lost || is_output_error_told)
        return;
    fprintf(stderr, "%s: standard output: write failed%s%s\n", program_invocation_short_name,
            error ? ": " : "", error ? strerror(error) : "");
    _exit(CLI_ERROR);
}

/* A standard stream that is closed would be the number of the next file opened, a database
 * say, and what is printed would go there. The stand-in cannot be written to, so lost output
 * still counts as lost. */
static void keep_standard_streams_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(CLI_ERROR);
}

void cli_start(int argc, char **argv)
{
    keep_standard_streams_open();
    command_line = calloc((size_t)argc + 1, sizeof *command_line);
    if (!command_line) {
        perror(program_invocation_short_name);
        exit(CLI_ERROR);
    }
    memcpy(command_line, argv, (size_t)argc * sizeof *command_line);
    n_command_line = argc;
    argp_err_exit_status = CLI_USAGE;
    argp_program_version_hook = print_version;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        json_on_command_line |= strcmp(argv[i], "--json") == 0;

    struct sigaction action = {.sa_handler = on_signal};
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction old;
    /* A program started with SIGINT ignored (nohup, `&` in a script) leaves it so. */
    const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    on_exit(at_exit, NULL);
}
