/* Well-formed safetensors files, and the JSON that their headers may hold. */
#include "files/safetensors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "byte_script.h"
#include "temp_folder.h"

TestSuite(safetensors, .init = temp_folder_make, .fini = temp_folder_remove);

static struct rmli_safetensors *open_script(const char *script)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, script);
    temp_write("a.safetensors", bytes.bytes, bytes.nbytes);
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_safetensors *st = rmli_safetensors_open(temp_path("a.safetensors"), &err);
    cr_assert_not_null(st, "%s (at %lld)", err.message, (long long)err.offset);
    return st;
}

Test(safetensors, tensors_in_any_order_at_any_alignment)
{
    /* w begins at an odd place whatever the header's length. */
    struct rmli_safetensors *st = open_script(
        "j'{ `w` : {`dtype`:`F32`,`shape`:[1,2],`data_offsets`:[3,11]},"
        "`__metadata__`:{`format`:`pt`},"
        "`flag`:{`data_offsets`:[0,1],`shape`:[],`dtype`:`BOOL`},"
        "`h`:{`shape`:[1],`dtype`:`BF16`,`data_offsets`:[1,3]}} ' 1:1 2:0x3f80 f:1.5 f:-2");
    cr_assert_eq(rmli_safetensors_n_tensors(st), 3u);
    const struct rml_tensor_info *t = rmli_safetensors_tensor(st, 0);
    cr_expect_str_eq(t->name, "w");
    cr_expect(t->dtype == RML_F32 && t->n_dims == 2 && t->dims[0] == 1 && t->dims[1] == 2 &&
              t->dims[2] == 1);
    cr_expect_eq(t->nbytes, 8u);
    float values[2];
    memcpy(values, t->data, sizeof values);
    cr_expect(values[0] == 1.5f && values[1] == -2);
    cr_expect_eq(t->data, rmli_safetensors_file(st)->data + t->offset);
    cr_expect_str_eq(t->file, temp_path("a.safetensors"));
    t = rmli_safetensors_tensor(st, 1);
    cr_expect_str_eq(t->name, "flag");
    cr_expect(t->dtype == RML_I8 && t->n_dims == 0 && t->nbytes == 1 && t->data[0] == 1);
    t = rmli_safetensors_tensor(st, 2);
    cr_expect(t->dtype == RML_BF16 && t->data[0] == 0x80 && t->data[1] == 0x3f);
    rmli_safetensors_close(st);
}

Test(safetensors, dtypes)
{
    static const struct {
        const char *name;
        enum rml_dtype dtype;
        int nbytes;
    } dtypes[] = {
        {"F32", RML_F32, 4}, {"F16", RML_F16, 2}, {"BF16", RML_BF16, 2}, {"F64", RML_F64, 8},
        {"I8", RML_I8, 1},   {"I16", RML_I16, 2}, {"I32", RML_I32, 4},   {"I64", RML_I64, 8},
        {"U8", RML_I8, 1},   {"BOOL", RML_I8, 1},
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        char script[160];
        snprintf(script, sizeof script,
                 "j'{`t`:{`dtype`:`%s`,`shape`:[3],`data_offsets`:[0,%d]}}' z:%d", dtypes[i].name,
                 3 * dtypes[i].nbytes, 3 * dtypes[i].nbytes);
        struct rmli_safetensors *st = open_script(script);
        cr_expect_eq(rmli_safetensors_tensor(st, 0)->dtype, dtypes[i].dtype, "%s", dtypes[i].name);
        rmli_safetensors_close(st);
    }
}

Test(safetensors, nothing_inside)
{
    struct rmli_safetensors *st = open_script("j'{}'");
    cr_expect_eq(rmli_safetensors_n_tensors(st), 0u);
    rmli_safetensors_close(st);
    st = open_script("j'{`__metadata__`:{}}      '");
    cr_expect_eq(rmli_safetensors_n_tensors(st), 0u);
    rmli_safetensors_close(st);
    rmli_safetensors_close(NULL);
}

/* Names as JSON writes them and as they are. */
static const struct {
    const char *json, *name;
} names[] = {
    {"a.b", "a.b"},
    {"quote \\` backslash \\\\ slash \\/", "quote \" backslash \\ slash /"},
    {"\\u0061\\u00e9\\u20AC\\ud83d\\ude00", "a\303\251\342\202\254\360\237\230\200"},
    {"%c3%a9%e2%82%ac%f0%9f%98%80", "\303\251\342\202\254\360\237\230\200"},
    {"\\uFFFF\\uD7FF\\uE000", "\357\277\277\355\237\277\356\200\200"},
};

Test(safetensors, names_with_escapes)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "j'{`%s`:{`dtype`:`I8`,`shape`:[1],`data_offsets`:[0,1]}}' z:1", names[i].json);
        struct rmli_safetensors *st = open_script(script);
        cr_expect_str_eq(rmli_safetensors_tensor(st, 0)->name, names[i].name);
        rmli_safetensors_close(st);
    }
}

Test(safetensors, metadata_may_hold_anything_in_strings)
{
    struct rmli_safetensors *st =
        open_script("j'{`__metadata__`:{`a`:`\\u0000\\n\\b\\f\\r\\t{}[]`,``:``,`b`:`{`}}'");
    rmli_safetensors_close(st);
}

Test(safetensors, a_file_of_100_gb_opens_at_once)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, "j'{`t`:{`dtype`:`F32`,`shape`:[25600,1048576],"
                            "`data_offsets`:[0,107374182400]}}'");
    temp_write("a.safetensors", bytes.bytes, bytes.nbytes);
    if (truncate(temp_path("a.safetensors"), (off_t)bytes.nbytes + ((off_t)100 << 30)) != 0)
        cr_skip("the file system has no sparse files of 100 GB");
    int64_t begin_ns = rmli_clock_ns();
    struct rmli_safetensors *st = rmli_safetensors_open(temp_path("a.safetensors"), NULL);
    int64_t elapsed_ns = rmli_clock_ns() - begin_ns;
    cr_assert_not_null(st);
    cr_expect_lt(elapsed_ns, (int64_t)1000000000, "%lld ns", (long long)elapsed_ns);
    rmli_safetensors_close(st);
}
