/*
 * The identity of a checkpoint by its content.
 */
#include "files/checkpoint_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "files/content_hash.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where hashes come from. */
struct source {
    const char *cache_file;
    bool cached_only; /* what is not in the cache is a failure that says nothing */
};

static bool hash_part(const struct rmli_mapped_file *file, const struct source *source,
                      char hex[RMLI_SHA256_HEX_NBYTES], struct rml_error *err)
{
    return source->cached_only ? rmli_sha256_cached(file, source->cache_file, hex)
                               : rmli_sha256_file(file, source->cache_file, hex, err);
}

/* "<sha256>  <name>\n", as sha256sum prints it; malloc. */
static char *part_line(const struct rmli_mapped_file *file, const struct source *source,
                       struct rml_error *err)
{
    char hex[RMLI_SHA256_HEX_NBYTES], *line;
    if (!hash_part(file, source, hex, err))
        return NULL;
    if (asprintf(&line, "%s  %s\n", hex, base_name(file->path)) < 0) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a line");
        return NULL;
    }
    return line;
}

/* The line of a file that is not mapped: config.json or the index. */
static char *other_line(const char *path, const struct source *source, struct rml_error *err)
{
    struct rmli_mapped_file file;
    if (!rmli_mapped_file_init(&file, path, err))
        return NULL;
    char *line = part_line(&file, source, err);
    rmli_mapped_file_release(&file);
    return line;
}

static const struct rmli_mapped_file *mapped_file(const struct rml_checkpoint *cp, size_t i)
{
    return cp->gguf_parts ? rmli_gguf_file(cp->gguf_parts[i])
                          : rmli_safetensors_file(cp->shards[i]);
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool hash_lines(char **lines, size_t n, char hex[65], struct rml_error *err)
{
    qsort(lines, n, sizeof *lines, compare_lines);
    char *text = NULL;
    size_t nbytes = 0;
    FILE *stream = open_memstream(&text, &nbytes);
    bool ok = stream != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = fputs(lines[i], stream) >= 0;
    if (stream && fclose(stream) != 0)
        ok = false;
    ok = ok ? rmli_sha256_bytes(text, nbytes, hex, err)
            : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu lines", n);
    free(text);
    return ok;
}

static bool hash_checkpoint(const struct rml_checkpoint *cp, const struct source *source,
                            char hex[65], struct rml_error *err)
{
    if (cp->kind == RML_CHECKPOINT_GGUF && cp->n_files == 1)
        return hash_part(mapped_file(cp, 0), source, hex, err);

    char **lines = calloc(cp->n_files + 2, sizeof *lines);
    if (!lines)
        return rmli_fail(err, RML_NO_MEMORY, cp->path, -1, "no memory for %zu files", cp->n_files);
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < cp->n_files; i++)
        ok = (lines[n++] = part_line(mapped_file(cp, i), source, err)) != NULL;
    if (ok && cp->config_path)
        ok = (lines[n++] = other_line(cp->config_path, source, err)) != NULL;
    if (ok && cp->index_path)
        ok = (lines[n++] = other_line(cp->index_path, source, err)) != NULL;
    ok = ok && hash_lines(lines, n, hex, err);
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
    return ok;
}

bool rml_checkpoint_content_sha256(const struct rml_checkpoint *cp, const char *cache_file,
                                   char hex[65], struct rml_error *err)
{
    const struct source source = {.cache_file = cache_file};
    return hash_checkpoint(cp, &source, hex, err);
}

bool rml_checkpoint_cached_sha256(const struct rml_checkpoint *cp, const char *cache_file,
                                  char hex[65])
{
    const struct source source = {.cache_file = cache_file, .cached_only = true};
    return hash_checkpoint(cp, &source, hex, NULL);
}
