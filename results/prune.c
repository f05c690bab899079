#include "results/prune.h"

#include <string.h>

#include "results/query_json.h"
#include "results/result_rows.h"

/* Rank of a run among those of the same subject and host, 1 the newest; the best of its
 * subjects counts. What was scored with another checkpoint or other settings is another subject. */
static const char candidates_sql[] =
    "WITH subject(run_id, what) AS ("
    " SELECT DISTINCT run_id, 'case ' || bench_case_id || ' ' || coalesce(arm, '') FROM result"
    " UNION SELECT run_id, 'golden ' || name || ' ' || coalesce(model_id, 0) || ' '"
    "  || coalesce(arithmetic, '') || ' ' || coalesce(k_dtype, '') || ' ' || coalesce(v_dtype, '')"
    "  FROM golden"
    " UNION SELECT run_id, 'task ' || task || ' ' || settings_json FROM eval"
    " UNION SELECT run_id, 'task ' || task || ' ' || coalesce(model_id, 0) FROM eval_metric"
    "  WHERE run_id NOT IN (SELECT run_id FROM eval)"
    " UNION SELECT run_id, 'task ' || task FROM eval_item"
    "  WHERE run_id NOT IN (SELECT run_id FROM eval)"
    " UNION SELECT m.run_id, 'checkpoint ' || m.model_id FROM run_model AS m"
    "  JOIN run AS u ON u.id = m.run_id WHERE u.kind = 'quantize'"
    "), every(run_id, what) AS ("
    " SELECT run_id, what FROM subject UNION ALL"
    " SELECT id, 'kind ' || kind FROM run WHERE id NOT IN (SELECT run_id FROM subject)"
    "), ranked(run_id, rank) AS ("
    " SELECT e.run_id, row_number() OVER (PARTITION BY e.what, u.host_id"
    "  ORDER BY u.start_ns DESC, u.id DESC) FROM every AS e JOIN run AS u ON u.id = e.run_id"
    ") "
    "SELECT u.id, u.uuid AS run, u.start_ns, u.kind, u.state, u.label,"
    " (SELECT count(*) FROM result AS r WHERE r.run_id = u.id) AS n_results,"
    " (SELECT count(*) FROM sample AS s JOIN result AS r ON r.id = s.result_id"
    "  WHERE r.run_id = u.id) AS n_samples,"
    " (SELECT min(rank) FROM ranked WHERE run_id = u.id) AS rank,"
    " EXISTS (SELECT 1 FROM annotation AS a JOIN build AS b ON b.id = u.build_id"
    "  WHERE a.commit_sha IS NOT NULL"
    "  AND substr(b.git_commit, 1, length(a.commit_sha)) = a.commit_sha"
    "  AND (a.host_id IS NULL OR a.host_id = u.host_id)"
    "  AND (a.bench_case_id IS NULL OR EXISTS (SELECT 1 FROM result AS r WHERE r.run_id = u.id"
    "   AND r.bench_case_id = a.bench_case_id))) AS is_annotated,"
    " EXISTS (SELECT 1 FROM verdict AS v JOIN result AS r"
    "  ON r.id IN (v.base_result_id, v.candidate_result_id)"
    "  WHERE r.run_id = u.id AND v.run_id <> u.id)"
    " OR EXISTS (SELECT 1 FROM eval_verdict AS v"
    "  WHERE v.base_run_id = u.id AND v.run_id <> u.id) AS is_referenced"
    " FROM run AS u WHERE " RUN_FILTER_SQL " ORDER BY u.start_ns, u.id";

static bool is(const json_t *row, const char *key)
{
    return json_is_true(json_object_get(row, key));
}

json_t *prune_plan(struct store *store, const struct prune_rules *rules, struct prune_kept *kept,
                   struct rml_error *err)
{
    struct query q;
    *kept = (struct prune_kept){0};
    query_init(&q, store, candidates_sql);
    run_filter_bind(&q, &rules->filter);
    json_t *rows = query_rows_json(&q, "looking for runs to prune", err), *row;
    json_t *plan = rows ? json_array() : NULL;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        int64_t id = json_integer_value(json_object_get(row, "id"));
        const char *state = run_shown_state(store, id, row_text(row, "state"));
        if (rules->filter.state && strcmp(rules->filter.state, state) != 0)
            continue;
        if (strcmp(state, "running") == 0 || strcmp(state, "elsewhere") == 0) {
            kept->running++;
        } else if (json_integer_value(json_object_get(row, "rank")) <= rules->keep_last) {
            kept->last++;
        } else if (is(row, "is_annotated") && !rules->annotated) {
            kept->annotated++;
        } else if (is(row, "is_referenced") && !rules->referenced) {
            kept->referenced++;
        } else {
            json_object_set_new(row, "state", json_string(state));
            json_object_del(row, "rank");
            json_object_del(row, "is_annotated");
            json_object_del(row, "is_referenced");
            json_array_append(plan, row);
        }
    }
    json_decref(rows);
    return plan;
}

bool prune_delete(struct store *store, const json_t *plan, struct rml_error *err)
{
    static const char *const orphans[] = {
        "DELETE FROM bench_case WHERE id NOT IN (SELECT bench_case_id FROM result)"
        " AND id NOT IN (SELECT bench_case_id FROM annotation WHERE bench_case_id IS NOT NULL)",
        /* the cases of an annotation keep theirs */
        "DELETE FROM model WHERE id NOT IN (SELECT model_id FROM run_model)"
        " AND id NOT IN (SELECT model_id FROM bench_case WHERE model_id IS NOT NULL)"
        " AND id NOT IN (SELECT model_id FROM golden WHERE model_id IS NOT NULL)"
        " AND id NOT IN (SELECT model_id FROM eval_metric WHERE model_id IS NOT NULL)"
        " AND id NOT IN (SELECT model_id FROM eval WHERE model_id IS NOT NULL)"
        " AND id NOT IN (SELECT base_model_id FROM eval WHERE base_model_id IS NOT NULL)",
        "DELETE FROM build WHERE id NOT IN (SELECT build_id FROM run)",
        "DELETE FROM host WHERE id NOT IN (SELECT host_id FROM run)"
        " AND id NOT IN (SELECT host_id FROM annotation WHERE host_id IS NOT NULL)",
    };
    const json_t *row;
    size_t i;
    struct query q;
    query_init(&q, store, "DELETE FROM run WHERE id = ?");
    json_array_foreach(plan, i, row)
    {
        query_int(&q, json_integer_value(json_object_get(row, "id")));
        query_run(&q);
    }
    if (!query_release(&q, "deleting runs", err))
        return false;
    for (i = 0; i < sizeof orphans / sizeof orphans[0]; i++)
        if (!store_execute(store, orphans[i], "deleting what nothing refers to", err))
            return false;
    return true;
}
