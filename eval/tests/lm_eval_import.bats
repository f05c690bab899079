#!/usr/bin/env bats
# rml-eval import of what lm-eval 0.4.13 wrote of rml-tiny (make/lm_eval_samples.py), compared item by
# item with our own runs on the same checkpoint and items.

load eval_run

setup_file() {
    export RML_DB=$BATS_FILE_TMPDIR/eval.db XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    local tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny from=$RML_SOURCE_DIR/eval/tests/expected/lm_eval
    rml-eval choices "$tiny" "$from/lm_eval_questions.jsonl" --mutual-info -q # run 1
    rml-eval perplexity "$tiny" "$from/lm_eval_texts.jsonl" --documents jsonl --protocol lm-eval \
        --compat double-bos -q # run 2
    rml-eval import "$from"/samples_imported_questions_2026-11-30.jsonl --task choices --label questions # run 3
    rml-eval import "$from"/samples_imported_texts_2026-11-30.jsonl --task perplexity --label texts      # run 4
    rml-eval import "$from"/samples_imported_replies_2026-11-30.jsonl --label replies                    # run 5
    rml-eval import "$from"/results_2026-11-30.json --label figures                                      # run 6
}

setup() {
    FROM=$RML_SOURCE_DIR/eval/tests/expected/lm_eval
    cd "$BATS_TEST_TMPDIR" || return
    echo null | tee a.json >b.json
}

teardown() { :; }

# of_results TASK KEY: a figure of lm-eval's own results
of_results() { sqlite3 :memory: "SELECT readfile('$FROM/results_2026-11-30.json') ->> '\$.results.$1.\"$2\"'"; }

@test "imported questions meet ours item by item: log-likelihoods, greedy flags, picks, accuracies" {
    [ "$(query "SELECT count(*), max(abs(a.loglik - b.loglik)) < 1e-3, sum(a.is_greedy <> b.is_greedy)
        FROM eval_item AS a JOIN eval_doc AS x ON x.run_id = 1 AND x.doc_id = a.doc_id
        JOIN eval_doc AS y ON y.run_id = 3 AND y.doc_idx = x.doc_idx
        JOIN eval_item AS b ON b.run_id = 3 AND b.doc_id = y.doc_id AND b.choice_idx = a.choice_idx
        WHERE a.run_id = 1")" = "192|1|0" ]
    for metric in acc acc_norm acc_mutual_info; do
        rml-eval compare 1 questions --metric $metric --json >a.json
        [ "$(sql "a->>'n' = 24 AND a->>'difference' = 0 AND a->>'flipped' = '[]'")" = 1 ]
        [ "$(sql "abs(a->>'b' - $(of_results imported_questions "$metric,none")) < 1e-12")" = 1 ]
    done
    [ "$(query "SELECT count(*) FROM eval_doc_metric AS a JOIN eval_doc AS x USING (run_id, task, doc_id)
        JOIN eval_doc AS y ON y.run_id = 3 AND y.doc_idx = x.doc_idx
        JOIN eval_doc_metric AS b ON b.run_id = 3 AND b.doc_id = y.doc_id AND b.metric = a.metric
        WHERE a.run_id = 1 AND a.metric = 'pick' AND a.value = b.value")" = 24 ]
    [ "$(query "SELECT count(DISTINCT text), count(DISTINCT gold_json) FROM eval_doc WHERE run_id = 3")" = \
        "$(query "SELECT count(DISTINCT text), count(DISTINCT gold_json) FROM eval_doc WHERE run_id = 1")" ]
    rml-eval compare 1 questions >table.txt
    grep -q '(imported)' table.txt
}

@test "imported documents meet ours by their bytes" {
    rml-eval compare 2 texts --json >a.json
    [ "$(sql "a->>'n' = 4 AND a->>'metric' = 'bits_per_byte' AND abs(a->>'difference') < 1e-5
        AND abs(a->>'b' - $(of_results imported_texts bits_per_byte,none)) < 1e-12")" = 1 ]
}

@test "figures are told with the model that lm-eval names" {
    name=$(sqlite3 :memory: "SELECT readfile('$FROM/results_2026-11-30.json') ->> '\$.model_name'")
    [ -n "$name" ]
    rml-results show figures --json >a.json
    [ "$(sql "a->>'\$.evals[0].model'")" = "$name" ]
    rml-results list | grep figures | grep -q " $name"
}

@test "of several filters each has its name, as those of rml-eval task have" {
    [ "$(query "SELECT count(*), count(DISTINCT doc_id) FROM eval_doc WHERE run_id = 5")" = "6|6" ]
    [ "$(query "SELECT metric, count(*) FROM eval_doc_metric WHERE run_id = 5 GROUP BY metric")" = \
        $'exact_match,first-word|6\nexact_match,last-word|6' ]
    for name in exact_match,first-word exact_match,last-word; do
        [ "$(query "SELECT abs(avg(value) - $(of_results imported_replies "$name")) < 1e-12
            FROM eval_doc_metric WHERE run_id = 5 AND metric = '$name'")" = 1 ]
        [ "$(query "SELECT abs(value - $(of_results imported_replies "$name")) < 1e-12
            FROM eval_metric WHERE run_id = 6 AND task = 'imported_replies' AND metric = '$name'")" = 1 ]
        rml-eval compare 5 5 --metric "$name" --json >a.json
        [ "$(sql "a->>'n' = 6 AND a->>'metric' = '$name'")" = 1 ]
    done
}

@test "of one continuation lm-eval's perplexity is a log-likelihood: compared as one, more being better" {
    export RML_DB=$PWD/cloze.db
    for run in 1 2; do # each item of the second is half as likely
        for i in 0 1 2 3; do
            sqlite3 :memory: "SELECT json_object('doc_id', $i, 'target', ' w', 'arguments',
                json('{\"gen_args_0\": {\"arg_0\": \"c$i\", \"arg_1\": \" w\"}}'), 'filtered_resps', json('[[\"-$((run + i))\", \"False\"]]'),
                'metrics', json('[\"perplexity\", \"acc\"]'), 'perplexity', 0.0 - $((run + i)), 'acc', 0)"
        done >samples_cloze_$run.jsonl
        rml-eval import samples_cloze_$run.jsonl --task cloze --label run$run
    done
    rml-eval compare run1 run2 --metric loglik --json >a.json
    [ "$(sql "a->>'n' = 4 AND a->>'a' = -2.5 AND a->>'b' = -3.5 AND a->>'difference' = 1")" = 1 ]
    run rml-eval compare run1 run2 --metric perplexity
    [ "$status" -eq 1 ] && [[ $output == *"no figure 'perplexity' of items found in either run, expected one that both have: acc, loglik" ]]
}

@test "a results file brings the figures of tasks and groups" {
    [ "$(query "SELECT group_concat(DISTINCT task) FROM eval WHERE run_id = 6 ORDER BY task")" = \
        "imported_group,imported_questions,imported_replies,imported_texts" ]
    [ "$(query "SELECT abs(value - $(of_results imported_questions acc,none)) < 1e-15
          AND abs(stderr - $(of_results imported_questions acc_stderr,none)) < 1e-15 AND n = 24
        FROM eval_metric WHERE run_id = 6 AND task = 'imported_questions' AND metric = 'acc'")" = 1 ]
    [ "$(query "SELECT abs(value - $(sqlite3 :memory: "SELECT readfile('$FROM/results_2026-11-30.json')
            ->> '\$.groups.imported_group.\"acc,none\"'")) < 1e-15
        FROM eval_metric WHERE run_id = 6 AND task = 'imported_group'")" = 1 ]
    [ "$(query "SELECT settings_json ->> 'lm_eval_version' FROM eval WHERE run_id = 6 LIMIT 1")" = 0.4.13 ]
    # it has no items
    try rml-eval compare 6 6
    [ "$status" -ne 0 ]
    [[ $stderr == *"imported"* ]]
}

@test "the same file twice adds nothing; under another task's name it is another run" {
    counts="SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM eval_item), (SELECT count(*) FROM eval_doc_metric)"
    before=$(query "$counts")
    rml-eval import "$FROM"/*_2026-11-30.json "$FROM"/samples_imported_replies_2026-11-30.jsonl --json >a.json
    [ "$(sql "(SELECT sum(value->>'known') FROM json_each(a, '\$.files'))")" -eq 2 ]
    [ "$(query "$counts")" = "$before" ]
    cp "$FROM"/samples_imported_texts_2026-11-30.jsonl other_name.jsonl
    rml-eval import other_name.jsonl --task perplexity >table.txt
    grep -q 'there already' table.txt
    [ "$(query "$counts")" = "$before" ]
    cp "$RML_DB" copy.db
    rml-eval import other_name.jsonl --task other --db copy.db
    [ "$(sqlite3 copy.db "SELECT count(*) FROM run")" -eq $((${before%%|*} + 1)) ]
}

@test "files that lm-eval has not written are refused by line, and nothing is stored" {
    export RML_DB=$PWD/none.db
    refused() { # EXPECTED: of samples_t_2026.jsonl
        try rml-eval import samples_t_2026.jsonl
        echo "expected: $1; got: $stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: samples_t_2026.jsonl: $1"* ]]
        [ ! -e none.db ]
    }
    # REST: what the other fields of a sample are
    local rest='"target": "a", "arguments": {"gen_args_0": {"arg_0": "c"}, "gen_args_1": {"arg_0": "c"}}'
    while IFS='|' read -r line expected; do
        printf '%s\n' "${line/REST/$rest}" >samples_t_2026.jsonl
        refused "$expected"
    done <<'END'
{"id": 1}|line 1: no field "doc_id"
{"doc_id": -1, "filtered_resps": [], "metrics": []}|line 1: no field "doc_id"
{"doc_id": 0}|line 1: no array "filtered_resps"
{"doc_id": 0, "filtered_resps": [["-1", "True"]]}|line 1: no array "metrics"
{"doc_id": 0, "filtered_resps": [["-1", "True"]], "metrics": "acc"}|line 1: no array "metrics"
{"doc_id": 0, "filtered_resps": [["-1", "True"]], "metrics": ["acc"], REST}|line 1: no figure that is a number
{"doc_id": 0, "filtered_resps": [["nan", "True"], ["-1", "False"]], "metrics": ["acc"], "acc": 1, REST}|line 1: response 0 has no finite log-likelihood
{"doc_id": 0, "filtered_resps": [["-inf", "True"]], "metrics": ["acc"], "acc": 1, REST}|line 1: response 0 has no finite log-likelihood
{"doc_id": 0, "filtered_resps": [], "metrics": ["acc"], "acc": 1, REST}|line 1: array "filtered_resps" is empty, expected a response
{"doc_id": 0, "filtered_resps": ["x"], "metrics": ["acc"], "acc": 1}|line 1: no text "arg_0" of "gen_args_0" in "arguments" found
{"doc_id": 0, "filtered_resps": [["-1", "True"], ["-2", "True"], ["-3", "True"]], "metrics": ["acc"], "acc": 1, REST}|line 1: no text "arg_0" of "gen_args_2" in "arguments" found
{"doc_id": 0, "filtered_resps": ["x"], "metrics": ["acc"], "acc": 1, "arguments": {"gen_args_0": {"arg_0": "c"}}}|line 1: no field "target" found, expected the right answer
{"doc_id": 0, "filtered_resps": [["-1", "True"], ["-2", "False"]], "metrics": ["acc"], "acc": 1, "target": "2", "arguments": {"gen_args_0": {"arg_0": "c", "arg_1": "x"}, "gen_args_1": {"arg_0": "c", "arg_1": "y"}}}|line 1: target 2 found, expected the index of one of 2 choices
{"doc_id": 0, "filtered_resps": [["-1", "True"], ["-2", "False"]], "metrics": ["acc"], "acc": 1, "target": "[0, -1]", "arguments": {"gen_args_0": {"arg_0": "c", "arg_1": "x"}, "gen_args_1": {"arg_0": "c", "arg_1": "y"}}}|line 1: target -1 found, expected the index of one of 2 choices
{"doc_id": 0, "doc_id": 0, "filtered_resps": [], "metrics": []}|line 1: duplicate object key
{"doc_id": 0, "acc": NaN}|line 1: invalid token near 'NaN'
{"doc_id": 0|line 2:
[1]|line 1: a JSON value that is no object found
17|line 1:
{"results": 1}|no object "results" found
{"results": {"t": {"alias": "t"}}}|no figure found
{"results": {"t": {"acc,none": 1}}, "samples": {"t": []}}|"samples" found within results
END
    good="{\"doc_id\": 4, \"filtered_resps\": [[\"-1\", \"True\"]], \"metrics\": [\"acc\"], \"acc\": 1, $rest}"
    printf '%s\n%s\n' "$good" "$good" >samples_t_2026.jsonl
    refused "line 2: doc_id 4 found again with filter 'none', expected each once"
    printf '%s\n%s\n' "$good" "${good/4, /5, \"filter\": \"x\", }" >samples_t_2026.jsonl
    refused "line 2: doc_id 5 found with filter 'x' alone"
    printf '%s\n{"doc_id": 5,\n' "$good" >samples_t_2026.jsonl
    refused "line 2: "
    printf '%s\r\n' "$good" >samples_t_2026.jsonl
    refused "line 1: a carriage return"
    printf '%s\n\377\n' "$good" >samples_t_2026.jsonl
    refused "line 2: byte 0xff at 1 found, expected UTF-8"
    : >samples_t_2026.jsonl
    refused "an empty file found"
    { printf '{"doc_id": 0, "doc": "' && head -c 70000000 /dev/zero | tr '\0' a && printf '"}\n'; } >samples_t_2026.jsonl
    refused "line 1: 70000024 bytes found, expected at most 67108864"
    head -c 200000 /dev/zero | tr '\0' '[' >samples_t_2026.jsonl
    refused "line 1: "
    echo "$good" >nameless.jsonl
    try rml-eval import nameless.jsonl
    [ "$status" -eq 1 ]
    [[ $stderr == *"nameless.jsonl: the name found does not tell the task, expected samples_TASK_DATE.jsonl or --task"* ]]
    # one bad file of two: neither is stored
    try rml-eval import "$FROM"/samples_imported_texts_2026-11-30.jsonl nameless.jsonl
    [ "$status" -eq 1 ]
    try rml-eval import nothing.jsonl
    [ "$status" -eq 1 ]
    try rml-eval import "$FROM"/results_2026-11-30.json --task t
    [ "$status" -eq 1 ]
    [ ! -e none.db ]
    try rml-eval import
    [ "$status" -eq 2 ]
}

@test "a long line that lm-eval may write is read" {
    { printf '{"doc_id": 0, "doc": {"text": "' && head -c 30000000 /dev/zero | tr '\0' a &&
        printf '"}, "filtered_resps": [["-1.5", "True"]], "metrics": ["acc"], "acc": 1, "target": "a",'
        printf '"arguments": {"gen_args_0": {"arg_0": "c", "arg_1": "a"}}}\n'; } >samples_t_2026.jsonl
    rml-eval import samples_t_2026.jsonl --db long.db -q
    [ "$(sqlite3 long.db "SELECT loglik FROM eval_item")" = -1.5 ]
}
