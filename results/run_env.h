/*
 * The state of the machine at one moment, as keys and values: what one would ask
 * when two runs differ. It is read at the start and at the end of each run.
 */
#ifndef RESULTS_RUN_ENV_H
#define RESULTS_RUN_ENV_H

#include <stdbool.h>

/* Called for each key. Exactly one of value and reason is not NULL: a value that cannot
 * be had comes with the reason. Returning false ends the reading. */
typedef bool run_env_fn(void *user, const char *key, const char *value, const char *reason);

/*
 * The keys, always in this order:
 *
 *     hostname         name of the machine (of the container, in one)
 *     kernel           "Linux 6.1.0 #1 SMP ..."
 *     governor         cpufreq governor of cpu0
 *     boost            "1" or "0": may the clock rise above its nominal rate
 *     aslr             kernel.randomize_va_space
 *     thp              transparent huge pages: "madvise"
 *     affinity         processors that this process may run on: "0-1,4"
 *     cpu_quota        of the cgroup: "max 100000"
 *     load             1, 5 and 15 minute averages
 *     steal_ticks      of all processors since boot: time that the hypervisor gave to others
 *     pressure_cpu     first line of /proc/pressure/cpu
 *     pressure_memory
 *     mem_available_bytes
 *     clock_source     of the kernel
 *     counters         "instructions": hardware counters can be read
 *     uptime_s
 *
 * root: "" (results/system_file.h). False when fn did.
 */
bool run_env_read(const char *root, run_env_fn *fn, void *user);

#endif
