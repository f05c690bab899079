/*
 * rml-bench: measures speed, and keeps every sample.
 */
#include "bench/suites.h"
#include "tools/cli/options.h"

static const struct cli_command commands[] = {
    {"attention", "one decode step of an attention layer, by cache type and depth",
     bench_attention_main},
    {"decoder", "prefill and decode of a two-layer decoder with random weights",
     bench_decoder_main},
    {0},
};

static const struct cli_program program = {
    .summary = "Measures speed: medians with 95 % intervals, every sample in the results database.",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return cli_run(&program, argc, argv);
}
