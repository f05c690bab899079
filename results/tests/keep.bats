#!/usr/bin/env bats
# rml-results export, annotate, prune, migrate: what leaves the database, and what stays.

load made_db

setup_file() { made_db_template; }
setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
}
teardown() { rm -rf "$HOME"; }

uuid() { printf '%08d-0000-4000-8000-000000000000' "$1"; }

# Five runs a day apart, 2026-01-02 to 06, each with a result of case x; the third has y, too
five_runs() {
    new_db a.db
    local i
    for i in 1 2 3 4 5; do
        add_run a.db "$(uuid $i)" $((1767268800 + i * 86400)) "label='l$((i % 2))'"
        add_result a.db "$(uuid $i)" x "$i $i $i"
    done
    add_result a.db "$(uuid 3)" y '7 8 9'
}

gone() { rml-results prune --db a.db --json "$@" | sed -n 's/.*"run": "0*\([1-9]\)-.*/\1/p' | paste -sd ' '; }

@test "export: CSV reads back as it was" {
    five_runs
    sqlite3 a.db "UPDATE run SET label = 'comma, \"quote\"' || char(13, 10) || 'line' WHERE id = 1; UPDATE run SET label = '' WHERE id = 2;
        UPDATE run SET label = NULL WHERE id = 3; UPDATE run SET label = ' blank ' WHERE id = 4; UPDATE run SET label = 'é' WHERE id = 5;
        UPDATE result SET bytes_per_iter = 9007199254740993, max_abs_error = 0.1 + 0.2, tolerance = 1e-300"
    rml-results export --db a.db -o out.csv
    [ "$(head -n 1 out.csv | tr ',' '\n' | head -n 3 | paste -sd ' ')" = 'run_uuid run_kind run_state' ]
    head -n 1 out.csv | grep -q $'flops_per_second\r$'
    sqlite3 :memory: '.import --csv out.csv t' \
        "SELECT hex(label), bytes_per_iter, CAST(max_abs_error AS REAL) = 0.1 + 0.2, tolerance, median_ns, flops_per_iter FROM t ORDER BY start_ns, result_id" >back
    sqlite3 a.db "SELECT coalesce(hex(u.label), ''), 9007199254740993, 1, '1.0e-300', printf('%.1f', x.m), '' FROM (SELECT r.id, r.run_id,
        CASE r.bench_case_id WHEN 1 THEN r.run_id ELSE 8 END AS m FROM result AS r) AS x JOIN run AS u ON u.id = x.run_id
        ORDER BY u.start_ns, x.id" | sed 's/1.0e-300/1e-300/' >want
    diff want back
    # every row ends as RFC 4180 has it, and an empty text is not NULL
    [ "$(grep -c ',"",' out.csv)" -eq 1 ]
    rml-results export --db a.db | cmp - out.csv
    rml-results export --db a.db 3 | grep -c "^$(uuid 3)" | grep -qx 2
    rml-results export --db a.db --label l1 --since 2026-01-03 | wc -l | grep -qx 1
    [ "$(rml-results export --db a.db --state failed | wc -l)" -eq 1 ]
}

@test "export: samples, and JSON" {
    five_runs
    rml-results export --db a.db --samples -o s.csv
    [ "$(wc -l <s.csv)" -eq 25 ] # six results of three samples and a warm-up
    [ "$(sqlite3 :memory: '.import --csv s.csv t' "SELECT group_concat(ns_per_iter), sum(is_warmup) FROM t WHERE case_key LIKE 'made/y%'")" = '499999.5,7.0,8.0,9.0|1' ]
    rml-results export --db a.db --samples -o s.json
    [ "$(json s.json "(SELECT count(*) FROM json_each(d))")" -eq 24 ]
    rml-results export --db a.db -o r.json
    [ "$(json r.json "json_extract(d, '\$[2].median_ns') = 3.0 AND json_extract(d, '\$[3].variance_ns2') = 1.0")" = 1 ]
    # the same columns in the same order as CSV
    diff <(json r.json "(SELECT group_concat(key) FROM json_each(d, '\$[0]'))") <(rml-results export --db a.db | head -n 1 | tr -d '\r')
    rml-results export --db a.db --format json --label none >none.json
    [ "$(json none.json "json_array_length(d)")" -eq 0 ]
    for args in '--format xml' '1 2' '--state dead' '--output='; do
        # shellcheck disable=SC2086 # words
        try rml-results export --db a.db $args
        [ "$status" -eq 2 ]
    done
    try rml-results export --db a.db -o no/such/dir.csv
    [ "$status" -eq 1 ] && [[ $stderr == *'no/such/dir.csv'* ]]
}

@test "annotate: add, list, delete" {
    five_runs
    rml-results annotate x --db a.db --kind step --note 'new layout' --commit c0ffee1
    rml-results annotate 'made/*' --db a.db --kind mute --note quiet --expires 30d
    rml-results annotate --host "$(hostname)" --db a.db --kind infra --note 'kernel 6.1' --expires 2030-02-01T12:00
    [ "$(sqlite3 a.db "SELECT count(*) FROM annotation WHERE kind = 'mute' AND abs(expires_ns / 1e9 - unixepoch() - 30 * 86400) < 60")" -eq 2 ] ||
        [ "$(sqlite3 a.db "SELECT count(*) FROM annotation WHERE kind = 'mute' AND abs(expires_ns / 1e9 - strftime('%s') - 30 * 86400) < 60")" -eq 2 ]
    rml-results annotate --list --db a.db >table
    grep -q '^ 1  step   made/x engine=rml threads=1 work=1  -  *c0ffee1  -  *new layout$' table
    grep -q 'infra .* 2030-02-01 12:00:00Z  kernel 6.1$' table
    rml-results annotate --list --json --db a.db >out.json
    [ "$(json out.json "json_array_length(d, '\$.annotations')")" -eq 4 ]
    rml-results history x --db a.db | grep -q '^mute *quiet$'
    rml-results annotate --delete 2 --db a.db
    [ "$(sqlite3 a.db 'SELECT count(*) FROM annotation')" -eq 3 ]
    try rml-results annotate --delete 2 --db a.db
    [ "$status" -eq 1 ] && [[ $stderr == *'there is no annotation 2' ]]
    try rml-results annotate nosuch --kind step --note x --db a.db
    [ "$status" -eq 1 ] && [[ $stderr == *"no case 'nosuch' found"* ]]
    try rml-results annotate x --host nosuch --kind step --note x --db a.db
    [ "$status" -eq 1 ] && [[ $stderr == *"0 hosts 'nosuch' found"* ]]
    [ "$(sqlite3 a.db 'SELECT count(*) FROM annotation')" -eq 3 ]
    for args in '' 'x' 'x --kind step' 'x --kind odd --note n' '--kind step --note n' 'x --kind step --note n --commit XYZ' \
        'x --kind step --note n --expires never' '--list --delete 1' 'x --list' '--delete 0'; do
        # shellcheck disable=SC2086 # words
        try rml-results annotate --db a.db $args
        echo "$args: $status"
        [ "$status" -eq 2 ]
    done
    try rml-results annotate x --kind step --note n --db missing.db
    [ "$status" -eq 1 ] && [ ! -e missing.db ]
}

@test "prune: rules, and nothing happens without --yes" {
    five_runs
    counts a.db >before
    [ "$(gone --before 2026-01-04)" = '1 2' ]
    [ "$(gone --keep-last 2)" = '1 2' ] # 3 has the last y
    [ "$(gone --keep-last 1)" = '1 2 4' ]
    [ "$(gone --label l1)" = '1 3 5' ]
    [ "$(gone --label l1 --keep-last 1)" = 1 ]
    [ "$(gone --since 2026-01-05)" = '4 5' ]
    [ "$(gone --state failed)" = '' ]
    sqlite3 a.db "UPDATE run SET state = 'failed' WHERE id = 2"
    [ "$(gone --state failed)" = 2 ]
    rml-results prune --db a.db --keep-last 1 >text
    grep -q '^3 runs would go; --yes deletes them$' text && grep -q '^kept: 2 among the last of a case$' text
    diff before <(counts a.db)
    try rml-results prune --db a.db
    [ "$status" -eq 2 ]
    try rml-results prune --db a.db --yes
    [ "$status" -eq 2 ]
}

@test "prune: what hangs on a run goes, what others need stays" {
    five_runs
    add_result a.db "$(uuid 1)" only-here '1 2 3'
    sqlite3 a.db "INSERT INTO build(binary_sha256, version, git_commit) VALUES ('b2', '1', 'c0ffee1234');
        UPDATE run SET build_id = 2 WHERE id = 2;
        INSERT INTO annotation(bench_case_id, commit_sha, kind, note) VALUES (1, 'c0ffee1', 'step', 'n');
        INSERT INTO verdict(run_id, base_result_id, candidate_result_id, metric, method, n, verdict)
            VALUES (5, 3, 5, 'wall_ns', 'sign', 61, 'pass');
        INSERT INTO model(content_sha256) VALUES ('m1'), ('m2'), ('unused');
        INSERT INTO eval(run_id, task, protocol, model_id, base_model_id, settings_json) VALUES (5, 't', 'p', 1, 2, '{}');
        INSERT INTO run_env(run_id, phase, key, value) VALUES (1, 'start', 'k', 'v')"
    [ "$(gone --before 2026-01-06)" = '1 4' ] # 2 is annotated, a verdict of 5 rests on 3
    rml-results prune --db a.db --before 2026-01-06 | grep -q '^kept: 1 of commits that are annotated (--annotated)$'
    [ "$(gone --before 2026-01-06 --annotated)" = '1 2 4' ]
    [ "$(gone --before 2026-01-06 --referenced)" = '1 3 4' ]
    # one that is going on stays, one that died goes
    sqlite3 a.db "UPDATE run SET state = 'running', end_ns = NULL, pid = 1, hostname = '$(hostname)', boot_id = 'gone' WHERE id = 4"
    [ "$(gone --before 2026-01-06)" = '1 4' ] && [ "$(gone --state dead)" = 4 ]
    sqlite3 a.db "UPDATE run SET boot_id = '$(cat /proc/sys/kernel/random/boot_id)', pid = $$, pid_namespace = '$(readlink /proc/self/ns/pid)',
        pid_start_ticks = $(awk '{ print $22 }' /proc/$$/stat) WHERE id = 4"
    [ "$(gone --before 2026-01-06)" = 1 ]
    rml-results prune --db a.db --before 2026-01-06 --yes >text
    grep -q '^1 run deleted$' text && grep -q '^kept: 1 that may be going on$' text
    [ "$(sqlite3 a.db 'SELECT group_concat(id) FROM run')" = 2,3,4,5 ]
    [ "$(sqlite3 a.db 'SELECT group_concat(content_sha256) FROM model')" = m1,m2 ]
    [ "$(sqlite3 a.db "SELECT count(*) FROM bench_case WHERE name = 'only-here'")" -eq 0 ]
    [ "$(sqlite3 a.db 'SELECT count(*) FROM sample WHERE result_id NOT IN (SELECT id FROM result)')" -eq 0 ]
    rml-results check --db a.db >/dev/null
    rml-results prune --db a.db --before 2026-01-06 --referenced --yes >/dev/null
    [ "$(sqlite3 a.db 'SELECT count(*) FROM verdict')" -eq 0 ]
    [ "$(sqlite3 a.db 'PRAGMA freelist_count')" -eq 0 ]
    rml-results check --db a.db >/dev/null
}

@test "prune: scores and goldens of another checkpoint or other settings are no earlier ones; a verdict's base stays" {
    new_db a.db
    local i
    for i in 1 2 3 4 5 6 7 8; do add_run a.db "$(uuid $i)" $((1767268800 + i * 86400)) "kind='eval'"; done
    sqlite3 a.db "INSERT INTO model(content_sha256) VALUES ('m1'), ('m2');
        INSERT INTO eval(run_id, task, protocol, model_id, settings_json) VALUES
            (1, 'choices', 'p', 1, '{\"kv\":\"f32\"}'), (2, 'choices', 'p', 1, '{\"kv\":\"i8\"}'),
            (3, 'choices', 'p', 1, '{\"kv\":\"f32\"}'), (4, 'choices', 'p', 2, '{\"kv\":\"f32\",\"model\":2}');
        INSERT INTO eval_metric(run_id, task, metric, value) VALUES (1, 'choices', 'acc', 1.0), (2, 'choices', 'acc', 1.0),
            (3, 'choices', 'acc', 1.0), (4, 'choices', 'acc', 1.0);
        INSERT INTO golden(run_id, model_id, name, kind, arithmetic, k_dtype, v_dtype, passed) VALUES
            (5, 1, 'g', 'logits', 'f32', 'f32', 'f32', 1), (6, 1, 'g', 'logits', 'f32', 'i8', 'i8', 1),
            (7, 2, 'g', 'logits', 'f32', 'f32', 'f32', 1), (8, 1, 'g', 'logits', 'f32', 'f32', 'f32', 1)"
    [ "$(gone --keep-last 1)" = '1 5' ] # 3 and 8 are of the same
    sqlite3 a.db "INSERT INTO eval_verdict(run_id, base_run_id, task, metric, method, n, n_blocks, confidence, power, verdict,
            flipped_json, judged_ns) VALUES (3, 1, 'choices', 'acc', 'paired', 20, 20, 0.95, 0.8, 'no difference', '[]', 1)"
    [ "$(gone --keep-last 1)" = 5 ]
    [ "$(gone --keep-last 1 --referenced)" = '1 5' ]
    rml-results prune --db a.db --keep-last 1 --yes | grep -q '^kept: 1 that verdicts of other runs rest on (--referenced)$'
    [ "$(sqlite3 a.db 'SELECT count(*) FROM eval_verdict')" -eq 1 ]
    rml-results check --db a.db >/dev/null
}

@test "prune: a checkpoint stays as long as a run that has read or written it, a quantisation too" {
    model=$RML_SOURCE_DIR/goldens/fixtures/llama/model.gguf
    rml-quantize "$model" q8.gguf --type q8_0 --db q.db >/dev/null 2>&1
    rml-quantize "$model" q4.gguf --type q4_0 --db q.db >/dev/null 2>&1
    rml-golden check "$model" "$RML_SOURCE_DIR/goldens/fixtures/llama/golden.json" --db q.db >/dev/null
    rml-results list --db q.db | grep -q 'quantize .* model.gguf, q4.gguf '
    rml-results show 1 --db q.db >text
    [ "$(grep -A 2 '^checkpoint ' text | awk '{ print $1, $3 }' | paste -sd ' ')" = 'checkpoint weights model.gguf F16 q8.gguf Q8_0' ]
    rml-results show 1 --db q.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.models[1].content_sha256')")" = "$(rml-inspect q8.gguf --verify --json | sed -n 's/.*"content_sha256": "\([0-9a-f]*\)".*/\1/p')" ]
    gone() { rml-results prune --db q.db --json "$@" | grep -c '"run":'; }
    [ "$(gone --keep-last 1)" -eq 0 ] # of each of them the last
    [ "$(gone --kind quantize --before 2100-01-01)" -eq 2 ]
    files() { sqlite3 q.db "SELECT group_concat(file_name, ' ') FROM (SELECT file_name FROM model ORDER BY 1)"; }
    rml-results prune --db q.db --kind golden --before 2100-01-01 --yes >/dev/null
    [ "$(files)" = 'model.gguf q4.gguf q8.gguf' ]
    rml-results merge --db m.db q.db >/dev/null # and goes with its run elsewhere
    [ "$(sqlite3 m.db "SELECT group_concat(file_name, ' ') FROM (SELECT m.file_name FROM run_model AS l JOIN model AS m ON m.id = l.model_id
        ORDER BY l.id)")" = 'model.gguf q8.gguf model.gguf q4.gguf' ]
    sqlite3 q.db "UPDATE run SET label = 'old' WHERE id = 1"
    rml-results prune --db q.db --label old --before 2100-01-01 --yes >/dev/null
    [ "$(files)" = 'model.gguf q4.gguf' ]
    rml-results prune --db q.db --before 2100-01-01 --yes >/dev/null
    [ -z "$(files)" ] && rml-results check --db q.db
}

# A database as the program of schema 1 wrote it
schema_1() { sqlite3 "$1" <"$BATS_TEST_DIRNAME/schema_v1.sql"; }

@test "migrate: an older schema is brought up to date, with a copy as it was" {
    schema_1 a.db
    [ "$(sqlite3 a.db 'PRAGMA user_version')" -eq 1 ]
    try rml-results list --db a.db
    [ "$status" -eq 1 ] && [[ $stderr == *'schema version 1 is older'* ]]
    sqlite3 a.db 'SELECT * FROM run; SELECT * FROM sample; SELECT * FROM bench_case' >before
    rml-results migrate --db a.db >text
    [[ $(<text) == 'a.db: schema 1 became '*'; as it was: a.db.schema-1' ]]
    sqlite3 a.db 'SELECT * FROM run; SELECT * FROM sample; SELECT * FROM bench_case' | cmp - before
    [ "$(sqlite3 a.db.schema-1 'PRAGMA user_version')" -eq 1 ]
    sqlite3 a.db.schema-1 'SELECT * FROM run; SELECT * FROM sample; SELECT * FROM bench_case' | cmp - before
    rml-results check --db a.db && rml-results show last --db a.db >/dev/null
    [[ $(rml-results migrate --db a.db) == 'a.db: has schema '*' already' ]]
    # which checkpoints runs were of is taken from what was there
    schema_1 c.db
    sqlite3 c.db "INSERT INTO model(id, content_sha256, file_name) VALUES (1, 'a', 'a.gguf'), (2, 'b', 'b.gguf'), (3, 'c', 'c.gguf'), (4, 'd', 'b');
        UPDATE bench_case SET model_id = 3 WHERE id = 1;
        INSERT INTO run SELECT id + 1, 'u2', 'quantize', state, exit_code, host_id, build_id, start_ns, end_ns, heartbeat_ns, pid, pid_start_ticks,
            pid_namespace, boot_id, hostname, '[\"rml-quantize\",\"in/a.gguf\",\"b.gguf\",\"--type\",\"q8_0\"]', env_json, seed, label FROM run"
    rml-results migrate --db c.db >/dev/null
    [ "$(sqlite3 c.db 'SELECT run_id, model_id FROM run_model ORDER BY 1, 2' | paste -sd ' ')" = '1|3 2|1 2|2' ]
    # the copy is not there twice, and nothing is changed without it
    schema_1 b.db
    : >taken
    try rml-results migrate --db b.db --backup taken
    [ "$status" -eq 1 ] && [[ $stderr == *'taken: there already'* ]]
    [ "$(sqlite3 b.db 'PRAGMA user_version')" -eq 1 ]
    sqlite3 b.db 'PRAGMA user_version = 99'
    try rml-results migrate --db b.db
    [ "$status" -eq 1 ] && [[ $stderr == *'schema version 99 is newer'* ]]
    try rml-results migrate --db missing.db
    [ "$status" -eq 1 ] && [ ! -e missing.db ]
}

@test "merge: a database of an older schema is read, not changed" {
    schema_1 old.db
    cp old.db old.copy
    rml-results merge --db m.db old.db >/dev/null
    cmp old.db old.copy
    [ "$(sqlite3 m.db 'SELECT count(*) FROM sample')" -eq "$(sqlite3 old.db 'SELECT count(*) FROM sample')" ]
    counts m.db >before
    rml-results merge --db m.db old.db >/dev/null
    diff before <(counts m.db)
}

@test "export: the figures of evaluations" {
    five_runs
    sqlite3 a.db "UPDATE run SET kind = 'eval', label = 'judged' WHERE id = 3; UPDATE run SET kind = 'golden' WHERE id = 4;
        INSERT INTO eval(run_id, task, protocol, arithmetic, k_dtype, v_dtype, settings_json) VALUES (3, 't', 'lm-eval', 'i8', 'f16', 'i8', '{}');
        INSERT INTO eval_metric(run_id, task, metric, value, stderr, n) VALUES (3, 't', 'acc', 0.1, 0.125, 8), (3, 't', 'ppl', NULL, NULL, NULL)"
    rml-results export --db a.db --kind eval -o e.csv
    [ "$(sqlite3 :memory: '.import --csv e.csv t' 'SELECT run_uuid, label, task, protocol, arithmetic, k_dtype, v_dtype, metric, value, stderr, n FROM t')" = \
        "$(uuid 3)|judged|t|lm-eval|i8|f16|i8|acc|0.1|0.125|8
$(uuid 3)|judged|t|lm-eval|i8|f16|i8|ppl|||" ]
    rml-results export --db a.db judged | cmp - e.csv
    rml-results export --db a.db --kind eval -o e.json
    [ "$(json e.json "json_extract(d, '\$[0].value') = 0.1 AND json_array_length(d) = 2")" = 1 ]
    rml-results list --db a.db --label judged | grep -q ' t .*judged'
    # what has none is refused by name
    for args in '--kind golden' '--kind chat' '--kind quantize' '--kind eval --samples'; do
        # shellcheck disable=SC2086 # words
        try rml-results export --db a.db $args
        [ "$status" -eq 2 ]
    done
    try rml-results export --db a.db 4
    [ "$status" -eq 1 ] && [[ $stderr == *"run '4' is of kind golden"* ]]
    try rml-results export --db a.db judged --samples
    [ "$status" -eq 1 ] && [[ $stderr == *"is an evaluation"* ]]
}
