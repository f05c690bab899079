/*
 * Rows as JSON. The keys are fixed; one that does not apply is null, never absent.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_run.h"
#include "tools/cli/json_out.h"

static json_t *count(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

/* The checkpoint's name without folders; NULL for NULL. */
static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

static json_t *samples_ns(const struct bench_samples *s)
{
    json_t *array = json_array();
    for (size_t i = 0; i < s->n_samples; i++) {
        if (!s->samples[i].is_warmup)
            json_array_append_new(
                array, json_real((double)s->samples[i].wall_ns / (double)s->samples[i].iters));
    }
    return array;
}

static bool add_case(json_t *o, const struct bench_row *row)
{
    const struct store_case *c = &row->what;
    char *key = store_case_key(c, row->spec->model_sha256);
    int rc = json_object_set_new(o, "suite", cli_json_text(c->suite));
    rc |= json_object_set_new(o, "name", cli_json_text(c->name));
    rc |= json_object_set_new(o, "case_key", cli_json_text(key));
    rc |= json_object_set_new(o, "status", cli_json_text(store_status_name(row->result.status)));
    rc |= json_object_set_new(o, "engine", cli_json_text(c->engine));
    rc |= json_object_set_new(o, "model", cli_json_text(base_name(row->spec->checkpoint)));
    rc |= json_object_set_new(o, "weight_dtype", cli_json_text(c->weight_dtype));
    rc |= json_object_set_new(o, "k_dtype", cli_json_text(c->k_dtype));
    rc |= json_object_set_new(o, "v_dtype", cli_json_text(c->v_dtype));
    rc |= json_object_set_new(o, "arithmetic", cli_json_text(c->arithmetic));
    rc |= json_object_set_new(o, "isa", cli_json_text(c->isa));
    rc |= json_object_set_new(o, "threads", count(c->threads));
    rc |= json_object_set_new(o, "n_prompt", count(c->n_prompt));
    rc |= json_object_set_new(o, "n_gen", count(c->n_gen));
    rc |= json_object_set_new(o, "n_depth", count(c->n_depth));
    rc |= json_object_set_new(o, "n_batch", count(c->n_batch));
    free(key);
    return key && rc == 0;
}

static bool add_figures(json_t *o, const struct bench_row *row)
{
    const struct summary *s = &row->stats;
    const struct store_result *r = &row->result;
    int rc = json_object_set_new(o, "iters_per_rep",
                                 count(r->iters_per_rep > 0 ? r->iters_per_rep : -1));
    rc |= json_object_set_new(o, "n_samples", json_integer((json_int_t)s->n));
    rc |= json_object_set_new(o, "median_ns", cli_json_real(s->median));
    rc |= json_object_set_new(o, "ci_lo_ns", cli_json_real(s->ci_lo));
    rc |= json_object_set_new(o, "ci_hi_ns", cli_json_real(s->ci_hi));
    rc |= json_object_set_new(o, "ci_coverage", cli_json_real(s->ci_coverage));
    rc |= json_object_set_new(o, "mad_ns", cli_json_real(s->mad));
    rc |= json_object_set_new(o, "min_ns", cli_json_real(s->min));
    rc |= json_object_set_new(o, "tokens_per_second",
                              cli_json_real(bench_row_tokens_per_second(row)));
    rc |=
        json_object_set_new(o, "bytes_per_second", cli_json_real(bench_row_bytes_per_second(row)));
    rc |=
        json_object_set_new(o, "flops_per_second", cli_json_real(bench_row_flops_per_second(row)));
    rc |= json_object_set_new(o, "roof_fraction", cli_json_real(row->roof_fraction));
    rc |= json_object_set_new(o, "ttft_ns", cli_json_real(row->ttft_ns));
    rc |= json_object_set_new(o, "itl_p50_ns", cli_json_real(row->itl_p50_ns));
    rc |= json_object_set_new(o, "itl_p90_ns", cli_json_real(row->itl_p90_ns));
    rc |= json_object_set_new(o, "itl_p99_ns", cli_json_real(row->itl_p99_ns));
    rc |= json_object_set_new(o, "itl_max_ns", cli_json_real(row->itl_max_ns));
    rc |= json_object_set_new(o, "rss_bytes", count(r->rss_bytes));
    rc |= json_object_set_new(o, "kv_bytes", count(r->kv_bytes));
    rc |= json_object_set_new(o, "output_sha256", cli_json_text(r->output_sha256));
    rc |= json_object_set_new(o, "error", cli_json_text(r->error));
    rc |= json_object_set_new(o, "samples_ns", samples_ns(&row->samples));
    rc |= json_object_set_new(o, "profile_ns",
                              row->profile ? json_incref(row->profile) : json_null());
    return rc == 0;
}

json_t *bench_row_json(const struct bench_row *row, struct rml_error *err)
{
    json_t *o = json_object();
    if (o && add_case(o, row) && add_figures(o, row))
        return o;
    json_decref(o);
    rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a row as JSON");
    return NULL;
}

json_t *bench_rows_json(const struct bench_session *session, struct rml_error *err)
{
    json_t *host = store_host_json(err), *build = store_build_json(err), *rows = json_array();
    bool ok = host && build && rows;
    for (size_t i = 0; ok && i < session->n_rows; i++) {
        json_t *o = bench_row_json(session->rows[i], err);
        ok = o && json_array_append_new(rows, o) == 0;
    }
    json_t *document =
        ok ? json_pack("{sO sO sO}", "host", host, "build", build, "rows", rows) : NULL;
    json_decref(host);
    json_decref(build);
    json_decref(rows);
    if (!document)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the JSON document");
    return document;
}
