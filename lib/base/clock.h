/* Time for measurements: monotonic, in nanoseconds, from an arbitrary origin. */
#ifndef RML_BASE_CLOCK_H
#define RML_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, which is slewed but never set; reads through the vDSO in
 * some 20 ns. */
static inline int64_t rmli_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
