#!/usr/bin/env bats
# rml-results import peers: rows of other engines beside ours, marked wrong by their error.

load made_db

setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
    # Two engines with samples of 4 iterations, the second one's logits off by 26; times by hand.
    cat >rows.json <<'END'
{"format": "rml-peers", "version": 1, "unix_s": 1796017000,
 "host": {"cpu_model": "EPYC 9354", "n_processors": 2},
 "model": {"content_sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  "file": "m.gguf", "bytes": 1000, "weight_dtype": "Q4_1"},
 "facts": {"llama.cpp.system_info": "AVX2 = 1"},
 "rows": [
  {"suite": "decoder", "name": "checkpoint/decode", "work_version": 1, "engine": "rml",
   "engine_version": "0.1.0", "arithmetic": "i8", "isa": "avx2", "k_dtype": "f16", "v_dtype": "f16",
   "threads": 2, "n_batch": 1, "n_prompt": 0, "n_gen": 4, "n_depth": 8, "params": {"seed": 0},
   "status": "ok", "error": null, "items_per_iter": 1, "bytes_per_iter": 2000,
   "max_abs_error": 0.5, "tolerance": 4,
   "samples": [[1, 0, 100, 4, 90000000, 1], [0, 3, 400, 4, 40000000, 2], [0, 4, 500, 4, 60000000, 3],
    [0, 7, 800, 4, 80000000, -1]]},
  {"suite": "decoder", "name": "checkpoint/decode", "work_version": 1, "engine": "llama.cpp",
   "engine_version": "0.3.36", "k_dtype": "f16", "v_dtype": "f16",
   "threads": 2, "n_batch": 1, "n_prompt": 0, "n_gen": 4, "n_depth": 8,
   "params": {"seed": 0, "n_ubatch": 512}, "status": "ok", "items_per_iter": 1,
   "max_abs_error": 26, "tolerance": 4, "samples": [[0, 2, 300, 4, 20000000, 2]]},
  {"suite": "decoder", "name": "checkpoint/decode", "engine": "ik_llama.cpp", "status": "error",
   "error": "the process ended by SIGILL", "max_abs_error": null, "tolerance": 4, "samples": []}]}
END
}
teardown() { rm -rf "$HOME"; }

sql() { sqlite3 a.db "$1"; }

@test "rows come in with engine, version, error, and the order in which engines took turns" {
    rml-results import peers --db a.db --label side rows.json >table
    [ "$(awk 'NR == 2 { print $3, $4 }' table)" = '3 imported' ]
    [ "$(sql "SELECT engine, engine_version, status, n_samples, median_ns, tokens_per_second, is_wrong
        FROM v_chart WHERE result_id < 3 ORDER BY result_id")" = \
        'rml|0.1.0|ok|3|15000000.0|66.6666666666667|0
llama.cpp|0.3.36|ok|1|5000000.0|200.0|1' ]
    [ "$(sql "SELECT group_concat(order_idx || ':' || t_mono_ns || ':' || coalesce(cpu_ns, 'x') || ':' || is_warmup, ' ')
        FROM sample WHERE result_id = 1")" = '0:100:1:1 3:400:2:0 4:500:3:0 7:800:x:0' ]
    [ "$(sql "SELECT warmup_iters, iters_per_rep, bytes_per_iter, max_abs_error, tolerance FROM result WHERE id = 1")" = '4|4|2000|0.5|4.0' ]
    # an error that is no number is above every tolerance
    [ "$(sql "SELECT status, error, max_abs_error > 1e308, is_wrong FROM v_chart WHERE result_id = 3")" = \
        'error|the process ended by SIGILL|1|1' ]
    [ "$(sql "SELECT DISTINCT file_name, file_bytes, weight_dtype FROM model")" = 'm.gguf|1000|Q4_1' ]
    [ "$(sql "SELECT count(*) FROM bench_case AS c JOIN model AS m ON m.id = c.model_id")" -eq 3 ]
    [ "$(sql "SELECT case_key FROM bench_case WHERE id = 1")" = "decoder/checkpoint/decode engine=rml \
model=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 weights=Q4_1 kv=f16:f16 arithmetic=i8 \
isa=avx2 threads=2 batch=1 prompt=0 gen=4 depth=8 work=1 params={\"seed\":0}" ]
    [ "$(sql "SELECT value FROM run_env WHERE key = 'llama.cpp.system_info'")" = 'AVX2 = 1' ]
    [ "$(sql "SELECT cpu_model, threads FROM host")" = 'EPYC 9354|2' ]
    [ "$(sql "SELECT datetime(start_ns / 1000000000, 'unixepoch'), label FROM run")" = '2026-11-30 05:36:40|side' ]
    rml-results check --db a.db
    rml-results import peers --db a.db rows.json | grep -q 'there already'
    [ "$(sql 'SELECT count(*) FROM result')" -eq 3 ]
}

@test "a wrong row says so in text and chart, and has no ratio" {
    rml-results import peers --db a.db rows.json >/dev/null
    rml-results show --db a.db 1 >shown
    grep 'llama.cpp' shown | grep -q wrong
    if command -v gnuplot >/dev/null; then
        rml-results plot peers --db a.db -o - >chart
        grep -q wrong chart
    fi
}

# refused CHANGE TEXT: with one place changed, exit 1, one line with TEXT, and no database
refused() {
    sed "$1" rows.json >bad
    ! cmp -s rows.json bad || false
    try rml-results import peers --db none.db bad
    echo "$1: status $status: $stderr"
    [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [ ! -e none.db ]
    [[ $stderr == "rml-results: bad: "*"$2"* ]]
}

@test "what is wrong in a file is named with its place" {
    while IFS='#' read -r change expected; do
        refused "$change" "$expected"
    done <<'END'
s/rml-peers/rml-golden/#no member format with the value rml-peers
s/"version": 1,/"version": 2,/#another version of the form, expected 1
s/"unix_s": 1796017000/"unix_s": "now"/#the file, member unix_s: found another value, expected a whole number
s/"n_processors": 2/"n_processors": 0/#host, member n_processors: found another value, expected a whole number from 1
s/"cpu_model"/"cpu"/#host: member 'cpu' is not known
s/b179c9/B179C9/#model, member content_sha256: found another value, expected 64 hexadecimal digits
s/"bytes": 1000/"byte": 1000/#model: member 'byte' is not known
s/"AVX2 = 1"/1/#facts, member llama.cpp.system_info: a text was expected
s/"engine": "rml",/"engin": "rml",/#rows[0]: member 'engin' is not known
s/"engine": "llama.cpp",//#rows[1], member engine: not found, expected a text
s/"engine": "llama.cpp"/"engine": ""/#rows[1], member engine: found another value
s/"threads": 2/"threads": 0/#rows[0], member threads: found another value, expected a whole number from 1 to 100000
s/"n_depth": 8/"n_depth": -8/#rows[0], member n_depth
s/{"seed": 0}/[0]/#rows[0], member params: found another value, expected an object
s/"status": "ok", "error": null/"status": "fine"/#rows[0], member status: found another value, expected ok
s/"error": null/"error": "why"/#rows[0], member error: found another value, expected none with this status
s/"error": "the process ended by SIGILL",//#rows[2], member error: not found, expected the reason
s/"bytes_per_iter": 2000/"bytes_per_iter": -1/#rows[0], member bytes_per_iter
s/0.5, "tolerance": 4/0.5/#rows[0], member tolerance: not found, expected more than 0 beside max_abs_error
s/"items_per_iter": 1, "bytes/"bytes/#rows[0], member items_per_iter: not found, expected more than 0
s/4, 40000000, 2]/0, 40000000, 2]/#rows[0].samples[1]: expected [is_warmup, order_idx
s/4, 40000000, 2]/4, 0, 2]/#rows[0].samples[1]: 0 ns found
s/\[0, 2, 300, 4, 20000000, 2\]/[1, 2, 300, 4, 20000000, 2]/#rows[1], member samples
s/"samples": \[\]}\]}/"samples": []}], "more": 1}/#the file: member 'more' is not known
END
    head -c 900 rows.json >bad
    try rml-results import peers --db none.db bad
    [ "$status" -eq 1 ] && [[ $stderr == *'bad: line'* ]]
}
