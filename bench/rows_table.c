/*
 * Rows as a table for people: median and interval in a unit that suits, rates, memory.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_run.h"
#include "tools/cli/table.h"

/* Three or four significant digits: 0.123 1.23 12.3 123 1234. */
static const char *figure(char *text, size_t nbytes, double x)
{
    if (isnan(x))
        snprintf(text, nbytes, "-");
    else
        snprintf(text, nbytes, "%.*f", x > 0 && x < 0.1 ? 4 : x < 10 ? 2 : x < 100 ? 1 : 0, x);
    return text;
}

static void put_figure(struct cli_table *table, double x)
{
    char text[32];
    cli_table_cell(table, "%s", figure(text, sizeof text, x));
}

static void put_text(struct cli_table *table, const char *text)
{
    cli_table_cell(table, "%s", text ? text : "-");
}

/* "12.3 us [12.1, 12.9]" */
static void put_time(struct cli_table *table, const struct summary *s)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    if (s->n == 0) {
        cli_table_cell(table, "-");
        return;
    }
    size_t u = 0;
    while (u < 3 && s->median < units[u].ns)
        u++;
    char median[32], lo[32], hi[32];
    cli_table_cell(table, "%s %s [%s, %s]", figure(median, sizeof median, s->median / units[u].ns),
                   units[u].unit, figure(lo, sizeof lo, s->ci_lo / units[u].ns),
                   figure(hi, sizeof hi, s->ci_hi / units[u].ns));
}

static void put_count(struct cli_table *table, int64_t n)
{
    if (n < 0)
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%lld", (long long)n);
}

/* With the checkpoint's name in place of "checkpoint", and the numbers of tokens and sequences,
 * where the case has some of its own. (rml-results history finds a case by this.) A tokenizer alone is
 * no checkpoint: its cases have its hash in their key, and no name that would stay. */
static void put_name(struct cli_table *table, const struct bench_row *row)
{
    const struct store_case *c = &row->what;
    const char *path = row->spec->model_sha256 ? row->spec->checkpoint : NULL;
    const char *slash_in_name = strchr(c->name, '/');
    const char *rest = slash_in_name ? slash_in_name + 1 : c->name;
    long long n = c->n_prompt > 0 ? c->n_prompt : c->n_gen;
    char length[32] = "", batch[32] = "";
    if (n > 1)
        snprintf(length, sizeof length, " %lld", n);
    if (c->n_batch > 1)
        snprintf(batch, sizeof batch, " x %lld", (long long)c->n_batch);
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (path)
        cli_table_cell(table, "%s/%s%s%s", slash && slash[1] ? slash + 1 : path, rest, length,
                       batch);
    else
        cli_table_cell(table, "%s%s%s", c->name, length, batch);
}

static void put_kv(struct cli_table *table, const struct store_case *c)
{
    if (!c->k_dtype)
        cli_table_cell(table, "-");
    else if (strcmp(c->k_dtype, c->v_dtype) == 0)
        cli_table_cell(table, "%s", c->k_dtype);
    else
        cli_table_cell(table, "%s:%s", c->k_dtype, c->v_dtype);
}

/* From a token to the next: half of them, and 99 of 100, took no longer. */
static void put_latency(struct cli_table *table, const struct bench_row *row)
{
    char p50[32], p99[32];
    if (isnan(row->itl_p50_ns))
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%s %s", figure(p50, sizeof p50, row->itl_p50_ns / 1e6),
                       figure(p99, sizeof p99, row->itl_p99_ns / 1e6));
}

struct cli_table *bench_rows_table(const struct bench_session *session)
{
    bool weights = false, tokens = false, isas = false;
    for (size_t i = 0; i < session->n_rows; i++) {
        isas = isas || session->rows[i]->spec->suite->has_isas;
        weights = weights || session->rows[i]->what.weight_dtype;
        tokens = tokens || !isnan(session->rows[i]->itl_p50_ns);
    }
    char headings[256];
    snprintf(headings, sizeof headings,
             "<case|%s<kv|>depth|>threads|%s>median [95 %%]|%s>token/s|>GB/s|>GFLOP/s|>%% roof|"
             ">KV MB|>RSS MB|<status",
             weights ? "<weights|<arith|" : "", isas ? "<isa|" : "",
             tokens ? ">token p50 p99 ms|" : "");
    struct cli_table *table = cli_table_create(headings);
    for (size_t i = 0; i < session->n_rows; i++) {
        const struct bench_row *row = session->rows[i];
        const struct store_case *c = &row->what;
        put_name(table, row);
        if (weights) {
            put_text(table, c->weight_dtype);
            put_text(table, c->arithmetic);
        }
        put_kv(table, c);
        put_count(table, c->n_depth);
        put_count(table, c->threads);
        if (isas)
            put_text(table, c->isa);
        put_time(table, &row->stats);
        if (tokens)
            put_latency(table, row);
        put_figure(table, bench_row_tokens_per_second(row));
        put_figure(table, bench_row_bytes_per_second(row) / 1e9);
        put_figure(table, bench_row_flops_per_second(row) / 1e9);
        put_figure(table, 100 * row->roof_fraction);
        put_figure(table, row->result.kv_bytes < 0 ? NAN : (double)row->result.kv_bytes / 1e6);
        put_figure(table, row->result.rss_bytes < 0 ? NAN : (double)row->result.rss_bytes / 1e6);
        cli_table_cell(table, "%s", store_status_name(row->result.status));
    }
    return table;
}

/* ---- Profiles ------------------------------------------------------------------------------- */

struct cli_table *bench_profile_table(const struct bench_row *row)
{
    if (!row->profile || row->what.threads < 1)
        return NULL;
    const char *operation;
    json_t *times;
    double total = 0;
    json_object_foreach(row->profile, operation, times) total +=
        json_number_value(json_object_get(times, "wall_ns"));
    struct cli_table *table = cli_table_create("<operation|>us|>% of time|>% threads wait");
    json_object_foreach(row->profile, operation, times)
    {
        double wall = json_number_value(json_object_get(times, "wall_ns"));
        double wait = json_number_value(json_object_get(times, "wait_ns"));
        cli_table_cell(table, "%s", operation);
        put_figure(table, wall / 1e3);
        put_figure(table, 100 * wall / total);
        put_figure(table, wall > 0 ? 100 * wait / (row->what.threads * wall) : NAN);
    }
    return table;
}
