/*
 * The document as text for people.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_text.h"
#include "tools/cli/report.h"

void inspect_show_nbytes(double nbytes, char out[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;
    for (; nbytes >= 999.5 && u < sizeof units / sizeof *units - 1; u++)
        nbytes /= 1000;
    snprintf(out, 32, u == 0 ? "%.0f %s" : "%.3g %s", nbytes, units[u]);
}

const char *inspect_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "-";
}

json_int_t inspect_integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

char *inspect_show(const json_t *value)
{
    if (!value || json_is_null(value))
        return strdup("-");
    if (json_is_string(value) && !strpbrk(json_string_value(value), "\n\r\t\033"))
        return strdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
}

void inspect_cell(struct cli_table *table, const json_t *value)
{
    char *text = inspect_show(value);
    cli_table_cell(table, "%s", text ? text : "?");
    free(text);
}

static void cell_nbytes(struct cli_table *table, const json_t *value)
{
    char text[32] = "-";
    if (json_is_integer(value))
        inspect_show_nbytes((double)json_integer_value(value), text);
    cli_table_cell(table, "%s", text);
}

void inspect_print_table(struct cli_table *table, bool apart)
{
    if (apart)
        putchar('\n');
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* ---- Parts ----------------------------------------------------------------------- */

static void print_head(const json_t *document)
{
    struct cli_table *table = cli_table_create("<checkpoint|<value");
    cli_table_cell(table, "path");
    inspect_cell(table, json_object_get(document, "checkpoint"));
    cli_table_cell(table, "format");
    inspect_cell(table, json_object_get(document, "format"));
    cli_table_cell(table, "size");
    cell_nbytes(table, json_object_get(document, "nbytes"));
    cli_table_cell(table, "parameters");
    inspect_cell(table, json_object_get(document, "n_parameters"));
    cli_table_cell(table, "content sha256");
    const json_t *hash = json_object_get(document, "content_sha256");
    cli_table_cell(table, "%s",
                   json_is_string(hash) ? json_string_value(hash)
                                        : "not known (--verify computes it)");
    const json_t *runs = json_object_get(document, "runs");
    cli_table_cell(table, "runs");
    cli_table_cell(table, "%s%s%s",
                   json_is_true(runs)    ? "yes"
                   : json_is_false(runs) ? "no"
                                         : "unknown",
                   json_is_true(runs) ? "" : ": ",
                   json_is_true(runs) ? "" : inspect_text_of(document, "why_not"));
    inspect_print_table(table, false);
}

/* An object as two columns. */
static void print_object(const json_t *object, const char *headings)
{
    struct cli_table *table = cli_table_create(headings);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        cli_table_cell(table, "%s", key);
        inspect_cell(table, value);
    }
    inspect_print_table(table, true);
}

static void print_memory(const json_t *memory)
{
    char weights[32], copied[32];
    inspect_show_nbytes((double)inspect_integer_of(memory, "weights_nbytes"), weights);
    printf("\nmemory\nweights %s", weights);
    if (json_is_integer(json_object_get(memory, "copied_nbytes"))) {
        inspect_show_nbytes((double)inspect_integer_of(memory, "copied_nbytes"), copied);
        printf(" in the file, %s copied out of it", copied);
    }
    putchar('\n');
    const json_t *scratch = json_object_get(memory, "scratch");
    if (json_is_object(scratch)) {
        char f32[32] = "-", i8[32] = "-";
        if (json_is_integer(json_object_get(scratch, "f32")))
            inspect_show_nbytes((double)inspect_integer_of(scratch, "f32"), f32);
        if (json_is_integer(json_object_get(scratch, "i8")))
            inspect_show_nbytes((double)inspect_integer_of(scratch, "i8"), i8);
        printf("scratch %s in f32, %s in i8 arithmetic (context %lld, threads %lld)\n", f32, i8,
               (long long)inspect_integer_of(scratch, "ctx"),
               (long long)inspect_integer_of(scratch, "threads"));
    }
    const json_t *kv = json_object_get(memory, "kv");
    if (json_array_size(kv) == 0)
        return;
    struct cli_table *table = cli_table_create(">context|>kv f32|>kv f16|>kv i8");
    for (size_t i = 0; i < json_array_size(kv); i++) {
        const json_t *entry = json_array_get(kv, i);
        if (i % RML_N_KV_DTYPES == 0)
            inspect_cell(table, json_object_get(entry, "ctx"));
        cell_nbytes(table, json_object_get(entry, "nbytes"));
    }
    inspect_print_table(table, false);
}

static void print_tokenizer_error(const json_t *tokenizer)
{
    printf("\ntokenizer: cannot be read: %s: %s", inspect_text_of(tokenizer, "file"),
           inspect_text_of(tokenizer, "error"));
    if (json_is_integer(json_object_get(tokenizer, "offset")))
        printf(" (byte offset %lld)", (long long)inspect_integer_of(tokenizer, "offset"));
    putchar('\n');
}

static void print_tokenizer(const json_t *tokenizer)
{
    if (json_is_null(tokenizer))
        printf("\ntokenizer: none\n");
    else if (json_object_get(tokenizer, "error"))
        print_tokenizer_error(tokenizer);
    else
        print_object(tokenizer, "<tokenizer|<value");
}

static void print_tensors(const json_t *document)
{
    struct cli_table *table = cli_table_create("<type|>tensors|>size");
    size_t i;
    const json_t *entry;
    json_array_foreach(json_object_get(document, "dtypes"), i, entry)
    {
        inspect_cell(table, json_object_get(entry, "dtype"));
        inspect_cell(table, json_object_get(entry, "n_tensors"));
        cell_nbytes(table, json_object_get(entry, "nbytes"));
    }
    inspect_print_table(table, true);

    const json_t *tensors = json_object_get(document, "tensors");
    bool several = false; /* files */
    json_array_foreach(tensors, i, entry) several |=
        strcmp(inspect_text_of(entry, "file"),
               inspect_text_of(json_array_get(tensors, 0), "file")) != 0;
    table = cli_table_create(several ? "<tensor|<type|<shape|>bytes|>offset|<file"
                                     : "<tensor|<type|<shape|>bytes|>offset");
    json_array_foreach(tensors, i, entry)
    {
        inspect_cell(table, json_object_get(entry, "name"));
        inspect_cell(table, json_object_get(entry, "dtype"));
        inspect_cell(table, json_object_get(entry, "shape"));
        inspect_cell(table, json_object_get(entry, "nbytes"));
        inspect_cell(table, json_object_get(entry, "offset"));
        if (several) {
            const char *file = inspect_text_of(entry, "file"), *slash = strrchr(file, '/');
            cli_table_cell(table, "%s", slash ? slash + 1 : file);
        }
    }
    inspect_print_table(table, true);
}

void inspect_print_metadata(const json_t *metadata)
{
    struct cli_table *table = cli_table_create("<key|<type|>length|<value");
    size_t i;
    const json_t *entry;
    json_array_foreach(metadata, i, entry)
    {
        inspect_cell(table, json_object_get(entry, "key"));
        inspect_cell(table, json_object_get(entry, "type"));
        inspect_cell(table, json_object_get(entry, "length"));
        char *value = inspect_show(json_object_get(entry, "value"));
        enum { SHOWN = 72 };
        size_t n = value ? strlen(value) : 0, cut = n;
        if (n > SHOWN)
            for (cut = SHOWN; cut > 0 && ((unsigned char)value[cut] & 0xc0) == 0x80;)
                cut--;
        cli_table_cell(table, "%.*s%s", (int)cut, value ? value : "?", cut < n ? "..." : "");
        free(value);
    }
    inspect_print_table(table, true);
}

void inspect_print_findings(const json_t *verification)
{
    const json_t *findings = json_object_get(verification, "findings");
    long long n_values = (long long)inspect_integer_of(verification, "n_values");
    long long n_tensors = (long long)inspect_integer_of(verification, "n_tensors");
    size_t n_findings = json_array_size(findings);
    printf("\nverified: %lld value%s of %lld tensor%s, %zu finding%s\n", n_values,
           cli_plural((uint64_t)n_values), n_tensors, cli_plural((uint64_t)n_tensors), n_findings,
           cli_plural(n_findings));
    if (n_findings == 0)
        return;
    struct cli_table *table = cli_table_create("<tensor|<kind|>n|<element|>value|>typical");
    size_t i;
    const json_t *entry;
    json_array_foreach(findings, i, entry)
    {
        static const char *const keys[] = {"tensor", "kind", "n", "element", "value", "typical"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            inspect_cell(table, json_object_get(entry, keys[k]));
    }
    inspect_print_table(table, false);
}

void inspect_print(const json_t *document)
{
    print_head(document);
    if (json_is_object(json_object_get(document, "config")))
        print_object(json_object_get(document, "config"), "<recipe|<value");
    print_memory(json_object_get(document, "memory"));
    print_tokenizer(json_object_get(document, "tokenizer"));
    if (json_object_get(document, "metadata"))
        inspect_print_metadata(json_object_get(document, "metadata"));
    print_tensors(document);
    if (json_object_get(document, "verify"))
        inspect_print_findings(json_object_get(document, "verify"));
}
