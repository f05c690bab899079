/* What stands behind rml_model, for the forward pass alone. */
#ifndef RML_MODEL_MODEL_H
#define RML_MODEL_MODEL_H

#include "model/decoder.h"
#include "model/rope.h"
#include "model/weights.h"

struct rml_model {
    struct rml_model_config config;
    struct rmli_weights weights;
    struct rmli_rope rope;             /* of all layers, or of the global ones */
    struct rmli_rope rope_local;       /* of sliding layers when config.rope_local_theta > 0 */
    struct rml_checkpoint *checkpoint; /* owned; NULL for random weights */
    void *arena;                       /* owns the weights when they are random */
};

/* Builds the rotary tables from config and weights. */
bool rmli_model_init_rope(struct rml_model *model, struct rml_error *err);

/* Calls visit(user, matrix) for every matrix of the model, the head only when it is not the
 * embedding again; layers in order, experts in order. */
typedef void rmli_visit_matrix_fn(void *user, const struct rmli_matrix *matrix);
void rmli_model_visit_matrices(const struct rml_model *model, rmli_visit_matrix_fn *visit,
                               void *user);

#endif
