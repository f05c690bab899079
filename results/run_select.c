#include "results/run_select.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/cli/parse.h"

/* ---- One run ---------------------------------------------------------------------- */

/* Runs `sql` with one text parameter; the id in its first row, 0 when there is none. */
static bool first_id(struct store *store, const char *sql, const char *text, int64_t *id,
                     struct rml_error *err)
{
    struct query q;
    query_init(&q, store, sql);
    if (text)
        query_text(&q, text);
    *id = query_step(&q) ? sqlite3_column_int64(q.stmt, 0) : 0;
    return query_release(&q, "looking for a run", err);
}

static bool is_uuid_prefix(const char *name)
{
    size_t n = strspn(name, "0123456789abcdefABCDEF-");
    return n >= 4 && n <= 36 && !name[n];
}

/* *id: 0 when there is none. */
static bool find_by_prefix(struct store *store, const char *name, int64_t *id,
                           struct rml_error *err)
{
    int64_t n = 0;
    struct query q;
    *id = 0;
    query_init(&q, store, "SELECT id FROM run WHERE substr(uuid, 1, length(?1)) = lower(?1)");
    query_text(&q, name);
    while (query_step(&q)) {
        *id = sqlite3_column_int64(q.stmt, 0);
        n++;
    }
    if (!query_release(&q, "looking for a run", err))
        return false;
    return n < 2 ||
           rmli_fail(err, RML_INVALID_ARGUMENT, store->path, -1,
                     "'%s' starts the uuid of %" PRId64 " runs, expected that of one", name, n);
}

static const char by_label[] = "SELECT id FROM run WHERE label = ? ORDER BY start_ns DESC, id DESC";

/* *label: the name is one, of which *run_id is the newest run; else NULL. */
static bool find_run(struct store *store, const char *name, int64_t *run_id, const char **label,
                     struct rml_error *err)
{
    bool is_label = strncmp(name, "label:", 6) == 0;
    uint64_t number;
    int64_t id = 0;
    *label = NULL;
    if (!is_label && strcmp(name, "last") == 0 &&
        !first_id(store, "SELECT id FROM run ORDER BY start_ns DESC, id DESC", NULL, &id, err))
        return false;
    if (!is_label && cli_parse_u64(name, 1, INT64_MAX, &number) &&
        !first_id(store, "SELECT id FROM run WHERE id = CAST(? AS INTEGER)", name, &id, err))
        return false;
    if (!is_label && id == 0 && is_uuid_prefix(name) && !find_by_prefix(store, name, &id, err))
        return false;
    if (id == 0) {
        *label = name + (is_label ? 6 : 0);
        if (!first_id(store, by_label, *label, &id, err))
            return false;
    }
    *run_id = id;
    return id != 0 || rmli_fail(err, RML_NOT_FOUND, store->path, -1,
                                "no run '%s' found, expected an id, a uuid or at least 4 of its "
                                "first characters, a label, or last",
                                name);
}

bool store_find_run(struct store *store, const char *name, int64_t *run_id, struct rml_error *err)
{
    const char *label;
    return find_run(store, name, run_id, &label, err);
}

bool store_find_runs(struct store *store, const char *name, json_t *run_ids, struct rml_error *err)
{
    const char *label;
    int64_t id;
    if (!find_run(store, name, &id, &label, err))
        return false;
    if (!label)
        return json_array_append_new(run_ids, json_integer(id)) == 0 ||
               rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the runs");
    struct query q;
    query_init(&q, store, by_label);
    query_text(&q, label);
    bool ok = true;
    while (ok && query_step(&q))
        ok = json_array_append_new(run_ids, json_integer(sqlite3_column_int64(q.stmt, 0))) == 0 ||
             rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the runs");
    return query_release(&q, "looking for runs", err) && ok;
}

const char *run_shown_state(struct store *store, int64_t run_id, const char *state)
{
    enum store_liveness liveness;
    if (strcmp(state, "running") != 0 || !store_run_liveness(store, run_id, &liveness, NULL))
        return state;
    return liveness == STORE_DEAD ? "dead" : liveness == STORE_UNKNOWN ? "elsewhere" : "running";
}

/* ---- Filter ------------------------------------------------------------------------ */

bool parse_utc(const char *text, int64_t now_ns, int64_t *ns)
{
    const int64_t second_ns = 1000000000;
    size_t n = strlen(text);
    char digits[16];
    uint64_t age;
    if (n > 1 && n < sizeof digits && strchr("hd", text[n - 1])) {
        memcpy(digits, text, n - 1);
        digits[n - 1] = 0;
        if (!cli_parse_u64(digits, 0, 100000, &age))
            return false;
        *ns = now_ns - (int64_t)age * (text[n - 1] == 'h' ? 3600 : 86400) * second_ns;
        return true;
    }
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
                                          "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm tm = {0};
        const char *end = strptime(text, formats[i], &tm);
        if (!end || *end)
            continue;
        struct tm given = tm;
        time_t s = timegm(&tm); /* makes 31 February one of March */
        if (tm.tm_mday != given.tm_mday || s < -9000000000 || s > 9000000000)
            return false;
        *ns = (int64_t)s * second_ns;
        return true;
    }
    return false;
}

void arg_utc(struct argp_state *state, const char *option, const char *arg, int64_t *ns)
{
    int64_t now_ns = (int64_t)time(NULL) * 1000000000;
    if (!parse_utc(arg, now_ns, ns))
        argp_error(state,
                   "%s: '%s' found, expected a time such as 2026-11-30 or 2026-11-30T14:05, or an "
                   "age such as 12h or 30d",
                   option, arg);
}

static const char *one_of(struct argp_state *state, const char *option, const char *arg,
                          const char *const *words, const char *expected)
{
    for (; *words; words++)
        if (strcmp(*words, arg) == 0)
            return *words;
    argp_error(state, "%s: '%s' found, expected %s", option, arg, expected);
    return NULL;
}

error_t run_filter_parse(int key, char *arg, struct argp_state *state, struct run_filter *filter)
{
    static const char *const kinds[] = {"bench",    "golden", "eval", "chat",
                                        "quantize", "import", NULL};
    static const char *const states[] = {"running", "complete",  "failed", "aborted",
                                         "dead",    "elsewhere", NULL};
    switch (key) {
    case RUN_FILTER_KEY_KIND:
        filter->kind =
            one_of(state, "--kind", arg, kinds, "bench, golden, eval, chat, quantize or import");
        return 0;
    case RUN_FILTER_KEY_STATE:
        filter->state = one_of(state, "--state", arg, states,
                               "running, complete, failed, aborted, dead or elsewhere");
        return 0;
    case RUN_FILTER_KEY_LABEL:
        filter->label = arg;
        return 0;
    case RUN_FILTER_KEY_SINCE:
        arg_utc(state, "--since", arg, &filter->since_ns);
        return 0;
    case RUN_FILTER_KEY_BEFORE:
        arg_utc(state, "--before", arg, &filter->before_ns);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void run_filter_bind(struct query *q, const struct run_filter *filter)
{
    query_text(q, filter->kind);
    query_text(q, filter->label);
    query_int(q, filter->since_ns);
    query_int(q, filter->before_ns);
}
