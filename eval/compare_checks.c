/*
 * Checks that two tasks can be compared.
 */
#include "eval/compare_checks.h"

#include <jansson.h>
#include <string.h>

static bool differ(const struct task_comparison *t, const char *file, const char *field,
                   const char *a, const char *b, struct rml_error *err)
{
    return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                     "task '%s': %s differs: '%.200s' in a and '%.200s' in b, expected the same",
                     t->task, field, a ? a : "", b ? b : "");
}

static bool same_text(const struct task_comparison *t, const char *file, const char *field,
                      struct rml_error *err)
{
    const char *a = json_string_value(json_object_get(t->of_a, field));
    const char *b = json_string_value(json_object_get(t->of_b, field));
    return !a || !b || strcmp(a, b) == 0 || differ(t, file, field, a, b, err);
}

/* A setting that one side does not tell (of another program) is left to the texts. */
static bool same_setting(const struct task_comparison *t, const char *file, const json_t *a,
                         const json_t *b, const char *key, struct rml_error *err)
{
    const json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key);
    if (!of_a || !of_b || json_equal(of_a, of_b))
        return true;
    char *text_a = json_dumps(of_a, JSON_ENCODE_ANY), *text_b = json_dumps(of_b, JSON_ENCODE_ANY);
    differ(t, file, key, text_a, text_b, err);
    free(text_a);
    free(text_b);
    return false;
}

/* A tokenizer that is stored in another form has another hash: what it made of the texts decides. */
static bool same_tokenizer(const struct task_comparison *t, const char *file, const json_t *a,
                           const json_t *b, struct rml_error *err)
{
    const char *ids_a = json_string_value(json_object_get(a, "ids_sha256"));
    const char *ids_b = json_string_value(json_object_get(b, "ids_sha256"));
    return (ids_a && ids_b && strcmp(ids_a, ids_b) == 0) ||
           same_text(t, file, "tokenizer_sha256", err);
}

bool compare_check_settings(const struct task_comparison *t, const char *file,
                            struct rml_error *err)
{
    static const char *const window_keys[] = {"n_ctx", "stride", "double_bos", NULL};
    /* What is asked, and how a reply ends and is judged. How it is drawn may differ, as the model may. */
    static const char *const item_keys[] = {"delimiter",
                                            "num_fewshot",
                                            "description",
                                            "chat",
                                            "system",
                                            "fewshot_as_multiturn",
                                            "boundary",
                                            "overlong",
                                            "until",
                                            "max_tokens",
                                            "metric_list",
                                            "filter_list",
                                            "regex",
                                            "group",
                                            "fallback",
                                            "ignore_regexes",
                                            "ignore_case",
                                            "ignore_numbers",
                                            "ignore_punctuation",
                                            NULL};
    bool windows = t->kind == COMPARE_PERPLEXITY;
    if (!same_text(t, file, "protocol", err))
        return false;
    json_t *a = json_loads(json_string_value(json_object_get(t->of_a, "settings_json")), 0, NULL);
    json_t *b = json_loads(json_string_value(json_object_get(t->of_b, "settings_json")), 0, NULL);
    bool ok = !windows || same_tokenizer(t, file, a, b, err);
    for (const char *const *key = windows ? window_keys : item_keys; ok && *key; key++)
        ok = same_setting(t, file, a, b, *key, err);
    json_decref(a);
    json_decref(b);
    return ok;
}

/* Two texts of an item, where both sides keep them. */
static bool same_of_item(const struct task_comparison *t, const json_t *pair, const char *key,
                         const char *key_b, const char *what, const char *file,
                         struct rml_error *err)
{
    const char *a = json_string_value(json_object_get(pair, key));
    const char *b = json_string_value(json_object_get(pair, key_b));
    if (!a || !b || strcmp(a, b) == 0)
        return true;
    return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                     "task '%s', item '%.100s': %s differs: '%.200s' in a and '%.200s' in b, "
                     "expected the same items",
                     t->task, json_string_value(json_object_get(pair, "id")), what, a, b);
}

static bool check_pair(const struct task_comparison *t, const json_t *pair, const char *file,
                       struct rml_error *err)
{
    const char *id = json_string_value(json_object_get(pair, "id"));
    const char *what = NULL;
    if (json_object_get(pair, "is_same") && json_is_false(json_object_get(pair, "is_same")))
        what = "token ids differ";
    else if (!json_is_number(json_object_get(pair, "a")))
        what = "no figure in a";
    else if (!json_is_number(json_object_get(pair, "b")))
        what = "no figure in b";
    else if (t->kind != COMPARE_ITEMS &&
             !json_equal(json_object_get(pair, "size"), json_object_get(pair, "size_b")))
        what = "sizes differ";
    if (what)
        return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                         "task '%s', item '%.100s': %s, expected the same items", t->task, id,
                         what);
    return same_of_item(t, pair, "text", "text_b", "text", file, err) &&
           same_of_item(t, pair, "gold", "gold_b", "gold", file, err);
}

bool compare_check_pairs(const struct task_comparison *t, const json_t *pairs, size_t n_b,
                         const char *file, struct rml_error *err)
{
    size_t n_a = json_array_size(pairs), n_both = 0, i;
    json_t *pair;
    const char *lone = NULL; /* one that only a has */
    json_array_foreach(pairs, i, pair)
    {
        bool has_b = json_is_string(json_object_get(pair, "id_b")) ||
                     json_is_number(json_object_get(pair, "b"));
        n_both += has_b;
        if (!has_b && !lone)
            lone = json_string_value(json_object_get(pair, "id"));
    }
    if (n_a == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                         "task '%s': no items found in a, expected a finished evaluation", t->task);
    if (n_both != n_a || n_both != n_b)
        return rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                         "task '%s': items differ: %zu in a, %zu in b, %zu in both%s%.100s%s, "
                         "expected the same",
                         t->task, n_a, n_b, n_both, lone ? " ('" : "", lone ? lone : "",
                         lone ? "' is only in a)" : "");
    bool ok = true;
    json_array_foreach(pairs, i, pair) ok = ok && check_pair(t, pair, file, err);
    return ok;
}

const char *compare_pick_of(const char *metric)
{
    return strcmp(metric, "acc") == 0 ? "pick" : strcmp(metric, "acc_norm") == 0 ? "pick_norm" : "";
}
