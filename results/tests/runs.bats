#!/usr/bin/env bats
# rml-results list and show: which runs are chosen, and what is said of one.

load made_db

setup_file() { made_db_template; }
setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
}
teardown() { rm -rf "$HOME"; }

# Four runs: 2026-01-01 to 2026-01-04, at noon
four_runs() {
    new_db a.db
    add_run a.db 11111111-0000-4000-8000-000000000001 1767268800 "label='nightly'"
    add_run a.db 11112222-0000-4000-8000-000000000002 1767355200 "kind='golden'" "exit_code=4"
    add_run a.db abcdef00-0000-4000-8000-000000000003 1767441600 "label='nightly'" "state='failed'"
    add_run a.db 00000012-0000-4000-8000-000000000004 1767528000 "kind='eval'" "state='running'" \
        2>/dev/null || sqlite3 a.db "UPDATE run SET kind = 'eval' WHERE uuid LIKE '00000012%'"
    sqlite3 a.db "UPDATE run SET state = 'running', end_ns = NULL, exit_code = NULL, pid = 1,
        boot_id = 'another boot', hostname = '$(hostname)' WHERE uuid LIKE '00000012%'"
}

listed() { rml-results list --db a.db "$@" | awk 'NR > 1 { print $1 }' | paste -sd ' '; }

@test "list: every filter, alone and together" {
    four_runs
    [ "$(listed)" = '00000012 abcdef00 11112222 11111111' ]
    [ "$(listed --kind golden)" = 11112222 ]
    [ "$(listed --label nightly)" = 'abcdef00 11111111' ]
    [ "$(listed --state complete)" = '11112222 11111111' ]
    [ "$(listed --state failed)" = abcdef00 ]
    [ "$(listed --state dead)" = 00000012 ]
    [ "$(listed --state running)" = '' ]
    [ "$(listed --since 2026-01-02)" = '00000012 abcdef00 11112222' ]
    [ "$(listed --since 2026-01-02T12:00)" = '00000012 abcdef00 11112222' ]
    [ "$(listed --since 2026-01-02T12:00:01Z --before 2026-01-04)" = 'abcdef00' ]
    [ "$(listed --before 2026-01-01T12:00)" = '' ]
    [ "$(listed --since 1h)" = '' ]
    [ "$(listed --label nightly --state complete --limit 1)" = 11111111 ]
    # the limit counts runs that pass
    [ "$(listed --state complete --limit 2)" = '11112222 11111111' ]
    rml-results list --db a.db --json --state dead >out.json
    [ "$(json out.json "json_extract(d, '\$.runs[0].state')")" = dead ]
    [ "$(json out.json "json_extract(d, '\$.runs[0].end_ns') IS NULL")" = 1 ]
}

@test "list: a run without results is told by its checkpoint or its command; ids are those of show" {
    four_runs
    set_argv() { sqlite3 a.db "UPDATE run SET argv_json = '$2' WHERE id = $1"; }
    set_argv 1 '["rml-chat","/m/tiny.gguf","-p","a/b is what?"]'
    set_argv 2 '["rml-golden","record","hf/tiny/","-o","/x/y.json"]'
    set_argv 3 '["rml-golden"]'
    set_argv 4 'no JSON'
    rml-results list --db a.db >table
    grep -q '^11111111  *1  .*  tiny.gguf -p a/b is what?  ' table
    grep -q '^11112222  *2  .*  record tiny -o y.json  ' table
    grep -q '^abcdef00  *3  .*  0  *0  *0  *-  ' table
    grep -q '^00000012  *4  .*  0  *0  *0  *-  ' table
    sqlite3 a.db "INSERT INTO model(content_sha256, file_name) VALUES ('aa', 'other.gguf');
        INSERT INTO run_model(run_id, model_id) VALUES (1, 1)"
    rml-results list --db a.db | grep -q '^11111111  .*  other.gguf  '
    rml-results list --db a.db --json --kind golden >out.json
    [ "$(json out.json "json_extract(d, '\$.runs[0].what')")" = 'record tiny -o y.json' ]
}

@test "list: what tells runs apart that are of the same" {
    four_runs
    sqlite3 a.db "INSERT INTO model(content_sha256, file_name) VALUES ('aa', 'big.gguf'), ('bb', 'small.gguf');
        INSERT INTO eval(run_id, task, protocol, model_id, arithmetic, k_dtype, v_dtype, settings_json)
            VALUES (1, 'perplexity', 'llama.cpp', 1, 'f32', 'f16', 'i8', '{}');
        INSERT INTO eval(run_id, task, protocol, model_id, arithmetic, k_dtype, v_dtype, base_model_id,
            base_arithmetic, base_k_dtype, base_v_dtype, settings_json)
            VALUES (2, 'kld', 'llama.cpp', 2, 'i8', 'i8', 'i8', 1, 'f32', 'f32', 'f32', '{}');
        INSERT INTO golden(run_id, name, kind, passed, arithmetic, k_dtype, v_dtype)
            VALUES (3, 'g/1', 'logits', 1, 'f32', 'f32', 'f32'), (3, 'g/2', 'logits', 1, 'f32', 'f16', 'f16')"
    local uuid
    uuid=$(sqlite3 a.db "SELECT uuid FROM run WHERE id = 4")
    for kv in "'i8' f32 2" "'f16' f32 1" "'f16' i8 1"; do
        # shellcheck disable=SC2086 # words
        set -- $kv
        add_result a.db "$uuid" x '1 2 3' "c.k_dtype=$1" "c.v_dtype=$1" "c.arithmetic='$2'" "c.threads=$3" "c.weight_dtype='Q4_0'"
    done
    sqlite3 a.db "INSERT INTO run_model(run_id, model_id) VALUES (4, 1)"
    rml-results list --db a.db --json >out.json
    said() { json out.json "(SELECT json_extract(value, '\$.what') || ': ' || json_extract(value, '\$.settings')
        FROM json_each(d, '\$.runs') WHERE json_extract(value, '\$.id') = $1)"; }
    [ "$(said 1)" = 'perplexity big.gguf: llama.cpp f32 kv f16:i8' ]
    [ "$(said 2)" = 'kld small.gguf: llama.cpp i8 kv i8 against big.gguf f32 kv f32' ]
    [ "$(said 3)" = 'g/1, g/2: f32 kv f32,f16' ]
    [ "$(said 4)" = 'made big.gguf: Q4_0 f32,i8 kv i8,f16 threads 2,1' ]
    rml-results list --db a.db >table
    grep -q '  made big.gguf  *Q4_0 f32,i8 kv i8,f16 threads 2,1  ' table
    grep -q '  llama.cpp i8 kv i8 against big.gguf f32 kv f32  ' table
}

@test "list: a filter that makes no sense is bad usage" {
    for args in '--kind nosuch' '--state done' '--since yesterday' '--since 2026-02-30' '--since 5' \
        '--before 12x' '--since 2026-01-01T25:00'; do
        # shellcheck disable=SC2086 # words
        try rml-results list --db a.db $args
        echo "$args: $status $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [[ $stderr == *"found, expected"* ]]
    done
}

@test "show: a run by id, uuid, prefix, label and last" {
    four_runs
    shown() { rml-results show --db a.db --json "$@" | sed -n 's/.*"uuid": "\(.\{8\}\).*/\1/p'; }
    [ "$(shown 2)" = 11112222 ]
    [ "$(shown 11112222-0000-4000-8000-000000000002)" = 11112222 ]
    [ "$(shown 111122)" = 11112222 ]
    [ "$(shown ABCD)" = abcdef00 ]
    [ "$(shown nightly)" = abcdef00 ]
    [ "$(shown label:nightly)" = abcdef00 ]
    [ "$(shown last)" = 00000012 ]

    try rml-results show --db a.db 1111
    [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == "rml-results: a.db: '1111' starts the uuid of 2 runs"* ]]
    for name in abc 99 nosuch label: label:2 "'; DROP TABLE run" '%' ''; do
        try rml-results show --db a.db "$name"
        [ "$status" -eq 1 ] && [[ $stderr == *"no run '$name' found, expected"* ]]
    done
    try rml-results show --db a.db
    [ "$status" -eq 2 ]
    try rml-results show --db a.db --json nosuch
    [ "$status" -eq 1 ] && [ "$(json stdout.txt "json_extract(d, '\$.error.code')")" = not-found ]
}

@test "show: figures of a result, worked out by hand" {
    new_db a.db
    add_run a.db 11111111-0000-4000-8000-000000000001 1767268800 "label='x'" "seed=3"
    # Ascending 1 2 3 7 8 9 100: median 7, distances 0 1 2 4 5 6 93 with median 4; n = 7: the
    # whole range covers the median with 1 - 2/128; mean 130/7
    add_result a.db 11111111-0000-4000-8000-000000000001 hand '9 1 8 2 7 3 100' \
        "flops_per_iter=700" "kv_bytes=77"
    add_result a.db 11111111-0000-4000-8000-000000000001 none '' "status='error'" "error='it broke'"
    rml-results show last --db a.db --json >out.json
    for pair in n_samples=7 median_ns=7.0 mad_ns=4.0 min_ns=1.0 max_ns=100.0 ci_lo_ns=1.0 \
        ci_hi_ns=100.0 ci_coverage=0.984375 flops_per_second=100000000000.0 kv_bytes=77 \
        status=ok engine_version=0.1.0; do
        got=$(json out.json "json_extract(d, '\$.rows[0].${pair%=*}')")
        echo "$pair: $got"
        [ "$got" = "${pair#*=}" ]
    done
    [ "$(json out.json "abs(json_extract(d, '\$.rows[0].mean_ns') - 130.0 / 7) < 1e-12")" = 1 ]
    # sum of squares 10208: the variance is (10208 - 130^2 / 7) / 6
    [ "$(json out.json "abs(json_extract(d, '\$.rows[0].sd_ns') - sqrt((10208 - 16900.0 / 7) / 6)) < 1e-9")" = 1 ]
    [ "$(json out.json "json_extract(d, '\$.rows[1].median_ns') IS NULL
        AND json_extract(d, '\$.rows[1].error') = 'it broke'")" = 1 ]
    [ "$(json out.json "json_extract(d, '\$.run.argv[0]')")" = rml-bench ]
    [ "$(json out.json "json_type(d, '\$.run.env')")" = object ]
    rml-results show last --db a.db >table
    grep -q '^uuid *11111111-0000-4000-8000-000000000001$' table
    grep -q '^state *bench, complete, exit code 0$' table
    grep -q '^started *2026-01-01 12:00:00Z, took 1.0 s$' table
    grep -q '^made/hand threads=1  *7  7.00 ns \[1.00, 100\]  4.00 ns  1.00 ns .* ok$' table
    grep -q '^made/none threads=1  *0  *-  .* error: it broke$' table
}

@test "show: inter-token times count from the token before, or the start of the repetition" {
    new_db a.db
    add_run a.db 11111111-0000-4000-8000-000000000001 1767268800
    add_result a.db 11111111-0000-4000-8000-000000000001 decode '10 10'
    # repetitions start at 1001 and 1002 (made_db.bash); the warm-up does not count.
    # Waits: 99 100 300 and 98 200: sorted 98 99 100 200 300
    sqlite3 a.db "INSERT INTO token_time VALUES (1, 0, 0, 9000), (1, 1, 0, 1100), (1, 1, 1, 1200),
        (1, 1, 2, 1500), (1, 2, 0, 1100), (1, 2, 1, 1300)"
    rml-results show last --db a.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.rows[0].itl_p50_ns')")" = 100.0 ]
    [ "$(json out.json "json_extract(d, '\$.rows[0].itl_p90_ns')")" = 260.0 ]
    [ "$(json out.json "json_extract(d, '\$.rows[0].itl_max_ns')")" = 300.0 ]
}

@test "show: environment, goldens, scores, items, counters and verdicts" {
    new_db a.db
    add_run a.db 11111111-0000-4000-8000-000000000001 1767268800
    add_result a.db 11111111-0000-4000-8000-000000000001 one '1 2 3'
    add_result a.db 11111111-0000-4000-8000-000000000001 two '1 2 3'
    sqlite3 a.db "
        INSERT INTO run_env(run_id, phase, key, value, reason) VALUES (1, 'start', 'thp', 'madvise', NULL),
            (1, 'end', 'thp', 'never', NULL), (1, 'start', 'boost', NULL, 'no such file'),
            (1, 'start', 'aslr', '2', NULL), (1, 'end', 'aslr', '2', NULL);
        INSERT INTO golden(run_id, name, kind, max_abs_error, tolerance, n_positions, first_bad, passed)
            VALUES (1, 'smol/fact', 'logits', 0.25, 0.002, 5, 'position 3', 0),
            (1, 'smol/text', 'greedy', NULL, NULL, 8, NULL, 1);
        INSERT INTO eval_metric(run_id, task, metric, value, stderr, n) VALUES (1, 'hella', 'acc', 0.375, 0.125, 8),
            (1, 'wiki', 'nll_sum', 1234.5, NULL, 9);
        INSERT INTO eval_item(run_id, task, doc_id, choice_idx, request_sha256, token_ids, loglik)
            VALUES (1, 'hella', 'd1', 0, 'aa', x'01000000', -1.5);
        INSERT INTO counter(result_id, rep, metric, value) VALUES (1, 1, 'instructions', 12.0);
        INSERT INTO verdict(run_id, base_result_id, candidate_result_id, metric, method, n, ratio, ci_lo,
            ci_hi, confidence, gate_pct, verdict) VALUES (1, 1, 2, 'wall_ns', 'sign', 61, 1.08, 1.05, 1.11,
            0.99, 5, 'regression')"
    rml-results show last --db a.db >table
    grep -q '^thp *madvise *never$' table
    grep -q '^boost *not known: no such file *-$' table
    grep -q '^aslr *2 *the same$' table
    grep -q '^smol/fact *logits *- *5 *0.25 *0.002 *failed: position 3$' table
    grep -q '^hella *acc *0.375 *0.125 *8$' table
    grep -q '^smol/text *greedy *- *8 *- *- *passed$' table
    grep -q '^wiki *nll_sum *1234.5 *- *9$' table
    [ "$(grep -cw nan table)" -eq 0 ]
    grep -q '^1 scored item (--json' table
    grep -q 'made/two.* wall_ns *61 *1.080 *1.050 *1.110 *0.99 *5 % *regression$' table
    rml-results show last --db a.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.goldens[0].passed')")" = 0 ]
    [ "$(json out.json "json_type(d, '\$.goldens[0].passed')")" = false ]
    [ "$(json out.json "json_extract(d, '\$.eval_items[0].loglik')")" = -1.5 ]
    [ "$(json out.json "json_extract(d, '\$.counters[0].value')")" = 12.0 ]
    [ "$(json out.json "json_extract(d, '\$.verdicts[0].base_case_key')")" = 'made/one engine=rml threads=1 work=1' ]
    [ "$(json out.json "json_extract(d, '\$.environment[2].reason')")" = 'no such file' ]
}

@test "show agrees with the database's own view, for a run that was really measured" {
    rml-bench attention --kv f32,f16:i8 --depth 8 --db a.db >/dev/null 2>&1
    rml-results show last --db a.db --json >out.json
    [ "$(sqlite3 a.db "SELECT count(*) FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows') AS j
        JOIN v_stat AS s ON s.result_id = json_extract(j.value, '\$.result_id')
        WHERE abs(json_extract(j.value, '\$.median_ns') / s.median_ns - 1) < 1e-12
        AND abs(json_extract(j.value, '\$.ci_lo_ns') / s.ci_lo_ns - 1) < 1e-12
        AND abs(json_extract(j.value, '\$.ci_hi_ns') / s.ci_hi_ns - 1) < 1e-12
        AND abs(json_extract(j.value, '\$.mad_ns') - s.mad_ns) < 1e-6")" -eq 2 ]
}
