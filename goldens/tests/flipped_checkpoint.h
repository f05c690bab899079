/*
 * A checkpoint in which one weight has the other sign.
 */
#ifndef GOLDENS_TESTS_FLIPPED_CHECKPOINT_H
#define GOLDENS_TESTS_FLIPPED_CHECKPOINT_H

#include "rml.h"

/* The bytes of a file; freed by the caller. Ends the program when it cannot be read. */
uint8_t *read_bytes(const char *path, size_t *nbytes);
/* Writes a file, or ends the program. */
void write_bytes(const char *path, const uint8_t *bytes, size_t nbytes);

/* The path of a fixture below goldens/fixtures, in a static buffer. */
const char *fixture(const char *name);

/* Element i of an F32, F16 or BF16 tensor. */
double element_value(const struct rml_tensor_info *tensor, size_t i);
/* The element of [first, first + n) with the greatest absolute value. */
size_t greatest_element(const struct rml_tensor_info *tensor, size_t first, size_t n);
/* Turns the sign of element i in the bytes of the tensor's file. */
void flip_sign(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i);
/* Doubles or halves element i of an F32 tensor. */
void flip_exponent(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i);
/* Puts a NaN there. */
void put_nan(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i);

#endif
