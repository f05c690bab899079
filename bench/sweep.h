/*
 * A sweep: a suite's cases, one after the other, each in a child process of its own.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "bench/suite.h"

/* The command of a suite: rml-bench NAME. */
int bench_sweep_main(const struct bench_suite *suite, int argc, char **argv);

/*
 * The plan that `rml-bench SUITE WORDS` would run, for commands that run it otherwise. A bad word
 * is a usage error, which ends the program. argv[0] is what messages call the program. argv_over
 * (argc_over 0: none) is read after that: what it gives takes the place of what argv gave.
 */
bool bench_plan_parse(const struct bench_suite *suite, int argc, char **argv, int argc_over,
                      char **argv_over, struct bench_plan *plan, struct rml_error *err);

#endif
