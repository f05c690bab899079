/*
 * Any bytes as text, under the small tokenizers of the test cases: the first byte chooses.
 * Byte-level ones without normalizer must give valid text back unchanged.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/fuzz/memory_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

enum { MAX_TOKENIZERS = 128 };
static struct rml_tokenizer *tokenizers[MAX_TOKENIZERS];
static size_t n_tokenizers;

static json_t *merge(const json_t *base, const json_t *patch)
{
    json_t *merged = json_copy((json_t *)base), *value;
    const char *key;
    json_object_foreach((json_t *)patch, key, value)
    {
        json_t *model = json_copy(json_object_get(base, "model"));
        if (strcmp(key, "model") == 0)
            json_object_update(model, value);
        json_object_set(merged, key, strcmp(key, "model") == 0 ? model : value);
        json_decref(model);
    }
    return merged;
}

static void open_all(const char *name)
{
    const char *root = getenv("RML_SOURCE_DIR");
    char path[1024];
    snprintf(path, sizeof path, "%s/lib/text/tests/cases/%s", root ? root : ".", name);
    json_t *file = json_load_file(path, JSON_ALLOW_NUL, NULL);
    const json_t *variants = json_object_get(file, "variants");
    for (size_t i = 0; i < json_array_size(variants) && n_tokenizers < MAX_TOKENIZERS; i++) {
        json_t *merged = merge(json_object_get(file, "tokenizer"),
                               json_object_get(json_array_get(variants, i), "patch"));
        char *text = json_dumps(merged, 0);
        struct rml_tokenizer *t =
            rml_tokenizer_from_json(memory_file((const uint8_t *)text, strlen(text)), NULL);
        if (!t)
            __builtin_trap();
        tokenizers[n_tokenizers++] = t;
        free(text);
        json_decref(merged);
    }
    json_decref(file);
}

/* Before any input, whose time is limited. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    open_all("bytelevel.json");
    open_all("fallback.json");
    open_all("unknown.json");
    open_all("unigram.json");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes < 2)
        return 0;
    use_tokenizer(tokenizers[data[0] % n_tokenizers], (const char *)data + 1, nbytes - 1);
    return 0;
}
