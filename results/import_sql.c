/*
 * SQL that creates one table and fills it, as `llama-bench -o sql` writes it.
 *
 * Quoting, types and statements are SQLite's to read. The file is not trusted: an authorizer
 * lets it create a table and insert into it, and refuses all else (other files, functions,
 * recursion, triggers); a limit on the work done ends what never would.
 */
#include "results/import_records.h"

#include <string.h>

#include "results/query_json.h"

#define MAX_STEPS 20000 /* of 1000 instructions of SQLite's machine: some seconds */

struct sandbox {
    struct import *import;
    sqlite3 *db;
    char table[128]; /* the one that the file fills; "" until it is named */
    int n_steps;
};

static int authorize(void *user, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    struct sandbox *box = user;
    (void)second, (void)database;
    if (trigger)
        return SQLITE_DENY;
    bool of_schema = first && strncmp(first, "sqlite_", 7) == 0;
    switch (action) {
    case SQLITE_CREATE_TABLE:
        if (box->table[0] && strcmp(box->table, first) != 0)
            return SQLITE_DENY;
        snprintf(box->table, sizeof box->table, "%s", first);
        return SQLITE_OK;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ: /* the schema's own table belongs to CREATE TABLE */
        return of_schema || (action == SQLITE_INSERT && strcmp(first, box->table) == 0)
                   ? SQLITE_OK
                   : SQLITE_DENY;
    case SQLITE_SELECT: /* VALUES of several rows */
    case SQLITE_TRANSACTION:
        return SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int count_step(void *user)
{
    return ++((struct sandbox *)user)->n_steps > MAX_STEPS;
}

static bool run_script(struct sandbox *box)
{
    const char *start = box->import->data, *tail = start;
    const char *end = start + box->import->nbytes;
    while (tail < end && *tail) {
        const char *statement = tail;
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite3_prepare_v2(box->db, statement, (int)(end - statement), &stmt, &tail);
        while (rc == SQLITE_OK && stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
            rc = SQLITE_OK;
        sqlite3_finalize(stmt);
        if (rc != SQLITE_OK && rc != SQLITE_DONE)
            return import_fail(box->import, statement - start, "SQL: %s",
                               rc == SQLITE_AUTH ? "it may only create and fill one table"
                                                 : sqlite3_errmsg(box->db));
    }
    return box->table[0] || import_fail(box->import, -1, "no CREATE TABLE found, expected one");
}

static json_t *read_table(struct sandbox *box)
{
    struct store store = {.db = box->db, .path = (char *)box->import->path};
    struct query q;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY rowid", box->table);
    sqlite3_set_authorizer(box->db, NULL, NULL);
    query_init(&q, &store, sql ? sql : "");
    sqlite3_free(sql);
    return query_rows_json(&q, "reading its table", box->import->err);
}

json_t *import_sql(struct import *import)
{
    struct sandbox box = {.import = import};
    json_t *records = NULL;
    if (import->nbytes > INT32_MAX || strlen(import->data) != import->nbytes) {
        import_fail(import, -1, "SQL: a NUL byte found, or more than 2 GiB");
        return NULL;
    }
    if (sqlite3_open_v2(":memory:", &box.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
        SQLITE_OK) {
        sqlite3_set_authorizer(box.db, authorize, &box);
        sqlite3_progress_handler(box.db, 1000, count_step, &box);
        if (run_script(&box))
            records = read_table(&box);
    } else {
        rmli_fail(import->err, RML_NO_MEMORY, import->path, -1, "no memory to read it");
    }
    sqlite3_close(box.db);
    return records;
}
