#!/usr/bin/env bats
# rml-bench as users and scripts see it: options, exit codes, JSON, database, signals.

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

quick=(--depth 16 --reps 21)

# json FILE EXPRESSION: the value of an SQL expression over the document `doc`.
json() {
    sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"
}
query() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }

# until_true COMMAND...: within 20 s
until_true() {
    for _ in $(seq 200); do
        "$@" && return
        sleep 0.1
    done
    return 1
}
has_results() { # DB N
    [ "$(query "$1" "SELECT count(*) FROM result" 2>/dev/null || echo 0)" -ge "$2" ]
}

@test "a bad command line exits 2 and prints nothing on stdout" {
    for args in '' 'nosuch' 'attention --kv f64' 'attention --kv f32,,i8' 'attention --kv f16:q4_0' \
        'attention --depth -1' 'attention --depth 1,x' 'attention --threads 0' \
        'attention --threads 1000' 'attention --reps 20' 'attention --reps many' \
        'attention extra' 'attention --nosuch' 'attention --db x --no-db' 'attention --db=' \
        'decoder --weights q9' 'decoder --weights i32' 'decoder --arithmetic f16' \
        'decoder --prompt 0 --gen 0' 'decoder --prompt -5' 'decoder a b' 'decoder a --shape tinyllama' 'decoder --shape nosuch' 'attention --depth 9-3' 'attention --depth 0-8*2' 'attention --depth 1-8*1'; do
        # shellcheck disable=SC2086 # words
        try rml-bench $args
        echo "args: $args: status $status: $stderr"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$stderr" ]
    done
}

@test "what stands twice in a list is refused by name" {
    while IFS='|' read -r arguments expected; do
        # shellcheck disable=SC2086 # words
        try rml-bench $arguments --db twice.db
        echo "$arguments: $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ ! -e twice.db ]
        [[ $stderr == *"$expected"* ]]
    done <<'END'
attention --threads 1,1|--threads: 1 found twice
attention --depth 16,8,016|--depth: 16 found twice
attention --kv f16,i8,f16:f16|--kv: 'f16:f16' found twice
decoder --weights q8_0,q4_0,q8_0|--weights: 'q8_0' found twice
decoder --arithmetic f32,f32|--arithmetic: 'f32' found twice
decoder --threads 2,1,2|--threads: 2 found twice
decoder --depth 0,0|--depth: 0 found twice
decoder --kv f16:i8,f16:i8|--kv: 'f16:i8' found twice
attention --kv f16 --kv i8|--kv found twice
decoder -t 1 --threads 2|--threads found twice
ab attention --kv f16 --vs --kv i8 --kv f32|--kv found twice
END
}

@test "a label of the run, by which commands find it" {
    rml-bench attention "${quick[@]}" --kv f32 --db l.db --label before >/dev/null
    rml-bench attention "${quick[@]}" --kv f32 --db l.db --label after >/dev/null
    [ "$(query l.db "SELECT group_concat(label) FROM (SELECT label FROM run ORDER BY id)")" = before,after ]
    rml-results compare before after --db l.db | grep -q llama-3-8b
    try rml-bench attention --label '' --no-db
    [ "$status" -eq 2 ] && [[ $stderr == *'--label: expected 1 to 100 bytes'* ]]
    try rml-bench ab attention --label x --vs --kv i8
    [ "$status" -eq 2 ] && [[ $stderr == *'--label found, but a comparison'* ]]
}

@test "an RML_THREADS that is no count is an error that names it" {
    for value in junk 0 -1 257 2x; do
        RML_THREADS=$value try rml-bench attention "${quick[@]}" --kv f32 --no-db
        [ "$status" -eq 1 ] && [ -z "$output" ]
        [[ $stderr == *"RML_THREADS is '$value', expected a whole number from 1 to 256" ]]
    done
    RML_THREADS=junk try rml-bench attention "${quick[@]}" --kv f32 --no-db --threads 1
    [ "$status" -eq 0 ]
}

@test "--help and --version" {
    rml-bench --help | grep -q attention
    rml-bench attention --help | grep -q -- --depth
    rml-bench decoder --help | grep -q -- --weights
    rml-bench --version | grep -q '^rml-bench '
}

@test "--json: every key, one row for each kv x depth x threads, nothing else on stdout" {
    rml-bench attention --json --no-db --kv f32,f16:i8 --depth 0,70 --threads 1,2 >out.json 2>err
    [ "$(json out.json "json_array_length(doc, '\$.rows')")" -eq 8 ]
    keys=$(sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows[0]')")
    for key in suite name case_key status engine model weight_dtype k_dtype v_dtype arithmetic isa \
        threads n_prompt n_gen n_depth n_batch iters_per_rep n_samples median_ns ci_lo_ns ci_hi_ns \
        min_ns tokens_per_second bytes_per_second flops_per_second roof_fraction ttft_ns itl_p50_ns \
        itl_p90_ns itl_p99_ns itl_max_ns rss_bytes kv_bytes output_sha256 error samples_ns; do
        grep -qx "$key" <<<"$keys" || { echo "no key $key"; false; }
    done
    for key in fingerprint hostname cpu_model isa_flags cores threads mem_bytes; do
        [ -n "$(json out.json "json_type(doc, '\$.host.$key')")" ]
    done
    for key in binary_sha256 version git_commit git_dirty compiler cflags libc; do
        [ -n "$(json out.json "json_type(doc, '\$.build.$key')")" ]
    done
    sqlite3 :memory: "SELECT value FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows')" >rows
    while read -r row; do
        printf '%s' "$row" >row.json
        [ "$(json row.json "(json_extract(doc, '\$.suite')) = 'attention' AND (json_extract(doc, '\$.engine')) = 'rml' AND
            (json_extract(doc, '\$.n_samples')) = 21 AND json_array_length(doc, '\$.samples_ns') = 21 AND
            (json_extract(doc, '\$.min_ns')) <= (json_extract(doc, '\$.median_ns')) AND
            (json_extract(doc, '\$.ci_lo_ns')) <= (json_extract(doc, '\$.median_ns')) AND
            (json_extract(doc, '\$.median_ns')) <= (json_extract(doc, '\$.ci_hi_ns')) AND
            abs((json_extract(doc, '\$.tokens_per_second')) * (json_extract(doc, '\$.median_ns')) / 1e9 - 1) < 1e-9 AND
            (json_extract(doc, '\$.median_ns')) * (json_extract(doc, '\$.iters_per_rep')) > 1e6 AND
            length(json_extract(doc, '\$.output_sha256')) = 64 AND (json_extract(doc, '\$.status')) IN ('ok', 'unstable') AND
            json_type(doc, '\$.roof_fraction') = 'null' AND json_type(doc, '\$.error') = 'null' AND
            json_type(doc, '\$.ttft_ns') = 'null' AND json_type(doc, '\$.model') = 'null'")" -eq 1 ]
    done <rows
}

@test "the output is the same for any number of threads" {
    rml-bench attention --json --no-db --kv f16 --depth 300 --threads 1,2,3 >out.json
    [ "$(sqlite3 :memory: "SELECT count(DISTINCT json_extract(value, '\$.output_sha256'))
        FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows')")" -eq 1 ]
}

@test "the seed and the instruction set reach the rows" {
    rml-bench attention --json --no-db --kv f32 "${quick[@]}" >a.json
    rml-bench attention --json --no-db --kv f32 "${quick[@]}" --seed 1 >b.json
    [ "$(json a.json "json_extract(doc, '\$.rows[0].output_sha256')")" != "$(json b.json "json_extract(doc, '\$.rows[0].output_sha256')")" ]
    [ "$(json a.json "json_extract(doc, '\$.rows[0].case_key')")" != "$(json b.json "json_extract(doc, '\$.rows[0].case_key')")" ]
    RML_CPU=ref rml-bench attention --json --no-db --kv f32 "${quick[@]}" >c.json
    [ "$(json c.json "json_extract(doc, '\$.rows[0].isa')")" = ref ]
}

@test "decoder: prefill and decode are rows of their own" {
    rml-bench decoder --json --db d.db --weights q4_0 --prompt 8 --gen 4 --depth 4,8 >out.json
    [ "$(json out.json "json_array_length(doc, '\$.rows')")" -eq 3 ]
    [ "$(json out.json "(json_extract(doc, '\$.rows[0].n_prompt')) = 8 AND (json_extract(doc, '\$.rows[0].weight_dtype')) = 'Q4_0'
        AND (json_extract(doc, '\$.rows[0].arithmetic')) = 'i8' AND (json_extract(doc, '\$.rows[0].ttft_ns')) > 0
        AND json_type(doc, '\$.rows[0].itl_p50_ns') = 'null'
        AND abs((json_extract(doc, '\$.rows[0].tokens_per_second')) * (json_extract(doc, '\$.rows[0].median_ns')) / 8e9 - 1) < 1e-9")" -eq 1 ]
    [ "$(json out.json "(json_extract(doc, '\$.rows[2].n_gen')) = 4 AND (json_extract(doc, '\$.rows[2].n_depth')) = 8
        AND json_type(doc, '\$.rows[2].ttft_ns') = 'null'
        AND (json_extract(doc, '\$.rows[2].itl_p50_ns')) > 0
        AND (json_extract(doc, '\$.rows[2].itl_p50_ns')) <= (json_extract(doc, '\$.rows[2].itl_max_ns'))")" -eq 1 ]
    [ "$(query d.db "SELECT count(*) FROM token_time AS t JOIN result AS r ON r.id = t.result_id
        WHERE r.iters_per_rep * 21 <> (SELECT count(*) FROM token_time WHERE result_id = r.id)")" -eq 0 ]
    [ "$(query d.db "SELECT count(DISTINCT result_id) FROM token_time")" -eq 2 ]
}

@test "the database holds what the JSON says" {
    rml-bench attention --json --db a.db --kv f32,i8 "${quick[@]}" >out.json
    [ "$(query a.db "SELECT kind || state || exit_code FROM run")" = benchcomplete0 ]
    query a.db "SELECT median_ns, ci_lo_ns, ci_hi_ns, min_ns FROM v_chart ORDER BY result_id" >db.txt
    sqlite3 :memory: "SELECT json_extract(value, '\$.median_ns'), json_extract(value, '\$.ci_lo_ns'), json_extract(value, '\$.ci_hi_ns'),
        json_extract(value, '\$.min_ns') FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows')" >json.txt
    [ "$(query a.db "SELECT count(*) FROM v_chart")" -eq 2 ]
    paste -d'|' db.txt json.txt | awk -F'|' '{ for (i = 1; i <= 4; i++)
        if (($i - $(i + 4)) ^ 2 > 1e-12 * $i ^ 2) exit 1 }'
    [ "$(query a.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq 42 ]
    [ "$(query a.db "SELECT count(*) FROM sample WHERE is_warmup")" -gt 2 ]
}

@test "where the database goes: --db, RML_DB, ./results, XDG_DATA_HOME, --no-db" {
    run_quick() { rml-bench attention --kv f32 "${quick[@]}" "$@" >table; }
    RML_DB=env.db run_quick --db given.db
    [ -e given.db ] && [ ! -e env.db ]
    RML_DB=env.db run_quick
    [ -e env.db ]
    XDG_DATA_HOME=$PWD/data run_quick
    [ -e data/rml/rml.db ]
    mkdir results
    run_quick
    [ -e results/rml.db ]
    rm -r results data ./*.db
    run_quick --no-db
    [ "$(find . -name '*.db' | wc -l)" -eq 0 ]
    grep -q 'llama-3-8b' table
}

@test "a database that cannot be written is one line and exit 1, before any work" {
    try rml-bench attention --db /proc/no/such/x.db
    [ "$status" -eq 1 ] && [ -z "$output" ]
    [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == 'rml-bench: /proc/no/such/x.db: cannot be opened'* ]]
    echo 'this is no database, only text, but longer than the header of one: 0123456789' >text.db
    try rml-bench attention --json --db text.db
    [ "$status" -eq 1 ]
    [[ $output == *'"code": "format"'* && $output == *'text.db'* ]]
    [[ $stderr == *'not an SQLite database'* ]]
}

# stopped_by SIGNAL CODE
stopped_by() {
    env --default-signal="$1" rml-bench attention --db i.db --kv f32,f16,i8 --reps 500 --depth 16,32 >out 2>err &
    pid=$!
    until_true has_results i.db 1
    kill -"$1" $pid
    sleep 0.002 # timeout(1) signals the program, and then its group
    kill -"$1" $pid || true
    status=0
    wait $pid || status=$?
    [ "$status" -eq "$2" ]
    n=$(query i.db "SELECT count(*) FROM result")
    [ "$n" -ge 1 ] && [ "$n" -lt 6 ]
    [ "$(query i.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq $((n * 500)) ]
    [ "$(query i.db "SELECT state || exit_code FROM run")" = "aborted$2" ]
    [ "$(grep -c llama-3-8b out)" -eq "$n" ]
}

@test "SIGINT: exit 130, finished cases are kept, the run is aborted" { stopped_by INT 130; }
@test "SIGTERM: the same, exit 143" { stopped_by TERM 143; }

@test "SIGKILL: the row stays running and is known to be dead, what was finished is there" {
    rml-bench attention --db k.db --kv f32,f16,i8 --reps 500 --depth 16,32 >out 2>&1 &
    pid=$!
    until_true has_results k.db 2
    rml-results list --db k.db | grep -q running
    kill -KILL $pid
    wait $pid || true
    [ "$(query k.db "SELECT state FROM run")" = running ]
    rml-results list --db k.db | grep -q dead
    try rml-results check --db k.db
    [ "$status" -eq 0 ]
    [[ $output == *'dead run: '*', bench, begun '* ]]
    n=$(query k.db "SELECT count(*) FROM result")
    [ "$(query k.db "SELECT count(*) FROM sample WHERE NOT is_warmup")" -eq $((n * 500)) ]
    # and the next run goes on as if nothing had been
    rml-bench attention --db k.db --kv f32 "${quick[@]}" >out
    [ "$(query k.db "SELECT count(*) FROM run WHERE state = 'complete'")" -eq 1 ]
}
