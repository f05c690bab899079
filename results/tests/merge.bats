#!/usr/bin/env bats
# rml-results merge: every row comes over once, whatever the ids are on both sides.

load made_db

setup_file() { made_db_template; }
setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
}
teardown() { rm -rf "$HOME"; }

A=aaaaaaaa-0000-4000-8000-000000000001
B=bbbbbbbb-0000-4000-8000-000000000002

# A run that owns a row in every table; $3 tells hosts, builds, models and cases apart
full_run() {
    local db=$1 uuid=$2 tag=$3
    add_run "$db" "$uuid" 1767268800 "label='$tag'"
    add_result "$db" "$uuid" "$tag" '10 20 30'
    add_result "$db" "$uuid" "$tag" '11 21 31' "arm='head'" "output_sha256='$tag'"
    sqlite3 "$db" "
        INSERT INTO host(fingerprint, hostname, cores) VALUES ('f-$tag', 'h', 4);
        INSERT INTO build(binary_sha256, version, git_dirty) VALUES ('b-$tag', '1', 1);
        INSERT INTO model(content_sha256, file_name, n_layer) VALUES ('m-$tag', 'x.gguf', 2);
        UPDATE run SET host_id = (SELECT max(id) FROM host), build_id = (SELECT max(id) FROM build) WHERE uuid = '$uuid';
        UPDATE bench_case SET model_id = (SELECT max(id) FROM model) WHERE name = '$tag';
        INSERT INTO token_time SELECT max(id), 1, 0, 77 FROM result;
        INSERT INTO token_time SELECT max(id), 1, 1, 88 FROM result;
        INSERT INTO counter(result_id, rep, metric, value) SELECT max(id), 1, 'instructions', 5.5 FROM result;
        INSERT OR IGNORE INTO median_interval VALUES (2000 + length('$tag'), 1, 2, 0.5);
        INSERT INTO verdict(run_id, base_result_id, candidate_result_id, metric, method, n, ratio, verdict)
            SELECT max(run_id), min(id), max(id), 'wall_ns', 'sign', 61, 1.25, 'pass' FROM result
            WHERE run_id = (SELECT id FROM run WHERE uuid = '$uuid');"
    sqlite3 "$db" "WITH u(id) AS (SELECT id FROM run WHERE uuid = '$uuid')
        INSERT INTO run_env(run_id, phase, key, value) SELECT id, 'start', 'thp', '$tag' FROM u;
        WITH u(id) AS (SELECT id FROM run WHERE uuid = '$uuid')
        INSERT INTO golden(run_id, model_id, name, kind, passed) SELECT u.id, (SELECT max(id) FROM model), n, 'logits', 1
            FROM u, (SELECT '$tag/1' AS n UNION ALL SELECT '$tag/1');
        WITH u(id) AS (SELECT id FROM run WHERE uuid = '$uuid')
        INSERT INTO eval_item(run_id, task, doc_id, choice_idx, request_sha256, token_ids, token_logprobs, loglik)
            SELECT id, 't', '$tag', 0, 'r', x'0100000000', x'00', -0.1 FROM u;
        WITH u(id) AS (SELECT id FROM run WHERE uuid = '$uuid')
        INSERT INTO eval_metric(run_id, task, metric, value, n) SELECT id, 't', 'acc', 0.1, 8 FROM u;
        WITH u(id) AS (SELECT id FROM run WHERE uuid = '$uuid')
        INSERT INTO eval(run_id, task, protocol, model_id, base_model_id, settings_json) SELECT id, 't', 'p', (SELECT max(id) FROM model), (SELECT min(id) FROM model), '{}' FROM u;
        INSERT INTO eval_doc(run_id, task, doc_id, doc_idx, text) SELECT max(run_id), 't', '$tag', 0, 'a text' FROM eval;
        INSERT INTO eval_doc_metric(run_id, task, doc_id, metric, value) SELECT max(run_id), 't', '$tag', 'nll', 1.5 FROM eval;
        INSERT INTO run_model(run_id, model_id) SELECT max(run_id), (SELECT max(id) FROM model) FROM eval;
        INSERT INTO annotation(bench_case_id, host_id, commit_sha, kind, note)
            SELECT max(bench_case.id), (SELECT max(id) FROM host), 'c0ffee', 'step', '$tag' FROM bench_case;"
}

# Every row of a database in words, ids replaced by what they stand for
said() {
    sqlite3 "$1" "
        SELECT 'run', u.uuid, u.state, u.label, h.fingerprint, h.cores, b.binary_sha256, b.git_dirty, u.heartbeat_ns
            FROM run u JOIN host h ON h.id = u.host_id JOIN build b ON b.id = u.build_id;
        SELECT 'env', u.uuid, e.phase, e.key, e.value FROM run_env e JOIN run u ON u.id = e.run_id;
        SELECT 'result', u.uuid, c.case_key, m.content_sha256, m.n_layer, r.arm, r.status, r.output_sha256, r.items_per_iter,
            (SELECT group_concat(rep || ' ' || is_warmup || ' ' || wall_ns || ' ' || t_mono_ns) FROM sample s WHERE s.result_id = r.id),
            (SELECT group_concat(rep || ' ' || idx || ' ' || t_mono_ns) FROM token_time t WHERE t.result_id = r.id),
            (SELECT group_concat(rep || ' ' || metric || ' ' || value) FROM counter k WHERE k.result_id = r.id)
            FROM result r JOIN run u ON u.id = r.run_id JOIN bench_case c ON c.id = r.bench_case_id
            LEFT JOIN model m ON m.id = c.model_id;
        SELECT 'golden', u.uuid, g.name, m.content_sha256 FROM golden g JOIN run u ON u.id = g.run_id JOIN model m ON m.id = g.model_id;
        SELECT 'item', u.uuid, i.doc_id, hex(i.token_ids), i.loglik FROM eval_item i JOIN run u ON u.id = i.run_id;
        SELECT 'metric', u.uuid, i.task, i.value, i.n FROM eval_metric i JOIN run u ON u.id = i.run_id;
        SELECT 'verdict', u.uuid, rb.output_sha256, cb.case_key, rc.output_sha256, cc.case_key, v.ratio FROM verdict v
            JOIN run u ON u.id = v.run_id JOIN result rb ON rb.id = v.base_result_id JOIN bench_case cb ON cb.id = rb.bench_case_id
            JOIN result rc ON rc.id = v.candidate_result_id JOIN bench_case cc ON cc.id = rc.bench_case_id;
        SELECT 'eval', u.uuid, e.protocol, m.content_sha256, b.content_sha256, d.text, x.value FROM eval e JOIN run u ON u.id = e.run_id
            JOIN model m ON m.id = e.model_id JOIN model b ON b.id = e.base_model_id
            JOIN eval_doc d ON d.run_id = e.run_id JOIN eval_doc_metric x ON x.run_id = e.run_id;
        SELECT 'run_model', u.uuid, m.content_sha256 FROM run_model l JOIN run u ON u.id = l.run_id JOIN model m ON m.id = l.model_id;
        SELECT 'annotation', c.case_key, h.fingerprint, a.commit_sha, a.note FROM annotation a
            JOIN bench_case c ON c.id = a.bench_case_id JOIN host h ON h.id = a.host_id;
        SELECT 'interval', n, hi_rank FROM median_interval WHERE n > 1000" | sort
}

@test "merge: into a database that is not there, then again" {
    new_db a.db
    full_run a.db $A one
    full_run a.db $B two
    rml-results merge --db new.db a.db >table
    [ "$(awk 'NR == 2 { print $1, $2, $3, $4, $5, $6 }' table)" = 'a.db 2 0 4 4 2' ]
    diff <(said a.db) <(said new.db)
    diff <(counts a.db) <(counts new.db)
    counts new.db >before
    rml-results merge --json --db new.db a.db >out.json
    diff before <(counts new.db)
    [ "$(json out.json "(SELECT total(value) FROM json_each(d, '\$.files[0].added'))")" = 0.0 ]
    rml-results check --db new.db
    # Every table of the schema is among those that are merged
    diff <(json out.json "(SELECT group_concat(key, char(10)) FROM (SELECT key FROM json_each(d, '\$.files[0].added') ORDER BY key))") \
        <(sqlite3 a.db "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
}

@test "merge: two databases with the same ids for other things, both ways" {
    new_db a.db
    full_run a.db $A one
    new_db b.db
    full_run b.db $B two
    cp a.db a0.db
    rml-results merge --db a.db b.db >/dev/null
    rml-results merge --db b.db a0.db >/dev/null
    diff <(said a.db) <(said b.db)
    [ "$(said a.db | grep -c ^result)" -eq 4 ]
    diff <(said a.db | grep -v "$A" | grep -e "$B") <(said b.db | grep -v "$A" | grep -e "$B")
    rml-results merge --db all.db a.db b.db a0.db >/dev/null
    diff <(said a.db) <(said all.db)
    rml-results check --db a.db
}

@test "merge: a run that was running is completed by the next merge" {
    new_db a.db
    add_run a.db $A 1767268800
    add_result a.db $A x '10 20 30'
    sqlite3 a.db "UPDATE run SET state = 'running', end_ns = NULL, exit_code = NULL"
    rml-results merge --db m.db a.db >/dev/null 2>note
    grep -q 'a.db: 1 run had not ended; ' note
    [ "$(sqlite3 m.db 'SELECT state FROM run')" = running ]
    cp a.db early.db
    # it goes on: an equal measurement once more, another, an end
    add_result a.db $A x '10 20 30'
    sqlite3 a.db "UPDATE sample SET t_mono_ns = t_mono_ns + 5 WHERE result_id = 2"
    add_result a.db $A y '5 5 5'
    sqlite3 a.db "INSERT INTO run_env(run_id, phase, key, value) VALUES (1, 'end', 'thp', 'x');
        INSERT INTO counter(result_id, rep, metric, value) VALUES (1, 1, 'late', 1.0);
        UPDATE run SET state = 'failed', end_ns = start_ns + 7, heartbeat_ns = start_ns + 7, exit_code = 1"
    rml-results merge --db m.db a.db >table
    [ "$(awk 'NR == 2 { print $2, $3, $4 }' table)" = '0 1 2' ]
    diff <(said a.db) <(said m.db)
    diff <(counts a.db) <(counts m.db)
    # an earlier copy of it takes nothing back
    rml-results merge --db m.db early.db >/dev/null 2>&1
    diff <(said a.db) <(said m.db)
}

@test "merge: what cannot be merged is refused, and nothing is left" {
    new_db a.db
    full_run a.db $A one
    sqlite3 a.db "VACUUM INTO 'newer.db'; VACUUM INTO 'torn.db'; VACUUM INTO 'loose.db'"
    sqlite3 newer.db 'PRAGMA user_version = 99'
    try rml-results merge --db m.db newer.db
    [ "$status" -eq 1 ] && [[ $stderr == 'rml-results: newer.db: schema version 99 is newer'* ]] && [ ! -e m.db ]
    echo 'no database at all, but a text of some length, which is longer than a header is: 0123456789' >text
    try rml-results merge --db m.db a.db text
    [ "$status" -eq 1 ] && [[ $stderr == *'text: not an SQLite database'* ]] && [ ! -e m.db ]
    : >empty.db
    sqlite3 bare.db 'PRAGMA user_version = 0; VACUUM' # a header page, and no more
    for found in 'empty.db: an empty file' '/dev/null: an empty file' 'bare.db: an SQLite database without tables'; do
        try rml-results merge --db m.db "${found%%: *}"
        [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$stderr" = "rml-results: $found found, expected a results database" ]
        [ ! -e m.db ]
        try rml-results list --db "${found%%: *}" # nor can it be read
        [ "$status" -eq 1 ] && [ "$stderr" = "rml-results: $found found, expected a results database" ]
        try rml-results migrate --db "${found%%: *}"
        [ "$status" -eq 1 ] && [ "$stderr" = "rml-results: $found found, expected a results database" ]
    done
    [ "$(wc -c <empty.db)" -eq 0 ]
    try rml-results merge --db m.db missing.db
    [ "$status" -eq 1 ] && [[ $stderr == *'missing.db: no results database'* ]] && [ ! -e m.db ]
    cp a.db before.db
    try rml-results merge --db a.db ./a.db
    [ "$status" -eq 1 ] && [[ $stderr == *'the database itself'* ]]
    ln a.db hard.db
    try rml-results merge --db a.db hard.db
    [ "$status" -eq 1 ] && [[ $stderr == *'the database itself'* ]]
    sqlite3 loose.db 'PRAGMA foreign_keys = OFF; DELETE FROM bench_case'
    new_db m.db
    counts m.db >before
    try rml-results merge --db m.db loose.db
    [ "$status" -eq 1 ] && [[ $stderr == *'loose.db: a row of result names bench_case 1, which is not there'* ]]
    diff before <(counts m.db)
    try rml-results merge --db m.db
    [ "$status" -eq 2 ]
}

@test "merge: a database of an older schema is read through a copy" {
    new_db m.db
    # Version 0 is an empty database that bears our mark
    sqlite3 zero.db 'PRAGMA application_id = 0x726d6c31; VACUUM'
    counts m.db >before
    cp zero.db zero.copy
    mkdir scratch
    TMPDIR=$PWD/scratch rml-results merge --db m.db zero.db >/dev/null
    diff before <(counts m.db)
    cmp zero.db zero.copy
    [ -z "$(ls -A scratch)" ]
    TMPDIR=$PWD/nowhere try rml-results merge --db m.db zero.db
    [ "$status" -eq 1 ] && [[ $stderr == *'nowhere/rml-merge-'*'cannot create a temporary folder: No such file'* ]]
}

@test "merge: killed at any moment, all of a file is there or nothing" {
    new_db a.db
    add_run a.db $A 1767268800
    add_result a.db $A x '1 2 3'
    sqlite3 a.db "WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns) SELECT 1, i, i, 0, i, 1, i FROM n"
    local seen=
    for delay in 0.02 0.05 0.1 0.2 0.5; do
        rm -f m.db*
        new_db m.db
        rml-results merge --db m.db a.db >/dev/null 2>&1 &
        sleep "$delay"
        kill -KILL $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        n=$(sqlite3 m.db 'SELECT count(*) FROM sample')
        runs=$(sqlite3 m.db 'SELECT count(*) FROM run')
        [ "$runs $n" = '0 0' ] || [ "$runs $n" = '1 30001' ]
        seen+=" $runs"
        rml-results check --db m.db >/dev/null
        rml-results merge --db m.db a.db >/dev/null
        [ "$(sqlite3 m.db 'SELECT count(*) FROM sample')" -eq 30001 ]
    done
    echo "merged:$seen"
}

@test "merge: an interrupt leaves the database as it was" {
    new_db a.db
    add_run a.db $A 1767268800
    add_result a.db $A x '1 2 3'
    sqlite3 a.db "WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns) SELECT 1, i, i, 0, i, 1, i FROM n"
    new_db m.db
    # while another program holds it, merge waits; the signal comes in that time
    sqlite3 m.db 'BEGIN IMMEDIATE' '.shell sleep 1' 'COMMIT' &
    sleep 0.3
    status=0
    # a shell starts background jobs with SIGINT ignored, so SIGTERM
    rml-results merge --db m.db a.db >/dev/null 2>err.txt &
    sleep 0.3
    kill -TERM $!
    wait $! || status=$?
    wait
    [ "$status" -eq 143 ]
    # (a signal that came before the program had begun to listen ends it without a word)
    [ ! -s err.txt ] || grep -q 'interrupted' err.txt
    [ "$(sqlite3 m.db 'SELECT count(*) FROM run')" -eq 0 ]
}
