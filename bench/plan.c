#include "bench/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite.h"
#include "files/content_hash.h"
#include "kernels/kernels.h"
#include "tools/cli/json_out.h"

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the list of cases");
}

void bench_spec_destroy(struct bench_spec *spec)
{
    if (!spec)
        return;
    json_decref(spec->params);
    json_decref(spec->document);
    free(spec->params_json);
    free(spec->skip_reason);
    free(spec);
}

void bench_plan_release(struct bench_plan *plan)
{
    for (size_t i = 0; i < plan->n_specs; i++)
        bench_spec_destroy(plan->specs[i]);
    free(plan->specs);
    if (plan->model)
        free(plan->model->path);
    free(plan->model);
    *plan = (struct bench_plan){0};
}

static struct bench_spec *new_spec(const struct bench_suite *suite, const char *name,
                                   struct rml_error *err)
{
    struct bench_spec *spec = calloc(1, sizeof *spec);
    if (!spec) {
        no_memory(err);
        return NULL;
    }
    spec->suite = suite;
    snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->what = (struct store_case){.suite = suite->name,
                                     .name = spec->name,
                                     .work_version = suite->work_version,
                                     .engine = "rml",
                                     .n_batch = 1,
                                     .n_prompt = -1,
                                     .n_gen = -1,
                                     .n_depth = -1};
    spec->bytes_per_iter = spec->flops_per_iter = spec->open_bytes = spec->memory_nbytes = -1;
    spec->iters_step = 1;
    if (!bench_spec_params(spec, json_object(), err)) {
        bench_spec_destroy(spec);
        return NULL;
    }
    return spec;
}

struct bench_spec *bench_plan_add(struct bench_plan *plan, const struct bench_suite *suite,
                                  const char *name, struct rml_error *err)
{
    const struct rmli_kernels *kernels = rmli_kernels_best(err);
    if (!kernels)
        return NULL;
    if (plan->n_specs == plan->n_room) {
        size_t n_room = 2 * plan->n_room + 16;
        struct bench_spec **specs = realloc(plan->specs, n_room * sizeof *specs);
        if (!specs) {
            no_memory(err);
            return NULL;
        }
        plan->specs = specs;
        plan->n_room = n_room;
    }
    struct bench_spec *spec = new_spec(suite, name, err);
    if (!spec)
        return NULL;
    spec->what.isa = rml_isa_name(kernels->isa);
    if (plan->model) {
        spec->checkpoint = plan->model->path;
        spec->model_sha256 = plan->model->sha256;
    }
    plan->specs[plan->n_specs++] = spec;
    return spec;
}

bool bench_spec_params(struct bench_spec *spec, json_t *params, struct rml_error *err)
{
    char *text = params ? json_dumps(params, JSON_COMPACT) : NULL;
    if (!text) {
        json_decref(params);
        return no_memory(err);
    }
    json_decref(spec->params);
    free(spec->params_json);
    spec->params = params;
    spec->what.params_json = spec->params_json = text;
    return true;
}

void bench_spec_skip(struct bench_spec *spec, const char *format, ...)
{
    if (spec->skip_reason)
        return;
    va_list args;
    va_start(args, format);
    if (vasprintf(&spec->skip_reason, format, args) < 0)
        spec->skip_reason = NULL;
    va_end(args);
}

char *bench_spec_key(const struct bench_spec *spec)
{
    return store_case_key(&spec->what, spec->model_sha256);
}

/* "TEXT", or "BASE -> HEAD". */
static void put_words(FILE *out, const char *before, const char *base, const char *head)
{
    if (strcmp(base, head) != 0)
        fprintf(out, "%s%s -> %s", before, base, head);
    else if (*head)
        fprintf(out, "%s%s", before, head);
}

static void put_name(FILE *out, const char *base, const char *head)
{
    base = base ? base : "";
    head = head ? head : "";
    put_words(out, " ", *base || !*head ? base : "none", *head || !*base ? head : "none");
}

static void put_count(FILE *out, const char *unit, int64_t base, int64_t head)
{
    if (base != head && (base > 0 || head > 0))
        fprintf(out, ", %s %lld -> %lld", unit, (long long)(base > 0 ? base : 0),
                (long long)(head > 0 ? head : 0));
    else if (head > 0)
        fprintf(out, ", %s %lld", unit, (long long)head);
}

static void kv_text(const struct store_case *c, char text[64])
{
    text[0] = 0;
    if (c->k_dtype && c->v_dtype)
        snprintf(text, 64, "%s:%s", c->k_dtype, c->v_dtype);
}

void bench_spec_describe_pair(const struct bench_spec *base, const struct bench_spec *head,
                              char *text, size_t nbytes)
{
    const struct store_case *b = &base->what, *h = &head->what;
    char base_text[256], head_text[256];
    snprintf(base_text, sizeof base_text, "%s/%s", b->suite, b->name);
    snprintf(head_text, sizeof head_text, "%s/%s", h->suite, h->name);
    FILE *out = fmemopen(text, nbytes, "w");
    if (!out) {
        snprintf(text, nbytes, "%s", head_text);
        return;
    }
    put_words(out, "", base_text, head_text);
    put_name(out, b->weight_dtype, h->weight_dtype);
    put_name(out, b->arithmetic, h->arithmetic);
    kv_text(b, base_text);
    kv_text(h, head_text);
    put_words(out, ", kv ", base_text, head_text);
    put_count(out, "prompt", b->n_prompt, h->n_prompt);
    put_count(out, "gen", b->n_gen, h->n_gen);
    put_count(out, "depth", b->n_depth, h->n_depth);
    if (b->n_batch > 1 || h->n_batch > 1)
        put_count(out, "batch", b->n_batch, h->n_batch);
    put_count(out, "threads", b->threads, h->threads);
    if (head->suite->has_isas && b->isa && h->isa)
        put_words(out, ", ", b->isa, h->isa);
    fclose(out);
    text[nbytes - 1] = 0;
}

void bench_spec_describe(const struct bench_spec *spec, char *text, size_t nbytes)
{
    bench_spec_describe_pair(spec, spec, text, nbytes);
}

bool bench_plan_sha256(const struct bench_plan *plan, int n_reps, bool profile, char hex[65],
                       struct rml_error *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < plan->n_specs; i++) {
        char *key = bench_spec_key(plan->specs[i]);
        ok = key && fprintf(out, "%s\n", key) > 0;
        free(key);
    }
    ok = ok && fprintf(out, "reps=%d\n%s", n_reps, profile ? "profile\n" : "") > 0;
    ok = out && fclose(out) == 0 && ok;
    ok = ok ? rmli_sha256_bytes(text, nbytes, hex, err) : no_memory(err);
    free(text);
    return ok;
}

/* ---- As JSON ------------------------------------------------------------------------------ */

json_t *bench_spec_to_json(const struct bench_spec *spec)
{
    const struct store_case *c = &spec->what;
    return json_pack("{ss ss so so so so so so so si sI sI sI sI sO}", "suite", c->suite, "name",
                     c->name, "checkpoint", cli_json_text(spec->checkpoint), "input",
                     cli_json_text(spec->input), "arithmetic", cli_json_text(c->arithmetic), "isa",
                     cli_json_text(c->isa), "weight_dtype", cli_json_text(c->weight_dtype),
                     "k_dtype", cli_json_text(c->k_dtype), "v_dtype", cli_json_text(c->v_dtype),
                     "threads", c->threads, "n_batch", (json_int_t)c->n_batch, "n_prompt",
                     (json_int_t)c->n_prompt, "n_gen", (json_int_t)c->n_gen, "n_depth",
                     (json_int_t)c->n_depth, "params", spec->params);
}

/* A text or null; *ok becomes false for anything else. */
static const char *text_of(const json_t *document, const char *name, bool *ok)
{
    const json_t *member = json_object_get(document, name);
    *ok = *ok && (!member || json_is_null(member) || json_is_string(member));
    return json_string_value(member);
}

static int64_t count_of(const json_t *document, const char *name, bool *ok)
{
    const json_t *member = json_object_get(document, name);
    *ok = *ok && json_is_integer(member);
    return json_integer_value(member);
}

struct bench_spec *bench_spec_from_json(json_t *document, struct rml_error *err)
{
    bool ok = true;
    const char *suite_name = text_of(document, "suite", &ok);
    const char *name = text_of(document, "name", &ok);
    json_t *params = json_object_get(document, "params");
    if (!suite_name || !name || !json_is_object(params)) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "no description of a case: expected suite, name and params");
        return NULL;
    }
    const struct bench_suite *suite = bench_find_suite(suite_name);
    if (!suite) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "this program has no suite '%s'",
                  suite_name);
        return NULL;
    }
    struct bench_spec *spec = new_spec(suite, name, err);
    if (!spec)
        return NULL;
    spec->document = json_incref(document);
    spec->checkpoint = text_of(document, "checkpoint", &ok);
    spec->input = text_of(document, "input", &ok);
    spec->what.arithmetic = text_of(document, "arithmetic", &ok);
    spec->what.isa = text_of(document, "isa", &ok);
    spec->what.weight_dtype = text_of(document, "weight_dtype", &ok);
    spec->what.k_dtype = text_of(document, "k_dtype", &ok);
    spec->what.v_dtype = text_of(document, "v_dtype", &ok);
    int64_t threads = count_of(document, "threads", &ok);
    spec->what.threads = (int)threads;
    spec->what.n_batch = count_of(document, "n_batch", &ok);
    spec->what.n_prompt = count_of(document, "n_prompt", &ok);
    spec->what.n_gen = count_of(document, "n_gen", &ok);
    spec->what.n_depth = count_of(document, "n_depth", &ok);
    ok = ok && threads >= -1 && threads <= RML_MAX_THREADS;
    if (!ok)
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "no description of a case: a member is missing or of the wrong type");
    if (!ok || !bench_spec_params(spec, json_incref(params), err)) {
        bench_spec_destroy(spec);
        return NULL;
    }
    return spec;
}

bool bench_spec_u64(const struct bench_spec *spec, const char *name, uint64_t min, uint64_t max,
                    uint64_t *value, struct rml_error *err)
{
    const json_t *member = json_object_get(spec->params, name);
    json_int_t n = json_integer_value(member);
    if (!json_is_integer(member) || (n < 0) || (uint64_t)n < min || (uint64_t)n > max)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "'%s' of the case is missing or out of its range", name);
    *value = (uint64_t)n;
    return true;
}

bool bench_spec_u32(const struct bench_spec *spec, const char *name, uint32_t max, uint32_t *value,
                    struct rml_error *err)
{
    uint64_t n = 0;
    if (!bench_spec_u64(spec, name, 0, max, &n, err))
        return false;
    *value = (uint32_t)n;
    return true;
}

uint64_t bench_spec_seed(const struct bench_spec *spec)
{
    return (uint64_t)json_integer_value(json_object_get(spec->params, "seed"));
}

bool bench_spec_kv(const struct bench_spec *spec, enum rml_kv_dtype *k, enum rml_kv_dtype *v,
                   struct rml_error *err)
{
    const struct store_case *c = &spec->what;
    return (c->k_dtype && c->v_dtype && rml_kv_dtype_parse(c->k_dtype, k) &&
            rml_kv_dtype_parse(c->v_dtype, v)) ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no cache types");
}

bool bench_spec_arithmetic(const struct bench_spec *spec, enum rml_arithmetic *arithmetic,
                           struct rml_error *err)
{
    return (spec->what.arithmetic && rml_arithmetic_parse(spec->what.arithmetic, arithmetic)) ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no arithmetic");
}
