/*
 * Facts about the machine, from /proc, /sys and CPUID.
 */
#include "results/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "results/store.h"
#include "results/system_file.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* ---- /proc/cpuinfo --------------------------------------------------------------- */

/* The value of the first line "name   : value". */
static bool find_field(const char *text, const char *name, char *out, size_t out_nbytes)
{
    size_t n = strlen(name);
    out[0] = 0;
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, n) != 0)
            continue;
        const char *p = line + n + strspn(line + n, " \t");
        if (*p != ':')
            continue;
        p += 1 + strspn(p + 1, " \t");
        snprintf(out, out_nbytes, "%.*s", (int)strcspn(p, "\n"), p);
        return true;
    }
    return false;
}

/* Decimal, or hexadecimal with 0x (ARM). */
static int64_t find_number(const char *text, const char *name)
{
    char value[64], *end;
    if (!find_field(text, name, value, sizeof value))
        return -1;
    long long n = strtoll(value, &end, strncmp(value, "0x", 2) == 0 ? 16 : 10);
    return end == value || n < 0 ? -1 : n;
}

static bool is_isa_flag(const char *flag)
{
    static const char *const prefixes[] = {"sse",   "ssse", "pni",  "avx",    "amx", "fma",
                                           "f16c",  "bmi",  "gfni", "sve",    "sme", "i8mm",
                                           "asimd", "bf16", "fphp", "popcnt", NULL};
    for (const char *const *p = prefixes; *p; p++) {
        if (strncmp(flag, *p, strlen(*p)) == 0)
            return true;
    }
    return strcmp(flag, "fp") == 0; /* ARM; not x86's fpu */
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Splits `flags` (overwritten) and writes the ones that count, sorted. */
static void select_flags(char *flags, char *out, size_t out_nbytes)
{
    char *chosen[128], *state = NULL;
    size_t n = 0;
    for (char *flag = strtok_r(flags, " ", &state); flag; flag = strtok_r(NULL, " ", &state)) {
        if (is_isa_flag(flag) && n < sizeof chosen / sizeof chosen[0])
            chosen[n++] = flag;
    }
    qsort(chosen, n, sizeof chosen[0], compare_text);
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < n && used + strlen(chosen[i]) + 2 <= out_nbytes; i++)
        used += (size_t)sprintf(out + used, "%s%s", i ? " " : "", chosen[i]);
}

static void read_cpuinfo(struct host_facts *host, const char *root)
{
    char *text = system_file_text(root, "/proc/cpuinfo");
    if (!text)
        return;
    char flags[8192] = "";
    if (find_field(text, "vendor_id", host->cpu_vendor, sizeof host->cpu_vendor)) { /* x86 */
        find_field(text, "model name", host->cpu_model, sizeof host->cpu_model);
        find_field(text, "microcode", host->microcode, sizeof host->microcode);
        host->family = find_number(text, "cpu family");
        host->model = find_number(text, "model");
        host->stepping = find_number(text, "stepping");
        find_field(text, "flags", flags, sizeof flags);
    } else { /* ARM: numbers of the designer and the part */
        find_field(text, "CPU implementer", host->cpu_vendor, sizeof host->cpu_vendor);
        find_field(text, "CPU part", host->cpu_model, sizeof host->cpu_model);
        host->family = find_number(text, "CPU architecture");
        host->model = find_number(text, "CPU part");
        host->stepping = find_number(text, "CPU revision");
        find_field(text, "Features", flags, sizeof flags);
    }
    select_flags(flags, host->isa_flags, sizeof host->isa_flags);
    free(text);
}

/* ---- /sys -------------------------------------------------------------------------- */

/* Calls visit for each number of a list such as "0-3,8". Returns how many there are. */
static int64_t each_of_list(const char *list, void (*visit)(void *arg, int number), void *arg)
{
    int64_t n = 0;
    for (const char *p = list; isdigit((unsigned char)*p);) {
        char *end;
        long first = strtol(p, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long i = first; i <= last && i - first < 65536; i++, n++) {
            if (visit)
                visit(arg, (int)i);
        }
        p = *end == ',' ? end + 1 : end;
    }
    return n;
}

struct core_count {
    const char *root;
    int64_t cores;
};

/* A core counts where its first thread is met. */
static void count_core(void *arg, int cpu)
{
    struct core_count *count = arg;
    char path[128], siblings[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!system_file_line(count->root, path, siblings, sizeof siblings) ||
        (int)strtol(siblings, NULL, 10) == cpu)
        count->cores++;
}

static void read_topology(struct host_facts *host, const char *root)
{
    char list[1024];
    if (system_file_line(root, "/sys/devices/system/cpu/online", list, sizeof list)) {
        struct core_count count = {root, 0};
        host->threads = each_of_list(list, count_core, &count);
        host->cores = count.cores;
    }
    if (system_file_line(root, "/sys/devices/system/node/online", list, sizeof list))
        host->numa_nodes = each_of_list(list, NULL, NULL);
}

static int64_t cache_size(const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || n < 0)
        return -1;
    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

static void read_caches(struct host_facts *host, const char *root)
{
    for (int i = 0; i < 8; i++) {
        char path[96], type[32], size[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        int64_t level = system_file_number(root, path);
        if (level < 0)
            break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        system_file_line(root, path, type, sizeof type);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (strcmp(type, "Instruction") == 0 || !system_file_line(root, path, size, sizeof size))
            continue;
        if (level == 1)
            host->l1d_bytes = cache_size(size);
        else if (level == 2)
            host->l2_bytes = cache_size(size);
        else if (level == 3)
            host->l3_bytes = cache_size(size);
    }
}

static void read_memory(struct host_facts *host, const char *root)
{
    char *text = system_file_text(root, "/proc/meminfo");
    int64_t kib = text ? find_number(text, "MemTotal") : -1;
    host->mem_bytes = kib < 0 ? -1 : kib << 10;
    free(text);
}

/* Which hypervisor: by name from Xen's /sys, else by the vendor leaf of CPUID. */
static void read_hypervisor(struct host_facts *host, const char *root)
{
    if (system_file_line(root, "/sys/hypervisor/type", host->hypervisor, sizeof host->hypervisor))
        return;
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (root[0] || !__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
        return;
    char vendor[13] = {0};
    __cpuid(0x40000000, a, b, c, d);
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &c, 4);
    memcpy(vendor + 8, &d, 4);
    for (char *p = vendor; *p; p++)
        *p = isprint((unsigned char)*p) ? *p : '?';
    snprintf(host->hypervisor, sizeof host->hypervisor, "%s",
             strcmp(vendor, "KVMKVMKVM") == 0 ? "KVM" : vendor);
#endif
}

/* ---- All of it ------------------------------------------------------------------------ */

static bool make_fingerprint(struct host_facts *host, struct rml_error *err)
{
    char text[2048];
    /* Memory in GiB, rounded: the kernel keeps a little more or less for itself. */
    long long gib = host->mem_bytes < 0 ? -1 : (long long)((host->mem_bytes + (1 << 29)) >> 30);
    int n = snprintf(text, sizeof text,
                     "arch %s\nvendor %s\nmodel %s\n%lld %lld %lld\nmicrocode %s\nflags %s\n"
                     "cores %lld\nthreads %lld\ncaches %lld %lld %lld\ngib %lld\nnodes %lld\n"
                     "hypervisor %s\n",
                     host->arch, host->cpu_vendor, host->cpu_model, (long long)host->family,
                     (long long)host->model, (long long)host->stepping, host->microcode,
                     host->isa_flags, (long long)host->cores, (long long)host->threads,
                     (long long)host->l1d_bytes, (long long)host->l2_bytes,
                     (long long)host->l3_bytes, gib, (long long)host->numa_nodes, host->hypervisor);
    return sha256_hex(text, (size_t)n, host->fingerprint, err);
}

bool host_facts_read(struct host_facts *host, const char *root, struct rml_error *err)
{
    *host = (struct host_facts){.family = -1,
                                .model = -1,
                                .stepping = -1,
                                .cores = -1,
                                .threads = -1,
                                .l1d_bytes = -1,
                                .l2_bytes = -1,
                                .l3_bytes = -1,
                                .mem_bytes = -1,
                                .numa_nodes = -1};
    struct utsname system;
    if (uname(&system) == 0)
        snprintf(host->arch, sizeof host->arch, "%.31s", system.machine);
    if (gethostname(host->hostname, sizeof host->hostname - 1) != 0)
        host->hostname[0] = 0;
    read_cpuinfo(host, root);
    read_topology(host, root);
    read_caches(host, root);
    read_memory(host, root);
    read_hypervisor(host, root);
    return make_fingerprint(host, err);
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text[0] ? json_string(text) : NULL;
    return value ? value : json_null();
}

static json_t *number_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

json_t *host_facts_json(const struct host_facts *h)
{
    return json_pack("{so so so so so so so so so so so so so so so so so so}", "fingerprint",
                     text_or_null(h->fingerprint), "hostname", text_or_null(h->hostname), "arch",
                     text_or_null(h->arch), "cpu_vendor", text_or_null(h->cpu_vendor), "cpu_model",
                     text_or_null(h->cpu_model), "family", number_or_null(h->family), "model",
                     number_or_null(h->model), "stepping", number_or_null(h->stepping), "microcode",
                     text_or_null(h->microcode), "isa_flags", text_or_null(h->isa_flags), "cores",
                     number_or_null(h->cores), "threads", number_or_null(h->threads), "l1d_bytes",
                     number_or_null(h->l1d_bytes), "l2_bytes", number_or_null(h->l2_bytes),
                     "l3_bytes", number_or_null(h->l3_bytes), "mem_bytes",
                     number_or_null(h->mem_bytes), "numa_nodes", number_or_null(h->numa_nodes),
                     "hypervisor", text_or_null(h->hypervisor));
}

json_t *store_host_json(struct rml_error *err)
{
    struct host_facts host;
    if (!host_facts_read(&host, "", err))
        return NULL;
    json_t *json = host_facts_json(&host);
    if (!json)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the facts of the machine");
    return json;
}
