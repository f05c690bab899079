/*
 * Evaluations of other programs: a file becomes a run of kind `import` in one transaction, with
 * the identity and the host that results/import.h gives a file of measurements.
 */
#include "results/import.h"

struct evals {
    const struct store_eval_import *what;
    struct rml_error *err;
};

static bool insert_evals(struct store *store, int64_t run_id, void *user)
{
    const struct evals *e = user;
    const struct store_eval_import *what = e->what;
    bool ok = true;
    for (size_t i = 0; ok && i < what->n_evals; i++)
        ok = store_add_eval(store, run_id, &what->evals[i], e->err) >= 0;
    return ok && store_insert_eval_docs(store, run_id, what->docs, what->n_docs, e->err) &&
           store_insert_eval_items(store, run_id, what->items, what->n_items, e->err) &&
           store_insert_eval_metrics(store, run_id, what->metrics, what->n_metrics, e->err);
}

bool store_import_eval(struct store *store, const struct store_eval_import *what, char uuid[37],
                       bool *known, struct rml_error *err)
{
    struct evals evals = {.what = what, .err = err};
    struct import import = {.path = what->file,
                            .err = err,
                            .data = what->data,
                            .nbytes = what->nbytes,
                            .measured_ns = what->measured_ns,
                            .cores = -1,
                            .insert_more = insert_evals,
                            .user = &evals};
    const struct import_options options = {
        .program = what->program, .label = what->label, .argc = what->argc, .argv = what->argv};
    bool ok = import_store(&import, store, &options, uuid, known);
    import_release(&import);
    return ok;
}
