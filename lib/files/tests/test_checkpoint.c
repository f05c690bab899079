/*
 * Checkpoints: what a name stands for, split files, folders, the Hugging Face
 * cache, and the identity by content.
 */
#include "files/checkpoint.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byte_script.h"
#include "files/gguf.h"
#include "temp_folder.h"

static void make_folder(void)
{
    temp_folder_make();
    unsetenv("HF_HUB_CACHE");
    unsetenv("HF_HOME");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", temp_path("home"), 1);
}

TestSuite(checkpoint, .init = make_folder, .fini = temp_folder_remove);

static void write_script(const char *name, const char *script)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, script);
    temp_write(name, bytes.bytes, bytes.nbytes);
}

static struct rml_checkpoint *open_ok(const char *name)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(name, &err);
    cr_assert_not_null(cp, "%s: %s", err.file, err.message);
    return cp;
}

static struct rml_error open_error(const char *name)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rml_checkpoint_open(name, &err), "%s was opened", name);
    return err;
}

#define EXPECT_ERROR(err, expected_code, part)                                                     \
    do {                                                                                           \
        cr_expect_eq((err).code, expected_code, "%s: %s", rml_code_name((err).code),               \
                     (err).message);                                                               \
        cr_expect_not_null(strstr((err).message, part), "%s", (err).message);                      \
    } while (0)

/* ---- Names -------------------------------------------------------------- */

#define ONE_TENSOR "s't' 4:1 8:8 4:0 8:0 a:32 z:32"

Test(checkpoint, a_gguf_is_known_by_its_bytes)
{
    write_script("no-suffix", "'GGUF' 4:3 8:1 8:0 " ONE_TENSOR);
    struct rml_checkpoint *cp = open_ok(temp_path("no-suffix"));
    cr_expect_eq(rml_checkpoint_kind(cp), RML_CHECKPOINT_GGUF);
    cr_expect_str_eq(rml_checkpoint_path(cp), temp_path("no-suffix"));
    cr_expect_eq(rml_checkpoint_n_tensors(cp), 1u);
    cr_expect_eq(rml_checkpoint_nbytes(cp), 96u);
    cr_expect_str_eq(rml_checkpoint_tensor(cp, 0)->name, "t");
    cr_expect_eq(rml_checkpoint_find_tensor(cp, "t"), rml_checkpoint_tensor(cp, 0));
    cr_expect_null(rml_checkpoint_find_tensor(cp, "u"));
    cr_expect_null(rml_checkpoint_find_tensor(cp, ""));
    cr_expect_not_null(rmli_checkpoint_gguf(cp));
    cr_expect_null(rmli_checkpoint_config(cp));
    rml_checkpoint_close(cp);
    rml_checkpoint_close(NULL);
}

Test(checkpoint, names_of_nothing)
{
    struct rml_error err = open_error("");
    EXPECT_ERROR(err, RML_INVALID_ARGUMENT, "name is empty");
    err = open_error(temp_path("none"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "no such file or folder");
    cr_expect_str_eq(err.file, temp_path("none"));
    static const char *const odd[] = {"a/../b", "../x", "a/.b", "a/b/c", "a/", "/b", "a b/c"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        err = open_error(odd[i]);
        EXPECT_ERROR(err, RML_NOT_FOUND, "not of the form owner/name");
    }
    temp_write_text("x.safetensors", "");
    err = open_error(temp_path("x.safetensors"));
    EXPECT_ERROR(err, RML_INVALID_ARGUMENT, "expected its folder");
    temp_write_text("text", "hello");
    err = open_error(temp_path("text"));
    EXPECT_ERROR(err, RML_FORMAT, "expected \"GGUF\"");
}

/* ---- Split files -------------------------------------------------------- */

#define SPLIT(no, count, tensors)                                                                  \
    "s'split.no' 4:2 2:" #no " s'split.count' 4:2 2:" #count " s'split.tensors.count' 4:5 "        \
    "4:" #tensors " "
#define PART(n_tensors, n_kv) "'GGUF' 4:3 8:" #n_tensors " 8:" #n_kv " "
#define VALUES(x) "a:32 f:" #x " z:28"

static void write_parts(void)
{
    write_script("s-00001-of-00003.gguf",
                 PART(0, 4) "s'general.architecture' 4:8 s'llama' " SPLIT(0, 3, 3));
    write_script("s-00002-of-00003.gguf",
                 PART(2, 3) SPLIT(1, 3, 3) "s'b' 4:1 8:8 4:0 8:0 "
                                           "s'c' 4:1 8:8 4:0 8:32 " VALUES(2) " " VALUES(3));
    write_script("s-00003-of-00003.gguf",
                 PART(1, 3) SPLIT(2, 3, 3) "s'a' 4:1 8:8 4:0 8:0 " VALUES(1));
}

Test(checkpoint, split_files_are_joined)
{
    write_parts();
    struct rml_checkpoint *cp = open_ok(temp_path("s-00001-of-00003.gguf"));
    cr_expect_eq(rml_checkpoint_n_tensors(cp), 3u);
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        const struct rml_tensor_info *t = rml_checkpoint_find_tensor(cp, names[i]);
        cr_assert_not_null(t);
        float value;
        memcpy(&value, t->data, sizeof value);
        cr_expect_eq(value, (float)(i + 1));
        cr_expect_str_eq(t->file,
                         temp_path(i == 0 ? "s-00003-of-00003.gguf" : "s-00002-of-00003.gguf"));
    }
    cr_expect_not_null(rmli_gguf_find(rmli_checkpoint_gguf(cp), "general.architecture"));
    rml_checkpoint_close(cp);
}

Test(checkpoint, split_files_that_do_not_fit)
{
    write_parts();
    struct rml_error err = open_error(temp_path("s-00002-of-00003.gguf"));
    EXPECT_ERROR(err, RML_INVALID_ARGUMENT, "part 2 of a split file, expected the first, '");
    cr_expect_not_null(strstr(err.message, temp_path("s-00001-of-00003.gguf")));

    cr_assert_eq(rename(temp_path("s-00001-of-00003.gguf"), temp_path("first.gguf")), 0);
    err = open_error(temp_path("first.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "expected a name that ends in -00001-of-00003.gguf");
    cr_assert_eq(rename(temp_path("first.gguf"), temp_path("s-00001-of-00004.gguf")), 0);
    err = open_error(temp_path("s-00001-of-00004.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "part 1 of 4 by its name, but of 3 by metadata key");

    write_parts();
    write_script("s-00001-of-00003.gguf", PART(0, 0));
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "'split.count', which is missing");

    write_script("s-00001-of-00003.gguf", PART(0, 3) SPLIT(1, 3, 3));
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "'split.no' is 1, expected 0");

    write_script("s-00001-of-00003.gguf", PART(0, 3) SPLIT(0, 3, 4));
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "'split.tensors.count' is 4, expected 3");
    cr_expect_gt(err.offset, 24);

    write_parts();
    write_script("s-00003-of-00003.gguf", PART(1, 3) SPLIT(1, 3, 3) ONE_TENSOR);
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "'split.no' is 1, expected 2");
    cr_expect_str_eq(err.file, temp_path("s-00003-of-00003.gguf"));

    write_script("s-00003-of-00003.gguf", PART(1, 1) "s'general.name' 4:8 s'x' " ONE_TENSOR);
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "'split.no' is missing, expected in every part");

    write_script("s-00003-of-00003.gguf",
                 PART(1, 3) SPLIT(2, 3, 3) "s'b' 4:1 8:8 4:0 8:0 a:32 z:32");
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_FORMAT, "tensor 'b' is also in '");
    cr_expect_str_eq(err.file, temp_path("s-00003-of-00003.gguf"));

    cr_assert_eq(unlink(temp_path("s-00003-of-00003.gguf")), 0);
    err = open_error(temp_path("s-00001-of-00003.gguf"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "No such file");
    cr_expect_str_eq(err.file, temp_path("s-00003-of-00003.gguf"));
}

Test(checkpoint, a_file_that_was_never_split)
{
    write_script("m-00001-of-00001.gguf", PART(1, 3) SPLIT(0, 1, 1) ONE_TENSOR);
    rml_checkpoint_close(open_ok(temp_path("m-00001-of-00001.gguf")));
    write_script("plain.gguf", PART(1, 3) SPLIT(0, 1, 1) ONE_TENSOR);
    rml_checkpoint_close(open_ok(temp_path("plain.gguf")));
}

/* ---- Folders ------------------------------------------------------------ */

#define F32_TENSOR(name) "j'{`" name "`:{`dtype`:`F32`,`shape`:[1],`data_offsets`:[0,4]}}' "

static void write_folder(const char *folder)
{
    char name[512];
    snprintf(name, sizeof name, "%s/config.json", folder);
    temp_write_text(name, "{\"model_type\": \"llama\"}\n");
    snprintf(name, sizeof name, "%s/model.safetensors", folder);
    write_script(name, F32_TENSOR("x") "f:7");
}

static void write_sharded_folder(void)
{
    temp_write_text("sharded/config.json", "{}");
    write_script("sharded/p1.safetensors", F32_TENSOR("one") "f:1");
    write_script("sharded/p2.safetensors", F32_TENSOR("two") "f:2");
    temp_write_text("sharded/unrelated.safetensors", "never opened");
    temp_write_text("sharded/model.safetensors.index.json",
                    "{\"metadata\": {\"total_size\": 8.0e0, \"x\": [null, true, false, {}]},\n"
                    "\"weight_map\": {\"two\": \"p2.safetensors\", \"one\": \"p1.safetensors\"}}");
}

Test(checkpoint, a_folder_with_one_file)
{
    write_folder("m");
    char with_slash[600];
    snprintf(with_slash, sizeof with_slash, "%s/", temp_path("m"));
    const char *const names[] = {temp_path("m"), with_slash};
    for (int i = 0; i < 2; i++) {
        struct rml_checkpoint *cp = open_ok(names[i]);
        cr_expect_eq(rml_checkpoint_kind(cp), RML_CHECKPOINT_HF);
        cr_expect_str_eq(rml_checkpoint_path(cp), names[i]);
        cr_expect_null(rmli_checkpoint_gguf(cp));
        const char *type =
            json_string_value(json_object_get(rmli_checkpoint_config(cp), "model_type"));
        cr_expect_str_eq(type, "llama");
        const struct rml_tensor_info *t = rml_checkpoint_find_tensor(cp, "x");
        cr_assert_not_null(t);
        cr_expect_str_eq(t->file, temp_path("m/model.safetensors"));
        rml_checkpoint_close(cp);
    }
}

Test(checkpoint, a_folder_with_shards)
{
    write_sharded_folder();
    struct rml_checkpoint *cp = open_ok(temp_path("sharded"));
    cr_expect_eq(rml_checkpoint_n_tensors(cp), 2u);
    const struct rml_tensor_info *t = rml_checkpoint_find_tensor(cp, "two");
    cr_assert_not_null(t);
    cr_expect_str_eq(t->file, temp_path("sharded/p2.safetensors"));
    float value;
    memcpy(&value, t->data, sizeof value);
    cr_expect_eq(value, 2.0f);
    rml_checkpoint_close(cp);

    /* A single file beside an index is preferred, as transformers does. */
    write_script("sharded/model.safetensors", F32_TENSOR("whole") "f:3");
    cp = open_ok(temp_path("sharded"));
    cr_expect_not_null(rml_checkpoint_find_tensor(cp, "whole"));
    rml_checkpoint_close(cp);
}

Test(checkpoint, incomplete_folders)
{
    temp_write_text("m/other", "");
    struct rml_error err = open_error(temp_path("m"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "No such file");
    cr_expect_str_eq(err.file, temp_path("m/config.json"));
    temp_write_text("m/config.json", "{}");
    err = open_error(temp_path("m"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "neither model.safetensors nor model.safetensors.index.json");
    cr_expect_str_eq(err.file, temp_path("m"));
}

/* ---- Links whose file is missing ---------------------------------------- */

/* A file of a half-filled cache: the link is there, the blob is not. */
static void expect_missing_target(const char *link, const char *checkpoint)
{
    (void)unlink(temp_path(link));
    cr_assert_eq(symlink("../blobs/0123abcd", temp_path(link)), 0, "%s", link);
    struct rml_error err = open_error(temp_path(checkpoint));
    EXPECT_ERROR(err, RML_IO,
                 "is a link to '../blobs/0123abcd', and the file it leads to is missing");
    cr_expect_str_eq(err.file, temp_path(link));
}

Test(checkpoint, a_link_that_leads_nowhere_is_named)
{
    write_folder("m");
    expect_missing_target("m/config.json", "m");
    write_folder("single");
    expect_missing_target("single/model.safetensors", "single");
    write_sharded_folder();
    expect_missing_target("sharded/p2.safetensors", "sharded");
    expect_missing_target("sharded/model.safetensors.index.json", "sharded");
    temp_write_text("other", "");
    expect_missing_target("m.gguf", "m.gguf");
}

/* ---- The Hugging Face cache --------------------------------------------- */

static void write_cache(const char *hub)
{
    char name[256];
    snprintf(name, sizeof name, "%s/models--owner--my.model-1/refs/main", hub);
    temp_write_text(name, "0123abcd\n");
    snprintf(name, sizeof name, "%s/models--owner--my.model-1/snapshots/0123abcd", hub);
    write_folder(name);
}

Test(checkpoint, the_cache_is_found_by_each_variable)
{
    static const struct {
        const char *variable, *value, *hub;
    } places[] = {
        {"HOME", "h1", "h1/.cache/huggingface/hub"},
        {"XDG_CACHE_HOME", "h2", "h2/huggingface/hub"},
        {"HF_HOME", "h3", "h3/hub"},
        {"HF_HUB_CACHE", "h4", "h4"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        /* Each one set later comes before the ones set earlier. */
        setenv(places[i].variable, temp_path(places[i].value), 1);
        struct rml_error err = open_error("owner/my.model-1");
        EXPECT_ERROR(err, RML_NOT_FOUND, "neither a file nor in the Hugging Face cache");
        cr_expect_not_null(strstr(err.file, places[i].hub), "%s", err.file);
        write_cache(places[i].hub);
        struct rml_checkpoint *cp = open_ok("owner/my.model-1");
        char snapshot[512];
        snprintf(snapshot, sizeof snapshot, "%s/models--owner--my.model-1/snapshots/0123abcd",
                 temp_path(places[i].hub));
        cr_expect_str_eq(rml_checkpoint_path(cp), snapshot);
        rml_checkpoint_close(cp);
    }
}

Test(checkpoint, a_folder_of_checkpoints_is_none_but_names_them)
{
    temp_write_text("f/notes.txt", "");
    struct rml_error err = open_error(temp_path("f"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "cannot open the file: No such file");
    temp_write_text("f/hf/config.json", "{}");
    temp_write_text("f/.hidden/config.json", "{}");
    temp_write_text("f/m-00001-of-00002.gguf", "");
    temp_write_text("f/m-00002-of-00002.gguf", "");
    err = open_error(temp_path("f"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "in its folder there is 'hf', 'm-00001-of-00002.gguf'");
    cr_expect_str_eq(err.file, temp_path("f/config.json"));
    temp_write_text("f/a.gguf", "");
    temp_write_text("f/z.gguf", "");
    err = open_error(temp_path("f"));
    EXPECT_ERROR(err, RML_NOT_FOUND, "'a.gguf', 'hf', 'm-00001-of-00002.gguf' and 1 more");
}

Test(checkpoint, a_broken_cache)
{
    setenv("HF_HUB_CACHE", temp_path("hub"), 1);
    temp_write_text("hub/models--a--b/refs/main", "../../../etc\n");
    struct rml_error err = open_error("a/b");
    EXPECT_ERROR(err, RML_FORMAT, "does not hold the name of a commit");
    temp_write_text("hub/models--a--b/refs/main", "");
    err = open_error("a/b");
    EXPECT_ERROR(err, RML_FORMAT, "does not hold the name of a commit");
    temp_write_text("hub/models--a--b/refs/main", "beef");
    err = open_error("a/b");
    EXPECT_ERROR(err, RML_NOT_FOUND, "the snapshot of 'a/b' that refs/main names is not in");
    unsetenv("HF_HUB_CACHE");
    unsetenv("HOME");
    err = open_error("a/b");
    EXPECT_ERROR(err, RML_NOT_FOUND, "no Hugging Face cache");
}

/* ---- Identity ----------------------------------------------------------- */

/* What a shell command of coreutils prints, without the line end. */
static void shell(const char *command, char *out, size_t nbytes)
{
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    cr_assert_not_null(fgets(out, (int)nbytes, pipe));
    out[strcspn(out, " \n")] = 0;
    pclose(pipe);
}

static void expect_hash(const char *name, const char *shell_format)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = open_ok(temp_path(name));
    char hex[65] = "", command[1024], expected[128];
    cr_expect(rml_checkpoint_content_sha256(cp, NULL, hex, &err), "%s", err.message);
    snprintf(command, sizeof command, shell_format, temp_path(""));
    shell(command, expected, sizeof expected);
    cr_expect_str_eq(hex, expected, "%s", name);
    rml_checkpoint_close(cp);
}

Test(checkpoint, hashes_are_those_of_coreutils)
{
    write_script("a.gguf", "'GGUF' 4:3 8:1 8:0 " ONE_TENSOR);
    expect_hash("a.gguf", "sha256sum %s/a.gguf");
    write_parts();
    expect_hash("s-00001-of-00003.gguf", "cd %s && sha256sum s-*.gguf | LC_ALL=C sort | sha256sum");
    write_folder("m");
    expect_hash("m", "cd %s/m && sha256sum config.json model.safetensors | LC_ALL=C sort | "
                     "sha256sum");
    write_sharded_folder();
    expect_hash("sharded", "cd %s/sharded && sha256sum config.json p?.safetensors "
                           "model.safetensors.index.json | LC_ALL=C sort | sha256sum");
}

/* ---- Files of another writer -------------------------------------------- */

static const char *fixture(const char *name)
{
    static char path[1024];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", root ? root : ".", name);
    return path;
}

static void expect_same_tensors(const char *name, const char *other)
{
    struct rml_checkpoint *a = open_ok(fixture(name)), *b = open_ok(fixture(other));
    cr_expect_gt(rml_checkpoint_n_tensors(a), 0u);
    cr_expect_eq(rml_checkpoint_n_tensors(a), rml_checkpoint_n_tensors(b));
    for (size_t i = 0; i < rml_checkpoint_n_tensors(a); i++) {
        const struct rml_tensor_info *s = rml_checkpoint_tensor(a, i);
        const struct rml_tensor_info *t = rml_checkpoint_find_tensor(b, s->name);
        cr_assert_not_null(t, "%s has no %s", other, s->name);
        cr_expect(s->dtype == t->dtype && s->n_dims == t->n_dims && s->nbytes == t->nbytes &&
                      memcmp(s->dims, t->dims, sizeof s->dims) == 0,
                  "%s", s->name);
        cr_expect_eq(memcmp(s->data, t->data, s->nbytes), 0, "%s", s->name);
    }
    rml_checkpoint_close(a);
    rml_checkpoint_close(b);
}

Test(checkpoint, the_toys_hold_the_same_in_every_form)
{
    if (access(fixture("llama/model.gguf"), R_OK) != 0)
        cr_skip("goldens/fixtures is not here");
    expect_same_tensors("llama/model.gguf", "llama/model-v2.gguf");
    expect_same_tensors("llama/model.gguf", "llama/split-00001-of-00003.gguf");
    expect_same_tensors("llama/hf", "llama/hf-sharded");
    expect_same_tensors("llama/hf", "llama/hf-unaligned");
}
