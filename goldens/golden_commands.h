/*
 * The commands of rml-golden; each takes its own command line and returns an
 * exit code (tools/cli/options.h).
 */
#ifndef GOLDENS_GOLDEN_COMMANDS_H
#define GOLDENS_GOLDEN_COMMANDS_H

int golden_record_main(int argc, char **argv);
int golden_check_main(int argc, char **argv);
int golden_suite_main(int argc, char **argv);

#endif
