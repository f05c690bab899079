/* What the parts of the checkpoint reader share; nothing else includes it. */
#ifndef RML_FILES_CHECKPOINT_PRIVATE_H
#define RML_FILES_CHECKPOINT_PRIVATE_H

#include "base/arena.h"
#include "files/checkpoint.h"
#include "files/gguf.h"
#include "files/name_index.h"
#include "files/safetensors.h"

struct rml_checkpoint {
    enum rml_checkpoint_kind kind;
    char *path; /* the first file, or the folder */
    struct rmli_arena strings;

    struct rmli_gguf **gguf_parts; /* [n_files] of a GGUF checkpoint, else NULL */

    struct json_t *config; /* of a folder, else NULL; with its path */
    const char *config_path;
    const char *index_path;           /* NULL for a single model.safetensors */
    struct rmli_safetensors **shards; /* [n_files] of a folder, else NULL */

    size_t n_files;

    const struct rml_tensor_info **tensors; /* [n_tensors], of all files */
    size_t n_tensors;
    struct rmli_name_index index;
};

/* Each fills a checkpoint that holds only its path; what they leave behind on
 * failure is released by rml_checkpoint_close. */
bool rmli_checkpoint_open_gguf(struct rml_checkpoint *cp, struct rml_error *err);
bool rmli_checkpoint_open_hf(struct rml_checkpoint *cp, struct rml_error *err);

/* The snapshot folder of a repository "owner/name" in the local Hugging Face
 * cache: malloc, freed by free. NULL with RML_NOT_FOUND, saying where it looked. */
char *rmli_hf_cache_find(const char *repository, struct rml_error *err);

/* True when `name` could be a repository id. */
bool rmli_hf_is_repository(const char *name);

/* "folder/name" in the checkpoint's arena; NULL with RML_NO_MEMORY. */
char *rmli_checkpoint_join(struct rml_checkpoint *cp, const char *folder, const char *name,
                           struct rml_error *err);

/* The names of checkpoints that are in a folder, for a message; false when there are none. */
bool rmli_checkpoint_hint(const char *path, char *out, size_t out_nbytes);

/* Makes the list and the index of all tensors once the files are open. */
bool rmli_checkpoint_list_tensors(struct rml_checkpoint *cp, struct rml_error *err);

#endif
