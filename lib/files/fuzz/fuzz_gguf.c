/*
 * Any bytes as a GGUF file: it opens or gives an error; what opens can be read
 * to its last byte.
 */
#include <stdlib.h>
#include <string.h>

#include "files/gguf.h"
#include "input_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void use_kv(const struct rmli_gguf *g, const struct rmli_gguf_kv *kv)
{
    unsigned sum = 0;
    const uint8_t *cursor = kv->data;
    for (uint64_t k = 0; k < kv->nelems; k++) {
        if (kv->elem_type == RMLI_GGUF_STRING) {
            struct rmli_gguf_string s = rmli_gguf_next_string(&cursor);
            for (size_t i = 0; i < s.nbytes; i++)
                sum += (unsigned char)s.data[i];
        } else if (kv->elem_type == RMLI_GGUF_ARRAY) {
            struct rmli_gguf_kv inner;
            rmli_gguf_next_array(&cursor, &inner);
            sum += (unsigned)inner.nelems;
        } else {
            sum += (unsigned)rmli_gguf_elem_i64(kv, k);
            sum += rmli_gguf_elem_f64(kv, k) > 0;
        }
    }
    input_sink = sum;

    char *key = strndup(kv->key.data, kv->key.nbytes);
    require(key && rmli_gguf_find(g, key) == kv);
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    double f64 = 0;
    bool boolean = false, present = false;
    struct rmli_gguf_string string;
    struct rml_error err = RML_ERROR_INIT;
    require(rmli_gguf_get_u32(g, key, &u32, &present, &err) == (err.code == RML_OK) && present);
    rml_error_clear(&err);
    require(rmli_gguf_get_u64(g, key, &u64, NULL, &err) == (err.code == RML_OK));
    rml_error_clear(&err);
    require(rmli_gguf_get_f64(g, key, &f64, NULL, &err) == (err.code == RML_OK));
    rml_error_clear(&err);
    require(rmli_gguf_get_bool(g, key, &boolean, NULL, &err) == (err.code == RML_OK));
    rml_error_clear(&err);
    require(rmli_gguf_get_string(g, key, &string, NULL, &err) == (err.code == RML_OK));
    free(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_gguf *g = rmli_gguf_open(input_file(data, nbytes), &err);
    if (!g) {
        require(err.code != RML_OK && err.message[0] && err.file[0]);
        require(err.offset <= (int64_t)nbytes);
        return 0;
    }
    require(err.code == RML_OK);
    for (size_t i = 0; i < rmli_gguf_n_kv(g); i++)
        use_kv(g, rmli_gguf_kv(g, i));
    for (size_t i = 0; i < rmli_gguf_n_tensors(g); i++)
        input_use_tensor(rmli_gguf_tensor(g, i));
    rmli_gguf_close(g);
    return 0;
}
