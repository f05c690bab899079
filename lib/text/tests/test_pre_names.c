/*
 * Which name of tokenizer.ggml.pre a tokenizer.json gets when it is written as GGUF.
 *
 * pre_families.json has the normalizer, the pre-tokenizer and ignore_merges of each family, from its
 * tokenizer.json where a registry carries that, else as llama.cpp quotes it; the names are those that
 * llama.cpp's converter gives the family's models (conversion/base.py), null where none fits.
 */
#include "text/pre_names.h"

#include <criterion/criterion.h>

#include "text/tests/tokenizer_files.h"

static struct rml_tokenizer *open_family(const json_t *base, const json_t *family)
{
    json_t *patch = json_pack("{sOsOs{sO}}", "normalizer", json_object_get(family, "normalizer"),
                              "pre_tokenizer", json_object_get(family, "pre_tokenizer"), "model",
                              "ignore_merges", json_object_get(family, "ignore_merges"));
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = test_open_patched(base, patch, &err);
    json_decref(patch);
    return t;
}

Test(pre_names, families_are_recognised)
{
    json_t *families = test_load_json("lib/text/tests", "pre_families.json"), *family;
    json_t *file = test_load_json("lib/text/tests/cases", "bytelevel.json");
    size_t i, n_named = 0, n_unknown = 0;
    json_array_foreach(families, i, family)
    {
        const char *want = json_string_value(json_object_get(family, "name"));
        struct rml_tokenizer *t = open_family(json_object_get(file, "tokenizer"), family);
        cr_expect_not_null(t, "family %zu (%s) was not opened", i, want ? want : "unknown");
        if (!t)
            continue;
        const struct rmli_pre_name *got = rmli_pre_identify(&t->pipeline);
        cr_expect_str_eq(got ? got->name : "none", want ? want : "none", "family %zu (%s): %s", i,
                         want ? want : "unknown", got ? got->name : "none");
        n_named += want != NULL;
        n_unknown += want == NULL;
        rml_tokenizer_destroy(t);
    }
    cr_expect_geq(n_named, 20u);
    cr_expect_geq(n_unknown, 6u);
    json_decref(families);
    json_decref(file);
}

/* What a name builds is recognised as a name that builds the same. */
Test(pre_names, every_name_is_recognised_in_what_it_builds)
{
    char list[2048];
    rmli_pre_list(list, sizeof list);
    cr_assert_lt(strlen(list), sizeof list - 1);
    size_t n = 0;
    for (char *rest = list, *name; (name = strtok_r(rest, " ", &rest)) != NULL; n++) {
        struct rml_error err = RML_ERROR_INIT;
        const struct rmli_pre_name *pre = rmli_pre_find(name, strlen(name));
        struct rmli_pipeline pipeline = {0};
        cr_assert_not_null(pre);
        cr_assert(rmli_pre_apply(pre, &pipeline, &err), "%s: %s", name, err.message);
        pipeline.bpe.ignore_merges = pre->ignore_merges;
        const struct rmli_pre_name *got = rmli_pre_identify(&pipeline);
        cr_expect_not_null(got, "%s", name);
        if (got) {
            cr_expect_eq(got->nfc, pre->nfc, "%s", name);
            cr_expect_eq(got->ignore_merges, pre->ignore_merges, "%s", name);
            for (size_t k = 0; k < 8 && (pre->steps[k] || got->steps[k]); k++)
                cr_expect_str_eq(got->steps[k] ? got->steps[k] : "", pre->steps[k], "%s", name);
        }
        rmli_pipeline_release(&pipeline);
    }
    cr_expect_geq(n, 60u);
}

/* What llama.cpp knows and rml does not says why; what neither knows does not. */
Test(pre_names, refused_names_say_why)
{
    static const char *const refused[] = {"gemma4",      "sarvam-moe", "whitespace",
                                          "roberta-bpe", "jina-v1-en", "afmoe"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cr_expect_null(rmli_pre_find(refused[i], strlen(refused[i])), "%s", refused[i]);
        cr_expect_not_null(rmli_pre_refusal(refused[i], strlen(refused[i])), "%s", refused[i]);
    }
    cr_expect_null(rmli_pre_refusal("gemma", 5));
    cr_expect_null(rmli_pre_refusal("qwen2", 5));
}
