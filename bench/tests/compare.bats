#!/usr/bin/env bats
# rml-bench ab and gate as pipelines see them: exit codes, reports, what is kept, signals. No
# verdict here hangs on a small difference, and none on the machine being quiet.

setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
    bench=$(command -v rml-bench)
}

teardown() { rm -rf "$HOME"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"; }
query() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }

# program NAME LINE...: a program of this test
program() {
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$1"
    chmod +x "$1"
}

case="attention --kv f16 --depth 16 --threads 1"

@test "a command line that makes no sense exits 2 and prints nothing on stdout" {
    while read -r args; do
        # shellcheck disable=SC2086 # words
        try rml-bench $args
        echo "args: $args: status $status: $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ -n "$stderr" ]
    done <<'END'
ab
ab attention
ab a attention --kv f16
ab a b
ab a b attention --kv f16 --vs --kv i8
ab a b c attention
ab attention --kv f16 --vs --kv f99
ab attention --kv f16 --vs
ab attention --reps 30 --vs --kv i8
ab --gate 0 attention --kv f16 --vs --kv i8
ab --json --junit - attention --kv f16 --vs --kv i8
ab --nosuch attention --kv f16 --vs --kv i8
gate
gate a
gate --gate x a b
gate --junit= a b
END
    try rml-bench ab attention --kv f16,f32 --depth 16 --vs --kv i8
    [ "$status" -eq 2 ]
    [[ $stderr == *'2 cases before --vs and 1 after it'* ]]
    # what a comparison does not do is refused, not ignored; abbreviated too
    for words in '--plan' '--resume' '--prof' '--roof' '-o rows.csv' '--out=rows.csv' '--timeout 5' '--re 30'; do
        try rml-bench ab decoder $words --kv f16 --vs --kv i8
        echo "$words: $status: $stderr"
        [ "$status" -eq 2 ] && [[ $stderr == *' found, but a comparison of cases takes none'* || $words == '--re 30' ]]
        try rml-bench gate "$bench" "$bench" "decoder $words --kv f16"
        [ "$status" -eq 2 ] && [ ! -e rows.csv ]
    done
    try rml-bench gate "$bench" "$bench" 'nosuch --kv f16'
    [ "$status" -eq 2 ]
    [[ $stderr == *"case 'nosuch --kv f16'"* ]]
}

@test "--help names the exit codes and has examples" {
    rml-bench ab --help | grep -q -- '--kv f16 --vs --kv i8'
    rml-bench gate --help | grep -q -- '--junit gate.xml'
    rml-bench --help | grep -q 'gate .*pipelines'
}

@test "two programs: verdict, samples in the order in which they were taken, reports" {
    # shellcheck disable=SC2086 # words
    try rml-bench ab --db a.db --junit j.xml --markdown m.md "$bench" "$bench" $case
    # identical: never a regression; inconclusive when the machine is too noisy
    [ "$status" -eq 0 ] || [ "$status" -eq 5 ]
    grep -q '^canary: base against base' stdout.txt
    [ "$(query a.db "SELECT kind || state || exit_code || label FROM run")" = "benchcomplete${status}ab" ]
    [ "$(query a.db "SELECT group_concat(arm) FROM (SELECT arm FROM result ORDER BY id)")" = base,canary,base,head ]
    [ "$(query a.db "SELECT count(*) FROM verdict WHERE n >= 61 AND n <= 201 AND confidence = 0.99
        AND gate_pct = 5 AND metric = 'wall_ns' AND ratio BETWEEN ci_lo AND ci_hi")" -eq 2 ]
    # a block is base head head base or the reverse, and both come up
    query a.db "SELECT order_idx, arm FROM sample JOIN result ON result.id = result_id
        WHERE result_id >= 3 ORDER BY order_idx" | awk -F'|' '
            $1 != NR - 1 { exit 1 }
            { block = block substr($2, 1, 1) }
            NR % 4 == 0 { if (block != "bhhb" && block != "hbbh") exit 1; seen[block]++; block = "" }
            END { exit !(seen["bhhb"] > 9 && seen["hbbh"] > 9 && NR >= 244) }'
    [ "$(query a.db "SELECT count(DISTINCT iters) FROM sample WHERE result_id >= 3")" -eq 1 ]
    grep -q '<testsuite name="rml-bench ab" tests="2"' j.xml
    [ "$(grep -c '<testcase ' j.xml)" -eq 2 ]
    grep -q '^| attention/llama-3-8b .*|$' m.md
}

@test "two settings: what is ten times the work is a regression; --json says all of it" {
    # what is not said anew is as before --vs
    try rml-bench ab --json --db s.db attention --kv f16 --depth 16 -t 1 --vs --depth 2048
    [ "$status" -eq 3 ] || [ "$status" -eq 5 ] # 5: the canary failed
    [ "$(json stdout.txt "json_extract(doc, '\$.exit_code')")" -eq "$status" ]
    [ "$(json stdout.txt "json_extract(doc, '\$.cases[0].verdict')")" = regression ]
    [ "$(json stdout.txt "json_extract(doc, '\$.cases[0].ci_lo') > 1
        AND json_extract(doc, '\$.cases[0].detectable') > 0
        AND json_extract(doc, '\$.cases[0].base.median_ns') < json_extract(doc, '\$.cases[0].head.median_ns')
        AND json_extract(doc, '\$.head_settings') = 'attention --depth 2048'
        AND json_extract(doc, '\$.n_cases') = 1")" -eq 1 ]
    [[ "$(json stdout.txt "json_extract(doc, '\$.cases[0].name')")" == 'attention/'*', kv f16:f16, '*', depth 16 -> 2048'* ]]
    [[ "$(json stdout.txt "json_extract(doc, '\$.canary.name')")" != *'->'* ]]
    [ "$(query s.db "SELECT verdict FROM verdict ORDER BY id DESC LIMIT 1")" = regression ]
}

@test "a base that is missing or cannot be compared exits 6, a head that is broken 1" {
    try rml-bench gate --no-db ./nosuch "$bench" "$case"
    [ "$status" -eq 6 ]
    [ "$stderr" = 'rml-bench: ./nosuch: no program that can be run' ]
    try rml-bench gate --no-db "$bench" ./nosuch "$case"
    [ "$status" -eq 1 ]
    program old 'exit 2' # a build that knows no worker
    try rml-bench gate --no-db ./old "$bench" "$case"
    [ "$status" -eq 6 ]
    try rml-bench gate --no-db "$bench" ./old "$case"
    [ "$status" -eq 1 ]
    program newer 'echo "{\"rml_bench_worker\": 999}"; cat >/dev/null'
    try rml-bench gate --json --no-db ./newer "$bench" "$case"
    [ "$status" -eq 6 ]
    [[ $stderr == *'./newer: '*'protocol 999'* ]]
    [ "$(json stdout.txt "json_extract(doc, '\$.error.code')")" = unsupported ]
}

@test "instruction sets and threads may not differ: exit 6 names the field" {
    program ref "RML_CPU=ref exec '$bench' \"\$@\""
    try rml-bench gate --db i.db "$bench" ./ref "$case"
    [ "$status" -eq 6 ]
    [[ $output == *'instruction set differs: '*' and ref'* ]]
    # nothing can be compared, so nothing is measured: not by the canary either
    [[ $output != *canary* ]]
    [ "$(query i.db "SELECT count(*) FROM sample")" -eq 0 ]
    [ "$(query i.db "SELECT count(*) FROM result WHERE status = 'error' AND error LIKE 'instruction set differs%'")" -eq 2 ]
    try rml-bench ab --no-db attention --depth 16 --kv f16 -t 1 --vs --depth 16 --kv f16 -t 2
    [ "$status" -eq 6 ]
    [[ $output == *'threads differs: 1 and 2'* ]]
}

@test "a head that crashes is an error of its case, and the others are compared" {
    program crashing 'echo "{\"rml_bench_worker\": 1}"; read -r line; kill -SEGV $$'
    try rml-bench gate --db c.db "$bench" ./crashing "$case" "attention --kv f32 --depth 16 -t 1"
    [ "$status" -eq 1 ]
    [[ $output == *'killed by signal 11'* ]]
    [ "$(query c.db "SELECT count(*) FROM result WHERE status = 'error'")" -eq 4 ]
    [ "$(query c.db "SELECT count(*) FROM verdict")" -eq 1 ] # the canary's
}

@test "SIGINT: exit 130, finished comparisons and their reports are kept" {
    env --default-signal=INT rml-bench gate --db i.db --junit j.xml "$bench" "$bench" \
        "attention --kv f32,f16,i8 --depth 16 --threads 1" >out 2>err &
    pid=$!
    for _ in $(seq 1200); do
        [ "$(query i.db "SELECT count(*) FROM verdict" 2>/dev/null || echo 0)" -ge 2 ] && break
        sleep 0.1
    done
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 130 ]
    n=$(query i.db "SELECT count(*) FROM verdict")
    [ "$n" -ge 2 ] && [ "$n" -lt 4 ]
    [ "$(query i.db "SELECT state || exit_code FROM run")" = aborted130 ]
    [ "$(grep -c '<testcase ' j.xml)" -eq "$n" ]
    [ "$(query i.db "SELECT count(*) FROM result")" -eq $((2 * n)) ]
}
