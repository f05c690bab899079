/*
 * rml-bench: measures speed, and keeps every sample.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/compare_commands.h"
#include "bench/doctor.h"
#include "bench/icount.h"
#include "bench/sweep.h"
#include "bench/worker.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

/* The command of whichever suite argv[0], "rml-bench NAME", names. */
static int suite_main(int argc, char **argv)
{
    const struct bench_suite *suite = bench_find_suite(strrchr(argv[0], ' ') + 1);
    return bench_sweep_main(suite, argc, argv);
}

/* Commands that are no suites. */
static const struct cli_command other_commands[] = {
    {"ab", "compares two builds, or two settings of this one, by interleaved runs", bench_ab_main},
    {"gate", "whether a build is slower than another: for pipelines", bench_gate_main},
    {"icount", "instructions that kernels execute, compared to half a percent", bench_icount_main},
    {"doctor", "whether this machine can tell programs apart by their speed, and what to change",
     bench_doctor_main},
    {"worker", NULL, bench_worker_main},
    {"icount-worker", NULL, bench_icount_worker_main},
};
#define N_OTHERS (sizeof other_commands / sizeof other_commands[0])

int main(int argc, char **argv)
{
    size_t n = 0;
    while (bench_suites[n])
        n++;
    struct cli_command *commands = calloc(n + N_OTHERS + 1, sizeof *commands);
    if (!commands)
        return CLI_ERROR;
    for (size_t i = 0; i < n; i++)
        commands[i] =
            (struct cli_command){bench_suites[i]->name, bench_suites[i]->summary, suite_main};
    memcpy(commands + n, other_commands, sizeof other_commands);
    const struct cli_program program = {
        .summary =
            "Measures speed: medians with 95 % intervals, every sample in the results database.",
        .commands = commands,
    };
    int code = cli_run(&program, argc, argv);
    free(commands);
    return code;
}
