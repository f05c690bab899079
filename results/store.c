/*
 * Opening and closing the results database, and bringing its schema up to date.
 *
 * WAL lets readers and one writer work at once and makes a commit one sync; it
 * needs memory shared between processes, which network filesystems do not give, so
 * there the rollback journal is used. synchronous = FULL: a commit that returned
 * is on the disk.
 */
#include "results/store_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/order_statistics.h"
#include "results/schema.h"

#define OLDEST_SQLITE 3037000 /* STRICT tables */

/* f_type of filesystems whose locks or shared mappings reach over a network, or may
 * (FUSE: sshfs, virtiofs, many others). From statfs(2) and linux/magic.h. */
bool store_is_on_network(const char *path)
{
    static const unsigned long magics[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xfe534d42, /* SMB2 */
        0xff534d42, /* CIFS */
        0x00c36400, /* Ceph */
        0x01021997, /* 9p */
        0x01161970, /* GFS2 */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x5346414f, /* AFS */
        0x65735546, /* FUSE */
        0x73757245, /* Coda */
        0x7461636f, /* OCFS2 */
        0x786f4256, /* VirtualBox shared folder */
    };
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (((unsigned long)fs.f_type & 0xffffffff) == magics[i])
            return true;
    }
    return false;
}

/* A PRAGMA's integer, which may be negative in a file that is not ours. */
static bool pragma(struct store *store, const char *sql, int64_t *value, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, sql);
    *value = query_id(&q);
    return query_release(&q, "opening it", err);
}

/* ---- Schema -------------------------------------------------------------------- */

/* What has nothing in it becomes a database when it is written to; to whoever wants to read, it is
 * none. The log counts as part of the file, so it is SQLite that was asked. */
static bool refuse_nothing(const struct store *store, struct rml_error *err)
{
    struct stat st;
    bool is_empty = stat(store->path, &st) == 0 && st.st_size == 0;
    return store_refuse(store, err, RML_FORMAT, "%s found, expected a results database",
                        is_empty ? "an empty file" : "an SQLite database without tables");
}

/* *version is the database's; false when it is none of ours, or too new. */
static bool check_version(struct store *store, int *version, struct rml_error *err)
{
    int64_t application, user_version, n_objects;
    if (!pragma(store, "PRAGMA application_id", &application, err) ||
        !pragma(store, "PRAGMA user_version", &user_version, err) ||
        !pragma(store, "SELECT count(*) FROM sqlite_schema", &n_objects, err))
        return false;
    if (application != SCHEMA_APPLICATION_ID && (application != 0 || n_objects > 0))
        return store_refuse(store, err, RML_FORMAT,
                            "an SQLite database of another program: application_id is 0x%08x, "
                            "expected 0x%08x",
                            (unsigned)application, SCHEMA_APPLICATION_ID);
    if (user_version < 0)
        return store_refuse(store, err, RML_FORMAT, "schema version %lld found, expected 0 to %d",
                            (long long)user_version, schema_n_versions);
    if (user_version > schema_n_versions)
        return store_refuse(store, err, RML_UNSUPPORTED,
                            "schema version %lld is newer than this program, which knows %d; use "
                            "a newer rml, or another database with --db",
                            (long long)user_version, schema_n_versions);
    if (application == 0 && store->mode != STORE_WRITE) /* then n_objects is 0 */
        return refuse_nothing(store, err);
    *version = application == 0 ? 0 : (int)user_version;
    return true;
}

static bool fill_median_intervals(struct store *store, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "INSERT INTO median_interval VALUES (?, ?, ?, ?)");
    for (int n = 1; n <= SCHEMA_MEDIAN_INTERVAL_ROWS && q.rc == SQLITE_OK; n++) {
        int64_t rank = (int64_t)median_interval_rank((size_t)n, 0.95);
        query_int(&q, n);
        query_ref(&q, rank);
        query_ref(&q, rank ? n + 1 - rank : 0);
        query_real(&q, median_interval_coverage((size_t)n, rank ? (size_t)rank : 1));
        query_run(&q);
    }
    return query_release(&q, "creating the schema", err);
}

static bool apply(struct store *store, int version, struct rml_error *err)
{
    for (int v = version; v < schema_n_versions; v++) {
        for (const char *const *script = schema_versions[v].scripts; *script; script++) {
            if (!store_execute(store, *script, "creating the schema", err))
                return false;
        }
        if (v == 0 && !fill_median_intervals(store, err))
            return false;
    }
    char sql[128];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             SCHEMA_APPLICATION_ID, schema_n_versions);
    return store_execute(store, sql, "creating the schema", err);
}

/* Brings the schema up to date (STORE_WRITE) or checks that it is (STORE_READ). */
static bool migrate(struct store *store, struct rml_error *err)
{
    int version = 0;
    if (!check_version(store, &version, err))
        return false;
    if (version == schema_n_versions || store->mode == STORE_READ_OLD)
        return true;
    if (store->mode == STORE_READ)
        return store_refuse(store, err, RML_UNSUPPORTED,
                            "schema version %d is older than this program's, %d; any rml program "
                            "that writes to it brings it up to date",
                            version, schema_n_versions);
    if (!store_begin(store, "creating the schema", err))
        return false;
    /* Looked at again, now that nobody else can write: another process may have been
     * faster. */
    bool ok = check_version(store, &version, err) && apply(store, version, err);
    return store_end(store, ok, "creating the schema", err);
}

/* ---- Opening ------------------------------------------------------------------- */

/* Switching to WAL takes the whole file; SQLite does not wait for it by itself. */
static bool set_journal_mode(struct store *store, struct rml_error *err)
{
    const char *sql = store_is_on_network(store->path) ? "PRAGMA journal_mode = DELETE"
                                                       : "PRAGMA journal_mode = WAL";
    int rc = SQLITE_BUSY;
    for (int waited_ms = 0; rc == SQLITE_BUSY && waited_ms <= STORE_BUSY_TIMEOUT_MS;
         waited_ms += 20) {
        if (waited_ms > 0)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    }
    return rc == SQLITE_OK || store_fail(store, "opening it", err);
}

static bool open_handle(struct store *store, const char *name, int flags, struct rml_error *err)
{
    int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                             NULL);
    if (!store->db)
        return rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to open a database");
    if (rc != SQLITE_OK)
        return store_fail(store, "opening it", err);
    sqlite3_busy_timeout(store->db, STORE_BUSY_TIMEOUT_MS);
    return true;
}

/* SQLite makes no difference between what it cannot open, make longer or map beside a database. */
static bool is_about_files_beside(int rc)
{
    switch (rc) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_TRUNCATE:
        return true;
    default:
        rc &= 0xff;
        return rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY || rc == SQLITE_FULL;
    }
}

/*
 * A database in WAL mode cannot be read the usual way where no file can be written beside it (a
 * read-only folder, a full disk): its index of the log is one. When the log is empty or not there,
 * all is in the database and nobody is writing, and SQLite may take it as it is. The path goes into
 * a URI, so it is escaped.
 */
static bool open_immutable(struct store *store, struct rml_error *err)
{
    struct stat log;
    char *wal = sqlite3_mprintf("%s-wal", store->path);
    char *uri = malloc(3 * strlen(store->path) + 64);
    bool ok = wal && uri;
    if (!ok) {
        rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to open a database");
    } else if (stat(wal, &log) == 0 && log.st_size > 0) {
        int why = sqlite3_system_errno(store->db); /* ENOENT: of opening what cannot be made */
        ok = store_refuse(
            store, err, RML_IO,
            "its last changes are in %s, and no file can be made beside it to read "
            "them%s%s, expected room in a folder that can be written to (or copy both "
            "elsewhere)",
            wal, why && why != ENOENT ? ": " : "", why && why != ENOENT ? strerror(why) : "");
    } else {
        char *p = uri + sprintf(uri, "file:");
        for (const char *s = store->path; *s; s++)
            p += sprintf(p, strchr("%?#", *s) ? "%%%02x" : "%c", *s);
        sprintf(p, "?immutable=1");
        sqlite3_close(store->db);
        store->db = NULL;
        ok = open_handle(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    }
    sqlite3_free(wal);
    free(uri);
    return ok;
}

static bool open_for_reading(struct store *store, struct rml_error *err)
{
    if (access(store->path, F_OK) != 0)
        return rmli_fail(err, RML_NOT_FOUND, store->path, -1, "no results database there: %s",
                         strerror(errno));
    if (!open_handle(store, store->path, SQLITE_OPEN_READONLY, err))
        return false;
    int rc = sqlite3_exec(store->db, "PRAGMA schema_version", NULL, NULL, NULL);
    if (is_about_files_beside(rc))
        return open_immutable(store, err);
    return rc == SQLITE_OK || store_fail(store, "opening it", err);
}

static bool open_for_writing(struct store *store, struct rml_error *err)
{
    int version = 0;
    if (!open_handle(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err))
        return false;
    if (sqlite3_db_readonly(store->db, "main")) /* SQLite falls back to it in silence */
        return store_refuse(store, err, RML_IO, "read-only, expected a database to write to");
    return
        /* before anything is changed: it may be the file of somebody else */
        check_version(store, &version, err) && set_journal_mode(store, err) &&
        store_execute(store, "PRAGMA synchronous = FULL", "opening it", err);
}

struct store *store_open(const char *path, enum store_mode mode, struct rml_error *err)
{
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        rmli_fail(err, RML_UNSUPPORTED, path, -1, "SQLite %s is too old, expected 3.37 or later",
                  sqlite3_libversion());
        return NULL;
    }
    struct store *store = calloc(1, sizeof *store);
    if (!store) {
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to open a database");
        return NULL;
    }
    store->mode = mode;
    store->path = strdup(path);
    if (!store->path) {
        free(store);
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to open a database");
        return NULL;
    }
    if (!(mode == STORE_WRITE ? open_for_writing(store, err) : open_for_reading(store, err)) ||
        !store_execute(store, "PRAGMA foreign_keys = ON", "opening it", err) ||
        !migrate(store, err)) {
        store_close(store);
        return NULL;
    }
    return store;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->find_score);
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}

const char *store_file(const struct store *store)
{
    return store ? store->path : NULL;
}

int store_schema_version(struct store *store, struct rml_error *err)
{
    int version = 0;
    return check_version(store, &version, err) ? version : -1;
}

bool store_copy(struct store *store, const char *path, struct rml_error *err)
{
    if (access(path, F_OK) == 0)
        return rmli_fail(err, RML_IO, path, -1, "there already, expected the name of a new file");
    struct query q;
    query_init(&q, store, "VACUUM INTO ?");
    query_text(&q, path);
    query_run(&q);
    if (query_release(&q, "copying it", err))
        return true;
    unlink(path);
    return false;
}

sqlite3 *store_handle(struct store *store)
{
    return store ? store->db : NULL;
}
