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
