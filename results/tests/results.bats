#!/usr/bin/env bats
# rml-results as users and scripts see it: list, check.

setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS RML_PLOTS_DIR
}
teardown() { rm -rf "$HOME"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

measure() { rml-bench attention --kv f32,f16:i8 --depth 8,16 --db "$1" >/dev/null 2>&1; }

@test "a bad command line exits 2 and prints nothing on stdout" {
    for args in '' 'nosuch' 'list extra' 'list --no-db' 'list --db=' 'list --limit 0' 'list --limit x' 'check extra'; do
        # shellcheck disable=SC2086 # words
        try rml-results $args
        echo "args: $args: status $status: $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ -n "$stderr" ]
    done
}

@test "a database that is not there, or is none, is one line and exit 1" {
    echo 'this is no database, only text, but longer than the header of one: 0123456789' >text.db
    for command in list check 'plot throughput-by-kv -o x.svg'; do
        # shellcheck disable=SC2086 # words
        try rml-results $command --db missing.db
        [ "$status" -eq 1 ] && [ -z "$output" ]
        [[ $stderr == 'rml-results: missing.db: no results database there'* ]]
        # shellcheck disable=SC2086 # words
        try rml-results $command --db text.db
        [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
        [[ $stderr == 'rml-results: text.db: not an SQLite database'* ]]
        [ ! -e missing.db ] && [ ! -e x.svg ]
    done
}

@test "a newer schema is refused, by readers and writers" {
    measure new.db
    sqlite3 new.db 'PRAGMA user_version = 99'
    for command in 'rml-results list' 'rml-results check' 'rml-bench attention'; do
        # shellcheck disable=SC2086 # words
        try $command --db new.db
        [ "$status" -eq 1 ] && [[ $stderr == *'schema version 99 is newer'* ]]
    done
}

@test "list: newest first, as a table and as JSON" {
    measure a.db
    rml-bench attention --kv f32 --depth 8 --db a.db >/dev/null 2>&1
    rml-results list --db a.db >table
    [ "$(wc -l <table)" -eq 3 ]
    head -n 1 table | grep -q '^run .*state'
    sed -n 2p table | grep -q 'bench *complete *0'
    [ "$(rml-results list --db a.db --limit 1 | wc -l)" -eq 2 ]
    rml-results list --json --db a.db >out.json
    [ "$(sqlite3 :memory: "SELECT group_concat(json_extract(value, '\$.n_results'))
        FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.runs')")" = 1,4 ]
    [ "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.runs')
        WHERE length(json_extract(value, '\$.uuid')) = 36 AND (json_extract(value, '\$.state')) = 'complete'
        AND (json_extract(value, '\$.exit_code')) = 0 AND (json_extract(value, '\$.end_ns')) > (json_extract(value, '\$.start_ns'))")" -eq 2 ]
}

@test "check: sound, then damaged" {
    measure a.db
    try rml-results check --db a.db
    [ "$status" -eq 0 ] && [ "$output" = 'sound: a.db' ]

    cp a.db broken.db
    sqlite3 broken.db 'PRAGMA foreign_keys = OFF; DELETE FROM build'
    try rml-results check --db broken.db
    [ "$status" -eq 1 ]
    [[ $output == 'damaged: 1 row of run without build' ]]
    [[ $stderr == *'broken.db: database is damaged' ]]
    try rml-results check --db broken.db --json
    [ "$status" -eq 1 ] && [[ $stderr == 'rml-results: broken.db: database is damaged' ]]
    [ "$(sqlite3 :memory: "SELECT d ->> '\$.sound', d ->> '\$.damage[0]', json_array_length(d, '\$.damage')
        FROM (SELECT CAST(readfile('stdout.txt') AS TEXT) AS d)")" = '0|1 row of run without build|1' ]

    sqlite3 a.db "VACUUM INTO 'torn.db'"
    size=$(stat -c %s torn.db)
    dd if=/dev/urandom of=torn.db bs=4096 seek=$((size / 8192)) count=$((size / 8192 - 1)) conv=notrunc 2>/dev/null
    try rml-results check --db torn.db
    [ "$status" -eq 1 ] && [[ $stderr == *'torn.db: '* ]]

    # A schema that cannot be read is found on opening, and is said for what it is
    sqlite3 a.db "VACUUM INTO 'schema.db'"
    sqlite3 -cmd ".dbconfig defensive off" schema.db >/dev/null "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(' WHERE name = 'run'"
    try rml-results check --db schema.db
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == 'rml-results: schema.db: database is damaged: malformed database schema (run)'*' while opening it' ]]
    try rml-results check --json --db schema.db
    [ "$status" -eq 1 ]
    [ "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('stdout.txt') AS TEXT), '\$.error.code', '\$.error.file')")" = '["format","schema.db"]' ]
}

@test "check: dead runs are listed, in words and as JSON, and are no damage" {
    measure a.db
    rml-bench attention --kv f32 --depth 8 --db a.db >/dev/null 2>&1
    try rml-results check --json --db a.db
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    [ "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('stdout.txt') AS TEXT), '\$.file', '\$.sound', '\$.damage', '\$.dead_runs')")" = \
        '["a.db",true,[],[]]' ]
    sqlite3 a.db "UPDATE run SET state = 'running', end_ns = NULL, exit_code = NULL, boot_id = 'gone' WHERE id = 2"
    try rml-results check --db a.db
    uuid=$(sqlite3 a.db 'SELECT uuid FROM run WHERE id = 2')
    [ "$status" -eq 0 ] && [[ $output == "sound: a.db
dead run: $uuid, bench, begun 2"*Z ]]
    try rml-results check --json --db a.db
    [ "$status" -eq 0 ]
    [ "$(sqlite3 :memory: "SELECT group_concat(json_extract(value, '\$.run') || json_extract(value, '\$.kind') || json_extract(value, '\$.id'))
        FROM json_each(CAST(readfile('stdout.txt') AS TEXT), '\$.dead_runs')")" = "${uuid}bench2" ]
}
