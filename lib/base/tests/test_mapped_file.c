/* Mapping files: what is refused, and that opening reads nothing. */
#include "base/mapped_file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/rml-mapped-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

TestSuite(mapped_file, .init = make_folder, .fini = remove_folder);

Test(mapped_file, holds_the_bytes)
{
    put("a", "hello");
    struct rmli_mapped_file file;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rmli_mapped_file_init(&file, path_of("a"), &err));
    cr_expect_eq(file.nbytes, 5u);
    cr_expect_eq(memcmp(file.data, "hello", 5), 0);
    cr_expect_str_eq(file.path, path_of("a"));
    struct stat s;
    cr_assert_eq(stat(path_of("a"), &s), 0);
    cr_expect_eq(file.inode, (uint64_t)s.st_ino);
    cr_expect_eq(file.mtime_ns, (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec);
    rmli_mapped_file_release(&file);
    cr_expect_null(file.data);
    rmli_mapped_file_release(&file);
}

Test(mapped_file, an_empty_file_has_no_data)
{
    put("empty", "");
    struct rmli_mapped_file file;
    cr_assert(rmli_mapped_file_init(&file, path_of("empty"), NULL));
    cr_expect_null(file.data);
    cr_expect_eq(file.nbytes, 0u);
    rmli_mapped_file_release(&file);
}

static void expect_refused(const char *name, enum rml_code code, const char *message)
{
    struct rmli_mapped_file file;
    struct rml_error err = RML_ERROR_INIT;
    memset(&file, 0xff, sizeof file);
    cr_expect_not(rmli_mapped_file_init(&file, path_of(name), &err), "%s", name);
    cr_expect_eq(err.code, code, "%s: %s", name, rml_code_name(err.code));
    cr_expect_not_null(strstr(err.message, message), "%s: %s", name, err.message);
    cr_expect_str_eq(err.file, path_of(name));
    cr_expect_null(file.data);
    cr_expect_null(file.path);
    cr_expect_eq(file.nbytes, 0u);
}

Test(mapped_file, refuses_what_is_no_file, .timeout = 5)
{
    put("file", "x");
    cr_assert_eq(mkfifo(path_of("fifo"), 0600), 0);
    cr_assert_eq(symlink("nowhere", path_of("dangling")), 0);
    expect_refused("missing", RML_NOT_FOUND, "No such file");
    expect_refused("file/below", RML_NOT_FOUND, "Not a directory");
    expect_refused("dangling", RML_IO,
                   "is a link to 'nowhere', and the file it leads to is missing");
    expect_refused(".", RML_IO, "is a folder");
    expect_refused("fifo", RML_IO, "not a regular file");
}

Test(mapped_file, a_file_of_100_gb_opens_at_once)
{
    int fd = open(path_of("sparse"), O_RDWR | O_CREAT, 0600);
    cr_assert_geq(fd, 0);
    const off_t nbytes = (off_t)100 << 30;
    if (ftruncate(fd, nbytes) != 0)
        cr_skip("the file system has no sparse files of 100 GB");
    close(fd);
    struct rmli_mapped_file file;
    struct rml_error err = RML_ERROR_INIT;
    int64_t begin_ns = rmli_clock_ns();
    cr_assert(rmli_mapped_file_init(&file, path_of("sparse"), &err), "%s", err.message);
    int64_t elapsed_ns = rmli_clock_ns() - begin_ns;
    cr_expect_lt(elapsed_ns, (int64_t)1000000000, "%lld ns", (long long)elapsed_ns);
    cr_expect_eq(file.nbytes, (size_t)nbytes);
    cr_expect_eq(file.data[nbytes - 1], 0);
    rmli_mapped_file_release(&file);
}
