/*
 * safetensors, one file: u64 header length, a JSON object
 *
 *     { "name": {"dtype": "BF16", "shape": [r, c], "data_offsets": [begin, end]}, ...,
 *       "__metadata__": { "format": "pt" } }
 *
 * and the data, to which the offsets are relative. (Format: the safetensors
 * README.) Offsets must cover the data without overlap or holes, as the
 * format demands, and agree with dtype and shape. Data may start at any byte
 * alignment, since the header's length is arbitrary.
 *
 * dtypes: F32 F16 BF16 as weights; F64 I8 I16 I32 I64 (and U8, BOOL read as I8)
 * are listed, so that inert buffers do not stop a checkpoint; any other is an
 * error by name.
 */
#ifndef RML_FILES_SAFETENSORS_H
#define RML_FILES_SAFETENSORS_H

#include "base/mapped_file.h"
#include "files/tensor_info.h"

struct rmli_safetensors;

struct rmli_safetensors *rmli_safetensors_open(const char *path, struct rml_error *err);
void rmli_safetensors_close(struct rmli_safetensors *st); /* NULL is allowed */
const struct rmli_mapped_file *rmli_safetensors_file(const struct rmli_safetensors *st);
size_t rmli_safetensors_n_tensors(const struct rmli_safetensors *st);
const struct rml_tensor_info *rmli_safetensors_tensor(const struct rmli_safetensors *st, size_t i);

#endif
