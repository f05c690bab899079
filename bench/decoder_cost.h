/*
 * What an iteration of a decoder has to move and to compute, from its shape.
 *
 * Bytes are the least that has to be moved: matrices once for each 512 rows (the head once),
 * one row of the embedding for each row, keys and values once for each 512 rows, the new ones
 * written. Of experts those count that so many rows choose when they choose evenly. Operations are
 * two for each multiply-add of matrices and attention.
 */
#ifndef BENCH_DECODER_COST_H
#define BENCH_DECODER_COST_H

#include "bench/decoder_case.h"

/* Bytes of a model's matrices, by how they are read. */
struct decoder_weights {
    double every_row; /* of all layers but their experts */
    double expert;    /* of one expert of every layer; 0: dense */
    double head;
    double embedding_row;
    double total; /* all of them once */
};

/* All matrices of one type, as rml_model_random makes them. */
struct decoder_weights decoder_weights_of_type(const struct rml_model_config *config,
                                               enum rml_dtype dtype);
/* As the checkpoint stores them. */
struct decoder_weights decoder_weights_of_model(const struct rml_model *model);

/* Of one iteration; for decoding the mean over its n_gen tokens. */
double decoder_bytes(const struct rml_model_config *config, const struct decoder_weights *weights,
                     const struct decoder_settings *settings);
double decoder_flops(const struct rml_model_config *config,
                     const struct decoder_settings *settings);

/* About what a case has resident: weights, cache, scratch memory and logits. */
double decoder_memory_nbytes(const struct rml_model_config *config,
                             const struct decoder_weights *weights,
                             const struct decoder_settings *settings);

#endif
