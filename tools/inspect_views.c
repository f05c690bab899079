/*
 * Weights under one set of names: see inspect_views.h.
 */
#include "inspect_views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(struct inspect_views *views, const struct inspect_view *view, struct rml_error *err)
{
    if (views->n == views->capacity) {
        size_t capacity = 2 * views->capacity + 64;
        struct inspect_view *grown = realloc(views->views, capacity * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tensors", capacity);
        views->views = grown;
        views->capacity = capacity;
    }
    views->views[views->n++] = *view;
    return true;
}

int inspect_name_order(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static int compare_names(const void *a, const void *b)
{
    const struct inspect_view *left = a, *right = b;
    int order = inspect_name_order(left->name, right->name);
    return order ? order : strcmp(left->tensor->name, right->tensor->name);
}

static void sort(struct inspect_views *views)
{
    if (views->n)
        qsort(views->views, views->n, sizeof *views->views, compare_names);
}

bool inspect_views_init(struct inspect_views *views, const struct rml_checkpoint *cp,
                        const struct rml_model_config *config, struct rml_error *err)
{
    *views = (struct inspect_views){0};
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++) {
        struct inspect_view view = {.tensor = rml_checkpoint_tensor(cp, i), .number = i};
        if (config)
            rml_weight_name(rml_checkpoint_kind(cp), config->architecture, view.tensor->name,
                            view.name);
        else
            snprintf(view.name, sizeof view.name, "%s", view.tensor->name);
        for (int d = 0; d < view.tensor->n_dims; d++)
            if (view.n_dims > 0 || view.tensor->dims[d] != 1 || d + 1 == view.tensor->n_dims)
                view.dims[view.n_dims++] = view.tensor->dims[d];
        if (!add(views, &view, err)) {
            inspect_views_release(views);
            return false;
        }
    }
    sort(views);
    return true;
}

void inspect_views_release(struct inspect_views *views)
{
    free(views->views);
    *views = (struct inspect_views){0};
}

uint64_t inspect_view_nelems(const struct inspect_view *view)
{
    uint64_t n = 1;
    for (int d = 0; d < view->n_dims; d++)
        n *= view->dims[d];
    return n;
}

static bool has(const struct inspect_views *views, const char *name)
{
    size_t low = 0, high = views->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = inspect_name_order(name, views->views[middle].name);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* ---- Taking apart ------------------------------------------------------------------- */

/* Rows [row, row + n_rows) of a tensor whose rows have n_cols elements. */
static bool add_rows(struct inspect_views *out, const struct inspect_view *whole, const char *name,
                     uint64_t row, uint64_t n_rows, uint64_t n_cols, bool is_vector,
                     struct rml_error *err)
{
    struct inspect_view part = {
        .tensor = whole->tensor, .number = whole->number, .first = row * n_cols};
    snprintf(part.name, sizeof part.name, "%s", name);
    part.dims[part.n_dims++] = n_rows;
    if (!is_vector)
        part.dims[part.n_dims++] = n_cols;
    return add(out, &part, err);
}

/* "blk.L.ffn_KIND_exps.weight" into "blk.L.ffn_KIND.E.weight" for every expert. */
static bool add_experts(struct inspect_views *out, const struct inspect_view *whole, unsigned layer,
                        const char *kind, struct rml_error *err)
{
    bool fused = strcmp(kind, "gate_up") == 0;
    uint64_t n_rows = whole->dims[1], n_cols = whole->dims[2], half = fused ? n_rows / 2 : n_rows;
    char name[RML_WEIGHT_NAME_NBYTES];
    bool ok = true;
    for (uint64_t e = 0; ok && e < whole->dims[0]; e++) {
        snprintf(name, sizeof name, "blk.%u.ffn_%s.%" PRIu64 ".weight", layer,
                 fused ? "gate" : kind, e);
        ok = add_rows(out, whole, name, e * n_rows, half, n_cols, false, err);
        if (ok && fused) {
            snprintf(name, sizeof name, "blk.%u.ffn_up.%" PRIu64 ".weight", layer, e);
            ok = add_rows(out, whole, name, e * n_rows + half, half, n_cols, false, err);
        }
    }
    return ok;
}

/* "blk.L.attn_qkv.weight" or ".bias" into q, k and v. */
static bool add_qkv(struct inspect_views *out, const struct inspect_view *whole, unsigned layer,
                    const char *ending, const struct rml_model_config *config,
                    struct rml_error *err)
{
    uint64_t kv = (uint64_t)config->n_head_kv * config->head_dim, row = 0;
    const uint64_t n_rows[] = {(uint64_t)config->n_head * config->head_dim, kv, kv};
    bool is_vector = whole->n_dims == 1, ok = true;
    char name[RML_WEIGHT_NAME_NBYTES];
    for (int i = 0; ok && i < 3; row += n_rows[i++]) {
        snprintf(name, sizeof name, "blk.%u.attn_%c.%s", layer, "qkv"[i], ending);
        ok = add_rows(out, whole, name, row, n_rows[i], is_vector ? 1 : whole->dims[1], is_vector,
                      err);
    }
    return ok;
}

static bool split_one(struct inspect_views *out, const struct inspect_view *view,
                      const struct rml_model_config *config, struct rml_error *err)
{
    unsigned layer;
    char kind[16], rest[16];
    if (view->n_dims == 3 &&
        sscanf(view->name, "blk.%u.ffn_%15[a-z_].%15s", &layer, kind, rest) == 3 &&
        strcmp(rest, "weight") == 0) {
        static const char *const stacked[] = {"gate_exps", "up_exps", "down_exps", "gate_up_exps"};
        for (size_t i = 0; i < sizeof stacked / sizeof *stacked; i++) {
            if (strcmp(kind, stacked[i]) != 0)
                continue;
            kind[strlen(kind) - strlen("_exps")] = 0;
            return add_experts(out, view, layer, kind, err);
        }
    }
    if (sscanf(view->name, "blk.%u.attn_qkv.%15s", &layer, rest) == 2 && view->n_dims <= 2 &&
        view->dims[0] ==
            ((uint64_t)config->n_head + 2 * (uint64_t)config->n_head_kv) * config->head_dim)
        return add_qkv(out, view, layer, rest, config, err);
    return add(out, view, err);
}

bool inspect_views_split(struct inspect_views *views, const struct inspect_views *other,
                         const struct rml_model_config *config, struct rml_error *err)
{
    struct inspect_views out = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < views->n; i++) {
        const struct inspect_view *view = &views->views[i];
        ok = !config || has(other, view->name) ? add(&out, view, err)
                                               : split_one(&out, view, config, err);
    }
    if (!ok) {
        inspect_views_release(&out);
        return false;
    }
    inspect_views_release(views);
    *views = out;
    sort(views);
    return true;
}
