#!/usr/bin/env bats
# Signals in the midst of a suite or of waiting for a file.

setup() {
    LLAMA=$RML_SOURCE_DIR/goldens/fixtures/llama/model.gguf
    TOKENS=17,43,60,32,57,23,18,27,12
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export RML_DB=$FOLDER/rml.db XDG_CACHE_HOME=$FOLDER/cache
    unset RML_MODELS_DIR
}

teardown() { rm -rf "$FOLDER"; }

sql() { sqlite3 "$RML_DB" "$1"; }

record() { rml-golden record "$LLAMA" --tokens "$TOKENS" -o golden.json --force "$@"; }

# stopped_by SIGNAL CODE: in the midst of a long suite
stopped_by() {
    record --no-db
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
