/*
 * Opening, schema, migrations and runs of the results database.
 */
#include "results/store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/schema.h"
#include "results/tests/store_fixture.h"

TestSuite(store, .fini = fixture_remove);

static struct store *open_store(const char *name)
{
    struct rml_error err = RML_ERROR_INIT;
    struct store *store = store_open(fixture_path(name), STORE_WRITE, &err);
    cr_assert(store, "%s: %s", err.file, err.message);
    return store;
}

/* Opening must fail with that code, the file's name, and a message that holds `part`. */
static void expect_refused(const char *path, enum store_mode mode, enum rml_code code,
                           const char *part)
{
    struct rml_error err = RML_ERROR_INIT;
    struct store *store = store_open(path, mode, &err);
    cr_expect(!store);
    cr_expect(err.code == code, "%s: code %s, expected %s: %s", path, rml_code_name(err.code),
              rml_code_name(code), err.message);
    cr_expect(strcmp(err.file, path) == 0, "%s", err.file);
    cr_expect(strstr(err.message, part), "'%s' is not in '%s'", part, err.message);
    store_close(store);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
    char *message = NULL;
    cr_assert(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s", message);
    sqlite3_close(db);
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
}

Test(store, schema_is_made_with_its_rules)
{
    struct store *store = open_store("new.db");
    cr_expect(fixture_number(store, "PRAGMA application_id") == SCHEMA_APPLICATION_ID);
    cr_expect(fixture_number(store, "PRAGMA user_version") == schema_n_versions);
    cr_expect(fixture_number(store, "PRAGMA foreign_keys") == 1);
    cr_expect(fixture_number(store, "PRAGMA synchronous") == 2);
    cr_expect(fixture_number(store, "PRAGMA busy_timeout") == 10000);
    cr_expect(fixture_number(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"));
    cr_expect(fixture_number(store, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main'"
                                    " AND type = 'table' AND NOT strict"
                                    " AND name NOT LIKE 'sqlite%'") == 0);
    store_close(store);
}

/* Every table and column that the design names. */
Test(store, tables_and_columns)
{
    static const char *const tables[][24] = {
        {"host",       "id",        "fingerprint", "hostname",   "arch",
         "cpu_vendor", "cpu_model", "family",      "model",      "stepping",
         "microcode",  "isa_flags", "cores",       "threads",    "l1d_bytes",
         "l2_bytes",   "l3_bytes",  "mem_bytes",   "numa_nodes", "hypervisor"},
        {"build", "id", "binary_sha256", "version", "git_commit", "git_dirty", "git_diff_sha256",
         "commit_unix_s", "compiler", "cflags", "ldflags", "libc"},
        {"model", "id", "content_sha256", "file_name", "file_bytes", "arch", "n_params", "n_layer",
         "weight_dtype", "tokenizer_sha256", "config_json"},
        {"run", "id", "uuid", "kind", "state", "exit_code", "host_id", "build_id", "start_ns",
         "end_ns", "heartbeat_ns", "pid", "boot_id", "argv_json", "env_json", "seed", "label"},
        {"run_env", "id", "run_id", "phase", "key", "value", "reason"},
        {"bench_case", "id", "case_key", "suite", "name", "work_version", "engine", "arithmetic",
         "isa", "model_id", "weight_dtype", "k_dtype", "v_dtype", "threads", "n_batch", "n_prompt",
         "n_gen", "n_depth", "params_json"},
        {"result", "id", "run_id", "bench_case_id", "arm", "engine_version", "status", "error",
         "warmup_iters", "iters_per_rep", "items_per_iter", "bytes_per_iter", "flops_per_iter",
         "output_sha256"},
        {"sample", "result_id", "rep", "order_idx", "is_warmup", "t_mono_ns", "iters", "wall_ns",
         "cpu_ns", "steal_ticks", "nvcsw", "nivcsw", "minflt", "majflt"},
        {"token_time", "result_id", "rep", "idx", "t_mono_ns"},
        {"counter", "id", "result_id", "rep", "metric", "value", "enabled_ns", "running_ns"},
        {"golden", "id", "run_id", "name", "kind", "reference_sha256", "max_abs_error", "kl_div",
         "first_bad", "tolerance", "passed"},
        {"eval_item", "id", "run_id", "task", "doc_id", "choice_idx", "request_sha256", "token_ids",
         "token_logprobs", "n_truncated", "is_greedy", "wall_ns"},
        {"eval_metric", "id", "run_id", "task", "metric", "value", "stderr", "n"},
        {"verdict", "id", "run_id", "base_result_id", "candidate_result_id", "metric", "method",
         "n", "ratio", "ci_lo", "ci_hi", "confidence", "gate_pct", "verdict"},
        {"annotation", "id", "bench_case_id", "host_id", "commit_sha", "kind", "note",
         "expires_ns"},
    };
    struct store *store = open_store("new.db");
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (size_t i = 1; tables[t][i]; i++) {
            char sql[256];
            snprintf(sql, sizeof sql,
                     "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'", tables[t][0],
                     tables[t][i]);
            cr_expect(fixture_number(store, sql) == 1, "%s.%s", tables[t][0], tables[t][i]);
        }
    }
    cr_expect(fixture_number(store, "SELECT count(*) FROM v_stat") == 0);
    cr_expect(fixture_number(store, "SELECT count(*) FROM v_chart") == 0);
    store_close(store);
}

Test(store, opening_again_keeps_what_is_there)
{
    struct store *store = open_store("again.db");
    fixture_begin(store);
    store_close(store);
    store = open_store("again.db");
    cr_expect(fixture_number(store, "SELECT count(*) FROM run") == 1);
    store_close(store);
}

/* A database as version 1 left it, with a row in each table that changes, is brought up to date
 * by a writer and refused by a reader until then. */
Test(store, an_older_schema_is_brought_up_to_date)
{
    const char *path = fixture_path("v1.db");
    run_sql(path, schema_v1_tables);
    run_sql(path, schema_v1_views);
    run_sql(path,
            "PRAGMA application_id = 1919773745; PRAGMA user_version = 1;"
            "INSERT INTO host(id, fingerprint) VALUES (1, 'h');"
            "INSERT INTO build(id, binary_sha256, version) VALUES (1, 'b', '0');"
            "INSERT INTO run(id, uuid, kind, state, host_id, build_id, start_ns, end_ns,"
            " heartbeat_ns, argv_json, env_json)"
            " VALUES (1, 'u', 'bench', 'complete', 1, 1, 1, 2, 2, '[]', '{}');"
            "INSERT INTO bench_case(id, case_key, suite, name, work_version, engine, params_json)"
            " VALUES (1, 'k', 's', 'n', 1, 'rml', '{}');"
            "INSERT INTO result(id, run_id, bench_case_id, status, warmup_iters, iters_per_rep)"
            " VALUES (1, 1, 1, 'ok', 0, 1);"
            "INSERT INTO eval_metric(run_id, task, metric, value) VALUES (1, 't', 'm', 0.5)");
    expect_refused(path, STORE_READ, RML_UNSUPPORTED, "schema version 1 is older");
    struct store *store = open_store("v1.db");
    cr_expect(fixture_number(store, "PRAGMA user_version") == schema_n_versions);
    cr_expect(fixture_number(store, "SELECT count(*) FROM v_chart WHERE NOT is_wrong") == 1);
    cr_expect(fixture_number(store, "SELECT value = 0.5 AND model_id IS NULL FROM eval_metric"));
    store_close(store);
}

/* A database whose creation was cut off before the first commit is an empty file. */
Test(store, empty_file_becomes_a_database)
{
    write_file(fixture_path("empty.db"), "", 0);
    store_close(open_store("empty.db"));
}

Test(store, refused_databases)
{
    char noise[8192];
    memset(noise, 'x', sizeof noise);
    write_file(fixture_path("noise.db"), noise, sizeof noise);
    expect_refused(fixture_path("noise.db"), STORE_WRITE, RML_FORMAT, "not an SQLite database");
    expect_refused(fixture_path("noise.db"), STORE_READ, RML_FORMAT, "not an SQLite database");

    run_sql(fixture_path("foreign.db"), "CREATE TABLE t(x); PRAGMA user_version = 1");
    expect_refused(fixture_path("foreign.db"), STORE_WRITE, RML_FORMAT, "another program");
    run_sql(fixture_path("foreign2.db"), "PRAGMA application_id = 77; CREATE TABLE t(x)");
    expect_refused(fixture_path("foreign2.db"), STORE_READ, RML_FORMAT, "0x0000004d");

    store_close(open_store("newer.db"));
    run_sql(fixture_path("newer.db"), "PRAGMA user_version = 99");
    expect_refused(fixture_path("newer.db"), STORE_WRITE, RML_UNSUPPORTED, "version 99 is newer");
    expect_refused(fixture_path("newer.db"), STORE_READ, RML_UNSUPPORTED, "version 99 is newer");

    run_sql(fixture_path("older.db"), "PRAGMA application_id = 1919773745");
    expect_refused(fixture_path("older.db"), STORE_READ, RML_UNSUPPORTED, "version 0 is older");

    /* The header's numbers have a sign. */
    static const char *const negative[][2] = {
        {"PRAGMA application_id = -1; CREATE TABLE t(x)", "application_id is 0xffffffff"},
        {"PRAGMA application_id = -2147483648", "application_id is 0x80000000"},
        {"PRAGMA user_version = -1", "schema version -1 found, expected 0 to"},
        {"PRAGMA application_id = 1919773745; PRAGMA user_version = -2147483648",
         "schema version -2147483648 found"},
    };
    for (size_t i = 0; i < sizeof negative / sizeof negative[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "negative%zu.db", i);
        run_sql(fixture_path(name), negative[i][0]);
        expect_refused(fixture_path(name), STORE_WRITE, RML_FORMAT, negative[i][1]);
        expect_refused(fixture_path(name), STORE_READ, RML_FORMAT, negative[i][1]);
    }

    expect_refused(fixture_path("missing.db"), STORE_READ, RML_NOT_FOUND, "no results database");
    expect_refused(fixture_path("no/such/folder.db"), STORE_WRITE, RML_IO, "cannot be opened");
    expect_refused(fixture_folder(), STORE_WRITE, RML_IO, "cannot be opened");
}

/* Nothing of a foreign file may have been changed by the attempt. */
Test(store, foreign_file_stays_as_it_was)
{
    run_sql(fixture_path("foreign.db"), "CREATE TABLE t(x)");
    struct stat before, after;
    cr_assert(stat(fixture_path("foreign.db"), &before) == 0);
    expect_refused(fixture_path("foreign.db"), STORE_WRITE, RML_FORMAT, "another program");
    cr_assert(stat(fixture_path("foreign.db"), &after) == 0);
    cr_expect(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    cr_expect(access(fixture_path("foreign.db-wal"), F_OK) != 0);
}

/* The page size and the tree roots stay, the content of every later page is noise. */
Test(store, damaged_database)
{
    struct store *store = open_store("damaged.db");
    int64_t run_id = fixture_begin(store);
    int64_t wall_ns[50];
    for (int i = 0; i < 50; i++)
        wall_ns[i] = 1000 + i;
    for (int i = 0; i < 20; i++)
        fixture_add_result(store, run_id, "a", wall_ns, 50, 1);
    store_close(store);

    struct stat st;
    const char *path = fixture_path("damaged.db");
    cr_assert(stat(path, &st) == 0);
    int fd = open(path, O_WRONLY);
    char noise[4096];
    memset(noise, 0xa5, sizeof noise);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        cr_assert(pwrite(fd, noise, sizeof noise, at) == (ssize_t)sizeof noise);
    close(fd);
    struct rml_error err = RML_ERROR_INIT;
    store = store_open(path, STORE_WRITE, &err);
    if (store) { /* the schema itself is on page 1 */
        struct store_run run = {.kind = STORE_RUN_BENCH, .seed = -1};
        cr_expect(store_begin_run(store, &run, &err) == -1);
    }
    cr_expect(err.code == RML_FORMAT, "%s", rml_code_name(err.code));
    cr_expect(strstr(err.message, "damaged"), "%s", err.message);
    store_close(store);
}

/* SQLITE_FULL is what a full disk gives; the limit on pages gives the same. */
Test(store, full_disk)
{
    struct store *store = open_store("full.db");
    int64_t run_id = fixture_begin(store);
    int64_t n_pages = fixture_number(store, "PRAGMA page_count");
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld", (long long)n_pages);
    fixture_number(store, sql);

    enum { N = 4000 };
    struct store_sample *samples = calloc(N, sizeof *samples);
    for (int i = 0; i < N; i++)
        samples[i] = (struct store_sample){.rep = i, .iters = 1, .wall_ns = 1};
    struct store_case c = {.suite = "s", .name = "n", .engine = "rml", .threads = 1};
    struct store_result r = {.samples = samples, .n_samples = N, .iters_per_rep = 1};
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(store_add_result(store, run_id, &c, &r, &err) == -1);
    cr_expect(err.code == RML_IO);
    cr_expect(strstr(err.message, "no space left"), "%s", err.message);
    /* all of it is undone, and the store goes on */
    cr_expect(fixture_number(store, "SELECT count(*) FROM result") == 0);
    cr_expect(fixture_number(store, "SELECT count(*) FROM bench_case") == 0);
    fixture_number(store, "PRAGMA max_page_count = 1000000");
    rml_error_clear(&err);
    cr_expect(store_add_result(store, run_id, &c, &r, &err) > 0, "%s", err.message);
    free(samples);
    store_close(store);
}

/* As another user where we are root, who may write everywhere. */
Test(store, read_only_file_and_folder)
{
    store_close(open_store("ro.db"));
    cr_assert(chmod(fixture_path("ro.db"), 0444) == 0);
    cr_assert(chmod(fixture_folder(), 0555) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        struct rml_error err = RML_ERROR_INIT;
        if (store_open(fixture_path("ro.db"), STORE_WRITE, &err) || err.code != RML_IO ||
            !strstr(err.message, "read-only"))
            _exit(1);
        rml_error_clear(&err);
        struct store *store = store_open(fixture_path("ro.db"), STORE_READ, &err);
        if (!store)
            _exit(2);
        store_close(store);
        rml_error_clear(&err);
        if (store_open(fixture_path("other.db"), STORE_WRITE, &err) || err.code != RML_IO)
            _exit(3);
        _exit(0);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child);
    cr_assert(chmod(fixture_folder(), 0755) == 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        cr_skip_test("cannot become another user");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", (unsigned)status);
}

Test(store, run_begins_and_ends)
{
    struct store *store = open_store("run.db");
    struct rml_error err = RML_ERROR_INIT;
    int64_t id = fixture_begin(store);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run WHERE state = 'running'"
                                    " AND end_ns IS NULL AND exit_code IS NULL AND seed = 7"
                                    " AND length(uuid) = 36 AND label IS NULL") == 1);
    cr_expect(fixture_number(store, "SELECT argv_json = '[\"rml-test\",\"--option\",\"caf?\"]'"
                                    " FROM run"));
    cr_expect(fixture_number(store, "SELECT json_valid(env_json) FROM run"));
    cr_expect(fixture_number(store, "SELECT length(fingerprint) = 64 AND threads > 0 FROM host"));
    cr_expect(fixture_number(store, "SELECT length(binary_sha256) FROM build") == 64);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run_env WHERE phase = 'start'") == 16);

    cr_expect(store_heartbeat(store, id, &err));
    cr_expect(store_finish_run(store, id, STORE_FAILED, 1, &err), "%s", err.message);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run WHERE state = 'failed' AND"
                                    " exit_code = 1 AND end_ns >= start_ns AND"
                                    " heartbeat_ns = end_ns") == 1);
    cr_expect(fixture_number(store, "SELECT count(*) FROM run_env WHERE phase = 'end'") == 16);

    cr_expect(!store_finish_run(store, id, STORE_COMPLETE, 0, &err));
    cr_expect(err.code == RML_INVALID_ARGUMENT && strstr(err.message, "not running"));

    int64_t second = fixture_begin(store);
    cr_expect(second != id);
    cr_expect(fixture_number(store, "SELECT count(*) FROM host") == 1);
    cr_expect(fixture_number(store, "SELECT count(*) FROM build") == 1);
    store_close(store);
}

Test(store, no_store_does_nothing_and_succeeds)
{
    struct rml_error err = RML_ERROR_INIT;
    struct store_run run = {.kind = STORE_RUN_GOLDEN};
    struct store_case c = {0};
    struct store_result r = {0};
    enum store_liveness liveness;
    cr_expect(store_begin_run(NULL, &run, &err) == 0 && store_heartbeat(NULL, 0, &err));
    cr_expect(store_add_result(NULL, 0, &c, &r, &err) == 0);
    cr_expect(store_finish_run(NULL, 0, STORE_COMPLETE, 0, &err));
    cr_expect(store_run_liveness(NULL, 0, &liveness, &err));
    cr_expect(!store_handle(NULL) && !store_file(NULL) && err.code == RML_OK);
    store_close(NULL);
}

Test(store, path_of_the_database)
{
    char path[512];
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(chdir(fixture_folder()) == 0);
    cr_assert(setenv("RML_DB", "env.db", 1) == 0);
    cr_assert(setenv("XDG_DATA_HOME", fixture_path("data"), 1) == 0);
    cr_expect(store_path("given.db", path, sizeof path, &err) && strcmp(path, "given.db") == 0);
    cr_expect(store_path(NULL, path, sizeof path, &err) && strcmp(path, "env.db") == 0);
    setenv("RML_DB", "", 1);
    cr_expect(store_path(NULL, path, sizeof path, &err));
    cr_expect(strcmp(path, fixture_path("data/rml/rml.db")) == 0, "%s", path);
    cr_expect(access(fixture_path("data/rml"), F_OK) == 0);
    cr_assert(mkdir("results", 0777) == 0);
    cr_expect(store_path(NULL, path, sizeof path, &err) && strcmp(path, "results/rml.db") == 0);
    cr_assert(rmdir("results") == 0);

    cr_expect(!store_path("", path, sizeof path, &err) && err.code == RML_INVALID_ARGUMENT);
    rml_error_clear(&err);
    cr_expect(!store_path("a-long-name", path, 5, &err) && err.code == RML_INVALID_ARGUMENT);
    rml_error_clear(&err);
    write_file("data/rml-file", "", 0);
    setenv("XDG_DATA_HOME", fixture_path("data/rml-file"), 1);
    cr_expect(!store_path(NULL, path, sizeof path, &err) && err.code == RML_IO);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", fixture_path("home"), 1);
    rml_error_clear(&err);
    cr_expect(store_path(NULL, path, sizeof path, &err), "%s", err.message);
    cr_expect(strcmp(path, fixture_path("home/.local/share/rml/rml.db")) == 0, "%s", path);
    cr_assert(chdir("/") == 0);
}
