/*
 * Counts as a file, and when two sets of them compare.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/icount.h"
#include "tools/cli/output.h"

#define VERSION 1

json_t *icount_to_json(const struct icounts *counts)
{
    json_t *numbers = json_object();
    for (size_t i = 0; i < counts->n; i++)
        json_object_set_new(numbers, counts->counts[i].name,
                            json_integer(counts->counts[i].n_instructions));
    return json_pack("{ss si ss ss ss ss so}", "format", "rml-icount", "version", VERSION,
                     "compiler", counts->compiler, "cflags", counts->cflags, "libc", counts->libc,
                     "isa", counts->isa, "counts", numbers);
}

bool icount_write(const char *file, const struct icounts *counts, struct rml_error *err)
{
    struct cli_output output;
    json_t *document = icount_to_json(counts);
    if (!document)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the counts");
    bool ok = cli_output_open(&output, file, err);
    if (ok) {
        json_dumpf(document, output.stream, JSON_INDENT(2));
        fputc('\n', output.stream);
        ok = cli_output_commit(&output, err);
    }
    json_decref(document);
    return ok;
}

static bool take(const json_t *document, const char *key, char *out, size_t nbytes)
{
    const char *text = json_string_value(json_object_get(document, key));
    return text && snprintf(out, nbytes, "%s", text) < (int)nbytes;
}

static bool from_json(json_t *document, struct icounts *counts)
{
    const char *name, *format = json_string_value(json_object_get(document, "format"));
    json_t *count, *numbers = json_object_get(document, "counts");
    *counts = (struct icounts){0};
    if (!format || strcmp(format, "rml-icount") != 0 ||
        json_integer_value(json_object_get(document, "version")) != VERSION ||
        !take(document, "compiler", counts->compiler, sizeof counts->compiler) ||
        !take(document, "cflags", counts->cflags, sizeof counts->cflags) ||
        !take(document, "libc", counts->libc, sizeof counts->libc) ||
        !take(document, "isa", counts->isa, sizeof counts->isa) || json_object_size(numbers) == 0 ||
        json_object_size(numbers) > ICOUNT_MAX_CASES)
        return false;
    json_object_foreach(numbers, name, count)
    {
        if (json_integer_value(count) <= 0 || strlen(name) >= sizeof counts->counts[0].name)
            return false;
        snprintf(counts->counts[counts->n].name, sizeof counts->counts[0].name, "%s", name);
        counts->counts[counts->n++].n_instructions = json_integer_value(count);
    }
    return true;
}

bool icount_read(const char *file, struct icounts *counts, struct rml_error *err)
{
    json_error_t why;
    FILE *in = fopen(file, "r");
    if (!in)
        return rmli_fail(err, errno == ENOENT ? RML_NOT_FOUND : RML_IO, file, -1, "%s",
                         strerror(errno));
    json_t *document = json_loadf(in, JSON_REJECT_DUPLICATES, &why);
    fclose(in);
    if (!document)
        return rmli_fail(err, RML_FORMAT, file, -1, "line %d: %s", why.line, why.text);
    bool ok = from_json(document, counts);
    json_decref(document);
    return ok ||
           rmli_fail(err, RML_FORMAT, file, -1,
                     "no file of counts: expected format \"rml-icount\", version %d, compiler, "
                     "cflags, libc, isa and counts",
                     VERSION);
}

const char *icount_difference(const struct icounts *base, const struct icounts *head)
{
    if (strcmp(base->compiler, head->compiler) != 0)
        return "compiler";
    if (strcmp(base->cflags, head->cflags) != 0)
        return "compiler flags";
    if (strcmp(base->libc, head->libc) != 0)
        return "libc";
    return strcmp(base->isa, head->isa) != 0 ? "instruction set" : NULL;
}

int icount_find(const struct icounts *counts, const char *name)
{
    for (size_t i = 0; i < counts->n; i++)
        if (strcmp(counts->counts[i].name, name) == 0)
            return (int)i;
    return -1;
}
