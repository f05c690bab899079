/* SHA-256 against published vectors, and the file that remembers it. */
#include "files/content_hash.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "temp_folder.h"

TestSuite(content_hash, .init = temp_folder_make, .fini = temp_folder_remove);

/* FIPS 180-4 examples, published by NIST. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
#define FALSE_HASH "0000000000000000000000000000000000000000000000000000000000000000"

Test(content_hash, bytes)
{
    char hex[RMLI_SHA256_HEX_NBYTES];
    cr_assert(rmli_sha256_bytes("abc", 3, hex, NULL));
    cr_expect_str_eq(hex, ABC);
    cr_assert(rmli_sha256_bytes("", 0, hex, NULL));
    cr_expect_str_eq(hex, EMPTY);
}

static void hash(const char *name, const char *cache, char hex[RMLI_SHA256_HEX_NBYTES])
{
    struct rmli_mapped_file file;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rmli_mapped_file_init(&file, temp_path(name), &err), "%s", err.message);
    cr_assert(rmli_sha256_file(&file, cache ? temp_path(cache) : NULL, hex, &err), "%s",
              err.message);
    rmli_mapped_file_release(&file);
}

Test(content_hash, files)
{
    char hex[RMLI_SHA256_HEX_NBYTES];
    temp_write_text("abc", "abc");
    hash("abc", NULL, hex);
    cr_expect_str_eq(hex, ABC);
    temp_write_text("empty", "");
    hash("empty", NULL, hex);
    cr_expect_str_eq(hex, EMPTY);
    static char many[1000000];
    memset(many, 'a', sizeof many);
    temp_write("million", many, sizeof many);
    hash("million", NULL, hex);
    cr_expect_str_eq(hex, MILLION_A);
}

static size_t read_all(const char *name, char *out, size_t nbytes)
{
    FILE *file = fopen(temp_path(name), "r");
    size_t n = file ? fread(out, 1, nbytes - 1, file) : 0;
    out[n] = 0;
    if (file)
        fclose(file);
    return n;
}

/* A line as an earlier run would have left it. */
static void remember_false_hash(const char *name, const char *cache)
{
    struct stat s;
    char line[256];
    cr_assert_eq(stat(temp_path(name), &s), 0);
    snprintf(line, sizeof line, "noise\n%llu %llu %lld %lld %lld %s\n\n1 2 3", //
             (unsigned long long)s.st_dev, (unsigned long long)s.st_ino, (long long)s.st_size,
             (long long)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
             (long long)s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec, FALSE_HASH);
    temp_write_text(cache, line);
}

Test(content_hash, a_remembered_hash_is_believed_until_the_file_changes)
{
    char hex[RMLI_SHA256_HEX_NBYTES];
    temp_write_text("abc", "abd");
    remember_false_hash("abc", "cache");
    hash("abc", "cache", hex);
    cr_expect_str_eq(hex, FALSE_HASH, "the file was not read");
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* time stamps are coarse */
    temp_write_text("abc", "abc");
    hash("abc", "cache", hex);
    cr_expect_str_eq(hex, ABC, "same size and inode, another time");
}

Test(content_hash, a_hash_is_remembered_when_the_file_has_settled)
{
    char hex[RMLI_SHA256_HEX_NBYTES], text[1024];
    temp_write_text("abc", "abc");
    hash("abc", "cache", hex);
    cr_expect_eq(read_all("cache", text, sizeof text), 0u, "it may still change unseen");
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    hash("abc", "cache", hex);
    cr_expect_gt(read_all("cache", text, sizeof text), 64u);
    cr_expect_not_null(strstr(text, ABC));
    hash("abc", "cache", hex);
    cr_expect_str_eq(hex, ABC);
    char again[1024];
    read_all("cache", again, sizeof again);
    cr_expect_str_eq(again, text, "a known hash is not written again");
}

Test(content_hash, looking_into_the_cache_reads_no_file)
{
    char hex[RMLI_SHA256_HEX_NBYTES] = "untouched";
    struct rmli_mapped_file file;
    temp_write_text("abc", "abc");
    cr_assert(rmli_mapped_file_init(&file, temp_path("abc"), NULL));
    cr_expect_not(rmli_sha256_cached(&file, NULL, hex));
    cr_expect_not(rmli_sha256_cached(&file, temp_path("cache"), hex));
    cr_expect_str_eq(hex, "untouched");
    remember_false_hash("abc", "cache");
    cr_expect(rmli_sha256_cached(&file, temp_path("cache"), hex));
    cr_expect_str_eq(hex, FALSE_HASH);
    rmli_mapped_file_release(&file);
}

Test(content_hash, a_cache_that_cannot_be_used_is_ignored)
{
    char hex[RMLI_SHA256_HEX_NBYTES];
    temp_write_text("abc", "abc");
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    hash("abc", "no/such/folder", hex);
    cr_expect_str_eq(hex, ABC);
    hash("abc", "", hex);
    cr_expect_str_eq(hex, ABC, "the cache is a folder");
    cr_assert_eq(mkfifo(temp_path("fifo"), 0600), 0);
    hash("abc", "fifo", hex);
    cr_expect_str_eq(hex, ABC);
}

Test(content_hash, a_cache_does_not_grow_for_ever)
{
    char hex[RMLI_SHA256_HEX_NBYTES];
    static char lines[(1 << 20) + 100];
    memset(lines, '\n', sizeof lines);
    temp_write("cache", lines, sizeof lines);
    temp_write_text("abc", "abc");
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    hash("abc", "cache", hex);
    struct stat s;
    cr_assert_eq(stat(temp_path("cache"), &s), 0);
    cr_expect_lt(s.st_size, 1024);
}

Test(content_hash, a_file_that_changed_since_it_was_opened)
{
    struct rmli_mapped_file file;
    char hex[RMLI_SHA256_HEX_NBYTES];
    temp_write_text("abc", "abc");
    cr_assert(rmli_mapped_file_init(&file, temp_path("abc"), NULL));
    temp_write_text("new", "abc");
    cr_assert_eq(rename(temp_path("new"), temp_path("abc")), 0);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_not(rmli_sha256_file(&file, NULL, hex, &err));
    cr_expect_eq(err.code, RML_IO);
    cr_expect_not_null(strstr(err.message, "has changed since it was opened"));
    cr_assert_eq(unlink(temp_path("abc")), 0);
    rml_error_clear(&err);
    cr_expect_not(rmli_sha256_file(&file, NULL, hex, &err));
    cr_expect_not_null(strstr(err.message, "cannot open the file again"));
    rmli_mapped_file_release(&file);
}
