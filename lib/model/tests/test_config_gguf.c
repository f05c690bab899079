/*
 * GGUF metadata: the fixtures' recipes are those of their Hugging Face folders,
 * and tables of changed metadata say what must become of it
 * (cases/config_gguf.json) or by which words it is refused
 * (cases/config_gguf_refused.json).
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "files/gguf.h"
#include "model/model_config.h"
#include "recipe_cases.h"
#include "remade.h"

typedef void case_fn(const struct rml_checkpoint *cp, const json_t *a_case, const char *name);

static void for_each_case(const char *file, case_fn *visit)
{
    json_t *cases = load_cases(file), *a_case;
    char dir[64];
    size_t i;
    make_test_folder(dir);
    json_array_foreach(cases, i, a_case)
    {
        const char *name = json_string_value(json_object_get(a_case, "name"));
        struct rml_error err = RML_ERROR_INIT;
        struct rml_checkpoint *cp = open_remade(a_case, dir, &err);
        cr_assert(cp, "%s: %s", name, err.message);
        visit(cp, a_case, name);
        rml_checkpoint_close(cp);
    }
    remove_test_folder(dir);
    json_decref(cases);
}

static void expect_read(const struct rml_checkpoint *cp, const json_t *a_case, const char *name)
{
    struct rml_model_config c;
    struct rml_error err = RML_ERROR_INIT;
    if (rml_model_config_read(cp, &c, &err))
        expect_recipe(&c, json_object_get(a_case, "expected"), name);
    else
        cr_expect(false, "%s: %s", name, err.message);
}

Test(config_gguf, is_read_as_llama_cpp_does)
{
    for_each_case("config_gguf.json", expect_read);
}

static void expect_refused(const struct rml_checkpoint *cp, const json_t *a_case, const char *name)
{
    struct rml_model_config c;
    struct rml_error err = RML_ERROR_INIT;
    if (rml_model_config_read(cp, &c, &err)) {
        cr_expect(false, "%s: was accepted", name);
        return;
    }
    cr_expect_str_eq(rml_code_name(err.code), json_string_value(json_object_get(a_case, "code")),
                     "%s: the code is %s: %s", name, rml_code_name(err.code), err.message);
    cr_expect(strstr(err.message, json_string_value(json_object_get(a_case, "message"))),
              "%s: the message is \"%s\"", name, err.message);
    cr_expect_str_eq(err.file, rml_checkpoint_path(cp), "%s", name);
    const char *key = json_string_value(json_object_get(a_case, "place"));
    if (key) {
        cr_expect(strstr(err.message, key), "%s: the message is \"%s\"", name, err.message);
        cr_expect_eq(err.offset, (int64_t)rmli_gguf_find(rmli_checkpoint_gguf(cp), key)->offset,
                     "%s: at byte %jd", name, (intmax_t)err.offset);
    }
}

Test(config_gguf, is_refused_by_name)
{
    for_each_case("config_gguf_refused.json", expect_refused);
}

/* ---- Both forms of the fixtures ------------------------------------------- */

static json_t *recipe_of(const char *path)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config c;
    struct rml_checkpoint *cp = rml_checkpoint_open(path, &err);
    cr_assert(cp, "%s: %s", path, err.message);
    bool ok = rml_model_config_read(cp, &c, &err);
    cr_assert(ok, "%s: %s", path, err.message);
    rml_checkpoint_close(cp);
    return show_recipe(&c);
}

/* What a GGUF says in another way, or not at all. */
static void drop_differences(json_t *recipe)
{
    static const char *const always[] = {"architecture", "pairing", "norm_plus_one", "bos", "eos"};
    static const char *const by_tensor[] = {"scaling", "factor", "original_context", "inv_freq"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        json_object_del(recipe, always[i]);
    if (strcmp(json_string_value(json_object_get(recipe, "scaling")), "llama3") == 0)
        for (size_t i = 0; i < sizeof by_tensor / sizeof by_tensor[0]; i++)
            json_object_del(recipe, by_tensor[i]);
}

static bool is_checkpoint(const char *name)
{
    return strncmp(name, "hf", 2) == 0 ||
           (strstr(name, ".gguf") && (!strstr(name, "-of-") || strstr(name, "-00001-of-")));
}

/* Every checkpoint of a toy against its folder "hf". Returns how many there were. */
static int compare_toy(const char *toy)
{
    char path[1024], folder[512];
    snprintf(folder, sizeof folder, "%s/hf", toy);
    fixture_path(path, sizeof path, folder);
    DIR *probe = opendir(path);
    if (!probe)
        return 0; /* a GGUF alone */
    closedir(probe);
    json_t *expected = recipe_of(path);
    drop_differences(expected);

    fixture_path(path, sizeof path, toy);
    DIR *dir = opendir(path);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct rml_model_config c;
        if (!is_checkpoint(entry->d_name))
            continue;
        char file[1536];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        struct rml_checkpoint *cp = rml_checkpoint_open(file, NULL);
        cr_assert(cp && rml_model_config_read(cp, &c, NULL), "%s", file);
        expect_recipe(&c, expected, file);
        rml_checkpoint_close(cp);
        n++;
    }
    closedir(dir);
    json_decref(expected);
    return n;
}

Test(config_gguf, equals_the_recipe_of_the_folder)
{
    char path[1024];
    fixture_path(path, sizeof path, "");
    DIR *dir = opendir(path);
    int n = 0;
    cr_assert(dir, "%s", path);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            n += compare_toy(entry->d_name);
    closedir(dir);
    cr_expect(n >= 30, "%d checkpoints", n);
}
