/* The hidden command that children of rml-bench run. */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

int bench_worker_main(int argc, char **argv);

#endif
