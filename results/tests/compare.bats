#!/usr/bin/env bats
# rml-results compare and history, on samples whose figures are worked out by hand.

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

two_runs() {
    new_db a.db
    add_run a.db $A 1767268800 "label='base'"
    add_run a.db $B 1767355200 "label='head'"
}

@test "compare: ratio of medians and its interval" {
    two_runs
    # 21 samples 101 .. 121 and 202 .. 242 by 2. The rank of a 97.5 % interval for n = 21 is 5: twice
    # P(Bin(21, 1/2) <= 4) = 0.0072 is allowed, twice P(<= 5) = 0.0266 is not. So A is 111
    # [105, 117], B 222 [210, 234], and the ratio 2 [210 / 117, 234 / 105].
    add_result a.db $A one "$(seq -s ' ' 101 121)" "output_sha256='x'"
    add_result a.db $B one "$(seq -s ' ' 202 2 242)" "output_sha256='y'"
    rml-results compare base head --db a.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.rows[0].ratio')")" = 2.0 ]
    [ "$(json out.json "abs(json_extract(d, '\$.rows[0].ratio_lo') - 210.0 / 117) < 1e-12")" = 1 ]
    [ "$(json out.json "abs(json_extract(d, '\$.rows[0].ratio_hi') - 234.0 / 105) < 1e-12")" = 1 ]
    [ "$(json out.json "json_extract(d, '\$.rows[0].output')")" = differs ]
    [ "$(json out.json "json_extract(d, '\$.same_binary')")" = 1 ]
    rml-results compare base head --db a.db -o out.md >table
    grep -q 'made/one threads=1  *111 ns \[106, 116\]  *222 ns \[212, 232\]  *2.000 \[1.795, 2.229\]  *output differs' table
    grep -q 'not interleaved' table && grep -q 'the same binary' table
    grep -q '^| made/one threads=1 | 111 ns \[106, 116\] | 222 ns \[212, 232\] | 2.000 \[1.795, 2.229\] | output differs |$' out.md
    grep -q 'not interleaved' out.md
    rml-results compare base head --db a.db -o - | cmp - out.md
    # few samples: a ratio, no interval
    add_result a.db $A two '10 20 30'
    add_result a.db $B two '10 10 10'
    rml-results compare $A $B --db a.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.rows[1].ratio') = 0.5 AND json_extract(d, '\$.rows[1].ratio_lo') IS NULL")" = 1 ]
}

@test "compare: rows without a figure, unstable and wrong ones, and those of one side" {
    two_runs
    add_result a.db $A bad '1 2 3' && add_result a.db $B bad '' "status='error'" "error='x'"
    add_result a.db $A shaky '1 2 3' "status='unstable'" && add_result a.db $B shaky '2 4 6'
    add_result a.db $A wrong '1 2 3' && add_result a.db $B wrong '1 1 1' "max_abs_error=9e999" "tolerance=0.1"
    add_result a.db $A gone '1 2 3'
    add_result a.db $A new '1 2 3' && add_result a.db $B new '1 2 3' "c.threads=2"
    add_result a.db $A arms '1 2 3' "arm='base'" && add_result a.db $B arms '5 5 5' "arm='head'"
    rml-results compare base head --db a.db >table
    grep -q 'made/bad .* -  *- *B error$' table || grep -q 'made/bad .*-  B error$' table
    grep -q 'made/shaky .* 2.000  A unstable$' table
    grep -q 'made/wrong .* -  B wrong$' table
    sed -n '/^only in A/,/^only in B/p' table | grep -q 'made/gone threads=1$'
    sed -n '/^only in A/,/^only in B/p' table | grep -q 'made/arms threads=1 \[base\] (arm base, there head)$'
    sed -n '/^only in B/,$p' table | grep -q 'made/new .*(threads 2, there 1)$'
    rml-results compare base head --db a.db -o out.md >/dev/null
    grep -q '^- only in A: `made/gone threads=1`$' out.md
    grep -q '^- only in B: `made/new threads=1 threads=2`: threads 2, there 1$' out.md
    # once more measured in one run: the last counts
    add_result a.db $B shaky '3 3 3'
    rml-results compare base head --db a.db | grep -q 'made/shaky .* 1.500 '
}

@test "compare: what does not compare is refused with the field and both values" {
    for change in "isa='avx2'|isa='avx512'|ISA path is avx2 in A and avx512 in B" \
        "threads=1|threads=2|threads is 1 in A and 2 in B" \
        "work_version=1|work_version=2|work version is 1 in A and 2 in B" \
        "k_dtype='f16'|k_dtype='i8'|type of cached keys is f16 in A and i8 in B"; do
        rm -f a.db*
        two_runs
        IFS='|' read -r one two message <<<"$change"
        add_result a.db $A x '1 2 3' "c.$one"
        add_result a.db $B x '1 2 3' "c.$two"
        # keys as the store would make them
        sqlite3 a.db "UPDATE bench_case SET case_key = 'key ' || id"
        try rml-results compare base head --db a.db
        echo "$change: $status $stderr"
        [ "$status" -eq 6 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
        [[ $stderr == "rml-results: a.db: the runs do not compare: $message" ]]
    done
    rm -f a.db*
    two_runs
    add_result a.db $A x '1 2 3' && add_result a.db $B x '1 2 3'
    sqlite3 a.db "INSERT INTO model(content_sha256) VALUES ('aa'), ('bb')"
    add_result a.db $B z '1 2 3' "c.threads=1"
    sqlite3 a.db "UPDATE bench_case SET name = 'x', model_id = id"
    sqlite3 a.db "DELETE FROM result WHERE run_id = 2 AND bench_case_id = 1"
    try rml-results compare base head --db a.db --json
    [ "$status" -eq 6 ] && [[ $stderr == *'model hash is aa in A and bb in B' ]]
    [ "$(json stdout.txt "json_extract(d, '\$.error.message')")" = 'the runs do not compare: model hash is aa in A and bb in B' ]

    rm -f a.db*
    two_runs
    add_result a.db $A x '1 2 3' && add_result a.db $B x '1 2 3'
    sqlite3 a.db "INSERT INTO host(fingerprint) VALUES ('other'); UPDATE run SET host_id = 2 WHERE label = 'head'"
    try rml-results compare base head --db a.db
    [ "$status" -eq 6 ] && [[ $stderr == *'host fingerprint is '*' in A and other in B' ]]
    try rml-results compare base nosuch --db a.db
    [ "$status" -eq 6 ] && [[ $stderr == *"no run 'nosuch' found"* ]]
    add_run a.db cccccccc-0000-4000-8000-000000000003 1767355300
    try rml-results compare base last --db a.db
    [ "$status" -eq 6 ] && [[ $stderr == *'B has no results' ]]
    for args in '' base 'a b c' 'base head -o x.html' 'base head --json -o -'; do
        # shellcheck disable=SC2086 # words
        try rml-results compare $args --db a.db
        [ "$status" -eq 2 ]
    done
}

@test "compare: two real runs at different thread counts" {
    rml-bench attention --kv f32 --depth 8 --threads 1 --db a.db >/dev/null 2>&1
    rml-bench attention --kv f32 --depth 8 --threads 2 --db a.db >/dev/null 2>&1
    try rml-results compare 1 2 --db a.db
    [ "$status" -eq 6 ] && [[ $stderr == *'threads is 1 in A and 2 in B' ]]
    try rml-results compare 1 1 --db a.db
    [ "$status" -eq 0 ] && [[ $output == *' 1.000 ['* ]]
}

# Thirty runs, one a day: medians about 100, then about 130 from the 16th on; the commit is c + day
thirty_runs() {
    new_db a.db
    local sql='' i ns
    for i in $(seq 1 30); do
        ns=$((100 + (i * 7919) % 5 + (i > 15 ? 30 : 0)))
        sql+="INSERT INTO build(binary_sha256, version, git_commit, git_dirty) VALUES ('b$i', '1', 'c0ffee$i', 0);
            INSERT INTO run(uuid, kind, state, exit_code, host_id, build_id, start_ns, end_ns, heartbeat_ns, argv_json, env_json)
            SELECT printf('%08d-0000-4000-8000-000000000000', $i), 'bench', 'complete', 0, ${1:-1}, max(id),
                $((1767268800 + i * 86400))000000000, $((1767268801 + i * 86400))000000000, 0, '[]', '{}' FROM build;
            INSERT OR IGNORE INTO bench_case(case_key, suite, name, work_version, engine, params_json)
                VALUES ('made/h work=1', 'made', 'h', 1, 'rml', '{}');
            INSERT INTO result(run_id, bench_case_id, status, warmup_iters, iters_per_rep)
                SELECT max(id), 1, 'ok', 0, 1 FROM run;
            INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns)
                SELECT max(id), 0, 0, 0, 1, 1, $ns FROM result;"
    done
    sqlite3 a.db "BEGIN; $sql COMMIT"
}

@test "history: the step is found at its commit, annotations stand beside it" {
    thirty_runs
    sqlite3 a.db "INSERT INTO annotation(bench_case_id, host_id, commit_sha, kind, note) VALUES (1, 1, 'c0ffee16', 'step', 'new layout');
        INSERT INTO annotation(kind, note, expires_ns) VALUES ('infra', 'disk was full', 1)"
    rml-results history h --db a.db --json >out.json
    [ "$(json out.json "json_array_length(d, '\$.histories')")" = 1 ]
    [ "$(json out.json "json_array_length(d, '\$.histories[0].points')")" = 30 ]
    [ "$(json out.json "json_array_length(d, '\$.histories[0].change_points')")" = 1 ]
    [ "$(json out.json "json_extract(d, '\$.histories[0].change_points[0].index')")" = 15 ]
    [ "$(json out.json "json_extract(d, '\$.histories[0].change_points[0].git_commit')")" = c0ffee16 ]
    # 7919 i mod 5 = 4 i mod 5 takes 0 .. 4 alike in every five: medians 102 and 132
    [ "$(json out.json "json_extract(d, '\$.histories[0].change_points[0].before_ns')")" = 102.0 ]
    [ "$(json out.json "json_extract(d, '\$.histories[0].change_points[0].after_ns')")" = 132.0 ]
    [ "$(json out.json "abs(json_extract(d, '\$.histories[0].change_points[0].ratio') - 132.0 / 102) < 1e-12")" = 1 ]
    [ "$(json out.json "json_extract(d, '\$.histories[0].change_points[0].p_value') <= 0.01")" = 1 ]
    rml-results history made/h --db a.db >table
    grep -q '^2026-01-17 .* c0ffee16 .* <- change: x 1.294 (p = 0.00[1-9]); step: new layout$' table
    [ "$(grep -c 'change:' table)" -eq 1 ]
    grep -q '^infra  disk was full (expired)$' table
    for pattern in 'made/h work=1' 'made/*' '*work=?'; do
        rml-results history "$pattern" --db a.db >other && cmp table other
    done
    sqlite3 a.db "INSERT INTO annotation(bench_case_id, kind, note) VALUES (1, 'mute', 'known')"
    rml-results history h --db a.db | grep -q 'change: x 1.294 .*, muted'
    sqlite3 a.db "UPDATE annotation SET expires_ns = 1 WHERE kind = 'mute'"
    [ "$(rml-results history h --db a.db | grep -c 'muted')" -eq 0 ]
    try rml-results history nosuch --db a.db
    [ "$status" -eq 1 ] && [[ $stderr == *"no results of a case 'nosuch' found"*"the newest are: 'h'" ]]
    try rml-results history h --db a.db --host nowhere
    [ "$status" -eq 1 ] && [[ $stderr == *"no host 'nowhere' found, expected its name or the start of its fingerprint; there are: '"* ]]
    try rml-results history --db a.db
    [ "$status" -eq 2 ]
}

@test "history: hosts are never joined; errors and wrong rows are left out" {
    thirty_runs
    sqlite3 a.db "INSERT INTO host(fingerprint, hostname) VALUES ('ffff', 'other');
        UPDATE run SET host_id = 2 WHERE id > 15;
        UPDATE result SET status = 'error', error = 'x' WHERE id = 3;
        UPDATE result SET max_abs_error = 2.0, tolerance = 1.0 WHERE id = 4"
    rml-results history h --db a.db --json >out.json
    # neither has a change in itself
    [ "$(json out.json "(SELECT group_concat(json_array_length(value, '\$.points') || ' ' || json_array_length(value, '\$.change_points')
        || ' ' || json_extract(value, '\$.n_left_out'), ';') FROM (SELECT value FROM json_each(d, '\$.histories')
        ORDER BY json_extract(value, '\$.hostname') = 'other'))")" = '13 0 2;15 0 0' ]
    rml-results history h --host other --db a.db | grep -c '^2026' | grep -qx 15
    rml-results history h --host FFF --db a.db | grep -q '^other *-  *ffff  *made/h work=1$'
    rml-results history h --db a.db | grep -q '^2 results without a figure, or wrong, left out$'
}

@test "history: a case by the name that rml-bench shows, its checkpoint by its file" {
    hash=$(printf 'ab%.0s' {1..32})
    new_db a.db
    sqlite3 a.db "INSERT INTO model(content_sha256, file_name) VALUES ('$hash', 'tiny.gguf')"
    add_run a.db 11111111-0000-4000-8000-000000000001 1767268800
    add_result a.db 11111111-0000-4000-8000-000000000001 checkpoint/prefill '1 2 3' c.model_id=1 \
        c.n_prompt=64 c.n_batch=2 "c.case_key='decoder/p model=$hash threads=1'"
    add_result a.db 11111111-0000-4000-8000-000000000001 checkpoint/decode '1 2 3' c.model_id=1 \
        c.n_prompt=0 c.n_gen=4 "c.case_key='decoder/d model=$hash'"
    add_result a.db 11111111-0000-4000-8000-000000000001 checkpoint/cold '' c.model_id=1 \
        c.n_prompt=1 "status='error'" "c.case_key='load/c model=$hash threads=1'"
    rml-results history 'tiny.gguf/prefill 64 x 2' --db a.db >table
    grep -q '  decoder/p model=tiny.gguf (abababababab) threads=1$' table
    [ "$(grep -c '^2026' table)" -eq 1 ]
    rml-results history 'tiny.gguf/decode 4' --db a.db |
        grep -q '  decoder/d model=tiny.gguf (abababababab)$'
    # a block for each but the one that has nothing to show
    rml-results history 'tiny.gguf/*' --db a.db >table
    [ "$(grep -c '^2026' table)" -eq 2 ]
    [ "$(grep -c '^host ' table)" -eq 2 ]
    grep -q '^1 case without a figure, or with only wrong ones, left out$' table
    rml-results history 'tiny.gguf/d*' --db a.db --json >out.json
    [ "$(json out.json "json_extract(d, '\$.histories[0].name')")" = 'tiny.gguf/decode 4' ]
    [ "$(json out.json "json_extract(d, '\$.histories[0].model')")" = tiny.gguf ]
    try rml-results history 'tiny.gguf/decode 5' --db a.db
    [ "$status" -eq 1 ]
    [[ $stderr == *": 'tiny.gguf/cold', 'tiny.gguf/decode 4', 'tiny.gguf/prefill 64 x 2'" ]]
}
