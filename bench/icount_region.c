#include "bench/icount.h"

__attribute__((noinline)) void icount_region(struct rmli_kernel_case *c,
                                             const struct rmli_kernels *table)
{
    rmli_kernel_case_run(c, table, 1);
}
