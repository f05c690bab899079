/*
 * SHA-256 of files, remembered between runs.
 *
 * Checkpoints are identified by content (architecture.md, contract 10), and
 * reading gigabytes at each start would cost more than the work that follows.
 * So a cache file keeps one line for each file hashed:
 *
 *     device inode nbytes mtime_ns ctime_ns sha256\n        (decimal; hex)
 *
 * Lines are appended whole, so several processes may share a cache. It is only
 * ever a shortcut: one that is damaged or cannot be read or written is ignored.
 */
#ifndef RML_FILES_CONTENT_HASH_H
#define RML_FILES_CONTENT_HASH_H

#include "base/mapped_file.h"

#define RMLI_SHA256_HEX_NBYTES 65 /* 64 lower-case digits and a NUL */

bool rmli_sha256_bytes(const void *data, size_t nbytes, char hex[RMLI_SHA256_HEX_NBYTES],
                       struct rml_error *err);

/* Of the file that was mapped; its path must still lead to the same file,
 * unchanged, else RML_IO. cache_file may be NULL. */
bool rmli_sha256_file(const struct rmli_mapped_file *file, const char *cache_file,
                      char hex[RMLI_SHA256_HEX_NBYTES], struct rml_error *err);

/* Only looks into the cache; false when the file is not in it. cache_file may be NULL. */
bool rmli_sha256_cached(const struct rmli_mapped_file *file, const char *cache_file,
                        char hex[RMLI_SHA256_HEX_NBYTES]);

#endif
