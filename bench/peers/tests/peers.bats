#!/usr/bin/env bats
# bench/peers/run without its peers: its command line, what it says when something is not there, and
# measuring in turns with an engine that is a script of known times.

setup() {
    command -v python3 >/dev/null || skip 'no python3 found'
    export HOME RML_PEERS_DIR RML_BIN
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
    RML_PEERS_DIR=$HOME/peers
    RML_BIN=$(dirname "$(command -v rml-bench)")
    peers=$BATS_TEST_DIRNAME/..
    model=$BATS_TEST_DIRNAME/../../../goldens/fixtures/llama-q8_0/model.gguf
}
teardown() { rm -rf "${HOME:?}"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
    echo "$*: status $status: $stderr"
}

@test "--help says how, on standard output" {
    "$peers/run" --help >help
    grep -q -e '--kv f16,i8' help && grep -q RML_PEERS_DIR help
    "$peers/setup" --help | grep -q -e --llama-cpp-lib
}

@test "a bad command line exits 2 with one line" {
    while IFS='|' read -r arguments expected; do
        # shellcheck disable=SC2086 # words
        try "$peers/run" $arguments
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
        [[ $stderr == *"$expected"* ]]
    done <<'END'
|the following arguments are required: MODEL
m --engines vllm|'vllm' found, expected rml, llama.cpp, ik_llama.cpp
m --engines rml|no peer found
m --engines llama.cpp,llama.cpp|'llama.cpp' found twice
m --blocks 0|'0' found, expected a whole number of at least 1
m --blocks -3|--blocks
m --tolerance nan|'nan' found, expected a number above 0
m --tolerance x|'x' found
m --nosuch|--nosuch
END
    # lists are judged by rml-bench, in its words
    try "$peers/run" "$model" --depth 1,x
    [ "$status" -eq 2 ] && [[ $stderr == *--depth* ]]
    try "$peers/setup" --nosuch
    [ "$status" -eq 2 ]
    try "$peers/setup" --llama-cpp-lib "$HOME"
    [ "$status" -eq 1 ] && [[ $stderr == *'no libllama.so found there'* ]]
}

@test "what is not there is named, with what brings it" {
    try "$peers/run" "$model" --prompt 8 --gen 0 -t 1
    [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ]
    [[ $stderr == "peers/run: $RML_PEERS_DIR: llama.cpp is not installed there; run "*'/setup, or leave it out'* ]]
    try "$peers/run" no.gguf
    [ "$status" -eq 1 ] && [[ $stderr == *'no.gguf'* ]]
    RML_BIN=$HOME try "$peers/run" "$model"
    [ "$status" -eq 1 ] && [[ $stderr == *'rml-bench: not found; build it with make'* ]]
}

# A venv whose python answers for the engine: blocks take 5 ms, but the second engine dies in its
# third; errors against the golden are 26 in a prefill and 0.5 in decoding.
fake_peers() {
    mkdir -p peers/bin
    cat >engine.py <<'END'
import json, os, sys
name, blocks, spec = sys.argv[1], 0, None
print(json.dumps({"rml_bench_worker": 1}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = {"build": {"version": "1.2.3", "system_info": "none"}}
    if request["do"] == "open":
        spec = request["spec"]
        answer = {"facts": {"items_per_iter": spec["n_prompt"] or 1}}
    elif request["do"] == "golden":
        answer = {"max_abs_error": 26.0 if spec["n_prompt"] else 0.5, "n_logits": 8}
    elif request["do"] == "block":
        blocks += 1
        if name == "ik_llama.cpp" and blocks > 2:
            print("GGML_ASSERT: no", file=sys.stderr, flush=True)
            os.abort()
        answer = {"wall_ns": 5000000 * request["iters"], "cpu_ns": 1}
    print(json.dumps(answer), flush=True)
END
    cat >peers/bin/python <<END
#!/bin/sh
[ "\$1" = -c ] && exit 0
shift
exec python3 '$HOME/engine.py' "\$@"
END
    chmod +x peers/bin/python
}

@test "engines take turns; wrong rows are marked; one that dies is an error row and the rest goes on" {
    fake_peers
    golden=$BATS_TEST_DIRNAME/../../../goldens/fixtures/llama-q8_0/golden.json
    try "$peers/run" "$model" --golden "$golden" --prompt 8 --gen 4 --depth 4 -t 1 --kv i8 --blocks 6 --db a.db -o rows.json
    [ "$status" -eq 1 ] # because of the error rows
    [[ $stderr == *'ik_llama.cpp: prefill 8, kv i8:i8, 1 threads: the process ended by SIGABRT: GGML_ASSERT: no'* ]]
    sql() { sqlite3 a.db "$1"; }
    [ "$(sql "SELECT count(*) FROM result")" -eq 6 ]
    [ "$(sql "SELECT n_prompt, status, n_samples, tokens_per_second, is_wrong, engine_version FROM v_chart
        WHERE engine = 'llama.cpp' ORDER BY result_id")" = '8|ok|6|1600.0|1|1.2.3
0|ok|6|200.0|0|1.2.3' ]
    [ "$(sql "SELECT count(*) FROM v_chart WHERE engine = 'rml' AND n_samples = 6 AND is_wrong = 0
        AND max_abs_error > 0 AND status IN ('ok', 'unstable')")" -eq 2 ]
    # two of their own, one at a time: their orders go A B, B A, A B ... and none is there twice
    [ "$(sql "SELECT group_concat(CASE engine WHEN 'rml' THEN 'r' ELSE 'l' END, '') FROM (SELECT engine FROM sample
        JOIN result ON result.id = result_id JOIN bench_case AS c ON c.id = bench_case_id
        WHERE is_warmup = 0 AND n_prompt = 8 ORDER BY order_idx)")" = rllrrllrrllr ]
    [ "$(sql "SELECT count(*) - count(DISTINCT order_idx) FROM sample")" -eq 0 ]
    # rml's rows are the cases of rml-bench decoder itself
    rml-bench decoder "$model" --plan --json --no-db --prompt 8 --gen 4 --depth 4 -t 1 --kv i8 >plan.json
    sql "SELECT case_key FROM bench_case WHERE engine = 'rml'" | while read -r key; do
        sqlite3 :memory: "SELECT json_extract(c.value, '\$.case_key') FROM json_each(CAST(readfile('plan.json') AS TEXT),
            '\$.plan.cases') AS c" | grep -qxF "$key"
    done
    [ -s rows.json ]
}
