/*
 * Checkpoints: what a name stands for, and one list of tensors over all files.
 */
#include "files/checkpoint_private.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

/* ---- Opening ------------------------------------------------------------ */

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), n_suffix = strlen(suffix);
    return n >= n_suffix && strcmp(s + n - n_suffix, suffix) == 0;
}

/* Finds what `name` names: the path of a file or folder, malloc. */
static char *resolve(const char *name, bool *is_folder, struct rml_error *err)
{
    struct stat status;
    if (*name == 0) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the checkpoint's name is empty");
        return NULL;
    }
    if (stat(name, &status) == 0) {
        *is_folder = S_ISDIR(status.st_mode);
        return rmli_strdup(name, err);
    }
    if (errno != ENOENT && errno != ENOTDIR) {
        rmli_fail(err, RML_IO, name, -1, "cannot examine the file: %s", strerror(errno));
        return NULL;
    }
    if (rmli_path_exists(name)) { /* a link that leads nowhere: opening it says so */
        *is_folder = false;
        return rmli_strdup(name, err);
    }
    if (!rmli_hf_is_repository(name)) {
        rmli_fail(err, RML_NOT_FOUND, name, -1,
                  "no such file or folder, and not of the form owner/name that the Hugging Face "
                  "cache is searched for");
        return NULL;
    }
    *is_folder = true;
    return rmli_hf_cache_find(name, err);
}

static bool open_path(struct rml_checkpoint *cp, bool is_folder, struct rml_error *err)
{
    if (is_folder) {
        cp->kind = RML_CHECKPOINT_HF;
        return rmli_checkpoint_open_hf(cp, err) && rmli_checkpoint_list_tensors(cp, err);
    }
    cp->kind = RML_CHECKPOINT_GGUF;
    if (ends_with(cp->path, ".safetensors"))
        return rmli_fail(err, RML_INVALID_ARGUMENT, cp->path, -1,
                         "a safetensors file alone is no checkpoint, expected its folder");
    return rmli_checkpoint_open_gguf(cp, err) && rmli_checkpoint_list_tensors(cp, err);
}

struct rml_checkpoint *rml_checkpoint_open(const char *name, struct rml_error *err)
{
    struct rml_checkpoint *cp = calloc(1, sizeof *cp);
    if (!cp) {
        rmli_fail(err, RML_NO_MEMORY, name, -1, "no memory to open the checkpoint");
        return NULL;
    }
    bool is_folder = false;
    cp->path = resolve(name, &is_folder, err);
    if (!cp->path || !open_path(cp, is_folder, err)) {
        rml_checkpoint_close(cp);
        return NULL;
    }
    return cp;
}

void rml_checkpoint_close(struct rml_checkpoint *cp)
{
    if (!cp)
        return;
    for (size_t i = 0; cp->gguf_parts && i < cp->n_files; i++)
        rmli_gguf_close(cp->gguf_parts[i]);
    for (size_t i = 0; cp->shards && i < cp->n_files; i++)
        rmli_safetensors_close(cp->shards[i]);
    free(cp->gguf_parts);
    free(cp->shards);
    json_decref(cp->config);
    rmli_free(cp->tensors);
    rmli_name_index_release(&cp->index);
    rmli_arena_release(&cp->strings);
    free(cp->path);
    free(cp);
}

char *rmli_checkpoint_join(struct rml_checkpoint *cp, const char *folder, const char *name,
                           struct rml_error *err)
{
    size_t n_folder = strlen(folder), n_name = strlen(name);
    char *path = rmli_arena_alloc(&cp->strings, n_folder + n_name + 2, err);
    if (path)
        snprintf(path, n_folder + n_name + 2, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/",
                 name);
    return path;
}

/* ---- Tensors ------------------------------------------------------------ */

static size_t file_n_tensors(const struct rml_checkpoint *cp, size_t i)
{
    return cp->gguf_parts ? rmli_gguf_n_tensors(cp->gguf_parts[i])
                          : rmli_safetensors_n_tensors(cp->shards[i]);
}

static const struct rml_tensor_info *file_tensor(const struct rml_checkpoint *cp, size_t i,
                                                 size_t k)
{
    return cp->gguf_parts ? rmli_gguf_tensor(cp->gguf_parts[i], k)
                          : rmli_safetensors_tensor(cp->shards[i], k);
}

bool rmli_checkpoint_list_tensors(struct rml_checkpoint *cp, struct rml_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < cp->n_files; i++)
        n += file_n_tensors(cp, i);
    cp->tensors = rmli_alloc(n, sizeof *cp->tensors, err);
    if (!cp->tensors || !rmli_name_index_init(&cp->index, n, err))
        return false;
    for (size_t i = 0; i < cp->n_files; i++) {
        for (size_t k = 0; k < file_n_tensors(cp, i); k++) {
            const struct rml_tensor_info *t = file_tensor(cp, i, k);
            cp->index.entries[cp->n_tensors] =
                (struct rmli_name){t->name, strlen(t->name), cp->n_tensors};
            cp->tensors[cp->n_tensors++] = t;
        }
    }
    size_t first, second;
    if (rmli_name_index_sort(&cp->index, &first, &second))
        return true;
    return rmli_fail(err, RML_FORMAT, cp->tensors[second]->file,
                     (int64_t)cp->tensors[second]->offset, "tensor '%.200s' is also in '%s'",
                     cp->tensors[second]->name, cp->tensors[first]->file);
}

/* ---- Accessors ---------------------------------------------------------- */

enum rml_checkpoint_kind rml_checkpoint_kind(const struct rml_checkpoint *cp)
{
    return cp->kind;
}

const char *rml_checkpoint_path(const struct rml_checkpoint *cp)
{
    return cp->path;
}

uint64_t rml_checkpoint_nbytes(const struct rml_checkpoint *cp)
{
    uint64_t nbytes = 0;
    for (size_t i = 0; i < cp->n_files; i++)
        nbytes += cp->gguf_parts ? rmli_gguf_file(cp->gguf_parts[i])->nbytes
                                 : rmli_safetensors_file(cp->shards[i])->nbytes;
    return nbytes;
}

size_t rml_checkpoint_n_tensors(const struct rml_checkpoint *cp)
{
    return cp->n_tensors;
}

const struct rml_tensor_info *rml_checkpoint_tensor(const struct rml_checkpoint *cp, size_t i)
{
    return cp->tensors[i];
}

const struct rml_tensor_info *rml_checkpoint_find_tensor(const struct rml_checkpoint *cp,
                                                         const char *name)
{
    size_t i;
    return rmli_name_index_find(&cp->index, name, strlen(name), &i) ? cp->tensors[i] : NULL;
}

const struct rmli_gguf *rmli_checkpoint_gguf(const struct rml_checkpoint *cp)
{
    return cp->gguf_parts ? cp->gguf_parts[0] : NULL;
}

const json_t *rmli_checkpoint_config(const struct rml_checkpoint *cp)
{
    return cp->config;
}
