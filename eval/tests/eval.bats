#!/usr/bin/env bats
# rml-eval as users and scripts see it. Expected numbers are lm-eval's and transformers' (see
# make/); tests of known defects of other programs are named after them.

setup() {
    E=$RML_SOURCE_DIR/eval/tests/expected
    TOYS=$RML_SOURCE_DIR/goldens/fixtures
    TOY=$TOYS/llama-text/hf-text
    FOLDER=$(mktemp -d)
    cd "$FOLDER" || return
    export XDG_CACHE_HOME=$FOLDER/cache RML_DB=$FOLDER/eval.db
    unset RML_CPU RML_THREADS
    echo null | tee a.json >b.json
}

teardown() { rm -rf "$FOLDER"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

# sql EXPRESSION: over the documents `a` and `b` (files a.json, b.json)
sql() {
    sqlite3 :memory: "CREATE TABLE f AS SELECT json(CAST(readfile('a.json') AS TEXT)) AS a,
      json(CAST(readfile('b.json') AS TEXT)) AS b; SELECT $1 FROM f"
}
query() { sqlite3 -cmd '.timeout 10000' "$RML_DB" "$1"; }
# lines FILE: an array of the lines of JSON in it
lines() { printf '['; paste -sd, "$1"; printf ']'; }

questions() { head -n "$1" "$E/questions.jsonl"; }

@test "perplexity by each protocol is that of a float64 forward pass" {
    cp "$E/perplexity.json" b.json
    while IFS='|' read -r name options; do
        # shellcheck disable=SC2086 # words
        rml-eval perplexity "$TOY" "$E/text.txt" --no-db --json $options >a.json
        [ "$(sql "abs(a->>'nll_sum' - (b->'$name'->>'nll_sum')) < 1e-6 * (a->>'nll_sum')")" = 1 ]
        [ "$(sql "a->>'n_scored' = b->'$name'->>'n_scored'")" = 1 ]
        if [[ $name == lm-eval* ]]; then
            for figure in word_perplexity byte_perplexity bits_per_byte; do
                [ "$(sql "abs(a->>'$figure' / (b->'$name'->>'$figure') - 1) < 1e-5")" = 1 ]
            done
        fi
    done <<'END'
"llama.cpp 128"|--ctx 128
"llama.cpp 65"|--ctx 65 --threads 3
"hf-stride 128 64"|--protocol hf-stride --ctx 128
"hf-stride 100 33"|--protocol hf-stride --ctx 100 --stride 33
"lm-eval 128"|--protocol lm-eval --ctx 128
"lm-eval 100 double-bos"|--protocol lm-eval --ctx 100 --compat double-bos
END
}

@test "log-likelihoods, picks and greedy flags of 512 items are lm-eval's" {
    rml-eval choices "$TOY" "$E/questions.jsonl" --no-db --items items.jsonl -q >/dev/null
    lines items.jsonl >a.json
    cp "$E/llama-text.json" b.json
    [ "$(sql "json_array_length(a)")" -eq 512 ]
    [ "$(sql "(SELECT max(abs(x.value - y.value)) < 1e-3 FROM json_each(a) AS i,
        json_each(i.value, '\$.loglik') AS x,
        json_each(b, '\$.loglik[' || i.key || ']') AS y WHERE x.key = y.key)")" = 1 ]
    [ "$(sql "(SELECT count(*) FROM json_each(a) AS i
        WHERE i.value->>'greedy' = (b->'greedy'->>i.key))")" -eq 512 ]
    # the first of the greatest
    [ "$(sql "(SELECT count(*) FROM json_each(a) AS i WHERE i.value->>'pick' = (SELECT y.key
        FROM json_each(b, '\$.loglik[' || i.key || ']') AS y ORDER BY y.value DESC, y.key LIMIT 1))")" \
        -eq 512 ]
}

@test "rolling log-likelihoods of documents are lm-eval's" {
    sqlite3 :memory: "CREATE TABLE line AS SELECT key AS n, value AS item FROM json_each(
        (SELECT '[' || replace(trim(CAST(readfile('$E/questions.jsonl') AS TEXT), char(10)),
            char(10), ',') || ']'));
      SELECT json_object('text', group_concat(item->>'context' || ' ' ||
        (item->'choices'->>(item->>'gold')) || char(10), ''))
      FROM (SELECT * FROM line WHERE n < 40 ORDER BY n) GROUP BY n / 10" >docs.jsonl
    rml-eval perplexity "$TOY" docs.jsonl --documents jsonl --protocol lm-eval --no-db --json \
        --compat double-bos >a.json
    cp "$E/llama-text.json" b.json
    [ "$(sql "json_array_length(a->'documents')")" -eq 4 ]
    [ "$(sql "(SELECT max(abs(d.value->>'nll_sum' + (b->'rolling'->>d.key))) < 0.05
        FROM json_each(a, '\$.documents') AS d)")" = 1 ]
}

@test "cached results of model A returned for model B" {
    questions 5 >q.jsonl
    rml-eval choices "$TOY" q.jsonl -q >/dev/null
    rml-eval choices "$TOYS/llama-text/model.gguf" q.jsonl -q >/dev/null
    [ "$(query "SELECT count(*), count(DISTINCT request_sha256) FROM eval_item")" = "40|40" ]
    rml-eval choices "$TOY" q.jsonl --kv f16 -q >/dev/null
    RML_CPU=ref rml-eval choices "$TOY" q.jsonl -q >/dev/null
    [ "$(query "SELECT count(*), count(DISTINCT request_sha256) FROM eval_item")" = "80|80" ]
}

@test "prompt edited, stale cache reused" {
    echo '{"context": "one two", "choices": ["three", "four"], "gold": 0}' >q.jsonl
    rml-eval choices "$TOY" q.jsonl -q >/dev/null
    echo '{"context": "One two", "choices": ["three", "four"], "gold": 0}' >q.jsonl
    rml-eval choices "$TOY" q.jsonl -q >/dev/null
    [ "$(query "SELECT count(DISTINCT request_sha256), count(DISTINCT loglik) FROM eval_item")" = "4|4" ]
}

@test "a rerun, also with other threads, computes nothing and gives the same bits" {
    questions 20 >q.jsonl
    rml-eval choices "$TOY" q.jsonl --items first.jsonl -q >first.txt
    try rml-eval choices "$TOY" q.jsonl --threads 1 --items second.jsonl -v
    [[ $stderr == *"80 scores were there already, 0 are new"* ]]
    cmp first.jsonl second.jsonl
    cmp first.txt stdout.txt
    try rml-eval choices "$TOY" q.jsonl --fresh --threads 3 --items third.jsonl -v
    [[ $stderr != *"were there already"* ]]
    cmp first.jsonl third.jsonl
}

@test "shards are disjoint, and merged databases give the same totals" {
    questions 30 >q.jsonl
    rml-eval choices "$TOY" q.jsonl --no-db --json -q >whole.json
    for i in 1 2 3; do
        rml-eval choices "$TOY" q.jsonl --shard $i/3 --db $i.db -q >/dev/null
        [ "$(sqlite3 $i.db "SELECT count(*) FROM eval_item")" -eq 40 ]
    done
    rml-results merge 1.db 2.db 3.db --db merged.db -q >/dev/null
    try rml-eval choices "$TOY" q.jsonl --db merged.db --json -v
    [[ $stderr == *"120 scores were there already, 0 are new"* ]]
    cmp whole.json stdout.txt
    # and windows of a text
    rml-eval perplexity "$TOY" "$E/text.txt" --ctx 64 --no-db --json -q >whole.json
    for i in 1 2; do
        rml-eval perplexity "$TOY" "$E/text.txt" --ctx 64 --shard $i/2 --db t$i.db -q >/dev/null
    done
    rml-results merge t1.db t2.db --db text.db -q >/dev/null
    rml-eval perplexity "$TOY" "$E/text.txt" --ctx 64 --db text.db --json -q >again.json
    cmp whole.json again.json
}

@test "limit silently takes the head" {
    questions 100 >q.jsonl
    ids() { sqlite3 :memory: "SELECT group_concat(value->>'id') FROM json_each('$(lines "$1")')"; }
    rml-eval choices "$TOY" q.jsonl --no-db --limit 8 --items a.jsonl -q >/dev/null
    rml-eval choices "$TOY" q.jsonl --no-db --limit 8 --items b.jsonl --threads 1 -q >/dev/null
    rml-eval choices "$TOY" q.jsonl --no-db --limit 8 --seed 1 --items c.jsonl -q >/dev/null
    rml-eval choices "$TOY" q.jsonl --no-db --limit 8 --head --items d.jsonl -q >/dev/null
    cmp a.jsonl b.jsonl
    [ "$(ids a.jsonl)" != "$(ids c.jsonl)" ]
    [ "$(ids a.jsonl)" != 1,2,3,4,5,6,7,8 ]
    [ "$(ids d.jsonl)" = 1,2,3,4,5,6,7,8 ]
}

@test "token at the context/continuation boundary crashes the run" {
    # "u" is one token and so is "user": nothing is left of the continuation
    printf '%s\n' '{"context": "u", "continuation": "ser"}' '{"context": "a", "continuation": "b"}' >p.jsonl
    [ "$(rml-tokenize "$TOY" u | wc -w)" -eq "$(rml-tokenize "$TOY" user | wc -w)" ]
    try rml-eval loglik "$TOY" p.jsonl --no-db --json
    [ "$status" -eq 0 ]
    [[ $stderr == *"p.jsonl: line 1: choice 0: a token spans the end of the context"* ]]
    cp stdout.txt a.json
    [ "$(sql "a->>'n_reencoded' = 1 AND a->>'n' = 2 AND a->'items'->0->>'n_tokens' > 0")" = 1 ]
    try rml-eval loglik "$TOY" p.jsonl --no-db --json --boundary skip
    cp stdout.txt a.json
    [ "$(sql "a->>'n_skipped' = 1 AND a->'items'->0->>'skipped' = 'boundary'")" = 1 ]
    try rml-eval loglik "$TOY" p.jsonl --no-db --boundary error
    [ "$status" -eq 1 ]
    [[ $stderr == *"p.jsonl: line 1: choice 0: a token spans the end of the context"* ]]
}

@test "left truncation silently eats the question" {
    questions 6 >q.jsonl
    try rml-eval choices "$TOY" q.jsonl --no-db --ctx 60 --json --items items.jsonl
    cp stdout.txt a.json
    n=$(sql "a->>'n_truncated'")
    [ "$n" -gt 0 ]
    lines items.jsonl >a.json
    [ "$(sql "(SELECT count(*) FROM json_each(a) WHERE value->>'truncated' > 0)")" -eq "$n" ]
    try rml-eval choices "$TOY" q.jsonl --no-db --ctx 60 --overlong skip --json
    cp stdout.txt a.json
    [ "$(sql "a->>'n_skipped' = $n AND a->>'n' = 6 - $n")" = 1 ]
    try rml-eval choices "$TOY" q.jsonl --no-db --ctx 60 --overlong error
    [ "$status" -eq 1 ]
    [[ $stderr == *"q.jsonl: line "*"expected at most 61"* ]]
}

@test "BOS doubled, dropped, or replaced" {
    n_tokens() { rml-eval perplexity "$TOY" "$1" --protocol hf-stride --no-db --json >a.json && sql "a->>'n_tokens'"; }
    printf 'toy text' >plain.txt
    printf '<s>toy text' >bos.txt
    n=$(rml-tokenize "$TOY" --no-special 'toy text' | wc -w)
    [ "$(n_tokens plain.txt)" -eq $((n + 1)) ]
    [ "$(n_tokens bos.txt)" -eq $((n + 1)) ]
    echo '{"context": "<s>toy", "continuation": " text"}' >p.jsonl
    rml-eval loglik "$TOY" p.jsonl -q >/dev/null
    [ "$(query "SELECT hex(substr(token_ids, 1, 4)) FROM eval_item")" = 00000000 ]
    [ "$(query "SELECT hex(substr(token_ids, 5, 4)) = '00000000' FROM eval_item")" = 0 ]
}

@test "NaN logits scored as choice 0 or always 2" {
    cp -r "$TOY" nan
    # the last tensors are model.layers.1.self_attn.v_proj.weight and model.norm.weight, in bfloat16
    size=$(stat -c %s nan/model.safetensors)
    printf '\xc0\x7f' | dd of=nan/model.safetensors bs=1 seek=$((size - 64 - 2)) conv=notrunc status=none
    questions 2 >q.jsonl
    try rml-eval choices nan q.jsonl --json
    [ "$status" -eq 1 ]
    [[ $stderr == *"item '"*"position "*"is NaN, expected a finite number (first after layer 1, attention"* ]]
    [[ $output == *'"error"'* ]]
    [ "$(query "SELECT count(*) FROM eval_item")" -eq 0 ]
    try rml-eval perplexity nan "$E/text.txt" --ctx 64
    [ "$status" -eq 1 ]
    try rml-eval kld "$TOY" nan "$E/text.txt" --ctx 64
    [ "$status" -eq 1 ]
    [[ $stderr == *"is NaN"* ]]
}

@test "stride mode that prints no final value; n=1 or zero variance divides by 0" {
    printf 'toy text' >short.txt
    rml-eval perplexity "$TOY" short.txt --protocol hf-stride --no-db >out.txt
    grep -q '^perplexity  *[0-9]' out.txt
    rml-eval perplexity "$TOY" short.txt --protocol hf-stride --no-db --json >a.json
    [ "$(sql "a->>'ppl' > 1 AND json_type(a, '\$.ppl_stderr') = 'null'")" = 1 ]
    echo '{"context": "a", "choices": ["b"], "gold": 0}' >q.jsonl
    rml-eval choices "$TOY" q.jsonl --no-db --json >a.json
    [ "$(sql "a->>'acc' = 1 AND json_type(a, '\$.acc_stderr') = 'null'")" = 1 ]
    rml-eval kld "$TOY" "$TOY" "$E/text.txt" --ctx 1024 --no-db --json >a.json
    [ "$(sql "a->>'kld_mean' = 0 AND json_type(a, '\$.kld_stderr') IN ('null', 'real')")" = 1 ]
}

@test "last line without newline dropped" {
    questions 2 | head -c -1 >q.jsonl
    rml-eval choices "$TOY" q.jsonl --no-db --json >a.json
    [ "$(sql "a->>'n'")" -eq 2 ]
    printf 'one line\nand another' >t.txt
    rml-eval perplexity "$TOY" t.txt --documents lines --protocol lm-eval --no-db --json >a.json
    [ "$(sql "a->'documents'->1->>'id' || ' ' || (a->>'n_scored' = a->>'n_tokens')")" = "t.txt:2 1" ]
}

@test "a run killed after 10 hours starts from zero" {
    # every commit is whole: killed at any moment, what is there is reused and nothing is double
    rml-eval choices "$TOY" "$E/questions.jsonl" --no-db --items whole.jsonl -q >/dev/null
    for delay in 0.05 0.2 0.4 0.6 0.9; do
        rml-eval choices "$TOY" "$E/questions.jsonl" --threads 1 -q >/dev/null 2>&1 3>&- &
        sleep $delay
        kill -KILL $! 2>/dev/null || true
        wait $! 2>/dev/null || true
    done
    kept=$(query "SELECT count(DISTINCT request_sha256) FROM eval_item" || echo 0)
    try rml-eval choices "$TOY" "$E/questions.jsonl" --items again.jsonl -v
    [ "$status" -eq 0 ]
    cmp whole.jsonl again.jsonl
    [ "$kept" -eq 0 ] || [[ $stderr == *"scores were there already"* ]]
    [ "$(query "SELECT count(*) FROM eval_item WHERE run_id = (SELECT max(id) FROM run)")" -eq 2048 ]
    [ "$(query "SELECT count(*) FROM (SELECT 1 FROM eval_item GROUP BY request_sha256
        HAVING count(DISTINCT loglik) > 1)")" -eq 0 ]
}

@test "results written only after all tasks end; write errors swallowed" {
    questions 2 >q.jsonl
    try rml-eval choices "$TOY" q.jsonl --items /dev/full
    [ "$status" -eq 1 ]
    [[ $stderr == *"/dev/full"* ]]
    # the scores were kept before
    [ "$(query "SELECT count(*) FROM eval_item")" -eq 8 ]
    [ "$(query "SELECT state FROM run")" = failed ]
    try rml-eval choices "$TOY" q.jsonl --db /nowhere/x.db
    [ "$status" -eq 1 ]
}

@test "KL divergence from llama.cpp's file is that of the formula" {
    rml-eval kld "$E/llama_cpp.base" "$TOY" --no-db --json >a.json
    cp "$E/perplexity.json" b.json
    for key in kld_mean kld_max kld_median kld_p90 same_top dp_mean dp_rms ln_ppl_ratio correlation; do
        [ "$(sql "abs(a->>'$key' - (b->'kld'->>'$key')) < 2e-6 + 1e-5 * abs(b->'kld'->>'$key')")" = 1 ]
    done
    [ "$(sql "a->>'n_scored'")" -eq 124 ]
}

@test "a stored base gives the bits of the pass that wrote it; a damaged one is refused" {
    rml-eval kld "$TOY" --kv i8 --against-kv f32 "$E/text.txt" --ctx 64 --limit 4 --json \
        --save-base toy.base >pass.json
    rml-eval kld toy.base "$TOY" --kv i8 --no-db --json >file.json
    without_settings() { sqlite3 :memory: "SELECT json_remove(readfile('$1'), '\$.settings')"; }
    [ "$(without_settings pass.json)" = "$(without_settings file.json)" ]
    # both sides in the key: the second finds what the first has computed
    try rml-eval kld toy.base "$TOY" --kv f16 -v
    [ "$status" -eq 0 ]
    printf X | dd of=toy.base bs=1 seek=5000 conv=notrunc status=none
    try rml-eval kld toy.base "$TOY"
    [ "$status" -eq 1 ]
    [[ $stderr == *"toy.base: the checksum"* ]]
    head -c 3000 toy.base >cut.base
    try rml-eval kld cut.base "$TOY"
    [ "$status" -eq 1 ]
    try rml-eval kld "$E/llama_cpp.base" "$TOYS/llama/hf"
    [ "$status" -eq 1 ]
}

@test "the layouts of HellaSwag, Winogrande, ARC and MMLU" {
    printf '%s\n' 'Cutting: He cuts' 2 'a tree' 'a car' 'the text' 'nothing' >h.txt
    rml-eval choices "$TOY" h.txt --format hellaswag --no-db --json >a.json
    [ "$(sql "a->>'n' = 1 AND a->>'acc_hellaswag' IN (0, 1)")" = 1 ]
    printf '%s\n' '0,"Ann, who is old, met Bo as _ was late.",Ann,Bo,2' >w.csv
    rml-eval choices "$TOY" w.csv --format winogrande -q >/dev/null
    [ "$(query "SELECT text FROM eval_doc")" = "Ann, who is old, met Bo as Ann" ]
    [ "$(query "SELECT gold_json FROM eval_doc")" = 1 ]
    echo '{"id": "A1", "question": "Why?", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "answerKey": "2"}' >arc.jsonl
    rml-eval choices "$TOY" arc.jsonl --format arc -q >/dev/null
    [ "$(query "SELECT text || doc_id || gold_json FROM eval_doc WHERE doc_id = 'A1'")" = \
        "$(printf 'Question: Why?\nAnswer:A11')" ]
    echo '{"question": " Why? ", "choices": ["x", "y", "z"], "answer": "C"}' >mmlu.jsonl
    rml-eval choices "$TOY" mmlu.jsonl --format mmlu -q --db mmlu.db >/dev/null
    [ "$(sqlite3 mmlu.db "SELECT text || gold_json FROM eval_doc")" = \
        "$(printf 'Why?\nA. x\nB. y\nC. z\nAnswer:2')" ]
    # lengths: the letters
    [ "$(sqlite3 mmlu.db "SELECT count(*) FROM eval_item")" -eq 3 ]
}

@test "malformed input gives file, line and what was expected before the run starts" {
    good='{"context": "a", "choices": ["b", "c"], "gold": 0}'
    refused() { # FILE EXPECTED [ARGUMENT...]
        try rml-eval choices "$TOY" "$1" --json "${@:3}"
        echo "$1: $stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == *"$1: $2"* ]]
        [[ $output == *'"error"'*"\"file\": \"$1\""* ]]
        [ ! -e "$RML_DB" ]
    }
    printf '%s\n{"context": \n' "$good" >bad.jsonl
    refused bad.jsonl "line 2: "
    printf '%s\n[1]\n' "$good" >array.jsonl
    refused array.jsonl "line 2: a JSON value that is no object found, expected an object"
    printf '%s\n{"context": "a", "gold": 0}\n' "$good" >missing.jsonl
    refused missing.jsonl 'line 2: no field "choices" found, expected an array of strings'
    echo '{"choices": ["b"], "gold": 0}' >context.jsonl
    refused context.jsonl 'line 1: no field "context" found, expected a string'
    echo '{"context": "a", "choices": ["b", "c"]}' >nogold.jsonl
    refused nogold.jsonl 'line 1: no field "gold" found, expected the index of a choice'
    for gold in 2 -1 '"d"' 1.5 '[]' '[0, 7]' null; do
        echo "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": $gold}" >gold.jsonl
        refused gold.jsonl "line 1: "
    done
    echo '{"context": "a", "choices": [], "gold": 0}' >empty.jsonl
    refused empty.jsonl 'line 1: field "choices" is empty, expected an array of at least one string'
    echo '{"context": "a", "choices": ["b", ""], "gold": 0}' >blank.jsonl
    refused blank.jsonl 'line 1: element 1 of "choices" is empty, expected a string that is not empty'
    printf '%s\n%s\n' "${good/\{/{\"id\": \"x\", }" "${good/\{/{\"id\": \"x\", }" >twice.jsonl
    refused twice.jsonl "line 2: the id 'x' found, which line 1 has, expected another"
    printf '%s\n{"context": "a\xff", "choices": ["b"], "gold": 0}\n' "$good" >utf8.jsonl
    refused utf8.jsonl "line 2: byte 0xff at 15 found, expected UTF-8"
    printf '%s\n\0\n' "$good" >nul.jsonl
    refused nul.jsonl "line 2: a NUL at byte 1 found, expected text"
    printf '%s\r\n' "$good" >crlf.jsonl
    refused crlf.jsonl "line 1: a carriage return before the line feed found, expected lines that end with a line feed alone"
    printf '\xef\xbb\xbf%s\n' "$good" >bom.jsonl
    refused bom.jsonl "line 1: a byte order mark found, expected UTF-8 text that begins without one"
    { printf '%s\n{"context": "' "$good"; head -c 100000000 /dev/zero | tr '\0' a; printf '"}\n'; } >long.jsonl
    refused long.jsonl "line 2: 100000016 bytes found, expected at most 67108864"
    : >none.jsonl
    refused none.jsonl "no item found, expected one a line"
    refused nosuch.jsonl "cannot be opened"
    printf 'context\n1\na\nb\nc\n' >h.txt
    refused h.txt "line 5: the file ends after 3 endings, expected four" --format hellaswag
    printf '0,no gap here,A,B,1\n' >w.csv
    refused w.csv "line 1: no '_' found in the sentence, expected one" --format winogrande
    printf 'a\xfe\n' >t.txt
    try rml-eval perplexity "$TOY" t.txt
    [ "$status" -eq 1 ]
    [[ $stderr == *"t.txt: line 1: byte 0xfe at 2 found, expected UTF-8"* ]]
    echo short >t.txt
    try rml-eval perplexity "$TOY" t.txt
    [ "$status" -eq 1 ]
    [[ $stderr == *"t.txt: no token to score found"* ]]
    [ ! -e "$RML_DB" ]
}

@test "a bad command line exits 2 and prints nothing on stdout" {
    for args in '' nosuch perplexity 'perplexity x' 'perplexity x y --protocol z' \
        'perplexity x y --stride 5' 'perplexity x y --field a' 'perplexity x y --compat double-bos' \
        'perplexity x y --documents z' 'perplexity x y --shard 3/2' 'perplexity x y --shard 0/2' \
        'perplexity x y --head' 'perplexity x y --limit 0' choices 'choices x' 'choices x y z' \
        'choices x y --format z' 'choices x y --boundary z' 'choices x y --overlong z' \
        'choices x y --rename z' 'choices x y --items=' \
        'loglik x' kld 'kld x' 'kld x y' 'kld x --against-kv f32' 'kld x y --against-arithmetic z'; do
        # shellcheck disable=SC2086 # words
        try rml-eval $args
        echo "args: $args: status $status: $stderr"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$stderr" ]
    done
}
