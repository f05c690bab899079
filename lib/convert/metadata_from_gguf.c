/*
 * Metadata of a GGUF, carried over to another with different types.
 */
#include <string.h>

#include "convert/conversion_private.h"

static bool is_key(const struct rmli_gguf_kv *kv, const char *key)
{
    return kv->key.nbytes == strlen(key) && memcmp(kv->key.data, key, kv->key.nbytes) == 0;
}

bool rmli_conversion_gguf_metadata(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                   struct rml_error *err)
{
    static const char file_type[] = "general.file_type", version[] = "general.quantization_version",
                      pre[] = "tokenizer.ggml.pre", split[] = "split.";
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(c->cp);
    bool has_file_type = false, has_version = false, ok = true;
    for (size_t i = 0; ok && i < rmli_gguf_n_kv(gguf); i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_kv(gguf, i);
        if (is_key(kv, file_type)) {
            has_file_type = true;
            ok = rmli_gguf_writer_add_u32(w, file_type, rmli_file_type(c->options.dtype), err);
        } else if (is_key(kv, version)) {
            has_version = true;
            ok = rmli_gguf_writer_add_u32(w, version, RMLI_QUANTIZATION_VERSION, err);
        } else if (kv->key.nbytes >= strlen(split) &&
                   memcmp(kv->key.data, split, strlen(split)) == 0) {
            continue; /* the output is one file */
        } else if (!c->options.pre || !is_key(kv, pre)) {
            ok = rmli_gguf_writer_copy(w, kv, err);
        }
    }
    if (c->options.pre)
        ok = ok && rmli_gguf_writer_add_string(w, pre, c->options.pre, err);
    if (!has_file_type)
        ok = ok && rmli_gguf_writer_add_u32(w, file_type, rmli_file_type(c->options.dtype), err);
    if (!has_version)
        ok = ok && rmli_gguf_writer_add_u32(w, version, RMLI_QUANTIZATION_VERSION, err);
    return ok;
}
