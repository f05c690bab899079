#include "bench/memory_fit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_NBYTES = 4096 };

/* The text of a small file below root, to be freed; NULL when it cannot be read. */
static char *read_text(const char *root, const char *path)
{
    char full[2 * PATH_NBYTES], *text = NULL;
    size_t n = 0;
    ssize_t got = -1;
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *file = fopen(full, "re");
    if (file) {
        got = getdelim(&text, &n, 0, file); /* no NUL is in it: all of the file */
        fclose(file);
    }
    if (got < 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The number at the start of a file; -1: there is none. */
static int64_t read_number(const char *root, const char *path)
{
    char *text = read_text(root, path), *end = text;
    int64_t n = text ? strtoll(text, &end, 10) : -1;
    if (end == text)
        n = -1;
    free(text);
    return n;
}

/* The number behind a name ("MemAvailable:") at the start of a line; -1: there is none. */
static int64_t number_after(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0)
            return strtoll(line + n, NULL, 10);
    }
    return -1;
}

static double machine_available(const char *root)
{
    char *text = read_text(root, "/proc/meminfo");
    int64_t kib = text ? number_after(text, "MemAvailable:") : -1;
    free(text);
    return kib < 0 ? INFINITY : (double)kib * 1024;
}

/* What the files of one control group leave; "max" and v1's huge number are no limits. */
static double group_available(const char *root, const char *folder, const char *limit_name,
                              const char *usage_name)
{
    char path[PATH_NBYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, limit_name);
    int64_t limit = read_number(root, path);
    snprintf(path, sizeof path, "%s/%s", folder, usage_name);
    int64_t usage = read_number(root, path);
    if (limit < 0 || usage < 0 || limit >= INT64_MAX / 2)
        return INFINITY;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    char *text = read_text(root, path);
    int64_t cache = text ? number_after(text, "inactive_file ") : 0;
    free(text);
    return (double)(limit - usage) + (double)(cache > 0 ? cache : 0);
}

/* The least of the group and those that it is in. */
static double groups_available(const char *root, const char *mount, const char *group,
                               const char *limit_name, const char *usage_name)
{
    char folder[PATH_NBYTES];
    double least = INFINITY;
    size_t mount_n = strlen(mount);
    int n = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    if (n < 0 || (size_t)n >= sizeof folder)
        return least;
    for (;;) {
        least = fmin(least, group_available(root, folder, limit_name, usage_name));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < mount_n)
            return least;
        *slash = 0;
    }
}

double bench_memory_available(const char *root)
{
    double least = machine_available(root);
    char *text = read_text(root, "/proc/self/cgroup"), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        /* "0::/path" of version 2, "7:memory:/path" of version 1 */
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        if (strncmp(line, "0:", 2) == 0 && controllers[1] == 0)
            least = fmin(least, groups_available(root, "/sys/fs/cgroup", group, "memory.max",
                                                 "memory.current"));
        else if (strcmp(controllers + 1, "memory") == 0)
            least = fmin(least, groups_available(root, "/sys/fs/cgroup/memory", group,
                                                 "memory.limit_in_bytes", "memory.usage_in_bytes"));
    }
    free(text);
    return isinf(least) ? NAN : least;
}
