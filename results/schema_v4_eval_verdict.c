/*
 * Version 4 of the schema: verdicts on evaluations.
 *
 * The table `verdict` is of two measured results. Two evaluations are compared task by task, from
 * the items of two runs that are there already: the outcome is a function of these, so it belongs
 * to the candidate's run, and a comparison that is made again takes the place of the one before.
 */
#include "results/schema.h"

const char schema_v4_eval_verdict[] =
    /* a is the base's run, b the candidate's. difference: of a figure a - b, of perplexities
     * ln(PPL_a / PPL_b), with its interval. n10, n01: items that only a, only b has right; NULL
     * with p_mcnemar where the figure is not binary. mde: the least difference that would have been
     * found with probability `power`. loss and what follows: of a gate. flipped_json: the items that
     * one side has right and the other wrong, as rml-eval compare --json lists them. */
    "CREATE TABLE eval_verdict ("
    " id INTEGER PRIMARY KEY,"
    " run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " base_run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " task TEXT NOT NULL,"
    " metric TEXT NOT NULL,"
    " method TEXT NOT NULL CHECK (method IN ('paired', 'non-inferiority')),"
    " n INTEGER NOT NULL,"
    " n_blocks INTEGER NOT NULL,"
    " a REAL,"
    " b REAL,"
    " difference REAL,"
    " stderr REAL,"
    " ci_lo REAL,"
    " ci_hi REAL,"
    " confidence REAL NOT NULL,"
    " p_value REAL,"
    " p_holm REAL,"
    " n10 INTEGER,"
    " n01 INTEGER,"
    " p_mcnemar REAL,"
    " mde REAL,"
    " power REAL NOT NULL,"
    " margin REAL,"
    " loss REAL,"
    " loss_lo REAL,"
    " loss_hi REAL,"
    " verdict TEXT NOT NULL,"
    " flipped_json TEXT NOT NULL,"
    " judged_ns INTEGER NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX eval_verdict_by_question ON eval_verdict(run_id, base_run_id, task, "
    "metric,"
    " method, confidence, power, ifnull(margin, 0));"
    "CREATE INDEX eval_verdict_by_base ON eval_verdict(base_run_id);";
