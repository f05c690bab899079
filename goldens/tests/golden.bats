#!/usr/bin/env bats
# rml-golden check as its users see it: exit codes, documents, the database.

setup() {
    FIXTURES=$RML_SOURCE_DIR/goldens/fixtures
    LLAMA=$FIXTURES/llama/model.gguf
    TOKENS=17,43,60,32,57,23,18,27,12
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export RML_DB=$FOLDER/rml.db XDG_CACHE_HOME=$FOLDER/cache
    unset RML_MODELS_DIR
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

# The value at a path of the JSON document in $output, by SQLite.
json() { sqlite3 :memory: "select json_extract('${output//\'/\'\'}', '$1')"; }
sql() { sqlite3 "$RML_DB" "$1"; }

record() { rml-golden record "$LLAMA" --tokens "$TOKENS" -o golden.json --force "$@"; }

@test "record, then check" {
    record
    run rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == golden*case*text*positions*"max error"*logsumexp*greedy*verdict ]]
    [[ ${lines[1]} == model*case-1*-*9*8/8*pass ]]
}

@test "check --json has every key that is fixed" {
    record
    try rml-golden check "$LLAMA" golden.json "$FIXTURES/llama/golden.json" --json
    [ "$status" -eq 0 ]
    [ "$(json '$.passed')" = 1 ]
    [ "$(json '$.files[0].file')" = golden.json ]
    [ "$(json '$.files[1].passed')" = 1 ]
    [ "$(json '$.files[0].cases[0].name')" = case-1 ]
    [ "$(json '$.files[0].cases[0].passed')" = 1 ]
    [ "$(json '$.files[0].cases[0].max_abs_error')" = 0.0 ]
    [ "$(json '$.files[0].cases[0].max_logsumexp_error')" = 0.0 ]
    [ "$(json '$.files[0].cases[0].n_positions')" = 9 ]
    [ "$(json '$.files[0].cases[0].greedy_equal')" = 1 ]
    [ "$(json '$.files[0].cases[0].n_greedy_compared')" = 8 ]
    [ "$(sqlite3 :memory: "select json_type('$output', '\$.files[0].cases[0].first_deviation')")" = null ]
}

@test "a deviation is exit 4 and is named" {
    record
    sed -i 's/{"layer":1,"branch":"attention","position":3,"norm":/&1/' golden.json
    run rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 4 ]
    [[ $output == *FAIL* ]]
    [[ $output == *"first deviation: layer 1, attention, position 3:"* ]]
    run rml-golden check "$LLAMA" golden.json --json
    [ "$status" -eq 4 ]
    [ "$(json '$.passed')" = 0 ]
    [ "$(json '$.files[0].cases[0].first_deviation.layer')" = 1 ]
    [ "$(json '$.files[0].cases[0].first_deviation.branch')" = attention ]
    [ "$(json '$.files[0].cases[0].first_deviation.position')" = 3 ]

    sed -i 's/"tokens": \[17,/"tokens": [18,/; s/"branch":"attention","position":3,"norm":1/"branch":"attention","position":3,"norm":/' golden.json
    run rml-golden check "$LLAMA" golden.json --json
    [ "$status" -eq 4 ]
    [ "$(json '$.files[0].cases[0].first_deviation.layer')" = -1 ]
    [ "$(json '$.files[0].cases[0].first_deviation.branch')" = embedding ]
    [ "$(json '$.files[0].cases[0].first_deviation.position')" = 0 ]
}

@test "a NaN is exit 4 and its place is named, also when recording" {
    record --no-residual
    cp "$LLAMA" broken.gguf
    # "~" is 0x7e: an f16 of two of them is a NaN. The file ends with the last layer's ffn_down.
    printf '~%.0s' {1..64} | dd of=broken.gguf bs=1 seek=$(($(stat -c %s broken.gguf) - 64)) \
        conv=notrunc status=none
    run rml-golden check broken.gguf golden.json --any-model --json
    [ "$status" -eq 4 ]
    [ "$(json '$.files[0].cases[0].first_deviation.kind')" = non-finite ]
    [ "$(json '$.files[0].cases[0].first_deviation.layer')" = 1 ]
    [ "$(json '$.files[0].cases[0].first_deviation.branch')" = feed_forward ]
    [ "$(json '$.files[0].cases[0].first_deviation.position')" = 0 ]
    run rml-golden record broken.gguf --tokens 1,2 -o new.json
    [ "$status" -eq 4 ]
    [[ $output == *"layer 1, feed_forward, position 0: nan found"* ]]
    [ ! -e new.json ]
}

@test "another checkpoint is exit 6, and is compared all the same" {
    record
    run rml-golden check "$FIXTURES/llama/hf" golden.json
    [ "$status" -eq 6 ]
    [[ $output == *"is about a checkpoint of content"* ]]
    [[ $output == *pass* ]]
    run rml-golden check "$FIXTURES/llama/hf" golden.json --any-model
    [ "$status" -eq 0 ]
    # One that it cannot be compared with at all, wanted or not
    for option in --no-db --any-model; do
        run rml-golden check "$FIXTURES/llama-q4_k/model.gguf" golden.json $option
        [ "$status" -eq 6 ]
        [[ $output == *", and cannot be compared: cases[0]"* ]]
    done
    # A mismatch of numbers beside another model: the model is the reason
    sed 's/"model": .*/"model": {"content_sha256": "'"$(printf '0%.0s' {1..64})"'"},/' golden.json >zero.json
    run rml-golden check "$LLAMA" zero.json --json
    [ "$status" -eq 6 ]
    [ "$(json '$.passed')" = 0 ]
    [ "$(json '$.files[0].status')" = other-model ]
}

@test "bad files end the check before it starts, with one line" {
    record
    echo '{"format": "rml-golden", "version": 9}' >bad.json
    try rml-golden check "$LLAMA" golden.json bad.json
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "$stderr" = "rml-golden: bad.json: version: 9 found, expected 1" ]
    try rml-golden check "$LLAMA" bad.json --json
    [ "$status" -eq 1 ]
    [ "$(json '$.error.code')" = format ]
    [ "$(json '$.error.file')" = bad.json ]
    [ "$(json '$.error.message')" = "version: 9 found, expected 1" ]
    run rml-golden check missing.gguf golden.json
    [ "$status" -eq 1 ]
    [[ $output == *missing.gguf* ]]
    [ ! -e "$RML_DB" ] || [ "$(sql "select count(*) from golden")" = 0 ]
}

@test "tolerance and settings that are not the file's are said" {
    record
    run rml-golden check "$LLAMA" golden.json --kv i8
    [ "$status" -eq 4 ]
    [[ $output == *"f32 arithmetic with an i8:i8 cache, which the file is not about; tolerance 0.001"* ]]
    run rml-golden check "$LLAMA" golden.json --kv i8 --tolerance 1
    [ "$status" -eq 0 ]
    run rml-golden check "$LLAMA" golden.json --kv i8 --tolerance 1 --residual-rel 1e-6
    [ "$status" -eq 4 ]
    [[ $output == *"layer 0, attention"* ]]
}

@test "every check is a run in the database" {
    record --no-db
    sed 's/"position":3,"norm":/&1/' golden.json >off.json
    rml-golden check "$LLAMA" golden.json
    run rml-golden check "$LLAMA" off.json
    [ "$status" -eq 4 ]
    [ "$(sql "select group_concat(kind || ' ' || state || ' ' || exit_code) from run")" = \
        "golden complete 0,golden complete 4" ]
    [ "$(sql "select name || ' ' || kind || ' ' || passed from golden where run_id = 1 order by id")" = \
        "$(printf 'model/case-1 %s 1\n' logits greedy residual)" ]
    [ "$(sql "select kind || ' ' || first_bad from golden where not passed")" != "" ]
    [ "$(sql "select count(*) from model")" = 1 ]

    rml-golden check --no-db "$LLAMA" golden.json
    [ "$(sql "select count(*) from run")" = 2 ]
    run rml-golden check --db /nonexistent/rml.db "$LLAMA" golden.json
    [ "$status" -eq 1 ]
    [[ $output == *"/nonexistent/rml.db"* ]]
    [[ $output != *pass* ]]
}

@test "a golden or manifest may come through a pipe or standard input" {
    record
    rml-golden check "$LLAMA" <(cat golden.json)
    try rml-golden check "$LLAMA" - --json <golden.json
    [ "$status" -eq 0 ]
    [ "$(json '$.files[0].file')" = - ]
    entry='{"golden": "golden.json", "checkpoint": "'$LLAMA'"}'
    echo '{"format": "rml-golden-manifest", "version": 1, "entries": ['"$entry"']}' | rml-golden suite -
    echo '{' >bad.json
    try rml-golden check "$LLAMA" - <bad.json
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-golden: standard input: line "* ]]
}

@test "files without end or beyond the limit are refused, at once where that can be" {
    truncate -s 10G sparse
    for file in sparse /dev/zero <(cat /dev/zero); do
        try timeout 60 rml-golden check "$LLAMA" "$file"
        [ "$status" -eq 1 ]
        [[ $stderr == *"too large a file found, expected at most 256 MiB" ]]
        try timeout 60 rml-golden suite "$file"
        [ "$status" -eq 1 ]
        [[ $stderr == *"too large a file found, expected at most 256 MiB" ]]
    done
    try rml-golden check "$LLAMA" /dev/null
    [ "$status" -eq 1 ]
    [[ $stderr == *"/dev/null: line 1"* ]]
}

@test "what a warning quotes cannot drive a terminal" {
    record
    sed -i 's/"format"/"k\\u001b[2J\\u009b\\n": 1, &/' golden.json
    try rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 0 ]
    [[ $stderr == *"key 'k?[2J??' is unknown"* ]]
    [ "$(wc -l <.stderr)" -eq 1 ]
}
