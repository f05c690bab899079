#include "results/import.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "results/build_record.h"
#include "tools/cli/json_out.h"

#define MAX_NS 1e17

/* ---- For readers ---------------------------------------------------------------------- */

bool import_fail(struct import *import, int64_t offset, const char *format, ...)
{
    char message[sizeof import->err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return rmli_fail(import->err, RML_FORMAT, import->path, offset, "%s", message);
}

static bool no_memory(struct import *import)
{
    return rmli_fail(import->err, RML_NO_MEMORY, import->path, -1, "no memory to import it");
}

const char *import_text(struct import *import, const char *format, ...)
{
    char **texts = realloc(import->texts, (import->n_texts + 1) * sizeof *texts);
    char *text = NULL;
    if (texts)
        import->texts = texts;
    va_list args;
    va_start(args, format);
    if (!texts || vasprintf(&text, format, args) < 0) {
        text = NULL;
        no_memory(import);
    } else {
        import->texts[import->n_texts++] = text;
    }
    va_end(args);
    return text;
}

struct import_row *import_add_row(struct import *import, const char *suite)
{
    struct import_row *rows = realloc(import->rows, (import->n_rows + 1) * sizeof *rows);
    if (!rows) {
        no_memory(import);
        return NULL;
    }
    import->rows = rows;
    struct import_row *row = &rows[import->n_rows++];
    *row = (struct import_row){
        .what = {.suite = suite,
                 .work_version = 1,
                 .threads = -1,
                 .n_batch = -1,
                 .n_prompt = -1,
                 .n_gen = -1,
                 .n_depth = -1},
        .result = {.items_per_iter = -1,
                   .bytes_per_iter = -1,
                   .flops_per_iter = -1,
                   .rss_bytes = -1,
                   .kv_bytes = -1},
    };
    return row;
}

bool import_add_sample(struct import *import, struct import_row *row, int64_t iters,
                       int64_t wall_ns, int64_t cpu_ns)
{
    struct store_sample *samples = realloc(row->samples, (row->n_samples + 1) * sizeof *samples);
    if (!samples)
        return no_memory(import);
    row->samples = samples;
    samples[row->n_samples] = (struct store_sample){.rep = (int)row->n_samples,
                                                    .order_idx = (int)row->n_samples,
                                                    .iters = iters,
                                                    .wall_ns = wall_ns,
                                                    .cpu_ns = cpu_ns,
                                                    .steal_ticks = -1,
                                                    .nvcsw = -1,
                                                    .nivcsw = -1,
                                                    .minflt = -1,
                                                    .majflt = -1};
    row->n_samples++;
    row->result.iters_per_rep = iters;
    return true;
}

bool import_add_figure(struct import *import, struct import_row *row, int rep, const char *metric,
                       double value)
{
    struct import_figure *figures = realloc(row->figures, (row->n_figures + 1) * sizeof *figures);
    if (!figures)
        return no_memory(import);
    row->figures = figures;
    row->figures[row->n_figures++] = (struct import_figure){rep, metric, value};
    return true;
}

bool import_add_fact(struct import *import, const char *key, const char *value)
{
    if (!import->facts)
        import->facts = json_object();
    return json_object_set_new(import->facts, key, cli_json_text(value)) == 0 || no_memory(import);
}

json_t *import_json(struct import *import)
{
    json_error_t error;
    json_t *document = json_loadb(import->data, import->nbytes, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        import_fail(import, error.position, "line %d: %s, expected JSON", error.line, error.text);
    return document;
}

bool import_check_ns(struct import *import, const char *place, double ns)
{
    return (ns > 0 && ns <= MAX_NS) ||
           import_fail(import, -1, "%s: %.9g ns found, expected more than 0 and at most %g", place,
                       ns, MAX_NS);
}

void import_release(struct import *import)
{
    for (size_t i = 0; i < import->n_rows; i++) {
        free(import->rows[i].samples);
        free(import->rows[i].figures);
    }
    for (size_t i = 0; i < import->n_texts; i++)
        free(import->texts[i]);
    free(import->rows);
    free(import->texts);
    json_decref(import->facts);
}

/* ---- Identities -------------------------------------------------------------------------- */

/* Version 8 of RFC 9562, whose bits are up to us: the first of a SHA-256. */
static void uuid_of_hash(const char hex[SHA256_HEX_NBYTES], char uuid[37])
{
    static const char variant[] = "89ab";
    snprintf(uuid, 37, "%.8s-%.4s-8%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 13,
             variant[(hex[16] <= '9' ? hex[16] - '0' : hex[16] - 'a' + 10) & 3], hex + 17,
             hex + 20);
}

static void copy_text(char *to, size_t nbytes, const char *from)
{
    snprintf(to, nbytes, "%s", from ? from : "");
}

/*
 * The machine, as far as it is told. Its fingerprint is made from that, and of a file that
 * tells nothing from the file itself: two machines are never taken for one.
 */
static bool describe_host(const struct import *import, const struct import_options *options,
                          const char *file_sha256, struct host_facts *host)
{
    if (options->this_host)
        return host_facts_read(host, "", import->err);
    *host = (struct host_facts){.family = -1,
                                .model = -1,
                                .stepping = -1,
                                .cores = -1,
                                .threads = import->cores > 0 ? import->cores : -1,
                                .l1d_bytes = -1,
                                .l2_bytes = -1,
                                .l3_bytes = -1,
                                .mem_bytes = -1,
                                .numa_nodes = -1};
    const char *name = options->host_name ? options->host_name : import->hostname;
    copy_text(host->hostname, sizeof host->hostname, name);
    copy_text(host->cpu_model, sizeof host->cpu_model, import->cpu_model);
    bool told = name || import->cpu_model;
    char identity[1024];
    snprintf(identity, sizeof identity, "imported host\n%s\n%s\n%lld\n%s\n", name ? name : "",
             import->cpu_model ? import->cpu_model : "", (long long)import->cores,
             told ? "" : file_sha256);
    return sha256_hex(identity, strlen(identity), host->fingerprint, import->err);
}

/* ---- Storing ------------------------------------------------------------------------------- */

/* The checkpoint as the file has it; one that is known stays as it is. 0: the file has none. */
static int64_t add_model(const struct import *import, struct store *store, int64_t run_id)
{
    const struct import_model *m = &import->model;
    if (!m->content_sha256)
        return 0;
    struct query q;
    query_init(&q, store,
               "INSERT INTO model(content_sha256, file_name, file_bytes, weight_dtype)"
               " VALUES (?, ?, ?, ?) ON CONFLICT(content_sha256) DO UPDATE SET"
               " file_name = coalesce(file_name, excluded.file_name),"
               " file_bytes = coalesce(file_bytes, excluded.file_bytes),"
               " weight_dtype = coalesce(weight_dtype, excluded.weight_dtype) RETURNING id");
    query_text(&q, m->content_sha256);
    query_text(&q, m->file_name);
    query_count(&q, m->file_nbytes);
    query_text(&q, m->weight_dtype);
    int64_t id = query_id(&q);
    return query_release(&q, "storing a model", import->err) &&
                   store_insert_run_model(store, run_id, id, import->err)
               ? id
               : -1;
}

static int64_t insert_run(const struct import *import, struct store *store, const char *uuid,
                          const struct import_options *options)
{
    char *argv = store_argv_json(options->argc, options->argv);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    struct query q;
    query_init(&q, store,
               "INSERT INTO run(uuid, kind, state, exit_code, host_id, build_id, start_ns, end_ns,"
               " heartbeat_ns, argv_json, env_json, label)"
               " VALUES (?, 'import', 'complete', 0, ?, ?, ?, ?, ?, ?, '{}', ?) RETURNING id");
    query_text(&q, uuid);
    query_int(&q, store->host_id);
    query_int(&q, store->build_id);
    query_int(&q, import->measured_ns >= 0 ? import->measured_ns : now_ns);
    query_int(&q, import->measured_ns >= 0 ? import->measured_ns : now_ns);
    query_int(&q, now_ns);
    query_text(&q, argv);
    query_text(&q, options->label);
    int64_t id = query_id(&q);
    free(argv);
    return query_release(&q, "storing a run", import->err) ? id : -1;
}

static bool insert_facts(const struct import *import, struct store *store, int64_t run_id)
{
    struct query q;
    const char *key;
    json_t *value;
    query_init(&q, store,
               "INSERT INTO run_env(run_id, phase, key, value) VALUES (?, 'start', ?, ?)");
    json_object_foreach(import->facts, key, value)
    {
        query_int(&q, run_id);
        query_text(&q, key);
        query_text(&q, json_string_value(value));
        query_run(&q);
    }
    return query_release(&q, "storing what the file says", import->err);
}

static bool insert_row(const struct import *import, struct store *store, int64_t run_id,
                       struct import_row *row)
{
    row->result.samples = row->samples;
    row->result.n_samples = row->n_samples;
    int64_t id = store_insert_result(store, run_id, &row->what, &row->result, import->err);
    if (id < 0)
        return false;
    struct query q;
    query_init(&q, store, "INSERT INTO counter(result_id, rep, metric, value) VALUES (?, ?, ?, ?)");
    for (size_t i = 0; i < row->n_figures; i++) {
        query_int(&q, id);
        query_int(&q, row->figures[i].rep);
        query_text(&q, row->figures[i].metric);
        query_real(&q, row->figures[i].value);
        query_run(&q);
    }
    return query_release(&q, "storing figures", import->err);
}

static bool find_run(const struct import *import, struct store *store, const char *uuid,
                     bool *known)
{
    struct query q;
    query_init(&q, store, "SELECT 1 FROM run WHERE uuid = ?");
    query_text(&q, uuid);
    *known = query_step(&q);
    return query_release(&q, "looking for a run", import->err);
}

static bool insert_all(struct import *import, struct store *store,
                       const struct import_options *options, const char *uuid)
{
    int64_t run_id = insert_run(import, store, uuid, options);
    int64_t model_id = run_id < 0 ? -1 : add_model(import, store, run_id);
    bool ok = model_id >= 0 && insert_facts(import, store, run_id);
    int order = 0;
    for (size_t i = 0; ok && i < import->n_rows; i++) {
        for (size_t s = 0; s < import->rows[i].n_samples && !import->is_ordered; s++)
            import->rows[i].samples[s].order_idx = order++;
        import->rows[i].what.model_id = model_id;
        ok = insert_row(import, store, run_id, &import->rows[i]);
    }
    return ok && (!import->insert_more || import->insert_more(store, run_id, import->user));
}

bool import_store(struct import *import, struct store *store, const struct import_options *options,
                  char uuid[37], bool *known)
{
    char file_sha256[SHA256_HEX_NBYTES], hash[SHA256_HEX_NBYTES], identity[256];
    struct host_facts host;
    struct build_record build;
    *known = false;
    if (!sha256_hex(import->data, import->nbytes, file_sha256, import->err))
        return false;
    snprintf(identity, sizeof identity, "rml import\n%s\n%s\n", options->program, file_sha256);
    if (!sha256_hex(identity, strlen(identity), hash, import->err) ||
        !describe_host(import, options, file_sha256, &host) ||
        !build_record_read(&build, import->err) ||
        !import_add_fact(import, "import.program", options->program) ||
        !import_add_fact(import, "import.file", import->path) ||
        !import_add_fact(import, "import.file_sha256", file_sha256))
        return false;
    uuid_of_hash(hash, uuid);

    if (!store_begin(store, "importing", import->err))
        return false;
    bool ok = find_run(import, store, uuid, known);
    if (ok && !*known) {
        store->host_id = store_upsert_host(store, &host, import->err);
        store->build_id = store->host_id < 0 ? -1 : store_upsert_build(store, &build, import->err);
        ok = store->build_id >= 0 && insert_all(import, store, options, uuid);
    }
    return store_end(store, ok, "importing", import->err);
}
