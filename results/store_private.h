/*
 * What the store's own files share: the handle, transactions, and statements
 * whose parameters are bound one after the other.
 *
 *     struct query q;
 *     query_init(&q, store, "INSERT INTO t(name, size) VALUES (?, ?) RETURNING id");
 *     query_text(&q, name);
 *     query_int(&q, size);
 *     int64_t id = query_id(&q);
 *     return query_release(&q, "storing a thing", err) ? id : -1;
 *
 * The first failure sticks: whatever follows it does nothing, and query_release
 * reports it. So only the end of a sequence has to be checked.
 */
#ifndef RESULTS_STORE_PRIVATE_H
#define RESULTS_STORE_PRIVATE_H

#include <sqlite3.h>

#include "results/store.h"

#define STORE_BUSY_TIMEOUT_MS 10000

struct store {
    sqlite3 *db;
    char *path;
    enum store_mode mode;
    int64_t host_id, build_id; /* of this process; 0: not stored yet */
    sqlite3_stmt *find_score;  /* of store_find_score, which runs once an item; NULL at first */
};

/* ---- Transactions --------------------------------------------------------- */

bool store_begin(struct store *store, const char *doing, struct rml_error *err);
/* Commits when ok, else rolls back; true when it was committed. A failed commit (disk
 * full) is rolled back too. */
bool store_end(struct store *store, bool ok, const char *doing, struct rml_error *err);
/* Runs SQL text without parameters. */
bool store_execute(struct store *store, const char *sql, const char *doing, struct rml_error *err);

/* Records that the database is not what it should be. */
bool store_refuse(const struct store *store, struct rml_error *err, enum rml_code code,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- Rows, inside a transaction of the caller ------------------------------ */

struct host_facts;
struct build_record;

/* The id of the row with that fingerprint, or that binary; -1 with an error. */
int64_t store_upsert_host(struct store *store, const struct host_facts *host,
                          struct rml_error *err);
int64_t store_upsert_build(struct store *store, const struct build_record *build,
                           struct rml_error *err);
/* The run has read or written that checkpoint. */
bool store_insert_run_model(struct store *store, int64_t run_id, int64_t model_id,
                            struct rml_error *err);
/* The column argv_json of run; to be freed, NULL when memory is exhausted. */
char *store_argv_json(int argc, char *const *argv);
/* As store_add_result; the run's heartbeat stays. */
int64_t store_insert_result(struct store *store, int64_t run_id, const struct store_case *what,
                            const struct store_result *result, struct rml_error *err);

/* As store_add_eval_docs, store_add_eval_items and store_add_eval_metrics, without a heartbeat. */
bool store_insert_eval_docs(struct store *store, int64_t run_id, const struct store_eval_doc *docs,
                            size_t n, struct rml_error *err);
bool store_insert_eval_items(struct store *store, int64_t run_id,
                             const struct store_eval_item *items, size_t n, struct rml_error *err);
bool store_insert_eval_metrics(struct store *store, int64_t run_id,
                               const struct store_eval_metric *metrics, size_t n,
                               struct rml_error *err);

/* ---- Statements ------------------------------------------------------------ */

struct query {
    struct store *store;
    sqlite3_stmt *stmt;
    int next; /* parameter to be bound next */
    int rc;   /* SQLITE_OK until something fails */
};

void query_init(struct query *q, struct store *store, const char *sql);
/* Each binds the next parameter. */
void query_text(struct query *q, const char *text); /* NULL: NULL */
void query_int(struct query *q, int64_t value);
void query_count(struct query *q, int64_t value); /* negative: NULL */
void query_ref(struct query *q, int64_t id);      /* 0: NULL */
void query_real(struct query *q, double value);   /* NaN: NULL */
/* data NULL: NULL. Not copied: it stays until the statement has run. */
void query_blob(struct query *q, const void *data, size_t nbytes);

/* The next row: true when there is one. */
bool query_step(struct query *q);
/* Runs a statement without rows, and makes it ready to be bound again. */
void query_run(struct query *q);
/* Runs a statement that gives one row of one integer; -1 when it gives none. */
int64_t query_id(struct query *q);
/* Ends the statement; false when anything has failed. */
bool query_release(struct query *q, const char *doing, struct rml_error *err);

#endif
