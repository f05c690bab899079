#!/usr/bin/env bats
# rml-eval task. Expected prompts, log-likelihoods, replies and figures are lm-eval's (see
# make/task_expectations.py); tests of known defects of other programs are named after them.

load eval_run

TASKS=$RML_SOURCE_DIR/eval/tests/expected/tasks

expected() { sqlite3 :memory: "SELECT $1 FROM (SELECT CAST(readfile('$TASKS/expected.json') AS TEXT) AS e)"; }

# check_run I: run I of expected.json, item by item
check_run() {
    local task options
    expected "json_extract(e, '\$.runs[$1]')" >b.json
    task=$(sql "b->>'task'")
    mapfile -t options < <(sqlite3 :memory: "SELECT value FROM json_each(
        CAST(readfile('b.json') AS TEXT), '\$.options')")
    rml-eval task "$TOY" "$TASKS/$task.yaml" --no-db --json --items items.jsonl -q \
        "${options[@]}" >result.json
    lines items.jsonl >a.json
    [ "$(sql "json_array_length(a) = json_array_length(b, '\$.samples')")" = 1 ]
    [ "$(sql "(SELECT count(*) FROM json_each(a) AS i, json_each(b, '\$.samples') AS s
        WHERE i.key = s.key AND i.value->>'id' = s.value->>'id'
          AND (s.value->'prompt' IS NULL OR i.value->>'prompt' = s.value->>'prompt')
          AND i.value->>'greedy' IS s.value->>'greedy'
          AND i.value->>'reply' IS s.value->>'reply'
          AND i.value->>'\$.answer.letters' IS s.value->>'\$.answer.letters'
          AND i.value->>'\$.answer.plain' IS s.value->>'\$.answer.plain'
          AND i.value->>'\$.exact_match.letters' IS s.value->>'\$.exact_match.letters'
          AND i.value->>'\$.exact_match.plain' IS s.value->>'\$.exact_match.plain')
        = json_array_length(a)")" = 1 ]
    [ "$(sql "(SELECT ifnull(max(abs(x.value - y.value)), 0) < 1e-3
        FROM json_each(a) AS i, json_each(i.value, '\$.loglik') AS x,
        json_each(b, '\$.samples[' || i.key || '].loglik') AS y WHERE x.key = y.key)")" = 1 ]
    [ "$(sql "(SELECT ifnull(max(abs((i.value->>'nll_sum') - (s.value->>'nll_sum'))), 0) < 1e-3
        FROM json_each(a) AS i, json_each(b, '\$.samples') AS s WHERE i.key = s.key)")" = 1 ]
    cp result.json a.json
    [ "$(sql "(SELECT count(*) FROM json_each(b, '\$.results') AS r, json_each(a, '\$.tasks[0]') AS f
        WHERE f.key = r.key AND abs(f.value - r.value) <= 1e-4 * max(1, abs(r.value)))
        = (SELECT count(*) FROM json_each(b, '\$.results'))")" = 1 ]
}

@test "prompts, log-likelihoods, replies and figures of tasks are lm-eval's" {
    n=$(expected "json_array_length(e, '\$.runs')")
    [ "$n" -eq 16 ]
    for ((i = 0; i < n; i++)); do check_run "$i"; done
}

@test "few-shot sample that changes with worker count" {
    for task in mc_default mc_self; do
        rml-eval task "$TOY" "$TASKS/$task.yaml" --no-db --items whole.jsonl --threads 1 -q >/dev/null
        for i in 1 2 3; do
            rml-eval task "$TOY" "$TASKS/$task.yaml" --no-db --items "$i.jsonl" --shard "$i/3" \
                --threads 2 -q >/dev/null
        done
        cmp <(sort whole.jsonl) <(sort 1.jsonl 2.jsonl 3.jsonl)
    done
}

@test "limit silently takes the head" {
    rml-eval task "$TOY" "$TASKS/mc_default.yaml" --no-db --items whole.jsonl -q >/dev/null
    rml-eval task "$TOY" "$TASKS/mc_default.yaml" --no-db --items some.jsonl --limit 5 -q >/dev/null
    [ "$(wc -l <some.jsonl)" -eq 5 ]
    # a sample, with the examples that these documents have in the whole
    if cmp -s some.jsonl <(head -n 5 whole.jsonl); then false; fi
    [ "$(grep -cFxf some.jsonl whole.jsonl)" -eq 5 ]
}

@test "prompt edited, stale cache reused" {
    cp "$TASKS"/*.yaml "$TASKS"/*.jsonl .
    rml-eval task "$TOY" mc_default.yaml --items before.jsonl -q >/dev/null
    sed -i 's/Questions about/Riddles about/' mc_default.yaml
    rml-eval task "$TOY" mc_default.yaml --items after.jsonl -q >/dev/null
    rml-eval task "$TOY" mc_default.yaml --items fresh.jsonl --fresh -q >/dev/null
    if cmp -s before.jsonl after.jsonl; then false; fi
    cmp after.jsonl fresh.jsonl
    try rml-eval task "$TOY" mc_default.yaml -v
    [[ $stderr == *"34 scores were there already, 0 are new"* ]]
}

# The prompts are those that lm-eval 0.4.13 makes of these files with datasets 5.2.0.
@test "numbers of a column have one type, that of the split that is named first" {
    cat >t.yaml <<'END'
task: columns
dataset_path: json
dataset_kwargs: {data_files: {train: train.jsonl, test: test.jsonl}}
test_split: test
fewshot_split: train
num_fewshot: 2
output_type: generate_until
fewshot_config: {sampler: first_n}
doc_to_text: "{{q}} {{n}} {{s}} {{l}}"
doc_to_target: "{{n}}"
generation_kwargs: {max_gen_toks: 1, do_sample: false}
END
    prompts_are() {
        rml-eval task "$TOY" t.yaml --no-db -q --items items.jsonl >/dev/null
        diff - <(sqlite3 :memory: "SELECT replace(value->>'prompt', char(10), '|') FROM json_each('$(lines items.jsonl | sed "s/'/''/g")')")
    }
    # whole numbers in the first split, and where a column has a fraction all are written with one
    cat >train.jsonl <<'END'
{"q": "a", "n": 4, "s": {"x": 1, "y": [1, 2]}, "l": [{"k": 1}]}
{"q": "b", "n": 2, "s": {"x": 2.5, "y": [3, 0.5]}, "l": [{"k": 1}, {"k": 0.5}]}
END
    cat >test.jsonl <<'END'
{"q": "c", "n": 7.0, "s": {"x": 1, "y": [4]}, "l": [{"k": 3}]}
{"q": "d", "n": -1, "s": {"x": 2, "y": []}, "l": []}
END
    prompts_are <<'END'
a 4 {'x': 1.0, 'y': [1.0, 2.0]} [{'k': 1.0}] 4||b 2 {'x': 2.5, 'y': [3.0, 0.5]} [{'k': 1.0}, {'k': 0.5}] 2||c 7 {'x': 1.0, 'y': [4.0]} [{'k': 3.0}]
a 4 {'x': 1.0, 'y': [1.0, 2.0]} [{'k': 1.0}] 4||b 2 {'x': 2.5, 'y': [3.0, 0.5]} [{'k': 1.0}, {'k': 0.5}] 2||d -1 {'x': 2.0, 'y': []} []
END
    # a fraction where it has none: it fails, too
    sed -i 's/7\.0/7.5/' test.jsonl
    try rml-eval task "$TOY" t.yaml --no-db
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-eval: test.jsonl: line 1: 7.5 found in \"n\", expected a whole number as in the split that data_files names first"* ]]
    # types of the split that is named first, also where nothing else of it is needed
    sed -e 's/^fewshot_split.*//' -e 's/^num_fewshot.*/num_fewshot: 0/' t.yaml >zero.yaml
    zero_shot() { # TRAIN TEST PROMPT
        printf '%s\n' "$1" >train.jsonl
        printf '%s\n' "$2" >test.jsonl
        rml-eval task "$TOY" zero.yaml --no-db -q --items items.jsonl >/dev/null
        [ "$(sqlite3 :memory: "SELECT CAST(readfile('items.jsonl') AS TEXT) ->> 'prompt'")" = "$3" ]
    }
    zero_shot '{"q": "a", "n": 1.5, "s": 1, "l": ["x"]}' '{"q": "b", "n": 4, "s": "3", "l": [7]}' "b 4.0 3 ['7']"
    zero_shot '{"q": "a", "n": "x", "s": "y", "l": [1.5]}' '{"q": true, "n": 4, "s": 2.0, "l": ["1e3", "1"]}' 'true 4 2 [1000.0, 1.0]'
    zero_shot '{"q": "a", "n": true, "s": "y", "l": [1]}' '{"q": 2.5, "n": 4, "s": 0.1, "l": [true, false]}' '2.5 True 0.1 [1, 0]'
    # (what pyarrow 26 casts these to; from 1e10 on it writes an exponent)
    zero_shot '{"q": "a", "n": "x", "s": "y", "l": ["z"]}' '{"q": 40.0, "n": -30.0, "s": 1234567.5, "l": [0.001]}' "40 -30 1234567.5 ['0.001']"
    # objects have the fields of their column, in its order
    zero_shot '{"q": "a", "n": 1, "s": {"x": 1, "y": "u"}, "l": []}' '{"q": "b", "n": 2, "s": {"y": 3}, "l": []}' "b 2 {'x': None, 'y': '3'} []"
    # values of several kinds stay what they are
    zero_shot '{"q": "a", "n": 1, "s": "y", "l": [1, "x", 2.5, true]}
{"q": 1, "n": 1, "s": "y", "l": []}' '{"q": 4, "n": 1, "s": "z", "l": ["7", 3]}' '4 1 z [7, 3]'
    while IFS='|' read -r train test what; do
        echo "$train" >train.jsonl
        echo "$test" >test.jsonl
        try rml-eval task "$TOY" zero.yaml --no-db
        echo "$stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: test.jsonl: line 1: $what as in the split that data_files names first" ]]
    done <<'END'
{"q": "a", "n": 1, "s": "", "l": ""}|{"q": "b", "n": "x", "s": "", "l": ""}|"x" found in "n", expected a number
{"q": "a", "n": "x", "s": "", "l": ""}|{"q": "b", "n": 12345678901.0, "s": "", "l": ""}|12345678901.0 found in "n", expected text
{"q": "a", "n": true, "s": "", "l": ""}|{"q": "b", "n": "yes", "s": "", "l": ""}|"yes" found in "n", expected true or false
{"q": "a", "n": ["1", 2], "s": "", "l": ""}|{"q": "b", "n": ["1.50", 2], "s": "", "l": ""}|"1.50" found in "n", expected values of one type, or no text that is JSON,
{"q": "a", "n": ["1"], "s": "", "l": ""}|{"q": "b", "n": ["x", 2], "s": "", "l": ""}|"x" found in "n", expected values of one type
END
    # objects whose keys differ are no columns
    cat >train.jsonl <<'END'
{"q": "a", "n": 4, "s": {"x": 1, "y": [1, 2]}, "l": [{"k": 1}, {"k": 2, "m": "z"}]}
{"q": "b", "n": 2.5, "s": {"y": [3, 0.5]}, "l": []}
END
    cat >test.jsonl <<'END'
{"q": "d", "n": -1000000000000, "s": {"x": 2}, "l": [{"m": "w"}]}
{"q": "e", "n": 0, "s": null, "l": null}
END
    prompts_are <<'END'
a 4.0 {'x': 1, 'y': [1, 2]} [{'k': 1}, {'k': 2, 'm': 'z'}] 4.0||b 2.5 {'y': [3, 0.5]} [] 2.5||d -1000000000000.0 {'x': 2} [{'m': 'w'}]
a 4.0 {'x': 1, 'y': [1, 2]} [{'k': 1}, {'k': 2, 'm': 'z'}] 4.0||b 2.5 {'y': [3, 0.5]} [] 2.5||e 0.0 None None
END
}

@test "special-token text in a message stays text" {
    printf '%s\n' '{"context": "a <|im_end|> b", "choices": ["x", "<|im_end|>"], "gold": 0}' >q.jsonl
    rml-eval choices "$TOY" q.jsonl --chat -q >/dev/null
    id=$(rml-tokenize "$TOY" --no-special --parse-special '<|im_end|>')
    hex=$(printf '%02X000000' "$id")
    # the format's own end of turn, and no other
    [ "$(query "SELECT (length(hex(token_ids)) - length(replace(hex(token_ids), '$hex', ''))) / 8
        FROM eval_item WHERE choice_idx = 1")" -eq 1 ]
}

@test "tasks of two runs are compared by their items" {
    for kv in f32 f16; do
        rml-eval task "$TOY" "$TASKS/mc_default.yaml" "$TASKS/mc_first.yaml" --kv "$kv" -q >/dev/null
    done
    try rml-eval compare 1 2 --json
    [ "$status" -eq 0 ]
    [[ $output == *mc_default* && $output == *mc_first* ]]
}

@test "what needs Python or is not known is refused by name, with file and line" {
    cp "$TASKS"/*.yaml "$TASKS"/*.jsonl .
    refused() { # TEXT OF KEYS, MESSAGE
        { printf 'include: mc_base.yaml\ntask: t\n'; printf '%b\n' "$1"; } >t.yaml
        try rml-eval task "$TOY" t.yaml --no-db
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: $2"* ]] || { echo "$stderr"; return 1; }
    }
    refused 'process_docs: !function utils.f' "t.yaml: line 3: '!function utils.f' found"
    refused 'class: !function task.T' "t.yaml: line 3: '!function task.T' found"
    refused 'gen_prefix: "A"' "t.yaml: line 3: key 'gen_prefix' found"
    refused 'nonsense: 1' "t.yaml: line 3: key 'nonsense' found"
    refused 'doc_to_text: "{{question|sort}}"' "t.yaml: line 3: 'sort}}' found in a template"
    refused 'doc_to_text: "{% for x in y %}"' "t.yaml: line 3: 'for x in y %}' found in a template"
    refused 'doc_to_text: qestion' "t.yaml: line 3: 'qestion' found, which no document has"
    refused 'doc_to_text: "{{qestion}}"' "test.jsonl: line 1: no field 'qestion' found"
    refused 'doc_to_target: 7' "test.jsonl: line 1: the target '7' found, expected one of 2 choices"
    refused 'doc_to_choice: ["a", ""]' "test.jsonl: line 1: doc_to_choice is no list of texts"
    refused 'doc_to_choice: [yes, no]' "t.yaml: line 3: yes found, expected a choice (in quotes)"
    refused 'metric_list: [{metric: f1}]' "t.yaml: line 3: metric 'f1' found"
    refused 'metric_list: [{metric: acc}, {metric: acc}]' "t.yaml: line 3: metric 'acc' found twice"
    refused 'metric_list: [{metric: acc, aggregation: median}]' "t.yaml: line 3: aggregation 'median'"
    refused 'filter_list: [{name: a, filter: [{function: majority_vote}]}]' \
        "t.yaml: line 3: filter 'majority_vote' found"
    refused 'filter_list: [{name: a, filter: [{function: multi_choice_regex, group_select: -1}]}]' \
        "t.yaml: line 3: filter 'multi_choice_regex' found, expected one of regex"
    refused 'fewshot_config: {sampler: balanced}' "t.yaml: line 3: sampler 'balanced' found"
    refused 'dataset_path: csv' "t.yaml: line 3: dataset_path 'csv' found"
    refused 'dataset_kwargs: {data_files: {test: none.jsonl}}' "none.jsonl: cannot be opened"
    refused 'test_split: other' "mc_base.yaml: line 2: no split 'other' in data_files"
    refused 'num_fewshot: 40\nfewshot_split: train' "test.jsonl: line 1: 30 examples to draw from"
    refused 'repeats: 3' "t.yaml: line 3: 3 found"
    refused 'output_type: generate_until\nmetric_list: null\ngeneration_kwargs: {temperature: 0.7}' \
        "t.yaml: line 5: a temperature that is not 0"
    refused 'description: *x' "t.yaml: line 3: "
    refused 'task: u' "t.yaml: line 3: key 'task' found, which line 2 has"
}

@test "malformed files of tasks and documents are refused with file and line" {
    cp "$TASKS"/*.yaml "$TASKS"/*.jsonl .
    bad() { # MESSAGE: of mc_first.yaml
        try rml-eval task "$TOY" mc_first.yaml --no-db
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: $1"* ]] || { echo "$stderr"; return 1; }
    }
    sed -n 3p test.jsonl >three.txt
    printf '{"question": 1' >>test.jsonl
    bad "test.jsonl: line 18: "
    printf '{"question": "a"}\r\n' >test.jsonl
    bad "test.jsonl: line 1: a carriage return"
    printf '\xef\xbb\xbf{}\n' >test.jsonl
    bad "test.jsonl: line 1: a byte order mark"
    printf '{"question": "\xff"}\n' >test.jsonl
    bad "test.jsonl: line 1: byte 0xff"
    printf '[1]\n' >test.jsonl
    bad "test.jsonl: line 1: "
    printf '\n\n[{"question": "a", "answerKey": "A"},\n{"question" "b"}]' >test.jsonl
    bad "test.jsonl: line 4: "
    : >test.jsonl
    bad "test.jsonl: no document found"
    { printf '%s\n' "$(<three.txt)"; printf '{"question": "'; head -c 104857600 /dev/zero | tr '\0' a
        printf '"\n'; } >test.jsonl
    bad "test.jsonl: line 2: "
    sed -i '$d' test.jsonl
    { cat mc_first.yaml; printf 'metadata: "'; head -c 104857600 /dev/zero | tr '\0' a; printf '"\n'; } >big.yaml
    mv big.yaml mc_first.yaml
    bad "mc_first.yaml: "
    printf 'include: mc_first.yaml\n' >mc_first.yaml
    bad "mc_first.yaml: line 1: 'mc_first.yaml' is included twice or by itself"
    try rml-eval task "$TOY" "$TASKS/mc_first.yaml" --no-db --chat=chatml --system $'\xff'
    [ "$status" -eq 2 ]
    [[ $stderr == *"--system: text that is no UTF-8 found, expected UTF-8"* ]]
}
