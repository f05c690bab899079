/* The commands that compare. */
#ifndef BENCH_COMPARE_COMMANDS_H
#define BENCH_COMPARE_COMMANDS_H

int bench_ab_main(int argc, char **argv);
int bench_gate_main(int argc, char **argv);

#endif
