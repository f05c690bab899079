/* Metadata as a list: every type, limits, text of any bytes. */
#include "files/checkpoint_metadata.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "byte_script.h"
#include "temp_folder.h"

TestSuite(checkpoint_metadata, .init = temp_folder_make, .fini = temp_folder_remove);

/* The list of a GGUF with these n_kv key-value pairs and one tensor, as compact JSON. */
static char *list_of(const char *n_kv, const char *pairs, size_t max_elems, size_t max_nbytes)
{
    static struct script_bytes bytes;
    char script[2048];
    snprintf(script, sizeof script, "'GGUF' 4:3 8:1 8:%s %s s't' 4:1 8:8 4:0 8:0 a:32 z:32", n_kv,
             pairs);
    script_assemble(&bytes, script);
    temp_write("m.gguf", bytes.bytes, bytes.nbytes);
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(temp_path("m.gguf"), &err);
    cr_assert(cp, "%s", err.message);
    json_t *list = rml_checkpoint_metadata(cp, max_elems, max_nbytes, &err);
    cr_assert(list, "%s", err.message);
    rml_checkpoint_close(cp);
    char *text = json_dumps(list, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(list);
    return text;
}

#define EXPECT_LIST(expected, ...)                                                                 \
    do {                                                                                           \
        char *text = list_of(__VA_ARGS__);                                                         \
        cr_expect_str_eq(text, expected);                                                          \
        free(text);                                                                                \
    } while (0)

Test(checkpoint_metadata, numbers)
{
    EXPECT_LIST("[{\"key\":\"a\",\"type\":\"u8\",\"length\":null,\"value\":255},"
                "{\"key\":\"b\",\"type\":\"i32\",\"length\":null,\"value\":-2},"
                "{\"key\":\"c\",\"type\":\"f32\",\"length\":null,\"value\":0.5},"
                "{\"key\":\"d\",\"type\":\"bool\",\"length\":null,\"value\":true},"
                "{\"key\":\"e\",\"type\":\"f32\",\"length\":null,\"value\":null}]",
                "5",
                "s'a' 4:0 1:255 s'b' 4:5 4:-2 s'c' 4:6 f:0.5 s'd' 4:7 1:1 s'e' 4:6 4:0x7fc00000", 0,
                0);
}

Test(checkpoint_metadata, arrays_are_cut)
{
    const char *pairs = "s'n' 4:9 4:4 8:3 4:10 4:11 4:12 s's' 4:9 4:8 8:2 s'one' s'three' "
                        "s'z' 4:9 4:4 8:0";
    EXPECT_LIST("[{\"key\":\"n\",\"type\":\"array of u32\",\"length\":3,\"value\":[10,11]},"
                "{\"key\":\"s\",\"type\":\"array of string\",\"length\":2,"
                "\"value\":[\"one\",\"thre\"]},"
                "{\"key\":\"z\",\"type\":\"array of u32\",\"length\":0,\"value\":[]}]",
                "3", pairs, 2, 4);
    EXPECT_LIST("[{\"key\":\"n\",\"type\":\"array of u32\",\"length\":3,\"value\":[]},"
                "{\"key\":\"s\",\"type\":\"array of string\",\"length\":2,\"value\":[]},"
                "{\"key\":\"z\",\"type\":\"array of u32\",\"length\":0,\"value\":[]}]",
                "3", pairs, 0, 4);
}

Test(checkpoint_metadata, arrays_of_arrays)
{
    EXPECT_LIST("[{\"key\":\"n\",\"type\":\"array of array\",\"length\":3,"
                "\"value\":[[1,2],[\"a\",\"bc\"],[[true],[]]]},"
                "{\"key\":\"z\",\"type\":\"u8\",\"length\":null,\"value\":7}]",
                "2",
                "s'n' 4:9 4:9 8:3 4:4 8:2 4:1 4:2 4:8 8:2 s'a' s'bc' "
                "4:9 8:2 4:7 8:1 1:1 4:4 8:0 s'z' 4:0 1:7",
                8, 4);
}

Test(checkpoint_metadata, text_is_cut_between_characters)
{
    /* U+00E9 is two bytes, of which the first would be the fourth. */
    EXPECT_LIST("[{\"key\":\"s\",\"type\":\"string\",\"length\":5,\"value\":\"abc\"}]", "1",
                "s's' 4:8 s'abc%c3%a9'", 8, 4);
    EXPECT_LIST("[{\"key\":\"s\",\"type\":\"string\",\"length\":4,\"value\":\"a?b\\u0000\"}]", "1",
                "s's' 4:8 s'a%ffb%00'", 8, 100);
    EXPECT_LIST("[{\"key\":\"s\",\"type\":\"string\",\"length\":0,\"value\":\"\"}]", "1",
                "s's' 4:8 s''", 8, 0);
}

Test(checkpoint_metadata, config_json)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, "j'{`t`: {`dtype`: `F32`, `shape`: [2], `data_offsets`: [0, 8]}}' z:8");
    temp_write("hf/model.safetensors", bytes.bytes, bytes.nbytes);
    temp_write_text("hf/config.json", "{\"b\": [1, [2], 3], \"a\": \"text\", \"o\": {\"x\": null}, "
                                      "\"r\": 0.5, \"t\": true}");
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(temp_path("hf"), &err);
    cr_assert(cp, "%s", err.message);
    json_t *list = rml_checkpoint_metadata(cp, 2, 3, &err);
    char *text = json_dumps(list, JSON_COMPACT | JSON_PRESERVE_ORDER);
    cr_expect_str_eq(text,
                     "[{\"key\":\"b\",\"type\":\"array\",\"length\":3,\"value\":[1,[2]]},"
                     "{\"key\":\"a\",\"type\":\"string\",\"length\":4,\"value\":\"tex\"},"
                     "{\"key\":\"o\",\"type\":\"object\",\"length\":null,\"value\":{\"x\":null}},"
                     "{\"key\":\"r\",\"type\":\"real\",\"length\":null,\"value\":0.5},"
                     "{\"key\":\"t\",\"type\":\"bool\",\"length\":null,\"value\":true}]");
    free(text);
    json_decref(list);
    rml_checkpoint_close(cp);
}
