#include "bench/bench_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/checkpoint_model.h"
#include "bench/outputs.h"
#include "bench/roof.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/table.h"
#include "tools/cli/report.h"

/* The checkpoint of the plan, as the database knows it. */
static bool know_model(struct bench_session *session, const struct bench_model *m,
                       struct rml_error *err)
{
    if (m)
        session->model_id = bench_store_model(session->store, session->run_id, m, err);
    return session->model_id >= 0;
}

/* The id of the run; -1 on failure. */
static int64_t begin_run(struct bench_session *session, const struct bench_plan *plan, int n_reps,
                         bool profile, bool resume, const char *label, struct rml_error *err)
{
    char sha256[65];
    struct store_run run = {.kind = STORE_RUN_BENCH,
                            .seed = (int64_t)(session->options->seed & INT64_MAX),
                            .label = label,
                            .plan_sha256 = sha256};
    run.argv = cli_command_line(&run.argc);
    if (!bench_plan_sha256(plan, n_reps, profile, sha256, err))
        return -1;
    int64_t id = resume ? store_resume_run(session->store, &run, err) : 0;
    session->resumed = id > 0;
    return id != 0 ? id : store_begin_run(session->store, &run, err);
}

bool bench_session_begin(struct bench_session *session, const struct cli_options *options,
                         const struct bench_plan *plan, int n_reps, bool profile, bool resume,
                         const char *label, struct rml_error *err)
{
    char path[PATH_MAX];
    *session = (struct bench_session){.options = options};
    if (options->no_db)
        return true;
    if (!store_path(options->db, path, sizeof path, err))
        return false;
    session->store = store_open(path, STORE_WRITE, err);
    session->run_id =
        session->store ? begin_run(session, plan, n_reps, profile, resume, label, err) : -1;
    if (session->run_id >= 0 && know_model(session, plan->model, err))
        return true;
    if (session->run_id >= 0)
        store_finish_run(session->store, session->run_id, STORE_FAILED, CLI_ERROR, NULL);
    store_close(session->store);
    return false;
}

static bool keep(struct bench_session *session, struct bench_row *row, struct rml_error *err)
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
    row->what.model_id = row->spec->model_sha256 ? session->model_id : 0;
    return true;
}

/* How much of the newest roof of this host the row reaches. */
static bool judge_by_roof(const struct bench_session *session, struct bench_row *row,
                          struct rml_error *err)
{
    const struct store_case *c = &row->what;
    const struct store_result *r = &row->result;
    struct roof roof;
    if (r->n_samples == 0 || strcmp(c->suite, "roof") == 0)
        return true;
    if (!roof_of(session->store, session->run_id, c->threads, c->isa, &roof, err))
        return false;
    bool i8 = c->arithmetic && strcmp(c->arithmetic, "i8") == 0;
    row->roof_fraction =
        roof_fraction(&roof, r->bytes_per_iter, r->flops_per_iter, i8, row->stats.median);
    return true;
}

/* An error is no measurement, nor is a case that was skipped for want of memory that is there now. */
static bool is_to_be_measured_again(const struct bench_spec *spec,
                                    const struct store_result *result)
{
    return result->status == STORE_ERROR || (result->status == STORE_SKIPPED && !spec->skip_reason);
}

bool bench_session_recall(struct bench_session *session, const struct bench_spec *spec, bool *found,
                          struct rml_error *err)
{
    *found = false;
    if (!session->resumed)
        return true;
    char *key = bench_spec_key(spec);
    struct store_loaded_result loaded;
    bool ok = key ? store_find_result(session->store, session->run_id, key, &loaded, found, err)
                  : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for results");
    free(key);
    if (!ok || !*found)
        return ok;
    if (is_to_be_measured_again(spec, &loaded.result)) {
        *found = false;
        store_loaded_result_release(&loaded);
        return true;
    }
    struct bench_row *row = bench_row_create(spec, err);
    ok = row && keep(session, row, err);
    ok = ok && bench_row_recall(row, &loaded.result, err) && judge_by_roof(session, row, err);
    store_loaded_result_release(&loaded);
    return ok;
}

bool bench_session_take(struct bench_session *session, struct bench_row *row, struct rml_error *err)
{
    if (!keep(session, row, err) || !judge_by_roof(session, row, err))
        return false;
    if (row->result.status == STORE_ERROR)
        cli_warn("%s/%s: %s", row->what.suite, row->what.name, row->result.error);
    return (session->resumed ? store_renew_result : store_add_result)(
               session->store, session->run_id, &row->what, &row->result, err) >= 0;
}

static void print_rows(const struct bench_session *session)
{
    struct cli_table *table = bench_rows_table(session);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    for (size_t i = 0; i < session->n_rows; i++) {
        char text[256];
        table = bench_profile_table(session->rows[i]);
        if (!table)
            continue;
        bench_spec_describe(session->rows[i]->spec, text, sizeof text);
        printf("\n%s, an iteration:\n", text);
        cli_table_print(table, stdout);
        cli_table_destroy(table);
    }
}

int bench_session_end(struct bench_session *session, struct bench_outputs *outputs,
                      const struct rml_error *err)
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
    } else if (session->n_rows > 0 && !(outputs && bench_outputs_to_stdout(outputs))) {
        print_rows(session);
    }
    if (outputs && session->n_rows > 0)
        bench_outputs_write(outputs, session, &end_err);
    if (n_unstable > 0)
        cli_note("unstable: in %zu of %zu case%s the time was still changing after a second of "
                 "warm-up",
                 n_unstable, session->n_rows, cli_plural(session->n_rows));
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
