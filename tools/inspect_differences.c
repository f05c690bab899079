/*
 * What differs between two checkpoints, as text for people.
 *
 * A model has hundreds of tensors, and a difference of the whole (another type, more experts) shows in
 * nearly all of them. So what differs in type alone is counted, not listed, and names that count
 * up stand on one line; -v lists each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_text.h"
#include "tools/cli/name_groups.h"

enum { N_SHOWN = 20 }; /* lines of a list, unless all are asked for */

/* Behind a list that was cut: how many tensors are left. */
static void say_more(size_t n)
{
    if (n > 0)
        printf("and %zu more (-v lists each, --json has all)\n", n);
}

/* ---- Lists of names ---------------------------------------------------------------------- */

static const char *lone_name(const json_t *entry)
{
    return json_string_value(entry);
}

static const char *pair_name(const json_t *entry)
{
    return inspect_text_of(entry, "name");
}

/* Groups of the list's entries, by names and kinds; each: every entry is a group. */
static bool group(struct cli_name_groups *out, const json_t *list,
                  const char *(*name)(const json_t *), char *(*kind)(const json_t *), bool each)
{
    size_t n = json_array_size(list);
    const char **names = calloc(n + 1, sizeof *names);
    char **kinds = calloc(n + 1, sizeof *kinds);
    bool ok = names && kinds;
    for (size_t i = 0; ok && i < n; i++) {
        names[i] = name(json_array_get(list, i));
        kinds[i] = each ? NULL : kind(json_array_get(list, i));
    }
    ok = ok && cli_group_names(out, names, (const char *const *)kinds, n);
    for (size_t i = 0; kinds && i < n; i++)
        free(kinds[i]);
    free(names);
    free(kinds);
    return ok;
}

/* ---- On one side only ------------------------------------------------------------------ */

static char *lone_kind(const json_t *entry)
{
    (void)entry;
    return strdup("");
}

static void print_lone(const json_t *names, const char *which, const char *checkpoint, bool each)
{
    struct cli_name_groups groups;
    size_t n_left = json_array_size(names);
    if (!group(&groups, names, lone_name, lone_kind, each))
        return;
    for (size_t i = 0; i < groups.n && (each || i < N_SHOWN); i++) {
        const struct cli_name_group *g = &groups.groups[i];
        printf("only in %s (%s): %s", which, checkpoint, g->name);
        if (g->n > 1)
            printf(" (%zu tensors)", g->n);
        putchar('\n');
        n_left -= g->n;
    }
    say_more(n_left);
    cli_name_groups_release(&groups);
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

/* Those whose shapes differ in the same way may stand on one line, others have values to show. */
static char *pair_kind(const json_t *entry)
{
    static const char *const keys[] = {"shape_a", "shape_b", "dtype_a", "dtype_b"};
    if (is_same_shape(entry))
        return NULL;
    json_t *kind = json_array();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_array_append(kind, json_object_get(entry, keys[i]));
    char *text = json_dumps(kind, 0);
    json_decref(kind);
    return text;
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
    cli_table_cell(table, "%s", name);
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
    struct cli_name_groups groups;
    size_t n_left = json_array_size(tensors);
    bool ok = group(&groups, tensors, pair_name, pair_kind, each);
    for (size_t i = 0; ok && i < groups.n && (each || i < N_SHOWN); i++) {
        const struct cli_name_group *g = &groups.groups[i];
        add_pair(table, g->name, json_array_get(tensors, g->first));
        n_left -= g->n;
    }
    inspect_print_table(table, false);
    say_more(n_left);
    if (ok)
        cli_name_groups_release(&groups);
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
