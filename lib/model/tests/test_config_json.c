/*
 * config.json against transformers: tables of texts with what its models are
 * made of (cases/config_json.json, written by make_config_cases.py), with what
 * the design fixes where transformers is silent or differs (config_rules.json),
 * and with what must be refused, and by which words (config_refused.json).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/config_readers.h"
#include "recipe_cases.h"

static bool read_config(const json_t *config, struct rml_model_config *out, struct rml_error *err)
{
    return rmli_config_from_json(config, "config.json", out, err) &&
           rmli_model_config_validate(out, "config.json", NULL, err);
}

static void expect_read(const json_t *config, const json_t *expected, const char *name)
{
    struct rml_model_config c;
    struct rml_error err = RML_ERROR_INIT;
    if (read_config(config, &c, &err))
        expect_recipe(&c, expected, name);
    else
        cr_expect(false, "%s: %s", name, err.message);
}

/* Each case of a file whose bases are those of config_json.json. */
typedef void case_fn(const json_t *config, const json_t *base, const json_t *a_case,
                     const char *name);

static void for_each_case(const json_t *cases, const json_t *bases, case_fn *visit)
{
    json_t *a_case;
    size_t i;
    json_array_foreach((json_t *)cases, i, a_case)
    {
        const char *name = json_string_value(json_object_get(a_case, "name"));
        const char *of = json_string_value(json_object_get(a_case, "of"));
        const json_t *base = json_object_get(bases, of ? of : "");
        cr_assert(name && base, "case %zu has no name, or no base", i);
        json_t *config = changed_object(json_object_get(base, "config"), a_case);
        visit(config, base, a_case, name);
        json_decref(config);
    }
    cr_expect(json_array_size(cases) > 0);
}

static void expect_changed(const json_t *config, const json_t *base, const json_t *a_case,
                           const char *name)
{
    json_t *expected = json_copy(json_object_get(base, "expected"));
    json_object_update(expected, json_object_get(a_case, "expected"));
    expect_read(config, expected, name);
    json_decref(expected);
}

Test(config_json, is_read_as_transformers_does)
{
    json_t *file = load_cases("config_json.json"), *base;
    const json_t *bases = json_object_get(file, "bases");
    const char *name;
    json_object_foreach((json_t *)bases, name, base)
    {
        expect_read(json_object_get(base, "config"), json_object_get(base, "expected"), name);
    }
    for_each_case(json_object_get(file, "cases"), bases, expect_changed);
    json_decref(file);
}

static void expect_by_rule(const json_t *config, const json_t *base, const json_t *a_case,
                           const char *name)
{
    (void)base;
    expect_read(config, json_object_get(a_case, "expected"), name);
}

Test(config_json, follows_the_rules)
{
    json_t *file = load_cases("config_json.json"), *rules = load_cases("config_rules.json");
    for_each_case(rules, json_object_get(file, "bases"), expect_by_rule);
    json_decref(rules);
    json_decref(file);
}

static void expect_refused(const json_t *config, const json_t *base, const json_t *a_case,
                           const char *name)
{
    struct rml_model_config c;
    struct rml_error err = RML_ERROR_INIT;
    const char *code = json_string_value(json_object_get(a_case, "code"));
    const char *message = json_string_value(json_object_get(a_case, "message"));
    (void)base;
    cr_assert(code && message, "%s: no code or message", name);
    if (read_config(config, &c, &err)) {
        cr_expect(false, "%s: was accepted", name);
        return;
    }
    cr_expect_str_eq(rml_code_name(err.code), code, "%s: the code is %s: %s", name,
                     rml_code_name(err.code), err.message);
    cr_expect(strstr(err.message, message), "%s: the message is \"%s\"", name, err.message);
    cr_expect_str_eq(err.file, "config.json", "%s", name);
}

Test(config_json, is_refused_by_name)
{
    json_t *file = load_cases("config_json.json"), *refused = load_cases("config_refused.json");
    for_each_case(refused, json_object_get(file, "bases"), expect_refused);
    json_decref(refused);
    json_decref(file);
}

Test(config_json, must_be_an_object)
{
    struct rml_model_config c;
    struct rml_error err = RML_ERROR_INIT;
    json_t *list = json_array();
    cr_expect(!read_config(list, &c, &err));
    cr_expect(strstr(err.message, "not a JSON object"), "%s", err.message);
    json_decref(list);
}

/* As the model cards state them, or as summing the published files gives. */
Test(config_json, parameters_of_published_models)
{
    static const struct {
        const char *name;
        uint64_t n;
    } published[] = {
        {"TinyLlama-1.1B", 1100048384}, {"Llama-3.1-8B", 8030261248},
        {"SmolLM2-135M", 134515008},    {"Mistral-7B-v0.1", 7241732096},
        {"Mixtral-8x7B", 46702792704},  {"Qwen2.5-0.5B", 494032768},
        {"Qwen3-0.6B", 596049920},      {"Qwen3-30B-A3B", 30532122624},
        {"Gemma-3-1B", 999885952},      {"OLMoE-1B-7B", 6919161856},
    };
    json_t *file = load_cases("config_json.json");
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct rml_model_config c;
        const json_t *base = json_object_get(json_object_get(file, "bases"), published[i].name);
        cr_assert(read_config(json_object_get(base, "config"), &c, NULL), "%s", published[i].name);
        cr_expect_eq(rml_parameter_count(&c), published[i].n, "%s: %llu", published[i].name,
                     (unsigned long long)rml_parameter_count(&c));
    }
    json_decref(file);
}

Test(config_json, the_largest_recipe_is_counted)
{
    struct rml_model_config c = {.n_vocab = 1 << 24,
                                 .n_embd = 1 << 17,
                                 .n_layer = RML_MAX_LAYERS,
                                 .n_head = 1 << 11,
                                 .n_head_kv = 1 << 11,
                                 .head_dim = 64,
                                 .n_context = 1,
                                 .norm_eps = 1,
                                 .embedding_scale = 1,
                                 .attention_scale = 1,
                                 .rope_theta = 1,
                                 .n_expert = RML_MAX_EXPERTS,
                                 .n_expert_used = 1,
                                 .n_ff_expert = 1 << 17};
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(rmli_model_config_validate(&c, "", NULL, &err), "%s", err.message);
    /* 1024 layers of 256 experts of 3 x 2^34, and less than a hundredth of that beside. */
    double experts = 1024.0 * 256 * 3 * 0x1p34, count = (double)rml_parameter_count(&c);
    cr_expect(count > experts && count < experts * 1.01, "%g", count);
}
