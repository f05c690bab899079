/*
 * Where the time of a forward pass goes: by operation, and how much of it threads wait.
 *
 * A context with a profile reads the clock when an operation ends, and counts the time since the
 * one before as its own; the pool counts what its threads spend in tasks. What is left of
 * threads x time is waiting: at the barrier at an operation's end, for a thread that works on,
 * or while one thread does what cannot be shared. Times are added up over passes.
 *
 * Without a profile there is one test of a pointer for each operation (some fifteen in a layer), and
 * one for each share of a parallel loop. The order of computation is the same either way, so
 * numbers are too.
 */
#ifndef RML_MODEL_PROFILE_H
#define RML_MODEL_PROFILE_H

#include <stdint.h>

enum rml_operation {
    RML_OP_EMBED, /* embedding rows and angles */
    RML_OP_NORM,  /* norms before, behind and within the halves of a layer, and their residual */
    RML_OP_QKV,   /* projections, inputs quantised included; so for all below */
    RML_OP_ROPE_STORE, /* biases, QK-norm, rotation, storing keys and values */
    RML_OP_ATTENTION,
    RML_OP_ATTENTION_OUT,
    RML_OP_ROUTE, /* of experts: router, choice, rows gathered */
    RML_OP_GATE_UP,
    RML_OP_ACTIVATION,
    RML_OP_DOWN,
    RML_OP_COMBINE, /* outputs of experts added up */
    RML_OP_HEAD,
    RML_OP_OTHER, /* checks, pages, rows of a chunk, probes */
    RML_N_OPERATIONS
};
const char *rml_operation_name(enum rml_operation operation); /* "qkv", "attention_out" ... */

struct rml_profile {
    int64_t wall_ns[RML_N_OPERATIONS]; /* of the calling thread: they add up to the passes' time */
    int64_t wait_ns[RML_N_OPERATIONS]; /* of all threads together */
    int64_t last_ns, last_busy_ns;     /* at the last operation's end */
};

struct rml_context;

/* From now on passes of the context add to *profile (zeroed by the caller), which is borrowed until
 * the next call; NULL: no more. Not while a pass is running. */
void rml_context_set_profile(struct rml_context *context, struct rml_profile *profile);

#endif
