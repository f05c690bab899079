/* Sizes of quantised activation rows; see the header. */
#include "kernels/activation_row.h"

#include "kernels/kernels.h"

size_t rmli_activation_row_nbytes(enum rml_dtype dtype, size_t n_cols)
{
    size_t block_nelems = rmli_activation_block_nelems(dtype);
    if (block_nelems == 0)
        return 0;
    size_t block_nbytes = block_nelems == 32 ? sizeof(struct rmli_activation_block_32)
                                             : sizeof(struct rmli_activation_block_256);
    return (n_cols / block_nelems * block_nbytes + 63) & ~(size_t)63;
}

bool rmli_activation_same(enum rml_dtype a, enum rml_dtype b)
{
    size_t block_nelems = rmli_activation_block_nelems(a);
    return block_nelems != 0 && block_nelems == rmli_activation_block_nelems(b);
}
