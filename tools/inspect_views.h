/*
 * The weights of a checkpoint as the parts that another may hold under other names:
 * tensors by the names that GGUF files use, and, where asked for, stacked experts and
 * fused projections taken apart.
 */
#ifndef TOOLS_INSPECT_VIEWS_H
#define TOOLS_INSPECT_VIEWS_H

#include "rml.h"

struct inspect_view {
    char name[RML_WEIGHT_NAME_NBYTES];
    const struct rml_tensor_info *tensor;
    size_t number;  /* of the tensor in its checkpoint */
    uint64_t first; /* element of the tensor, at the beginning of a row */
    int n_dims;
    uint64_t dims[RML_MAX_DIMS]; /* of the part, without outermost ones */
};

struct inspect_views {
    struct inspect_view *views; /* [n] in the order of inspect_name_order */
    size_t n, capacity;
};

/* One view for each tensor. config may be NULL: then names of tensors stay as they are. */
bool inspect_views_init(struct inspect_views *views, const struct rml_checkpoint *cp,
                        const struct rml_model_config *config, struct rml_error *err);
void inspect_views_release(struct inspect_views *views);

/* Takes apart what holds several weights and has no counterpart of its name in `other`; sorts. */
bool inspect_views_split(struct inspect_views *views, const struct inspect_views *other,
                         const struct rml_model_config *config, struct rml_error *err);

/* As strcmp, but numbers in names by their value: layer 2 before layer 10. */
int inspect_name_order(const char *a, const char *b);

uint64_t inspect_view_nelems(const struct inspect_view *view);

#endif
