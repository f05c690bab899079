/*
 * Hostile files in bulk: every truncation, random damage, and tables of a
 * million entries.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "byte_script.h"
#include "files/checkpoint.h"
#include "files/gguf.h"
#include "files/safetensors.h"
#include "malformed.h"
#include "temp_folder.h"

TestSuite(hostile, .init = temp_folder_make, .fini = temp_folder_remove, .timeout = 250);

static const char gguf_script[] =
    "'GGUF' 4:3 8:3 8:5 s'general.architecture' 4:8 s'llama' s'llama.block_count' 4:4 4:2 "
    "s'tokenizer.ggml.tokens' 4:9 4:8 8:3 s'a' s'' s'bc' s'flags' 4:9 4:7 8:2 1:0 1:1 "
    "s'general.alignment' 4:4 4:32 s'token_embd.weight' 4:2 8:4 8:3 4:0 8:0 "
    "s'blk.0.ffn_down.weight' 4:2 8:32 8:2 4:8 8:64 s'output_norm.weight' 4:1 8:4 4:0 8:160 "
    "a:32 f:1 z:44 z:16 z:68 z:28 f:2 z:12";

static const char safetensors_script[] =
    "j'{`__metadata__`:{`format`:`pt`},`model.norm.weight`:{`dtype`:`BF16`,`shape`:[4],"
    "`data_offsets`:[0,8]},`w\\u00e9`:{`dtype`:`F32`,`shape`:[2,3],`data_offsets`:[8,32]}}  ' "
    "z:8 f:1 z:20";

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A file in memory, as a path. */
static int memory_file;
static char memory_path[64];

static void open_memory_file(void)
{
    memory_file = memfd_create("hostile", MFD_CLOEXEC);
    cr_assert_geq(memory_file, 0);
    snprintf(memory_path, sizeof memory_path, "/proc/self/fd/%d", memory_file);
}

static void fill_memory_file(const uint8_t *bytes, size_t nbytes)
{
    cr_assert_eq(ftruncate(memory_file, 0), 0);
    cr_assert_eq(pwrite(memory_file, bytes, nbytes, 0), (ssize_t)nbytes);
}

static void expect_every_prefix_to_fail(const char *script, malformed_open_fn *open)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, script);
    open_memory_file();
    for (size_t nbytes = 0; nbytes < bytes.nbytes; nbytes++) {
        struct rml_error err = RML_ERROR_INIT;
        fill_memory_file(bytes.bytes, nbytes);
        cr_assert_not(open(memory_path, &err), "%zu bytes", nbytes);
        cr_assert_eq(err.code, RML_FORMAT, "%zu bytes: %s", nbytes, err.message);
        cr_assert(err.offset >= 0 && err.offset <= (int64_t)bytes.nbytes, "%zu bytes", nbytes);
        cr_assert_str_eq(err.file, memory_path);
    }
    struct rml_error err = RML_ERROR_INIT;
    fill_memory_file(bytes.bytes, bytes.nbytes);
    cr_assert(open(memory_path, &err), "the whole file: %s", err.message);
    close(memory_file);
}

Test(hostile, every_prefix_of_gguf)
{
    expect_every_prefix_to_fail(gguf_script, malformed_open_gguf);
}

Test(hostile, every_prefix_of_safetensors)
{
    expect_every_prefix_to_fail(safetensors_script, malformed_open_safetensors);
}

/* ---- Damage ------------------------------------------------------------- */

static volatile unsigned sink;

/* Touches all that a file that opened claims to have. */
static void use_tensor(const struct rml_tensor_info *t)
{
    unsigned sum = (unsigned)strlen(t->name);
    for (size_t i = 0; i < t->nbytes; i++)
        sum += t->data[i];
    sink = sum;
}

static void use_gguf(void)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf *g = rmli_gguf_open(memory_path, &err);
    cr_assert_eq(g == NULL, err.code != RML_OK && err.message[0]);
    for (size_t i = 0; g && i < rmli_gguf_n_tensors(g); i++)
        use_tensor(rmli_gguf_tensor(g, i));
    for (size_t i = 0; g && i < rmli_gguf_n_kv(g); i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_kv(g, i);
        const uint8_t *cursor = kv->data;
        for (uint64_t k = 0; k < kv->nelems; k++) {
            if (kv->elem_type != RMLI_GGUF_STRING) {
                sink = (unsigned)rmli_gguf_elem_i64(kv, k);
                continue;
            }
            struct rmli_gguf_string s = rmli_gguf_next_string(&cursor);
            for (size_t b = 0; b < s.nbytes; b++)
                sink = (unsigned)s.data[b];
        }
    }
    rmli_gguf_close(g);
}

static void use_safetensors(void)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_safetensors *st = rmli_safetensors_open(memory_path, &err);
    cr_assert_eq(st == NULL, err.code != RML_OK && err.message[0]);
    for (size_t i = 0; st && i < rmli_safetensors_n_tensors(st); i++)
        use_tensor(rmli_safetensors_tensor(st, i));
    rmli_safetensors_close(st);
}

/* RML_TEST_SEED repeats a run. */
static void damage_and_use(const char *script, void (*use)(void))
{
    static struct script_bytes good, bad;
    const char *given = getenv("RML_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)rmli_clock_ns();
    fprintf(stderr, "RML_TEST_SEED=%llu\n", (unsigned long long)seed);
    struct rmli_rng rng;
    rmli_rng_seed(&rng, seed);
    script_assemble(&good, script);
    open_memory_file();
    for (int round = 0; round < 20000; round++) {
        memcpy(bad.bytes, good.bytes, good.nbytes);
        bad.nbytes = good.nbytes;
        for (uint64_t n = 1 + rmli_rng_below(&rng, 4); n > 0; n--) {
            uint8_t *byte = &bad.bytes[rmli_rng_below(&rng, good.nbytes)];
            switch (rmli_rng_below(&rng, 4)) {
            case 0:
                *byte ^= (uint8_t)(1u << rmli_rng_below(&rng, 8));
                break;
            case 1:
                *byte = (uint8_t)rmli_rng_next(&rng);
                break;
            case 2:
                *byte = rmli_rng_below(&rng, 2) ? 0xff : 0x7f;
                break;
            default:
                *byte = good.bytes[rmli_rng_below(&rng, good.nbytes)];
            }
        }
        if (rmli_rng_below(&rng, 8) == 0)
            bad.nbytes = (size_t)rmli_rng_below(&rng, good.nbytes);
        fill_memory_file(bad.bytes, bad.nbytes);
        use();
    }
    close(memory_file);
}

Test(hostile, damaged_gguf)
{
    damage_and_use(gguf_script, use_gguf);
}

Test(hostile, damaged_safetensors)
{
    damage_and_use(safetensors_script, use_safetensors);
}

/* ---- Sizes without substance --------------------------------------------- */

/* A script, followed by zeros that take no room on the disk. */
static void write_sparse(const char *name, const char *script, off_t nbytes)
{
    static struct script_bytes bytes;
    script_assemble(&bytes, script);
    temp_write(name, bytes.bytes, bytes.nbytes);
    if (truncate(temp_path(name), nbytes) != 0)
        cr_skip("the file system has no sparse files of %lld bytes", (long long)nbytes);
}

/* All of what follows would be valid if it were read to its end. */
static const struct {
    const char *script, *message;
} endless[] = {
    {"'GGUF' 4:3 8:0 8:1 s'general.name' 4:9 4:8 8:10000000000",
     "10000000000 strings do not fit into the 1073741764 bytes left of the 1 GiB that metadata and "
     "tensor table may take"},
    {"'GGUF' 4:3 8:0 8:1 s'general.name' 4:9 4:7 8:90000000000",
     "90000000000 values of type bool do not fit into the 1073741764 bytes left of the 1 GiB"},
    {"'GGUF' 4:3 8:0 8:1 s'general.name' 4:8 8:90000000000",
     "a length of 90000000000 bytes, but only 1073741768 are left of the 1 GiB"},
    {"'GGUF' 4:3 8:1000000000 8:0", "1000000000 tensors do not fit into the 1073741800 bytes"},
};

Test(hostile, a_header_of_100_gb)
{
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        write_sparse("a.gguf", endless[i].script, (off_t)100 << 30);
        struct rml_error err = RML_ERROR_INIT;
        double begin_s = cpu_seconds();
        cr_expect_not(malformed_open_gguf(temp_path("a.gguf"), &err));
        cr_expect_lt(cpu_seconds() - begin_s, 1.0);
        cr_expect_not_null(strstr(err.message, endless[i].message), "%s", err.message);
    }
}

Test(hostile, json_files_beyond_their_limits)
{
    struct rml_error err = RML_ERROR_INIT;
    write_sparse("config.json", "'{}'", ((off_t)64 << 20) + 1);
    cr_expect_not(malformed_open_checkpoint(temp_path(""), &err));
    cr_expect_not_null(strstr(err.message, "67108865 bytes, expected at most 67108864"), "%s",
                       err.message);
    temp_write_text("config.json", "{}");
    write_sparse("model.safetensors.index.json", "'{}'", ((off_t)256 << 20) + 1);
    rml_error_clear(&err);
    cr_expect_not(malformed_open_checkpoint(temp_path(""), &err));
    cr_expect_not_null(strstr(err.message, "268435457 bytes, expected at most 268435456"), "%s",
                       err.message);
}

/* ---- A million entries -------------------------------------------------- */

enum { MANY = 1000000 };

/* Quadratic work over a million entries would take minutes. */
static const double time_limit_s = 20;

static void put_u32(FILE *file, uint32_t value)
{
    fwrite(&value, sizeof value, 1, file);
}

static void put_u64(FILE *file, uint64_t value)
{
    fwrite(&value, sizeof value, 1, file);
}

/* `n_keys` keys and `n_tensors` tensors of one f32, the last of which repeats
 * the name of the first when `twice`. Names share a long prefix, which is
 * the worst for sorting. */
static void write_many_gguf(uint64_t n_keys, uint64_t n_tensors, bool twice)
{
    FILE *file = fopen(temp_path("many.gguf"), "wb");
    cr_assert_not_null(file);
    char name[64];
    fwrite("GGUF", 4, 1, file);
    put_u32(file, 3);
    put_u64(file, n_tensors);
    put_u64(file, n_keys);
    for (uint64_t i = 0; i < n_keys; i++) {
        uint64_t number = twice && i == n_keys - 1 ? 0 : i * 7919 % n_keys;
        int nbytes = snprintf(name, sizeof name, "general.a.rather.long.prefix.%07d", (int)number);
        put_u64(file, (uint64_t)nbytes);
        fwrite(name, (size_t)nbytes, 1, file);
        put_u32(file, RMLI_GGUF_U8);
        fputc(1, file);
    }
    for (uint64_t i = 0; i < n_tensors; i++) {
        uint64_t number = twice && i == n_tensors - 1 ? 0 : i * 7919 % n_tensors;
        int nbytes = snprintf(name, sizeof name, "blk.a.rather.long.prefix.%07d", (int)number);
        put_u64(file, (uint64_t)nbytes);
        fwrite(name, (size_t)nbytes, 1, file);
        put_u32(file, 1);
        put_u64(file, 1);
        put_u32(file, 0);
        put_u64(file, number * 32);
    }
    while (ftell(file) % 32 != 0)
        fputc(0, file);
    cr_assert_eq(fflush(file), 0);
    cr_assert_eq(ftruncate(fileno(file), ftell(file) + 32 * (off_t)n_tensors), 0);
    fclose(file);
}

static void check_many_gguf(uint64_t n_keys, uint64_t n_tensors)
{
    for (int twice = 0; twice < 2; twice++) {
        write_many_gguf(n_keys, n_tensors, twice);
        struct rml_error err = RML_ERROR_INIT;
        double begin_s = cpu_seconds();
        struct rml_checkpoint *cp = rml_checkpoint_open(temp_path("many.gguf"), &err);
        double elapsed_s = cpu_seconds() - begin_s;
        fprintf(stderr, "%llu keys, %llu tensors: %.2f s\n", (unsigned long long)n_keys,
                (unsigned long long)n_tensors, elapsed_s);
        cr_expect_lt(elapsed_s, time_limit_s);
        cr_expect_eq(cp == NULL, twice, "%s", err.message);
        if (twice)
            cr_expect_not_null(strstr(err.message, "stands twice"), "%s", err.message);
        else if (n_tensors > 0)
            cr_expect_not_null(rml_checkpoint_find_tensor(cp, "blk.a.rather.long.prefix.0000004"));
        rml_checkpoint_close(cp);
    }
}

Test(hostile, a_million_keys)
{
    check_many_gguf(MANY, 0);
}

Test(hostile, a_million_tensors)
{
    check_many_gguf(0, MANY);
}

/* The header of a file of `n` tensors of one byte. */
static void write_many_safetensors(const char *name, int n)
{
    FILE *file = fopen(temp_path(name), "wb");
    cr_assert_not_null(file);
    put_u64(file, 0);
    for (int i = 0; i < n; i++)
        fprintf(file,
                "%c\"model.layers.%07d\":{\"dtype\":\"U8\",\"shape\":[1],"
                "\"data_offsets\":[%d,%d]}",
                i == 0 ? '{' : ',', i, i, i + 1);
    fputc('}', file);
    uint64_t header_nbytes = (uint64_t)ftell(file) - 8;
    cr_assert_eq(fflush(file), 0);
    cr_assert_eq(ftruncate(fileno(file), ftell(file) + n), 0);
    rewind(file);
    put_u64(file, header_nbytes);
    fclose(file);
}

Test(hostile, a_million_tensors_by_index)
{
    write_many_safetensors("one.safetensors", MANY);
    temp_write_text("config.json", "{}");
    FILE *file = fopen(temp_path("model.safetensors.index.json"), "wb");
    cr_assert_not_null(file);
    for (int64_t i = 0; i < MANY; i++)
        fprintf(file, "%s\"model.layers.%07d\":\"one.safetensors\"",
                i == 0 ? "{\"weight_map\":{" : ",", (int)(i * 7919 % MANY));
    fputs("}}", file);
    fclose(file);
    struct rml_error err = RML_ERROR_INIT;
    double begin_s = cpu_seconds();
    struct rml_checkpoint *cp = rml_checkpoint_open(temp_path(""), &err);
    double elapsed_s = cpu_seconds() - begin_s;
    fprintf(stderr, "%d tensors by index: %.2f s\n", MANY, elapsed_s);
    cr_assert_not_null(cp, "%s", err.message);
    cr_expect_lt(elapsed_s, time_limit_s);
    cr_expect_eq(rml_checkpoint_n_tensors(cp), (size_t)MANY);
    rml_checkpoint_close(cp);
}
