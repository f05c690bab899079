/*
 * rml-eval: scores checkpoints, and gives the same number every time.
 */
#include "eval/eval_commands.h"
#include "tools/cli/options.h"

int main(int argc, char **argv)
{
    static const struct cli_command commands[] = {
        {"perplexity", "how well a checkpoint predicts texts", eval_perplexity_main},
        {"choices", "which of several continuations is the likeliest", eval_choices_main},
        {"loglik", "log-likelihoods of given continuations", eval_loglik_main},
        {"generate", "replies to prompts, compared with accepted answers", eval_generate_main},
        {"task", "tasks described by files of lm-eval that need no Python", eval_task_main},
        {"kld", "how far a checkpoint's distributions are from a base's", eval_kld_main},
        {"sweep", "cache types, arithmetics and variants of a checkpoint in one table",
         eval_sweep_main},
        {"compare", "two runs on the same items, paired", eval_compare_main},
        {"gate", "is a run not worse than another by more than a margin", eval_gate_main},
        {"import", "runs of lm-eval into the database", eval_import_main},
        {0},
    };
    static const struct cli_program program = {
        .summary = "Scores checkpoints on texts and questions; every score goes into the "
                   "results database and is never computed twice.",
        .commands = commands,
    };
    return cli_run(&program, argc, argv);
}
