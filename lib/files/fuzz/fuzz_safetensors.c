/*
 * Any bytes as a safetensors file: it opens or gives an error; what opens can
 * be read to its last byte, and its tensors fill the file.
 */
#include <stdlib.h>

#include "files/safetensors.h"
#include "input_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_safetensors *st = rmli_safetensors_open(input_file(data, nbytes), &err);
    if (!st) {
        require(err.code != RML_OK && err.message[0] && err.file[0]);
        require(err.offset <= (int64_t)nbytes);
        return 0;
    }
    require(err.code == RML_OK);
    uint64_t header_nbytes = 8, data_nbytes = 0;
    for (int i = 0; i < 8; i++)
        header_nbytes += (uint64_t)data[i] << 8 * i;
    for (size_t i = 0; i < rmli_safetensors_n_tensors(st); i++) {
        const struct rml_tensor_info *t = rmli_safetensors_tensor(st, i);
        input_use_tensor(t);
        data_nbytes += t->nbytes;
    }
    require(header_nbytes + data_nbytes == nbytes);
    rmli_safetensors_close(st);
    return 0;
}
