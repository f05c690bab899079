#!/usr/bin/env bats
# The suites of rml-bench on small checkpoints: what their rows say.

setup() {
    FIXTURES=$RML_SOURCE_DIR/goldens/fixtures
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
    unset XDG_DATA_HOME XDG_CACHE_HOME RML_DB RML_CPU RML_THREADS
}

teardown() { rm -rf "$HOME"; }

try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}
# rows FILE EXPRESSION: over each row `r`, one a line.
rows() {
    sqlite3 :memory: "SELECT $2 FROM (SELECT value AS r FROM json_each(CAST(readfile('$1') AS TEXT), '\$.rows'))"
}
get() { echo "json_extract(r, '\$.$1')"; }
query() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }

@test "decoder: a checkpoint by its hash, several sequences, lists of lengths" {
    rml-bench decoder "$FIXTURES/llama-q8_0/model.gguf" --json --db d.db -t 1 --prompt 3,5 --gen 2 --depth 0,4 \
        --batch 1,3 >out.json
    [ "$(rows out.json 1 | wc -l)" -eq 8 ]
    [ "$(rows out.json "$(get model) = 'model.gguf' AND $(get weight_dtype) = 'Q8_0' AND $(get arithmetic) = 'i8'" | sort -u)" = 1 ]
    sha=$(sha256sum "$FIXTURES/llama-q8_0/model.gguf" | cut -d ' ' -f 1)
    [ "$(rows out.json "$(get case_key) LIKE '%model=$sha%'" | sort -u)" = 1 ]
    [ "$(query d.db "SELECT content_sha256 || arch FROM model")" = "${sha}llama" ]
    [ "$(query d.db "SELECT count(*) FROM bench_case WHERE model_id = 1")" -eq 8 ]
    # rows of a sequence times sequences
    [ "$(rows out.json "round($(get tokens_per_second) * $(get median_ns) / 1e9)" | tr '\n' ' ')" = \
        '3.0 5.0 1.0 1.0 9.0 15.0 3.0 3.0 ' ]
    [ "$(rows out.json "$(get ttft_ns) IS NOT NULL" | tr '\n' ' ')" = '1 1 0 0 1 1 0 0 ' ]
    # the model is trained for 512 positions
    rml-bench decoder "$FIXTURES/llama-q8_0/model.gguf" --plan --depth 100000 --prompt 0 -t 1 | grep -q 'but the model is trained for'
    try rml-bench decoder "$FIXTURES/llama-q8_0/model.gguf" --weights q8_0
    [ "$status" -eq 2 ]
    [[ $stderr == *'a CHECKPOINT has its own'* ]]
    try rml-bench decoder nosuch.gguf --json
    [ "$status" -eq 1 ]
    [[ $output == *'"code": "not-found"'* ]]
}

@test "load: cold and warm give the logits of the same prefill" {
    cp "$FIXTURES/llama-q8_0/model.gguf" m.gguf
    rml-bench load m.gguf --json --no-db -t 1 --prompt 6 >load.json 2>err
    rml-bench decoder m.gguf --json --no-db -t 1 --prompt 6 --gen 0 >decoder.json
    [ "$(rows load.json "$(get name)" | tr '\n' ' ')" = 'checkpoint/warm checkpoint/cold ' ]
    [ "$(rows load.json "$(get output_sha256)" | grep -v '^$' | sort -u)" = "$(rows decoder.json "$(get output_sha256)")" ]
    [ "$(rows load.json "$(get ttft_ns) = $(get median_ns)" | head -n 1)" = 1 ]
    # a file system in memory cannot be cold, and that is said
    if [ "$(stat -f -c %T m.gguf)" = tmpfs ]; then
        grep -q 'skipped: .*cannot be cold' err
    else
        [ "$(rows load.json "$(get iters_per_rep)" | tail -n 1)" = 1 ]
    fi
    try rml-bench load
    [ "$status" -eq 2 ]
    try rml-bench load m.gguf --state hot
    [[ $status -eq 2 && $stderr == *"--state: 'hot' found"* ]]
}

@test "tokenizer: ids and bytes are those of rml-tokenize, for any number of threads" {
    printf 'The quick brown fox, 12345 times: caf\303\251 \360\237\230\200\n' >text
    rml-bench tokenizer "$FIXTURES/llama-text/hf-text" --text text --db t.db -t 1 >table
    rml-results history "$(awk 'NR == 2 { print $1 }' table)" --db t.db | grep -q ' tokenizer/encode '
    rml-bench tokenizer "$FIXTURES/llama-text/hf-text" --text text --json --no-db -t 1 >out.json
    rml-tokenize --no-special "$FIXTURES/llama-text/hf-text" <text >ids
    ids=$(for id in $(<ids); do printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((id & 255)) $((id >> 8 & 255)) $((id >> 16 & 255)) $((id >> 24)); done)
    # shellcheck disable=SC2059 # bytes
    [ "$(rows out.json "$(get output_sha256)" | head -n 1)" = "$(printf "$ids" | sha256sum | cut -d ' ' -f 1)" ]
    [ "$(rows out.json "$(get output_sha256)" | tail -n 1)" = "$(sha256sum <text | cut -d ' ' -f 1)" ]
    rml-bench tokenizer "$FIXTURES/llama-text/hf-text/tokenizer.json" --size 20000 --json --no-db -t 1,2,3 >out.json
    [ "$(rows out.json "$(get name) || $(get output_sha256)" | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = '3 3 ' ]
    [ "$(rows out.json "$(get isa) IS NULL AND $(get kv_bytes) IS NULL AND round($(get bytes_per_second) * $(get median_ns) / 1e9) BETWEEN 19997 AND 20000" | sort -u)" = 1 ]
    # the run knows its checkpoint where its hash is known; the case is the tokenizer's, which others may have
    model=$FIXTURES/llama-text/model.gguf
    rml-bench tokenizer "$model" --text text --db m.db -t 1 >/dev/null
    [ "$(query m.db 'SELECT count(*) FROM run_model')" -eq 0 ]
    rml-inspect --verify "$model" >/dev/null
    rml-bench tokenizer "$model" --text text --db m.db -t 1 >/dev/null
    [ "$(query m.db 'SELECT run_id || content_sha256 FROM run_model JOIN model ON model.id = model_id')" = \
        "2$(sha256sum <"$model" | cut -d ' ' -f 1)" ]
    [ "$(query m.db "SELECT count(*) || ' ' || count(model_id) FROM bench_case")" = '2 0' ]
    rml-results list --db m.db --limit 1 | grep -q '  tokenizer model.gguf  '
    try rml-bench tokenizer "$FIXTURES/llama-text/hf-text" --text text --size 5
    [ "$status" -eq 2 ]
    : >empty
    try rml-bench tokenizer "$FIXTURES/llama-text/hf-text" --text empty
    [[ $status -eq 1 && $stderr == *'empty: an empty text has no time'* ]]
}

@test "attention: blocks of rows, shapes of one's own, and what cannot be a layer" {
    rml-bench attention --json --no-db --shape gemma-3-1b,6:2:32,5:2:64 --kv f16:i8 --depth 10 --prefill 70 -t 1,2 \
        >out.json 2>err
    [ "$(rows out.json "$(get status) = 'skipped'" | tr '\n' ' ')" = '0 0 0 0 0 0 0 0 1 1 1 1 ' ]
    grep -q '5:2:64.* and 3 more: 5 query heads are no multiple of 2 key-value heads' err
    # the output is the same for any number of threads
    [ "$(rows out.json "$(get output_sha256)" | grep -v '^$' | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = '2 2 2 2 ' ]
    # keys seen by 70 rows behind 10: 70 x 10 + 70 x 71 / 2 = 3185; 4 x heads x dimensions each
    [ "$(rows out.json "$(get name) || ' ' || round($(get flops_per_second) * $(get median_ns) / 1e9)" | grep -m 1 prefill)" = \
        "gemma-3-1b/prefill $((4 * 4 * 256 * 3185)).0" ]
}

@test "--profile: what each operation takes; the numbers stay the same" {
    words=(decoder "$FIXTURES/llama/model.gguf" --prompt 4 --gen 2 --depth 3 -t 2 --json)
    rml-bench "${words[@]}" --no-db >plain.json
    rml-bench "${words[@]}" --db p.db --profile >profile.json
    [ "$(rows plain.json "$(get output_sha256)")" = "$(rows profile.json "$(get output_sha256)")" ]
    [ "$(rows plain.json "$(get profile_ns) IS NULL" | sort -u)" = 1 ]
    [ "$(rows profile.json "(SELECT group_concat(key) FROM json_each(r, '\$.profile_ns'))" | sort -u)" = \
        embed,norm,qkv,rope_store,attention,attention_out,gate_up,activation,down,head,other ]
    [ "$(query p.db "SELECT count(*) FROM counter WHERE metric LIKE 'profile.%.wall_ns' AND value > 0 AND rep = -1")" -eq 22 ]
    rml-results list --db p.db | grep -q ' decoder model.gguf ' 
    rml-bench decoder "$FIXTURES/olmoe/model.gguf" --prompt 4 --gen 0 -t 1 --no-db --profile >table
    grep -q '^route ' table
    grep -q '^combine ' table
    try rml-bench attention --profile
    [ "$status" -eq 2 ]
}
