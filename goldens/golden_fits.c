/*
 * Whether a golden file can be about a model of this recipe.
 */
#include "goldens/golden_file.h"

#include "goldens/golden_json.h"

static bool ids_fit(const struct golden_reader *r, const char *place, const int32_t *ids, size_t n,
                    uint32_t n_vocab)
{
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)ids[i] >= n_vocab) {
            char at[GOLDEN_PLACE_NBYTES];
            snprintf(at, sizeof at, "%.120s[%zu]", place, i);
            return golden_refuse(r, at, "id %d found, expected one below the model's %u",
                                 (int)ids[i], n_vocab);
        }
    return true;
}

static bool positions_fit(const struct golden_reader *r, const char *place,
                          const struct golden_case *c, uint32_t n_vocab)
{
    for (size_t i = 0; i < c->n_positions; i++) {
        const struct golden_position *p = &c->positions[i];
        char at[GOLDEN_PLACE_NBYTES];
        snprintf(at, sizeof at, "%s.positions[%zu].%s", place, i, p->ids ? "top" : "logits");
        if (p->ids) {
            if (!ids_fit(r, at, p->ids, p->n, n_vocab))
                return false;
        } else if (p->n != n_vocab)
            return golden_refuse(r, at, "%zu numbers found, expected the model's %u", p->n,
                                 n_vocab);
    }
    return true;
}

size_t golden_case_max_tokens(const struct golden_case *c)
{
    return c->n_tokens + (c->n_greedy > 0 ? c->n_greedy - 1 : 0);
}

bool golden_fits(const struct golden *golden, const struct rml_model_config *config,
                 struct rml_error *err)
{
    struct golden_reader r = {.file = golden->path, .err = err};
    for (size_t i = 0; i < golden->n_cases; i++) {
        const struct golden_case *c = &golden->cases[i];
        char place[32], at[GOLDEN_PLACE_NBYTES];
        snprintf(place, sizeof place, "cases[%zu]", i);
        golden_place(at, place, "tokens");
        if (!ids_fit(&r, at, c->tokens, c->n_tokens, config->n_vocab))
            return false;
        golden_place(at, place, "greedy");
        if (!ids_fit(&r, at, c->greedy, c->n_greedy, config->n_vocab) ||
            !positions_fit(&r, place, c, config->n_vocab))
            return false;
        if (golden_case_max_tokens(c) > config->n_context)
            return golden_refuse(&r, place,
                                 "%zu tokens and %zu greedy steps found, which do not fit the "
                                 "model's %u positions",
                                 c->n_tokens, c->n_greedy, config->n_context);
        for (size_t j = 0; j < c->n_residual; j++) {
            const struct golden_residual *x = &c->residual[j];
            int n_layer = (int)config->n_layer;
            if (x->branch == RML_BRANCH_OUTPUT ? x->layer != n_layer : x->layer >= n_layer)
                return golden_refuse(&r, place,
                                     "residual of layer %d, %s found, expected the model's %d "
                                     "layers (output: layer %d)",
                                     x->layer, rml_branch_name(x->branch), n_layer, n_layer);
        }
    }
    return true;
}

size_t golden_max_tokens(const struct golden *golden)
{
    size_t most = 0;
    for (size_t i = 0; i < golden->n_cases; i++)
        if (golden_case_max_tokens(&golden->cases[i]) > most)
            most = golden_case_max_tokens(&golden->cases[i]);
    return most;
}
