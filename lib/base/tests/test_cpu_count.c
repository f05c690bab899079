/* Control group limits and core counts, read from made-up /proc and /sys trees. */
#include "base/cpu_count.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    strcpy(root, "/tmp/rml-cpu-count-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

/* Writes root/path, making its folders. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0777);
        *p = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert_not_null(file, "%s", full);
    fputs(text, file);
    fclose(file);
}

TestSuite(cpu_count, .init = make_root, .fini = remove_root);

Test(cpu_count, no_control_groups_means_no_limit)
{
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u);
    cr_assert_geq(rmli_usable_core_count(root), 1u);
    cr_assert_geq(rmli_affinity_cpu_count(), 1u);
}

Test(cpu_count, v2_takes_the_tightest_of_all_parents)
{
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u);
    put("/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 8u);
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 3u, "2.5 CPUs are rounded up");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 1u);
    cr_assert_eq(rmli_usable_core_count(root), 1u);
    cr_assert_eq(rmli_concurrent_thread_count(root), 1u);
}

Test(cpu_count, v2_inside_a_container)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 4u);
    put("/proc/self/cgroup", "0::/docker/of/the/host\n"); /* a folder that is not here */
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 4u);
}

Test(cpu_count, v1_by_controller)
{
    put("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n3:memory:/y\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u);
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 2u);
    put("/proc/self/cgroup", "4:cpuset:/docker/1\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u, "cpuset is not cpu");
}

Test(cpu_count, malformed_files_do_not_limit)
{
    put("/proc/self/cgroup", "nonsense\n0:\n0::/a\n:::\n");
    put("/sys/fs/cgroup/a/cpu.max", "many\n");
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u);
    put("/sys/fs/cgroup/cpu.max", "-5 100000\n");
    cr_assert_eq(rmli_cgroup_cpu_limit(root), 0u);
}

Test(cpu_count, hyper_threads_of_one_core_count_once)
{
    unsigned n_cpus = rmli_affinity_cpu_count();
    long n_configured = sysconf(_SC_NPROCESSORS_CONF);
    cr_assert_eq(rmli_usable_core_count(root), n_cpus, "an unknown topology counts every CPU");
    /* All in one core, whatever their numbers; in both spellings of the list. */
    static const char *const lists[] = {"0-9999\n", "0-4999,5000-9999\n"};
    for (size_t l = 0; l < 2; l++) {
        for (long cpu = 0; cpu < n_configured; cpu++) {
            char path[128];
            snprintf(path, sizeof path,
                     "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", cpu);
            put(path, lists[l]);
        }
        cr_assert_eq(rmli_usable_core_count(root), 1u);
    }
}
