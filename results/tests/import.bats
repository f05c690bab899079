#!/usr/bin/env bats
# rml-results import: files that llama-bench, Google Benchmark 1.7.1 and hyperfine 1.15.0 really
# wrote (results/tests/import, only paths shortened), and files that are wrong in one place.

load made_db

setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME RML_DB RML_CPU RML_THREADS
    files=$BATS_TEST_DIRNAME/import
}
teardown() { rm -rf "$HOME"; }

sql() { sqlite3 a.db "$1"; }

@test "llama-bench: json and jsonl give a result a record, with every repetition" {
    rml-results import llama-bench --db a.db "$files/llama-bench.json" >table # creates it
    [ "$(awk 'NR == 2 { print $3, $4 }' table)" = '2 imported' ]
    [ "$(sql "SELECT kind, state FROM run")" = 'import|complete' ]
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id = 1")" = 305736320,375244337,311397838 ]
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id = 2")" = 230592342,223007220,219603025 ]
    # medians picked by hand; 16 tokens in 311397838 ns
    [ "$(sql "SELECT median_ns, round(tokens_per_second, 4) FROM v_chart WHERE result_id = 1")" = '311397838.0|51.3812' ]
    [ "$(sql "SELECT suite, name, engine, threads, weight_dtype, k_dtype, v_dtype, n_prompt, n_gen, n_depth
        FROM bench_case WHERE id = 2")" = 'llama-bench|tg4|llama.cpp|1|Q4_1|f16|f16|0|4|0' ]
    [ "$(sql "SELECT DISTINCT engine_version FROM result")" = '0c1e570 (1)' ]
    [ "$(sql "SELECT value FROM counter WHERE metric = 'stddev_ns' ORDER BY id LIMIT 1")" = 38600079.0 ]
    [ "$(sql "SELECT cpu_model FROM host")" = 'Intel(R) Xeon(R) Processor' ]
    [ "$(sql "SELECT datetime(start_ns / 1000000000, 'unixepoch') FROM run")" = '2026-11-30 05:15:10' ]
    [ "$(sql "SELECT json_extract(params_json, '\$.n_ubatch'), json_extract(params_json, '\$.repack'),
        json_extract(params_json, '\$.model_filename') FROM bench_case LIMIT 1")" = '512|1|SmolLM2-135M-Instruct.Q4_1.gguf' ]
    rml-results import llama-bench --db a.db "$files/llama-bench.jsonl" >/dev/null
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id = 3")" = 339580662,335618421,340429032 ]
    rml-results check --db a.db
}

@test "llama-bench: csv and sql hold means; all four forms are the same cases" {
    for form in json jsonl csv sql; do
        rml-results import llama-bench --db a.db "$files/llama-bench.$form" >/dev/null
    done
    [ "$(sql 'SELECT count(*) FROM result')" -eq 8 ] && [ "$(sql 'SELECT count(*) FROM bench_case')" -eq 2 ]
    [ "$(sql 'SELECT count(*) FROM run')" -eq 4 ] && [ "$(sql 'SELECT count(*) FROM host')" -eq 1 ]
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id IN (5, 6)")" = 339013455,240982795 ]
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id IN (7, 8)")" = 350510433,212257831 ]
    [ "$(sql "SELECT value FROM counter WHERE result_id = 8 AND metric = 'stddev_ts'")" = 1.72089600000000007 ] ||
        [ "$(sql "SELECT value FROM counter WHERE result_id = 8 AND metric = 'stddev_ts'")" = 1.720896 ]
    [ "$(sql "SELECT count(*) FROM v_stat WHERE result_id >= 5 AND n_samples = 1 AND ci_lo_ns IS NULL")" -eq 4 ]
}

@test "the same file again, by any name, adds nothing" {
    for file in llama-bench.json gbench-repetitions.json hyperfine.json; do
        program=${file%%[.-]*}
        case $program in llama) program=llama-bench ;; gbench) program=google-benchmark ;; esac
        rml-results import $program --db a.db "$files/$file" >/dev/null
        counts a.db >before
        cp "$files/$file" copy
        rml-results import $program --db a.db --label x --this-host copy >table
        grep -q 'there already' table
        rml-results import $program --json --db a.db - <copy >out.json
        [ "$(json out.json "json_extract(d, '\$.files[0].results_added')")" = 0 ]
        diff before <(counts a.db)
        # also when it came in by way of another database
        rml-results import $program --db other.db copy >/dev/null
        rml-results merge --db a.db other.db >/dev/null
        [ "$(sql "SELECT count(*) FROM run")" -eq "$(awk '$1 == "run" { print $2 }' before)" ]
    done
}

@test "Google Benchmark: repetitions are samples, times and rates come back" {
    rml-results import google-benchmark --db a.db "$files/gbench-repetitions.json" >/dev/null
    [ "$(sql "SELECT count(*) FROM result")" -eq 4 ]
    # BM_sum/1000: real times 1821.2961171504746 1611.028594109587 1679.4228172456671 ns, 51689
    # iterations; 4000 bytes and 1000 items an iteration, by processor time
    [ "$(sql "SELECT n_samples, round(median_ns, 4), round(min_ns, 4) FROM v_stat WHERE result_id = 1")" = '3|1679.4228|1611.0286' ]
    [ "$(sql "SELECT bytes_per_iter, items_per_iter, iters_per_rep FROM result WHERE id = 1")" = '4000|1000|51689' ]
    [ "$(sql "SELECT cpu_ns FROM sample WHERE result_id = 1 AND rep = 0")" = 27805464 ] # 537.93774304010527 x 51689
    [ "$(sql "SELECT group_concat(value) FROM counter WHERE result_id = 1 AND metric = 'width'")" = 4.0,4.0,4.0 ]
    [ "$(sql "SELECT status, error FROM result WHERE id = 3")" = 'error|no "such" thing' ]
    [ "$(sql "SELECT count(*) FROM sample WHERE result_id = 3")" -eq 0 ]
    # milliseconds, two threads: 6.917262815740651e-07 ms is 0.6917 ns
    [ "$(sql "SELECT round(median_ns, 4) FROM v_stat WHERE result_id = 4")" = 0.6917 ]
    [ "$(sql "SELECT c.threads, c.engine FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id WHERE r.id = 4")" = '2|bm_sum' ]
    [ "$(sql "SELECT hostname, threads FROM host")" = 'vm|2' ]
    [ "$(sql "SELECT value FROM run_env WHERE key = 'library_build_type'")" = debug ]
    [ "$(sql "SELECT datetime(start_ns / 1000000000, 'unixepoch') FROM run")" = '2026-11-30 05:32:52' ]
}

@test "Google Benchmark: single repetitions, and aggregates alone" {
    rml-results import google-benchmark --db a.db "$files/gbench.json" >/dev/null
    [ "$(sql "SELECT round(median_ns, 3) FROM v_stat WHERE result_id = 1")" = 1957.107 ]
    rml-results import google-benchmark --db b.db "$files/gbench-aggregates.json" >/dev/null
    [ "$(sqlite3 b.db "SELECT round(median_ns, 4), n_samples FROM v_stat WHERE result_id = 1")" = '1657.3936|1' ]
    [ "$(sqlite3 b.db "SELECT round(value, 3) FROM counter WHERE result_id = 1 AND metric = 'mean_ns'")" = 1882.287 ]
    [ "$(sqlite3 b.db "SELECT round(value, 5) FROM counter WHERE result_id = 1 AND metric = 'cv'")" = 0.2229 ]
    [ "$(sqlite3 b.db "SELECT round(median_ns, 4) FROM v_stat WHERE result_id = 4")" = 0.8331 ]
}

@test "hyperfine: a command is a result, a failed one an error" {
    rml-results import hyperfine --db a.db --host-name lab-1 "$files/hyperfine.json" "$files/hyperfine-failed.json" >table
    [ "$(grep -c imported table)" -eq 2 ]
    [ "$(sql "SELECT name, n_samples, median_ns FROM v_chart WHERE result_id = 1")" = 'true|4|4995220.0' ]
    [ "$(sql "SELECT group_concat(wall_ns) FROM sample WHERE result_id = 2")" = 11432303,11299145,11324073,11310582 ]
    [ "$(sql "SELECT status, error FROM result WHERE id = 4")" = 'error|exit code 2 in run 1' ]
    [ "$(sql "SELECT params_json FROM bench_case AS c JOIN result AS r ON r.bench_case_id = c.id WHERE r.id = 4")" = '{"n":"2"}' ]
    [ "$(sql "SELECT DISTINCT hostname FROM host")" = lab-1 ] && [ "$(sql "SELECT count(*) FROM host")" -eq 1 ]
}

@test "machines: unnamed ones are never taken for one, --this-host is ours" {
    rml-results import hyperfine --db a.db "$files/hyperfine.json" >/dev/null
    rml-results import hyperfine --db a.db "$files/hyperfine-failed.json" >/dev/null
    [ "$(sql "SELECT count(*) FROM host")" -eq 2 ]
    rml-results import llama-bench --db a.db --this-host --label peer "$files/llama-bench.csv" >/dev/null
    made_db_template
    [ "$(sql "SELECT h.fingerprint FROM run AS u JOIN host AS h ON h.id = u.host_id WHERE u.label = 'peer'")" = \
        "$(sqlite3 "$BATS_FILE_TMPDIR/template.db" 'SELECT fingerprint FROM host')" ]
}

# refused PROGRAM TEXT: exit 1, one line with TEXT in it, and no database made for it
refused() {
    try rml-results import "$1" --db none.db bad
    echo "$1: status $status: $stderr"
    [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [ ! -e none.db ]
    [[ $stderr == "rml-results: bad: "*"$2"* ]]
}

@test "llama-bench: columns more, columns less" {
    sed 's/"poll": 50,/"poll": 50, "brand_new": {"a": [1.5]},/' "$files/llama-bench.jsonl" >more
    rml-results import llama-bench --db a.db more >/dev/null
    [ "$(sql "SELECT json_extract(params_json, '\$.brand_new') FROM bench_case LIMIT 1")" = '{"a":[1.5]}' ]
    # an old one, without depth and newer settings
    sed 's/"n_depth": 0, //; s/"fit_target": 0, //' "$files/llama-bench.jsonl" >old
    rml-results import llama-bench --db a.db old >/dev/null
    [ "$(sql "SELECT count(*) FROM result")" -eq 4 ]
    for column in model_type n_threads n_prompt n_gen avg_ns; do
        sed "1 s/\"$column\": [^,]*, //" "$files/llama-bench.jsonl" >bad
        refused llama-bench "record 1: no column $column found"
    done
}

@test "llama-bench: numbers that cannot be are refused with their place" {
    line=$(head -n 1 "$files/llama-bench.jsonl")
    for change in 's/"avg_ns": [0-9]*/"avg_ns": -5/#record 1, column avg_ns: -5 found, expected' \
        's/"avg_ns": [0-9]*/"avg_ns": 0/#record 1, column avg_ns: 0 ns found' \
        's/"avg_ns": [0-9]*/"avg_ns": 1e300/#record 1, column avg_ns: 1e+300 ns found' \
        's/"avg_ns": [0-9]*/"avg_ns": "nan"/#record 1, column avg_ns: "nan" found' \
        's/"avg_ns": [0-9]*/"avg_ns": 338542/#avg_ns is 338542, but the mean of samples_ns is 338542705' \
        's/"avg_ts": [0-9.]*/"avg_ts": nan/#line 1:' \
        's/"stddev_ts": [0-9.]*/"stddev_ts": "inf"/#record 1, column stddev_ts: "inf" found' \
        's/"samples_ns": \[ [0-9]*/"samples_ns": [ 0/#record 1, samples_ns[0]: 0 ns found' \
        's/"samples_ns": \[ [0-9]*/"samples_ns": [ 1.5/#record 1, samples_ns[0]: no whole number' \
        's/"samples_ns": [^]]*\]/"samples_ns": []/#record 1, column samples_ns: [] found' \
        's/"n_threads": 1/"n_threads": 0/#record 1, column n_threads: 0 found' \
        's/"n_prompt": 16/"n_prompt": 0/#n_prompt + n_gen of at least 1' \
        's/"n_prompt": 16/"n_prompt": 16.5/#record 1, column n_prompt: 16.5 found' \
        's/"test_time": "[^"]*"/"test_time": "today"/#record 1, column test_time: "today" found' \
        's/"n_gen": 0/"n_gen": 0, "n_gen": 1/#line 1: duplicate object key'; do
        sed "${change%%#*}" <<<"$line" >bad
        refused llama-bench "${change#*#}"
    done
    { head -n 1 "$files/llama-bench.jsonl" && sed -n '2 s/Intel/Other/p' "$files/llama-bench.jsonl"; } >bad
    refused llama-bench 'record 2, column cpu_info'
}

@test "llama-bench: torn and foreign files" {
    : >bad && refused llama-bench 'the file is empty'
    echo 'hello' >bad && refused llama-bench 'neither JSON, JSON Lines, CSV nor SQL'
    head -c 700 "$files/llama-bench.json" >bad && refused llama-bench 'line'
    head -c 1500 "$files/llama-bench.jsonl" >bad && refused llama-bench 'line 2:'
    echo '[]' >bad && refused llama-bench 'no record found'
    echo '[1]' >bad && refused llama-bench 'record 1 is no JSON object'
    echo '| model | t/s |' >bad && refused llama-bench 'a Markdown table found'
    head -n 1 "$files/llama-bench.csv" >bad && refused llama-bench 'no record found'
    { head -n 1 "$files/llama-bench.csv" && echo '"a","b"'; } >bad
    refused llama-bench 'line 2: 2 fields found, expected 42'
    { head -n 1 "$files/llama-bench.csv" && echo '"a'; } >bad && refused llama-bench 'line 2: a quote that is not closed'
    sed '1 s/build_number/build_commit/' "$files/llama-bench.csv" >bad
    refused llama-bench "line 1: column 'build_commit' is there twice"
    sed '2 s/"339013455"/"inf"/' "$files/llama-bench.csv" >bad && refused llama-bench 'column avg_ns: "inf" found'
    # CR LF, no line end at the end, a comma and a doubled quote inside a field
    sed 's/$/\r/; s/"Intel(R) Xeon(R) Processor"/"Intel, ""x"""/' "$files/llama-bench.csv" | head -c -2 >crlf
    rml-results import llama-bench --db a.db crlf >/dev/null
    [ "$(sql "SELECT cpu_model FROM host")" = 'Intel, "x"' ]
    try rml-results import llama-bench --db none.db missing
    [ "$status" -eq 1 ] && [[ $stderr == *'missing: cannot be opened'* ]]
    try rml-results import nosuch --db none.db "$files/llama-bench.csv"
    [ "$status" -eq 2 ]
    try rml-results import llama-bench --db none.db
    [ "$status" -eq 2 ]
}

@test "llama-bench: SQL may fill its table and do nothing else" {
    for attack in "ATTACH 'evil.db' AS e" "CREATE TABLE other(a)" "SELECT load_extension('x')" \
        "INSERT INTO llama_bench(n_gen) SELECT count(*) FROM sqlite_schema" "PRAGMA writable_schema = 1" \
        "CREATE TRIGGER t AFTER INSERT ON llama_bench BEGIN DELETE FROM llama_bench; END" \
        "INSERT INTO llama_bench(n_gen) VALUES (zeroblob(1000000000))" "DROP TABLE llama_bench" \
        "CREATE VIEW v AS SELECT 1" "VACUUM INTO 'evil.db'" "UPDATE llama_bench SET n_gen = 1"; do
        { cat "$files/llama-bench.sql" && echo "$attack;"; } >bad
        refused llama-bench 'SQL: '
        [ ! -e evil.db ]
    done
    { cat "$files/llama-bench.sql" && echo 'INSERT INTO llama_bench VALUES (1;'; } >bad
    refused llama-bench 'SQL: near'
    echo "INSERT INTO llama_bench VALUES (1);" >bad && refused llama-bench 'SQL: no such table'
    # two outputs one after the other are one file
    cat "$files/llama-bench.sql" "$files/llama-bench.sql" >twice
    rml-results import llama-bench --db a.db twice >/dev/null
    [ "$(sql 'SELECT count(*) FROM result')" -eq 4 ]
}

@test "Google Benchmark and hyperfine: what is wrong is named" {
    echo '{"context": {}}' >bad && refused google-benchmark 'no members context and benchmarks'
    sed 's/"time_unit": "ns"/"time_unit": "days"/' "$files/gbench.json" >bad
    refused google-benchmark 'benchmarks[0]: member time_unit, expected ns, us, ms or s'
    sed 's/"real_time": 1.9571069814205055e+03/"real_time": 0/' "$files/gbench.json" >bad
    refused google-benchmark 'benchmarks[0].real_time: 0 ns found'
    sed 's/"real_time": 1.9571069814205055e+03/"real_time": inf/' "$files/gbench.json" >bad
    refused google-benchmark 'line'
    sed 's/"iterations": 52439/"iterations": 0/' "$files/gbench.json" >bad
    refused google-benchmark 'benchmarks[0]: member iterations'
    echo '{"context": {}, "benchmarks": []}' >bad && refused google-benchmark 'no benchmark found'
    cp "$files/hyperfine.json" bad && refused google-benchmark 'no members context'
    cp "$files/gbench.json" bad && refused hyperfine 'no member results'
    sed 's/0.000890286,$/-1,/' "$files/hyperfine.json" >bad && refused hyperfine 'results[0].times[2]: -1e+09 ns found'
    sed 's/"command"/"order"/' "$files/hyperfine.json" >bad && refused hyperfine 'results[0]: no text `command`'
    sed 's/"times"/"tunes"/' "$files/hyperfine.json" >bad && refused hyperfine 'results[0]: no array `times`'
}
