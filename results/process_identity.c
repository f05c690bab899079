#include "results/process_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/system_file.h"

int64_t process_start_ticks(int64_t pid)
{
    char path[64], line[1024], state;
    unsigned long long start;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    if (!system_file_line("", path, line, sizeof line))
        return -1;
    /* "pid (name) state ppid ...": the name may hold blanks and brackets, the last ')' ends
     * it. The start time is field 22, the state field 3. */
    const char *after_name = strrchr(line, ')');
    if (!after_name ||
        sscanf(after_name + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &start) != 2 ||
        state == 'Z' || state == 'X')
        return -1;
    return (int64_t)start;
}

void process_identity_read(struct process_identity *self)
{
    *self = (struct process_identity){.pid = getpid()};
    self->start_ticks = process_start_ticks(self->pid);
    system_file_line("", "/proc/sys/kernel/random/boot_id", self->boot_id, sizeof self->boot_id);
    if (readlink("/proc/self/ns/pid", self->pid_namespace, sizeof self->pid_namespace - 1) < 0)
        self->pid_namespace[0] = 0;
    if (gethostname(self->hostname, sizeof self->hostname - 1) != 0)
        self->hostname[0] = 0;
}
