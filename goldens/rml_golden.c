/*
 * rml-golden: holds checkpoints to numbers that were once found right.
 */
#include "goldens/golden_commands.h"
#include "tools/cli/options.h"

int main(int argc, char **argv)
{
    static const struct cli_command commands[] = {
        {"record", "write a golden file of what a checkpoint computes now", golden_record_main},
        {"check", "compare a checkpoint with golden files", golden_check_main},
        {"suite", "check every golden of a manifest whose checkpoint is here", golden_suite_main},
        {0},
    };
    static const struct cli_program program = {
        .summary = "Records what a checkpoint computes, and checks that it still does.",
        .commands = commands,
    };
    return cli_run(&program, argc, argv);
}
