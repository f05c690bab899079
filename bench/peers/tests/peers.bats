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
    [ "$(stat -c %a rows.json)" = "$(printf %o $((0666 & ~0$(umask))))" ]
    # what is kept as a file gives the same rows again
    rml-results import peers --db b.db rows.json >/dev/null
    [ "$(sqlite3 b.db 'SELECT case_key, median_ns, is_wrong FROM v_chart ORDER BY result_id')" = \
        "$(sql 'SELECT case_key, median_ns, is_wrong FROM v_chart ORDER BY result_id')" ]
}

@test "SIGTERM: no engine is left behind, finished cases are stored" {
    fake_peers
    sed -i 's/elif request\["do"\] == "block":/elif request["do"] == "block" and blocks == 4:\n        open("stuck", "w").close()\n        import time; time.sleep(60)\n    &/' engine.py
    "$peers/run" "$model" --engines llama.cpp --prompt 8 --gen 4 --depth 4 -t 1 --kv i8 --blocks 6 --db a.db &
    pid=$!
    for _ in $(seq 100); do [ -e stuck ] && break; sleep 0.1; done
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    ! pgrep -f "$HOME/engine.py"
}

# Two documents with rates that are easy to work out: 100 tokens in so many ms.
made_document() {
    cat >made.json <<'END'
{"format": "rml-peers", "version": 1, "unix_s": 1796017000, "host": {"cpu_model": "EPYC 9354", "n_processors": 2},
"model": {"content_sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "file": "m.gguf", "weight_dtype": "Q4_1"},
"rows": [
END
    row() { # ENGINE VERSION ARITHMETIC THREADS N_PROMPT N_DEPTH ERROR MS...
        local engine=$1 version=$2 arithmetic=$3 threads=$4 prompt=$5 depth=$6 error=$7 i=0 samples=
        shift 7
        for ms in "$@"; do samples+="${samples:+, }[0, $((i++)), $i, 100, $((ms * 1000000)), -1]"; done
        printf '{"suite": "decoder", "name": "checkpoint/x", "engine": "%s", "engine_version": "%s", "arithmetic": %s, "k_dtype": "f16",
            "v_dtype": "f16", "threads": %d, "n_batch": 1, "n_prompt": %d, "n_gen": 16, "n_depth": %d, "status": "ok", "items_per_iter": 1,
            "max_abs_error": %s, "tolerance": 4, "samples": [%s]}' "$engine" "$version" "$arithmetic" "$threads" "$prompt" "$depth" "$error" "$samples"
    }
    {
        row rml 0.1.0 '"f32"' 1 512 0 0.023 398 399 400 401 402 403 404; echo ,
        row rml 0.1.0 '"f32"' 2 512 0 0.023 200 200 200 200 200 200 200; echo ,
        row rml 0.1.0 '"f32"' 1 0 0 0.021 1000 1000 1000 1000 1000 1000 1000; echo ,
        row ik_llama.cpp 0.1.5 null 1 512 0 23.4 300 300 300 300 300 300 300
        echo ']}'
    } >>made.json
}

@test "tables: every figure is the database's, and a README that says another is found" {
    made_document
    "$peers/tables" made.json >table
    cat table
    # 100 tokens in 401 ms, 200 ms, 1000 ms, 300 ms; the interval of 7 samples is their range
    grep -q '^\*\*.*\.gguf\*\* (most bytes of its weights: [A-Z0-9_]*), tokens per second:$' table
    grep -qxF '| engine | cache | prefill 512, 1 thread | prefill 512, 2 threads | decode at 0, 1 thread | worst logit, prefill / decode |' table
    grep -qxF '| rml f32 | f16 | 249 | 500 | 100 | 0.023 / 0.021 |' table
    grep -qxF '| ik_llama.cpp | f16 | (333, wrong) |  |  | 23 |' table
    grep -q '^Medians of 7 blocks.*EPYC 9354.*rml 0.1.0, ik_llama.cpp 0.1.5' table
    printf 'before\n<!-- begin of bench/peers/tables -->\n<!-- end of bench/peers/tables -->\nafter\n' >text.md
    try "$peers/tables" --check text.md made.json
    [ "$status" -eq 1 ] && [[ $stderr == *'text.md: has other figures'* ]]
    "$peers/tables" --update text.md made.json
    "$peers/tables" --check text.md made.json
    [ "$(head -n 1 text.md) $(tail -n 1 text.md)" = 'before after' ] && grep -qF '| 249 |' text.md
    sed -i 's/249/250/' text.md
    try "$peers/tables" --check text.md made.json
    [ "$status" -eq 1 ]
    echo nothing >text.md
    try "$peers/tables" --check text.md made.json
    [ "$status" -eq 1 ] && [[ $stderr == *'text.md: expected one line'* ]]
    if command -v gnuplot >/dev/null; then
        "$peers/tables" --charts charts made.json >/dev/null
        grep -q '</svg>' charts/made.svg && grep -q wrong charts/made.svg
    fi
}

@test "the README's figures are those of the stored runs" {
    readme=$BATS_TEST_DIRNAME/../../../README.md
    "$peers/tables" >table
    grep -q '^| rml f32 |' table && grep -q '^| llama.cpp |' table && grep -q '^| ik_llama.cpp |' table
    # ik_llama.cpp's Q4_1 prefill is known to be wrong
    grep 'ik_llama.cpp' table | grep -q ', wrong)'
    grep -q 'begin of bench/peers/tables' "$readme" || skip 'the README has none'
    "$peers/tables" --check "$readme"
}
