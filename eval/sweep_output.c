/*
 * A sweep as a table, JSON, CSV and Markdown: all of them made of the one document.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "eval/sweep_command.h"
#include "tools/cli/json_csv.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/table.h"

/* ---- The document ------------------------------------------------------------------------------ */

static json_t *json_count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static void add_identity(json_t *row, const struct sweep_setting *s)
{
    const struct eval_engine *e = &s->engine;
    json_object_set_new(row, "checkpoint", cli_json_text(e->name));
    json_object_set_new(row, "model_sha256", json_string(e->sha256));
    json_object_set_new(row, "weight_dtype",
                        json_string(rml_dtype_traits(rml_model_weight_dtype(e->model))->name));
    json_object_set_new(row, "arithmetic",
                        json_string(rml_arithmetic_name(e->settings.arithmetic)));
    json_object_set_new(row, "k_dtype", json_string(rml_kv_dtype_name(e->settings.k_dtype)));
    json_object_set_new(row, "v_dtype", json_string(rml_kv_dtype_name(e->settings.v_dtype)));
    json_object_set_new(row, "is_base", json_boolean(s->is_base));
    json_object_set_new(row, "status", json_string(s->skipped ? "skipped" : "ok"));
    json_object_set_new(row, "reason", cli_json_text(s->skipped));
    json_object_set_new(row, "weight_bytes", json_count(s->weight_nbytes));
    json_object_set_new(row, "kv_bytes", json_count(s->kv_nbytes));
}

static void add_figures(json_t *row, const struct sweep *sweep, const struct sweep_setting *s)
{
    bool has_decode = s->decode.tokens_per_second > 0;
    json_t *figures = kld_json(&s->result, "", sweep->text.windows.n_ctx);
    json_object_del(figures, "protocol");
    json_object_del(figures, "n_ctx");
    json_object_set_new(figures, "tokens_per_second", cli_json_real(s->tokens_per_second));
    json_object_set_new(figures, "speed_ratio", cli_json_real(s->speed_ratio.median));
    json_object_set_new(figures, "speed_ratio_ci_lo", cli_json_real(s->speed_ratio.ci_lo));
    json_object_set_new(figures, "speed_ratio_ci_hi", cli_json_real(s->speed_ratio.ci_hi));
    json_object_set_new(figures, "n_passes", json_count(s->speed_ratio.n));
    json_object_set_new(figures, "decode_tokens_per_second",
                        has_decode ? cli_json_real(s->decode.tokens_per_second) : json_null());
    json_object_set_new(figures, "decode_depth",
                        has_decode ? json_count((uint64_t)s->decode.n_depth) : json_null());
    json_object_set_new(figures, "decode_run",
                        has_decode ? json_string(s->decode.run_uuid) : json_null());
    json_object_set_new(figures, "n_windows_computed", json_count(s->run.n_computed));
    json_object_set_new(figures, "n_windows_reused", json_count(s->run.n_reused));
    json_object_set_new(figures, "run_id",
                        s->run.run_id > 0 ? json_count((uint64_t)s->run.run_id) : json_null());
    const char *key;
    json_t *value;
    json_object_foreach(figures, key, value)
    {
        if (s->skipped)
            json_object_set_new(row, key, json_null());
        else
            json_object_set(row, key, value);
    }
    json_decref(figures);
}

json_t *sweep_json(const struct sweep *sweep, bool plan)
{
    json_t *json = json_object(), *rows = json_array(), *settings;
    settings = eval_settings_json(&sweep->settings[0].engine, sweep->request->options,
                                  sweep->request->eval_options);
    text_options_add_settings(&sweep->text, settings);
    json_object_set_new(json, "label", cli_json_text(sweep->label));
    json_object_set_new(json, "protocol", json_string(protocol_name(sweep->text.windows.protocol)));
    json_object_set_new(json, "n_ctx", json_count(sweep->text.windows.n_ctx));
    json_object_set_new(json, "n_windows", json_count(sweep->n_windows));
    json_object_set_new(json, "n_scored", json_count(sweep->n_tokens));
    json_object_set_new(json, "settings", settings);
    json_object_set_new(json, "rows", rows);
    for (size_t i = 0; i < sweep->n_settings; i++) {
        json_t *row = json_object();
        add_identity(row, &sweep->settings[i]);
        if (!plan)
            add_figures(row, sweep, &sweep->settings[i]);
        json_array_append_new(rows, row);
    }
    return json;
}

/* ---- The table ------------------------------------------------------------------------------------ */

static double real_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static bool is_skipped(const json_t *row)
{
    return strcmp(text_of(row, "status"), "skipped") == 0;
}

/* A cell of a figure; a dash for one that is not known. */
static void cell(struct cli_table *table, const char *format, double x)
{
    if (isnan(x)) {
        cli_table_cell(table, "-");
        return;
    }
    char text[64];
    snprintf(text, sizeof text, format, x); // NOLINT(clang-diagnostic-format-nonliteral)
    cli_table_cell(table, "%s", text);
}

static void cells_of_setting(struct cli_table *table, const json_t *row)
{
    const char *name = text_of(row, "checkpoint"), *k = text_of(row, "k_dtype");
    const char *v = text_of(row, "v_dtype");
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        n--;
    size_t begin = n;
    while (begin > 0 && name[begin - 1] != '/')
        begin--;
    cli_table_cell(table, "%.*s", (int)(n - begin), name + begin);
    cli_table_cell(table, "%s", text_of(row, "weight_dtype"));
    cli_table_cell(table, "%s", text_of(row, "arithmetic"));
    if (strcmp(k, v) == 0)
        cli_table_cell(table, "%s", k);
    else
        cli_table_cell(table, "%s:%s", k, v);
}

/* A setting whose windows were all kept by an earlier run did not run, and has no speed. */
static const char *note_of(const json_t *row)
{
    if (json_is_true(json_object_get(row, "is_base")))
        return "base";
    return json_integer_value(json_object_get(row, "n_windows_reused")) > 0 &&
                   json_integer_value(json_object_get(row, "n_windows_computed")) == 0
               ? "kept before"
               : "";
}

static struct cli_table *make_table(const json_t *document, bool plan)
{
    struct cli_table *table = cli_table_create(
        plan ? "<checkpoint|<weights|<arithmetic|<kv|>weights MB|>KV MB|<note"
             : "<checkpoint|<weights|<arithmetic|<kv|>KLD|>+-|>same top %|>PPL|>PPL ratio|>+-|"
               ">weights MB|>KV MB|>tokens/s|>x base|>decode/s|<note");
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        if (is_skipped(row))
            continue;
        cells_of_setting(table, row);
        double ratio = real_of(row, "ppl_ratio");
        if (!plan) {
            cell(table, "%.4g", real_of(row, "kld_mean"));
            cell(table, "%.2g", real_of(row, "kld_stderr"));
            cell(table, "%.2f", 100 * real_of(row, "same_top"));
            cell(table, "%.4f", real_of(row, "ppl"));
            cell(table, "%.6f", ratio);
            /* of the ratio, by the derivative of exp */
            cell(table, "%.2g", ratio * real_of(row, "ln_ppl_ratio_stderr"));
        }
        cell(table, "%.1f", real_of(row, "weight_bytes") / 1e6);
        cell(table, "%.2f", real_of(row, "kv_bytes") / 1e6);
        if (!plan) {
            cell(table, "%.0f", real_of(row, "tokens_per_second"));
            cell(table, "%.2f", real_of(row, "speed_ratio"));
            cell(table, "%.1f", real_of(row, "decode_tokens_per_second"));
        }
        cli_table_cell(table, "%s", note_of(row));
    }
    return table;
}

/* A line for each checkpoint and arithmetic that does not run. */
static void print_skipped(const json_t *document, FILE *out)
{
    const json_t *row, *before = NULL;
    size_t i;
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        bool again =
            before && strcmp(text_of(row, "checkpoint"), text_of(before, "checkpoint")) == 0;
        if (is_skipped(row) && !(again && is_skipped(before)))
            fprintf(out, "\n%s, %s arithmetic: skipped: %s\n", text_of(row, "checkpoint"),
                    text_of(row, "arithmetic"), text_of(row, "reason"));
        before = row;
    }
}

void sweep_print(const json_t *document, bool plan)
{
    printf("%s: %s, context %.0f, %.0f windows, %.0f tokens scored in each setting\n\n",
           text_of(document, "label"), text_of(document, "protocol"), real_of(document, "n_ctx"),
           real_of(document, "n_windows"), real_of(document, "n_scored"));
    struct cli_table *table = make_table(document, plan);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    print_skipped(document, stdout);
}

/* ---- Files ------------------------------------------------------------------------------------------- */

static void write_json(const json_t *document, FILE *out)
{
    json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', out);
}

/* The keys of the first row are the columns. */
static void write_csv(const json_t *document, FILE *out)
{
    const json_t *rows = json_object_get(document, "rows"), *row;
    json_t *first = json_array_get(rows, 0);
    const char *key, *comma = "";
    json_t *value;
    size_t i;
    json_object_foreach(first, key, value)
    {
        fprintf(out, "%s%s", comma, key);
        comma = ",";
    }
    fputs("\r\n", out);
    json_array_foreach(rows, i, row)
    {
        comma = "";
        json_object_foreach(first, key, value)
        {
            const json_t *field = json_object_get(row, key);
            fputs(comma, out);
            comma = ",";
            if (json_is_boolean(field))
                fputs(json_is_true(field) ? "1" : "0", out);
            else
                cli_put_csv(out, field);
        }
        fputs("\r\n", out);
    }
}

static void write_markdown(const json_t *document, FILE *out)
{
    fprintf(out,
            "### rml-eval sweep: %s\n\n%s, context %.0f, %.0f windows, %.0f tokens scored.\n\n",
            text_of(document, "label"), text_of(document, "protocol"), real_of(document, "n_ctx"),
            real_of(document, "n_windows"), real_of(document, "n_scored"));
    struct cli_table *table =
        make_table(document, !json_object_get(json_array_get(json_object_get(document, "rows"), 0),
                                              "kld_mean"));
    cli_table_print_markdown(table, out);
    cli_table_destroy(table);
    print_skipped(document, out);
}

static const struct format {
    const char *ending;
    void (*write)(const json_t *document, FILE *out);
} formats[] = {{".json", write_json}, {".csv", write_csv}, {".md", write_markdown}};

static const struct format *format_of(const char *file)
{
    const char *dot = strcmp(file, "-") == 0 ? ".json" : strrchr(file, '.');
    for (size_t i = 0; dot && i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].ending, dot) == 0)
            return &formats[i];
    return NULL;
}

bool sweep_output_fits(const char *file)
{
    return format_of(file) != NULL;
}

bool sweep_write(const json_t *document, const char *file, struct rml_error *err)
{
    struct cli_output output;
    if (!cli_output_open(&output, file, err))
        return false;
    format_of(file)->write(document, output.stream);
    return cli_output_commit(&output, err);
}
