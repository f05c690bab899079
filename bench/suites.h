/*
 * The suites of rml-bench: each is one command with options of its own.
 */
#ifndef BENCH_SUITES_H
#define BENCH_SUITES_H

int bench_attention_main(int argc, char **argv);
int bench_decoder_main(int argc, char **argv);

#endif
