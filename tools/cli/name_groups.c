/*
 * Names that differ in numbers alone: see name_groups.h.
 *
 * A name is a text and its numbers. Sorted by text and then by numbers, the names of one text are
 * tuples in order; such a stretch is one group when it is a whole box of tuples. If it is not, it is
 * cut at the first number that varies, into runs of values that are boxes, and those that are none
 * are cut further.
 */
#include "tools/cli/name_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers, experts and what else may be counted; of a name with more, the others are text. */
enum { MAX_NUMBERS = 4, MAX_DIGITS = 9 };

struct name {
    const char *text, *kind; /* kind: NULL for one that stands alone */
    size_t place;
    size_t n_numbers;
    unsigned numbers[MAX_NUMBERS];
    size_t begin[MAX_NUMBERS], end[MAX_NUMBERS]; /* of the digits */
};

static void read_numbers(struct name *name)
{
    const char *text = name->text;
    for (size_t i = 0; text[i] && name->n_numbers < MAX_NUMBERS;) {
        size_t n = strspn(text + i, "0123456789");
        /* A leading zero would be lost in a range. */
        if (n > 0 && n <= MAX_DIGITS && (n == 1 || text[i] != '0')) {
            name->begin[name->n_numbers] = i;
            name->end[name->n_numbers] = i + n;
            name->numbers[name->n_numbers++] = (unsigned)strtoul(text + i, NULL, 10);
        }
        i += n > 0 ? n : 1;
    }
}

/* The texts between the numbers. */
static int compare_texts(const struct name *a, const struct name *b)
{
    if (a->n_numbers != b->n_numbers)
        return a->n_numbers < b->n_numbers ? -1 : 1;
    for (size_t i = 0, at_a = 0, at_b = 0; i <= a->n_numbers; i++) {
        size_t n_a = i < a->n_numbers ? a->begin[i] - at_a : strlen(a->text + at_a);
        size_t n_b = i < b->n_numbers ? b->begin[i] - at_b : strlen(b->text + at_b);
        int order = n_a != n_b ? (n_a < n_b ? -1 : 1) : memcmp(a->text + at_a, b->text + at_b, n_a);
        if (order != 0 || i == a->n_numbers)
            return order;
        at_a = a->end[i];
        at_b = b->end[i];
    }
    return 0;
}

static int compare_groups(const struct name *a, const struct name *b)
{
    int order = compare_texts(a, b);
    if (order == 0 && a->kind && b->kind)
        order = strcmp(a->kind, b->kind);
    else if (order == 0)
        order = (a->kind != NULL) - (b->kind != NULL);
    return order;
}

static int compare(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    int order = compare_groups(a, b);
    for (size_t i = 0; order == 0 && i < a->n_numbers; i++)
        order = (a->numbers[i] > b->numbers[i]) - (a->numbers[i] < b->numbers[i]);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static int compare_first(const void *left, const void *right)
{
    const struct cli_name_group *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

/* ---- Boxes -------------------------------------------------------------------------------- */

/* Whether n names, sorted, are all tuples between the first's and the last's numbers. */
static bool is_box(const struct name *names, size_t n)
{
    const struct name *last = &names[n - 1];
    unsigned long long volume = 1;
    for (size_t i = 0; i < names->n_numbers && volume <= n; i++) {
        if (last->numbers[i] < names->numbers[i])
            return false;
        volume *= last->numbers[i] - names->numbers[i] + 1ULL;
    }
    if (volume != n)
        return false;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < names->n_numbers; i++)
            if (names[k].numbers[i] < names->numbers[i] || names[k].numbers[i] > last->numbers[i])
                return false;
    return true;
}

static bool add_group(struct cli_name_groups *out, const struct name *names, size_t n)
{
    const struct name *first = names, *last = &names[n - 1];
    size_t nbytes = strlen(first->text) + MAX_NUMBERS * (MAX_DIGITS + 4) + 1, used = 0, at = 0;
    struct cli_name_group group = {malloc(nbytes), first->place, n};
    if (!group.name)
        return false;
    for (size_t i = 0; i < first->n_numbers; i++) {
        if (first->numbers[i] == last->numbers[i])
            continue;
        used += (size_t)snprintf(group.name + used, nbytes - used, "%.*s{%u..%u}",
                                 (int)(first->begin[i] - at), first->text + at, first->numbers[i],
                                 last->numbers[i]);
        at = first->end[i];
    }
    snprintf(group.name + used, nbytes - used, "%s", first->text + at);
    for (size_t k = 1; k < n; k++)
        group.first = names[k].place < group.first ? names[k].place : group.first;
    out->groups[out->n++] = group;
    return true;
}

/* Names of one value of the number `from` from the first on. */
static size_t count_of_value(const struct name *names, size_t n, size_t from)
{
    size_t count = 1;
    while (count < n && names[count].numbers[from] == names->numbers[from])
        count++;
    return count;
}

/* Whether box b goes on where box a ends: the next value of the number `from`, the same ranges of
 * the numbers behind it. */
static bool goes_on(const struct name *a, size_t n_a, const struct name *b, size_t n_b, size_t from)
{
    bool same = b->numbers[from] == a[n_a - 1].numbers[from] + 1;
    for (size_t i = from + 1; same && i < a->n_numbers; i++)
        same = a->numbers[i] == b->numbers[i] && a[n_a - 1].numbers[i] == b[n_b - 1].numbers[i];
    return same;
}

/* The numbers before `from` are all equal. */
static bool add_boxes(struct cli_name_groups *out, const struct name *names, size_t n, size_t from)
{
    if (n == 0 || (names->kind && is_box(names, n)))
        return n == 0 || add_group(out, names, n);
    while (from < names->n_numbers && names[0].numbers[from] == names[n - 1].numbers[from])
        from++;
    for (size_t begin = 0, end; begin < n; begin = end) {
        const struct name *first = names + begin;
        size_t n_first = 1;
        if (names->kind && from < names->n_numbers)
            n_first = count_of_value(first, n - begin, from);
        end = begin + n_first;
        if (!is_box(first, n_first)) {
            if (!add_boxes(out, first, n_first, from + 1))
                return false;
            continue;
        }
        while (names->kind && from < names->n_numbers && end < n) {
            size_t n_next = count_of_value(names + end, n - end, from);
            if (!is_box(names + end, n_next) ||
                !goes_on(first, end - begin, names + end, n_next, from))
                break;
            end += n_next;
        }
        if (!add_group(out, first, end - begin))
            return false;
    }
    return true;
}

bool cli_group_names(struct cli_name_groups *out, const char *const *texts,
                     const char *const *kinds, size_t n)
{
    struct name *names = calloc(n + 1, sizeof *names);
    *out = (struct cli_name_groups){calloc(n + 1, sizeof *out->groups), 0};
    bool ok = names && out->groups;
    for (size_t i = 0; ok && i < n; i++) {
        names[i] = (struct name){.text = texts[i], .kind = kinds[i], .place = i};
        read_numbers(&names[i]);
    }
    if (ok && n > 1)
        qsort(names, n, sizeof *names, compare);
    for (size_t begin = 0, end; ok && begin < n; begin = end) {
        for (end = begin + 1; end < n && compare_groups(&names[begin], &names[end]) == 0;)
            end++;
        ok = add_boxes(out, names + begin, end - begin, 0);
    }
    free(names);
    if (ok && out->n > 1)
        qsort(out->groups, out->n, sizeof *out->groups, compare_first);
    if (!ok)
        cli_name_groups_release(out);
    return ok;
}

void cli_name_groups_release(struct cli_name_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free(groups->groups[i].name);
    free(groups->groups);
    *groups = (struct cli_name_groups){0};
}
