/* Names of tensors put together: by hand, and that a group stands for its members and no others. */
#include "tools/cli/name_groups.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The groups' names with blanks between. */
static void expect_groups(const char *const *names, const char *const *kinds, size_t n,
                          const char *want)
{
    struct cli_name_groups groups;
    char got[1024] = "";
    size_t n_members = 0;
    cr_assert(cli_group_names(&groups, names, kinds, n));
    for (size_t i = 0; i < groups.n; i++) {
        strcat(strcat(got, i ? " " : ""), groups.groups[i].name);
        n_members += groups.groups[i].n;
    }
    cr_expect_str_eq(got, want, "%s, expected %s", got, want);
    cr_expect_eq(n_members, n);
    cli_name_groups_release(&groups);
}

#define EXPECT(want, ...)                                                                          \
    do {                                                                                           \
        const char *names[] = {__VA_ARGS__}, *kinds[sizeof names / sizeof *names];                 \
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)                                  \
            kinds[i] = "";                                                                         \
        expect_groups(names, kinds, sizeof names / sizeof *names, want);                           \
    } while (0)

Test(name_groups, by_hand)
{
    expect_groups(NULL, NULL, 0, "");
    EXPECT("a", "a");
    EXPECT("a b", "a", "b");
    EXPECT("l.{8..11}.w", "l.9.w", "l.11.w", "l.8.w", "l.10.w");
    EXPECT("l.2.w l.{8..9}.w l.11.w", "l.2.w", "l.8.w", "l.9.w", "l.11.w");
    EXPECT("l.{0..1}.a l.{0..1}.b", "l.0.a", "l.0.b", "l.1.a", "l.1.b");
    EXPECT("l.{0..1}.e.{3..5}.w", "l.0.e.3.w", "l.0.e.4.w", "l.0.e.5.w", "l.1.e.3.w", "l.1.e.4.w",
           "l.1.e.5.w");
    /* No box, but a row of the one and a pair of the other. */
    EXPECT("l.0.e.{0..2} l.{1..2}.e.{0..1}", "l.0.e.0", "l.0.e.1", "l.0.e.2", "l.1.e.0", "l.1.e.1",
           "l.2.e.0", "l.2.e.1");
    EXPECT("l.0.e.0 l.0.e.2 l.1.e.{0..1}", "l.0.e.0", "l.0.e.2", "l.1.e.0", "l.1.e.1");
    /* As many as a box has, and none. */
    EXPECT("a.{0..1}.0 a.{2..3}.1", "a.0.0", "a.1.0", "a.2.1", "a.3.1");
    EXPECT("a01 a02 a{1..2}", "a01", "a02", "a1", "a2");
    EXPECT("9999999999 a", "9999999999", "a");
    EXPECT("{1..2}", "1", "2");
    EXPECT("1a2 {11..12}", "1a2", "11", "12");
}

Test(name_groups, kinds_stay_apart)
{
    static const char *const names[] = {"a0", "a1", "a2", "a3", "a4", "a5"};
    static const char *const kinds[] = {"x", "x", "y", NULL, NULL, "y"};
    expect_groups(names, kinds, 6, "a{0..1} a2 a3 a4 a5");
}

/* Writes the names of a group, each with a newline. */
static void expand(const char *group, char *out)
{
    const char *open = strchr(group, '{');
    if (!open) {
        strcat(strcat(out, group), "\n");
        return;
    }
    unsigned low, high;
    int n_read = 0;
    cr_assert_eq(sscanf(open, "{%u..%u}%n", &low, &high, &n_read), 2, "%s", group);
    for (unsigned i = low; i <= high; i++) {
        char name[128];
        snprintf(name, sizeof name, "%.*s%u%s", (int)(open - group), group, i, open + n_read);
        expand(name, out);
    }
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Test(name_groups, groups_stand_for_their_members)
{
    enum { N = 60, RUNS = 300 };
    unsigned seed = 20261130;
    for (int run = 0; run < RUNS; run++) {
        char texts[N][32], *names[N], *sorted[2 * N];
        const char *kinds[N];
        size_t n = 0;
        int most = 2 + rand_r(&seed) % 4;
        for (int i = 0; i < N; i++) {
            int a = rand_r(&seed) % most, b = rand_r(&seed) % most, c = rand_r(&seed) % most;
            bool known = false;
            snprintf(texts[n], sizeof texts[n], "%c%d.%d%s%d", "ab"[c & 1], a + 8, b,
                     c & 2 ? "x" : ".y", c);
            for (size_t k = 0; k < n; k++)
                known |= strcmp(texts[k], texts[n]) == 0;
            names[n] = texts[n];
            kinds[n] = "";
            n += !known;
        }
        struct cli_name_groups groups;
        char all[N * 32 + 1] = "", *rest = all, *line;
        cr_assert(cli_group_names(&groups, (const char *const *)names, kinds, n));
        for (size_t i = 0; i < groups.n; i++)
            expand(groups.groups[i].name, all);
        size_t n_expanded = 0;
        while ((line = strtok_r(rest, "\n", &rest)) && n_expanded < sizeof sorted / sizeof *sorted)
            sorted[n_expanded++] = line;
        cr_assert_eq(n_expanded, n, "run %d: %zu names of %zu", run, n_expanded, n);
        qsort(sorted, n, sizeof *sorted, compare_strings);
        qsort(names, n, sizeof *names, compare_strings);
        for (size_t i = 0; i < n; i++)
            cr_expect_str_eq(sorted[i], names[i], "run %d", run);
        cli_name_groups_release(&groups);
    }
}
