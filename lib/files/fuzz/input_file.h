/* A fuzzer's input as a file that can be opened by path, without a disk. */
#ifndef RML_FILES_FUZZ_INPUT_FILE_H
#define RML_FILES_FUZZ_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "files/tensor_info.h"

/* The path of a file with these bytes, valid until the next call. Ends the
 * process when the system cannot. */
const char *input_file(const uint8_t *data, size_t nbytes);

/* Reads name and data of a tensor, as far as a sanitizer has to see it. */
void input_use_tensor(const struct rml_tensor_info *t);

/* Keeps the compiler from leaving out reads. */
extern volatile unsigned input_sink;

#endif
