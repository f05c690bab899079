/*
 * Runs: begun as `running` with host, build and environment, ended with a state.
 */
#include "results/store_private.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "results/build_record.h"
#include "results/host.h"
#include "results/process_identity.h"
#include "results/run_env.h"
#include "tools/cli/json_out.h"

static const char *const kind_names[] = {
    [STORE_RUN_BENCH] = "bench", [STORE_RUN_GOLDEN] = "golden",     [STORE_RUN_EVAL] = "eval",
    [STORE_RUN_CHAT] = "chat",   [STORE_RUN_QUANTIZE] = "quantize", [STORE_RUN_IMPORT] = "import",
};

static const char *const state_names[] = {
    [STORE_COMPLETE] = "complete", [STORE_FAILED] = "failed", [STORE_ABORTED] = "aborted"};

static int64_t now_utc_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Host and build ------------------------------------------------------------------ */

/* An INSERT that meets an equal key must still give the id, so it updates something: the
 * name of the machine, which may have changed. */
int64_t store_upsert_host(struct store *store, const struct host_facts *h, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO host(fingerprint, hostname, arch, cpu_vendor, cpu_model, family, model,"
               " stepping, microcode, isa_flags, cores, threads, l1d_bytes, l2_bytes, l3_bytes,"
               " mem_bytes, numa_nodes, hypervisor)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
               " ON CONFLICT(fingerprint) DO UPDATE SET hostname = excluded.hostname"
               " RETURNING id");
    query_text(&q, h->fingerprint);
    query_text(&q, h->hostname);
    query_text(&q, h->arch);
    query_text(&q, h->cpu_vendor);
    query_text(&q, h->cpu_model);
    query_count(&q, h->family);
    query_count(&q, h->model);
    query_count(&q, h->stepping);
    query_text(&q, h->microcode[0] ? h->microcode : NULL);
    query_text(&q, h->isa_flags);
    query_count(&q, h->cores);
    query_count(&q, h->threads);
    query_count(&q, h->l1d_bytes);
    query_count(&q, h->l2_bytes);
    query_count(&q, h->l3_bytes);
    query_count(&q, h->mem_bytes);
    query_count(&q, h->numa_nodes);
    query_text(&q, h->hypervisor[0] ? h->hypervisor : NULL);
    int64_t id = query_id(&q);
    return query_release(&q, "storing the host", err) ? id : -1;
}

int64_t store_upsert_build(struct store *store, const struct build_record *b, struct rml_error *err)
{
    const struct build_info *info = b->info;
    bool git = info->git_commit[0] != 0;
    struct query q;
    query_init(&q, store,
               "INSERT INTO build(binary_sha256, version, git_commit, git_dirty, git_diff_sha256,"
               " commit_unix_s, compiler, cflags, ldflags, libc)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
               " ON CONFLICT(binary_sha256) DO UPDATE SET version = excluded.version"
               " RETURNING id");
    query_text(&q, b->binary_sha256);
    query_text(&q, info->version);
    query_text(&q, git ? info->git_commit : NULL);
    query_count(&q, git ? info->git_dirty : -1);
    query_text(&q, info->git_diff_sha256[0] ? info->git_diff_sha256 : NULL);
    query_count(&q, git ? info->commit_unix_s : -1);
    query_text(&q, info->compiler);
    query_text(&q, info->cflags);
    query_text(&q, info->ldflags);
    query_text(&q, b->libc[0] ? b->libc : NULL);
    int64_t id = query_id(&q);
    return query_release(&q, "storing the build", err) ? id : -1;
}

/* ---- Texts of a run -------------------------------------------------------------------- */

/* Version 4: random, but for six bits. */
static bool make_uuid(char uuid[37], struct rml_error *err)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return rmli_fail(err, RML_IO, NULL, -1, "the kernel gives no random numbers");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    char *p = uuid;
    for (int i = 0; i < 16; i++)
        p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return true;
}

char *store_argv_json(int argc, char *const *argv)
{
    json_t *array = json_array();
    for (int i = 0; i < argc; i++)
        json_array_append_new(array, cli_json_text(argv[i]));
    char *text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

/* What bears on a run; never the whole environment, which may hold secrets. */
static char *env_json(void)
{
    static const char *const allowed[] = {
        "RML_CPU",
        "RML_THREADS",
        "RML_DB",
        "RML_MODELS_DIR",
        "HF_HOME",
        "HF_HUB_CACHE",
        "LD_PRELOAD",
        "GLIBC_TUNABLES",
        "MALLOC_ARENA_MAX",
        "LANG",
        "LC_ALL",
        "CI",
        NULL,
    };
    json_t *object = json_object();
    for (const char *const *name = allowed; *name; name++) {
        const char *value = getenv(*name);
        if (value)
            json_object_set_new(object, *name, cli_json_text(value));
    }
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

/* ---- Environment ------------------------------------------------------------------------ */

struct env_rows {
    struct query q;
    int64_t run_id;
    const char *phase;
};

static bool add_env_row(void *user, const char *key, const char *value, const char *reason)
{
    struct env_rows *rows = user;
    query_int(&rows->q, rows->run_id);
    query_text(&rows->q, rows->phase);
    query_text(&rows->q, key);
    query_text(&rows->q, value);
    query_text(&rows->q, reason);
    query_run(&rows->q);
    return rows->q.rc == SQLITE_OK;
}

static bool add_env(struct store *store, int64_t run_id, const char *phase, struct rml_error *err)
{
    struct env_rows rows = {.run_id = run_id, .phase = phase};
    query_init(&rows.q, store,
               "INSERT INTO run_env(run_id, phase, key, value, reason) VALUES (?, ?, ?, ?, ?)");
    run_env_read("", add_env_row, &rows);
    return query_release(&rows.q, "storing the environment", err);
}

/* ---- Begin --------------------------------------------------------------- */

static int64_t insert_run(struct store *store, const struct store_run *run,
                          const struct process_identity *self, struct rml_error *err)
{
    char uuid[37];
    char *argv = store_argv_json(run->argc, run->argv), *env = env_json();
    int64_t id = -1;
    if (!argv || !env) {
        rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to store a run");
    } else if (make_uuid(uuid, err)) {
        int64_t now = now_utc_ns();
        struct query q;
        query_init(&q, store,
                   "INSERT INTO run(uuid, kind, state, host_id, build_id, start_ns, heartbeat_ns,"
                   " pid, pid_start_ticks, pid_namespace, boot_id, hostname, argv_json, env_json,"
                   " seed, label)"
                   " VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
        query_text(&q, uuid);
        query_text(&q, kind_names[run->kind]);
        query_int(&q, store->host_id);
        query_int(&q, store->build_id);
        query_int(&q, now);
        query_int(&q, now);
        query_int(&q, self->pid);
        query_count(&q, self->start_ticks);
        query_text(&q, self->pid_namespace);
        query_text(&q, self->boot_id);
        query_text(&q, self->hostname);
        query_text(&q, argv);
        query_text(&q, env);
        query_count(&q, run->seed);
        query_text(&q, run->label);
        id = query_id(&q);
        if (!query_release(&q, "storing a run", err))
            id = -1;
    }
    free(argv);
    free(env);
    return id;
}

/* What is written of this process, read before the lock is taken: it takes some ms (the binary
 * is hashed). */
struct provenance {
    struct host_facts host;
    struct build_record build;
    struct process_identity self;
};

static bool read_provenance(struct provenance *p, struct rml_error *err)
{
    process_identity_read(&p->self);
    return host_facts_read(&p->host, "", err) && build_record_read(&p->build, err);
}

/* Host and build, as the run refers to them. */
static bool know_provenance(struct store *store, const struct provenance *p, struct rml_error *err)
{
    store->host_id = store_upsert_host(store, &p->host, err);
    store->build_id = store->host_id < 0 ? -1 : store_upsert_build(store, &p->build, err);
    return store->build_id >= 0;
}

static bool add_plan(struct store *store, int64_t run_id, const char *plan_sha256,
                     struct rml_error *err)
{
    if (!plan_sha256)
        return true;
    struct query q;
    query_init(&q, store,
               "INSERT INTO run_env(run_id, phase, key, value) VALUES (?, 'start', 'plan_sha256',"
               " ?)");
    query_int(&q, run_id);
    query_text(&q, plan_sha256);
    query_run(&q);
    return query_release(&q, "storing a plan", err);
}

int64_t store_begin_run(struct store *store, const struct store_run *run, struct rml_error *err)
{
    if (!store)
        return 0;
    struct provenance p;
    if (!read_provenance(&p, err) || !store_begin(store, "storing a run", err))
        return -1;
    int64_t id = know_provenance(store, &p, err) ? insert_run(store, run, &p.self, err) : -1;
    bool ok =
        id >= 0 && add_env(store, id, "start", err) && add_plan(store, id, run->plan_sha256, err);
    return store_end(store, ok, "storing a run", err) ? id : -1;
}

/* ---- Going on ------------------------------------------------------------------------------- */

static bool find_errors(struct store *store, int64_t run_id, bool *found, struct rml_error *err)
{
    struct query q;
    query_init(
        &q, store,
        "SELECT 1 FROM result WHERE run_id = ? AND status = 'error' AND arm IS NULL LIMIT 1");
    query_int(&q, run_id);
    *found = query_step(&q);
    return query_release(&q, "looking for an unfinished run", err);
}

/* The newest unfinished run that nobody works on, or the last one when it has errors; 0: none, -1: an
 * error. */
static int64_t find_unfinished(struct store *store, const struct store_run *run,
                               struct rml_error *err)
{
    struct query q;
    query_init(
        &q, store,
        "SELECT r.id, r.state = 'complete' FROM run AS r JOIN run_env AS e ON e.run_id = r.id"
        " WHERE r.kind = ? AND r.host_id = ? AND r.build_id = ?"
        " AND e.phase = 'start' AND e.key = 'plan_sha256' AND e.value = ?"
        " ORDER BY r.start_ns DESC, r.id DESC");
    query_text(&q, kind_names[run->kind]);
    query_int(&q, store->host_id);
    query_int(&q, store->build_id);
    query_text(&q, run->plan_sha256);
    int64_t id = 0;
    bool ok = true, is_last = true;
    for (; ok && id == 0 && query_step(&q); is_last = false) {
        enum store_liveness liveness;
        int64_t candidate = sqlite3_column_int64(q.stmt, 0);
        bool is_complete = sqlite3_column_int(q.stmt, 1), has_errors = false;
        ok = store_run_liveness(store, candidate, &liveness, err) &&
             (!is_complete || !is_last || find_errors(store, candidate, &has_errors, err));
        if (ok && (liveness == STORE_DEAD || liveness == STORE_ENDED) &&
            (!is_complete || has_errors))
            id = candidate;
    }
    return query_release(&q, "looking for an unfinished run", err) && ok ? id : -1;
}

static bool take_over(struct store *store, int64_t run_id, const char *label,
                      const struct process_identity *self, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "DELETE FROM run_env WHERE run_id = ? AND phase = 'end'");
    query_int(&q, run_id);
    query_run(&q);
    if (!query_release(&q, "going on with a run", err))
        return false;
    query_init(&q, store,
               "UPDATE run SET state = 'running', exit_code = NULL, end_ns = NULL,"
               " heartbeat_ns = ?, pid = ?, pid_start_ticks = ?, pid_namespace = ?, boot_id = ?,"
               " hostname = ?, label = coalesce(?, label) WHERE id = ?");
    query_int(&q, now_utc_ns());
    query_int(&q, self->pid);
    query_count(&q, self->start_ticks);
    query_text(&q, self->pid_namespace);
    query_text(&q, self->boot_id);
    query_text(&q, self->hostname);
    query_text(&q, label);
    query_int(&q, run_id);
    query_run(&q);
    return query_release(&q, "going on with a run", err);
}

int64_t store_resume_run(struct store *store, const struct store_run *run, struct rml_error *err)
{
    if (!store)
        return 0;
    struct provenance p;
    if (!read_provenance(&p, err) || !store_begin(store, "going on with a run", err))
        return -1;
    int64_t id = know_provenance(store, &p, err) ? find_unfinished(store, run, err) : -1;
    bool ok = id == 0 || (id > 0 && take_over(store, id, run->label, &p.self, err));
    return store_end(store, ok, "going on with a run", err) ? id : -1;
}

/* ---- Heartbeat, end ------------------------------------------------------------------------- */

bool store_heartbeat(struct store *store, int64_t run_id, struct rml_error *err)
{
    if (!store)
        return true;
    struct query q;
    query_init(&q, store, "UPDATE run SET heartbeat_ns = ? WHERE id = ?");
    query_int(&q, now_utc_ns());
    query_int(&q, run_id);
    query_run(&q);
    return query_release(&q, "storing a sign of life", err);
}

bool store_finish_run(struct store *store, int64_t run_id, enum store_run_state state,
                      int exit_code, struct rml_error *err)
{
    if (!store)
        return true;
    if (!store_begin(store, "ending a run", err))
        return false;
    struct query q;
    int64_t now = now_utc_ns();
    query_init(&q, store,
               "UPDATE run SET state = ?, exit_code = ?, end_ns = ?, heartbeat_ns = ?"
               " WHERE id = ? AND state = 'running'");
    query_text(&q, state_names[state]);
    query_int(&q, exit_code);
    query_int(&q, now);
    query_int(&q, now);
    query_int(&q, run_id);
    query_run(&q);
    bool ok = query_release(&q, "ending a run", err);
    if (ok && sqlite3_changes(store->db) != 1)
        ok = rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                       "run %" PRId64 " is not running, so it cannot be ended", run_id);
    ok = ok && add_env(store, run_id, "end", err);
    return store_end(store, ok, "ending a run", err);
}

bool store_run_name(struct store *store, int64_t run_id, struct store_run_name *name,
                    struct rml_error *err)
{
    struct query q;
    *name = (struct store_run_name){0};
    query_init(&q, store, "SELECT uuid, kind FROM run WHERE id = ?");
    query_int(&q, run_id);
    if (query_step(&q)) {
        snprintf(name->uuid, sizeof name->uuid, "%s", (const char *)sqlite3_column_text(q.stmt, 0));
        snprintf(name->kind, sizeof name->kind, "%s", (const char *)sqlite3_column_text(q.stmt, 1));
    }
    return query_release(&q, "reading a run", err);
}
