/*
 * What a program says about itself while it works: errors, warnings, notes and
 * a progress line, all on standard error; and the error document of --json.
 *
 * A process has one standard error, so the state behind these functions is one
 * per process. Everything goes to stderr through here, which lets a message
 * wipe the progress line first. Not for use from worker threads.
 */
#ifndef TOOLS_CLI_REPORT_H
#define TOOLS_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "rml.h"

/* Called by cli_parse when the options are known. json: an error is also a
 * document on standard output. verbosity: -1 quiet, 0, 1 or more verbose. */
void cli_report_setup(bool json, int verbosity);

/*
 * Prints "rml-NAME: FILE: message (byte offset N)" and, with --json, the document
 * {"error": {"code", "message", "file", "offset"}} on standard output; file and offset
 * are null when they are unknown. Only the first error of a process becomes a document.
 * Returns CLI_ERROR, so that a command can end with `return cli_error(&err)`.
 */
int cli_error(const struct rml_error *err);

/* The same for work that a signal may have ended: RML_CANCELLED after SIGINT or SIGTERM is only the
 * line, and the exit code is cli_interrupted_code(). */
int cli_error_or_interrupted(const struct rml_error *err);

/* Only the line: for one of several things that could not be done, told of in the program's own
 * document. */
void cli_error_line(const struct rml_error *err);

/* As cli_error, without an rml_error at hand; `file` may be NULL. */
int cli_fail(enum rml_code code, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "rml-NAME: warning: ...", also with -q: it bears on how to read the results. */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "rml-NAME: ...": a note, not with -q. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A note for -v only. */
void cli_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True when cli_note prints. */
bool cli_is_talkative(void);

/* Replaces the progress line. Nothing happens with -q, or when standard error is no
 * terminal; at most ten lines a second are drawn. Fits itself to one line. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wipes it. Every message above does this by itself. */
void cli_progress_clear(void);

/* The ending of a word behind a count: "%zu case%s". */
static inline const char *cli_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Escape sequences that switch a colour on and off; "" when `stream` is no terminal or
 * NO_COLOR is set and not empty (no-color.org). */
enum cli_color { CLI_PLAIN, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_BOLD };
const char *cli_color(FILE *stream, enum cli_color color);

#endif
