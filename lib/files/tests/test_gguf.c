/* Well-formed GGUF files: every type, both versions, any layout. */
#include "files/gguf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "byte_script.h"
#include "temp_folder.h"

TestSuite(gguf, .init = temp_folder_make, .fini = temp_folder_remove);

static struct rmli_gguf *open_script(const char *script)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, script);
    temp_write("a.gguf", bytes.bytes, bytes.nbytes);
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf *gguf = rmli_gguf_open(temp_path("a.gguf"), &err);
    cr_assert_not_null(gguf, "%s (at %lld)", err.message, (long long)err.offset);
    return gguf;
}

/* ---- Metadata ----------------------------------------------------------- */

/* One scalar of each type, at odd addresses. */
#define SCALARS                                                                                    \
    "'GGUF' 4:3 8:0 8:12 "                                                                         \
    "s'u8' 4:0 1:200 s'i8' 4:1 1:-100 s'u16' 4:2 2:60000 s'i16' 4:3 2:-30000 "                     \
    "s'u32' 4:4 4:4000000000 s'i32' 4:5 4:-2000000000 s'f32' 4:6 f:1.5 s'bool' 4:7 1:1 "           \
    "s'string' 4:8 s'a%00b' s'u64' 4:10 8:0x8000000000000001 "                                     \
    "s'i64' 4:11 8:0x8000000000000000 s'f64' 4:12 8:0x3fb999999999999a"

Test(gguf, scalars)
{
    struct rmli_gguf *g = open_script(SCALARS);
    static const struct {
        const char *key;
        enum rmli_gguf_type type;
        int64_t i64;
        double f64;
    } expected[] = {
        {"u8", RMLI_GGUF_U8, 200, 200},
        {"i8", RMLI_GGUF_I8, -100, -100},
        {"u16", RMLI_GGUF_U16, 60000, 60000},
        {"i16", RMLI_GGUF_I16, -30000, -30000},
        {"u32", RMLI_GGUF_U32, 4000000000, 4000000000},
        {"i32", RMLI_GGUF_I32, -2000000000, -2000000000},
        {"f32", RMLI_GGUF_F32, 1, 1.5},
        {"bool", RMLI_GGUF_BOOL, 1, 1},
        {"u64", RMLI_GGUF_U64, INT64_MAX, 0x1p63},
        {"i64", RMLI_GGUF_I64, INT64_MIN, -0x1p63},
        {"f64", RMLI_GGUF_F64, 0, 0.1},
    };
    cr_expect_eq(rmli_gguf_version(g), 3u);
    cr_expect_eq(rmli_gguf_n_kv(g), 12u);
    cr_expect_eq(rmli_gguf_n_tensors(g), 0u);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_find(g, expected[i].key);
        cr_assert_not_null(kv, "%s", expected[i].key);
        cr_expect_eq(kv->type, expected[i].type);
        cr_expect_eq(kv->elem_type, expected[i].type);
        cr_expect_eq(kv->nelems, 1u);
        cr_expect_eq(rmli_gguf_elem_i64(kv, 0), expected[i].i64, "%s", expected[i].key);
        cr_expect_eq(rmli_gguf_elem_f64(kv, 0), expected[i].f64, "%s", expected[i].key);
    }
    cr_expect_null(rmli_gguf_find(g, "u"));
    cr_expect_null(rmli_gguf_find(g, ""));
    cr_expect_null(rmli_gguf_find(g, "u88"));
    struct rmli_gguf_string s = {0};
    cr_expect(rmli_gguf_get_string(g, "string", &s, NULL, NULL));
    cr_expect(s.nbytes == 3 && memcmp(s.data, "a\0b", 3) == 0, "NUL is a byte like others");
    cr_expect_eq(rmli_gguf_kv(g, 2)->offset, 24u + 8 + 2 + 4 + 1 + 8 + 2 + 4 + 1 + 8 + 3 + 4);
    rmli_gguf_close(g);
}

/* What each lookup makes of each key of SCALARS: 1 accepted, 0 an error. */
static const struct {
    const char *key;
    bool u32, u64, f64, boolean, string;
} rules[] = {
    {"u8", 1, 1, 1, 0, 0},   {"i8", 0, 0, 1, 0, 0},   {"u16", 1, 1, 1, 0, 0},
    {"i16", 0, 0, 1, 0, 0},  {"u32", 1, 1, 1, 0, 0},  {"i32", 0, 0, 1, 0, 0},
    {"f32", 0, 0, 1, 0, 0},  {"bool", 0, 0, 0, 1, 0}, {"string", 0, 0, 0, 0, 1},
    {"u64", 0, 1, 1, 0, 0},  {"i64", 0, 0, 1, 0, 0},  {"f64", 0, 0, 1, 0, 0},
    {"none", 1, 1, 1, 1, 1},
};

Test(gguf, typed_lookups)
{
    struct rmli_gguf *g = open_script(SCALARS);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const char *key = rules[i].key;
        bool absent = strcmp(key, "none") == 0, present;
        uint32_t u32 = 77;
        uint64_t u64 = 77;
        double f64 = 77;
        bool boolean = false;
        struct rmli_gguf_string s = {0};
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_eq(rmli_gguf_get_u32(g, key, &u32, &present, &err), rules[i].u32, "%s", key);
        cr_expect_eq(present, !absent);
        cr_expect_eq(u32 == 77, absent || !rules[i].u32, "%s", key);
        cr_expect_eq(err.code, rules[i].u32 ? RML_OK : RML_FORMAT);
        if (!rules[i].u32) {
            cr_expect_not_null(strstr(err.message, key), "%s", err.message);
            cr_expect_eq(err.offset, (int64_t)rmli_gguf_find(g, key)->offset);
        }
        cr_expect_eq(rmli_gguf_get_u64(g, key, &u64, NULL, NULL), rules[i].u64, "%s", key);
        cr_expect_eq(u64 == 77, absent || !rules[i].u64, "%s", key);
        cr_expect_eq(rmli_gguf_get_f64(g, key, &f64, NULL, NULL), rules[i].f64, "%s", key);
        cr_expect_eq(f64 == 77, absent || !rules[i].f64, "%s", key);
        cr_expect_eq(rmli_gguf_get_bool(g, key, &boolean, NULL, NULL), rules[i].boolean, "%s", key);
        cr_expect_eq(boolean, !absent && rules[i].boolean, "%s", key);
        cr_expect_eq(rmli_gguf_get_string(g, key, &s, NULL, NULL), rules[i].string, "%s", key);
        cr_expect_eq(s.data != NULL, !absent && rules[i].string, "%s", key);
    }
    uint64_t u64 = 0;
    cr_expect(rmli_gguf_get_u64(g, "u64", &u64, NULL, NULL));
    cr_expect_eq(u64, 0x8000000000000001u);
    rmli_gguf_close(g);
}

Test(gguf, an_array_is_no_scalar)
{
    struct rmli_gguf *g = open_script("'GGUF' 4:3 8:0 8:1 s'key' 4:9 4:4 8:1 4:7 z:9");
    uint32_t value = 5;
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_not(rmli_gguf_get_u32(g, "key", &value, NULL, &err));
    cr_expect_str_eq(err.message, "metadata key 'key' is an array of u32, expected an integer");
    cr_expect_eq(value, 5u);
    cr_expect_eq(rmli_gguf_find(g, "key")->nelems, 1u);
    rmli_gguf_close(g);
}

Test(gguf, arrays)
{
    struct rmli_gguf *g = open_script("'GGUF' 4:2 8:0 8:6 "
                                      "s'i16' 4:9 4:3 8:3 2:-1 2:0 2:32767 "
                                      "s'f32' 4:9 4:6 8:2 f:0.25 f:-2 "
                                      "s'bool' 4:9 4:7 8:3 1:1 1:0 1:1 "
                                      "s'strings' 4:9 4:8 8:3 s'one' s'' s'%00%ff' "
                                      "s'none' 4:9 4:8 8:0 "
                                      "s'last' 4:9 4:12 8:0");
    cr_expect_eq(rmli_gguf_version(g), 2u);
    const struct rmli_gguf_kv *kv = rmli_gguf_find(g, "i16");
    cr_expect_eq(kv->type, RMLI_GGUF_ARRAY);
    cr_expect_eq(kv->elem_type, RMLI_GGUF_I16);
    cr_expect_eq(kv->nelems, 3u);
    cr_expect(rmli_gguf_elem_i64(kv, 0) == -1 && rmli_gguf_elem_i64(kv, 2) == 32767);
    kv = rmli_gguf_find(g, "f32");
    cr_expect(rmli_gguf_elem_f64(kv, 0) == 0.25 && rmli_gguf_elem_f64(kv, 1) == -2);
    kv = rmli_gguf_find(g, "bool");
    cr_expect(rmli_gguf_elem_i64(kv, 1) == 0 && rmli_gguf_elem_i64(kv, 2) == 1);
    kv = rmli_gguf_find(g, "strings");
    cr_assert_eq(kv->nelems, 3u);
    const uint8_t *cursor = kv->data;
    struct rmli_gguf_string s = rmli_gguf_next_string(&cursor);
    cr_expect(s.nbytes == 3 && memcmp(s.data, "one", 3) == 0);
    s = rmli_gguf_next_string(&cursor);
    cr_expect_eq(s.nbytes, 0u);
    s = rmli_gguf_next_string(&cursor);
    cr_expect(s.nbytes == 2 && memcmp(s.data, "\0\377", 2) == 0);
    cr_expect_eq(rmli_gguf_find(g, "none")->nelems, 0u);
    cr_expect_eq(rmli_gguf_find(g, "last")->nelems, 0u);
    rmli_gguf_close(g);
}

Test(gguf, floats_as_integers_saturate)
{
    struct rmli_gguf *g = open_script("'GGUF' 4:3 8:0 8:1 s'f' 4:9 4:12 8:6 "
                                      "8:0x7ff8000000000000 8:0x7ff0000000000000 "
                                      "8:0xfff0000000000000 8:0x43e0000000000000 "
                                      "8:0xc3e0000000000000 8:0xbffc000000000000");
    static const int64_t expected[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, -1};
    const struct rmli_gguf_kv *kv = rmli_gguf_find(g, "f");
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(rmli_gguf_elem_i64(kv, i), expected[i], "%zu", i);
    cr_expect(isnan(rmli_gguf_elem_f64(kv, 0)));
    rmli_gguf_close(g);
}

/* ---- Tensors ------------------------------------------------------------ */

Test(gguf, tensors_in_any_order_with_holes)
{
    /* Out of order, with a hole of 64 bytes and bytes behind the last. */
    struct rmli_gguf *g = open_script(
        "'GGUF' 4:3 8:3 8:1 s'general.alignment' 4:4 4:64 "
        "s'matrix' 4:2 8:3 8:2 4:0 8:192 "
        "s'scalar' 4:0 4:0 8:64 "
        "s'blocks' 4:4 8:32 8:1 8:2 8:1 4:8 8:256 "
        "a:64 z:64 f:42 a:64 z:64 f:1 f:2 f:3 f:4 f:5 f:6 a:64 2:1 z:32 2:2 z:32 'end'");
    cr_assert_eq(rmli_gguf_n_tensors(g), 3u);
    const struct rml_tensor_info *t = rmli_gguf_tensor(g, 0);
    cr_expect_str_eq(t->name, "matrix");
    cr_expect_eq(t->dtype, RML_F32);
    cr_expect_eq(t->n_dims, 2);
    cr_expect(t->dims[0] == 2 && t->dims[1] == 3 && t->dims[2] == 1 && t->dims[3] == 1,
              "outermost first");
    cr_expect_eq(t->nbytes, 24u);
    cr_expect_eq(t->offset % 64, 0u);
    float values[6];
    memcpy(values, t->data, sizeof values);
    cr_expect(values[0] == 1 && values[5] == 6);
    cr_expect_str_eq(t->file, temp_path("a.gguf"));

    t = rmli_gguf_tensor(g, 1);
    cr_expect_str_eq(t->name, "scalar");
    cr_expect_eq(t->n_dims, 0);
    cr_expect(t->dims[0] == 1 && t->nbytes == 4);
    memcpy(values, t->data, 4);
    cr_expect_eq(values[0], 42.0f);

    t = rmli_gguf_tensor(g, 2);
    cr_expect_eq(t->dtype, RML_Q8_0);
    cr_expect(t->n_dims == 4 && t->dims[0] == 1 && t->dims[1] == 2 && t->dims[2] == 1 &&
              t->dims[3] == 32);
    cr_expect_eq(t->nbytes, 68u);
    cr_expect_eq(t->data[34], 2, "second block");
    rmli_gguf_close(g);
}

Test(gguf, every_weight_type)
{
    static const struct {
        unsigned number;
        const char *name;
        unsigned nelems, nbytes;
    } types[] = {
        {0, "F32", 256, 1024},    {1, "F16", 256, 512},     {2, "Q4_0", 256, 144},
        {3, "Q4_1", 256, 160},    {6, "Q5_0", 256, 176},    {7, "Q5_1", 256, 192},
        {8, "Q8_0", 256, 272},    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},
        {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},   {14, "Q6_K", 256, 210},
        {20, "IQ4_NL", 256, 144}, {23, "IQ4_XS", 256, 136}, {30, "BF16", 256, 512},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char script[128];
        snprintf(script, sizeof script, "'GGUF' 4:3 8:1 8:0 s't' 4:1 8:%u 4:%u 8:0 a:32 z:%u",
                 types[i].nelems, types[i].number, types[i].nbytes);
        struct rmli_gguf *g = open_script(script);
        const struct rml_tensor_info *t = rmli_gguf_tensor(g, 0);
        cr_expect_str_eq(rml_dtype_traits(t->dtype)->name, types[i].name);
        cr_expect_eq(t->nbytes, types[i].nbytes, "%s", types[i].name);
        rmli_gguf_close(g);
    }
}

Test(gguf, no_tensors_and_no_padding)
{
    struct rmli_gguf *g = open_script("'GGUF' 4:3 8:0 8:1 s'general.architecture' 4:8 s'llama'");
    cr_expect_eq(rmli_gguf_n_tensors(g), 0u);
    rmli_gguf_close(g);
    g = open_script("'GGUF' 4:3 8:0 8:0");
    cr_expect_eq(rmli_gguf_n_kv(g), 0u);
    cr_expect_null(rmli_gguf_find(g, "general.architecture"));
    rmli_gguf_close(g);
    rmli_gguf_close(NULL);
}

Test(gguf, missing_file)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rmli_gguf_open(temp_path("none.gguf"), &err));
    cr_expect_eq(err.code, RML_NOT_FOUND);
    cr_expect_str_eq(err.file, temp_path("none.gguf"));
}

/* A tensor of 100 GB at the end of a file that the disk does not hold. */
Test(gguf, a_file_of_100_gb_opens_at_once)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, "'GGUF' 4:3 8:2 8:0 s'small' 4:1 8:8 4:0 8:0 "
                            "s'large' 4:2 8:1048576 8:25600 4:0 8:32 a:32");
    temp_write("a.gguf", bytes.bytes, bytes.nbytes);
    off_t nbytes = (off_t)bytes.nbytes + 32 + ((off_t)100 << 30);
    if (truncate(temp_path("a.gguf"), nbytes) != 0)
        cr_skip("the file system has no sparse files of 100 GB");
    int64_t begin_ns = rmli_clock_ns();
    struct rmli_gguf *g = rmli_gguf_open(temp_path("a.gguf"), NULL);
    int64_t elapsed_ns = rmli_clock_ns() - begin_ns;
    cr_assert_not_null(g);
    cr_expect_eq(rmli_gguf_tensor(g, 1)->nbytes, (size_t)100 << 30);
    cr_expect_eq(rmli_gguf_tensor(g, 1)->data[((size_t)100 << 30) - 1], 0);
    cr_expect_lt(elapsed_ns, (int64_t)1000000000, "%lld ns", (long long)elapsed_ns);
    rmli_gguf_close(g);
    cr_assert_eq(truncate(temp_path("a.gguf"), nbytes - 1), 0);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rmli_gguf_open(temp_path("a.gguf"), &err));
    cr_expect_not_null(strstr(err.message, "1 bytes are missing"), "%s", err.message);
}
