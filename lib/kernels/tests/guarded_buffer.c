/* Guarded memory by mmap and mprotect; see the header. */
#include "kernels/tests/guarded_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void guarded_buffer_init(struct guarded_buffer *b, size_t nbytes, enum guard_side side)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (nbytes + page - 1) / page * page;
    b->nbytes = nbytes;
    b->mapping_nbytes = inner + 2 * page;
    b->mapping = mmap(NULL, b->mapping_nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->mapping == MAP_FAILED ||
        (inner > 0 && mprotect(b->mapping + page, inner, PROT_READ | PROT_WRITE) != 0)) {
        perror("guarded_buffer_init");
        exit(1);
    }
    b->data = b->mapping + page + (side == GUARD_BEHIND ? inner - nbytes : 0);
}

void guarded_buffer_release(struct guarded_buffer *b)
{
    munmap(b->mapping, b->mapping_nbytes);
    b->data = b->mapping = NULL;
}
