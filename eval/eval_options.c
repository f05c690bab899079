/*
 * Options that several commands of rml-eval have in common.
 */
#include "eval/eval_options.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/llama_cpp_draw.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"
#include "tools/cli/stored_run.h"

#define MAX_SHARDS 100000

static void parse_shard(struct selection *selection, char *arg, struct argp_state *state)
{
    char *slash = strchr(arg, '/');
    uint64_t n = 0, i = 0;
    if (slash) {
        *slash = 0;
        bool ok = cli_parse_u64(slash + 1, 1, MAX_SHARDS, &n) && cli_parse_u64(arg, 1, n, &i);
        *slash = '/';
        if (ok) {
            selection->shard = (size_t)i;
            selection->n_shards = (size_t)n;
            return;
        }
    }
    argp_error(state, "--shard: '%s' found, expected I/N with I from 1 to N", arg);
}

error_t eval_options_parse(struct eval_options *options, int key, char *arg,
                           struct argp_state *state)
{
    switch (key) {
    case EVAL_KEY_LIMIT:
        options->selection.limit = (size_t)cli_arg_u64(state, "--limit", arg, 1, INT64_MAX);
        return 0;
    case EVAL_KEY_HEAD:
        options->selection.head = true;
        return 0;
    case EVAL_KEY_SHARD:
        parse_shard(&options->selection, arg, state);
        return 0;
    case EVAL_KEY_FRESH:
        options->fresh = true;
        return 0;
    case EVAL_KEY_LABEL:
        options->label = cli_arg_label(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (options->selection.head && options->selection.limit == 0)
            argp_error(state, "--head needs --limit");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Selection ---------------------------------------------------------------------------- */

/* The output function of splitmix64 (Vigna): every bit of the result depends on all of x. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct ticket {
    uint64_t draw;
    size_t item;
};

static int by_draw(const void *a, const void *b)
{
    const struct ticket *x = a, *y = b;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static int by_item(const void *a, const void *b)
{
    const struct ticket *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

/* The first `kept` of `chosen` become a sample of all n, ascending. */
static bool draw_sample(enum selection_draw draw, uint64_t seed, size_t n, size_t kept,
                        struct ticket *tickets, size_t *chosen)
{
    if (draw == DRAW_TICKETS) {
        for (size_t i = 0; i < n; i++)
            tickets[i] = (struct ticket){.draw = mix(mix(seed) ^ i), .item = i};
        qsort(tickets, n, sizeof *tickets, by_draw);
    } else {
        size_t *left = calloc(n, sizeof *left);
        if (!left)
            return false;
        (draw == DRAW_HELLASWAG ? llama_cpp_draw_hellaswag : llama_cpp_draw_winogrande)(
            (uint32_t)(seed + 1), n, kept, left, chosen);
        for (size_t i = 0; i < kept; i++)
            tickets[i].item = chosen[i];
        free(left);
    }
    qsort(tickets, kept, sizeof *tickets, by_item);
    for (size_t i = 0; i < kept; i++)
        chosen[i] = tickets[i].item;
    return true;
}

bool selection_apply(const struct selection *selection, uint64_t seed, size_t n, size_t **chosen,
                     size_t *n_chosen, struct rml_error *err)
{
    size_t kept = selection->limit > 0 && selection->limit < n ? selection->limit : n;
    struct ticket *tickets = calloc(n + 1, sizeof *tickets);
    size_t *items = calloc(n + 1, sizeof *items);
    *chosen = NULL;
    *n_chosen = 0;
    bool ok = tickets && items;
    for (size_t i = 0; ok && i < kept; i++)
        items[i] = i;
    if (ok && kept < n && !selection->head)
        ok = draw_sample(selection->draw, seed, n, kept, tickets, items);
    free(tickets);
    if (!ok) {
        free(items);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to choose from %zu items", n);
    }
    for (size_t i = 0; i < kept; i++)
        if (selection->n_shards == 0 || i % selection->n_shards == selection->shard - 1)
            items[(*n_chosen)++] = items[i];
    if (kept > 0 && *n_chosen == 0) {
        free(items);
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "--shard %zu/%zu of %zu items has none, expected at most %zu shards",
                         selection->shard, selection->n_shards, kept, kept);
    }
    *chosen = items;
    return true;
}

/* ---- Settings ------------------------------------------------------------------------------- */

struct eval_settings eval_settings_of(const struct cli_options *options)
{
    struct eval_settings settings = {
        .arithmetic = RML_ARITHMETIC_F32, .k_dtype = RML_KV_F32, .v_dtype = RML_KV_F32};
    if (options->arithmetic_given)
        settings.arithmetic = options->arithmetic;
    if (options->kv_given) {
        settings.k_dtype = options->k_dtype;
        settings.v_dtype = options->v_dtype;
    }
    return settings;
}

json_t *eval_settings_json(const struct eval_engine *engine, const struct cli_options *options,
                           const struct eval_options *eval_options)
{
    const struct selection *selection = &eval_options->selection;
    json_t *json = json_pack(
        "{so ss ss ss ss ss sI si}", "model", cli_json_text(engine->name), "model_sha256",
        engine->sha256, "arithmetic", rml_arithmetic_name(engine->settings.arithmetic), "k_dtype",
        rml_kv_dtype_name(engine->settings.k_dtype), "v_dtype",
        rml_kv_dtype_name(engine->settings.v_dtype), "isa", rml_isa_name(engine->isa), "threads",
        (json_int_t)rml_thread_pool_size(engine->pool), "numerics_version", RML_NUMERICS_VERSION);
    if (engine->tokenizer)
        json_object_set_new(json, "tokenizer_sha256", json_string(engine->tokenizer_sha256));
    if (selection->limit > 0) {
        json_object_set_new(json, "limit", json_integer((json_int_t)selection->limit));
        json_object_set_new(json, "sample",
                            json_string(selection->head                   ? "head"
                                        : selection->draw == DRAW_TICKETS ? "seeded"
                                                                          : "llama.cpp"));
        json_object_set_new(json, "seed", json_integer((json_int_t)(options->seed & INT64_MAX)));
    }
    if (selection->n_shards > 0)
        json_object_set_new(json, "shard",
                            json_sprintf("%zu/%zu", selection->shard, selection->n_shards));
    return json;
}

bool eval_run_begin(struct eval_run *run, const struct cli_options *options,
                    const struct eval_options *eval_options, struct rml_error *err)
{
    *run = (struct eval_run){.fresh = eval_options->fresh};
    if (!cli_store_open(options, &run->store, err))
        return false;
    if (!run->store || cli_run_add(run->store, STORE_RUN_EVAL, (int64_t)(options->seed & INT64_MAX),
                                   eval_options->label, &run->run_id, err))
        return true;
    store_close(run->store);
    run->store = NULL;
    return false;
}

int eval_exit(const struct rml_error *err, int code)
{
    cli_progress_clear();
    if (err->code == RML_OK)
        return code;
    if (err->code == RML_CANCELLED) {
        cli_note("interrupted; what was finished is kept");
        return cli_interrupted_code();
    }
    return cli_error(err);
}
