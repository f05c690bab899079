/*
 * The readers of other programs' files on torn and damaged ones: whatever the bytes, a reader
 * either takes them or says what is wrong, and touches nothing outside (under ASan and UBSan).
 */
#include "results/import.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(import, .timeout = 120);

static const struct sample_file {
    const char *name;
    import_reader *read;
    size_t n_rows;
} files[] = {
    {"llama-bench.json", import_llama_bench, 2},
    {"llama-bench.jsonl", import_llama_bench, 2},
    {"llama-bench.csv", import_llama_bench, 2},
    {"llama-bench.sql", import_llama_bench, 2},
    {"gbench.json", import_google_benchmark, 4},
    {"gbench-aggregates.json", import_google_benchmark, 4},
    {"hyperfine-failed.json", import_hyperfine, 2},
};
enum { N_FILES = sizeof files / sizeof files[0] };

static char *read_sample(const char *name, size_t *nbytes)
{
    char path[1024];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/results/tests/import/%s", root ? root : ".", name);
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    char *data = malloc(1 << 16);
    *nbytes = fread(data, 1, 1 << 16, file);
    fclose(file);
    return data;
}

/* Reads a copy that ends where the bytes do. The number of rows, -1 when it was refused. */
static int read_bytes(import_reader *read, const char *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    char *copy = malloc(nbytes + 1);
    memcpy(copy, data, nbytes);
    copy[nbytes] = 0;
    struct import import = {.path = "file",
                            .err = &err,
                            .data = copy,
                            .nbytes = nbytes,
                            .measured_ns = -1,
                            .cores = -1};
    bool ok = read(&import);
    int n = ok ? (int)import.n_rows : -1;
    cr_expect(ok == (err.code == RML_OK), "refused without a reason, or taken with one");
    cr_expect(ok || (err.message[0] && strcmp(err.file, "file") == 0));
    cr_expect(!ok || n > 0);
    import_release(&import);
    free(copy);
    return n;
}

Test(import, whole_files_are_read)
{
    for (int f = 0; f < N_FILES; f++) {
        size_t nbytes;
        char *data = read_sample(files[f].name, &nbytes);
        cr_expect(read_bytes(files[f].read, data, nbytes) == (int)files[f].n_rows, "%s",
                  files[f].name);
        free(data);
    }
}

/* A file that was cut anywhere is refused, but for JSON Lines and SQL cut between records. */
Test(import, every_beginning_of_a_file)
{
    for (int f = 0; f < N_FILES; f++) {
        size_t nbytes;
        char *data = read_sample(files[f].name, &nbytes);
        size_t step = nbytes > 3000 ? 7 : 1, n_taken = 0;
        for (size_t n = 0; n + 2 < nbytes; n += step)
            n_taken += read_bytes(files[f].read, data, n) >= 0;
        bool is_lines = strstr(files[f].name, "jsonl") || strstr(files[f].name, "sql") ||
                        strstr(files[f].name, "csv");
        cr_expect(is_lines || n_taken == 0, "%s: %zu beginnings taken for whole", files[f].name,
                  n_taken);
        free(data);
    }
}

Test(import, damaged_bytes)
{
    uint64_t state = 1;
    for (int f = 0; f < N_FILES; f++) {
        size_t nbytes;
        char *data = read_sample(files[f].name, &nbytes);
        for (int round = 0; round < 400; round++) {
            char saved[4];
            size_t at[4];
            for (int i = 0; i < 4; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                at[i] = (size_t)(state >> 33) % nbytes;
                saved[i] = data[at[i]];
                data[at[i]] = (char)(state >> 24);
            }
            read_bytes(files[f].read, data, nbytes);
            for (int i = 3; i >= 0; i--)
                data[at[i]] = saved[i];
        }
        free(data);
    }
}
