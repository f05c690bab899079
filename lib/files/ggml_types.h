/* Tensor type numbers of GGUF files, which are ggml's enum ggml_type. */
#ifndef RML_FILES_GGML_TYPES_H
#define RML_FILES_GGML_TYPES_H

#include "tensor/dtype.h"

/* The dtype that a number stands for; false when rml does not read it as a weight. */
bool rmli_ggml_type_to_dtype(uint32_t type, enum rml_dtype *dtype);

/* The number of a weight dtype; false for one that a GGUF weight cannot have. */
bool rmli_ggml_type_of_dtype(enum rml_dtype dtype, uint32_t *type);

/* ggml's name of any type that it has or had ("IQ2_XXS"), or NULL. */
const char *rmli_ggml_type_name(uint32_t type);

#endif
