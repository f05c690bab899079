/*
 * Names of weights, in both conventions.
 *
 * The decoder asks for a weight by what it is; a checkpoint may hold it under
 * one of a few names (experts stacked or apart, q, k and v fused or apart).
 */
#ifndef RML_MODEL_WEIGHT_NAMES_H
#define RML_MODEL_WEIGHT_NAMES_H

#include "files/checkpoint.h"

enum rmli_weight {
    /* of the model */
    RMLI_WEIGHT_EMBEDDING,
    RMLI_WEIGHT_OUTPUT_NORM,
    RMLI_WEIGHT_HEAD,
    RMLI_WEIGHT_ROPE_FACTORS,
    /* of a layer */
    RMLI_WEIGHT_ATTENTION_NORM,
    RMLI_WEIGHT_QKV, /* q, k and v in one, rows one after another */
    RMLI_WEIGHT_QKV_BIAS,
    RMLI_WEIGHT_Q,
    RMLI_WEIGHT_K,
    RMLI_WEIGHT_V,
    RMLI_WEIGHT_Q_BIAS,
    RMLI_WEIGHT_K_BIAS,
    RMLI_WEIGHT_V_BIAS,
    RMLI_WEIGHT_Q_NORM,
    RMLI_WEIGHT_K_NORM,
    RMLI_WEIGHT_O,
    RMLI_WEIGHT_POST_ATTENTION_NORM,
    RMLI_WEIGHT_FEED_FORWARD_NORM,
    RMLI_WEIGHT_GATE,
    RMLI_WEIGHT_UP,
    RMLI_WEIGHT_DOWN,
    RMLI_WEIGHT_POST_FEED_FORWARD_NORM,
    RMLI_WEIGHT_ROUTER,
    /* all experts of a layer in one tensor */
    RMLI_WEIGHT_STACKED_GATE_UP, /* of each expert all gate rows, then all up rows */
    RMLI_WEIGHT_STACKED_GATE,
    RMLI_WEIGHT_STACKED_UP,
    RMLI_WEIGHT_STACKED_DOWN,
    /* of one expert of a layer */
    RMLI_WEIGHT_EXPERT_GATE,
    RMLI_WEIGHT_EXPERT_UP,
    RMLI_WEIGHT_EXPERT_DOWN,
    RMLI_N_WEIGHTS
};

enum { RMLI_WEIGHT_NAME_NBYTES = 96, RMLI_WEIGHT_MAX_NAMES = 4 };

/* The names under which this kind of checkpoint of this model_type may hold a weight, the
 * usual one first; layer and expert are ignored where they have no place. Returns how many,
 * 0 when there is no such tensor in the convention. */
int rmli_weight_names(enum rml_checkpoint_kind kind, const char *model_type,
                      enum rmli_weight weight, uint32_t layer, uint32_t expert,
                      char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES]);

/* True for tensors that some checkpoints carry and no computation needs. */
bool rmli_is_inert_tensor(const char *name);

#endif
