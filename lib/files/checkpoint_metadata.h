/*
 * What a checkpoint says about itself, as a list for people: the key-value pairs
 * of a GGUF's first part, or the keys of a folder's config.json.
 */
#ifndef RML_FILES_CHECKPOINT_METADATA_H
#define RML_FILES_CHECKPOINT_METADATA_H

#include "files/checkpoint.h"

/*
 * A JSON array in the order of the file, a new reference:
 *
 *     {"key": "llama.rope.freq_base", "type": "f32", "length": null, "value": 10000.0}
 *     {"key": "tokenizer.ggml.tokens", "type": "array of string", "length": 49152, "value": [...]}
 *
 * "length" counts the elements of an array and the bytes of a string that is a value of its own;
 * values hold at most max_elems and max_nbytes of them. Text that is no UTF-8 has '?' for each
 * byte beyond ASCII, a real that JSON cannot write is null. The keys of config.json are the
 * top-level ones, the rest is inside their values. NULL with RML_NO_MEMORY.
 */
struct json_t *rml_checkpoint_metadata(const struct rml_checkpoint *cp, size_t max_elems,
                                       size_t max_nbytes, struct rml_error *err);

#endif
