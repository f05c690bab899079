#!/usr/bin/env bats
# rml-results as users and scripts see it: list, check, plot.

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
    for args in '' 'nosuch' 'list extra' 'list --no-db' 'list --db=' 'check --json' 'list --limit 0' 'list --limit x' 'check extra' 'plot' \
        'plot throughput-by-kv' 'plot nosuch -o x.svg' 'plot throughput-by-kv -o x.pdf' \
        'plot throughput-by-kv -o svg' 'plot throughput-by-kv -o=' 'plot throughput-by-kv -o x.svg --data=' 'plot throughput-by-kv extra -o x.svg' 'plot -o x.svg'; do
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
    [[ $output == 'damaged: 1 rows of run without their build' ]]
    [[ $stderr == *'broken.db: database is damaged' ]]

    sqlite3 a.db "VACUUM INTO 'torn.db'"
    size=$(stat -c %s torn.db)
    dd if=/dev/urandom of=torn.db bs=4096 seek=$((size / 8192)) count=$((size / 8192 - 1)) conv=notrunc 2>/dev/null
    try rml-results check --db torn.db
    [ "$status" -eq 1 ] && [[ $stderr == *'torn.db: '* ]]

    # A schema that cannot be read is found on opening, and is said for what it is
    sqlite3 a.db "VACUUM INTO 'schema.db'"
    sqlite3 schema.db "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(' WHERE name = 'run'"
    try rml-results check --db schema.db
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == 'rml-results: schema.db: database is damaged: malformed database schema (run)'*' while opening it' ]]
}

@test "plot: SVG, PNG and text, the same bytes for the same database in any locale" {
    measure a.db
    for ending in svg png txt; do
        rml-results plot throughput-by-kv --db a.db -o "1.$ending"
        sleep 1.1
        env -u LANG LC_ALL=C rml-results plot throughput-by-kv --db a.db -o "2.$ending"
        [ -s "1.$ending" ]
        cmp "1.$ending" "2.$ending"
    done
    head -c 8 1.png | od -An -c | grep -q 'P   N   G'
    grep -q '<svg' 1.svg && grep -q '</svg>' 1.svg
    for text in 'f16:i8' 'attention llama-3-8b, depth 16' 'Tokens per second' 'n = 21' 'confidence'; do
        grep -q -- "$text" 1.svg
        grep -q -- "$text" 1.txt
    done
    rml-results plot throughput-by-kv --db a.db -o - | cmp - 1.txt
    [ "$(find . -name '*tmp*' | wc -l)" -eq 0 ]
}

@test "plot: a program finds its scripts wherever its build folder is" {
    measure a.db
    mkdir -p far/away/build/bin
    cp "$(command -v rml-results)" far/away/build/bin/
    far/away/build/bin/rml-results plot throughput-by-kv --db a.db -o x.svg
    grep -q '<svg' x.svg
    # Scripts of an installation come before those of the tree it was built from
    mkdir -p far/away/build/share/rml/plots
    echo 'set nonsense' >far/away/build/share/rml/plots/throughput-by-kv.gnuplot
    try far/away/build/bin/rml-results plot throughput-by-kv --db a.db -o y.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'share/rml/plots/throughput-by-kv.gnuplot: gnuplot failed'* ]]
}

@test "plot: the data file has a header and every row" {
    measure a.db
    rml-results plot throughput-by-kv --db a.db -o x.svg --data x.dat
    grep -q "^# runs: $(sqlite3 a.db 'SELECT uuid FROM run')" x.dat
    grep -q '^# sql: SELECT' x.dat
    grep -q '^# rows: 4 in 2 panels' x.dat
    [ "$(grep -vc '^#\|^$' x.dat)" -eq 4 ]
    # and the script draws from it without us
    script=$(find "$BATS_TEST_DIRNAME/../plots" -name throughput-by-kv.gnuplot)
    gnuplot -c "$script" x.dat y.svg svg 2 title subtitle
    grep -q '<svg' y.svg
}

@test "plot: rows of the newest run's host and build only, errors left out" {
    measure a.db
    sqlite3 a.db "INSERT INTO build(binary_sha256, version, git_dirty) VALUES ('x', '9', 0);
        UPDATE run SET build_id = (SELECT id FROM build WHERE binary_sha256 = 'x')"
    rml-bench attention --kv i8,f16 --depth 8 --db a.db >/dev/null 2>&1
    rml-results plot throughput-by-kv --db a.db -o x.svg --data x.dat
    grep -q '^# rows: 2 in 1 panels' x.dat
    sqlite3 a.db "UPDATE result SET status = 'error', error = 'x' WHERE id = (SELECT max(id) FROM result)"
    rml-results plot throughput-by-kv --db a.db -o x.svg --data x.dat
    grep -q '^# rows: 1 in 1 panels' x.dat
}

@test "plot: what goes wrong is an error, and no half chart is left" {
    measure a.db
    sqlite3 a.db "VACUUM INTO 'empty.db'"
    sqlite3 empty.db 'DELETE FROM result'
    try rml-results plot throughput-by-kv --db empty.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'empty.db: no measured case with a cache type'* ]] && [ ! -e x.svg ]

    try rml-results plot throughput-by-kv --db a.db -o no/such/x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'no/such/x.svg'* ]]

    mkdir plots
    RML_PLOTS_DIR=plots try rml-results plot throughput-by-kv --db a.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'plots/throughput-by-kv.gnuplot: plot script cannot be read'* ]]
    echo 'set nonsense' >plots/throughput-by-kv.gnuplot
    RML_PLOTS_DIR=plots try rml-results plot throughput-by-kv --db a.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'gnuplot failed'* ]] && [ ! -e x.svg ]
    echo 'x = 1' >plots/throughput-by-kv.gnuplot # draws nothing
    RML_PLOTS_DIR=plots try rml-results plot throughput-by-kv --db a.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'gnuplot wrote no chart'* ]] && [ ! -e x.svg ]

    program=$(command -v rml-results)
    PATH=/nowhere try "$program" plot throughput-by-kv --db a.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'gnuplot: not found in PATH'* ]] && [ ! -e x.svg ]
}

@test "plot reads a database in a folder that is read-only" {
    [ "$(id -u)" -eq 0 ] && skip 'root may write everywhere'
    measure a.db
    mkdir ro && mv a.db* ro/
    chmod -R a-w ro
    rml-results plot throughput-by-kv --db ro/a.db -o x.svg
    chmod -R u+w ro
    [ -s x.svg ]
}
