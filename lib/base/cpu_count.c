/*
 * Counting processors: affinity from the kernel, cores from sysfs, quota from
 * the control groups (Linux Documentation/admin-guide/cgroup-v2.rst, "cpu.max";
 * cgroup-v1 "cpu.cfs_quota_us").
 */
#include "base/cpu_count.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_NBYTES = 4096 };

/* The first line of a file without its newline; false when it cannot be read. */
static bool read_line(const char *path, char *line, int line_nbytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, line_nbytes, file) != NULL;
    fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

/* Affinity mask of any size the kernel has; NULL when it cannot be had. Freed
 * by CPU_FREE. */
static cpu_set_t *affinity(size_t *nbytes, int *n_cpus)
{
    for (int n = 1024; n <= 1 << 20; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set)
            return NULL;
        *nbytes = CPU_ALLOC_SIZE((size_t)n);
        *n_cpus = n;
        CPU_ZERO_S(*nbytes, set);
        if (sched_getaffinity(0, *nbytes, set) == 0)
            return set;
        CPU_FREE(set);
        if (errno != EINVAL) /* EINVAL: the mask is larger than ours */
            return NULL;
    }
    return NULL;
}

unsigned rmli_affinity_cpu_count(void)
{
    size_t nbytes;
    int n_cpus;
    cpu_set_t *set = affinity(&nbytes, &n_cpus);
    if (!set)
        return 1;
    int count = CPU_COUNT_S(nbytes, set);
    CPU_FREE(set);
    return count > 0 ? (unsigned)count : 1;
}

/* True when a CPU below `cpu` is both in the mask and in the list of siblings,
 * which reads like "0,64" or "2-3". */
static bool has_lower_sibling(const char *list, int cpu, const cpu_set_t *set, size_t nbytes)
{
    const char *p = list;
    while (*p) {
        char *end;
        long low = strtol(p, &end, 10);
        if (end == p)
            return false;
        long high = low;
        if (*end == '-') {
            p = end + 1;
            high = strtol(p, &end, 10);
            if (end == p)
                return false;
        }
        for (long i = low < 0 ? 0 : low; i <= high && i < cpu; i++)
            if (CPU_ISSET_S((size_t)i, nbytes, set))
                return true;
        p = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return false;
    }
    return false;
}

static unsigned count_cores(const char *root)
{
    size_t nbytes;
    int n_cpus;
    cpu_set_t *set = affinity(&nbytes, &n_cpus);
    if (!set)
        return 1;
    unsigned n_cores = 0;
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, nbytes, set))
            continue;
        char path[PATH_NBYTES], list[1024];
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 root, cpu);
        if (!read_line(path, list, sizeof list) || !has_lower_sibling(list, cpu, set, nbytes))
            n_cores++;
    }
    CPU_FREE(set);
    return n_cores > 0 ? n_cores : 1;
}

/* quota / period rounded up; 0 when either is no limit or no number. */
static unsigned cpus_of_quota(long long quota_us, long long period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return 0;
    long long n = quota_us / period_us + (quota_us % period_us != 0);
    return n < 1 << 20 ? (unsigned)n : 0;
}

/* The limit set in exactly this folder, 0 when there is none. */
static unsigned folder_limit(const char *folder, bool v2)
{
    char path[PATH_NBYTES + 32], line[128];
    long long quota_us, period_us;
    if (v2) { /* "max 100000" or "150000 100000" */
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (!read_line(path, line, sizeof line) ||
            sscanf(line, "%lld %lld", &quota_us, &period_us) != 2)
            return 0;
        return cpus_of_quota(quota_us, period_us);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder); /* -1: no limit */
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota_us) != 1)
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period_us) != 1)
        return 0;
    return cpus_of_quota(quota_us, period_us);
}

static unsigned lower_limit(unsigned a, unsigned b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/*
 * The tightest limit from <mount><group> up to the mount itself. Inside a
 * container the group's path may be the host's and not exist here; the
 * container's own limit is then at the mount, where the walk ends.
 */
static unsigned limit_along(const char *root, const char *mount, const char *group, bool v2)
{
    char folder[PATH_NBYTES];
    int n = snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
    if (n < 0 || (size_t)n >= sizeof folder)
        return 0;
    size_t mount_nbytes = strlen(root) + strlen(mount);
    unsigned limit = 0;
    for (;;) {
        limit = lower_limit(limit, folder_limit(folder, v2));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < mount_nbytes)
            return limit;
        *slash = 0;
    }
}

/* True when `name` is one of the comma-separated controllers. */
static bool lists_controller(const char *controllers, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = controllers; *p;) {
        size_t length = strcspn(p, ",");
        if (length == n && memcmp(p, name, n) == 0)
            return true;
        p += length + (p[length] == ',');
    }
    return false;
}

unsigned rmli_cgroup_cpu_limit(const char *root)
{
    char path[PATH_NBYTES], line[PATH_NBYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    unsigned limit = 0;
    /* Lines are "<hierarchy>:<controllers>:<group>"; that of v2 is "0::<group>". */
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        controllers++;
        if (strcmp(group, "/") == 0)
            group = "";
        if (!*controllers) {
            limit = lower_limit(limit, limit_along(root, "/sys/fs/cgroup", group, true));
        } else if (lists_controller(controllers, "cpu")) {
            limit = lower_limit(limit, limit_along(root, "/sys/fs/cgroup/cpu", group, false));
        }
    }
    fclose(file);
    return limit;
}

unsigned rmli_usable_core_count(const char *root)
{
    return lower_limit(count_cores(root), rmli_cgroup_cpu_limit(root));
}

unsigned rmli_concurrent_thread_count(const char *root)
{
    return lower_limit(rmli_affinity_cpu_count(), rmli_cgroup_cpu_limit(root));
}
