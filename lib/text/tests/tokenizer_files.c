#include "text/tests/tokenizer_files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void test_source_path(char path[1024], const char *folder, const char *name)
{
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, 1024, "%s/%s/%s", root ? root : ".", folder, name);
}

json_t *test_load_json(const char *folder, const char *name)
{
    char path[1024];
    json_error_t why;
    test_source_path(path, folder, name);
    json_t *json = json_load_file(path, JSON_ALLOW_NUL, &why);
    cr_assert_not_null(json, "%s: %s", path, why.text);
    return json;
}

struct rml_tokenizer *test_open_patched(const json_t *base, const json_t *patch,
                                        struct rml_error *err)
{
    json_t *merged = json_copy((json_t *)base), *value;
    const char *key;
    json_object_foreach((json_t *)patch, key, value)
    {
        if (strcmp(key, "model") == 0) {
            json_t *model = json_copy(json_object_get(base, "model"));
            json_object_update(model, value);
            json_object_set_new(merged, key, model);
        } else {
            json_object_set(merged, key, value);
        }
    }
    char path[] = "/tmp/rml-tokenizer-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(json_dumpfd(merged, fd, 0), 0);
    close(fd);
    struct rml_tokenizer *t = rml_tokenizer_from_json(path, err);
    unlink(path);
    json_decref(merged);
    return t;
}
