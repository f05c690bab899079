#include "tools/cli/stored_run.h"

#include <limits.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

bool cli_run_begin(const struct cli_options *options, enum store_run_kind kind, int64_t seed,
                   struct store **store, int64_t *run_id, struct rml_error *err)
{
    *store = NULL;
    *run_id = 0;
    if (options->no_db)
        return true;
    char path[PATH_MAX];
    if (!store_path(options->db, path, sizeof path, err) ||
        !(*store = store_open(path, STORE_WRITE, err)))
        return false;
    struct store_run run = {.kind = kind, .seed = seed};
    run.argv = cli_command_line(&run.argc);
    *run_id = store_begin_run(*store, &run, err);
    if (*run_id < 0) {
        store_close(*store);
        *store = NULL;
        return false;
    }
    return true;
}

int cli_run_end(struct store *store, int64_t run_id, int exit_code)
{
    if (!store)
        return exit_code;
    bool aborted = exit_code == CLI_INTERRUPTED || exit_code == CLI_TERMINATED;
    enum store_run_state state = aborted                  ? STORE_ABORTED
                                 : exit_code == CLI_ERROR ? STORE_FAILED
                                                          : STORE_COMPLETE;
    struct rml_error err = RML_ERROR_INIT;
    if (!store_finish_run(store, run_id, state, exit_code, &err))
        exit_code = cli_error(&err);
    store_close(store);
    return exit_code;
}
