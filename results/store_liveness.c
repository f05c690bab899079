/*
 * Is a run that is `running` still going on?
 */
#include "results/store_private.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "results/process_identity.h"

/* A run elsewhere that was not heard of for a day is taken for dead. */
#define SILENCE_S 86400

static bool same_text(sqlite3_stmt *stmt, int column, const char *text)
{
    const char *stored = (const char *)sqlite3_column_text(stmt, column);
    return stored && text[0] && strcmp(stored, text) == 0;
}

/* The columns are those of the query below. */
static enum store_liveness judge(sqlite3_stmt *stmt)
{
    enum { STATE, BOOT_ID, PID_NAMESPACE, PID, START_TICKS, HOSTNAME, HEARTBEAT_NS };
    if (!same_text(stmt, STATE, "running"))
        return STORE_ENDED;

    struct process_identity self;
    process_identity_read(&self);
    if (same_text(stmt, BOOT_ID, self.boot_id)) {
        if (same_text(stmt, PID_NAMESPACE, self.pid_namespace)) {
            int64_t ticks = process_start_ticks(sqlite3_column_int64(stmt, PID));
            return ticks >= 0 && ticks == sqlite3_column_int64(stmt, START_TICKS) ? STORE_ALIVE
                                                                                  : STORE_DEAD;
        }
        /* another container of this machine */
    } else if (same_text(stmt, HOSTNAME, self.hostname)) {
        return STORE_DEAD; /* this machine has been started anew */
    }
    int64_t silent_s = (int64_t)time(NULL) - sqlite3_column_int64(stmt, HEARTBEAT_NS) / 1000000000;
    return silent_s > SILENCE_S ? STORE_DEAD : STORE_UNKNOWN;
}

bool store_run_liveness(struct store *store, int64_t run_id, enum store_liveness *liveness,
                        struct rml_error *err)
{
    if (!store) {
        *liveness = STORE_ENDED;
        return true;
    }
    struct query q;
    query_init(&q, store,
               "SELECT state, boot_id, pid_namespace, pid, pid_start_ticks, hostname, heartbeat_ns"
               " FROM run WHERE id = ?");
    query_int(&q, run_id);
    bool found = query_step(&q);
    if (found)
        *liveness = judge(q.stmt);
    if (!query_release(&q, "looking for a run", err))
        return false;
    return found ||
           rmli_fail(err, RML_NOT_FOUND, store->path, -1, "there is no run %" PRId64, run_id);
}
