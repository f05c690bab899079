/*
 * Files of counts, what callgrind leaves, and when two sets compare.
 */
#include "bench/icount.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *write_file(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/rml-icount-test-%d", (int)getpid());
    FILE *out = fopen(path, "w");
    cr_assert(out);
    fputs(text, out);
    fclose(out);
    return path;
}

Test(icount, callgrind_files)
{
    /* As callgrind 3.19 writes them; the format is in its manual, "Callgrind Format Specification" */
    static const struct {
        const char *text;
        int64_t count; /* 0: no such file of ours */
    } cases[] = {
        {"# callgrind format\nversion: 1\npart: 1\nevents: Ir\nsummary: 18139\n\nfn=(1)\n0 7\n"
         "totals: 18139\n",
         18139},
        {"version: 1\nevents: Ir\nfn=(1)\n0 7\n\ntotals: 7\n", 7},
        {"version: 1\nevents: Ir Dr\nsummary: 7 3\n", 0}, /* two events: another option was set */
        {"version: 1\nevents: Ir\n", 0},
        {"version: 1\nevents: Ir\nsummary: 0\n", 0}, /* the region never ran */
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        int64_t count = -1;
        const char *file = write_file(cases[i].text);
        bool ok = icount_parse_callgrind(file, &count, &err);
        cr_expect(ok == (cases[i].count > 0), "case %zu", i);
        cr_expect(ok ? count == cases[i].count : err.code == RML_FORMAT, "case %zu: %lld", i,
                  (long long)count);
        remove(file);
    }
    struct rml_error err = RML_ERROR_INIT;
    int64_t count;
    cr_expect(!icount_parse_callgrind("/nosuch/file", &count, &err) && err.code == RML_IO);
}

static struct icounts some_counts(void)
{
    struct icounts c;
    memset(&c, 0, sizeof c);
    strcpy(c.compiler, "gcc 12.2.0");
    strcpy(c.cflags, "-O3 -g");
    strcpy(c.libc, "glibc 2.36");
    strcpy(c.isa, "avx2");
    c.n = 2;
    strcpy(c.counts[0].name, "a/b x 8");
    c.counts[0].n_instructions = 123456789012;
    strcpy(c.counts[1].name, "c");
    c.counts[1].n_instructions = 1;
    return c;
}

Test(icount, files_read_back_as_written)
{
    struct rml_error err = RML_ERROR_INIT;
    struct icounts wrote = some_counts(), read;
    const char *file = write_file("");
    cr_assert(icount_write(file, &wrote, &err), "%s", err.message);
    cr_assert(icount_read(file, &read, &err), "%s", err.message);
    cr_expect(memcmp(&wrote, &read, sizeof read) == 0);
    remove(file);
    cr_expect(!icount_read("/nosuch/file", &read, &err) && err.code == RML_NOT_FOUND);
}

Test(icount, other_files_are_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"format\": \"rml-icount\", \"version\": 1",
        "{\"format\": \"rml-golden\", \"version\": 1, \"compiler\": \"c\", \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i\", \"counts\": {\"a\": 1}}",
        "{\"format\": \"rml-icount\", \"version\": 2, \"compiler\": \"c\", \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i\", \"counts\": {\"a\": 1}}",
        "{\"format\": \"rml-icount\", \"version\": 1, \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i\", \"counts\": {\"a\": 1}}",
        "{\"format\": \"rml-icount\", \"version\": 1, \"compiler\": \"c\", \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i\", \"counts\": {}}",
        "{\"format\": \"rml-icount\", \"version\": 1, \"compiler\": \"c\", \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i\", \"counts\": {\"a\": -1}}",
        "{\"format\": \"rml-icount\", \"version\": 1, \"compiler\": \"c\", \"cflags\": \"f\","
        " \"libc\": \"l\", \"isa\": \"i-that-is-much-too-long\", \"counts\": {\"a\": 1}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        struct icounts counts;
        const char *file = write_file(texts[i]);
        cr_expect(!icount_read(file, &counts, &err) && err.code == RML_FORMAT, "text %zu", i);
        remove(file);
    }
}

Test(icount, what_may_not_differ_is_named)
{
    struct icounts base = some_counts(), head = some_counts();
    cr_expect(icount_difference(&base, &head) == NULL);
    head.counts[0].n_instructions++;
    cr_expect(icount_difference(&base, &head) == NULL);
    strcpy(head.isa, "ref");
    cr_expect_str_eq(icount_difference(&base, &head), "instruction set");
    strcpy(head.libc, "glibc 2.41");
    cr_expect_str_eq(icount_difference(&base, &head), "libc");
    strcpy(head.cflags, "-O2 -g");
    cr_expect_str_eq(icount_difference(&base, &head), "compiler flags");
    strcpy(head.compiler, "clang 14");
    cr_expect_str_eq(icount_difference(&base, &head), "compiler");
    cr_expect(icount_find(&base, "c") == 1 && icount_find(&base, "d") == -1);
}
