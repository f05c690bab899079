/* A loaded model: its recipe, its weights and what can be asked of them. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

bool rmli_model_init_rope(struct rml_model *model, struct rml_error *err)
{
    const struct rml_model_config *c = &model->config;
    if (!rmli_rope_init(&model->rope, c->head_dim, c->rope_theta, &c->rope_scaling,
                        model->weights.rope_factors, err))
        return false;
    if (c->rope_local_theta <= 0)
        return true;
    const struct rml_rope_scaling none = {.type = RML_ROPE_SCALING_NONE};
    return rmli_rope_init(&model->rope_local, c->head_dim, c->rope_local_theta, &none, NULL, err);
}

struct rml_model *rml_model_load(struct rml_checkpoint *cp, struct rml_error *err)
{
    struct rml_model *model = calloc(1, sizeof *model);
    if (!model) {
        rmli_fail(err, RML_NO_MEMORY, rml_checkpoint_path(cp), -1, "no memory for a model");
        return NULL;
    }
    struct rml_error rope_err = RML_ERROR_INIT;
    bool loaded = rml_model_config_read(cp, &model->config, err) &&
                  rmli_weights_init(&model->weights, cp, &model->config, err);
    if (loaded && !rmli_model_init_rope(model, &rope_err))
        loaded = rmli_fail(err, rope_err.code, rml_checkpoint_path(cp), -1, "%s", rope_err.message);
    if (!loaded) {
        rml_model_destroy(model);
        return NULL;
    }
    model->checkpoint = cp;
    return model;
}

void rml_model_destroy(struct rml_model *model)
{
    if (!model)
        return;
    rmli_rope_release(&model->rope);
    rmli_rope_release(&model->rope_local);
    if (model->arena)
        rmli_free(model->arena);
    else
        rmli_weights_release(&model->weights);
    rml_checkpoint_close(model->checkpoint);
    free(model);
}

const struct rml_model_config *rml_model_config(const struct rml_model *model)
{
    return &model->config;
}

const struct rml_checkpoint *rml_model_checkpoint(const struct rml_model *model)
{
    return model->checkpoint;
}

size_t rml_model_weight_nbytes(const struct rml_model *model)
{
    return model->weights.nbytes;
}

size_t rml_model_copied_nbytes(const struct rml_model *model)
{
    return model->weights.nbytes_copied;
}

void rmli_model_visit_matrices(const struct rml_model *model, rmli_visit_matrix_fn *visit,
                               void *user)
{
    const struct rmli_weights *w = &model->weights;
    visit(user, &w->embedding);
    if (w->head.data != w->embedding.data)
        visit(user, &w->head);
    for (uint32_t l = 0; l < model->config.n_layer; l++) {
        const struct rmli_layer_weights *layer = &w->layers[l];
        visit(user, &layer->q);
        visit(user, &layer->k);
        visit(user, &layer->v);
        visit(user, &layer->o);
        if (!model->config.n_expert) {
            visit(user, &layer->gate);
            visit(user, &layer->up);
            visit(user, &layer->down);
            continue;
        }
        visit(user, &layer->router);
        for (uint32_t e = 0; e < model->config.n_expert; e++) {
            visit(user, &layer->expert_gate[e]);
            visit(user, &layer->expert_up[e]);
            visit(user, &layer->expert_down[e]);
        }
    }
}

static void add_nbytes(void *user, const struct rmli_matrix *matrix)
{
    size_t *nbytes_of = user;
    nbytes_of[matrix->dtype] += matrix->n_rows * matrix->row_nbytes;
}

enum rml_dtype rml_model_weight_dtype(const struct rml_model *model)
{
    size_t nbytes_of[RML_N_WEIGHT_DTYPES] = {0};
    rmli_model_visit_matrices(model, add_nbytes, nbytes_of);
    enum rml_dtype most = RML_F32;
    for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++) {
        if (nbytes_of[dtype] > nbytes_of[most])
            most = (enum rml_dtype)dtype;
    }
    return most;
}

static void note_quantised(void *user, const struct rmli_matrix *matrix)
{
    if (rml_dtype_traits(matrix->dtype)->block_nelems > 1)
        *(bool *)user = true;
}

bool rml_model_is_quantised(const struct rml_model *model)
{
    bool quantised = false;
    rmli_model_visit_matrices(model, note_quantised, &quantised);
    return quantised;
}

struct rml_kv_shape rml_model_kv_shape(const struct rml_model *model, enum rml_kv_dtype k_dtype,
                                       enum rml_kv_dtype v_dtype)
{
    return (struct rml_kv_shape){
        .n_layer = model->config.n_layer,
        .n_head_kv = model->config.n_head_kv,
        .head_dim = model->config.head_dim,
        .k_dtype = k_dtype,
        .v_dtype = v_dtype,
    };
}
