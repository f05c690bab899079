#include "results/run_env.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "results/store.h"
#include "results/system_file.h"
#include "tools/cli/json_out.h"

struct reading {
    const char *root;
    run_env_fn *fn;
    void *user;
    bool going_on;
};

static void give(struct reading *r, const char *key, const char *value, const char *reason)
{
    if (r->going_on)
        r->going_on = r->fn(r->user, key, value, reason);
}

static void give_file(struct reading *r, const char *key, const char *path)
{
    char line[512], reason[768];
    if (system_file_line(r->root, path, line, sizeof line) && line[0]) {
        give(r, key, line, NULL);
        return;
    }
    snprintf(reason, sizeof reason, "%s: %s", path, errno ? strerror(errno) : "empty");
    give(r, key, NULL, reason);
}

static void give_kernel(struct reading *r)
{
    struct utsname system;
    char text[sizeof system.sysname + sizeof system.release + sizeof system.version + 3];
    if (uname(&system) != 0) {
        give(r, "kernel", NULL, strerror(errno));
        return;
    }
    snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.version);
    give(r, "kernel", text, NULL);
}

/* Intel's driver has a switch of its own, and its sense is the other way round. */
static void give_boost(struct reading *r)
{
    int64_t no_turbo = system_file_number(r->root, "/sys/devices/system/cpu/intel_pstate/no_turbo");
    if (no_turbo >= 0)
        give(r, "boost", no_turbo ? "0" : "1", NULL);
    else
        give_file(r, "boost", "/sys/devices/system/cpu/cpufreq/boost");
}

/* "always [madvise] never": the chosen word. */
static void give_thp(struct reading *r)
{
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    char line[128];
    char *open = NULL, *close = NULL;
    if (system_file_line(r->root, path, line, sizeof line) && (open = strchr(line, '[')) &&
        (close = strchr(open, ']'))) {
        *close = 0;
        give(r, "thp", open + 1, NULL);
    } else {
        give_file(r, "thp", path);
    }
}

static void give_affinity(struct reading *r)
{
    cpu_set_t set;
    char text[1024] = "";
    size_t used = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        give(r, "affinity", NULL, strerror(errno));
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 16 < sizeof text; cpu++) {
        if (!CPU_ISSET(cpu, &set))
            continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        used += (size_t)sprintf(text + used, "%s%d", used ? "," : "", cpu);
        if (last > cpu)
            used += (size_t)sprintf(text + used, "-%d", last);
        cpu = last;
    }
    give(r, "affinity", text, NULL);
}

static void give_cpu_quota(struct reading *r)
{
    char line[128];
    if (system_file_line(r->root, "/sys/fs/cgroup/cpu.max", line, sizeof line)) {
        give(r, "cpu_quota", line, NULL);
        return;
    }
    int64_t period = system_file_number(r->root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (period > 0) { /* version 1; -1 there means none */
        int64_t quota = system_file_number(r->root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        if (quota >= 0)
            snprintf(line, sizeof line, "%lld %lld", (long long)quota, (long long)period);
        else
            snprintf(line, sizeof line, "max %lld", (long long)period);
        give(r, "cpu_quota", line, NULL);
        return;
    }
    give(r, "cpu_quota", NULL, "no cpu controller at /sys/fs/cgroup");
}

static void give_steal(struct reading *r)
{
    char line[256], text[32];
    unsigned long long steal;
    /* "cpu  user nice system idle iowait irq softirq steal ..." */
    if (!system_file_line(r->root, "/proc/stat", line, sizeof line) ||
        sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1) {
        give(r, "steal_ticks", NULL, "/proc/stat: no such field");
        return;
    }
    snprintf(text, sizeof text, "%llu", steal);
    give(r, "steal_ticks", text, NULL);
}

static void give_memory(struct reading *r)
{
    char *text = system_file_text(r->root, "/proc/meminfo");
    const char *line = text ? strstr(text, "MemAvailable:") : NULL;
    unsigned long long kib;
    if (line && sscanf(line, "MemAvailable: %llu", &kib) == 1) {
        char value[32];
        snprintf(value, sizeof value, "%llu", kib << 10);
        give(r, "mem_available_bytes", value, NULL);
    } else {
        give(r, "mem_available_bytes", NULL, "/proc/meminfo: no such field");
    }
    free(text);
}

/* Whether the kernel lets us count instructions is found out by asking for it. */
static void give_counters(struct reading *r)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd < 0) {
        char reason[128];
        snprintf(reason, sizeof reason, "perf_event_open: %s", strerror(errno));
        give(r, "counters", NULL, reason);
        return;
    }
    close((int)fd);
    give(r, "counters", "instructions", NULL);
}

static void give_uptime(struct reading *r)
{
    char line[64];
    if (!system_file_line(r->root, "/proc/uptime", line, sizeof line)) {
        give_file(r, "uptime_s", "/proc/uptime");
        return;
    }
    line[strcspn(line, " ")] = 0;
    give(r, "uptime_s", line, NULL);
}

bool run_env_read(const char *root, run_env_fn *fn, void *user)
{
    struct reading r = {root, fn, user, true};
    char hostname[256] = "";
    if (gethostname(hostname, sizeof hostname - 1) == 0)
        give(&r, "hostname", hostname, NULL);
    else
        give(&r, "hostname", NULL, strerror(errno));
    give_kernel(&r);
    give_file(&r, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    give_boost(&r);
    give_file(&r, "aslr", "/proc/sys/kernel/randomize_va_space");
    give_thp(&r);
    give_affinity(&r);
    give_cpu_quota(&r);
    give_file(&r, "load", "/proc/loadavg");
    give_steal(&r);
    give_file(&r, "pressure_cpu", "/proc/pressure/cpu");
    give_file(&r, "pressure_memory", "/proc/pressure/memory");
    give_memory(&r);
    give_file(&r, "clock_source",
              "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    give_counters(&r);
    give_uptime(&r);
    return r.going_on;
}

static bool add_to_object(void *user, const char *key, const char *value, const char *reason)
{
    json_t *entry = json_object();
    int rc = json_object_set_new(entry, "value", cli_json_text(value));
    rc |= json_object_set_new(entry, "reason", cli_json_text(reason));
    return json_object_set_new(user, key, entry) == 0 && rc == 0;
}

json_t *store_environment_json(struct rml_error *err)
{
    json_t *object = json_object();
    if (object && run_env_read("", add_to_object, object))
        return object;
    json_decref(object);
    rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the state of the machine");
    return NULL;
}
