#!/usr/bin/env bats
# rml-golden record as its users see it.

setup() {
    LLAMA=$RML_SOURCE_DIR/goldens/fixtures/llama/model.gguf
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

@test "record writes to standard output, and nothing else" {
    rml-golden record "$LLAMA" --tokens 1,2 -o - --no-db >a.json
    rml-golden record "$LLAMA" --tokens 1,2 -o b.json --no-db
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

@test "record wants a case and a file" {
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

@test "record takes no name that check would refuse" {
    override=$(printf '\xe2\x80\xae') c1=$(printf '\xc2\x85') long=$(printf 'x%.0s' {1..257})
    for option in --name --case; do
        for name in '' $'a\tb' $'a\x7f' "a${override}b" "$c1" $'\xff' "$long"; do
            try rml-golden record "$LLAMA" $option "$name" --tokens 1 -o g.json --force
            [ "$status" -eq 2 ]
            [[ $stderr == *"$option: "*" found, expected a name of at most 256 bytes"* ]]
            [ ! -e g.json ]
        done
        for name in 'é 日本' "${long:1}" ' '; do
            rml-golden record "$LLAMA" $option "$name" --tokens 1 -o g.json --force
            rml-golden check --no-db "$LLAMA" g.json
            rm g.json
        done
    done
    # Nor a default one: a file may have any name
    for file in $'tab\there.gguf' $'\xff.gguf' "$override.gguf"; do
        cp "$LLAMA" "$file"
        rml-golden record "$file" --tokens 1 -o g.json --force
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

@test "record keeps a file that is there" {
    try rml-golden record "$LLAMA" --tokens 1,2 -o g.json
    [ "$stderr" = "rml-golden: wrote g.json: 1 case" ]
    cp g.json before.json
    try rml-golden record "$LLAMA" --tokens 3 -o g.json
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-golden: g.json: the file exists, expected a new name (or --force to replace it)" ]
    cmp g.json before.json
    rml-golden record "$LLAMA" --tokens 3 -o g.json --force
    ! cmp -s g.json before.json || false
    # An empty file, as mktemp makes it, holds nothing that could be lost
    : >empty.json
    rml-golden record "$LLAMA" --tokens 1,2 -o empty.json
    rml-golden check "$LLAMA" empty.json
}
