/*
 * What a program knows about its own build.
 *
 * The values are written by the Makefile (ci/build-info) into a generated
 * source file of the build folder, which is linked into every program.
 */
#ifndef TOOLS_CLI_BUILD_INFO_H
#define TOOLS_CLI_BUILD_INFO_H

#include <stdint.h>

/* No member is NULL. Built outside a git work tree, the git members are "" and 0. */
struct build_info {
    const char *version;         /* "0.1.0" */
    const char *git_commit;      /* 40 hex digits */
    int git_dirty;               /* 1: a tracked file differs from git_commit */
    const char *git_diff_sha256; /* of the output of `git diff HEAD`; "" when not dirty */
    int64_t commit_unix_s;       /* committer date of git_commit, seconds since 1970 */
    const char *compiler;        /* first line of the compiler's --version */
    const char *cflags;          /* those of every file; a kernel's file adds its ISA flags */
    const char *ldflags;
    const char *source_dir; /* where it was built from: it may be gone by now */
};

extern const struct build_info build_info;

#endif
