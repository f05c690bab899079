#include "bench/session.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* The checkpoint of the plan, as the database knows it. */
static bool know_model(struct bench_session *session, const struct bench_model *m,
                       struct rml_error *err)
{
    if (!m)
        return true;
    struct store_model model = {
        .content_sha256 = m->sha256,
        .file_name = m->path,
        .file_nbytes = m->nbytes,
        .config = &m->config,
        .weight_dtype = m->weight_dtype,
        .tokenizer_sha256 = m->tokenizer_sha256[0] ? m->tokenizer_sha256 : NULL,
    };
    session->model_id = store_upsert_model(session->store, &model, err);
    return session->model_id >= 0;
}

bool bench_session_begin(struct bench_session *session, const struct cli_options *options,
                         const struct bench_plan *plan, struct rml_error *err)
{
    *session = (struct bench_session){.options = options, .n_cases = plan->n_specs};
    if (options->no_db)
        return true;

    char path[PATH_MAX];
    struct store_run run = {.kind = STORE_RUN_BENCH, .seed = (int64_t)(options->seed & INT64_MAX)};
    run.argv = cli_command_line(&run.argc);
    if (!store_path(options->db, path, sizeof path, err))
        return false;
    session->store = store_open(path, STORE_WRITE, err);
    session->run_id = session->store && know_model(session, plan->model, err)
                          ? store_begin_run(session->store, &run, err)
                          : -1;
    if (session->run_id < 0) {
        store_close(session->store);
        return false;
    }
    return true;
}

void bench_session_announce(const struct bench_session *session, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_progress("%zu/%zu %s", session->n_rows + 1, session->n_cases, text);
}

bool bench_session_take(struct bench_session *session, struct bench_row *row, struct rml_error *err)
{
    if (session->n_rows == session->n_room) {
        size_t n_room = 2 * session->n_room + 16;
        struct bench_row **rows = realloc(session->rows, n_room * sizeof *rows);
        if (!rows) {
            bench_row_destroy(row);
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for results");
        }
        session->rows = rows;
        session->n_room = n_room;
    }
    session->rows[session->n_rows++] = row;
    row->what.model_id = session->model_id;
    if (row->result.status == STORE_ERROR)
        cli_warn("%s/%s: %s", row->what.suite, row->what.name, row->result.error);
    return store_add_result(session->store, session->run_id, &row->what, &row->result, err) >= 0;
}

int bench_session_end(struct bench_session *session, const struct rml_error *err)
{
    size_t n_measured = 0, n_errors = 0, n_unstable = 0;
    for (size_t i = 0; i < session->n_rows; i++) {
        n_measured += session->rows[i]->samples.n_samples > 0;
        n_errors += session->rows[i]->result.status == STORE_ERROR;
        n_unstable += session->rows[i]->result.status == STORE_UNSTABLE;
    }
    int code = CLI_PASS;
    enum store_run_state state = STORE_COMPLETE;
    if (err->code == RML_CANCELLED) {
        code = cli_interrupted_code();
        state = STORE_ABORTED;
    } else if (err->code != RML_OK || n_errors > 0 || n_measured == 0) {
        code = CLI_ERROR;
        state = err->code != RML_OK ? STORE_FAILED : STORE_COMPLETE;
    }

    struct rml_error end_err = RML_ERROR_INIT;
    store_finish_run(session->store, session->run_id, state, code, &end_err);
    store_close(session->store);

    cli_progress_clear();
    /* With --json an error is the document, unless there are rows: those are not given up. */
    bool failed = err->code != RML_OK && err->code != RML_CANCELLED;
    if (session->options->json && (!failed || session->n_rows > 0)) {
        json_t *document = bench_rows_json(session, &end_err);
        if (document)
            cli_json_print(document, 17);
        json_decref(document);
        cli_report_setup(false, session->options->verbosity);
    } else if (session->n_rows > 0) {
        bench_rows_print(session);
    }
    if (n_unstable > 0)
        cli_note("unstable: in %zu of %zu cases the time was still changing after a second of "
                 "warm-up",
                 n_unstable, session->n_rows);
    if (err->code == RML_CANCELLED)
        cli_note("interrupted, cases finished and kept: %zu", session->n_rows);
    if (failed)
        cli_error(err);
    if (end_err.code != RML_OK)
        code = cli_error(&end_err);

    for (size_t i = 0; i < session->n_rows; i++)
        bench_row_destroy(session->rows[i]);
    free(session->rows);
    return code;
}
