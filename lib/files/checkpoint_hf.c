/*
 * Hugging Face folders: config.json, and model.safetensors or the shards that
 * model.safetensors.index.json names:
 *
 *     { "metadata": {...}, "weight_map": { "tensor": "shard.safetensors", ... } }
 *
 * The index and the shards must agree exactly: a tensor that only one of them
 * knows is a sign of mixed or damaged files.
 */
#include "files/checkpoint_private.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "files/json_cursor.h"
#include "files/json_file.h"

#define MAX_CONFIG_NBYTES ((size_t)64 << 20)
#define MAX_INDEX_NBYTES ((size_t)256 << 20)

enum { MAX_FILE_NAME_NBYTES = 255, SHOWN_NBYTES = 200 };

/* One line of the weight map. */
struct entry {
    const char *tensor, *file; /* in the reader's arena */
    size_t tensor_nbytes, file_nbytes;
    size_t offset; /* of the tensor's name in the index */
    size_t shard;
    bool found; /* in its shard */
};

struct index_reader {
    struct rml_checkpoint *cp;
    struct rmli_mapped_file file;
    struct rmli_json_cursor json;
    struct rmli_arena strings;
    struct entry *entries; /* [n] */
    size_t n, capacity;
    struct rmli_name_index by_tensor, by_file;
};

/* ---- The index ---------------------------------------------------------- */

static bool is_word(const struct rmli_json_string *s, const char *word)
{
    return s->nbytes == strlen(word) && memcmp(s->data, word, s->nbytes) == 0;
}

static int shown(size_t nbytes)
{
    return nbytes < SHOWN_NBYTES ? (int)nbytes : SHOWN_NBYTES;
}

/* A file beside the index, never one somewhere else. */
static bool check_file_name(struct index_reader *r, const struct rmli_json_string *file)
{
    bool ok = file->nbytes > 0 && file->nbytes <= MAX_FILE_NAME_NBYTES &&
              rmli_utf8_is_printable((const uint8_t *)file->data, file->nbytes) &&
              !memchr(file->data, '/', file->nbytes) && !memchr(file->data, '\\', file->nbytes) &&
              !memmem(file->data, file->nbytes, "..", 2) && !is_word(file, ".");
    if (ok)
        return true;
    return rmli_json_fail(&r->json, file->offset,
                          "the index names the file '%.*s', expected a plain name of a file in "
                          "the same folder",
                          shown(file->nbytes), file->data);
}

static bool read_weight_map(struct index_reader *r)
{
    struct rmli_json_string tensor, file;
    rmli_json_enter(&r->json, '{');
    while (rmli_json_next_key(&r->json, &tensor)) {
        if (!rmli_json_read_string(&r->json, &file) || !check_file_name(r, &file))
            return false;
        void *entries = r->entries;
        if (!rmli_reserve_one(&entries, r->n, &r->capacity, sizeof *r->entries, r->json.err))
            return false;
        r->entries = entries;
        r->entries[r->n++] = (struct entry){.tensor = tensor.data,
                                            .tensor_nbytes = tensor.nbytes,
                                            .file = file.data,
                                            .file_nbytes = file.nbytes,
                                            .offset = tensor.offset};
    }
    return !r->json.failed;
}

static bool read_index(struct index_reader *r)
{
    struct rmli_json_string key;
    bool has_map = false;
    rmli_json_enter(&r->json, '{');
    while (rmli_json_next_key(&r->json, &key)) {
        if (!is_word(&key, "weight_map")) {
            if (!rmli_json_skip(&r->json))
                return false;
            continue;
        }
        if (has_map)
            return rmli_json_fail(&r->json, key.offset, "'weight_map' stands twice");
        has_map = true;
        if (!read_weight_map(r))
            return false;
    }
    if (!rmli_json_end(&r->json))
        return false;
    if (r->n == 0)
        return rmli_json_fail(&r->json, 0,
                              has_map ? "'weight_map' is empty" : "the index has no 'weight_map'");
    return true;
}

/* Sorts the entries both ways and numbers the shards in order of their names. */
static bool sort_entries(struct index_reader *r, size_t *n_shards)
{
    if (!rmli_name_index_init(&r->by_tensor, r->n, r->json.err) ||
        !rmli_name_index_init(&r->by_file, r->n, r->json.err))
        return false;
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        r->by_tensor.entries[i] = (struct rmli_name){e->tensor, e->tensor_nbytes, i};
        r->by_file.entries[i] = (struct rmli_name){e->file, e->file_nbytes, i};
    }
    size_t first, second;
    if (!rmli_name_index_sort(&r->by_tensor, &first, &second))
        return rmli_json_fail(&r->json, r->entries[second].offset,
                              "tensor '%.*s' stands twice in the index, first at byte %zu",
                              shown(r->entries[first].tensor_nbytes), r->entries[first].tensor,
                              r->entries[first].offset);
    (void)rmli_name_index_sort(&r->by_file, &first, &second); /* files may repeat */
    *n_shards = 0;
    for (size_t k = 0; k < r->n; k++) {
        const struct rmli_name *name = &r->by_file.entries[k], *before = name - 1;
        if (k == 0 || name->nbytes != before->nbytes ||
            memcmp(name->data, before->data, name->nbytes) != 0)
            (*n_shards)++;
        r->entries[name->i].shard = *n_shards - 1;
    }
    return true;
}

/* ---- The shards --------------------------------------------------------- */

static bool match_shard(struct index_reader *r, size_t shard, struct rml_error *err)
{
    const struct rmli_safetensors *st = r->cp->shards[shard];
    for (size_t k = 0; k < rmli_safetensors_n_tensors(st); k++) {
        const struct rml_tensor_info *t = rmli_safetensors_tensor(st, k);
        size_t i;
        if (!rmli_name_index_find(&r->by_tensor, t->name, strlen(t->name), &i))
            return rmli_fail(err, RML_FORMAT, t->file, (int64_t)t->offset,
                             "tensor '%.*s' is in this file, but not in the index", SHOWN_NBYTES,
                             t->name);
        if (r->entries[i].shard != shard)
            return rmli_fail(err, RML_FORMAT, t->file, (int64_t)t->offset,
                             "tensor '%.*s' is in this file, but the index has it in '%.*s'",
                             SHOWN_NBYTES, t->name, (int)r->entries[i].file_nbytes,
                             r->entries[i].file);
        r->entries[i].found = true;
    }
    return true;
}

static bool open_shards(struct index_reader *r, size_t n_shards, struct rml_error *err)
{
    struct rml_checkpoint *cp = r->cp;
    cp->shards = calloc(n_shards, sizeof *cp->shards);
    if (!cp->shards)
        return rmli_fail(err, RML_NO_MEMORY, cp->path, -1, "no memory for %zu shards", n_shards);
    for (size_t k = 0; k < r->n; k++) {
        const struct entry *e = &r->entries[r->by_file.entries[k].i];
        if (e->shard < cp->n_files)
            continue;
        const char *name = rmli_arena_copy_string(&cp->strings, e->file, e->file_nbytes, err);
        const char *path = name ? rmli_checkpoint_join(cp, cp->path, name, err) : NULL;
        struct rmli_safetensors *st = path ? rmli_safetensors_open(path, err) : NULL;
        if (!st)
            return false;
        cp->shards[cp->n_files++] = st;
        if (!match_shard(r, e->shard, err))
            return false;
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        if (!e->found)
            return rmli_fail(err, RML_FORMAT, r->file.path, (int64_t)e->offset,
                             "tensor '%.*s' is not in '%.*s', where the index has it",
                             shown(e->tensor_nbytes), e->tensor, (int)e->file_nbytes, e->file);
    }
    return true;
}

static bool open_by_index(struct rml_checkpoint *cp, struct rml_error *err)
{
    struct index_reader r = {.cp = cp};
    bool ok = rmli_mapped_file_init(&r.file, cp->index_path, err);
    if (ok && r.file.nbytes > MAX_INDEX_NBYTES)
        ok = rmli_fail(err, RML_FORMAT, r.file.path, -1,
                       "the file has %zu bytes, expected at most %zu", r.file.nbytes,
                       MAX_INDEX_NBYTES);
    r.json = (struct rmli_json_cursor){.in = {.data = r.file.data, .nbytes = r.file.nbytes},
                                       .file = cp->index_path,
                                       .strings = &r.strings,
                                       .err = err};
    size_t n_shards = 0;
    ok = ok && read_index(&r) && sort_entries(&r, &n_shards) && open_shards(&r, n_shards, err);
    rmli_name_index_release(&r.by_tensor);
    rmli_name_index_release(&r.by_file);
    rmli_free(r.entries);
    rmli_arena_release(&r.strings);
    rmli_mapped_file_release(&r.file);
    return ok;
}

/* ---- The folder --------------------------------------------------------- */

static bool open_single(struct rml_checkpoint *cp, const char *path, struct rml_error *err)
{
    cp->shards = calloc(1, sizeof *cp->shards);
    if (!cp->shards)
        return rmli_fail(err, RML_NO_MEMORY, cp->path, -1, "no memory for a checkpoint");
    cp->shards[0] = rmli_safetensors_open(path, err);
    if (!cp->shards[0])
        return false;
    cp->n_files = 1;
    return true;
}

bool rmli_checkpoint_open_hf(struct rml_checkpoint *cp, struct rml_error *err)
{
    cp->config_path = rmli_checkpoint_join(cp, cp->path, "config.json", err);
    const char *single = rmli_checkpoint_join(cp, cp->path, "model.safetensors", err);
    const char *index = rmli_checkpoint_join(cp, cp->path, "model.safetensors.index.json", err);
    if (!cp->config_path || !single || !index)
        return false;
    char hint[256];
    if (!rmli_path_exists(cp->config_path) && rmli_checkpoint_hint(cp->path, hint, sizeof hint))
        return rmli_fail(err, RML_NOT_FOUND, cp->config_path, -1,
                         "no such file, and so no checkpoint; in its folder there is %s", hint);
    cp->config = rmli_json_load_file(cp->config_path, MAX_CONFIG_NBYTES, err);
    if (!cp->config)
        return false;
    if (!json_is_object(cp->config))
        return rmli_fail(err, RML_FORMAT, cp->config_path, 0, "does not hold a JSON object");
    /* As transformers does: a single file is preferred to an index. */
    if (rmli_path_exists(single))
        return open_single(cp, single, err);
    if (rmli_path_exists(index)) {
        cp->index_path = index;
        return open_by_index(cp, err);
    }
    return rmli_fail(err, RML_NOT_FOUND, cp->path, -1,
                     "the folder has neither model.safetensors nor model.safetensors.index.json");
}
