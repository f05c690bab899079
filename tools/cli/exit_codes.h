/*
 * Exit codes, the same for every program; pipelines depend on them.
 */
#ifndef TOOLS_CLI_EXIT_CODES_H
#define TOOLS_CLI_EXIT_CODES_H

enum cli_exit {
    CLI_PASS = 0,
    CLI_ERROR = 1,         /* bad input, I/O, internal; the message says which */
    CLI_USAGE = 2,         /* the command line makes no sense */
    CLI_REGRESSION = 3,    /* slower than the baseline */
    CLI_MISMATCH = 4,      /* a golden or a quality figure does not hold */
    CLI_INCONCLUSIVE = 5,  /* measured, but too noisy to decide */
    CLI_NO_BASELINE = 6,   /* the baseline is missing or of something else */
    CLI_INTERRUPTED = 130, /* SIGINT; everything finished is kept */
    CLI_TERMINATED = 143,  /* the same after SIGTERM */
};

#endif
