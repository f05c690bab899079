/*
 * What the kernel says about this process and its machine, cheap enough to ask between
 * two repetitions.
 */
#ifndef BENCH_PROCESS_USAGE_H
#define BENCH_PROCESS_USAGE_H

#include <stdint.h>

/* Time of all processors that the hypervisor gave to others, in clock ticks since boot, from
 * an open /proc/stat; -1 when not known. */
int64_t bench_steal_ticks(int proc_stat_fd);

/* Bytes of this process that are resident now; -1 when not known. */
int64_t bench_resident_nbytes(void);

#endif
