#include "tools/cli/output_names.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/options.h"
#include "tools/cli/output.h"

/* A process has one command line. Names beyond these are found out when they are opened. */
static const char *outputs[32];
static size_t n_outputs;

const char *cli_arg_output(struct argp_state *state, const char *option, const char *text)
{
    if (!*text)
        argp_error(state, "%s: '' found, expected the name of a file, or -", option);
    if (n_outputs < sizeof outputs / sizeof outputs[0])
        outputs[n_outputs++] = text;
    return text;
}

static bool is_stdout(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* Nothing is left behind. */
static bool check_open(const char *name, struct rml_error *err)
{
    struct cli_output output;
    struct stat st;
    if (is_stdout(name))
        return true;
    /* Opening a pipe would wait for its reader, and closing it end what that reads. */
    if (stat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return access(name, W_OK) == 0 ||
               rmli_fail(err, RML_IO, name, -1, "cannot open for writing: %s", strerror(errno));
    bool ok = cli_output_open(&output, name, err);
    cli_output_abandon(&output);
    return ok;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder that the file is in, or would be in. */
static bool stat_folder(const char *path, struct stat *st)
{
    char folder[PATH_MAX];
    int n = (int)(last_part(path) - path);
    snprintf(folder, sizeof folder, "%.*s", n > 0 ? n : 1, n > 0 ? path : ".");
    return stat(folder, st) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* One regular file, or the name of one that is not there yet. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    bool in_a = stat(a, &of_a) == 0, in_b = stat(b, &of_b) == 0;
    if (in_a || in_b)
        return in_a && in_b && S_ISREG(of_a.st_mode) && is_same(&of_a, &of_b);
    return strcmp(last_part(a), last_part(b)) == 0 && stat_folder(a, &of_a) &&
           stat_folder(b, &of_b) && is_same(&of_a, &of_b);
}

/* Is the output, which is there, what a checkpoint in that folder consists of? */
static bool is_part_of(const char *folder, const char *name)
{
    static const char *const parts[] = {
        "config.json",   "generation_config.json",   "tokenizer*.json",         "chat_template*",
        "*.safetensors", "*.safetensors.index.json", "special_tokens_map.json", "*.gguf"};
    struct stat of_folder, of_parent, of_file;
    if (stat(folder, &of_folder) != 0 || !S_ISDIR(of_folder.st_mode) || stat(name, &of_file) != 0 ||
        !stat_folder(name, &of_parent) || !is_same(&of_folder, &of_parent))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (fnmatch(parts[i], last_part(name), 0) == 0)
            return true;
    return false;
}

/* What the output is besides, which would be lost; NULL: nothing. */
static const char *what_else(size_t i)
{
    const char *name = outputs[i];
    int argc;
    char *const *argv = cli_command_line(&argc);
    for (size_t k = 0; k < i; k++)
        if (!is_stdout(outputs[k]) && is_same_file(name, outputs[k]))
            return "is named on the command line again";
    for (int a = 1; a < argc; a++) {
        const char *word = argv[a], *equals = word[0] == '-' ? strchr(word, '=') : NULL;
        const char *value = equals ? equals + 1 : word;
        bool is_itself = name >= word && name <= word + strlen(word);
        struct stat st;
        if (is_itself || stat(value, &st) != 0)
            continue;
        if (is_same_file(name, value))
            return "is named on the command line again";
        if (is_part_of(value, name))
            return "is a file of a checkpoint that the command line names";
    }
    return NULL;
}

bool cli_outputs_check(struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n_outputs; i++) {
        const char *what = is_stdout(outputs[i]) ? NULL : what_else(i);
        ok = what ? rmli_fail(err, RML_INVALID_ARGUMENT, outputs[i], -1,
                              "an output that %s, expected a file of its own", what)
                  : check_open(outputs[i], err);
    }
    return ok;
}

bool cli_input_check(const char *path, struct rml_error *err)
{
    for (size_t i = 0; i < n_outputs; i++)
        if (!is_stdout(outputs[i]) && is_same_file(outputs[i], path))
            return rmli_fail(
                err, RML_INVALID_ARGUMENT, outputs[i], -1,
                "an output that the command needs as it is, expected a file of its own");
    return true;
}
