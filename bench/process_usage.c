#include "bench/process_usage.h"

#include <stdio.h>
#include <unistd.h>

int64_t bench_steal_ticks(int proc_stat_fd)
{
    char text[256];
    ssize_t n = proc_stat_fd < 0 ? -1 : pread(proc_stat_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = 0;
    /* "cpu  user nice system idle iowait irq softirq steal ..." */
    unsigned long long steal;
    return sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1 ? (int64_t)steal : -1;
}

int64_t bench_peak_resident_nbytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = -1;
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kib) != 1)
            kib = -1;
    if (file)
        fclose(file);
    return kib < 0 ? -1 : kib * 1024;
}
