#include "bench/checkpoint_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/paths.h"

struct rml_model *bench_open_model(const char *path, struct rml_error *err)
{
    struct rml_checkpoint *cp = rml_checkpoint_open(path, err);
    struct rml_model *model = cp ? rml_model_load(cp, err) : NULL;
    if (cp && !model)
        rml_checkpoint_close(cp);
    return model;
}

/* Many checkpoints for tests have no tokenizer: then it is not known. */
static void know_tokenizer(const struct rml_checkpoint *cp, char hex[65])
{
    struct rml_tokenizer *tokenizer = rml_tokenizer_from_checkpoint(cp, NULL, NULL);
    if (tokenizer && !rml_tokenizer_content_sha256(tokenizer, hex, NULL))
        hex[0] = 0;
    rml_tokenizer_destroy(tokenizer);
}

static bool hash(const struct rml_checkpoint *cp, bool cached_only, char hex[65],
                 struct rml_error *err)
{
    char *cache = cli_content_hash_cache();
    bool ok = cached_only ? cache && rml_checkpoint_cached_sha256(cp, cache, hex)
                          : rml_checkpoint_content_sha256(cp, cache, hex, err);
    free(cache);
    return ok;
}

/* The model at path, which becomes the plan's. */
static struct rml_model *load(struct bench_plan *plan, const char *path, bool cached_only,
                              struct rml_error *err)
{
    struct rml_model *loaded = bench_open_model(path, err);
    struct bench_model *m = calloc(1, sizeof *m);
    bool ok = loaded != NULL;
    if (ok && (!m || !(m->path = strdup(path))))
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a checkpoint");
    const struct rml_checkpoint *cp = loaded ? rml_model_checkpoint(loaded) : NULL;
    if (!ok || !hash(cp, cached_only, m->sha256, err)) {
        if (m)
            free(m->path);
        free(m);
        rml_model_destroy(loaded);
        return NULL;
    }
    m->nbytes = rml_checkpoint_nbytes(cp);
    m->config = *rml_model_config(loaded);
    m->weight_dtype = rml_dtype_traits(rml_model_weight_dtype(loaded))->name;
    know_tokenizer(cp, m->tokenizer_sha256);
    plan->model = m;
    return loaded;
}

struct rml_model *bench_load_model(struct bench_plan *plan, const char *path, struct rml_error *err)
{
    return load(plan, path, false, err);
}

void bench_recognise_model(struct bench_plan *plan, const char *path)
{
    rml_model_destroy(load(plan, path, true, NULL));
}

int64_t bench_store_model(struct store *store, int64_t run_id, const struct bench_model *m,
                          struct rml_error *err)
{
    struct store_model model = {
        .content_sha256 = m->sha256,
        .file_name = m->path,
        .file_nbytes = m->nbytes,
        .config = &m->config,
        .weight_dtype = m->weight_dtype,
        .tokenizer_sha256 = m->tokenizer_sha256[0] ? m->tokenizer_sha256 : NULL,
    };
    return store_add_model(store, run_id, &model, err);
}
