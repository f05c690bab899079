#include "bench/outputs.h"

#include <jansson.h>
#include <string.h>

#include "tools/cli/json_csv.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output_names.h"
#include "tools/cli/table.h"

/* ---- Formats -------------------------------------------------------------------------------- */

/* False without a document, whose maker has said why, and where it cannot be written. */
static bool dump(FILE *out, json_t *document, size_t flags)
{
    bool ok = document && json_dumpf(document, out, flags | JSON_REAL_PRECISION(17)) == 0;
    if (ok)
        fputc('\n', out);
    json_decref(document);
    return ok;
}

static bool write_json(FILE *out, const struct bench_session *session, struct rml_error *err)
{
    return dump(out, bench_rows_json(session, err), JSON_INDENT(2));
}

static bool write_jsonl(FILE *out, const struct bench_session *session, struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < session->n_rows; i++)
        ok = dump(out, bench_row_json(session->rows[i], err), JSON_COMPACT);
    return ok;
}

/* The keys of a JSON row that are no lists, in the same order; null is empty. */
static bool write_csv(FILE *out, const struct bench_session *session, struct rml_error *err)
{
    for (size_t i = 0; i < session->n_rows; i++) {
        json_t *row = bench_row_json(session->rows[i], err);
        if (!row)
            return false;
        const char *key;
        json_t *value;
        for (int header = i == 0; header >= 0; header--) {
            const char *comma = "";
            json_object_foreach(row, key, value)
            {
                if (strcmp(key, "samples_ns") == 0 || strcmp(key, "profile_ns") == 0)
                    continue;
                fputs(comma, out);
                comma = ",";
                if (header)
                    fputs(key, out);
                else
                    cli_put_csv(out, value);
            }
            fputc('\n', out);
        }
        json_decref(row);
    }
    return true;
}

static bool write_markdown(FILE *out, const struct bench_session *session, struct rml_error *err)
{
    (void)err;
    struct cli_table *table = bench_rows_table(session);
    cli_table_print_markdown(table, out);
    cli_table_destroy(table);
    return true;
}

static const struct format {
    const char *ending;
    bool (*write)(FILE *out, const struct bench_session *session, struct rml_error *err);
} formats[] = {
    {".json", write_json}, {".jsonl", write_jsonl}, {".csv", write_csv}, {".md", write_markdown}};

static const struct format *format_of(const char *name)
{
    const char *dot = strcmp(name, "-") == 0 ? ".json" : strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].ending, dot) == 0)
            return &formats[i];
    return NULL;
}

/* ---- Files ---------------------------------------------------------------------------------- */

void bench_arg_output(struct argp_state *state, const char *name, struct bench_outputs *outputs)
{
    cli_arg_output(state, "-o", name);
    if (!format_of(name))
        argp_error(state,
                   "-o: '%s' found, expected a name that ends in .json, .jsonl, .csv or .md, or -",
                   name);
    if (outputs->n == BENCH_MAX_OUTPUTS)
        argp_error(state, "-o: expected at most %d files", BENCH_MAX_OUTPUTS);
    for (size_t i = 0; i < outputs->n; i++)
        if (strcmp(outputs->names[i], name) == 0)
            argp_error(state, "-o: '%s' found twice", name);
    outputs->names[outputs->n++] = name;
}

bool bench_outputs_to_stdout(const struct bench_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (strcmp(outputs->names[i], "-") == 0)
            return true;
    return false;
}

bool bench_outputs_open(struct bench_outputs *outputs, struct rml_error *err)
{
    for (size_t i = 0; i < outputs->n; i++) {
        outputs->open[i] = cli_output_open(&outputs->files[i], outputs->names[i], err);
        if (!outputs->open[i]) {
            bench_outputs_abandon(outputs);
            return false;
        }
    }
    return true;
}

bool bench_outputs_write(struct bench_outputs *outputs, const struct bench_session *session,
                         struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < outputs->n; i++) {
        ok = format_of(outputs->names[i])->write(outputs->files[i].stream, session, err);
        if (!ok) {
            cli_output_fail(&outputs->files[i], err); /* unless there is an error already */
            break;
        }
        ok = cli_output_commit(&outputs->files[i], err);
        outputs->open[i] = false;
    }
    bench_outputs_abandon(outputs);
    return ok;
}

void bench_outputs_abandon(struct bench_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++) {
        if (outputs->open[i])
            cli_output_abandon(&outputs->files[i]);
        outputs->open[i] = false;
    }
}
