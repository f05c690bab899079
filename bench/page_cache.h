/*
 * Whether the files of a checkpoint are in memory, and how to get them out of it.
 */
#ifndef BENCH_PAGE_CACHE_H
#define BENCH_PAGE_CACHE_H

#include "rml.h"

/* The weight files of a checkpoint, by the path that rml_checkpoint_path gives. */
struct bench_files {
    char **paths; /* [n], owned */
    size_t n;
};
bool bench_files_list(const char *checkpoint_path, struct bench_files *files,
                      struct rml_error *err);
void bench_files_release(struct bench_files *files); /* safe on an all-zero struct */

/* False, with the reason, for a file system that keeps its files in memory alone. */
bool bench_files_can_be_cold(const struct bench_files *files, struct rml_error *err);

/*
 * Drops the files from the page cache (posix_fadvise DONTNEED). RML_UNSUPPORTED when more than 1 % of
 * a file stays there all the same: another process has it mapped, say. Where the kernel does not
 * tell (mincore speaks only to who may write the file), it is believed to have worked. The disk, or
 * the host of a virtual machine, may have a cache of its own behind it.
 */
bool bench_files_make_cold(const struct bench_files *files, struct rml_error *err);

#endif
