/*
 * Version 5 of the schema: which checkpoints a run has read or written.
 *
 * Results, goldens and evaluations refer to their checkpoint themselves, but a quantisation leaves
 * none of these, and a run may end before it has any. So a checkpoint is stored for a run: as long
 * as that is there, nothing takes the checkpoint for forgotten. (Reading all of a
 * checkpoint for its hash takes longer than an answer, or than to time a tokenizer: rml-chat and
 * that suite store it only when the hash is known already.)
 */
#include "results/schema.h"

const char schema_v5_run_model[] =
    /* id: in the order in which the run came to know them, what it reads before what it writes. */
    "CREATE TABLE run_model ("
    " id INTEGER PRIMARY KEY,"
    " run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " model_id INTEGER NOT NULL REFERENCES model(id),"
    " UNIQUE (run_id, model_id)"
    ") STRICT;"
    "CREATE INDEX run_model_by_model ON run_model(model_id);"

    /* What earlier versions say elsewhere; of a quantisation, only its command line does. */
    "INSERT INTO run_model(run_id, model_id)"
    " SELECT r.run_id, c.model_id FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id"
    "  WHERE c.model_id IS NOT NULL"
    " UNION SELECT run_id, model_id FROM golden WHERE model_id IS NOT NULL"
    " UNION SELECT run_id, model_id FROM eval WHERE model_id IS NOT NULL"
    " UNION SELECT run_id, base_model_id FROM eval WHERE base_model_id IS NOT NULL"
    " UNION SELECT run_id, model_id FROM eval_metric WHERE model_id IS NOT NULL"
    " UNION SELECT u.id, m.id FROM run AS u JOIN model AS m"
    "  ON instr(u.argv_json, '/' || m.file_name || '\"')"
    "   OR instr(u.argv_json, '\"' || m.file_name || '\"')"
    "  WHERE u.kind = 'quantize';";
