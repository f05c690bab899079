#!/usr/bin/env bats
# rml-golden as its users see it: exit codes, documents, the database.

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

record() { rml-golden record "$LLAMA" --tokens "$TOKENS" -o golden.json "$@"; }

@test "record, then check" {
    record
    run rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == golden*case*positions*"max error"*logsumexp*greedy*verdict ]]
    [[ ${lines[1]} == model*case-1*9*8/8*pass ]]
}

@test "record writes to standard output, and nothing else" {
    rml-golden record "$LLAMA" --tokens 1,2 -o - >a.json
    rml-golden record "$LLAMA" --tokens 1,2 -o b.json
    cmp a.json b.json
    [ "$(ls)" = "$(printf '%s\n' a.json b.json cache)" ]
}

@test "record options" {
    rml-golden record "$LLAMA" --case first --tokens 1,2 --tokens 3 --name toy --top 3 --greedy 2 \
        --no-residual --tolerance 0.5 --kv f16:i8 --arithmetic i8 -o g.json
    run cat g.json
    [ "$(json '$.name')" = toy ]
    [ "$(json '$.cases[0].name')" = first ]
    [ "$(json '$.cases[1].name')" = case-2 ]
    [ "$(json '$.tolerance.logit_abs')" = 0.5 ]
    [ "$(json '$.kv')" = f16:i8 ]
    [ "$(json '$.arithmetic')" = i8 ]
    [ "$(json '$.cases[0].residual')" = "" ]
    [ "$(sqlite3 :memory: "select json_array_length('$output', '\$.cases[0].positions[1].top')")" = 3 ]
    [ "$(sqlite3 :memory: "select json_array_length('$output', '\$.cases[0].greedy')")" = 2 ]
    rml-golden check "$LLAMA" g.json
    rml-golden record "$LLAMA" --tokens 1,2 --all-logits -o all.json
    run cat all.json
    [ "$(sqlite3 :memory: "select json_array_length('$output', '\$.cases[0].positions[1].logits')")" = 64 ]
    rml-golden check "$LLAMA" all.json
}

@test "record refuses text by name, and wants tokens and a file" {
    run rml-golden record "$LLAMA" --text hello -o g.json
    [ "$status" -eq 1 ]
    [[ $output == *--text* ]]
    run rml-golden record "$LLAMA" --messages m.json -o g.json
    [ "$status" -eq 1 ]
    [[ $output == *--messages* ]]
    run rml-golden record "$LLAMA" -o g.json
    [ "$status" -eq 2 ]
    run rml-golden record "$LLAMA" --tokens 1,2
    [ "$status" -eq 2 ]
    [[ $output == *"-o FILE"* ]]
    run rml-golden record "$LLAMA" --tokens 1,x -o g.json
    [ "$status" -eq 2 ]
    [[ $output == *"'x' found, expected token ids"* ]]
    run rml-golden record "$LLAMA" --tokens 1,64 -o g.json
    [ "$status" -eq 1 ]
    [ "$output" = "rml-golden: --tokens: id 64 found, the vocabulary has 64 ids" ]
    [ ! -e g.json ]
}

@test "a prompt beyond the model's context is an error" {
    run rml-golden record "$LLAMA" --tokens "$(yes 1 | head -n 5000 | paste -sd,)" -o g.json
    [ "$status" -eq 1 ]
    [[ $output == "rml-golden: --tokens: 5000 tokens and 8 greedy steps found, the model has "*" positions" ]]
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
    # One that it cannot be compared with at all
    run rml-golden check "$FIXTURES/llama-q4_k/model.gguf" golden.json
    [ "$status" -eq 6 ]
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
    [[ $output == *"f32 arithmetic with a i8:i8 cache, which the file is not about; tolerance 0.001"* ]]
    run rml-golden check "$LLAMA" golden.json --kv i8 --tolerance 1
    [ "$status" -eq 0 ]
    run rml-golden check "$LLAMA" golden.json --kv i8 --tolerance 1 --residual-rel 1e-6
    [ "$status" -eq 4 ]
    [[ $output == *"layer 0, attention"* ]]
}

@test "text beside the tokens is said not to be looked at" {
    record
    sed -i 's/"tokens": \[17/"text": "any", &/' golden.json
    try rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 0 ]
    [[ $stderr == *"checked by their tokens"* ]]
    try rml-golden check -q "$LLAMA" golden.json
    [ -z "$stderr" ]
}

@test "every check is a run in the database" {
    record
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

@test "the residual stream equals a float64 computation of it" {
    for toy in llama gemma3 mixtral olmoe qwen2 qwen3; do
        for checkpoint in hf model.gguf; do
            rml-golden check "$FIXTURES/$toy/$checkpoint" "$RML_SOURCE_DIR/goldens/tests/stream_$toy.json"
        done
    done
}

@test "i8 arithmetic: the same bits on every instruction set and thread count" {
    for type in q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs; do
        model=$FIXTURES/llama-$type/model.gguf
        RML_CPU=ref rml-golden record "$model" --threads 1 --arithmetic i8 --tokens "$TOKENS" \
            --tolerance 0 --residual-rel 0 -o i8.json
        rml-golden check --threads 3 "$model" i8.json
    done
}

@test "i8 arithmetic stays near the float64 goldens" {
    # Toys of 32 to 256 columns have few terms for errors to cancel in: the worst of them is
    # 1.1 off, on logits of up to 12.
    for type in q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs; do
        rml-golden check --arithmetic i8 --tolerance 0.6 "$FIXTURES/llama-$type/model.gguf" \
            "$FIXTURES/llama-$type/golden.json"
    done
}

@test "suite checks all toys" {
    run rml-golden suite "$RML_SOURCE_DIR/goldens/MANIFEST.json"
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} == *" passed, 0 failed, "*" skipped" ]]
    [ "$(sql "select count(*) from golden where not passed")" = 0 ]
    [ "$(sql "select min(passed) from golden")" = 1 ]
}

@test "suite finds the manifest of the folder it is run in" {
    mkdir goldens
    printf '{"format": "rml-golden-manifest", "version": 1, "entries": [
        {"golden": "g.json", "model_file": "not-here.gguf"}]}' >goldens/MANIFEST.json
    run rml-golden suite
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "0 passed, 0 failed, 1 skipped" ]
    [[ $output == *"skipped: not-here.gguf"* ]]
}

@test "suite finds the manifest of the tree it was built from, wherever the program is" {
    mkdir bin
    cp "$(command -v rml-golden)" bin/
    export XDG_CACHE_HOME=$FOLDER/none
    run bin/rml-golden suite
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} == *" passed, 0 failed, "*" skipped" ]]
    [[ ${lines[-1]} != "0 passed"* ]]
}

@test "suite goes on after what cannot be run" {
    record
    sed 's/"logsumexp":/&1/' golden.json >off.json
    cp "$LLAMA" m.gguf
    entry() { printf '{"golden": "%s", "checkpoint": "%s"}' "$1" "$2"; }
    suite() {
        printf '{"format": "rml-golden-manifest", "version": 1, "entries": [%s]}' "$1" >m.json
        run rml-golden suite m.json
    }
    good=$(entry golden.json m.gguf)
    suite "$(entry off.json m.gguf), $good"
    [ "$status" -eq 4 ]
    [ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
    suite "$(entry off.json m.gguf), $(entry golden.json "$FIXTURES/llama/hf"), $good"
    [ "$status" -eq 6 ]
    suite "$(entry missing.json m.gguf), $(entry off.json m.gguf), $good"
    [ "$status" -eq 1 ]
    [[ $output == *"missing.json: cannot open"* ]]
    [ "${lines[-1]}" = "1 passed, 2 failed, 0 skipped" ]
    suite "$(entry golden.json missing.gguf)"
    [ "$status" -eq 1 ]
    # A fetched file that is not the one meant
    export RML_MODELS_DIR=$PWD
    suite '{"golden": "golden.json", "model_file": "m.gguf", "sha256": "'"$(sha256sum <m.gguf | cut -c 1-64)"'"}'
    [ "$status" -eq 0 ]
    suite '{"golden": "golden.json", "model_file": "m.gguf", "sha256": "'"$(printf '0%.0s' {1..64})"'"}'
    [ "$status" -eq 6 ]
}

# stopped_by SIGNAL CODE: in the midst of a long suite
stopped_by() {
    record
    for i in {1..4000}; do
        printf '{"golden": "golden.json", "checkpoint": "%s"},\n' "$LLAMA"
    done >entries
    { echo '{"format": "rml-golden-manifest", "version": 1, "entries": ['; cat entries
      printf '{"golden": "golden.json", "checkpoint": "%s"}]}' "$LLAMA"; } >m.json
    # bats starts background jobs with SIGINT ignored; env restores it
    env --default-signal="$1" rml-golden suite m.json >out 2>err &
    pid=$!
    for i in {1..200}; do
        [ "$(sqlite3 -cmd '.timeout 2000' "$RML_DB" 'select count(*) > 3 from golden' 2>/dev/null)" = 1 ] && break
        sleep 0.05
    done
    kill -"$1" $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq "$2" ]
    grep -q 'interrupted after' err
    grep -q pass out
    [ "$(sql 'select state, exit_code from run')" = "aborted|$2" ]
    [ "$(sql 'select count(*) > 3 from golden')" = 1 ]
}

@test "SIGINT keeps what was finished and exits 130" { stopped_by INT 130; }
@test "SIGTERM keeps what was finished and exits 143" { stopped_by TERM 143; }

@test "a golden that never comes is waited for until a signal" {
    mkfifo pipe
    for signal in 2:130 15:143; do
        env --default-signal=INT rml-golden check "$LLAMA" pipe >out 2>err &
        pid=$!
        until grep -qs 'SigCgt:.*4..2$' /proc/$pid/status; do sleep 0.05; done
        sleep 0.3
        kill -${signal%:*} $pid
        status=0
        wait $pid || status=$?
        [ "$status" -eq ${signal#*:} ]
        grep -q 'interrupted, nothing was checked' err
    done
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

@test "record takes no name that check would refuse" {
    override=$(printf '\xe2\x80\xae') c1=$(printf '\xc2\x85') long=$(printf 'x%.0s' {1..257})
    for option in --name --case; do
        for name in '' $'a\tb' $'a\x7f' "a${override}b" "$c1" $'\xff' "$long"; do
            try rml-golden record "$LLAMA" $option "$name" --tokens 1 -o g.json
            [ "$status" -eq 2 ]
            [[ $stderr == *"$option: "*" found, expected a name of at most 256 bytes"* ]]
            [ ! -e g.json ]
        done
        for name in 'é 日本' "${long:1}" ' '; do
            rml-golden record "$LLAMA" $option "$name" --tokens 1 -o g.json
            rml-golden check --no-db "$LLAMA" g.json
            rm g.json
        done
    done
    # Nor a default one: a file may have any name
    for file in $'tab\there.gguf' $'\xff.gguf' "$override.gguf"; do
        cp "$LLAMA" "$file"
        rml-golden record "$file" --tokens 1 -o g.json
        grep -q '"name": "unnamed"' g.json
        rml-golden check --no-db "$file" g.json
    done
}

@test "record --json says what was written, and only that" {
    try rml-golden record "$LLAMA" --tokens 1,2 --tokens 3 -o g.json --json
    [ "$status" -eq 0 ]
    [ "$(json '$.file') $(json '$.name') $(json '$.cases')" = 'g.json model 2' ]
    try rml-golden record "$LLAMA" --tokens 64 -o g.json --json
    [ "$status" -eq 1 ]
    [ "$(json '$.error.code')" = invalid-argument ]
    try rml-golden record "$LLAMA" --tokens 1 -o - --json
    [ "$status" -eq 2 ]
    [[ $stderr == *"--json and -o - exclude each other"* ]]
}

@test "record says why it cannot write" {
    try rml-golden record "$LLAMA" --tokens 1,2 -o /dev/full
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-golden: /dev/full: cannot write: No space left on device" ]
    try rml-golden record "$LLAMA" --tokens 1,2 -o ''
    [ "$status" -eq 2 ]
    ln -s later.json link.json
    rml-golden record "$LLAMA" --tokens 1,2 -o link.json
    [ -L link.json ]
    rml-golden check "$LLAMA" later.json
}

@test "what a warning quotes cannot drive a terminal" {
    record
    sed -i 's/"format"/"k\\u001b[2J\\u009b\\n": 1, &/' golden.json
    try rml-golden check "$LLAMA" golden.json
    [ "$status" -eq 0 ]
    [[ $stderr == *"key 'k?[2J??' is unknown"* ]]
    [ "$(wc -l <.stderr)" -eq 1 ]
}
