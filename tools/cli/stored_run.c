#include "tools/cli/stored_run.h"

#include <limits.h>
#include <stdlib.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/paths.h"
#include "tools/cli/report.h"

bool cli_store_open(const struct cli_options *options, struct store **store, struct rml_error *err)
{
    char path[PATH_MAX];
    *store = NULL;
    return options->no_db || (store_path(options->db, path, sizeof path, err) &&
                              (*store = store_open(path, STORE_WRITE, err)) != NULL);
}

bool cli_run_add(struct store *store, enum store_run_kind kind, int64_t seed, const char *label,
                 int64_t *run_id, struct rml_error *err)
{
    struct store_run run = {.kind = kind, .seed = seed, .label = label};
    run.argv = cli_command_line(&run.argc);
    *run_id = store_begin_run(store, &run, err);
    return *run_id >= 0;
}

int cli_run_finish(struct store *store, int64_t run_id, int exit_code)
{
    bool aborted = exit_code == CLI_INTERRUPTED || exit_code == CLI_TERMINATED;
    enum store_run_state state = aborted                  ? STORE_ABORTED
                                 : exit_code == CLI_ERROR ? STORE_FAILED
                                                          : STORE_COMPLETE;
    struct rml_error err = RML_ERROR_INIT;
    return store_finish_run(store, run_id, state, exit_code, &err) ? exit_code : cli_error(&err);
}

bool cli_run_begin(const struct cli_options *options, enum store_run_kind kind, int64_t seed,
                   struct store **store, int64_t *run_id, struct rml_error *err)
{
    *run_id = 0;
    if (!cli_store_open(options, store, err))
        return false;
    if (!*store || cli_run_add(*store, kind, seed, NULL, run_id, err))
        return true;
    store_close(*store);
    *store = NULL;
    return false;
}

int64_t cli_run_add_model(struct store *store, int64_t run_id, const struct rml_model *model,
                          const char *sha256, const char *tokenizer_sha256, struct rml_error *err)
{
    const struct rml_checkpoint *cp = rml_model_checkpoint(model);
    struct store_model row = {
        .content_sha256 = sha256,
        .file_name = rml_checkpoint_path(cp),
        .file_nbytes = rml_checkpoint_nbytes(cp),
        .config = rml_model_config(model),
        .weight_dtype = rml_dtype_traits(rml_model_weight_dtype(model))->name,
        .tokenizer_sha256 = tokenizer_sha256,
    };
    return store_add_model(store, run_id, &row, err);
}

bool cli_run_add_known_model(struct store *store, int64_t run_id, const struct rml_model *model,
                             const char *tokenizer_sha256, struct rml_error *err)
{
    char sha256[65], *cache = store ? cli_content_hash_cache() : NULL;
    bool known = cache && rml_checkpoint_cached_sha256(rml_model_checkpoint(model), cache, sha256);
    free(cache);
    return !known || cli_run_add_model(store, run_id, model, sha256, tokenizer_sha256, err) >= 0;
}

int cli_run_end(struct store *store, int64_t run_id, int exit_code)
{
    if (!store)
        return exit_code;
    exit_code = cli_run_finish(store, run_id, exit_code);
    store_close(store);
    return exit_code;
}
