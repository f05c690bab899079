/*
 * A checkpoint: one GGUF file, a split GGUF, or a Hugging Face folder, behind
 * one list of tensors.
 *
 * Opening reads headers only. The mappings live until the checkpoint is
 * closed, and every rml_tensor_info points into them, so a model keeps its
 * checkpoint open: rml_model_load takes it over.
 *
 * Thread rule: read-only after open; the content hash is safe to call from
 * one thread at a time.
 */
#ifndef RML_FILES_CHECKPOINT_H
#define RML_FILES_CHECKPOINT_H

#include "base/error.h"
#include "files/tensor_info.h"

enum rml_checkpoint_kind { RML_CHECKPOINT_GGUF, RML_CHECKPOINT_HF };

struct rml_checkpoint;

/*
 * `name` is, in this order:
 *   - a file: a GGUF (known by its first bytes, not by its name); a first part
 *     "...-00001-of-000NN.gguf" brings its other parts, any other part is an
 *     error that names the first;
 *   - a folder with config.json and model.safetensors, or
 *     model.safetensors.index.json and the files it names;
 *   - a repository id "owner/name" in the local Hugging Face cache:
 *     HF_HUB_CACHE, else $HF_HOME/hub, else ~/.cache/huggingface/hub, as
 *     models--owner--name/snapshots/<refs/main>.
 * A path that names nothing is RML_NOT_FOUND and says where it looked.
 */
struct rml_checkpoint *rml_checkpoint_open(const char *name, struct rml_error *err);
void rml_checkpoint_close(struct rml_checkpoint *cp); /* NULL is allowed */

enum rml_checkpoint_kind rml_checkpoint_kind(const struct rml_checkpoint *cp);
const char *rml_checkpoint_path(const struct rml_checkpoint *cp); /* file or folder */
uint64_t rml_checkpoint_nbytes(const struct rml_checkpoint *cp);  /* of all its weight files */

size_t rml_checkpoint_n_tensors(const struct rml_checkpoint *cp);
const struct rml_tensor_info *rml_checkpoint_tensor(const struct rml_checkpoint *cp, size_t i);
/* NULL when there is none of that name. */
const struct rml_tensor_info *rml_checkpoint_find_tensor(const struct rml_checkpoint *cp,
                                                         const char *name);

/*
 * Identity by content, 64 hex digits and a NUL: SHA-256 of a single GGUF file; for
 * a split file or a folder, of the sorted lines "<sha256>  <name>\n" over its parts
 * (config.json, the index, *.safetensors; names without folders). Reads every byte,
 * unless `cache_file` (NULL: none) holds the hash under the file's (device, inode,
 * size, mtime_ns, ctime_ns); what was computed is added to it, and a cache that
 * cannot be written or read is ignored.
 */
bool rml_checkpoint_content_sha256(const struct rml_checkpoint *cp, const char *cache_file,
                                   char hex[65], struct rml_error *err);

/* The same when it is known without reading the checkpoint: every part's hash is in `cache_file`.
 * Else false, and hex is untouched. */
bool rml_checkpoint_cached_sha256(const struct rml_checkpoint *cp, const char *cache_file,
                                  char hex[65]);

/* For the readers of model/: exactly one is non-NULL. Borrowed. */
struct rmli_gguf;
struct json_t;
const struct rmli_gguf *rmli_checkpoint_gguf(const struct rml_checkpoint *cp); /* first part */
const struct json_t *rmli_checkpoint_config(const struct rml_checkpoint *cp);  /* config.json */

#endif
