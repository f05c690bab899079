/*
 * How many processors this process may really use.
 *
 * Three answers matter and they differ: how many CPUs the scheduler may put us
 * on (affinity), how many of those are cores of their own (two hyper-threads
 * share one set of vector units, so the second adds little), and how much CPU
 * time the control group is allowed (a container with 64 visible CPUs is often
 * limited to two).
 */
#ifndef RML_BASE_CPU_COUNT_H
#define RML_BASE_CPU_COUNT_H

/* Logical CPUs in this thread's affinity mask; at least 1. */
unsigned rmli_affinity_cpu_count(void);

/* Threads that can run at the same time: the affinity mask again, or the quota
 * below when that is less; at least 1. */
unsigned rmli_concurrent_thread_count(const char *root);

/*
 * The smaller of physical cores in the affinity mask and CPUs worth of quota
 * (rounded up: threads in excess of a quota are stopped together, so a quota
 * of 1.5 is used better by two threads than by one); at least 1. `root` is
 * put before the paths in /proc and /sys: "" but in tests. What cannot be read
 * does not limit.
 */
unsigned rmli_usable_core_count(const char *root);

/* CPUs worth of quota over the process's control group and all its parents,
 * v1 and v2; 0 when there is no limit. */
unsigned rmli_cgroup_cpu_limit(const char *root);

#endif
