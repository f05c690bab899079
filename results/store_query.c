/*
 * Statements, transactions, and what SQLite says when they fail.
 */
#include "results/store_private.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Failures -------------------------------------------------------------- */

/* Why no file can be made in the folder of path. SQLite, refused a new database, tries to read it
 * and then only knows that there is none. */
static const char *why_nothing_is_made_beside(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) < sizeof folder)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return strerror(access(folder, W_OK) == 0 ? ENOENT : errno);
}

bool store_fail(struct store *store, const char *doing, struct rml_error *err)
{
    int rc = sqlite3_extended_errcode(store->db);
    enum rml_code code = RML_INTERNAL;
    const char *what = sqlite3_errmsg(store->db);
    const char *cause = NULL;
    static const char no_space[] = "no space left on the disk";

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        code = RML_IO;
        what = "database is locked by another program (waited 10 s)";
        break;
    case SQLITE_FULL:
        code = RML_IO;
        what = no_space;
        break;
    case SQLITE_READONLY:
        code = RML_IO;
        what = "database, or the folder it is in, is read-only";
        break;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        code = RML_IO;
        what = (rc & 0xff) == SQLITE_CANTOPEN ? "cannot be opened, nor a file be made beside it"
                                              : "cannot be read or written";
        if (sqlite3_system_errno(store->db) == ENOSPC)
            what = no_space;
        else if (sqlite3_system_errno(store->db) == ENOENT)
            cause = why_nothing_is_made_beside(store->path);
        else if (sqlite3_system_errno(store->db))
            cause = strerror(sqlite3_system_errno(store->db));
        break;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        code = RML_IO;
        break;
    case SQLITE_CORRUPT:
        code = RML_FORMAT;
        cause = what;
        what = "database is damaged";
        break;
    case SQLITE_NOTADB:
        code = RML_FORMAT;
        what = "not an SQLite database";
        break;
    case SQLITE_NOMEM:
        code = RML_NO_MEMORY;
        break;
    default:
        break;
    }
    return rmli_fail(err, code, store->path, -1, "%s%s%s while %s", what, cause ? ": " : "",
                     cause ? cause : "", doing);
}

bool store_refuse(const struct store *store, struct rml_error *err, enum rml_code code,
                  const char *format, ...)
{
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return rmli_fail(err, code, store->path, -1, "%s", message);
}

/* ---- Transactions ----------------------------------------------------------- */

bool store_execute(struct store *store, const char *sql, const char *doing, struct rml_error *err)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_fail(store, doing, err);
    return true;
}

bool store_begin(struct store *store, const char *doing, struct rml_error *err)
{
    return store_execute(store, "BEGIN IMMEDIATE", doing, err);
}

bool store_end(struct store *store, bool ok, const char *doing, struct rml_error *err)
{
    ok = ok && store_execute(store, "COMMIT", doing, err);
    /* Some errors (a full disk among them) have rolled back by themselves. */
    if (!ok && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

/* ---- Statements -------------------------------------------------------------- */

void query_init(struct query *q, struct store *store, const char *sql)
{
    *q = (struct query){.store = store, .next = 1};
    q->rc = sqlite3_prepare_v2(store->db, sql, -1, &q->stmt, NULL);
}

void query_text(struct query *q, const char *text)
{
    if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_text(q->stmt, q->next++, text, -1, SQLITE_TRANSIENT);
}

void query_int(struct query *q, int64_t value)
{
    if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_int64(q->stmt, q->next++, value);
}

static void bind_null(struct query *q)
{
    if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_null(q->stmt, q->next++);
}

void query_count(struct query *q, int64_t value)
{
    if (value < 0)
        bind_null(q);
    else
        query_int(q, value);
}

void query_ref(struct query *q, int64_t id)
{
    if (id == 0)
        bind_null(q);
    else
        query_int(q, id);
}

void query_real(struct query *q, double value)
{
    if (isnan(value))
        bind_null(q);
    else if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_double(q->stmt, q->next++, value);
}

void query_blob(struct query *q, const void *data, size_t nbytes)
{
    if (!data)
        bind_null(q);
    else if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_blob64(q->stmt, q->next++, data, nbytes, SQLITE_STATIC);
}

bool query_step(struct query *q)
{
    if (q->rc != SQLITE_OK)
        return false;
    int rc = sqlite3_step(q->stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        q->rc = rc;
    return rc == SQLITE_ROW;
}

void query_run(struct query *q)
{
    if (q->rc != SQLITE_OK)
        return;
    while (query_step(q))
        continue;
    if (q->rc == SQLITE_OK)
        sqlite3_reset(q->stmt);
    q->next = 1;
}

int64_t query_id(struct query *q)
{
    int64_t id = -1;
    while (query_step(q)) /* an INSERT with RETURNING has to be run to its end */
        id = sqlite3_column_int64(q->stmt, 0);
    return id;
}

bool query_release(struct query *q, const char *doing, struct rml_error *err)
{
    if (q->rc != SQLITE_OK)
        store_fail(q->store, doing, err);
    sqlite3_finalize(q->stmt);
    q->stmt = NULL;
    return q->rc == SQLITE_OK;
}
