/* The conversation as lines of standard input. */
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "chat_program.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

/* ---- Ctrl-C -------------------------------------------------------------------------------- */

/* It stops a reply, or the line being typed, and never the program. */
static volatile sig_atomic_t stop;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static bool is_stopped(void)
{
    return stop || cli_interrupted();
}

/* ---- Lines ----------------------------------------------------------------------------------- */

struct input {
    EditLine *editor; /* NULL: standard input is no terminal */
    History *history;
    FILE *screen; /* the prompt's */
    char *line;   /* of getline */
    size_t capacity;
};

static char *prompt_text(EditLine *editor)
{
    (void)editor;
    static char prompt[] = "> ";
    return prompt;
}

/* libedit tries a read that a signal has ended again; here it ends the line. */
static int get_character(EditLine *editor, wchar_t *out)
{
    (void)editor;
    mbstate_t state = {0};
    for (;;) {
        char byte;
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR && !is_stopped())
            continue;
        if (n <= 0)
            return (int)n;
        size_t length = mbrtowc(out, &byte, 1, &state);
        if (length == (size_t)-1) { /* no character: begin anew behind it */
            memset(&state, 0, sizeof state);
            continue;
        }
        if (length != (size_t)-2)
            return 1;
    }
}

static bool input_init(struct input *input, struct rml_error *err)
{
    *input = (struct input){0};
    if (!isatty(STDIN_FILENO))
        return true;
    /* What is typed is UTF-8, whatever the locale is called. */
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    input->screen = isatty(STDOUT_FILENO) ? stdout : stderr;
    input->editor = el_init(program_invocation_short_name, stdin, input->screen, stderr);
    input->history = history_init();
    HistEvent event;
    if (!input->editor || !input->history)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the line editor");
    history(input->history, &event, H_SETSIZE, 500);
    history(input->history, &event, H_SETUNIQUE, 1);
    el_set(input->editor, EL_EDITOR, "emacs");
    el_set(input->editor, EL_PROMPT, prompt_text);
    el_set(input->editor, EL_HIST, history, input->history);
    el_set(input->editor, EL_GETCFN, get_character);
    el_source(input->editor, NULL); /* ~/.editrc */
    return true;
}

static void input_release(struct input *input)
{
    if (input->history)
        history_end(input->history);
    if (input->editor)
        el_end(input->editor);
    free(input->line);
}

/* The next line without its newline; NULL at the end. Borrowed until the next call. */
static const char *next_line(struct input *input, size_t *n)
{
    if (input->editor) {
        int count = 0;
        const char *line = el_gets(input->editor, &count);
        if (!line || count <= 0)
            return NULL;
        HistEvent event;
        *n = (size_t)count - (line[count - 1] == '\n');
        if (*n > 0)
            history(input->history, &event, H_ENTER, line);
        return line;
    }
    ssize_t count = getline(&input->line, &input->capacity, stdin);
    if (count <= 0)
        return NULL;
    *n = (size_t)count;
    if (input->line[*n - 1] == '\n')
        --*n;
    if (*n > 0 && input->line[*n - 1] == '\r')
        --*n;
    return input->line;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/* Blanks behind it do not count. */
static bool is_command(const char *line, size_t n, const char *command)
{
    while (n > 0 && line[n - 1] == ' ')
        n--;
    return n == strlen(command) && memcmp(line, command, n) == 0;
}

static void help(const struct chat *chat)
{
    fprintf(stderr,
            "/reset          start over%s\n"
            "/help           this text\n"
            "//TEXT          say /TEXT\n"
            "Ctrl-C          stop the reply\n"
            "an empty line   quit (also Ctrl-D)\n",
            chat->settings->system ? " (the system message stays)" : "");
}

/* A command mistyped is not for the model. */
static void warn_unknown(const char *line, size_t n)
{
    size_t word = 0;
    while (word < n && word < 40 && line[word] != ' ')
        word++;
    cli_warn("unknown command '%.*s', expected /reset or /help (a text that begins with / is "
             "typed with //)",
             (int)word, line);
}

/* One reply; an error is told, and the conversation goes on without the turn. */
static bool take_turn(struct chat *chat, const char *line, size_t n)
{
    struct rml_bytes reply = {0};
    struct rml_generation_stats stats;
    struct rml_error err = RML_ERROR_INIT;
    bool ok = chat_say(chat, line, n, &reply, &stats, &err);
    if (reply.n == 0 ? ok : reply.data[reply.n - 1] != '\n')
        chat_print(chat->stream, "\n", 1);
    rml_bytes_release(&reply);
    if (ok)
        chat_note_stats(chat, &stats);
    else
        cli_error(&err);
    return ok;
}

int chat_loop(struct chat *chat)
{
    struct rml_error err = RML_ERROR_INIT;
    struct input input;
    struct sigaction action = {.sa_handler = on_interrupt};
    bool all_ok = true;
    if (!input_init(&input, &err)) {
        input_release(&input);
        return cli_error(&err);
    }
    if (input.editor) {
        sigaction(SIGINT, &action, NULL);
        chat->is_stopped = is_stopped;
        if (cli_is_talkative())
            fprintf(stderr, "%s, %s%s. /help says what else there is.\n", chat->settings->model,
                    chat->format ? "chat format " : "plain text is continued",
                    chat->format ? rml_chat_format_name(chat->format) : "");
    }
    while (!cli_interrupted() && !ferror(stdout)) {
        size_t n = 0;
        stop = 0;
        const char *line = next_line(&input, &n);
        if (!line && stop) { /* Ctrl-C at the prompt: the line is dropped */
            fputc('\n', input.screen);
            el_reset(input.editor);
            continue;
        }
        if (!line && input.editor)
            fputc('\n', input.screen);
        if (!line || n == 0)
            break;
        stop = 0;
        if (is_command(line, n, "/reset"))
            chat_reset(chat);
        else if (is_command(line, n, "/help"))
            help(chat);
        else if (line[0] == '/' && (n == 1 || line[1] != '/')) {
            warn_unknown(line, n);
            all_ok = false;
        } else if (!take_turn(chat, line + (line[0] == '/'), n - (line[0] == '/')))
            all_ok = false;
    }
    if (!input.editor && ferror(stdin)) {
        rmli_fail(&err, RML_IO, "standard input", -1, "cannot read: %s", strerror(errno));
        cli_error(&err);
        all_ok = false;
    }
    bool edited = input.editor;
    input_release(&input);
    /* At a terminal errors have been seen and talked past; a script wants to know. */
    return cli_interrupted() ? cli_interrupted_code() : all_ok || edited ? CLI_PASS : CLI_ERROR;
}
