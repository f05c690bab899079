/*
 * rml-results annotate: what people know about a case, a machine or a commit.
 *
 *     step    a change that was meant (a new layout, another algorithm)
 *     infra   something about the machine (a new kernel, a full disk)
 *     mute    changes of it are known and do not count, until it expires
 */
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "results/commands.h"
#include "results/figures.h"
#include "results/query_json.h"
#include "results/result_rows.h"
#include "results/run_select.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    const char *db, *pattern, *host, *kind, *note, *commit;
    int64_t expires_ns; /* -1: never */
    bool list;
    uint64_t remove; /* id, 0: none */
};

static const char list_sql[] =
    "SELECT a.id, a.kind, c.case_key, h.hostname, h.fingerprint AS host_fingerprint, a.commit_sha,"
    " a.note, a.expires_ns FROM annotation AS a LEFT JOIN bench_case AS c ON c.id = a.bench_case_id"
    " LEFT JOIN host AS h ON h.id = a.host_id ORDER BY a.id";

/* ---- List ---------------------------------------------------------------------------- */

static void print_list(const json_t *rows)
{
    struct cli_table *table = cli_table_create(">id|<kind|<case|<host|<commit|<until|<note");
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *hostname = row_text(row, "hostname");
        char until[32] = "-";
        if (json_is_integer(json_object_get(row, "expires_ns")))
            utc_text(json_integer_value(json_object_get(row, "expires_ns")), until);
        cell_whole(table, row_real(row, "id"));
        cell_text(table, row_text(row, "kind"));
        cell_text(table, row_text(row, "case_key"));
        if (hostname && *hostname)
            cell_text(table, hostname);
        else if (row_text(row, "host_fingerprint"))
            cli_table_cell(table, "%.12s", row_text(row, "host_fingerprint"));
        else
            cell_text(table, NULL);
        cell_text(table, row_text(row, "commit_sha"));
        cell_text(table, until);
        cell_text(table, row_text(row, "note"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static bool list(struct store *store, bool json, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, list_sql);
    json_t *rows = query_rows_json(&q, "listing annotations", err);
    if (rows && json) {
        json_t *document = json_pack("{sO}", "annotations", rows);
        cli_json_print(document, 17);
        json_decref(document);
    } else if (rows) {
        print_list(rows);
    }
    json_decref(rows);
    return rows != NULL;
}

/* ---- Change --------------------------------------------------------------------------- */

/* The one host of that name or fingerprint; 0 for NULL. */
static bool find_host(struct store *store, const char *host, int64_t *id, struct rml_error *err)
{
    int n = 0;
    *id = 0;
    if (!host)
        return true;
    struct query q;
    query_init(&q, store,
               "SELECT id FROM host WHERE hostname = ?1"
               " OR substr(fingerprint, 1, length(?1)) = lower(?1)");
    query_text(&q, host);
    while (query_step(&q)) {
        *id = sqlite3_column_int64(q.stmt, 0);
        n++;
    }
    if (!query_release(&q, "looking for a host", err))
        return false;
    return n == 1 || rmli_fail(err, n ? RML_INVALID_ARGUMENT : RML_NOT_FOUND, store->path, -1,
                               "%d hosts '%s' found, expected the name or the start of the "
                               "fingerprint of one",
                               n, host);
}

static bool insert(struct store *store, const struct arguments *a, int64_t host_id, int64_t *n,
                   struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               a->pattern
                   ? "INSERT INTO annotation(bench_case_id, host_id, commit_sha, kind, note,"
                     " expires_ns) SELECT id, ?1, ?2, ?3, ?4, ?5 FROM bench_case WHERE"
                     " case_key = ?6 OR name = ?6 OR suite || '/' || name = ?6 OR case_key GLOB ?6"
                     " ORDER BY id"
                   : "INSERT INTO annotation(host_id, commit_sha, kind, note, expires_ns)"
                     " VALUES (?1, ?2, ?3, ?4, ?5)");
    query_ref(&q, host_id);
    query_text(&q, a->commit);
    query_text(&q, a->kind);
    query_text(&q, a->note);
    query_count(&q, a->expires_ns);
    if (a->pattern)
        query_text(&q, a->pattern);
    query_run(&q);
    *n = q.rc == SQLITE_OK ? sqlite3_changes(store->db) : 0;
    if (!query_release(&q, "storing an annotation", err))
        return false;
    return *n > 0 ||
           rmli_fail(err, RML_NOT_FOUND, store->path, -1,
                     "no case '%s' found, expected a case key, a name or a pattern", a->pattern);
}

static bool delete_one(struct store *store, uint64_t id, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "DELETE FROM annotation WHERE id = ?");
    query_int(&q, (int64_t)id);
    query_run(&q);
    bool gone = q.rc == SQLITE_OK && sqlite3_changes(store->db) == 1;
    if (!query_release(&q, "deleting an annotation", err))
        return false;
    return gone ||
           rmli_fail(err, RML_NOT_FOUND, store->path, -1, "there is no annotation %" PRIu64, id);
}

static bool change(struct store *store, const struct arguments *a, struct rml_error *err)
{
    int64_t host_id = 0, n = 0;
    if (!store_begin(store, "annotating", err))
        return false;
    bool ok = a->remove
                  ? delete_one(store, a->remove, err)
                  : find_host(store, a->host, &host_id, err) && insert(store, a, host_id, &n, err);
    ok = store_end(store, ok, "annotating", err);
    if (ok && a->remove)
        cli_note("annotation %" PRIu64 " deleted", a->remove);
    else if (ok)
        cli_note("%" PRId64 " annotation%s stored", n, cli_plural((uint64_t)n));
    return ok;
}

/* ---- Command ---------------------------------------------------------------------------- */

enum { KEY_HOST = CLI_OWN_KEY, KEY_KIND, KEY_NOTE, KEY_COMMIT, KEY_EXPIRES, KEY_LIST, KEY_DELETE };

static const struct argp_option options[] = {
    {"host", KEY_HOST, "HOST", 0, "About that machine: its name, or the start of its fingerprint",
     1},
    {"kind", KEY_KIND, "step|infra|mute", 0, "What it is", 1},
    {"note", KEY_NOTE, "TEXT", 0, "What there is to say", 1},
    {"commit", KEY_COMMIT, "SHA", 0, "About that commit: 7 to 40 digits", 1},
    {"expires", KEY_EXPIRES, "TIME", 0, "In force until then: 2026-12-24, or from now: 12h, 30d",
     1},
    {"list", KEY_LIST, NULL, 0, "List all annotations", 2},
    {"delete", KEY_DELETE, "ID", 0, "Delete one", 2},
    RESULTS_DB_OPTION,
    {0},
};

static void check(const struct arguments *a, struct argp_state *state)
{
    bool adds = a->pattern || a->host || a->kind || a->note || a->commit || a->expires_ns >= 0;
    if (a->list + (a->remove != 0) + adds != 1)
        argp_error(state, "expected an annotation to add, --list, or --delete");
    if (!adds)
        return;
    if (!a->pattern && !a->host)
        argp_error(state, "no CASE and no --host found, expected what the annotation is about");
    if (!a->kind || !a->note)
        argp_error(state, "no %s found, expected --kind and --note", a->kind ? "--note" : "--kind");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    int64_t now_ns = (int64_t)time(NULL) * 1000000000;
    switch (key) {
    case KEY_HOST:
        if (!*arg)
            argp_error(state, "--host: '' found, expected a name or the start of a fingerprint");
        a->host = arg;
        return 0;
    case KEY_KIND:
        if (strcmp(arg, "step") != 0 && strcmp(arg, "infra") != 0 && strcmp(arg, "mute") != 0)
            argp_error(state, "--kind: '%s' found, expected step, infra or mute", arg);
        a->kind = arg;
        return 0;
    case KEY_NOTE:
        if (!*arg)
            argp_error(state, "--note: '' found, expected a text");
        a->note = arg;
        return 0;
    case KEY_COMMIT: {
        size_t n = strspn(arg, "0123456789abcdef");
        if (arg[n] || n < 7 || n > 40)
            argp_error(state,
                       "--commit: '%s' found, expected 7 to 40 lower-case hexadecimal digits", arg);
        a->commit = arg;
        return 0;
    }
    case KEY_EXPIRES:
        if (!parse_utc(arg, now_ns, &a->expires_ns))
            argp_error(state,
                       "--expires: '%s' found, expected a time such as 2026-12-24, or 12h or 30d",
                       arg);
        if (strchr("hd", arg[strlen(arg) - 1])) /* an age, turned around */
            a->expires_ns = 2 * now_ns - a->expires_ns;
        return 0;
    case KEY_LIST:
        a->list = true;
        return 0;
    case KEY_DELETE:
        a->remove = cli_arg_u64(state, "--delete", arg, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (a->pattern)
            argp_error(state, "'%s' found, expected one CASE", arg);
        a->pattern = arg;
        return 0;
    case ARGP_KEY_END:
        check(a, state);
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_annotate_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[CASE]",
        .doc = "Notes what is known about a case, a machine or a commit; history shows it. CASE is "
               "a case key, a name, or a pattern that stands for each case it fits. 'step': a "
               "change that was meant; 'infra': about the machine; 'mute': changes do not count, "
               "until it expires.\v"
               "Example:\n\n"
               "  rml-results annotate 'attention/*' --kind step --commit 1a2b3c4 \\\n"
               "      --note 'blocks of 128 keys'"};
    struct cli_options common;
    struct arguments a = {.expires_ns = -1};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = a.list ? results_open(a.db, &err) : results_open_writable(a.db, &err);
    bool ok = store && (a.list ? list(store, common.json, &err) : change(store, &a, &err));
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
