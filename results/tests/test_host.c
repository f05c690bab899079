/*
 * Facts about the machine, read from machines laid out in a folder.
 */
#include "results/host.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results/run_env.h"
#include "results/system_file.h"
#include "results/tests/store_fixture.h"

TestSuite(host, .fini = fixture_remove);

/* Writes <folder>/<machine><path>, its folders too. */
static void put(const char *machine, const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s%s", fixture_folder(), machine, path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(name, 0777);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", name);
}

static void put_x86(const char *machine, const char *mhz, const char *memory)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
        "model name\t: AMD EPYC 7763 64-Core Processor\nstepping\t: 1\nmicrocode\t: 0xa0011d1\n"
        "cpu MHz\t\t: %s\nbogomips\t: %s\nflags\t\t: fpu vme sse sse2 fma avx avx2 f16c nx "
        "retbleed_mitigation bmi2\n\nprocessor\t: 1\n",
        mhz, mhz);
    put(machine, "/proc/cpuinfo", text);
    snprintf(text, sizeof text, "MemTotal:       %s kB\nMemFree: 1 kB\nMemAvailable: 2048 kB\n",
             memory);
    put(machine, "/proc/meminfo", text);
    put(machine, "/sys/devices/system/cpu/online", "0-2,4\n");
    static const char *const siblings[] = {"0,2", "1", "0,2", NULL, "4"};
    for (int cpu = 0; cpu < 5; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        if (siblings[cpu])
            put(machine, path, siblings[cpu]);
    }
    put(machine, "/sys/devices/system/node/online", "0-1\n");
    static const char *const caches[][3] = {{"1", "Data", "32K"},
                                            {"1", "Instruction", "48K"},
                                            {"2", "Unified", "512K"},
                                            {"3", "Unified", "32M"}};
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"level", "type", "size"};
        for (int k = 0; k < 3; k++) {
            char path[128];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     names[k]);
            put(machine, path, caches[i][k]);
        }
    }
}

static struct host_facts facts_of(const char *machine)
{
    struct host_facts host;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(host_facts_read(&host, fixture_path(machine), &err), "%s", err.message);
    return host;
}

Test(host, x86)
{
    put_x86("a", "2445.4", "16384000");
    put("a", "/sys/hypervisor/type", "xen\n");
    struct host_facts h = facts_of("a");
    cr_expect(strcmp(h.cpu_vendor, "AuthenticAMD") == 0);
    cr_expect(strcmp(h.cpu_model, "AMD EPYC 7763 64-Core Processor") == 0);
    cr_expect(h.family == 25 && h.model == 1 && h.stepping == 1);
    cr_expect(strcmp(h.microcode, "0xa0011d1") == 0);
    cr_expect(strcmp(h.isa_flags, "avx avx2 bmi2 f16c fma sse sse2") == 0, "%s", h.isa_flags);
    cr_expect(h.threads == 4 && h.cores == 3 && h.numa_nodes == 2);
    cr_expect(h.l1d_bytes == 32 << 10 && h.l2_bytes == 512 << 10 && h.l3_bytes == 32 << 20);
    cr_expect(h.mem_bytes == 16384000LL << 10);
    cr_expect(strcmp(h.hypervisor, "xen") == 0);
    cr_expect(strlen(h.fingerprint) == 64);
}

Test(host, fingerprint_ignores_what_jitters_only)
{
    put_x86("a", "2445.4", "16384000");
    put_x86("b", "3200.0", "16384100");
    put_x86("c", "2445.4", "32768000");
    put_x86("d", "2445.4", "16384000");
    put("d", "/sys/devices/system/cpu/cpu0/cache/index3/size", "16M");
    struct host_facts a = facts_of("a"), b = facts_of("b"), c = facts_of("c"), d = facts_of("d");
    cr_expect(strcmp(a.fingerprint, b.fingerprint) == 0);
    cr_expect(strcmp(a.fingerprint, c.fingerprint) != 0);
    cr_expect(strcmp(a.fingerprint, d.fingerprint) != 0);
}

Test(host, arm)
{
    put("arm", "/proc/cpuinfo",
        "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm asimddp bf16\n"
        "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
        "CPU revision\t: 1\n");
    struct host_facts h = facts_of("arm");
    cr_expect(strcmp(h.cpu_vendor, "0x41") == 0 && h.model == 0xd0c && h.family == 8);
    cr_expect(strcmp(h.isa_flags, "asimd asimddp bf16 fp") == 0, "%s", h.isa_flags);
}

Test(host, unknown_is_null)
{
    put("bare", "/proc/nothing", "");
    struct host_facts h = facts_of("bare");
    cr_expect(h.threads == -1 && h.l3_bytes == -1 && !h.cpu_model[0]);
    json_t *json = host_facts_json(&h);
    cr_assert(json);
    cr_expect(json_is_null(json_object_get(json, "cpu_model")));
    cr_expect(json_is_null(json_object_get(json, "threads")));
    cr_expect(json_object_size(json) == 18);
    json_decref(json);
}

struct seen {
    int n;
    char keys[32][32], values[32][512], reasons[32][512];
};

static bool see(void *user, const char *key, const char *value, const char *reason)
{
    struct seen *seen = user;
    cr_assert(seen->n < 32);
    cr_expect((value == NULL) != (reason == NULL), "%s", key);
    snprintf(seen->keys[seen->n], 32, "%s", key);
    snprintf(seen->values[seen->n], 512, "%s", value ? value : "");
    snprintf(seen->reasons[seen->n], 512, "%s", reason ? reason : "");
    seen->n++;
    return true;
}

static int find(const struct seen *seen, const char *key)
{
    for (int i = 0; i < seen->n; i++) {
        if (strcmp(seen->keys[i], key) == 0)
            return i;
    }
    cr_assert_fail("no key %s", key);
    return -1;
}

static void expect_value(const struct seen *seen, const char *key, const char *value)
{
    int i = find(seen, key);
    cr_expect(strcmp(seen->values[i], value) == 0, "%s: '%s', expected '%s'", key, seen->values[i],
              value);
}

Test(host, environment)
{
    put_x86("a", "1", "1");
    put("a", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("a", "/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put("a", "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("a", "/sys/fs/cgroup/cpu.max", "200000 100000\n");
    put("a", "/proc/stat", "cpu  1 2 3 4 5 6 7 88 9 0\ncpu0 1 2 3\n");
    put("a", "/proc/loadavg", "0.50 0.40 0.30 1/100 4242\n");
    static struct seen seen;
    cr_expect(run_env_read(fixture_path("a"), see, &seen));
    expect_value(&seen, "governor", "powersave");
    expect_value(&seen, "boost", "0");
    expect_value(&seen, "thp", "madvise");
    expect_value(&seen, "cpu_quota", "200000 100000");
    expect_value(&seen, "steal_ticks", "88");
    expect_value(&seen, "mem_available_bytes", "2097152");
    expect_value(&seen, "load", "0.50 0.40 0.30 1/100 4242");
    int i = find(&seen, "pressure_cpu");
    cr_expect(!seen.values[i][0] && strstr(seen.reasons[i], "No such file"), "%s", seen.reasons[i]);
}

Test(host, text_of_large_and_missing_files)
{
    char *large = malloc(100001);
    memset(large, 'x', 100000);
    large[99999] = '\n';
    large[100000] = 0;
    put("a", "/large", large);
    char *text = system_file_text(fixture_path("a"), "/large");
    cr_expect(text && strlen(text) == 99999);
    free(text);
    free(large);
    cr_expect(!system_file_text(fixture_path("a"), "/missing"));
    char line[8];
    cr_expect(system_file_line(fixture_path("a"), "/large", line, sizeof line) &&
              strcmp(line, "xxxxxxx") == 0);
    cr_expect(system_file_number(fixture_path("a"), "/large") == -1);
}
