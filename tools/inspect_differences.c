/*
 * What differs between two checkpoints, as text for people.
 *
 * A model has hundreds of tensors, and a difference of the whole (another type, more experts) shows in
 * nearly all of them. So what differs in type alone is counted, not listed, and names that count
 * up stand on one line; -v lists each.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_text.h"

enum { N_SHOWN = 20 }; /* lines of a list, unless all are asked for */

/* Behind a list that was cut: how many tensors are left. */
static void say_more(size_t n)
{
    if (n > 0)
        printf("and %zu more (-v lists each, --json has all)\n", n);
}

/* ---- Names that count up ----------------------------------------------------------------- */

/* Whether b is a with one number greater by one, which begins at *at. */
static bool follows(const char *a, const char *b, size_t *at)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    while (i > 0 && isdigit((unsigned char)a[i - 1]))
        i--;
    if (!isdigit((unsigned char)a[i]) || !isdigit((unsigned char)b[i]))
        return false;
    char *end_a, *end_b;
    unsigned long long x = strtoull(a + i, &end_a, 10), y = strtoull(b + i, &end_b, 10);
    *at = i;
    return y == x + 1 && strcmp(end_a, end_b) == 0;
}

typedef const char *name_fn(const json_t *list, size_t i);
/* Whether entries i and k, whose names count up, may stand on one line. */
typedef bool alike_fn(const json_t *list, size_t i, size_t k);

/* How many entries from the i-th on have names in which the same number counts up; at least 1. */
static size_t run_length(const json_t *list, size_t i, name_fn *name, alike_fn *alike)
{
    size_t n = json_array_size(list), k = i + 1, first, at;
    if (k == n || !alike(list, i, k) || !follows(name(list, i), name(list, k), &first))
        return 1;
    for (k++; k < n && alike(list, i, k); k++)
        if (!follows(name(list, k - 1), name(list, k), &at) || at != first)
            break;
    return k - i;
}

/* "blk.0.ffn_up.{0..7}.weight" for a run; malloc. */
static char *run_name(const char *first, const char *last)
{
    size_t at = 0, nbytes = strlen(first) + strlen(last) + 8;
    char *out = malloc(nbytes);
    if (!out || strcmp(first, last) == 0)
        return out ? strcpy(out, first) : NULL;
    while (first[at] == last[at])
        at++;
    while (at > 0 && isdigit((unsigned char)first[at - 1]))
        at--;
    size_t n_first = strspn(first + at, "0123456789"), n_last = strspn(last + at, "0123456789");
    snprintf(out, nbytes, "%.*s{%.*s..%.*s}%s", (int)at, first, (int)n_first, first + at,
             (int)n_last, last + at, first + at + n_first);
    return out;
}

/* ---- On one side only ------------------------------------------------------------------ */

static const char *lone_name(const json_t *names, size_t i)
{
    return json_string_value(json_array_get(names, i));
}

static bool always_alike(const json_t *list, size_t i, size_t k)
{
    (void)list, (void)i, (void)k;
    return true;
}

static void print_lone(const json_t *names, const char *which, const char *checkpoint, bool each)
{
    size_t n = json_array_size(names), i = 0;
    for (size_t n_lines = 0; i < n && (each || n_lines < N_SHOWN); n_lines++) {
        size_t run = each ? 1 : run_length(names, i, lone_name, always_alike);
        char *name = run_name(lone_name(names, i), lone_name(names, i + run - 1));
        printf("only in %s (%s): %s", which, checkpoint, name ? name : "?");
        if (run > 1)
            printf(" (%zu tensors)", run);
        putchar('\n');
        free(name);
        i += run;
    }
    say_more(n - i);
}

/* ---- On both sides ---------------------------------------------------------------------- */

static bool is_same_shape(const json_t *entry)
{
    return json_equal(json_object_get(entry, "shape_a"), json_object_get(entry, "shape_b"));
}

/* The same values, in another type. */
static bool is_type_alone(const json_t *entry)
{
    return is_same_shape(entry) && inspect_integer_of(entry, "n_different") == 0;
}

static const char *pair_name(const json_t *tensors, size_t i)
{
    return inspect_text_of(json_array_get(tensors, i), "name");
}

/* Two whose shapes differ, in the same way. */
static bool differ_alike(const json_t *tensors, size_t i, size_t k)
{
    static const char *const keys[] = {"shape_a", "shape_b", "dtype_a", "dtype_b"};
    const json_t *a = json_array_get(tensors, i), *b = json_array_get(tensors, k);
    bool alike = !is_same_shape(a);
    for (size_t j = 0; j < sizeof keys / sizeof *keys; j++)
        alike = alike && json_equal(json_object_get(a, keys[j]), json_object_get(b, keys[j]));
    return alike;
}

static void cell_two(struct cli_table *table, const json_t *a, const json_t *b)
{
    char *x = inspect_show(a), *y = inspect_show(b);
    bool same = x && y && strcmp(x, y) == 0;
    cli_table_cell(table, "%s%s%s", x ? x : "?", same ? "" : " | ", same ? "" : y ? y : "?");
    free(x);
    free(y);
}

static void cell_distance(struct cli_table *table, const json_t *entry)
{
    const json_t *distance = json_object_get(entry, "max_abs_difference");
    if (json_is_null(distance) && is_same_shape(entry))
        cli_table_cell(table, "not finite");
    else
        inspect_cell(table, distance);
}

static void add_pair(struct cli_table *table, const char *name, const json_t *entry)
{
    cli_table_cell(table, "%s", name ? name : "?");
    cell_two(table, json_object_get(entry, "dtype_a"), json_object_get(entry, "dtype_b"));
    cell_two(table, json_object_get(entry, "shape_a"), json_object_get(entry, "shape_b"));
    if (is_type_alone(entry)) {
        cli_table_cell(table, "type alone");
        for (int i = 0; i < 5; i++)
            cli_table_cell(table, "-");
        return;
    }
    inspect_cell(table, json_object_get(entry, "n_different"));
    cell_distance(table, entry);
    inspect_cell(table, json_object_get(entry, "element"));
    inspect_cell(table, json_object_get(entry, "a"));
    inspect_cell(table, json_object_get(entry, "b"));
    const json_t *rms = json_object_get(entry, "relative_rms_difference");
    if (json_is_real(rms))
        cli_table_cell(table, "%.3g", json_real_value(rms));
    else
        cli_table_cell(table, "-");
}

static void print_pairs(const json_t *tensors, bool each)
{
    struct cli_table *table = cli_table_create(
        "<tensor|<type|<shape|>differ|>max difference|<element|>A|>B|>relative rms");
    size_t n = json_array_size(tensors), i = 0;
    for (size_t n_lines = 0; i < n && (each || n_lines < N_SHOWN); n_lines++) {
        size_t run = each ? 1 : run_length(tensors, i, pair_name, differ_alike);
        char *name = run_name(pair_name(tensors, i), pair_name(tensors, i + run - 1));
        add_pair(table, name, json_array_get(tensors, i));
        free(name);
        i += run;
    }
    inspect_print_table(table, false);
    say_more(n - i);
}

/* Of pairs that differ in type alone: how many there are of each pair of types. */
static void print_types(const json_t *pairs)
{
    json_t *counts = json_object(), *count; /* by "A | B", in the order found */
    const json_t *entry;
    size_t i;
    json_array_foreach(pairs, i, entry)
    {
        char types[64];
        snprintf(types, sizeof types, "%s | %s", inspect_text_of(entry, "dtype_a"),
                 inspect_text_of(entry, "dtype_b"));
        json_int_t n = json_integer_value(json_object_get(counts, types));
        json_object_set_new(counts, types, json_integer(n + 1));
    }
    struct cli_table *table = cli_table_create("<types|>tensors, equal in value");
    const char *types;
    json_object_foreach(counts, types, count)
    {
        cli_table_cell(table, "%s", types);
        inspect_cell(table, count);
    }
    inspect_print_table(table, false);
    json_decref(counts);
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
    char *element = inspect_show(json_object_get(worst, "element"));
    printf("worst element: %s %s, ", inspect_text_of(worst, "name"), element ? element : "?");
    if (isfinite(largest))
        printf("%.9g apart\n", largest);
    else
        printf("not finite\n");
    free(element);
}

static void print_tensors(const json_t *tensors, bool each)
{
    json_t *pairs = json_array(), *types = json_array(), *entry;
    size_t i;
    json_array_foreach(tensors, i, entry)
        json_array_append(!each && is_type_alone(entry) ? types : pairs, entry);
    if (json_array_size(pairs))
        print_pairs(pairs, each);
    if (json_array_size(types))
        print_types(types);
    print_worst(tensors);
    json_decref(pairs);
    json_decref(types);
}

static void print_recipe(const json_t *config)
{
    static const char *const keys[] = {"key", "a", "b"};
    struct cli_table *table = cli_table_create("<recipe|<A|<B");
    size_t i;
    const json_t *entry;
    json_array_foreach(config, i, entry)
    {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            inspect_cell(table, json_object_get(entry, keys[k]));
    }
    inspect_print_table(table, false);
}

void inspect_print_differences(const json_t *differences, const char *a, const char *b, bool each)
{
    const json_t *config = json_object_get(differences, "config");
    const json_t *tensors = json_object_get(differences, "tensors");
    if (json_is_true(json_object_get(differences, "equal"))) {
        printf("equal: recipe and %lld tensors\n",
               (long long)inspect_integer_of(differences, "n_compared"));
        return;
    }
    if (json_array_size(config))
        print_recipe(config);
    print_lone(json_object_get(differences, "only_a"), "A", a, each);
    print_lone(json_object_get(differences, "only_b"), "B", b, each);
    print_tensors(tensors, each);
    size_t n_types = 0, i;
    const json_t *entry;
    json_array_foreach(tensors, i, entry) n_types += is_type_alone(entry);
    printf("%zu of %lld tensors differ", json_array_size(tensors),
           (long long)inspect_integer_of(differences, "n_compared"));
    if (n_types > 0)
        printf(", %zu of them in type alone", n_types);
    putchar('\n');
}
