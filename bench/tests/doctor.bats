#!/usr/bin/env bats
# rml-bench doctor: its report agrees with its exit code, whatever the machine is like.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"; }

@test "the report and the exit code say the same, and nothing is created" {
    status=0
    rml-bench doctor --threads 1 --db folder/x.db --json >out.json 2>err || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 5 ]
    [ ! -e folder ]
    [ "$(json out.json "json_extract(doc, '\$.fit')")" -eq $((status == 0)) ]
    [ "$(json out.json "json_extract(doc, '\$.fit') = (SELECT count(*) = 0
        FROM json_each(doc, '\$.checks') WHERE json_extract(value, '\$.state') = 'bad')")" -eq 1 ]
    for name in noise_arithmetic noise_memory steal load governor boost huge_pages counters \
        clock_source cpu_quota database valgrind; do
        [ "$(json out.json "(SELECT count(*) FROM json_each(doc, '\$.checks')
            WHERE json_extract(value, '\$.name') = '$name')")" -eq 1 ]
    done
    [ "$(json out.json "json_extract(doc, '\$.noise_arithmetic.n_blocks') BETWEEN 61 AND 201")" -eq 1 ]
}

@test "a database that cannot be used is bad, with its name and why" {
    echo 'no database at all, but long enough that it might be one: 0123456789' >text.db
    cp text.db before
    status=0
    rml-bench doctor --threads 1 --db text.db --json >out.json 2>err || status=$?
    [ "$status" -eq 5 ]
    found=$(json out.json "(SELECT value ->> '\$.state' || ' ' || (value ->> '\$.found') FROM json_each(doc, '\$.checks')
        WHERE value ->> '\$.name' = 'database')")
    echo "$found"
    [[ $found == 'bad text.db: not an SQLite database'* ]]
    cmp text.db before
}

@test "a command line that makes no sense exits 2" {
    for args in extra '--threads 0' '--db x --no-db' --nosuch; do
        # shellcheck disable=SC2086 # words
        run rml-bench doctor $args
        [ "$status" -eq 2 ]
    done
}
