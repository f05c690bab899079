/*
 * Time for progress, commits and rates.
 */
#ifndef EVAL_EVAL_CLOCK_H
#define EVAL_EVAL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, which is slewed but never set. */
static inline int64_t eval_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
