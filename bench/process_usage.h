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

/* The most bytes that were ever resident in this program; -1 when not known. (Unlike
 * getrusage's, it does not count what the process was before exec.) */
int64_t bench_peak_resident_nbytes(void);

#endif
