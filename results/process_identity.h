/*
 * Which process a run belongs to, and whether it is still there.
 *
 * A pid is given out again, in another boot and in each container anew. Boot id, pid
 * namespace, pid and the process's start time together name one process for good.
 */
#ifndef RESULTS_PROCESS_IDENTITY_H
#define RESULTS_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct process_identity {
    char boot_id[64];       /* "" when /proc does not tell, so for all below */
    char pid_namespace[64]; /* "pid:[4026531836]" */
    char hostname[256];
    int64_t pid;
    int64_t start_ticks; /* clock ticks since boot; -1 when not known */
};

/* Of this process. Never fails. */
void process_identity_read(struct process_identity *self);

/* Start time of a process of this namespace; -1 when it is not there, or a zombie. */
int64_t process_start_ticks(int64_t pid);

#endif
