/*
 * Checkpoints and the outcome of golden files.
 */
#include "results/store_private.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_config.h"

static const char *const activation_names[] = {[RML_SILU] = "silu", [RML_GELU_TANH] = "gelu_tanh"};
static const char *const qk_norm_names[] = {
    [RML_QK_NORM_NONE] = "none", [RML_QK_NORM_HEAD] = "head", [RML_QK_NORM_WHOLE] = "whole"};
static const char *const pairing_names[] = {
    [RML_ROPE_HALF] = "half", [RML_ROPE_INTERLEAVED] = "interleaved"};
static const char *const scaling_names[] = {
    [RML_ROPE_SCALING_NONE] = "none",     [RML_ROPE_SCALING_LINEAR] = "linear",
    [RML_ROPE_SCALING_LLAMA3] = "llama3", [RML_ROPE_SCALING_FACTORS] = "factors",
    [RML_ROPE_SCALING_YARN] = "yarn",
};

static json_t *rope_json(const struct rml_model_config *c)
{
    const struct rml_rope_scaling *s = &c->rope_scaling;
    json_t *rope = json_pack("{ss sf sf ss}", "pairing", pairing_names[c->rope_pairing], "theta",
                             c->rope_theta, "local_theta", c->rope_local_theta, "scaling",
                             scaling_names[s->type]);
    if (s->type == RML_ROPE_SCALING_LINEAR || s->type == RML_ROPE_SCALING_LLAMA3 ||
        s->type == RML_ROPE_SCALING_YARN)
        json_object_set_new(rope, "factor", json_real(s->factor));
    if (s->type == RML_ROPE_SCALING_LLAMA3 || s->type == RML_ROPE_SCALING_YARN)
        json_object_set_new(rope, "original_context", json_real(s->original_context));
    if (s->type == RML_ROPE_SCALING_LLAMA3) {
        json_object_set_new(rope, "low_freq_factor", json_real(s->low_freq_factor));
        json_object_set_new(rope, "high_freq_factor", json_real(s->high_freq_factor));
    }
    if (s->type == RML_ROPE_SCALING_YARN) {
        json_object_set_new(rope, "beta_fast", json_real(s->beta_fast));
        json_object_set_new(rope, "beta_slow", json_real(s->beta_slow));
        json_object_set_new(rope, "attention_factor", json_real(s->attention_factor));
    }
    return rope;
}

/* The switches in which families differ, for people; sizes have columns of their own. */
static char *config_json(const struct rml_model_config *c)
{
    json_t *sliding = json_array();
    for (uint32_t layer = 0; layer < c->n_layer && c->sliding_window > 0; layer++) {
        if (c->sliding_layer[layer])
            json_array_append_new(sliding, json_integer(layer));
    }
    json_t *config = json_pack(
        "{ss sf sf sf sb ss sb sb sb so sI so sb}", "activation", activation_names[c->activation],
        "norm_eps", (double)c->norm_eps, "embedding_scale", (double)c->embedding_scale,
        "attention_scale", (double)c->attention_scale, "attention_bias", c->attention_bias,
        "qk_norm", qk_norm_names[c->qk_norm], "sandwich_norms", c->sandwich_norms, "norm_plus_one",
        c->norm_plus_one, "tied_head", c->tied_head, "rope", rope_json(c), "sliding_window",
        (json_int_t)c->sliding_window, "sliding_layers", sliding, "normalize_expert_weights",
        c->normalize_expert_weights);
    char *text = config ? json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(config);
    return text;
}

static int64_t upsert_model(struct store *store, const struct store_model *model,
                            struct rml_error *err)
{
    const struct rml_model_config *c = model->config;
    char *config = config_json(c);
    if (!config) {
        rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to store a model");
        return -1;
    }
    const char *slash = strrchr(model->file_name, '/');
    const char *file_name = slash && slash[1] ? slash + 1 : model->file_name;

    struct query q;
    query_init(&q, store,
               "INSERT INTO model(content_sha256, file_name, file_bytes, arch, n_params, n_vocab,"
               " n_context, n_embd, n_layer, n_head, n_head_kv, head_dim, n_ff, n_expert,"
               " n_expert_used, weight_dtype, tokenizer_sha256, config_json)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
               " ON CONFLICT(content_sha256) DO UPDATE SET file_name = excluded.file_name,"
               " weight_dtype = excluded.weight_dtype, config_json = excluded.config_json,"
               " tokenizer_sha256 = coalesce(excluded.tokenizer_sha256, tokenizer_sha256)"
               " RETURNING id");
    query_text(&q, model->content_sha256);
    query_text(&q, file_name);
    query_int(&q, (int64_t)model->file_nbytes);
    query_text(&q, c->architecture);
    query_int(&q, (int64_t)rml_parameter_count(c));
    query_int(&q, c->n_vocab);
    query_int(&q, c->n_context);
    query_int(&q, c->n_embd);
    query_int(&q, c->n_layer);
    query_int(&q, c->n_head);
    query_int(&q, c->n_head_kv);
    query_int(&q, c->head_dim);
    query_int(&q, c->n_expert ? c->n_ff_expert : c->n_ff);
    query_int(&q, c->n_expert);
    query_int(&q, c->n_expert_used);
    query_text(&q, model->weight_dtype);
    query_text(&q, model->tokenizer_sha256);
    query_text(&q, config);
    int64_t id = query_id(&q);
    free(config);
    return query_release(&q, "storing a model", err) ? id : -1;
}

bool store_insert_run_model(struct store *store, int64_t run_id, int64_t model_id,
                            struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO run_model(run_id, model_id) VALUES (?, ?) ON CONFLICT DO NOTHING");
    query_int(&q, run_id);
    query_int(&q, model_id);
    query_run(&q);
    return query_release(&q, "storing a model", err);
}

int64_t store_add_model(struct store *store, int64_t run_id, const struct store_model *model,
                        struct rml_error *err)
{
    if (!store)
        return 0;
    if (!store_begin(store, "storing a model", err))
        return -1;
    int64_t id = upsert_model(store, model, err);
    bool ok = id >= 0 && store_insert_run_model(store, run_id, id, err);
    return store_end(store, ok, "storing a model", err) ? id : -1;
}

int64_t store_add_golden(struct store *store, int64_t run_id, const struct store_golden *g,
                         struct rml_error *err)
{
    if (!store)
        return 0;
    struct query q;
    query_init(&q, store,
               "INSERT INTO golden(run_id, model_id, name, kind, reference_sha256, arithmetic,"
               " k_dtype, v_dtype, isa, threads, n_positions, max_abs_error, max_logsumexp_error,"
               " tolerance, first_bad, passed)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    query_int(&q, run_id);
    query_ref(&q, g->model_id);
    query_text(&q, g->name);
    query_text(&q, g->kind);
    query_text(&q, g->reference_sha256);
    query_text(&q, g->arithmetic);
    query_text(&q, g->k_dtype);
    query_text(&q, g->v_dtype);
    query_text(&q, g->isa);
    query_count(&q, g->threads);
    query_count(&q, g->n_positions);
    query_real(&q, g->max_abs_error);
    query_real(&q, g->max_logsumexp_error);
    query_real(&q, g->tolerance);
    query_text(&q, g->first_bad);
    query_int(&q, g->passed);
    int64_t id = query_id(&q);
    return query_release(&q, "storing the outcome of a golden", err) ? id : -1;
}
