/*
 * Results, samples and the views over them; several writers; runs that died.
 */
#include "results/store.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/model_config.h"
#include "tools/cli/order_statistics.h"
#include "results/tests/store_fixture.h"

TestSuite(store_results, .fini = fixture_remove, .timeout = 120);

static struct store *open_store(const char *name)
{
    struct rml_error err = RML_ERROR_INIT;
    struct store *store = store_open(fixture_path(name), STORE_WRITE, &err);
    cr_assert(store, "%s: %s", err.file, err.message);
    return store;
}

static double number(struct store *store, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    cr_assert(sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s",
              sql, sqlite3_errmsg(store_handle(store)));
    cr_assert(sqlite3_step(stmt) == SQLITE_ROW);
    double value =
        sqlite3_column_type(stmt, 0) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static void expect_near(double got, double want)
{
    cr_expect(isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fabs(want),
              "%.17g, expected %.17g", got, want);
}

Test(store_results, view_agrees_with_a_hand_worked_sample)
{
    struct store *store = open_store("stat.db");
    int64_t run_id = fixture_begin(store);
    /* per iteration: 1 2 3 7 8 9 100; see test_order_statistics.c */
    const int64_t wall_ns[] = {90, 10, 80, 20, 70, 30, 1000};
    fixture_add_result(store, run_id, "hand", wall_ns, 7, 10);
    expect_near(number(store, "SELECT n_samples FROM v_stat"), 7);
    expect_near(number(store, "SELECT median_ns FROM v_stat"), 7);
    expect_near(number(store, "SELECT mad_ns FROM v_stat"), 4);
    expect_near(number(store, "SELECT min_ns FROM v_stat"), 1);
    expect_near(number(store, "SELECT ci_lo_ns FROM v_stat"), 1);
    expect_near(number(store, "SELECT ci_hi_ns FROM v_stat"), 100);
    expect_near(number(store, "SELECT ci_coverage FROM v_stat"), 0.984375);
    expect_near(number(store, "SELECT variance FROM v_stat"), (10208 - 16900.0 / 7) / 6);
    expect_near(number(store, "SELECT tokens_per_second FROM v_chart"), 1e9 / 7);
    expect_near(number(store, "SELECT tokens_per_second_hi FROM v_chart"), 1e9);
    expect_near(number(store, "SELECT kv = 'f16:i8' FROM v_chart"), 1);
    expect_near(number(store, "SELECT flops_per_second FROM v_chart"), NAN);
    store_close(store);
}

/* Above the tolerance, or no number at all: wrong. Nothing compared: not wrong. */
Test(store_results, wrong_rows_are_told_apart)
{
    static const struct {
        double max_abs_error, tolerance;
        int64_t is_wrong, is_compared;
    } rows[] = {
        {0, 0, 0, 0},         {1e9, 0, 0, 0},    {0, 2e-3, 0, 1},        {2e-3, 2e-3, 0, 1},
        {2.1e-3, 2e-3, 1, 1}, {NAN, 2e-3, 1, 1}, {INFINITY, 2e-3, 1, 1},
    };
    struct store *store = open_store("wrong.db");
    int64_t run_id = fixture_begin(store);
    struct store_case c = {.suite = "decoder",
                           .name = "x",
                           .engine = "peer",
                           .threads = -1,
                           .n_batch = -1,
                           .n_prompt = -1,
                           .n_gen = -1,
                           .n_depth = -1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct store_result r = {.max_abs_error = rows[i].max_abs_error,
                                 .tolerance = rows[i].tolerance};
        struct rml_error err = RML_ERROR_INIT;
        int64_t id = store_add_result(store, run_id, &c, &r, &err);
        cr_assert(id > 0, "%s", err.message);
        char sql[160];
        snprintf(sql, sizeof sql, "SELECT is_wrong FROM v_chart WHERE result_id = %lld",
                 (long long)id);
        cr_expect(fixture_number(store, sql) == rows[i].is_wrong, "row %zu", i);
        snprintf(sql, sizeof sql, "SELECT max_abs_error IS NOT NULL FROM result WHERE id = %lld",
                 (long long)id);
        cr_expect(fixture_number(store, sql) == rows[i].is_compared, "row %zu", i);
    }
    store_close(store);
}

/* Random samples of many sizes: the view's window functions and the C code must agree. */
Test(store_results, view_agrees_with_c)
{
    struct store *store = open_store("agree.db");
    int64_t run_id = fixture_begin(store);
    static const size_t sizes[] = {1, 2, 5, 6, 21, 22, 100, 1000, 1203};
    unsigned state = 1;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t n = sizes[s];
        int64_t *wall_ns = malloc(n * sizeof *wall_ns);
        double *x = malloc(n * sizeof *x);
        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            wall_ns[i] = 1000 + state % 500; /* with ties */
            x[i] = (double)wall_ns[i] / 4;
        }
        int64_t id = fixture_add_result(store, run_id, "random", wall_ns, n, 4);
        struct summary want = summarize(x, n, 0.95);
        const struct {
            const char *column;
            double want;
        } columns[] = {
            {"n_samples", (double)n}, {"median_ns", want.median}, {"mad_ns", want.mad},
            {"min_ns", want.min},     {"max_ns", want.max},       {"mean_ns", want.mean},
            {"ci_lo_ns", want.ci_lo}, {"ci_hi_ns", want.ci_hi},   {"variance", want.sd * want.sd}};
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
            char sql[128];
            snprintf(sql, sizeof sql, "SELECT %s FROM v_stat WHERE result_id = %lld",
                     columns[c].column, (long long)id);
            expect_near(number(store, sql), columns[c].want);
        }
        free(wall_ns);
        free(x);
    }
    /* one case, whose latest result is the last */
    cr_expect(fixture_number(store, "SELECT count(*) FROM bench_case") == 1);
    cr_expect(fixture_number(store, "SELECT count(*) FROM v_chart WHERE is_latest") == 1);
    cr_expect(fixture_number(store, "SELECT n_samples FROM v_chart WHERE is_latest") == 1203);
    store_close(store);
}

Test(store_results, case_key_holds_every_member)
{
    struct store_case c = {.suite = "decoder",
                           .name = "decode",
                           .work_version = 3,
                           .engine = "rml",
                           .arithmetic = "i8",
                           .isa = "avx2",
                           .weight_dtype = "Q4_0",
                           .k_dtype = "f16",
                           .v_dtype = "i8",
                           .threads = 2,
                           .n_batch = 1,
                           .n_prompt = -1,
                           .n_gen = 8,
                           .n_depth = 512,
                           .params_json = "{\"a\":1}"};
    char *key = store_case_key(&c, "abc");
    cr_expect(strcmp(key, "decoder/decode engine=rml model=abc weights=Q4_0 kv=f16:i8 "
                          "arithmetic=i8 isa=avx2 threads=2 batch=1 gen=8 depth=512 work=3 "
                          "params={\"a\":1}") == 0,
              "%s", key);
    free(key);
}

Test(store_results, deleting_a_run_takes_what_it_owns)
{
    struct store *store = open_store("delete.db");
    int64_t run_id = fixture_begin(store);
    const int64_t wall_ns[] = {1, 2, 3};
    fixture_add_result(store, run_id, "a", wall_ns, 3, 1);
    cr_assert(sqlite3_exec(store_handle(store), "DELETE FROM run", NULL, NULL, NULL) == SQLITE_OK);
    cr_expect(fixture_number(store, "SELECT count(*) FROM result") == 0);
    cr_expect(fixture_number(store, "SELECT count(*) FROM sample") == 0);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run_env") == 0);
    store_close(store);
}

Test(store_results, result_needs_its_run_and_model)
{
    struct store *store = open_store("fk.db");
    struct rml_error err = RML_ERROR_INIT;
    struct store_case c = {.suite = "s", .name = "n", .engine = "rml"};
    struct store_result r = {0};
    cr_expect(store_add_result(store, 12345, &c, &r, &err) == -1 && err.code == RML_INTERNAL);
    cr_expect(strstr(err.message, "FOREIGN KEY"), "%s", err.message);
    rml_error_clear(&err);
    c.model_id = 99;
    cr_expect(store_add_result(store, 1, &c, &r, &err) == -1 && err.code == RML_INVALID_ARGUMENT);
    store_close(store);
}

Test(store_results, models_and_goldens)
{
    struct store *store = open_store("golden.db");
    struct rml_error err = RML_ERROR_INIT;
    int64_t run_id = fixture_begin(store);
    struct rml_model_config config = {.architecture = "llama",
                                      .n_vocab = 64,
                                      .n_embd = 32,
                                      .n_layer = 2,
                                      .n_head = 4,
                                      .n_head_kv = 2,
                                      .head_dim = 8,
                                      .n_ff = 64,
                                      .sliding_window = 4,
                                      .rope_scaling = {.type = RML_ROPE_SCALING_YARN}};
    config.sliding_layer[1] = 1;
    char hash[65];
    memset(hash, 'a', 64);
    hash[64] = 0;
    struct store_model model = {hash, "/some/where/toy.gguf", 1000, &config, "F32", NULL};
    int64_t id = store_add_model(store, run_id, &model, &err);
    cr_assert(id > 0, "%s", err.message);
    model.tokenizer_sha256 = "bb";
    cr_expect(store_add_model(store, run_id, &model, &err) == id);
    model.tokenizer_sha256 = NULL;
    cr_expect(store_add_model(store, run_id, &model, &err) == id);
    cr_expect(fixture_number(store, "SELECT count(*) FROM model WHERE file_name = 'toy.gguf' AND"
                                    " n_ff = 64 AND tokenizer_sha256 = 'bb' AND n_params > 0 AND"
                                    " json_extract(config_json, '$.sliding_layers[0]') = 1 AND"
                                    " json_extract(config_json, '$.rope.scaling') = 'yarn'") == 1);

    struct store_golden golden = {.model_id = id,
                                  .name = "toy/fact",
                                  .kind = "logits",
                                  .reference_sha256 = hash,
                                  .arithmetic = "f32",
                                  .k_dtype = "f32",
                                  .v_dtype = "f32",
                                  .isa = "ref",
                                  .threads = 1,
                                  .n_positions = 5,
                                  .max_abs_error = NAN,
                                  .max_logsumexp_error = 1e-6,
                                  .tolerance = 2e-4,
                                  .first_bad = "position 3: nan"};
    cr_expect(store_add_golden(store, run_id, &golden, &err) > 0, "%s", err.message);
    cr_expect(fixture_number(store, "SELECT count(*) FROM golden WHERE max_abs_error IS NULL AND"
                                    " NOT passed AND tolerance = 2e-4") == 1);
    store_close(store);
}

/* ---- Several processes -------------------------------------------------------------- */

enum { N_WRITERS = 8, N_RESULTS = 25 };

static int write_results(void)
{
    struct rml_error err = RML_ERROR_INIT;
    /* all of them create the file at once */
    struct store *store = store_open(fixture_path("many.db"), STORE_WRITE, &err);
    struct store_run run = {.kind = STORE_RUN_BENCH, .seed = -1};
    int64_t run_id = store ? store_begin_run(store, &run, &err) : -1;
    if (run_id < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct store_sample samples[21];
    for (int i = 0; i < 21; i++)
        samples[i] = (struct store_sample){.rep = i, .iters = 1, .wall_ns = 100 + i};
    struct store_result r = {.iters_per_rep = 1, .samples = samples, .n_samples = 21};
    for (int i = 0; i < N_RESULTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "case %d", i);
        struct store_case c = {.suite = "s", .name = name, .engine = "rml"};
        if (store_add_result(store, run_id, &c, &r, &err) < 0) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
    }
    int rc = store_finish_run(store, run_id, STORE_COMPLETE, 0, &err) ? 0 : 1;
    store_close(store);
    return rc;
}

Test(store_results, eight_writers_lose_nothing)
{
    fixture_folder();
    for (int i = 0; i < N_WRITERS; i++) {
        pid_t child = fork();
        cr_assert(child >= 0);
        if (child == 0)
            _exit(write_results());
    }
    for (int i = 0; i < N_WRITERS; i++) {
        int status;
        cr_assert(wait(&status) > 0);
        cr_expect(status == 0);
    }
    struct store *store = open_store("many.db");
    cr_expect(fixture_number(store, "SELECT count(*) FROM run WHERE state = 'complete'") ==
              N_WRITERS);
    cr_expect(fixture_number(store, "SELECT count(*) FROM result") == N_WRITERS * N_RESULTS);
    cr_expect(fixture_number(store, "SELECT count(*) FROM sample") == N_WRITERS * N_RESULTS * 21);
    cr_expect(fixture_number(store, "SELECT count(*) FROM bench_case") == N_RESULTS);
    cr_expect(fixture_number(store, "SELECT count(*) FROM host") == 1);
    store_close(store);
}

/* ---- Dead runs ------------------------------------------------------------------------ */

static enum store_liveness liveness_of(struct store *store, int64_t run_id)
{
    struct rml_error err = RML_ERROR_INIT;
    enum store_liveness liveness;
    cr_assert(store_run_liveness(store, run_id, &liveness, &err), "%s", err.message);
    return liveness;
}

static void change_run(struct store *store, const char *set)
{
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE run SET %s", set);
    cr_assert(sqlite3_exec(store_handle(store), sql, NULL, NULL, NULL) == SQLITE_OK);
}

Test(store_results, killed_run_is_dead)
{
    struct store *store = open_store("dead.db");
    int pipe_fd[2];
    cr_assert(pipe(pipe_fd) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct rml_error err = RML_ERROR_INIT;
        struct store *own = store_open(fixture_path("dead.db"), STORE_WRITE, &err);
        struct store_run run = {.kind = STORE_RUN_BENCH, .seed = -1};
        int64_t id = own ? store_begin_run(own, &run, &err) : -1;
        if (write(pipe_fd[1], &id, sizeof id) != (ssize_t)sizeof id)
            _exit(1);
        for (;;)
            pause();
    }
    int64_t id;
    cr_assert(read(pipe_fd[0], &id, sizeof id) == (ssize_t)sizeof id && id > 0);
    cr_expect(liveness_of(store, id) == STORE_ALIVE);
    cr_assert(kill(child, SIGKILL) == 0);
    int status;
    cr_assert(waitpid(child, &status, 0) == child);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run WHERE state = 'running'") == 1);
    cr_expect(liveness_of(store, id) == STORE_DEAD);
    store_close(store);
}

Test(store_results, liveness_of_runs_elsewhere)
{
    struct store *store = open_store("live.db");
    struct rml_error err = RML_ERROR_INIT;
    int64_t id = fixture_begin(store);
    cr_expect(liveness_of(store, id) == STORE_ALIVE);
    change_run(store, "pid_start_ticks = pid_start_ticks + 1"); /* the pid was given out again */
    cr_expect(liveness_of(store, id) == STORE_DEAD);
    change_run(store, "pid_namespace = 'pid:[1]'"); /* another container */
    cr_expect(liveness_of(store, id) == STORE_UNKNOWN);
    change_run(store, "boot_id = 'other'"); /* this machine, before it was started anew */
    cr_expect(liveness_of(store, id) == STORE_DEAD);
    change_run(store, "hostname = 'other'");
    cr_expect(liveness_of(store, id) == STORE_UNKNOWN);
    change_run(store, "heartbeat_ns = heartbeat_ns - 90000 * 1000000000");
    cr_expect(liveness_of(store, id) == STORE_DEAD);
    cr_expect(store_finish_run(store, id, STORE_ABORTED, 130, &err));
    cr_expect(liveness_of(store, id) == STORE_ENDED);

    enum store_liveness liveness;
    cr_expect(!store_run_liveness(store, 77, &liveness, &err) && err.code == RML_NOT_FOUND);
    store_close(store);
}
