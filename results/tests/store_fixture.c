#include "results/tests/store_fixture.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

const char *fixture_folder(void)
{
    if (!folder[0]) {
        strcpy(folder, "/tmp/rml-store-XXXXXX");
        cr_assert(mkdtemp(folder));
    }
    return folder;
}

const char *fixture_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", fixture_folder(), name);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

void fixture_remove(void)
{
    if (folder[0])
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = 0;
}

int64_t fixture_number(struct store *store, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    cr_assert(sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s",
              sql, sqlite3_errmsg(store_handle(store)));
    cr_assert(sqlite3_step(stmt) == SQLITE_ROW, "%s", sql);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

int64_t fixture_begin(struct store *store)
{
    char *argv[] = {"rml-test", "--option", "caf\xe9", NULL};
    struct store_run run = {.kind = STORE_RUN_BENCH, .argc = 3, .argv = argv, .seed = 7};
    struct rml_error err = RML_ERROR_INIT;
    int64_t id = store_begin_run(store, &run, &err);
    cr_assert(id > 0, "%s", err.message);
    return id;
}

int64_t fixture_add_result(struct store *store, int64_t run_id, const char *name,
                           const int64_t *wall_ns, size_t n, int64_t iters)
{
    struct store_sample *samples = calloc(n + 1, sizeof *samples);
    for (size_t i = 0; i <= n; i++) {
        samples[i] = (struct store_sample){.rep = (int)i,
                                           .order_idx = (int)i,
                                           .is_warmup = i == 0,
                                           .t_mono_ns = 1000 * (int64_t)i,
                                           .iters = iters,
                                           .wall_ns = i == 0 ? 999999999 : wall_ns[i - 1],
                                           .cpu_ns = -1,
                                           .steal_ticks = -1,
                                           .nvcsw = -1,
                                           .nivcsw = -1,
                                           .minflt = -1,
                                           .majflt = -1};
    }
    struct store_case c = {.suite = "attention",
                           .name = name,
                           .work_version = 1,
                           .engine = "rml",
                           .k_dtype = "f16",
                           .v_dtype = "i8",
                           .threads = 2,
                           .n_batch = 1,
                           .n_prompt = -1,
                           .n_gen = 1,
                           .n_depth = 512};
    struct store_result r = {.engine_version = "0",
                             .iters_per_rep = iters,
                             .items_per_iter = 1,
                             .bytes_per_iter = 1e6,
                             .flops_per_iter = -1,
                             .rss_bytes = -1,
                             .kv_bytes = 4096,
                             .samples = samples,
                             .n_samples = n + 1};
    struct rml_error err = RML_ERROR_INIT;
    int64_t id = store_add_result(store, run_id, &c, &r, &err);
    cr_assert(id > 0, "%s", err.message);
    free(samples);
    return id;
}
