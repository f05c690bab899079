#!/usr/bin/env bats
# rml-golden suite: what it finds, what it goes on after.

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

sql() { sqlite3 "$RML_DB" "$1"; }

record() { rml-golden record "$LLAMA" --tokens "$TOKENS" -o golden.json --force "$@"; }

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
    # A mismatch is not hidden by a model that is not the one meant
    suite "$(entry off.json m.gguf), $(entry golden.json "$FIXTURES/llama/hf"), $good"
    [ "$status" -eq 4 ]
    suite "$(entry golden.json "$FIXTURES/llama/hf"), $good"
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
