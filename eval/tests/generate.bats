#!/usr/bin/env bats
# rml-eval generate as its users see it. The toy's greedy replies are those of its golden (numpy in
# float64), as text by the tokenizers package.

setup() {
    TOYS=$RML_SOURCE_DIR/goldens/fixtures/llama-text
    TOY=$TOYS/model.gguf
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export XDG_CACHE_HOME=$FOLDER/cache XDG_DATA_HOME=$FOLDER/data RML_THREADS=1
    unset RML_DB
}

teardown() { rm -rf "$FOLDER"; }

try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

of() { # FILE LINE FIELD
    sed -n "${2}p" "$1" >.line
    sqlite3 :memory: "select json_extract(readfile('.line'), '\$.$3')"
}

# The golden's cases; the first reply ends with </s> after five tokens.
prompts() {
    cat >prompts.jsonl <<'END'
{"id": "a", "context": "The toy reads text, 123 times; it isn't long.", "gold": "B\ufffd\ufffd|\ufffd"}
{"id": "b", "context": "The toy reads text, 123 times; it isn't long.", "gold": ["no", "never"]}
{"context": "The toy"}
END
}

@test "replies are the golden's, judged where there is a gold" {
    prompts
    try rml-eval generate "$TOY" prompts.jsonl --max-tokens 8 --no-db --items items.jsonl --json
    [ "$status" -eq 0 ]
    printf '%s' "$output" | tr -d '\n' >result
    [ "$(of result 1 n)" = 3 ]
    [ "$(of result 1 n_judged)" = 2 ]
    [ "$(of result 1 exact_match)" = 0.5 ]
    [ "$(of result 1 exact_match_stderr)" = 0.5 ] # sqrt(0.5 / 1) / sqrt(2)
    [ "$(of items.jsonl 1 reply)" = $'B\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd' ]
    [ "$(of items.jsonl 1 finish)" = stop ]
    [ "$(of items.jsonl 1 n_tokens)" = 6 ]
    [ "$(of items.jsonl 1 exact_match)" = 1 ]
    [ "$(of items.jsonl 2 exact_match)" = 0 ]
    [ "$(of items.jsonl 3 id)" = 3 ]
    [ "$(of items.jsonl 3 exact_match)" = "" ]
}

@test "chat messages, and texts that end a reply" {
    echo '{"context": "What is text?", "gold": "L"}' >chat.jsonl
    # as lm-eval does: the rendered text is a context like any other, BOS before it
    printf '%s\n' '{"context": "<|im_start|>system\nYou are a toy.<|im_end|>\n<|im_start|>user\nWhat is text?<|im_end|>\n<|im_start|>assistant\n", "gold": "L"}' \
        >plain.jsonl
    for options in "" "--until e --until A --until s --regex [A-Z]"; do
        # shellcheck disable=SC2086 # options are words
        rml-eval generate "$TOY" plain.jsonl --max-tokens 8 --no-db --items plain.txt $options -q
        for chat in --chat --chat=chatml; do
            # shellcheck disable=SC2086
            rml-eval generate "$TOY" chat.jsonl "$chat" --system 'You are a toy.' --max-tokens 8 \
                --no-db --items items.jsonl $options -q
            cmp plain.txt items.jsonl
        done
    done
    [ "$(of items.jsonl 1 n_tokens)" -gt 0 ]
}

@test "an unknown chat format is a usage error that names the known ones" {
    echo '{"context": "What is text?"}' >chat.jsonl
    for name in nope ''; do
        status=0
        rml-eval generate "$TOY" chat.jsonl --chat="$name" --no-db 2>.stderr || status=$?
        [ "$status" -eq 2 ]
        grep -q "^rml-eval generate: --chat: '$name' found, expected one of: chatml, .*, llama3, " .stderr
    done
}

@test "batch, threads and order change no reply, seeds do" {
    for i in {1..12}; do
        printf '{"id": %d, "context": "The toy reads %.*s text %d"}\n' "$i" $((i % 5 * 20)) \
            "the toy reads the toy reads the toy reads the toy reads the toy reads the toy reads " "$i"
    done >many.jsonl
    sampled() { rml-eval generate "$TOY" "$1" --temp 1 --max-tokens 12 --no-db --items - -q "${@:2}"; }
    sampled many.jsonl --batch 1 >one
    [ "$(wc -l <one)" -eq 12 ]
    sampled many.jsonl --batch 16 --threads 2 >sixteen 2>/dev/null
    cmp one sixteen
    sampled many.jsonl --batch 3 --kv f32 >three
    cmp one three
    tac many.jsonl >reversed.jsonl
    sampled reversed.jsonl --batch 5 | tac >five
    cmp one five
    sampled many.jsonl --seed 1 >other
    ! cmp -s one other || false
    [ "$(cut -d, -f2 one | sort -u | wc -l)" -gt 6 ]
}

@test "replies are kept and found by their content" {
    prompts
    generate() { rml-eval generate "$TOY" prompts.jsonl --max-tokens 8 --db e.db -v --items "$@"; }
    try generate one.jsonl
    [ "$status" -eq 0 ]
    [[ "$stderr" != *"were there already"* ]]
    try generate two.jsonl
    [[ "$stderr" == *"3 replies were there already, 0 are new"* ]]
    cmp one.jsonl two.jsonl
    try generate three.jsonl --until '|'
    [[ "$stderr" != *"were there already"* ]]
    try generate four.jsonl --fresh
    [[ "$stderr" != *"were there already"* ]]
    cmp one.jsonl four.jsonl
    run sqlite3 e.db "select task, count(*), sum(is_greedy) from eval_item group by run_id"
    [ "${lines[0]}" = "generate|3|3" ]
    [ "${#lines[@]}" -eq 4 ]
    run sqlite3 e.db "select value, n from eval_metric where metric = 'exact_match' limit 1"
    [ "$output" = "0.5|2" ]
}

@test "a context that is too long loses its beginning and is counted" {
    echo '{"context": "The toy reads text, 123 times; it is not long. The toy reads text."}' >long.jsonl
    try rml-eval generate "$TOY" long.jsonl --ctx 20 --max-tokens 4 --no-db --items items.jsonl
    [ "$status" -eq 0 ]
    [[ "$output" == *", contexts cut from the left 1"* ]]
    [ "$(of items.jsonl 1 truncated)" -gt 0 ]
    try rml-eval generate "$TOY" long.jsonl --ctx 20 --max-tokens 20 --no-db
    [ "$status" -eq 1 ]
    [[ "$stderr" == "rml-eval: --max-tokens 20 leaves no room"* ]]
}

@test "a standard error says what it is clustered by, and where the replies are is told" {
    for i in {1..6}; do # three groups of two: 0, 0 and 1, 1 and 0, 1
        printf '{"id": %d, "context": "%s", "gold": "%s", "group": %d}\n' "$i" \
            "The toy reads text, 123 times; it isn't long." \
            "$([ "$i" -le 2 ] || [ "$i" -eq 5 ] && echo no || printf 'B\\ufffd\\ufffd|\\ufffd')" \
            $(((i - 1) / 2))
    done >g.jsonl
    try rml-eval generate "$TOY" g.jsonl --max-tokens 8
    [ "$status" -eq 0 ]
    # mean 1/2, residuals of the blocks -1, 1, 0: sqrt(3/2 * 2) / 6 = 0.2887
    [[ $output == *"exact_match      0.5000 +- 0.2887 (clustered by group)"* ]]
    [[ $stderr == *"the same command with --items FILE writes them"* ]]
    try rml-eval generate "$TOY" g.jsonl --max-tokens 8 --items replies.jsonl --json -v
    [[ $stderr == *"6 replies were there already, 0 are new"* && $stderr != *"the same command"* ]]
    printf '%s' "$output" | tr -d '\n' >result
    [ "$(of result 1 clustered_by)" = group ]
    [ "$(of replies.jsonl 6 reply)" = $'B\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd' ]
    sed 's/, "group".*}/}/' g.jsonl >alone.jsonl
    try rml-eval generate "$TOY" alone.jsonl --max-tokens 8 --no-db
    # s^2 = 6/4 / 5: sqrt(0.3 / 6) = 0.2236
    [[ $output == *"exact_match      0.5000 +- 0.2236"* && $output != *clustered* ]]
    [[ $stderr == *"--items FILE writes the replies"* ]]
}

@test "malformed input gives file and line before anything runs" {
    refused() { # LINE MESSAGE
        printf '{"context": "x"}\n%s\n' "$1" >bad.jsonl
        try rml-eval generate "$TOY" bad.jsonl --db e.db
        [ "$status" -eq 1 ]
        [[ "$stderr" == "rml-eval: bad.jsonl: line 2: "*"$2"* ]] || { echo "$stderr"; false; }
        [ ! -e e.db ]
    }
    refused '{"context": ' 'JSON'
    refused '{"gold": "x"}' '"context"'
    refused '{"context": 3}' '"context"'
    refused '{"context": "x", "gold": 3}' 'neither a string nor an array'
    refused '{"context": "x", "gold": []}' 'is empty'
    refused '{"context": "x", "id": 1}' 'which line 1 has'
    # pcre2api(3): the offset is where compiling stopped, here the end of the 2 bytes of an e with
    # an accent and of the parenthesis
    for option in --regex --ignore-regex; do
        try rml-eval generate "$TOY" bad.jsonl $option 'é(' --no-db
        [ "$status" -eq 2 ]
        [[ "$stderr" == "rml-eval generate: $option: 'é(' found, expected a pattern: "*' (byte offset 3)'* ]]
    done
    try rml-eval generate "$TOY" bad.jsonl --system x --no-db
    [ "$status" -eq 2 ]
}
