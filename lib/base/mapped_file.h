/*
 * A whole file mapped read-only.
 *
 * Weights are views into such mappings (architecture.md, contract 2), so a
 * mapping lives as long as the checkpoint and model that use it. Nothing is
 * read until touched: opening a file of 100 GB is instant. A file that
 * another process truncates while it is mapped raises SIGBUS on access, as
 * with every mmap.
 */
#ifndef RML_BASE_MAPPED_FILE_H
#define RML_BASE_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rmli_mapped_file {
    const uint8_t *data; /* nbytes bytes, page aligned; NULL when nbytes is 0 */
    size_t nbytes;
    char *path; /* as given to open; owned */
    /* Which file it is, and in which state: a file that is written to or
     * replaced differs in one of these. */
    uint64_t device, inode;
    int64_t mtime_ns, ctime_ns; /* since 1970 */
};

/* Maps `path`, which must be a regular file. On failure *file is all zero and
 * *err names the path. Released by rmli_mapped_file_release. */
bool rmli_mapped_file_init(struct rmli_mapped_file *file, const char *path, struct rml_error *err);

/* Whether there is anything by that name, be it a link whose file is missing (half a download):
 * rmli_mapped_file_init then says so, where "no such file" would hide it. */
bool rmli_path_exists(const char *path);

/* Safe on an all-zero struct. */
void rmli_mapped_file_release(struct rmli_mapped_file *file);

#endif
