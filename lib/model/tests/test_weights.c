/*
 * Finding the weights: both forms of every fixture hold the same numbers;
 * stacked, fused and separate tensors give the same views; what is missing,
 * misshapen, of no use as a weight, or there beyond the recipe is an error
 * that names it (cases/weights.json).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "model/weights.h"
#include "recipe_cases.h"
#include "remade.h"

/* A checkpoint with its recipe and weights. */
struct loaded {
    struct rml_checkpoint *cp;
    struct rml_model_config config;
    struct rmli_weights weights;
};

static bool load(struct loaded *m, struct rml_checkpoint *cp, struct rml_error *err)
{
    memset(m, 0, sizeof *m);
    m->cp = cp;
    return cp && rml_model_config_read(cp, &m->config, err) &&
           rmli_weights_init(&m->weights, cp, &m->config, err);
}

static void load_fixture(struct loaded *m, const char *fixture)
{
    char path[1024];
    struct rml_error err = RML_ERROR_INIT;
    fixture_path(path, sizeof path, fixture);
    cr_assert(load(m, rml_checkpoint_open(path, &err), &err), "%s: %s", fixture, err.message);
}

static void release(struct loaded *m)
{
    rmli_weights_release(&m->weights);
    rml_checkpoint_close(m->cp);
}

/* ---- The same numbers ------------------------------------------------------ */

static float element(const struct rmli_matrix *m, size_t row, size_t col)
{
    const uint8_t *data = rmli_matrix_row(m, row);
    uint16_t half;
    float value;
    cr_assert(m->dtype <= RML_BF16);
    if (m->dtype == RML_F32) {
        memcpy(&value, data + col * 4, 4);
        return value;
    }
    memcpy(&half, data + col * 2, 2);
    return m->dtype == RML_F16 ? rmli_f32_from_f16(half) : rmli_f32_from_bf16(half);
}

/* head_dim 0: rows in the same order. Else b's rows are interleaved within each head: row
 * 2i of b is row i of a, 2i + 1 is i + head_dim / 2. */
static void expect_matrix(const struct rmli_matrix *a, const struct rmli_matrix *b, size_t head_dim,
                          const char *what)
{
    cr_assert(a->n_rows == b->n_rows && a->n_cols == b->n_cols, "%s", what);
    for (size_t row = 0; row < a->n_rows; row++) {
        size_t other = row;
        if (head_dim) {
            size_t i = row % head_dim, half = head_dim / 2;
            other = row - i + (i < half ? 2 * i : 2 * (i - half) + 1);
        }
        for (size_t col = 0; col < a->n_cols; col++)
            if (element(a, row, col) != element(b, other, col)) {
                cr_expect(false, "%s differs in row %zu", what, row);
                return;
            }
    }
}

static void expect_vector(const float *a, const float *b, size_t n, const char *what)
{
    cr_assert_eq(!a, !b, "%s", what);
    for (size_t i = 0; a && i < n; i++)
        cr_expect_float_eq(a[i], b[i], 0, "%s[%zu] is %g and %g", what, i, (double)a[i],
                           (double)b[i]);
}

static void expect_layer(const struct loaded *a, const struct loaded *b, uint32_t i)
{
    const struct rml_model_config *c = &a->config;
    const struct rmli_layer_weights *x = &a->weights.layers[i], *y = &b->weights.layers[i];
    size_t order = a->config.rope_pairing != b->config.rope_pairing ? c->head_dim : 0;
    bool whole = c->qk_norm == RML_QK_NORM_WHOLE;
    size_t q_rows = c->n_head * c->head_dim, kv_rows = c->n_head_kv * c->head_dim;

    expect_vector(x->attention_norm, y->attention_norm, c->n_embd, "attention_norm");
    expect_matrix(&x->q, &y->q, order, "q");
    expect_matrix(&x->k, &y->k, order, "k");
    expect_matrix(&x->v, &y->v, 0, "v");
    expect_matrix(&x->o, &y->o, 0, "o");
    if (!order) {
        expect_vector(x->q_bias, y->q_bias, q_rows, "q_bias");
        expect_vector(x->k_bias, y->k_bias, kv_rows, "k_bias");
    }
    expect_vector(x->v_bias, y->v_bias, kv_rows, "v_bias");
    expect_vector(x->q_norm, y->q_norm, whole ? q_rows : c->head_dim, "q_norm");
    expect_vector(x->k_norm, y->k_norm, whole ? kv_rows : c->head_dim, "k_norm");
    expect_vector(x->post_attention_norm, y->post_attention_norm, c->n_embd, "post_attention_norm");
    expect_vector(x->feed_forward_norm, y->feed_forward_norm, c->n_embd, "feed_forward_norm");
    expect_vector(x->post_feed_forward_norm, y->post_feed_forward_norm, c->n_embd,
                  "post_feed_forward_norm");
    if (!c->n_expert) {
        expect_matrix(&x->gate, &y->gate, 0, "gate");
        expect_matrix(&x->up, &y->up, 0, "up");
        expect_matrix(&x->down, &y->down, 0, "down");
        return;
    }
    expect_matrix(&x->router, &y->router, 0, "router");
    for (uint32_t e = 0; e < c->n_expert; e++) {
        expect_matrix(&x->expert_gate[e], &y->expert_gate[e], 0, "expert_gate");
        expect_matrix(&x->expert_up[e], &y->expert_up[e], 0, "expert_up");
        expect_matrix(&x->expert_down[e], &y->expert_down[e], 0, "expert_down");
    }
}

static void expect_same(const struct loaded *a, const struct loaded *b)
{
    expect_matrix(&a->weights.embedding, &b->weights.embedding, 0, "embedding");
    expect_matrix(&a->weights.head, &b->weights.head, 0, "head");
    expect_vector(a->weights.output_norm, b->weights.output_norm, a->config.n_embd, "output_norm");
    for (uint32_t i = 0; i < a->config.n_layer; i++)
        expect_layer(a, b, i);
}

Test(weights, of_both_forms_are_the_same)
{
    static const char *const pairs[][2] = {
        {"llama/hf", "llama/model.gguf"},         {"llama/hf", "llama/split-00001-of-00003.gguf"},
        {"llama/hf", "llama/hf-sharded"},         {"llama/hf", "llama/hf-unaligned"},
        {"mistral/hf", "mistral/model.gguf"},     {"mixtral/hf", "mixtral/model.gguf"},
        {"qwen2/hf", "qwen2/model.gguf"},         {"qwen3/hf", "qwen3/model.gguf"},
        {"qwen3_moe/hf", "qwen3_moe/model.gguf"}, {"gemma3/hf", "gemma3/model.gguf"},
        {"olmoe/hf", "olmoe/model.gguf"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct loaded a, b;
        load_fixture(&a, pairs[i][0]);
        load_fixture(&b, pairs[i][1]);
        expect_same(&a, &b);
        release(&a);
        release(&b);
    }
}

/* ---- Where they lie --------------------------------------------------------- */

Test(weights, are_views_where_the_file_is_aligned)
{
    struct loaded m;
    load_fixture(&m, "qwen3_moe/model.gguf");
    const struct rml_tensor_info *stacked =
        rml_checkpoint_find_tensor(m.cp, "blk.1.ffn_up_exps.weight");
    const struct rmli_matrix *expert = &m.weights.layers[1].expert_up[5];
    cr_expect_eq(expert->data, stacked->data + 5 * stacked->nbytes / 8);
    cr_expect_eq(expert->n_rows, 20);
    cr_expect_eq(expert->n_cols, 32);

    /* Only norms are copied: two of n_embd and two of head_dim a layer, one at the end. */
    cr_expect_eq(m.weights.nbytes_copied, (2 * (2 * 32 + 2 * 12) + 32) * sizeof(float));
    size_t nbytes = 0;
    for (size_t i = 0; i < rml_checkpoint_n_tensors(m.cp); i++)
        nbytes += rml_checkpoint_tensor(m.cp, i)->nbytes;
    cr_expect_eq(m.weights.nbytes, nbytes);
    release(&m);
}

Test(weights, are_copied_where_it_is_not)
{
    struct loaded m;
    load_fixture(&m, "llama/hf-unaligned");
    cr_expect_eq((uintptr_t)m.weights.layers[0].q.data % 64, 0);
    cr_expect_geq(m.weights.nbytes_copied, m.weights.nbytes);
    release(&m);
}

Test(weights, tied_head_is_the_embedding)
{
    struct loaded m;
    load_fixture(&m, "mistral/hf");
    cr_expect_eq(m.weights.head.data, m.weights.embedding.data);
    release(&m);
}

Test(weights, norms_of_gemma_have_their_one)
{
    struct loaded hf;
    load_fixture(&hf, "gemma3/hf");
    const struct rml_tensor_info *norm = rml_checkpoint_find_tensor(hf.cp, "model.norm.weight");
    uint16_t stored;
    memcpy(&stored, norm->data, sizeof stored);
    cr_expect_float_eq(hf.weights.output_norm[0], 1 + rmli_f32_from_bf16(stored), 0);
    release(&hf);
}

/* ---- Stacked and fused ------------------------------------------------------ */

/* "tensors" and "without" of a case that puts all of a layer's tensors `from` into one. */
static void fuse(json_t *a_case, const char *name, json_t *description, json_t *from)
{
    json_t *source;
    size_t i;
    json_array_foreach(from, i, source)
    {
        const json_t *whole = json_is_string(source) ? source : json_object_get(source, "tensor");
        json_t *without = json_object_get(a_case, "without");
        const char *last = json_string_value(json_array_get(without, json_array_size(without) - 1));
        if (!last || strcmp(last, json_string_value(whole)) != 0)
            json_array_append(without, (json_t *)whole);
    }
    json_object_set_new(description, "of", from);
    json_object_set_new(json_object_get(a_case, "tensors"), name, description);
}

static void expect_same_as_remade(const char *fixture, const json_t *a_case)
{
    struct loaded a, b;
    struct rml_error err = RML_ERROR_INIT;
    char dir[64];
    make_test_folder(dir);
    load_fixture(&a, fixture);
    cr_assert(load(&b, open_remade(a_case, dir, &err), &err), "%s", err.message);
    expect_same(&a, &b);
    release(&a);
    release(&b);
    remove_test_folder(dir);
}

/* As transformers 5 writes experts on request; expert e's gate, then its up. */
static void expect_stacked_folder(const char *fixture, const char *block, const char *gate,
                                  const char *up, const char *down, int n_ff)
{
    json_t *a_case = json_pack("{s:s, s:{}, s:[]}", "of", fixture, "tensors", "without");
    for (int layer = 0; layer < 2; layer++) {
        json_t *gate_up_of = json_array(), *down_of = json_array();
        char name[128];
        for (int e = 0; e < 8; e++) {
            const char *parts[] = {gate, up, down};
            for (int p = 0; p < 3; p++) {
                snprintf(name, sizeof name, "model.layers.%d.%s.experts.%d.%s.weight", layer, block,
                         e, parts[p]);
                json_array_append_new(p < 2 ? gate_up_of : down_of, json_string(name));
            }
        }
        snprintf(name, sizeof name, "model.layers.%d.mlp.experts.gate_up_proj", layer);
        fuse(a_case, name,
             json_pack("{s:s, s:[i, i, i]}", "dtype", "BF16", "shape", 8, 2 * n_ff, 32),
             gate_up_of);
        snprintf(name, sizeof name, "model.layers.%d.mlp.experts.down_proj", layer);
        fuse(a_case, name, json_pack("{s:s, s:[i, i, i]}", "dtype", "BF16", "shape", 8, 32, n_ff),
             down_of);
        if (strcmp(block, "mlp") != 0) {
            char router[128];
            snprintf(router, sizeof router, "model.layers.%d.%s.gate.weight", layer, block);
            snprintf(name, sizeof name, "model.layers.%d.mlp.gate.weight", layer);
            fuse(a_case, name, json_pack("{s:s, s:[i, i]}", "dtype", "BF16", "shape", 8, 32),
                 json_pack("[s]", router));
        }
    }
    expect_same_as_remade(fixture, a_case);
    json_decref(a_case);
}

Test(weights, experts_of_a_folder_may_be_stacked)
{
    expect_stacked_folder("qwen3_moe/hf", "mlp", "gate_proj", "up_proj", "down_proj", 20);
    expect_stacked_folder("olmoe/hf", "mlp", "gate_proj", "up_proj", "down_proj", 24);
    expect_stacked_folder("mixtral/hf", "block_sparse_moe", "w1", "w3", "w2", 24);
}

/* As llama.cpp's converter fuses on request: q, k and v; gate and up of each expert. */
Test(weights, of_a_gguf_may_be_fused)
{
    json_t *a_case =
        json_pack("{s:s, s:{}, s:[]}", "of", "qwen3_moe/model.gguf", "tensors", "without");
    for (int layer = 0; layer < 2; layer++) {
        char name[64], q[64], k[64], v[64], gate[64], up[64];
        snprintf(q, sizeof q, "blk.%d.attn_q.weight", layer);
        snprintf(k, sizeof k, "blk.%d.attn_k.weight", layer);
        snprintf(v, sizeof v, "blk.%d.attn_v.weight", layer);
        snprintf(gate, sizeof gate, "blk.%d.ffn_gate_exps.weight", layer);
        snprintf(up, sizeof up, "blk.%d.ffn_up_exps.weight", layer);
        snprintf(name, sizeof name, "blk.%d.attn_qkv.weight", layer);
        fuse(a_case, name, json_pack("{s:s, s:[i, i]}", "dtype", "F16", "shape", 96, 32),
             json_pack("[s, s, s]", q, k, v));
        json_t *from = json_array();
        for (int e = 0; e < 8; e++)
            for (int p = 0; p < 2; p++)
                json_array_append_new(from, json_pack("{s:s, s:i, s:i}", "tensor", p ? up : gate,
                                                      "part", e, "parts", 8));
        snprintf(name, sizeof name, "blk.%d.ffn_gate_up_exps.weight", layer);
        fuse(a_case, name, json_pack("{s:s, s:[i, i, i]}", "dtype", "F16", "shape", 8, 40, 32),
             from);
        json_array_append_new(json_object_get(a_case, "without"), json_string(gate));
        json_array_append_new(json_object_get(a_case, "without"), json_string(up));
    }
    expect_same_as_remade("qwen3_moe/model.gguf", a_case);
    json_decref(a_case);
}

Test(weights, biases_of_a_gguf_may_be_fused)
{
    json_t *a_case = json_pack("{s:s, s:{}, s:[]}", "of", "qwen2/model.gguf", "tensors", "without");
    for (int layer = 0; layer < 2; layer++) {
        char name[64], q[64], k[64], v[64];
        snprintf(q, sizeof q, "blk.%d.attn_q.bias", layer);
        snprintf(k, sizeof k, "blk.%d.attn_k.bias", layer);
        snprintf(v, sizeof v, "blk.%d.attn_v.bias", layer);
        snprintf(name, sizeof name, "blk.%d.attn_qkv.bias", layer);
        fuse(a_case, name, json_pack("{s:s, s:[i]}", "dtype", "F32", "shape", 64),
             json_pack("[s, s, s]", q, k, v));
    }
    expect_same_as_remade("qwen2/model.gguf", a_case);
    json_decref(a_case);
}

/* Files from before llama.cpp stacked them. */
Test(weights, experts_of_a_gguf_may_be_apart)
{
    json_t *a_case =
        json_pack("{s:s, s:{}, s:[]}", "of", "mixtral/model.gguf", "tensors", "without");
    static const char *const parts[] = {"gate", "up", "down"};
    for (int layer = 0; layer < 2; layer++)
        for (int p = 0; p < 3; p++) {
            char name[64], stacked[64];
            snprintf(stacked, sizeof stacked, "blk.%d.ffn_%s_exps.weight", layer, parts[p]);
            for (int e = 0; e < 8; e++) {
                snprintf(name, sizeof name, "blk.%d.ffn_%s.%d.weight", layer, parts[p], e);
                int rows = p < 2 ? 24 : 32, cols = p < 2 ? 32 : 24;
                fuse(a_case, name,
                     json_pack("{s:s, s:[i, i]}", "dtype", "F16", "shape", rows, cols),
                     json_pack("[{s:s, s:i, s:i}]", "tensor", stacked, "part", e, "parts", 8));
            }
        }
    expect_same_as_remade("mixtral/model.gguf", a_case);
    json_decref(a_case);
}

/* Saved from the base class, names have no "model." before them. */
Test(weights, names_of_a_base_model)
{
    json_t *a_case = json_pack("{s:s, s:{}, s:[]}", "of", "mistral/hf", "tensors", "without");
    struct loaded m;
    load_fixture(&m, "mistral/hf");
    for (size_t i = 0; i < rml_checkpoint_n_tensors(m.cp); i++) {
        const struct rml_tensor_info *t = rml_checkpoint_tensor(m.cp, i);
        json_t *shape = json_array();
        for (int d = 0; d < t->n_dims; d++)
            json_array_append_new(shape, json_integer((json_int_t)t->dims[d]));
        fuse(a_case, t->name + strlen("model."),
             json_pack("{s:s, s:o}", "dtype", "BF16", "shape", shape), json_pack("[s]", t->name));
    }
    release(&m);
    expect_same_as_remade("mistral/hf", a_case);
    json_decref(a_case);
}

/* ---- What is refused, and what is not ---------------------------------------- */

static bool is_all_zero(const void *p, size_t nbytes)
{
    const uint8_t *bytes = p;
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i])
            return false;
    return true;
}

Test(weights, changed_checkpoints)
{
    json_t *cases = load_cases("weights.json"), *a_case;
    char dir[64];
    size_t i;
    make_test_folder(dir);
    json_array_foreach(cases, i, a_case)
    {
        const char *name = json_string_value(json_object_get(a_case, "name"));
        const char *code = json_string_value(json_object_get(a_case, "code"));
        struct rml_error err = RML_ERROR_INIT;
        struct loaded m;
        struct rml_checkpoint *cp = open_remade(a_case, dir, &err);
        cr_assert(cp, "%s: %s", name, err.message);
        if (load(&m, cp, &err)) {
            cr_expect(!code, "%s: was accepted", name);
        } else {
            cr_expect_str_eq(rml_code_name(err.code), code ? code : "ok", "%s: %s: %s", name,
                             rml_code_name(err.code), err.message);
            cr_expect(
                code && strstr(err.message, json_string_value(json_object_get(a_case, "message"))),
                "%s: the message is \"%s\"", name, err.message);
            cr_expect(strstr(err.file, dir), "%s: the file is %s", name, err.file);
            cr_expect(is_all_zero(&m.weights, sizeof m.weights), "%s", name);
        }
        release(&m);
    }
    remove_test_folder(dir);
    json_decref(cases);
}
