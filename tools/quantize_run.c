/*
 * The run of rml-quantize in the results database.
 */
#include <stdlib.h>

#include "quantize.h"
#include "results/store.h"
#include "tools/cli/paths.h"
#include "tools/cli/stored_run.h"

bool quantize_run_begin(struct quantize_run *run, const struct cli_options *options,
                        struct rml_error *err)
{
    *run = (struct quantize_run){0};
    return cli_run_begin(options, STORE_RUN_QUANTIZE, -1, &run->store, &run->run_id, err);
}

/* The type that most bytes of the weights have. */
static const char *main_dtype(const struct rml_checkpoint *cp)
{
    uint64_t nbytes[RML_N_DTYPES] = {0};
    int most = RML_F32;
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++) {
        const struct rml_tensor_info *t = rml_checkpoint_tensor(cp, i);
        nbytes[t->dtype] += t->nbytes;
        if (nbytes[t->dtype] > nbytes[most])
            most = (int)t->dtype;
    }
    return rml_dtype_traits((enum rml_dtype)most)->name;
}

bool quantize_run_add_model(struct quantize_run *run, const struct rml_checkpoint *cp,
                            struct rml_error *err)
{
    if (!run->store)
        return true;
    struct rml_model_config *config = malloc(sizeof *config);
    if (!config)
        return rmli_fail(err, RML_NO_MEMORY, rml_checkpoint_path(cp), -1, "no memory to record it");
    char sha256[65], *cache = cli_content_hash_cache();
    bool ok = rml_checkpoint_content_sha256(cp, cache, sha256, err) &&
              rml_model_config_read(cp, config, err);
    free(cache);
    struct store_model model = {
        .content_sha256 = sha256,
        .file_name = rml_checkpoint_path(cp),
        .file_nbytes = rml_checkpoint_nbytes(cp),
        .config = config,
        .weight_dtype = main_dtype(cp),
    };
    ok = ok && store_add_model(run->store, run->run_id, &model, err) > 0;
    free(config);
    return ok;
}

int quantize_run_end(struct quantize_run *run, int exit_code)
{
    exit_code = cli_run_end(run->store, run->run_id, exit_code);
    run->store = NULL;
    return exit_code;
}
