/*
 * Text to feed tokenizers with, made from a seed: the same bytes on every machine.
 *
 * A mixture as models are fed with: words of a language that does not exist (Zipf's law over a
 * vocabulary of syllables), numbers, lines of code, and some words with accents, Cyrillic, Chinese
 * and emoji. Its statistics are those of no real text; rates compare tokenizers and threads, not corpora
 * (--text takes a real one).
 */
#ifndef BENCH_SAMPLE_TEXT_H
#define BENCH_SAMPLE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* nbytes bytes of UTF-8 or up to three fewer, to be freed; *n is their number. NULL with
 * RML_NO_MEMORY. */
char *bench_sample_text(size_t nbytes, uint64_t seed, size_t *n, struct rml_error *err);

#endif
