#include "recipe_cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/rope.h"

json_t *load_cases(const char *name)
{
    const char *source = getenv("RML_SOURCE_DIR");
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/lib/model/tests/cases/%s", source ? source : ".", name);
    json_t *cases = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    cr_assert(cases, "%s:%d: %s", path, error.line, error.text);
    return cases;
}

json_t *changed_object(const json_t *object, const json_t *a_case)
{
    json_t *out = json_copy((json_t *)object), *value;
    size_t i;
    json_array_foreach(json_object_get(a_case, "drop"), i, value)
    {
        const char *key = json_string_value(value);
        cr_expect(json_object_del(out, key) == 0, "no key %s to drop", key);
    }
    json_object_update(out, json_object_get(a_case, "set"));
    return out;
}

/* ---- Fields --------------------------------------------------------------- */

static const char *const activations[] = {"silu", "gelu_tanh"};
static const char *const qk_norms[] = {"none", "head", "whole"};
static const char *const pairings[] = {"half", "interleaved"};
static const char *const scalings[] = {"none", "linear", "llama3", "factors", "yarn"};

static json_t *floats(const double *x, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real(x[i]));
    return list;
}

static json_t *inv_freq(const struct rml_model_config *c, double theta, bool scaled)
{
    const struct rml_rope_scaling none = {.type = RML_ROPE_SCALING_NONE};
    struct rmli_rope rope;
    cr_assert(
        rmli_rope_init(&rope, c->head_dim, theta, scaled ? &c->rope_scaling : &none, NULL, NULL));
    json_t *list = floats(rope.inv_freq, rope.n_pairs);
    rmli_rope_release(&rope);
    return list;
}

/* The keys that a sliding layer sees, 0 for a layer that sees all. */
static json_t *windows(const struct rml_model_config *c)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->n_layer; i++)
        json_array_append_new(list, json_integer(c->sliding_layer[i] ? c->sliding_window : 0));
    return list;
}

static json_t *sliding_layers(const struct rml_model_config *c)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->n_layer; i++)
        json_array_append_new(list, json_integer(c->sliding_layer[i]));
    return list;
}

static json_t *ids(const int32_t *id, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(id[i]));
    return list;
}

json_t *show_recipe(const struct rml_model_config *c)
{
    const struct rml_rope_scaling *s = &c->rope_scaling;
    bool yarn = s->type == RML_ROPE_SCALING_YARN;
    json_t *out =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:b, s:s, "
                  "s:b, s:b, s:b}",
                  "architecture", c->architecture, "n_vocab", (int)c->n_vocab, "n_embd",
                  (int)c->n_embd, "n_layer", (int)c->n_layer, "n_head", (int)c->n_head, "n_head_kv",
                  (int)c->n_head_kv, "head_dim", (int)c->head_dim, "n_ff", (int)c->n_ff,
                  "n_context", (int)c->n_context, "activation", activations[c->activation],
                  "norm_eps", (double)c->norm_eps, "embedding_scale", (double)c->embedding_scale,
                  "attention_scale", (double)c->attention_scale, "attention_bias",
                  c->attention_bias, "qk_norm", qk_norms[c->qk_norm], "sandwich_norms",
                  c->sandwich_norms, "norm_plus_one", c->norm_plus_one, "tied_head", c->tied_head);
    json_t *more = json_pack(
        "{s:s, s:f, s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:b, s:I}", "pairing",
        pairings[c->rope_pairing], "theta", c->rope_theta, "scaling", scalings[s->type], "factor",
        s->factor, "original_context", s->original_context, "beta_fast", s->beta_fast, "beta_slow",
        s->beta_slow, "local_theta", c->rope_local_theta, "window", (int)c->sliding_window,
        "n_expert", (int)c->n_expert, "n_expert_used", (int)c->n_expert_used, "n_ff_expert",
        (int)c->n_ff_expert, "normalize_expert_weights", c->normalize_expert_weights,
        "n_parameters", (json_int_t)rml_parameter_count(c));
    json_object_update(out, more);
    json_decref(more);
    json_object_set_new(out, "rope_factor", json_real(yarn ? s->attention_factor : 1));
    if (s->type != RML_ROPE_SCALING_FACTORS)
        json_object_set_new(out, "inv_freq", inv_freq(c, c->rope_theta, true));
    if (c->rope_local_theta != 0)
        json_object_set_new(out, "local_inv_freq", inv_freq(c, c->rope_local_theta, false));
    json_object_set_new(out, "windows", windows(c));
    json_object_set_new(out, "sliding", sliding_layers(c));
    json_object_set_new(out, "bos", ids(&c->bos, c->bos >= 0));
    json_object_set_new(out, "eos", ids(c->eos, c->n_eos));
    return out;
}

/* Numbers agree when f32 arithmetic could not tell them apart: transformers computes the
 * rotary table in f32, GGUF stores reals as f32. */
static bool is_equal(const json_t *got, const json_t *want)
{
    if (json_is_number(got) && json_is_number(want)) {
        double x = json_number_value(got), y = json_number_value(want);
        return fabs(x - y) <= 3e-6 * fabs(y);
    }
    if (!json_is_array(got) || !json_is_array(want))
        return json_equal(got, want);
    if (json_array_size(got) != json_array_size(want))
        return false;
    for (size_t i = 0; i < json_array_size(got); i++)
        if (!is_equal(json_array_get(got, i), json_array_get(want, i)))
            return false;
    return true;
}

void expect_recipe(const struct rml_model_config *config, const json_t *expected, const char *name)
{
    json_t *got = show_recipe(config), *want;
    const char *key;
    json_object_foreach((json_t *)expected, key, want)
    {
        json_t *value = json_object_get(got, key);
        if (is_equal(value, want))
            continue;
        char *found = json_dumps(value, JSON_ENCODE_ANY),
             *wanted = json_dumps(want, JSON_ENCODE_ANY);
        cr_expect(false, "%s: %s is %s, expected %s", name, key, found ? found : "absent", wanted);
        free(found);
        free(wanted);
    }
    json_decref(got);
}
