/*
 * Standard error, and the error document of --json.
 */
#include "tools/cli/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"

static struct {
    bool json, document_written;
    int verbosity;
    bool progress_drawn;
    int64_t progress_ns; /* when it was last drawn */
} report;

void cli_report_setup(bool json, int verbosity)
{
    report.json = json;
    report.verbosity = verbosity;
}

bool cli_is_talkative(void)
{
    return report.verbosity >= 0;
}

static void write_document(const struct rml_error *err)
{
    if (!report.json || report.document_written)
        return;
    report.document_written = true;
    json_t *document =
        json_pack("{s{ss ss so so}}", "error", "code", rml_code_name(err->code), "message",
                  err->message, "file", err->file[0] ? json_string(err->file) : json_null(),
                  "offset", err->offset >= 0 ? json_integer(err->offset) : json_null());
    if (document)
        cli_json_print(document, 17);
    json_decref(document);
}

void cli_error_line(const struct rml_error *err)
{
    cli_progress_clear();
    fprintf(stderr, "%s: ", program_invocation_short_name);
    if (err->file[0])
        fprintf(stderr, "%s: ", err->file);
    fputs(err->message, stderr);
    if (err->offset >= 0)
        fprintf(stderr, " (byte offset %lld)", (long long)err->offset);
    fputc('\n', stderr);
}

int cli_error(const struct rml_error *err)
{
    if (cli_output_reader_gone(err))
        return CLI_ERROR;
    cli_error_line(err);
    write_document(err);
    return CLI_ERROR;
}

int cli_error_or_interrupted(const struct rml_error *err)
{
    if (err->code != RML_CANCELLED || !cli_interrupted())
        return cli_error(err);
    cli_error_line(err);
    return cli_interrupted_code();
}

int cli_fail(enum rml_code code, const char *file, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct rml_error err = RML_ERROR_INIT;
    rmli_fail(&err, code, file, -1, "%s", message);
    return cli_error(&err);
}

/* What is quoted may come from a hostile file, so it is made printable as in an error. */
static void say(const char *kind, const char *format, va_list args)
{
    struct rml_error text = RML_ERROR_INIT;
    char message[sizeof text.message];
    vsnprintf(message, sizeof message, format, args);
    rmli_fail(&text, RML_INTERNAL, NULL, -1, "%s", message);
    cli_progress_clear();
    fprintf(stderr, "%s: %s%s\n", program_invocation_short_name, kind, text.message);
}

void cli_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warning: ", format, args);
    va_end(args);
}

void cli_note(const char *format, ...)
{
    if (report.verbosity < 0)
        return;
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void cli_detail(const char *format, ...)
{
    if (report.verbosity < 1)
        return;
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

/* ---- Progress line ------------------------------------------------------- */

static bool progress_is_wanted(void)
{
    static int wanted = -1;
    if (wanted < 0) {
        const char *term = getenv("TERM");
        wanted = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    }
    return wanted && report.verbosity >= 0;
}

void cli_progress_clear(void)
{
    if (report.progress_drawn)
        fputs("\r\033[K", stderr);
    report.progress_drawn = false;
}

void cli_progress(const char *format, ...)
{
    if (!progress_is_wanted())
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (report.progress_drawn && now_ns - report.progress_ns < 100000000)
        return;
    report.progress_ns = now_ns;

    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);

    /* Cut to the terminal's width: a line that wraps could not be wiped. */
    struct winsize size;
    size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1
                       ? (size_t)size.ws_col - 1
                       : 79;
    size_t n = 0, columns = 0;
    for (; line[n]; n++)
        if (((unsigned char)line[n] & 0xc0) != 0x80 && ++columns > width)
            break;
    fprintf(stderr, "\r%.*s\033[K", (int)n, line);
    fflush(stderr);
    report.progress_drawn = true;
}

/* ---- Colour -------------------------------------------------------------- */

const char *cli_color(FILE *stream, enum cli_color color)
{
    static const char *const escapes[] = {
        [CLI_PLAIN] = "\033[0m",   [CLI_RED] = "\033[31m", [CLI_GREEN] = "\033[32m",
        [CLI_YELLOW] = "\033[33m", [CLI_BOLD] = "\033[1m",
    };
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if ((no_color && no_color[0]) || !term || strcmp(term, "dumb") == 0 || !isatty(fileno(stream)))
        return "";
    return escapes[color];
}
