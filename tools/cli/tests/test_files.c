/* Output files appear whole or not at all; places of the user's files. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/output.h"
#include "tools/cli/paths.h"

static char folder[] = "/tmp/rml-files-XXXXXX";

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) && chdir(folder) == 0);
}

static void remove_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

static void expect_content(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *stream = fopen(path, "r");
    cr_assert_not_null(stream, "%s", path);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    text[n] = 0;
    fclose(stream);
    cr_expect_str_eq(text, expected);
}

static void put(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    fputs(text, stream);
    fclose(stream);
}

TestSuite(output, .init = make_folder, .fini = remove_folder);

Test(output, new_file_appears_on_commit)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    cr_assert(cli_output_open(&output, "new", &err), "%s", err.message);
    fputs("content", output.stream);
    cr_expect_neq(access("new", F_OK), 0);
    cr_assert(cli_output_commit(&output, &err), "%s", err.message);
    expect_content("new", "content");
    cr_expect_eq(system("test \"$(ls)\" = new"), 0); /* nothing else is left */
}

Test(output, abandoned_file_leaves_the_old_one)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    put("old", "before");
    cr_assert(cli_output_open(&output, "old", &err));
    fputs("half of", output.stream);
    cli_output_abandon(&output);
    expect_content("old", "before");
    cr_expect_eq(system("test \"$(ls)\" = old"), 0);
}

Test(output, mode_and_link_are_kept)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    struct stat st;
    put("target", "before");
    cr_assert_eq(chmod("target", 0640), 0);
    cr_assert_eq(symlink("target", "link"), 0);
    cr_assert(cli_output_open(&output, "link", &err));
    fputs("after", output.stream);
    cr_assert(cli_output_commit(&output, &err), "%s", err.message);
    expect_content("target", "after");
    cr_assert_eq(lstat("link", &st), 0);
    cr_expect(S_ISLNK(st.st_mode));
    cr_assert_eq(stat("target", &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0640);
}

Test(output, device_is_not_replaced)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    struct stat st;
    cr_assert(cli_output_open(&output, "/dev/null", &err));
    fputs("gone", output.stream);
    cr_expect(cli_output_commit(&output, &err), "%s", err.message);
    cr_assert_eq(stat("/dev/null", &st), 0);
    cr_expect(S_ISCHR(st.st_mode));

    cr_assert(cli_output_open(&output, "/dev/full", &err));
    fputs("too much", output.stream);
    cr_expect_not(cli_output_commit(&output, &err));
    cr_expect_eq(err.code, RML_IO);
    cr_expect_str_eq(err.file, "/dev/full");
    cr_expect_not_null(strstr(err.message, "No space left"), "%s", err.message);
}

/* Of any length: what is lost before the end is lost for the same reason. */
Test(output, reason_of_a_lost_write_is_kept)
{
    static const size_t sizes[] = {1, 4096, 65536, 65537, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        struct cli_output output;
        cr_assert(cli_output_open(&output, "/dev/full", &err));
        for (size_t k = 0; k < sizes[i]; k++)
            fputc('x', output.stream);
        cr_expect_not(cli_output_commit(&output, &err));
        cr_expect_not_null(strstr(err.message, "No space left"), "%zu: %s", sizes[i], err.message);
    }
}

Test(output, a_writer_that_gives_up_says_why)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    cr_assert(cli_output_open(&output, "/dev/full", &err));
    while (fputc('x', output.stream) != EOF)
        continue;
    cr_expect_not(cli_output_fail(&output, &err));
    cr_expect_eq(err.code, RML_IO);
    cr_expect_str_eq(err.message, "cannot write: No space left on device");
    cli_output_abandon(&output);
}

Test(output, target_of_a_link_is_made)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    struct stat st;
    cr_assert_eq(mkdir("sub", 0755), 0);
    cr_assert_eq(symlink("sub/second", "first"), 0);
    cr_assert_eq(symlink("../target", "sub/second"), 0);
    for (int i = 0; i < 2; i++) { /* not there yet, then there */
        const char *text = i == 0 ? "new" : "newer";
        cr_assert(cli_output_open(&output, "first", &err), "%s", err.message);
        fputs(text, output.stream);
        cr_assert(cli_output_commit(&output, &err), "%s", err.message);
        expect_content("target", text);
        cr_assert_eq(lstat("first", &st), 0);
        cr_expect(S_ISLNK(st.st_mode));
        cr_assert_eq(lstat("sub/second", &st), 0);
        cr_expect(S_ISLNK(st.st_mode));
    }
    cr_expect_eq(system("test \"$(ls -A . sub | grep -c tmp)\" = 0"), 0);
}

Test(output, stream_can_seek)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    cr_assert(cli_output_open(&output, "new", &err));
    fputs("abcdef", output.stream);
    cr_expect_eq(ftello(output.stream), 6);
    cr_expect_eq(fseeko(output.stream, 1, SEEK_SET), 0);
    fputs("X", output.stream);
    cr_assert(cli_output_commit(&output, &err), "%s", err.message);
    expect_content("new", "aXcdef");
}

Test(output, names_that_cannot_be)
{
    struct rml_error err = RML_ERROR_INIT;
    struct cli_output output;
    cr_expect_not(cli_output_open(&output, "missing/file", &err));
    cr_expect_not_null(strstr(err.message, "No such file"), "%s", err.message);
    rml_error_clear(&err);
    cr_expect_not(cli_output_open(&output, folder, &err));
    cr_expect_not_null(strstr(err.message, "Is a directory"), "%s", err.message);

    static const char *const links[][3] = {
        {"loop", "loop", "Too many levels"},
        {"nowhere", "missing/file", "No such file"},
        {"slash", "missing/", "No such file"},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        cr_assert_eq(symlink(links[i][1], links[i][0]), 0);
        rml_error_clear(&err);
        cr_expect_not(cli_output_open(&output, links[i][0], &err));
        cr_expect_str_eq(err.file, links[i][0]);
        cr_expect_not_null(strstr(err.message, links[i][2]), "%s", err.message);
    }
    rml_error_clear(&err);
    cr_expect_not(cli_output_open(&output, "", &err));
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    cr_expect_eq(system("test -z \"$(find . -type f)\""), 0);
}

TestSuite(paths, .init = make_folder, .fini = remove_folder);

static void expect_path(char *path, const char *expected)
{
    cr_assert_not_null(path);
    cr_expect_str_eq(path, expected);
    free(path);
}

Test(paths, base_directories)
{
    setenv("HOME", "/h", 1);
    setenv("XDG_CACHE_HOME", "/c", 1);
    setenv("XDG_DATA_HOME", "", 1);
    expect_path(cli_cache_path("x"), "/c/rml/x");
    expect_path(cli_data_path("x"), "/h/.local/share/rml/x");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_path(cli_cache_path("x"), "/h/.cache/rml/x");
    unsetenv("HOME");
    cr_expect_null(cli_cache_path("x"));
}

Test(paths, hash_cache_has_a_folder)
{
    char expected[128], below[64];
    snprintf(below, sizeof below, "%s/a/b", folder);
    snprintf(expected, sizeof expected, "%s/rml/content-hashes", below);
    setenv("XDG_CACHE_HOME", below, 1);
    expect_path(cli_content_hash_cache(), expected);
    cr_expect_eq(access("a/b/rml", W_OK), 0);
}

Test(paths, joined)
{
    expect_path(cli_path_join("a", "b"), "a/b");
    expect_path(cli_path_join("a/", "b"), "a/b");
    expect_path(cli_path_join("a", "/b"), "/b");
    expect_path(cli_path_join("/", "b"), "/b");
}
