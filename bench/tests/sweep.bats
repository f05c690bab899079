#!/usr/bin/env bats
# Sweeps of rml-bench: lists, plans, children that die, runs that are gone on with, outputs.

setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
}

teardown() { rm -rf "$HOME"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

# json FILE EXPRESSION: the value of an SQL expression over the document `doc`.
json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"; }
# each FILE PATH EXPRESSION: over the members of an array, one a line.
each() { sqlite3 :memory: "SELECT $3 FROM json_each(CAST(readfile('$1') AS TEXT), '$2')"; }
query() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }

# until_true COMMAND...: within 20 s
until_true() {
    for _ in $(seq 400); do
        "$@" && return
        sleep 0.05
    done
    return 1
}
has_results() { # DB N
    [ "$(query "$1" "SELECT count(*) FROM result" 2>/dev/null || echo 0)" -ge "$2" ]
}
child_of() { # PID: the pid of its child
    child=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$1" '$4 == parent { print $1; exit }')
    [ -n "$child" ]
}
is_gone() { [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }

@test "lists take numbers and ranges; --plan says what they come to, and measures nothing" {
    rml-bench attention --plan --json --db p.db --depth 0,7-9,100-350+100,512-5000*2 --kv f16:i8 -t 1 >plan.json
    [ "$(each plan.json '$.plan.cases' "json_extract(value, '\$.n_depth')" | tr '\n' ' ')" = \
        '0 7 8 9 100 200 300 512 1024 2048 4096 ' ]
    [ "$(json plan.json "json_extract(doc, '\$.plan.n_cases')")" -eq 11 ]
    [ "$(json plan.json "json_extract(doc, '\$.plan.seconds') > 0")" -eq 1 ]
    # 65 pages of 64 positions, 8 heads: 128 f16, 128 i8 and 4 scales
    [ "$(json plan.json "json_extract(doc, '\$.plan.memory_bytes')")" -eq $((65 * 64 * 8 * (256 + 144))) ]
    [ ! -e p.db ]
    rml-bench decoder --plan --weights q8_0,q4_k -t 1,2 --prompt 16 --gen 4 --depth 0,8 --batch 1,2 >plan.txt
    [ "$(grep -c '^decoder/' plan.txt)" -eq 24 ]
    grep -q '^24 cases, of which 0 skipped; about ' plan.txt
}

@test "a bad item of a list is named" {
    while IFS='|' read -r arguments expected; do
        # shellcheck disable=SC2086 # words
        try rml-bench $arguments
        echo "$arguments: $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ]
        [[ $stderr == *"$expected"* ]]
    done <<'END'
attention --depth 1,9-3|--depth: '9-3' found
attention --depth 1-x|--depth: '1-x' found
attention --depth 0-64*2|--depth: '0-64*2' found
attention --depth 1-64*1|--depth: '1-64*1' found
attention --depth 1-64+0|--depth: '1-64+0' found
attention --depth 4,1-9|--depth: 4 found twice
attention -t 1-400|--threads: '1-400' found
decoder --batch 0|--batch: '0' found
decoder --shape tinyllama,nosuch|--shape: 'nosuch' found
decoder --gen 0,4|--gen: 0 found beside others
attention -o x.txt|-o: 'x.txt' found, expected a name that ends in .json
attention -o x.md -o x.md|-o: 'x.md' found twice
attention --resume --no-db|--resume needs a database
END
}

@test "combinations that cannot be are named before, become rows, and the rest runs" {
    rml-bench decoder --json --db s.db --weights f16,q4_0 --arithmetic i8 --prompt 4 --gen 2 --depth 0 -t 1 \
        >out.json 2>err
    [ "$(grep -c 'skipped' err)" -eq 1 ]
    grep -q 'skipped: decoder/tinyllama-2-layers/prefill F16 i8.* and 1 more: weights of type F16 are not quantised' err
    [ "$(each out.json '$.rows' "json_extract(value, '\$.status') NOT IN ('ok', 'unstable')" | tr '\n' ' ')" = '1 1 0 0 ' ]
    [ "$(query s.db "SELECT count(*) FROM result WHERE status = 'skipped' AND error LIKE '%quantised%'")" -eq 2 ]
    try rml-bench decoder --plan --shape smollm2-135m --weights q4_k
    [[ $output == *'576 columns are no whole blocks of Q4_K'* ]]
    # what cannot fit is said before it is tried; nothing measured is a failure
    try rml-bench decoder --no-db --batch 1024 --depth 262144 --prompt 0 --weights q4_0
    [ "$status" -eq 1 ]
    [[ $stderr == *'skipped: '*'needs about '*' GB of memory'* ]]
}

@test "a child that is killed is a row of status error, and the sweep goes on" {
    rml-bench attention --db k.db --kv f32,f16 --depth 16 --reps 300 -t 1 --json >out.json 2>err &
    pid=$!
    until_true child_of $pid
    kill -SEGV "$child"
    status=0
    wait $pid || status=$?
    [ "$status" -eq 1 ]
    grep -q 'warning: attention/llama-3-8b: the measuring process was killed by signal 11' err
    [ "$(query k.db "SELECT group_concat(status = 'error') FROM (SELECT status FROM result ORDER BY id)")" = 1,0 ]
    [ "$(query k.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq 300 ]
    [ "$(query k.db "SELECT state || exit_code FROM run")" = complete1 ]
    [ "$(json out.json "json_extract(doc, '\$.rows[0].error') LIKE '%signal 11%'")" -eq 1 ]
    # an error is no result: --resume measures that case again, and that alone
    query k.db "VACUUM INTO 'early.db'"
    query k.db "SELECT id FROM result WHERE status <> 'error'" >kept
    rml-bench attention --db k.db --kv f32,f16 --depth 16 --reps 300 -t 1 --json --resume >out.json 2>err
    grep -q 'resumed run [0-9a-f]*, cases that it had already: 1$' err
    [ "$(query k.db "SELECT group_concat(status || ' ' || (id = $(cat kept))) FROM result ORDER BY id")" = 'ok 1,ok 0' ]
    [ "$(query k.db "SELECT state || exit_code || ' ' || count(*) FROM run")" = 'complete0 1' ]
    [ "$(query k.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq 600 ]
    [ "$(each out.json '$.rows' "json_extract(value, '\$.status')" | sort -u)" = ok ]
    # and an earlier copy does not bring the error back, in whichever order they are merged
    rml-results merge --db ab.db early.db k.db >/dev/null && rml-results merge --db ba.db k.db early.db >/dev/null
    for db in ab ba; do
        [ "$(query $db.db "SELECT count(*) || ' ' || sum(status = 'ok') FROM result")" = '2 2' ]
        rml-results check --db $db.db >/dev/null
    done
    # a run without errors has come to its end
    rml-bench attention --db k.db --kv f32,f16 --depth 16 --reps 300 -t 1 --resume >/dev/null 2>err
    [ "$(grep -c resumed err)" -eq 0 ] && [ "$(query k.db "SELECT count(*) FROM run")" -eq 2 ]
}

@test "a case that takes too long is a row of status error" {
    try rml-bench attention --no-db --json --kv f16 --depth 16 -t 1 --reps 100000 --timeout 0.3
    [ "$status" -eq 1 ]
    [[ $output == *'"error": "took longer than 0.3 s"'* ]]
}

@test "a child dies with its parent" {
    rml-bench attention --no-db --kv f16 --depth 16 -t 1 --reps 100000 >/dev/null 2>&1 &
    pid=$!
    until_true child_of $pid
    kill -KILL $pid
    wait $pid || true
    until_true is_gone "$child"
}

@test "rows go to files by the end of their names, whole or not at all" {
    rml-bench attention --no-db --json --kv f16 --depth 16,32 -t 1 -o a.json -o a.jsonl -o a.csv -o a.md >out.json
    [ "$(json a.json 'doc')" = "$(json out.json 'doc')" ]
    [ "$(wc -l <a.jsonl)" -eq 2 ]
    head -n 1 a.jsonl >first.json
    [ "$(json first.json "json_extract(doc, '\$.median_ns')")" = "$(json out.json "json_extract(doc, '\$.rows[0].median_ns')")" ]
    sqlite3 :memory: -cmd '.mode csv' -cmd '.import a.csv t' "SELECT count(*) || ' ' || sum(n_samples) || ' ' || min(case_key) FROM t" >csv.txt
    grep -q '2 42 attention/llama-3-8b' csv.txt
    [ "$(grep -c '^| llama-3-8b |' a.md)" -eq 2 ]
    # the same as JSON on standard output, alone
    rml-bench attention --no-db --kv f16 --depth 16 -t 1 -o - >alone.json
    [ "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('alone.json') AS TEXT), '$.rows')")" -eq 1 ]
    try rml-bench attention --no-db --depth 16 -t 1 -o - --json
    [ "$status" -eq 2 ] && [[ $stderr == *'--json and -o - found, expected one of them' ]]
    # no room: the file and why
    limited() { (trap '' XFSZ && ulimit -f 8 && "$@"); } # KiB; 2000 times have 20 at least
    for end in json jsonl; do
        try limited rml-bench attention --no-db --kv f16 --depth 16 -t 1 --reps 2000 -q -o big.$end
        echo "$stderr"
        [ "$status" -eq 1 ] && [ "$stderr" = "rml-bench: big.$end: cannot write: File too large" ] && [ ! -e big.$end ]
    done
    try rml-bench attention --no-db --depth 16 -t 1 -o nosuch/a.json
    [ "$status" -eq 1 ] && [ -z "$output" ]
    [[ $stderr == *'nosuch/a.json'* ]]
}

@test "--resume does what is missing, and nothing twice" {
    words=(attention --db r.db --kv f32,f16,i8 --depth 16,32 -t 1 --reps 100)
    rml-bench "${words[@]}" >/dev/null 2>&1 &
    pid=$!
    until_true has_results r.db 2
    kill -TERM $pid || true
    wait $pid || true
    query r.db "SELECT id FROM result ORDER BY id" >before
    # another plan is another run
    rml-bench attention --db r.db --kv f16 --depth 16 -t 1 --resume >/dev/null 2>&1
    [ "$(query r.db "SELECT count(*) FROM run")" -eq 2 ]
    rml-bench "${words[@]}" --resume --json >out.json 2>err
    grep -q "resumed run [0-9a-f]*, cases that it had already: $(wc -l <before)" err
    [ "$(query r.db "SELECT state || ' ' || count(DISTINCT bench_case_id) || ' ' || count(*)
        FROM run JOIN result ON run_id = run.id WHERE run.id = 1")" = 'complete 6 6' ]
    [ "$(query r.db "SELECT count(*) FROM result WHERE id IN ($(paste -sd, before))")" -eq "$(wc -l <before)" ]
    [ "$(query r.db "SELECT count(*) FROM run_env WHERE run_id = 1 AND phase = 'end'")" -gt 0 ]
    # recalled rows are whole
    [ "$(each out.json '$.rows' "json_array_length(value, '\$.samples_ns')" | uniq)" -eq 100 ]
    [ "$(json out.json "json_array_length(doc, '\$.rows')")" -eq 6 ]
    query r.db "SELECT median_ns FROM v_chart WHERE run_id = 1 AND kv = 'f32' AND n_depth = 16" >db.txt
    json out.json "json_extract(doc, '\$.rows[0].median_ns')" >>db.txt
    awk 'NR == 1 { x = $1 } END { exit ($1 - x) ^ 2 > 1e-12 * x ^ 2 }' db.txt
    # that run has come to its end
    rml-bench "${words[@]}" --resume >/dev/null 2>&1 &
    pid=$!
    until_true has_results r.db 8
    kill -TERM $pid || true
    wait $pid || true
    [ "$(query r.db "SELECT count(*) FROM run")" -eq 3 ]
}

@test "--resume: what was profiled is told again, and other profiling is another run" {
    words=(decoder --shape tinyllama-2-layers --weights q4_0 --prompt 1 --gen 0 --batch 1,2 -t 1 --db r.db)
    rml-bench "${words[@]}" --profile --json >whole.json
    # as it would be had it been killed in the second case
    query r.db "UPDATE run SET state = 'running', end_ns = NULL, exit_code = NULL, pid = 1, boot_id = 'another';
        PRAGMA foreign_keys = ON; DELETE FROM result WHERE id = 2"
    rml-bench "${words[@]}" --profile --resume --json >out.json 2>err
    grep -q 'resumed run [0-9a-f]*, cases that it had already: 1' err
    [ -n "$(json whole.json "json_extract(doc, '\$.rows[0].profile_ns.qkv.wall_ns')")" ]
    [ "$(json whole.json "json_extract(doc, '\$.rows[0].profile_ns')")" = "$(json out.json "json_extract(doc, '\$.rows[0].profile_ns')")" ]
    [ -n "$(json out.json "json_extract(doc, '\$.rows[1].profile_ns.qkv.wall_ns')")" ]
    query r.db "UPDATE run SET state = 'running', end_ns = NULL, exit_code = NULL, pid = 1, boot_id = 'another'"
    rml-bench "${words[@]}" --resume --json >out.json 2>err
    ! grep -q resumed err || false
    [ "$(query r.db "SELECT count(*) FROM run")" -eq 2 ]
}

@test "killed at random moments and resumed: no sample lost, no case doubled" {
    "$BATS_TEST_DIRNAME"/kill_and_resume 10
}

@test "eight at once on one database lose nothing" {
    for i in $(seq 8); do
        rml-bench attention --db c.db --kv f16,i8 --depth 16 -t 1 --seed "$i" >/dev/null 2>err.$i &
    done
    for job in $(jobs -p); do
        wait "$job"
    done
    [ "$(query c.db "SELECT count(*) || ' ' || count(DISTINCT uuid) FROM run WHERE state = 'complete'")" = '8 8' ]
    [ "$(query c.db "SELECT count(*) FROM result WHERE status IN ('ok', 'unstable')")" -eq 16 ]
    [ "$(query c.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq $((16 * 21)) ]
}
