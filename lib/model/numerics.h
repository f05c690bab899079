/*
 * The version of the numbers that this library computes.
 *
 * Logits depend on the checkpoint, the arithmetic, the cache dtypes and this integer. It is
 * raised whenever a change moves a bit of any logit, which test_numerics.c notices by
 * committed hashes; whoever keeps a computed number keeps it under a key that contains it.
 */
#ifndef RML_MODEL_NUMERICS_H
#define RML_MODEL_NUMERICS_H

#define RML_NUMERICS_VERSION 1

#endif
