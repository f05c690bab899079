/*
 * GGUF checkpoints, split files included.
 *
 * A split file is named PREFIX-00001-of-000NN.gguf, as llama.cpp's gguf-split
 * does. Every part is a GGUF file with its own tensors; the metadata of the
 * model is in the first, and each one says its place:
 *
 *     split.no  0 .. count - 1      split.count      split.tensors.count  of all parts
 */
#include "files/checkpoint_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "-00001-of-00003.gguf" */
enum { SUFFIX_NBYTES = 20 };

static bool parse_5_digits(const char *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 5; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *value = *value * 10 + (uint32_t)(s[i] - '0');
    }
    return true;
}

/* What a file's name says: part *part (from 1) of *count; false when nothing. */
static bool parse_part_name(const char *path, uint32_t *part, uint32_t *count)
{
    size_t n = strlen(path);
    if (n < SUFFIX_NBYTES)
        return false;
    const char *suffix = path + n - SUFFIX_NBYTES;
    return suffix[0] == '-' && parse_5_digits(suffix + 1, part) &&
           memcmp(suffix + 6, "-of-", 4) == 0 && parse_5_digits(suffix + 10, count) &&
           strcmp(suffix + 15, ".gguf") == 0;
}

/* The path of another part (from 1), in the checkpoint's arena. */
static char *part_path(struct rml_checkpoint *cp, uint32_t part, uint32_t count,
                       struct rml_error *err)
{
    size_t n = strlen(cp->path);
    char *path = rmli_arena_copy_string(&cp->strings, cp->path, n, err);
    if (path)
        snprintf(path + n - SUFFIX_NBYTES, SUFFIX_NBYTES + 1,
                 "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", part % 100000, count % 100000);
    return path;
}

static bool check_key(const struct rmli_gguf *gguf, const char *key, uint64_t expected,
                      struct rml_error *err)
{
    uint64_t value = 0;
    bool present;
    if (!rmli_gguf_get_u64(gguf, key, &value, &present, err))
        return false;
    const char *path = rmli_gguf_path(gguf);
    if (!present)
        return rmli_fail(err, RML_FORMAT, path, -1,
                         "metadata key '%s' is missing, expected in every part of a split file",
                         key);
    if (value != expected)
        return rmli_fail(err, RML_FORMAT, path, (int64_t)rmli_gguf_find(gguf, key)->offset,
                         "metadata key '%s' is %" PRIu64 ", expected %" PRIu64, key, value,
                         expected);
    return true;
}

/* What the first file opened says about splitting: *count is 1 for a file
 * that stands alone. */
static bool read_split(struct rml_checkpoint *cp, uint32_t *count, struct rml_error *err)
{
    const struct rmli_gguf *gguf = cp->gguf_parts[0];
    uint32_t part = 1, name_count = 1, no = 0;
    bool named = parse_part_name(cp->path, &part, &name_count) && name_count > 1;
    bool present;
    *count = 1;
    if (!rmli_gguf_get_u32(gguf, "split.count", count, &present, err) ||
        !rmli_gguf_get_u32(gguf, "split.no", &no, NULL, err))
        return false;
    if (*count <= 1 && !named) {
        *count = 1;
        return true;
    }
    int64_t offset = present ? (int64_t)rmli_gguf_find(gguf, "split.count")->offset : -1;
    if (!named)
        return rmli_fail(err, RML_FORMAT, cp->path, offset,
                         "the file is part %" PRIu32 " of %" PRIu32
                         " by its metadata, expected a name that ends in -%05" PRIu32
                         "-of-%05" PRIu32 ".gguf",
                         no + 1, *count, no + 1, *count);
    if (!present || *count != name_count)
        return rmli_fail(err, RML_FORMAT, cp->path, offset,
                         "the file is part %" PRIu32 " of %" PRIu32 " by its name, but of %" PRIu32
                         " by metadata key 'split.count'%s",
                         part, name_count, *count, present ? "" : ", which is missing");
    if (part != 1) {
        const char *first = part_path(cp, 1, name_count, err);
        return rmli_fail(err, RML_INVALID_ARGUMENT, cp->path, -1,
                         "part %" PRIu32 " of a split file, expected the first, '%s'", part,
                         first ? first : "");
    }
    return check_key(gguf, "split.no", 0, err);
}

bool rmli_checkpoint_open_gguf(struct rml_checkpoint *cp, struct rml_error *err)
{
    struct rmli_gguf *first = rmli_gguf_open(cp->path, err);
    if (!first)
        return false;
    cp->gguf_parts = calloc(1, sizeof *cp->gguf_parts);
    if (!cp->gguf_parts) {
        rmli_gguf_close(first);
        return rmli_fail(err, RML_NO_MEMORY, cp->path, -1, "no memory for a checkpoint");
    }
    cp->gguf_parts[0] = first;
    cp->n_files = 1;

    uint32_t count;
    if (!read_split(cp, &count, err))
        return false;
    if (count == 1)
        return true;
    struct rmli_gguf **parts = realloc(cp->gguf_parts, count * sizeof *parts);
    if (!parts)
        return rmli_fail(err, RML_NO_MEMORY, cp->path, -1, "no memory for %" PRIu32 " parts",
                         count);
    cp->gguf_parts = parts;
    uint64_t n_tensors = rmli_gguf_n_tensors(first);
    for (uint32_t i = 1; i < count; i++) {
        const char *path = part_path(cp, i + 1, count, err);
        struct rmli_gguf *part = path ? rmli_gguf_open(path, err) : NULL;
        if (!part)
            return false;
        parts[cp->n_files++] = part;
        if (!check_key(part, "split.no", i, err) || !check_key(part, "split.count", count, err))
            return false;
        n_tensors += rmli_gguf_n_tensors(part);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!check_key(parts[i], "split.tensors.count", n_tensors, err))
            return false;
    return true;
}
