/*
 * Strict readers of command-line values.
 */
#include "tools/cli/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"

bool cli_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool cli_parse_f64(const char *text, double min, double max, double *out)
{
    /* strtod also takes leading blanks, hexadecimal, "inf" and "nan". */
    if (!*text || text[strspn(text, "+-.0123456789eE")])
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text || !isfinite(value) || value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool cli_parse_kv(const char *text, enum rml_kv_dtype *k, enum rml_kv_dtype *v)
{
    char key[8];
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n >= sizeof key)
        return false;
    memcpy(key, text, n);
    key[n] = 0;
    enum rml_kv_dtype k_dtype, v_dtype;
    if (!rml_kv_dtype_parse(key, &k_dtype) ||
        !rml_kv_dtype_parse(colon ? colon + 1 : key, &v_dtype))
        return false;
    *k = k_dtype;
    *v = v_dtype;
    return true;
}

static size_t count_items(const char *text)
{
    size_t n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

bool cli_parse_ids(const char *text, int32_t **ids, size_t *n, const char **bad)
{
    *bad = text;
    size_t n_items = count_items(text);
    int32_t *list = malloc(n_items * sizeof *list);
    if (!list)
        return false;
    const char *p = text;
    for (size_t i = 0; i < n_items; i++) {
        if (i > 0)
            p += strspn(p, " \t\n");
        *bad = p;
        size_t length = strcspn(p, ",");
        char item[16];
        uint64_t value;
        if (length >= sizeof item)
            goto fail;
        memcpy(item, p, length);
        item[length] = 0;
        if (!cli_parse_u64(item, 0, INT32_MAX, &value))
            goto fail;
        list[i] = (int32_t)value;
        p += length + (i + 1 < n_items);
    }
    *ids = list;
    *n = n_items;
    return true;
fail:
    free(list);
    return false;
}

/* ---- In an argp parser --------------------------------------------------- */

uint64_t cli_arg_u64(struct argp_state *state, const char *option, const char *text, uint64_t min,
                     uint64_t max)
{
    uint64_t value = 0;
    if (!cli_parse_u64(text, min, max, &value)) {
        if (max == UINT64_MAX)
            argp_error(state, "%s: '%s' found, expected a whole number of at least %" PRIu64,
                       option, text, min);
        else
            argp_error(state,
                       "%s: '%s' found, expected a whole number from %" PRIu64 " to %" PRIu64,
                       option, text, min, max);
    }
    return value;
}

double cli_arg_f64(struct argp_state *state, const char *option, const char *text, double min,
                   double max)
{
    double value = 0;
    if (!cli_parse_f64(text, min, max, &value))
        argp_error(state, "%s: '%s' found, expected a number from %g to %g", option, text, min,
                   max);
    return value;
}

void cli_arg_kv(struct argp_state *state, const char *option, const char *text,
                enum rml_kv_dtype *k, enum rml_kv_dtype *v)
{
    if (!cli_parse_kv(text, k, v))
        argp_error(state, "%s: '%s' found, expected f32, f16 or i8, or two of them as K:V", option,
                   text);
}

const char *cli_arg_label(struct argp_state *state, const char *text)
{
    if (!*text || strlen(text) > 100)
        argp_error(state, "--label: expected 1 to 100 bytes");
    return text;
}

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

/* Nothing is left behind. */
static bool check_output(const char *name, struct rml_error *err)
{
    struct cli_output output;
    struct stat st;
    if (strcmp(name, "-") == 0)
        return true;
    /* Opening a pipe would wait for its reader, and closing it end what that reads. */
    if (stat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return access(name, W_OK) == 0 ||
               rmli_fail(err, RML_IO, name, -1, "cannot open for writing: %s", strerror(errno));
    bool ok = cli_output_open(&output, name, err);
    cli_output_abandon(&output);
    return ok;
}

/* Is it the file that another word of the command line names? It would be gone when it has been
 * written. */
static bool is_named_twice(const char *name)
{
    struct stat of_name, of_word;
    int argc;
    char *const *argv = cli_command_line(&argc);
    if (stat(name, &of_name) != 0 || !S_ISREG(of_name.st_mode))
        return false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *equals = word[0] == '-' ? strchr(word, '=') : NULL;
        bool is_itself = name >= word && name <= word + strlen(word);
        if (!is_itself && stat(equals ? equals + 1 : word, &of_word) == 0 &&
            of_word.st_dev == of_name.st_dev && of_word.st_ino == of_name.st_ino)
            return true;
    }
    return false;
}

bool cli_outputs_check(struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n_outputs; i++)
        ok = is_named_twice(outputs[i])
                 ? rmli_fail(err, RML_INVALID_ARGUMENT, outputs[i], -1,
                             "an output that is named on the command line again, expected a file "
                             "of its own")
                 : check_output(outputs[i], err);
    n_outputs = 0;
    return ok;
}

size_t cli_arg_words(struct argp_state *state, const char *option, const char *text, char ***words)
{
    size_t n = count_items(text);
    size_t table_nbytes = (n + 1) * sizeof(char *);
    char **list = malloc(table_nbytes + strlen(text) + 1);
    if (!list)
        argp_failure(state, CLI_ERROR, ENOMEM, "%s", option);
    char *p = (char *)list + table_nbytes;
    strcpy(p, text);
    for (size_t i = 0; i < n; i++) {
        list[i] = p;
        p += strcspn(p, ",");
        if (p == list[i])
            argp_error(state, "%s: '%s' found, expected words separated by commas, none empty",
                       option, text);
        *p++ = 0;
    }
    list[n] = NULL;
    *words = list;
    return n;
}

size_t cli_arg_u64_list(struct argp_state *state, const char *option, const char *text,
                        uint64_t min, uint64_t max, uint64_t **out)
{
    char **words;
    size_t n = cli_arg_words(state, option, text, &words);
    uint64_t *list = malloc(n * sizeof *list);
    if (!list)
        argp_failure(state, CLI_ERROR, ENOMEM, "%s", option);
    for (size_t i = 0; i < n; i++)
        list[i] = cli_arg_u64(state, option, words[i], min, max);
    free(words);
    *out = list;
    return n;
}
