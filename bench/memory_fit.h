/*
 * Will it fit? Memory that a new process can have without pushing others out.
 */
#ifndef BENCH_MEMORY_FIT_H
#define BENCH_MEMORY_FIT_H

/*
 * Bytes: MemAvailable of the machine, or what the limit of a control group (v2, v1) that this
 * process is in leaves, whichever is less; page cache that can be dropped counts as free. NaN when
 * neither is known. root: "", or a folder
 * in which a machine is laid out, for tests.
 */
double bench_memory_available(const char *root);

#endif
