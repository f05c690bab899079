#include "remade.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files/gguf_writer.h"
#include "recipe_cases.h"

/* One tensor to be written: where its bytes come from, NULL for zeros. */
struct part {
    const uint8_t *data;
    size_t nbytes;
};

struct tensor {
    const char *name;
    enum rml_dtype dtype;
    int n_dims;
    uint64_t dims[RML_MAX_DIMS];
    size_t nbytes;
    struct part parts[64];
    size_t n_parts;
};

void fixture_path(char *path, size_t nbytes, const char *fixture)
{
    const char *source = getenv("RML_SOURCE_DIR");
    snprintf(path, nbytes, "%s/goldens/fixtures/%s", source ? source : ".", fixture);
}

void make_test_folder(char dir[64])
{
    strcpy(dir, "/tmp/rml-weights-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

void remove_test_folder(const char *dir)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

/* ---- Tensors --------------------------------------------------------------- */

static bool is_listed(const json_t *names, const char *name)
{
    json_t *value;
    size_t i;
    json_array_foreach((json_t *)names, i, value)
    {
        if (strcmp(json_string_value(value), name) == 0)
            return true;
    }
    return false;
}

static void add_part(struct tensor *t, const struct rml_checkpoint *cp, const json_t *source)
{
    const json_t *whole = json_is_string(source) ? source : json_object_get(source, "tensor");
    const struct rml_tensor_info *info = rml_checkpoint_find_tensor(cp, json_string_value(whole));
    cr_assert(info && t->n_parts < 64, "%s: no tensor %s", t->name, json_string_value(whole));
    size_t i = (size_t)json_integer_value(json_object_get(source, "part"));
    size_t n = (size_t)json_integer_value(json_object_get(source, "parts"));
    size_t nbytes = info->nbytes / (n ? n : 1);
    t->parts[t->n_parts++] = (struct part){info->data + i * nbytes, nbytes};
}

static struct tensor described(const struct rml_checkpoint *cp, const char *name,
                               const json_t *description)
{
    const json_t *shape = json_object_get(description, "shape");
    struct tensor t = {.name = name, .n_dims = (int)json_array_size(shape)};
    cr_assert(rml_dtype_parse(json_string_value(json_object_get(description, "dtype")), &t.dtype),
              "%s", name);
    uint64_t nelems = 1;
    for (int i = 0; i < t.n_dims; i++) {
        t.dims[i] = (uint64_t)json_integer_value(json_array_get(shape, (size_t)i));
        nelems *= t.dims[i];
    }
    cr_assert(rml_dtype_row_nbytes(t.dtype, nelems, &t.nbytes), "%s", name);

    json_t *source;
    size_t i, nbytes = 0;
    json_array_foreach(json_object_get(description, "of"), i, source)
    {
        add_part(&t, cp, source);
        nbytes += t.parts[i].nbytes;
    }
    cr_assert(t.n_parts == 0 || nbytes == t.nbytes, "%s: %zu bytes of %zu", name, nbytes, t.nbytes);
    if (t.n_parts == 0)
        t.parts[t.n_parts++] = (struct part){NULL, t.nbytes};
    return t;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* All tensors of the new file, by name. Freed by the caller. */
static struct tensor *list_tensors(const struct rml_checkpoint *cp, const json_t *a_case, size_t *n)
{
    json_t *added = json_object_get(a_case, "tensors"), *description;
    const json_t *without = json_object_get(a_case, "without");
    size_t n_old = rml_checkpoint_n_tensors(cp), i;
    struct tensor *tensors = calloc(n_old + json_object_size(added), sizeof *tensors);
    const char *name;
    json_t *left_out;

    json_array_foreach((json_t *)without, i, left_out)
    {
        cr_assert(rml_checkpoint_find_tensor(cp, json_string_value(left_out)), "no tensor %s",
                  json_string_value(left_out));
    }
    *n = 0;
    for (i = 0; i < n_old; i++) {
        const struct rml_tensor_info *info = rml_checkpoint_tensor(cp, i);
        if (is_listed(without, info->name) || json_object_get(added, info->name))
            continue;
        struct tensor *t = &tensors[(*n)++];
        *t = (struct tensor){.name = info->name,
                             .dtype = info->dtype,
                             .n_dims = info->n_dims,
                             .nbytes = info->nbytes,
                             .parts = {{info->data, info->nbytes}},
                             .n_parts = 1};
        memcpy(t->dims, info->dims, sizeof t->dims);
    }
    json_object_foreach(added, name, description)
    {
        tensors[(*n)++] = described(cp, name, description);
    }
    qsort(tensors, *n, sizeof *tensors, compare_names);
    return tensors;
}

/* ---- Hugging Face ---------------------------------------------------------- */

static void write_folder(const char *folder, const struct rml_checkpoint *cp, const json_t *a_case)
{
    char path[256];
    size_t n, offset = 0;
    struct tensor *tensors = list_tensors(cp, a_case, &n);
    json_t *config = changed_object(rmli_checkpoint_config(cp), a_case), *header = json_object();

    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = &tensors[i];
        json_t *shape = json_array();
        for (int d = 0; d < t->n_dims; d++)
            json_array_append_new(shape, json_integer((json_int_t)t->dims[d]));
        json_object_set_new(
            header, t->name,
            json_pack("{s:s, s:o, s:[I, I]}", "dtype", rml_dtype_traits(t->dtype)->name, "shape",
                      shape, "data_offsets", (json_int_t)offset, (json_int_t)(offset + t->nbytes)));
        offset += t->nbytes;
    }
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/config.json", folder);
    cr_assert_eq(json_dump_file(config, path, 0), 0);

    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    char *text = json_dumps(header, JSON_COMPACT);
    uint64_t n_header = strlen(text);
    cr_assert(file);
    fwrite(&n_header, sizeof n_header, 1, file);
    fwrite(text, 1, n_header, file);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < tensors[i].n_parts; k++)
            for (size_t b = 0; b < tensors[i].parts[k].nbytes; b++)
                fputc(tensors[i].parts[k].data ? tensors[i].parts[k].data[b] : 0, file);
    cr_assert_eq(fclose(file), 0);
    free(text);
    free(tensors);
    json_decref(header);
    json_decref(config);
}

/* ---- GGUF ------------------------------------------------------------------ */

/* A scalar, or a list of scalars of one type. */
static void write_value(struct rmli_gguf_writer *w, const char *key, const json_t *value)
{
    struct rml_error err = RML_ERROR_INIT;
    const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
    if (json_is_string(first)) {
        cr_assert(rmli_gguf_writer_add_string(w, key, json_string_value(first), &err), "%s",
                  err.message);
        return;
    }
    enum rmli_gguf_type type = json_is_boolean(first) ? RMLI_GGUF_BOOL
                               : json_is_real(first)  ? RMLI_GGUF_F32
                                                      : RMLI_GGUF_U32;
    uint8_t bytes[256 * 4];
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    size_t width = type == RMLI_GGUF_BOOL ? 1 : 4;
    for (size_t i = 0; i < n; i++) {
        const json_t *element = json_is_array(value) ? json_array_get(value, i) : value;
        uint8_t flag = json_is_true(element);
        uint32_t integer = (uint32_t)json_integer_value(element);
        float real = (float)json_number_value(element);
        const void *from = type == RMLI_GGUF_BOOL  ? (const void *)&flag
                           : type == RMLI_GGUF_F32 ? (const void *)&real
                                                   : (const void *)&integer;
        memcpy(bytes + i * width, from, width);
    }
    cr_assert(
        rmli_gguf_writer_add(w, key, type, json_is_array(value) ? (int64_t)n : -1, bytes, &err),
        "%s", err.message);
}

static void write_gguf(const char *path, const struct rml_checkpoint *cp, const json_t *a_case)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf_writer *w = rmli_gguf_writer_create(path, 0, &err);
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(cp);
    const json_t *dropped = json_object_get(a_case, "drop");
    json_t *set = json_object_get(a_case, "set"), *value;
    const char *key;
    size_t n, n_dropped = 0;

    cr_assert(w, "%s", err.message);
    for (size_t i = 0; i < rmli_gguf_n_kv(gguf); i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_kv(gguf, i);
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)kv->key.nbytes, kv->key.data);
        bool drop = is_listed(dropped, name);
        n_dropped += drop;
        if (!drop && !json_object_get(set, name) && strcmp(name, "general.alignment") != 0)
            cr_assert(rmli_gguf_writer_copy(w, kv, &err), "%s", err.message);
    }
    cr_expect_eq(n_dropped, json_array_size(dropped), "%s: not all keys to drop are there", path);
    json_object_foreach(set, key, value)
    {
        write_value(w, key, value);
    }
    struct tensor *tensors = list_tensors(cp, a_case, &n);
    for (size_t i = 0; i < n; i++)
        cr_assert(rmli_gguf_writer_declare(w, tensors[i].name, tensors[i].dtype, tensors[i].n_dims,
                                           tensors[i].dims, &err),
                  "%s", err.message);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < tensors[i].n_parts; k++) {
            const struct part *part = &tensors[i].parts[k];
            uint8_t *zeros = calloc(1, part->nbytes);
            cr_assert(
                rmli_gguf_writer_write(w, part->data ? part->data : zeros, part->nbytes, &err),
                "%s", err.message);
            free(zeros);
        }
    }
    cr_assert(rmli_gguf_writer_finish(w, &err), "%s", err.message);
    free(tensors);
}

struct rml_checkpoint *open_remade(const json_t *a_case, const char *dir, struct rml_error *err)
{
    char path[1024], made[128];
    struct rml_error why = RML_ERROR_INIT;
    fixture_path(path, sizeof path, json_string_value(json_object_get(a_case, "of")));
    struct rml_checkpoint *cp = rml_checkpoint_open(path, &why);
    cr_assert(cp, "%s: %s", path, why.message);
    if (rml_checkpoint_kind(cp) == RML_CHECKPOINT_HF) {
        snprintf(made, sizeof made, "%s/hf", dir);
        write_folder(made, cp, a_case);
    } else {
        snprintf(made, sizeof made, "%s/model.gguf", dir);
        write_gguf(made, cp, a_case);
    }
    rml_checkpoint_close(cp);
    return rml_checkpoint_open(made, err);
}
