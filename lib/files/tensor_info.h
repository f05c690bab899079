/* What a checkpoint says about one tensor, whatever the format. */
#ifndef RML_FILES_TENSOR_INFO_H
#define RML_FILES_TENSOR_INFO_H

#include "tensor/dtype.h"

#define RML_MAX_DIMS 4

struct rml_tensor_info {
    const char *name; /* terminated; as in the file */
    enum rml_dtype dtype;
    int n_dims;                  /* 0 (a scalar) to RML_MAX_DIMS */
    uint64_t dims[RML_MAX_DIMS]; /* outermost first: a matrix is [rows, cols]; unused ones are 1 */
    const char *file;            /* the file that holds it */
    uint64_t offset;             /* of its data in that file */
    size_t nbytes;
    const uint8_t *data; /* in the mapping, at ANY alignment */
};

#endif
