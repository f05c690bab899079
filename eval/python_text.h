/*
 * Text as Python counts it: lm-eval's rules are written in terms of str.rstrip, re.split(r"\s+")
 * and len, which know 29 code points of white space and count code points, not bytes.
 *
 * Text is UTF-8; a byte that begins no well-formed sequence counts as one character.
 */
#ifndef EVAL_PYTHON_TEXT_H
#define EVAL_PYTHON_TEXT_H

#include <stddef.h>

/* len(text) */
size_t python_length(const char *text, size_t nbytes);
/* The bytes of text.rstrip(). */
size_t python_rstrip_nbytes(const char *text, size_t nbytes);
/* The bytes that text.lstrip() takes off. */
size_t python_leading_space_nbytes(const char *text, size_t nbytes);
/* len(re.split(r"\s+", text)): 1 more than the runs of white space, so "" has 1 and " a b\n" 4. */
size_t python_n_words(const char *text, size_t nbytes);
/* The words (runs without white space) whose first character is at byte `begin` or after it. */
size_t python_n_words_begun(const char *text, size_t nbytes, size_t begin);

#endif
