#!/usr/bin/env bats
# What rml-eval refuses, and how it says so.

load eval_run

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
    for field in id group; do
        echo "{\"$field\": \"a\\u0000b\", \"context\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": 0}" >nul_$field.jsonl
        refused nul_$field.jsonl "line 1: a"
        [[ $stderr == *" $field with NUL found, expected text"* ]]
    done
    printf '%s\n{"context": "a\xff", "choices": ["b"], "gold": 0}\n' "$good" >utf8.jsonl
    refused utf8.jsonl "line 2: byte 0xff at 15 found, expected UTF-8"
    printf '%s\n\0\n' "$good" >nul.jsonl
    refused nul.jsonl "line 2: a NUL at byte 1 found, expected text"
    printf '%s\r\n' "$good" >crlf.jsonl
    refused crlf.jsonl "line 1: a carriage return before the line feed found, expected lines that end with a line feed alone"
    printf '\xef\xbb\xbf%s\n' "$good" >bom.jsonl
    refused bom.jsonl "line 1: a byte order mark found, expected UTF-8 text that begins without one"
    { printf '%s\n{"context": "' "$good"; head -c 100000000 /dev/zero | tr '\0' a; printf '"}\n'; } >long.jsonl
    refused long.jsonl "line 2: 100000015 bytes found, expected at most 67108864"
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
    [[ $stderr == *"t.txt: no token to score found, expected a document of at least 512 tokens" ]]
    : >t.txt
    for protocol in 'hf-stride 2' 'lm-eval 1'; do
        try rml-eval perplexity "$TOY" t.txt --protocol ${protocol% *}
        [ "$status" -eq 1 ]
        [[ $stderr == *"t.txt: no token to score found, expected a document of at least ${protocol#* } tokens" ]]
    done
    # a part that is empty is no empty file
    printf '%s\n%s\n' "$good" "$good" >two.jsonl
    try rml-eval choices "$TOY" two.jsonl --shard 3/3
    [ "$status" -eq 1 ] && [[ $stderr == *"--shard 3/3 of 2 items has none, expected at most 2 shards" ]]
    [ ! -e "$RML_DB" ]
}

@test "malformed lines are refused alike by choices, loglik, generate and perplexity" {
    { printf '{"x": "'; head -c 100000000 /dev/zero | tr '\0' a; printf '"}\n'; } >long_line
    while IFS='|' read -r command good field what; do
        refused() { # EXPECTED: of bad.jsonl
            # shellcheck disable=SC2086 # words
            try rml-eval ${command/FILE/bad.jsonl} --json
            echo "$command: expected $1; got $stderr"
            [ "$status" -eq 1 ]
            [[ $stderr == "rml-eval: bad.jsonl: $1"* ]]
            [[ $stderr == *expected* ]]
            [[ $output == *'"error"'*'"file": "bad.jsonl"'* ]]
            [ ! -e "$RML_DB" ]
        }
        while IFS='^' read -r line expected; do
            printf '%s\n%b\n' "$good" "$line" >bad.jsonl
            refused "line 2: $expected"
        done <<END
{"$field": ^unexpected token near end of file
{"$field": "a",}^string or '}' expected near '}'
{"$field": "a"} x^end of file expected near 'x'
["$field"]^a JSON value that is no object found, expected an object
"$field"^a JSON value that is no object found, expected an object
{}^no field "$field" found, expected $what
{"$field": 7}^field "$field" is no
{"$field": "a", "$field": "a"}^duplicate object key
{"$field": "\\\\ud800"}^invalid Unicode
{"$field": "\\xff"}^byte 0xff at
{"$field": "\\xc3\\x28"}^byte 0xc3 at
{"$field": "\\xed\\xa0\\x80"}^byte 0xed at
{"$field": "\\0"}^a NUL at byte
END
        { printf '%s\n' "$good" && cat long_line; } >bad.jsonl
        refused "line 2: 100000009 bytes found, expected at most 67108864"
        printf '%s\r\n' "$good" >bad.jsonl
        refused "line 1: a carriage return before the line feed found, expected lines that end with a line feed alone"
        printf '\xef\xbb\xbf%s\n' "$good" >bad.jsonl
        refused "line 1: a byte order mark found, expected UTF-8 text that begins without one"
        : >bad.jsonl
        refused "no "
    done <<END
choices $TOY FILE|{"context": "a", "choices": ["b", "c"], "gold": 0}|context|a string
loglik $TOY FILE|{"context": "a", "continuation": "b"}|context|a string
generate $TOY FILE|{"context": "a"}|context|a string
perplexity $TOY FILE --documents jsonl|{"text": "a b"}|text|a string
END
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
