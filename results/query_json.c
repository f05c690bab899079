#include "results/query_json.h"

#include <math.h>
#include <string.h>

#include "tools/cli/json_out.h"

static bool is_truth(const char *name)
{
    return strncmp(name, "is_", 3) == 0 || strcmp(name, "passed") == 0 ||
           strcmp(name, "git_dirty") == 0;
}

static json_t *value_json(sqlite3_stmt *stmt, int column)
{
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        return is_truth(sqlite3_column_name(stmt, column))
                   ? json_boolean(sqlite3_column_int64(stmt, column))
                   : json_integer(sqlite3_column_int64(stmt, column));
    case SQLITE_FLOAT:
        return cli_json_real(sqlite3_column_double(stmt, column));
    default:
        return cli_json_text((const char *)sqlite3_column_text(stmt, column));
    }
}

json_t *query_row_json(const struct query *q)
{
    json_t *row = json_object();
    for (int i = 0; i < sqlite3_column_count(q->stmt); i++)
        if (json_object_set_new(row, sqlite3_column_name(q->stmt, i), value_json(q->stmt, i)) !=
            0) {
            json_decref(row);
            return NULL;
        }
    return row;
}

json_t *query_rows_json(struct query *q, const char *doing, struct rml_error *err)
{
    json_t *rows = json_array();
    bool whole = rows != NULL;
    while (whole && query_step(q))
        whole = json_array_append_new(rows, query_row_json(q)) == 0;
    if (!whole)
        rmli_fail(err, RML_NO_MEMORY, q->store->path, -1, "no memory while %s", doing);
    if (query_release(q, doing, err) && whole)
        return rows;
    json_decref(rows);
    return NULL;
}

const char *query_column_text(const struct query *q, int column)
{
    return (const char *)sqlite3_column_text(q->stmt, column);
}

double query_column_real(const struct query *q, int column)
{
    return sqlite3_column_type(q->stmt, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(q->stmt, column);
}
