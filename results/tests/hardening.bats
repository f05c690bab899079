#!/usr/bin/env bats
# The database under pressure: many writers, full disks, locks, damage on every page.

load made_db

setup_file() { made_db_template; }
setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
    files=$BATS_TEST_DIRNAME/import
}
teardown() {
    cd / && { mountpoint -q "$HOME/small" 2>/dev/null && umount "$HOME/small"; }
    rm -rf "$HOME"
}

R=aaaaaaaa-0000-4000-8000-00000000000

@test "eight processes that import, merge and annotate at once lose nothing" {
    for i in 1 2 3; do
        new_db part$i.db
        add_run part$i.db $R$i 1767268800
        for j in 1 2 3 4 5; do add_result part$i.db $R$i "case$j" "$i $j 7"; done
        # more files: the same records, another commit
        sed "s/0c1e570/0c1e57$i/" "$files/llama-bench.json" >lb$i.json
    done
    pids=
    for i in 1 2 3; do
        rml-results merge --db all.db part$i.db >/dev/null 2>err.m$i & pids+=" $!"
        rml-results import llama-bench --db all.db lb$i.json >/dev/null 2>err.i$i & pids+=" $!"
    done
    rml-results import google-benchmark --db all.db "$files/gbench.json" >/dev/null 2>err.g & pids+=" $!"
    rml-results import hyperfine --db all.db "$files/hyperfine.json" >/dev/null 2>err.h & pids+=" $!"
    for pid in $pids; do wait "$pid"; done
    cat err.*
    [ "$(cat err.* | wc -l)" -eq 0 ]
    # runs: 3 merged, 3 + 2 imported; results 15 + 6 + 4 + 2
    [ "$(sqlite3 all.db 'SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM result)')" = '8|27' ]
    [ "$(sqlite3 all.db 'SELECT count(*) FROM sample')" -eq $((3 * 5 * 4 + 6 * 3 + 3 + 8)) ]
    rml-results check --db all.db
}

@test "no room for a file: an error that says so, and what was there stays" {
    new_db a.db
    add_run a.db ${R}1 1767268800
    add_result a.db ${R}1 x "$(seq -s ' ' 1 300)"
    sqlite3 a.db "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns) SELECT 1, i, i, 0, i, 1, i FROM n"
    new_db m.db
    counts m.db >before
    # a limit on the size of files, in KiB, a little above what is there
    limited() { (trap '' XFSZ && ulimit -f $(($(stat -c %s m.db) / 1024 + 4)) && "$@"); }
    try limited rml-results merge --db m.db a.db
    echo "$status $stderr"
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [[ $stderr == 'rml-results: m.db: '* ]]
    diff before <(counts m.db)
    rml-results check --db m.db >/dev/null
    try limited rml-results export --db a.db --samples -o out.csv
    [ "$status" -eq 1 ] && [ ! -e out.csv ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    rml-results merge --db m.db a.db >/dev/null
    [ "$(sqlite3 m.db 'SELECT count(*) FROM sample')" -eq 29302 ]
}

@test "a full disk: an error that says so, and what was there stays" {
    mkdir small
    mount -t tmpfs -o size=400k tmpfs small 2>/dev/null || skip 'no tmpfs can be mounted here'
    new_db a.db
    add_run a.db ${R}1 1767268800
    add_result a.db ${R}1 x "$(seq -s ' ' 1 300)"
    sqlite3 a.db "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns) SELECT 1, i, i, 0, i, 1, i FROM n"
    new_db small/m.db
    counts small/m.db >before
    try rml-results merge --db small/m.db a.db
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [[ $stderr == *'small/m.db: '*'no space left'* ]]
    diff before <(counts small/m.db)
    try rml-results import hyperfine --db small/m.db "$files/hyperfine.json"
    [ "$status" -eq 0 ] || [[ $stderr == *'no space left'* ]]
    rml-results check --db small/m.db >/dev/null
}

@test "no room for files beside a database, or a read-only file system: it is read, or why not is said" {
    mkdir small
    mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || skip 'no tmpfs can be mounted here'
    new_db a.db
    add_run a.db ${R}1 1767268800
    add_result a.db ${R}1 x '1 2 3'
    sqlite3 a.db 'PRAGMA journal_mode = WAL' >/dev/null
    cp a.db small/whole.db
    # one whose last changes are in the log still
    sqlite3 a.db "UPDATE run SET label = 'logged'" '.shell cp a.db small/log.db; cp a.db-wal small/log.db-wal'
    head -c 4M /dev/zero >small/rest 2>/dev/null || true # all the room there is
    for kind in full read-only; do
        [ $kind = full ] || { rm -f small/*-shm small/whole.db-wal && mount -o remount,ro small; }
        rml-results show 1 --db small/whole.db | grep -q '^made/x '
        rml-results check --db small/whole.db
        try rml-results list --db small/log.db
        echo "$kind: $stderr"
        [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
        [[ $stderr == 'rml-results: small/log.db: its last changes are in small/log.db-wal, and no file can be made beside it'* ]]
        for db in whole log new; do
            try rml-bench attention --kv f32 --depth 8 --db small/$db.db
            [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
            echo "$kind: $stderr"
            [[ $stderr == "rml-bench: small/$db.db: "*'no space left on the disk'* ]] || [ $kind = read-only ]
        done
    done
    try rml-bench attention --kv f32 --depth 8 --db small/newer.db
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == "rml-bench: small/newer.db: "*': Read-only file system while '* ]]
    mkdir copy && cp small/log.db small/log.db-wal copy/ # as the message says
    rml-results list --db copy/log.db | grep -q logged
}

@test "a database that is locked: readers go on, a writer waits, and gives up after 10 s" {
    new_db a.db
    add_run a.db ${R}1 1767268800
    add_result a.db ${R}1 x '1 2 3'
    sqlite3 a.db 'PRAGMA journal_mode = WAL' 'BEGIN IMMEDIATE' '.shell sleep 11.5' 'ROLLBACK' >/dev/null &
    sleep 0.5
    rml-results list --db a.db | grep -q complete
    try rml-results annotate x --kind step --note n --db a.db
    echo "$stderr"
    [ "$status" -eq 1 ] && [[ $stderr == 'rml-results: a.db: database is locked by another program (waited 10 s) while '* ]]
    rml-results annotate x --kind step --note n --db a.db # waits until it is free
    wait
    [ "$(sqlite3 a.db 'SELECT count(*) FROM annotation')" -eq 1 ]
}

@test "damage on any page: found by check, never a crash, and nothing of it is merged" {
    new_db a.db
    add_run a.db ${R}1 1767268800
    add_result a.db ${R}1 x "$(seq -s ' ' 1 40)" "error='$(head -c 9000 /dev/zero | tr '\0' x)'" # overflow pages
    sqlite3 a.db 'DELETE FROM median_interval WHERE n > 60'
    sqlite3 a.db "VACUUM INTO 'whole.db'"
    local size page n_pages n_found=0
    size=$(sqlite3 whole.db 'PRAGMA page_size')
    n_pages=$(sqlite3 whole.db 'PRAGMA page_count')
    new_db m.db
    counts m.db >before
    for ((page = 0; page < n_pages; page++)); do
        cp whole.db torn.db
        head -c "$size" /dev/zero | tr '\0' '\377' | dd of=torn.db bs="$size" seek="$page" conv=notrunc 2>/dev/null
        try rml-results check --db torn.db
        echo "page $page: status $status: $stderr"
        [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [[ $stderr == 'rml-results: torn.db: '* ]]
        n_found=$((n_found + 1))
        ((page % 5 == 0)) || continue
        # of a report, which draws twelve charts from it, one line too
        try rml-results report --db torn.db -o torn.html
        [ "$(wc -l <stderr.txt)" -le 1 ]
        try rml-results merge --db m.db torn.db
        [ "$status" -le 1 ]
        [ "$status" -eq 0 ] || diff before <(counts m.db)
        rm -f torn.db* && [ "$status" -ne 0 ] || { rm -f m.db* && new_db m.db; }
    done
    [ "$n_found" -eq "$n_pages" ] && [ "$n_pages" -gt 20 ]
}

@test "a read-only database and folder: read, and not written" {
    [ "$(id -u)" -eq 0 ] && skip 'root may write everywhere'
    new_db a.db
    mkdir ro && cp a.db ro/ && chmod -R a-w ro
    rml-results list --db ro/a.db >/dev/null
    try rml-results annotate --host x --kind step --note n --db ro/a.db
    [ "$status" -eq 1 ] && [[ $stderr == *read-only* ]]
    chmod -R u+w ro
}
