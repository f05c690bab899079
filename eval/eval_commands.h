/*
 * The commands of rml-eval; each is main() of one and returns an exit code.
 */
#ifndef EVAL_EVAL_COMMANDS_H
#define EVAL_EVAL_COMMANDS_H

int eval_perplexity_main(int argc, char **argv);
int eval_choices_main(int argc, char **argv);
int eval_loglik_main(int argc, char **argv);
int eval_kld_main(int argc, char **argv);
int eval_sweep_main(int argc, char **argv);
int eval_generate_main(int argc, char **argv);
int eval_task_main(int argc, char **argv);
int eval_compare_main(int argc, char **argv);
int eval_gate_main(int argc, char **argv);
int eval_import_main(int argc, char **argv);

#endif
