/*
 * The document as text for people.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "tools/cli/table.h"

void inspect_show_nbytes(double nbytes, char out[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;
    for (; nbytes >= 999.5 && u < sizeof units / sizeof *units - 1; u++)
        nbytes /= 1000;
    snprintf(out, 32, u == 0 ? "%.0f %s" : "%.3g %s", nbytes, units[u]);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "-";
}

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Compact JSON of a value, strings without quotes unless inside another value, "-" for null. malloc. */
static char *show(const json_t *value)
{
    if (!value || json_is_null(value))
        return strdup("-");
    if (json_is_string(value) && !strpbrk(json_string_value(value), "\n\r\t\033"))
        return strdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
}

static void cell_json(struct cli_table *table, const json_t *value)
{
    char *text = show(value);
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

static void print_table(struct cli_table *table, bool apart)
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
    cell_json(table, json_object_get(document, "checkpoint"));
    cli_table_cell(table, "format");
    cell_json(table, json_object_get(document, "format"));
    cli_table_cell(table, "size");
    cell_nbytes(table, json_object_get(document, "nbytes"));
    cli_table_cell(table, "parameters");
    cell_json(table, json_object_get(document, "n_parameters"));
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
                   json_is_true(runs) ? "" : text_of(document, "why_not"));
    print_table(table, false);
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
        cell_json(table, value);
    }
    print_table(table, true);
}

static void print_memory(const json_t *memory)
{
    char weights[32], copied[32];
    inspect_show_nbytes((double)integer_of(memory, "weights_nbytes"), weights);
    printf("\nmemory\nweights %s", weights);
    if (json_is_integer(json_object_get(memory, "copied_nbytes"))) {
        inspect_show_nbytes((double)integer_of(memory, "copied_nbytes"), copied);
        printf(" in the file, %s copied out of it", copied);
    }
    putchar('\n');
    const json_t *scratch = json_object_get(memory, "scratch");
    if (json_is_object(scratch)) {
        char f32[32] = "-", i8[32] = "-";
        if (json_is_integer(json_object_get(scratch, "f32")))
            inspect_show_nbytes((double)integer_of(scratch, "f32"), f32);
        if (json_is_integer(json_object_get(scratch, "i8")))
            inspect_show_nbytes((double)integer_of(scratch, "i8"), i8);
        printf("scratch %s in f32, %s in i8 arithmetic (context %lld, threads %lld)\n", f32, i8,
               (long long)integer_of(scratch, "ctx"), (long long)integer_of(scratch, "threads"));
    }
    const json_t *kv = json_object_get(memory, "kv");
    if (json_array_size(kv) == 0)
        return;
    struct cli_table *table = cli_table_create(">context|>kv f32|>kv f16|>kv i8");
    for (size_t i = 0; i < json_array_size(kv); i++) {
        const json_t *entry = json_array_get(kv, i);
        if (i % RML_N_KV_DTYPES == 0)
            cell_json(table, json_object_get(entry, "ctx"));
        cell_nbytes(table, json_object_get(entry, "nbytes"));
    }
    print_table(table, false);
}

static void print_tokenizer(const json_t *tokenizer)
{
    if (json_is_null(tokenizer))
        printf("\ntokenizer: none\n");
    else if (json_object_get(tokenizer, "error"))
        printf("\ntokenizer: cannot be read: %s\n", text_of(tokenizer, "error"));
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
        cell_json(table, json_object_get(entry, "dtype"));
        cell_json(table, json_object_get(entry, "n_tensors"));
        cell_nbytes(table, json_object_get(entry, "nbytes"));
    }
    print_table(table, true);

    const json_t *tensors = json_object_get(document, "tensors");
    bool several = false; /* files */
    json_array_foreach(tensors, i, entry) several |=
        strcmp(text_of(entry, "file"), text_of(json_array_get(tensors, 0), "file")) != 0;
    table = cli_table_create(several ? "<tensor|<type|<shape|>bytes|>offset|<file"
                                     : "<tensor|<type|<shape|>bytes|>offset");
    json_array_foreach(tensors, i, entry)
    {
        cell_json(table, json_object_get(entry, "name"));
        cell_json(table, json_object_get(entry, "dtype"));
        cell_json(table, json_object_get(entry, "shape"));
        cell_json(table, json_object_get(entry, "nbytes"));
        cell_json(table, json_object_get(entry, "offset"));
        if (several) {
            const char *file = text_of(entry, "file"), *slash = strrchr(file, '/');
            cli_table_cell(table, "%s", slash ? slash + 1 : file);
        }
    }
    print_table(table, true);
}

void inspect_print_metadata(const json_t *metadata)
{
    struct cli_table *table = cli_table_create("<key|<type|>length|<value");
    size_t i;
    const json_t *entry;
    json_array_foreach(metadata, i, entry)
    {
        cell_json(table, json_object_get(entry, "key"));
        cell_json(table, json_object_get(entry, "type"));
        cell_json(table, json_object_get(entry, "length"));
        char *value = show(json_object_get(entry, "value"));
        enum { SHOWN = 72 };
        size_t n = value ? strlen(value) : 0, cut = n;
        if (n > SHOWN)
            for (cut = SHOWN; cut > 0 && ((unsigned char)value[cut] & 0xc0) == 0x80;)
                cut--;
        cli_table_cell(table, "%.*s%s", (int)cut, value ? value : "?", cut < n ? "..." : "");
        free(value);
    }
    print_table(table, true);
}

void inspect_print_findings(const json_t *verification)
{
    const json_t *findings = json_object_get(verification, "findings");
    printf("\nverified: %lld values of %lld tensors, %zu findings\n",
           (long long)integer_of(verification, "n_values"),
           (long long)integer_of(verification, "n_tensors"), json_array_size(findings));
    if (json_array_size(findings) == 0)
        return;
    struct cli_table *table = cli_table_create("<tensor|<kind|>n|<element|>value|>typical");
    size_t i;
    const json_t *entry;
    json_array_foreach(findings, i, entry)
    {
        static const char *const keys[] = {"tensor", "kind", "n", "element", "value", "typical"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            cell_json(table, json_object_get(entry, keys[k]));
    }
    print_table(table, false);
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

/* ---- Differences --------------------------------------------------------------------- */

enum { N_SHOWN = 20 }; /* of a list of tensors, unless all are asked for */

static void say_more(size_t n, bool each)
{
    if (!each && n > N_SHOWN)
        printf("and %zu more (-v lists each, --json has all)\n", n - N_SHOWN);
}

static void print_lone(const json_t *names, const char *which, const char *checkpoint, bool each)
{
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name)
    {
        if (!each && i == N_SHOWN)
            break;
        printf("only in %s (%s): %s\n", which, checkpoint, json_string_value(name));
    }
    say_more(json_array_size(names), each);
}

static void print_pairs(const json_t *tensors, bool each)
{
    struct cli_table *table = cli_table_create(
        "<tensor|<type|<shape|>differ|>max difference|<element|>A|>B|>relative rms");
    size_t i;
    const json_t *entry;
    json_array_foreach(tensors, i, entry)
    {
        if (!each && i == N_SHOWN)
            break;
        const json_t *shape_a = json_object_get(entry, "shape_a");
        const json_t *shape_b = json_object_get(entry, "shape_b");
        const char *type_a = text_of(entry, "dtype_a"), *type_b = text_of(entry, "dtype_b");
        char *a = show(shape_a), *b = show(shape_b);
        cell_json(table, json_object_get(entry, "name"));
        bool same_type = strcmp(type_a, type_b) == 0, same_shape = json_equal(shape_a, shape_b);
        cli_table_cell(table, "%s%s%s", type_a, same_type ? "" : " | ", same_type ? "" : type_b);
        cli_table_cell(table, "%s%s%s", a, same_shape ? "" : " | ", same_shape ? "" : b);
        cell_json(table, json_object_get(entry, "n_different"));
        bool unbounded = json_is_null(json_object_get(entry, "max_abs_difference")) && same_shape;
        if (unbounded)
            cli_table_cell(table, "not finite");
        else
            cell_json(table, json_object_get(entry, "max_abs_difference"));
        cell_json(table, json_object_get(entry, "element"));
        cell_json(table, json_object_get(entry, "a"));
        cell_json(table, json_object_get(entry, "b"));
        const json_t *rms = json_object_get(entry, "relative_rms_difference");
        if (json_is_real(rms))
            cli_table_cell(table, "%.3g", json_real_value(rms));
        else
            cli_table_cell(table, "-");
        free(a);
        free(b);
    }
    print_table(table, false);
    say_more(json_array_size(tensors), each);
}

/* The line that says how far apart the two are. */
static void print_worst(const json_t *tensors)
{
    const json_t *worst = NULL, *entry;
    double largest = 0;
    size_t i;
    json_array_foreach(tensors, i, entry)
    {
        const json_t *distance = json_object_get(entry, "max_abs_difference");
        if (!json_is_array(json_object_get(entry, "element")))
            continue;
        double x = json_is_real(distance) ? json_real_value(distance) : HUGE_VAL;
        if (x > largest) {
            largest = x;
            worst = entry;
        }
    }
    if (!worst)
        return;
    char *element = show(json_object_get(worst, "element"));
    printf("worst element: %s %s, ", text_of(worst, "name"), element ? element : "?");
    if (isfinite(largest))
        printf("%.9g apart\n", largest);
    else
        printf("not finite\n");
    free(element);
}

void inspect_print_differences(const json_t *differences, const char *a, const char *b, bool each)
{
    const json_t *config = json_object_get(differences, "config");
    const json_t *tensors = json_object_get(differences, "tensors");
    if (json_is_true(json_object_get(differences, "equal"))) {
        printf("equal: recipe and %lld tensors\n",
               (long long)integer_of(differences, "n_compared"));
        return;
    }
    if (json_array_size(config)) {
        struct cli_table *table = cli_table_create("<recipe|<A|<B");
        size_t i;
        const json_t *entry;
        json_array_foreach(config, i, entry)
        {
            cell_json(table, json_object_get(entry, "key"));
            cell_json(table, json_object_get(entry, "a"));
            cell_json(table, json_object_get(entry, "b"));
        }
        print_table(table, false);
    }
    print_lone(json_object_get(differences, "only_a"), "A", a, each);
    print_lone(json_object_get(differences, "only_b"), "B", b, each);
    if (json_array_size(tensors))
        print_pairs(tensors, each);
    print_worst(tensors);
    printf("%zu of %lld tensors differ\n", json_array_size(tensors),
           (long long)integer_of(differences, "n_compared"));
}
