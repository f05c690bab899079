/* What the GGUF writer writes, byte by byte and through the reader. */
#include "files/gguf_writer.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "byte_script.h"
#include "temp_folder.h"

TestSuite(gguf_writer, .init = temp_folder_make, .fini = temp_folder_remove);

static struct rmli_gguf_writer *create(const char *name, uint32_t alignment)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf_writer *w = rmli_gguf_writer_create(temp_path(name), alignment, &err);
    cr_assert_not_null(w, "%s", err.message);
    return w;
}

static struct rmli_gguf *reopen(const char *name)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf *gguf = rmli_gguf_open(temp_path(name), &err);
    cr_assert_not_null(gguf, "%s (at %lld)", err.message, (long long)err.offset);
    return gguf;
}

/* Files in the test's folder: no temporary one may be left. */
static int n_files(void)
{
    DIR *dir = opendir(temp_path(""));
    cr_assert_not_null(dir);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void expect_bytes(const char *name, const char *script)
{
    static struct script_bytes expected;
    static uint8_t bytes[sizeof expected.bytes];
    script_assemble(&expected, script);
    FILE *file = fopen(temp_path(name), "rb");
    cr_assert_not_null(file);
    size_t nbytes = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    cr_expect_eq(nbytes, expected.nbytes);
    for (size_t i = 0; i < nbytes && i < expected.nbytes; i++)
        cr_assert_eq(bytes[i], expected.bytes[i], "byte %zu of %s", i, name);
}

Test(gguf_writer, bytes_by_the_specification)
{
    struct rmli_gguf_writer *w = create("a.gguf", 64);
    static const uint64_t matrix[] = {2, 3};
    static const uint16_t counts[] = {1, 2, 3};
    static const struct rmli_gguf_string strings[] = {{"one", 3}, {"", 0}};
    cr_assert(rmli_gguf_writer_add_string(w, "general.architecture", "llama", NULL));
    cr_assert(rmli_gguf_writer_add_u32(w, "u", 7, NULL));
    cr_assert(rmli_gguf_writer_add_f32(w, "f", 1.5f, NULL));
    cr_assert(rmli_gguf_writer_add(w, "counts", RMLI_GGUF_U16, 3, counts, NULL));
    cr_assert(rmli_gguf_writer_add_strings(w, "strings", 2, strings, NULL));
    cr_assert(rmli_gguf_writer_declare(w, "m", RML_F32, 2, matrix, NULL));
    cr_assert(rmli_gguf_writer_declare(w, "s", RML_F16, 0, NULL, NULL));
    static const float values[] = {1, 2, 3, 4, 5, 6};
    cr_assert(rmli_gguf_writer_write(w, values, 4, NULL));
    cr_assert(rmli_gguf_writer_write(w, values + 1, 20, NULL));
    cr_assert(rmli_gguf_writer_write(w, "\0<", 2, NULL));
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rmli_gguf_writer_finish(w, &err), "%s", err.message);
    expect_bytes("a.gguf", "'GGUF' 4:3 8:2 8:6 s'general.alignment' 4:4 4:64 "
                           "s'general.architecture' 4:8 s'llama' s'u' 4:4 4:7 s'f' 4:6 f:1.5 "
                           "s'counts' 4:9 4:2 8:3 2:1 2:2 2:3 s'strings' 4:9 4:8 8:2 s'one' s'' "
                           "s'm' 4:2 8:3 8:2 4:0 8:0 s's' 4:0 4:1 8:64 "
                           "a:64 f:1 f:2 f:3 f:4 f:5 f:6 a:64 2:0x3c00 a:64");
    cr_expect_eq(n_files(), 1);
}

/* ---- Round trips -------------------------------------------------------- */

static const struct {
    enum rmli_gguf_type type;
    size_t nbytes;
    const void *values; /* three */
} fixed[] = {
    {RMLI_GGUF_U8, 1, (const uint8_t[]){0, 1, 255}},
    {RMLI_GGUF_I8, 1, (const int8_t[]){-128, 0, 127}},
    {RMLI_GGUF_U16, 2, (const uint16_t[]){0, 1, 65535}},
    {RMLI_GGUF_I16, 2, (const int16_t[]){-32768, 0, 32767}},
    {RMLI_GGUF_U32, 4, (const uint32_t[]){0, 1, UINT32_MAX}},
    {RMLI_GGUF_I32, 4, (const int32_t[]){INT32_MIN, 0, INT32_MAX}},
    {RMLI_GGUF_F32, 4, (const float[]){-0.0f, 1e-45f, 3.4e38f}},
    {RMLI_GGUF_BOOL, 1, (const uint8_t[]){1, 0, 1}},
    {RMLI_GGUF_U64, 8, (const uint64_t[]){0, 1, UINT64_MAX}},
    {RMLI_GGUF_I64, 8, (const int64_t[]){INT64_MIN, 0, INT64_MAX}},
    {RMLI_GGUF_F64, 8, (const double[]){-0.0, 5e-324, 1.7e308}},
};

enum { N_FIXED = sizeof fixed / sizeof fixed[0] };

static void key_of(char key[32], const char *form, size_t i)
{
    snprintf(key, 32, "%s.%zu", form, i);
}

static void write_every_type(const char *name)
{
    struct rmli_gguf_writer *w = create(name, 0);
    char key[32];
    for (size_t i = 0; i < N_FIXED; i++) {
        key_of(key, "scalar", i);
        cr_assert(rmli_gguf_writer_add(w, key, fixed[i].type, -1, fixed[i].values, NULL));
        key_of(key, "array", i);
        cr_assert(rmli_gguf_writer_add(w, key, fixed[i].type, 3, fixed[i].values, NULL));
        key_of(key, "empty", i);
        cr_assert(rmli_gguf_writer_add(w, key, fixed[i].type, 0, NULL, NULL));
    }
    static const struct rmli_gguf_string strings[] = {{"a\0b", 3}, {"", 0}, {"\377", 1}};
    cr_assert(rmli_gguf_writer_add_string(w, "string", "caf\303\251", NULL));
    cr_assert(rmli_gguf_writer_add_strings(w, "strings", 3, strings, NULL));
    cr_assert(rmli_gguf_writer_add_strings(w, "no strings", 0, NULL, NULL));
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rmli_gguf_writer_finish(w, &err), "%s", err.message);
}

static void expect_every_type(const struct rmli_gguf *g)
{
    char key[32];
    for (size_t i = 0; i < N_FIXED; i++) {
        key_of(key, "scalar", i);
        const struct rmli_gguf_kv *kv = rmli_gguf_find(g, key);
        cr_assert_not_null(kv, "%s", key);
        cr_expect_eq(kv->type, fixed[i].type);
        cr_expect_eq(memcmp(kv->data, fixed[i].values, fixed[i].nbytes), 0, "%s", key);
        key_of(key, "array", i);
        kv = rmli_gguf_find(g, key);
        cr_assert_not_null(kv, "%s", key);
        cr_expect(kv->type == RMLI_GGUF_ARRAY && kv->elem_type == fixed[i].type && kv->nelems == 3);
        cr_expect_eq(memcmp(kv->data, fixed[i].values, 3 * fixed[i].nbytes), 0, "%s", key);
        key_of(key, "empty", i);
        kv = rmli_gguf_find(g, key);
        cr_assert_not_null(kv, "%s", key);
        cr_expect(kv->type == RMLI_GGUF_ARRAY && kv->elem_type == fixed[i].type && kv->nelems == 0);
    }
    struct rmli_gguf_string s = {0};
    cr_expect(rmli_gguf_get_string(g, "string", &s, NULL, NULL));
    cr_expect(s.nbytes == 5 && memcmp(s.data, "caf\303\251", 5) == 0);
    const struct rmli_gguf_kv *kv = rmli_gguf_find(g, "strings");
    cr_assert(kv && kv->elem_type == RMLI_GGUF_STRING && kv->nelems == 3);
    const uint8_t *cursor = kv->data;
    s = rmli_gguf_next_string(&cursor);
    cr_expect(s.nbytes == 3 && memcmp(s.data, "a\0b", 3) == 0);
    s = rmli_gguf_next_string(&cursor);
    cr_expect_eq(s.nbytes, 0u);
    s = rmli_gguf_next_string(&cursor);
    cr_expect(s.nbytes == 1 && memcmp(s.data, "\377", 1) == 0);
    cr_expect_eq(rmli_gguf_find(g, "no strings")->nelems, 0u);
}

Test(gguf_writer, every_type_comes_back)
{
    write_every_type("a.gguf");
    struct rmli_gguf *g = reopen("a.gguf");
    expect_every_type(g);
    rmli_gguf_close(g);
}

Test(gguf_writer, copies_of_every_type_come_back)
{
    write_every_type("a.gguf");
    struct rmli_gguf *g = reopen("a.gguf");
    struct rmli_gguf_writer *w = create("b.gguf", 128);
    for (size_t i = 0; i < rmli_gguf_n_kv(g); i++)
        cr_assert(rmli_gguf_writer_copy(w, rmli_gguf_kv(g, i), NULL));
    rmli_gguf_close(g);
    cr_assert(rmli_gguf_writer_finish(w, NULL));
    g = reopen("b.gguf");
    expect_every_type(g);
    /* The alignment of the source is not copied over the writer's own. */
    w = create("c.gguf", 0);
    for (size_t i = 0; i < rmli_gguf_n_kv(g); i++)
        cr_assert(rmli_gguf_writer_copy(w, rmli_gguf_kv(g, i), NULL));
    rmli_gguf_close(g);
    cr_assert(rmli_gguf_writer_finish(w, NULL));
    g = reopen("c.gguf");
    cr_expect_null(rmli_gguf_find(g, "general.alignment"));
    expect_every_type(g);
    rmli_gguf_close(g);
    cr_expect_eq(n_files(), 3);
}

Test(gguf_writer, tensors_of_every_type_come_back)
{
    struct rmli_gguf_writer *w = create("a.gguf", 0);
    static const uint64_t dims[] = {2, 1, 3, 256};
    char name[16];
    for (int i = 0; i < RML_N_WEIGHT_DTYPES; i++) {
        snprintf(name, sizeof name, "t%d", i);
        cr_assert(rmli_gguf_writer_declare(w, name, (enum rml_dtype)i, 4, dims, NULL));
    }
    for (int i = 0; i < RML_N_WEIGHT_DTYPES; i++) {
        size_t row_nbytes;
        cr_assert(rml_dtype_row_nbytes((enum rml_dtype)i, 256, &row_nbytes));
        for (size_t k = 0; k < 6 * row_nbytes; k++) {
            uint8_t byte = (uint8_t)(k * 7 + (size_t)i);
            cr_assert(rmli_gguf_writer_write(w, &byte, 1, NULL));
        }
    }
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rmli_gguf_writer_finish(w, &err), "%s", err.message);
    struct rmli_gguf *g = reopen("a.gguf");
    cr_assert_eq(rmli_gguf_n_tensors(g), (size_t)RML_N_WEIGHT_DTYPES);
    for (int i = 0; i < RML_N_WEIGHT_DTYPES; i++) {
        const struct rml_tensor_info *t = rmli_gguf_tensor(g, (size_t)i);
        cr_expect_eq(t->dtype, (enum rml_dtype)i);
        cr_expect_eq(memcmp(t->dims, dims, sizeof dims), 0);
        for (size_t k = 0; k < t->nbytes; k++)
            cr_assert_eq(t->data[k], (uint8_t)(k * 7 + (size_t)i));
    }
    rmli_gguf_close(g);
}

/* ---- What is refused ---------------------------------------------------- */

#define EXPECT_REFUSED(call, part)                                                                 \
    do {                                                                                           \
        struct rml_error err = RML_ERROR_INIT;                                                     \
        cr_expect_not(call);                                                                       \
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);                                              \
        cr_expect_not_null(strstr(err.message, part), "%s", err.message);                          \
    } while (0)

Test(gguf_writer, alignments)
{
    static const uint32_t bad[] = {1, 4, 7, 12, 48, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_REFUSED(rmli_gguf_writer_create(temp_path("a.gguf"), bad[i], &err),
                       "expected a power of two that is at least 8");
    cr_expect_eq(n_files(), 0);
}

Test(gguf_writer, a_refused_entry_leaves_the_writer_usable)
{
    struct rmli_gguf_writer *w = create("a.gguf", 0);
    static const uint64_t dims[5] = {1, 1, 1, 32, 33}, zero[] = {0}, huge[] = {1ull << 62};
    const uint8_t two = 2;
    char name[65] = {0};
    memset(name, 'n', 64);
    EXPECT_REFUSED(rmli_gguf_writer_add_u32(w, "", 1, &err), "metadata key '' has 0 bytes");
    EXPECT_REFUSED(rmli_gguf_writer_add_u32(w, "a\n", 1, &err), "without control characters");
    EXPECT_REFUSED(rmli_gguf_writer_add_u32(w, "\377", 1, &err), "UTF-8");
    EXPECT_REFUSED(rmli_gguf_writer_add(w, "k", RMLI_GGUF_STRING, -1, "x", &err), "type string");
    EXPECT_REFUSED(rmli_gguf_writer_add(w, "k", RMLI_GGUF_ARRAY, 1, "x", &err), "type array");
    EXPECT_REFUSED(rmli_gguf_writer_add(w, "k", RMLI_GGUF_BOOL, -1, &two, &err), "a bool of 2");
    EXPECT_REFUSED(rmli_gguf_writer_add(w, "k", RMLI_GGUF_U64, INT64_MAX, dims, &err),
                   "do not fit an address");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "", RML_F32, 1, dims, &err), "has 0 bytes");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, name, RML_F32, 1, dims, &err), "expected 1 to 63");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "t", RML_I32, 1, dims, &err), "none of a weight");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "t", RML_F32, 5, dims, &err), "has 5 dimensions");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "t", RML_Q8_0, 1, dims + 4, &err), "whole blocks");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "t", RML_F32, 1, zero, &err), "is empty");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "t", RML_F32, 1, huge, &err), "too large");
    cr_assert(rmli_gguf_writer_add_u32(w, "k", 1, NULL));
    cr_assert(rmli_gguf_writer_declare(w, name + 1, RML_Q8_0, 4, dims, NULL));
    static const uint8_t block[35] = {1};
    EXPECT_REFUSED(rmli_gguf_writer_write(w, block, 35, &err), "has room for 34");
    cr_assert(rmli_gguf_writer_write(w, block, 34, NULL));
    EXPECT_REFUSED(rmli_gguf_writer_write(w, block, 1, &err), "tensor 1 of 1");
    EXPECT_REFUSED(rmli_gguf_writer_add_u32(w, "late", 1, &err), "after the first tensor data");
    EXPECT_REFUSED(rmli_gguf_writer_declare(w, "late", RML_F32, 1, dims, &err),
                   "after the first tensor data");
    cr_assert(rmli_gguf_writer_finish(w, NULL));
    struct rmli_gguf *g = reopen("a.gguf");
    cr_expect(rmli_gguf_n_kv(g) == 1 && rmli_gguf_n_tensors(g) == 1);
    rmli_gguf_close(g);
}

Test(gguf_writer, names_given_twice)
{
    struct rmli_gguf_writer *w = create("a.gguf", 0);
    cr_assert(rmli_gguf_writer_add_u32(w, "k", 1, NULL));
    cr_assert(rmli_gguf_writer_add_u32(w, "k", 2, NULL));
    EXPECT_REFUSED(rmli_gguf_writer_finish(w, &err), "metadata key 'k' was given twice");
    w = create("a.gguf", 64);
    cr_assert(rmli_gguf_writer_add_u32(w, "general.alignment", 32, NULL));
    EXPECT_REFUSED(rmli_gguf_writer_write(w, "", 0, &err), "'general.alignment' was given twice");
    cr_expect_not(rmli_gguf_writer_write(w, "", 0, NULL), "still");
    rmli_gguf_writer_abandon(w);
    static const uint64_t dims[] = {1};
    w = create("a.gguf", 0);
    cr_assert(rmli_gguf_writer_declare(w, "t", RML_F32, 1, dims, NULL));
    cr_assert(rmli_gguf_writer_declare(w, "t", RML_F32, 1, dims, NULL));
    EXPECT_REFUSED(rmli_gguf_writer_finish(w, &err), "tensor 't' was given twice");
    cr_expect_eq(n_files(), 0);
}

Test(gguf_writer, nothing_is_left_of_what_was_not_finished)
{
    static const uint64_t dims[] = {8};
    temp_write_text("a.gguf", "before");
    struct rmli_gguf_writer *w = create("a.gguf", 0);
    cr_assert(rmli_gguf_writer_declare(w, "t", RML_F32, 1, dims, NULL));
    cr_assert(rmli_gguf_writer_write(w, "1234", 4, NULL));
    cr_expect_eq(n_files(), 2);
    EXPECT_REFUSED(rmli_gguf_writer_finish(w, &err), "incomplete: 4 of 32 bytes were written");
    rmli_gguf_writer_abandon(create("a.gguf", 0));
    rmli_gguf_writer_abandon(NULL);
    cr_expect_eq(n_files(), 1);
    expect_bytes("a.gguf", "'before'");
}

Test(gguf_writer, the_file_system_says_no)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rmli_gguf_writer_create(temp_path("no/folder/a.gguf"), 0, &err));
    cr_expect_eq(err.code, RML_IO);
    /* A full device: writes fail when stdio's buffer is flushed. */
    static const uint64_t dims[] = {1 << 16};
    static const float zeros[1 << 16];
    struct rlimit limit = {.rlim_cur = 100000, .rlim_max = 100000};
    signal(SIGXFSZ, SIG_IGN);
    struct rmli_gguf_writer *w = create("a.gguf", 0);
    cr_assert(rmli_gguf_writer_declare(w, "t", RML_F32, 1, dims, NULL));
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    rml_error_clear(&err);
    cr_expect_not(rmli_gguf_writer_write(w, zeros, sizeof zeros, &err));
    cr_expect_eq(err.code, RML_IO);
    cr_expect_not_null(strstr(err.message, "cannot write: File too large"), "%s", err.message);
    rml_error_clear(&err);
    cr_expect_not(rmli_gguf_writer_finish(w, &err));
    cr_expect_not_null(strstr(err.message, "an earlier step of writing this file failed"));
    cr_expect_eq(n_files(), 0);
}
