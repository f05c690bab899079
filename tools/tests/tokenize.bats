#!/usr/bin/env bats
# rml-tokenize as its users see it. Expected ids are those of the tokenizers package
# (lib/text/tests/cases).

load gguf_bytes

setup() {
    CASES=$RML_SOURCE_DIR/lib/text/tests/cases
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export XDG_CACHE_HOME=$FOLDER/cache
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

sql() { sqlite3 :memory: "$1"; }

# tokenizer.json of a case file, the texts of its first variant as JSON lines, their ids.
unpack() {
    local file=$CASES/$1.json
    sql "select json_extract(readfile('$file'), '\$.tokenizer')" >tokenizer.json
    # Of several paths json_extract makes an array, in which the text keeps its escapes.
    sql "select substr(x, 2, length(x) - 7) from (select json_extract(value, '\$.text', '\$.none') x
         from json_each(readfile('$file'), '\$.variants[0].cases'))" >texts.jsonl
    sql "select json_extract(value, '\$.ids')
         from json_each(readfile('$file'), '\$.variants[0].cases')" >ids.jsonl
}

# A GGUF of a byte-level vocabulary of six tokens and a recipe that rml does not know.
small_gguf() {
    {
        gguf_head 1 7
        gguf_key general.architecture 8 && gguf_string nothing
        gguf_key tokenizer.ggml.model 8 && gguf_string gpt2
        gguf_key tokenizer.ggml.pre 8 && gguf_string "${1:-gpt-2}"
        gguf_key tokenizer.ggml.tokens 9 && gguf_strings a b ab 1 2 12
        gguf_key tokenizer.ggml.merges 9 && gguf_strings "a b" "1 2"
        gguf_key tokenizer.ggml.token_type 9 && gguf_u32s 1 1 1 1 1 1
        gguf_key tokenizer.ggml.add_bos_token 7 && gguf_number 1 0
        gguf_tensor t 0 32 && gguf_fill
        head -c 128 /dev/zero
    } >small.gguf
}

@test "a folder without a model, whose tokenizer_config.json counts" {
    unpack bytelevel
    echo '{"added_tokens_decoder": {"330": {"content": "<x>", "special": true}}}' >tokenizer_config.json
    try rml-tokenize . --parse-special '<x>'
    [ "$status" -eq 0 ]
    [ "$output" = 330 ]
    try rml-tokenize tokenizer.json --parse-special '<x>'
    [ "$output" != 330 ]
    try rml-tokenize . --pre gpt-2 x
    [ "$status" -eq 1 ]
    [[ $stderr == *"can only be chosen for a GGUF"* ]]
}

# What transformers 5.24's AutoTokenizer makes of the same files (its backend's ids, with
# encode_special_tokens for those without --parse-special): <b> 330, <a> 331 and <i> 332 have a part,
# <g> 333 is in a list, and each is numbered by its place, whatever order the file has.
@test "tokens that tokenizer_config.json alone has" {
    unpack bytelevel
    cat >tokenizer_config.json <<'END'
{"image_token": "<i>", "additional_special_tokens": ["<g>", "<a>"], "pad_token": "<a>",
 "eos_token": {"__type": "AddedToken", "content": "<b>", "lstrip": true, "normalized": false}}
END
    try rml-tokenize . --no-special --parse-special '<a><b><g><i> <b>'
    [ "$output" = "331 330 333 332 330" ]
    try rml-tokenize . --no-special '<a>'
    [ "$output" != 331 ]

    # By id: <e> is the first, though the file has <h> before it.
    cat >tokenizer_config.json <<'END'
{"added_tokens_decoder": {"400": {"content": "<h>", "special": false},
                          "99": {"content": "<e>", "special": false}}, "eos_token": "<h>"}
END
    try rml-tokenize . --no-special --parse-special '<e><h>'
    [ "$output" = "330 331" ]
    try rml-tokenize . --no-special '<e>' # no special token, so it is found in any text
    [ "$output" = 330 ]
    try rml-tokenize . --no-special '<h>' # that of the end is special, whatever its flag
    [ "$output" != 331 ]
}

# As above, from transformers 5.24.
@test "lists of special tokens, by their older and their newer name" {
    unpack bytelevel
    ids() {
        echo "$1" >tokenizer_config.json
        rml-tokenize . --no-special --parse-special '<a><b>'
    }
    [ "$(ids '{"additional_special_tokens": ["<a>"], "extra_special_tokens": ["<b>"]}')" = "27 64 29 330" ]
    [ "$(ids '{"additional_special_tokens": ["<a>"], "extra_special_tokens": {"z": "<b>"}}')" = "331 330" ]
    [ "$(ids '{"additional_special_tokens": ["<a>"], "extra_special_tokens": []}')" = "330 27 65 29" ]
    [ "$(ids '{"i_token": {"content": "<a>"}, "j_token": {"__type": "AddedToken", "content": "<b>",
               "normalized": false}}')" = "27 64 29 330" ]
}

# Each of these is a TypeError or the like in transformers 5.24, but for the last two, which fail there
# when they are used.
@test "values in tokenizer_config.json that are none" {
    unpack bytelevel
    while IFS=$'\t' read -r config want; do
        echo "$config" >tokenizer_config.json
        try rml-tokenize . x
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-tokenize: ./tokenizer_config.json: $want"* ]]
    done <<'END'
{"bos_token": 5}	'bos_token' has a value that is no token, expected a text or an object
{"pad_token": ["<a>"]}	'pad_token' has a value that is no token
{"eos_token": false}	'eos_token' has a value that is no token
{"additional_special_tokens": "<a>"}	'additional_special_tokens' is no list of tokens and no object
{"extra_special_tokens": [["<a>"]]}	'extra_special_tokens' has a value that is no token
{"extra_special_tokens": {"image_token": 5}}	'image_token' has a value that is no token
{"added_tokens_decoder": [{"content": "<a>"}]}	'added_tokens_decoder' is no object
{"chat_template": ["x"]}	'chat_template' is no text
{"chat_template": [{"name": "default"}]}	'chat_template' is no text
{"chat_template": 5}	'chat_template' is no text
{"chat_template": {"default": 5}}	'chat_template' is no text
END
}

@test "every case of the reference: ids, and back" {
    for name in bytelevel fallback unigram unknown; do
        unpack $name
        rml-tokenize tokenizer.json --jsonl --threads 3 <texts.jsonl | tr -d ' ' >got.jsonl
        diff ids.jsonl got.jsonl
        { echo '['; rml-tokenize tokenizer.json --jsonl --decode <ids.jsonl | paste -sd,; echo ']'; } >got.json
        [ "$(sql "select count(*) from json_each(readfile('$CASES/$name.json'), '\$.variants[0].cases') a
                  join json_each(readfile('got.json')) b on a.key = b.key
                  where json_extract(a.value, '\$.decoded') is b.value")" = "$(wc -l <ids.jsonl)" ]
    done
}

@test "one text, from the command line and from standard input" {
    unpack bytelevel
    [ "$(rml-tokenize tokenizer.json ' ')" = 220 ]
    [ "$(printf ' ' | rml-tokenize tokenizer.json)" = 220 ]
    [ "$(printf ' ' | rml-tokenize tokenizer.json -)" = 220 ]
    [ "$(rml-tokenize tokenizer.json '')" = "" ]
    [ "$(rml-tokenize tokenizer.json --json ' ')" = '{"ids": [220]}' ]
    [ "$(rml-tokenize tokenizer.json --jsonl '" "')" = '[220]' ]
}

@test "decoding gives the bytes back, whatever they are" {
    unpack bytelevel
    head -c 3000 "$(command -v rml-tokenize)" | tr -d '\200-\377' >text
    rml-tokenize tokenizer.json <text | rml-tokenize tokenizer.json --decode | cmp - text
    printf 'caf\303\251\n' >text
    rml-tokenize tokenizer.json <text | tr ' ' ',' | rml-tokenize tokenizer.json --decode | cmp - text
    # A part of a character: raw as text, U+FFFD in JSON
    id=$(rml-tokenize tokenizer.json "$(printf '\364\217\277\277')" | cut -d ' ' -f 1)
    [ "$(rml-tokenize tokenizer.json --pieces --decode "$id" | cut -f 2)" = '"\xf4"' ]
    [ "$(rml-tokenize tokenizer.json --decode "$id" | od -An -tx1)" = " f4" ]
    [ "$(rml-tokenize tokenizer.json --decode --jsonl "[$id]")" = "$(printf '"\357\277\275"')" ]
}

@test "NUL and line ends inside JSON strings" {
    unpack bytelevel
    printf '"a\\u0000b\\n"\r\n' | rml-tokenize tokenizer.json --jsonl >ids
    [ "$(rml-tokenize tokenizer.json --jsonl --decode <ids)" = '"a\u0000b\n"' ]
    rml-tokenize tokenizer.json --decode "$(tr -d '[],' <ids)" | od -An -c >got
    [ "$(<got)" = "   a  \0   b  \n" ]
}

@test "special tokens: added, left out, parsed" {
    unpack fallback
    run rml-tokenize tokenizer.json --parse-special --pieces '<s>a'
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *$'\t"<s>"\tspecial' ]]
    run rml-tokenize tokenizer.json --pieces '<s>a'
    [[ $output != *special* ]]
    ids=$(rml-tokenize tokenizer.json --parse-special '<s>a')
    [[ $(rml-tokenize tokenizer.json --decode "$ids") == *"<s>"* ]]
    [[ $(rml-tokenize tokenizer.json --decode --no-special "$ids") != *"<s>"* ]]
}

@test "pieces show bytes in one line each" {
    unpack bytelevel
    rml-tokenize tokenizer.json --pieces $'a\n\t"\\' >pieces
    [ "$(head -n 1 pieces)" = "$(printf '64\t"a"\tnormal')" ]
    [ "$(awk -F'\t' 'NF != 3' pieces)" = "" ]
    # Put together again, the pieces are the text, in the escapes of printf.
    printf "$(cut -f 2 pieces | sed 's/^"//; s/"$//' | tr -d '\n')" | od -An -c >got
    [ "$(<got)" = '   a  \n  \t   "   \' ]
    rml-tokenize tokenizer.json --pieces --json a >pieces.json
    [ "$(sql "select json_extract(readfile('pieces.json'), '\$.pieces[0].hex')")" = 61 ]
}

@test "a bad line ends the run, with its number, after the lines before it" {
    unpack bytelevel
    printf '"a"\n"b"\n{"a": \n"c"\n' >lines
    try rml-tokenize tokenizer.json --jsonl --threads 2 <lines
    [ "$status" -eq 1 ]
    [ "$output" = $'[64]\n[65]' ]
    [[ $stderr == "rml-tokenize: standard input: line 3: no JSON value, column "* ]]
    for line in 1 '["a"]' null '"\xff"' '"\ud800"' '' '"a" "b"'; do
        printf "$line\n" >lines
        try rml-tokenize tokenizer.json --jsonl <lines
        [ "$status" -eq 1 ]
        [[ $stderr == *": line 1: "* ]]
    done
    for line in 1 '["a"]' '[1.5]' '[-1]' '[100000]' '[99999999999]'; do
        try rml-tokenize tokenizer.json --jsonl --decode "$line"
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-tokenize: TEXT: line 1: "* ]]
    done
    try rml-tokenize tokenizer.json --decode $'1 2\n3 x4'
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-tokenize: TEXT: line 2: 'x4' found, expected an id" ]
    for option in "" --pieces --json; do
        printf '1 2\n\n3 100000 4\n' >ids
        # shellcheck disable=SC2086 # no option is no word
        try rml-tokenize tokenizer.json --decode $option <ids
        [ "$status" -eq 1 ]
        [ "$stderr" = "rml-tokenize: standard input: line 3: id 100000 found, expected less than 330" ]
    done
}

@test "the error document" {
    unpack bytelevel
    try rml-tokenize tokenizer.json --json --decode 100000
    [ "$status" -eq 1 ]
    [ "$(sql "select json_extract('${output//\'/\'\'}', '\$.error.code')")" = invalid-argument ]
    try rml-tokenize none.json --json a
    [ "$(sql "select json_extract('${output//\'/\'\'}', '\$.error.code')")" = not-found ]
}

@test "usage" {
    try rml-tokenize
    [ "$status" -eq 2 ]
    try rml-tokenize a b c
    [ "$status" -eq 2 ]
    try rml-tokenize a --jsonl --pieces
    [ "$status" -eq 2 ]
    run rml-tokenize --help
    [ "$status" -eq 0 ]
    [[ $output == *Example:* ]]
}

@test "many lines: in order, with little memory" {
    unpack bytelevel
    for i in {1..2000}; do echo "\"line $i of many, with some words in it\""; done >few
    for i in {1..40}; do cat few; done >many
    rml-tokenize tokenizer.json --jsonl --threads 1 <few >few.ids
    for i in {1..40}; do cat few.ids; done | cmp - <(cat many | rml-tokenize tokenizer.json --jsonl --threads 4)

    mkfifo pipe
    rml-tokenize tokenizer.json --jsonl --threads 2 <pipe >out.ids &
    exec 9>pipe
    peak_kb() { # after $1 lines of output
        until [ "$(wc -l <out.ids)" -ge "$1" ]; do sleep 0.05; done
        awk '$1 == "VmHWM:" { print $2 }' /proc/$!/status
    }
    cat many >&9
    first=$(peak_kb 80000)
    for i in {1..9}; do cat many >&9; done
    last=$(peak_kb 800000)
    exec 9>&-
    wait
    # 30 MB more have passed through, of which a batch for each thread may be about at a time;
    # sanitizers keep some of what was freed.
    [ $((last - first)) -lt 15000 ] || [ "$first" -gt 60000 ]
}

@test "a partner who sends a line gets its answer at once" {
    unpack bytelevel
    coproc TOKENIZE { exec rml-tokenize tokenizer.json --jsonl; }
    for i in 1 2 3; do
        echo '"a"' >&"${TOKENIZE[1]}"
        read -r -t 20 line <&"${TOKENIZE[0]}"
        [ "$line" = "[64]" ]
    done
    eval "exec ${TOKENIZE[1]}>&-"
    wait
}

@test "the last line needs no newline, one line may be long" {
    unpack bytelevel
    [ "$(printf '"a"\n"b"' | rml-tokenize tokenizer.json --jsonl | tr '\n' ' ')" = "[64] [65] " ]
    { printf '"'; head -c 3000000 /dev/zero | tr '\0' a; printf '"\n"b"\n'; } >long
    rml-tokenize tokenizer.json --jsonl <long >ids
    [ "$(wc -l <ids)" = 2 ]
    rml-tokenize tokenizer.json --jsonl --decode <ids | cmp - long
}

@test "a GGUF, and another pre-tokenizer for it" {
    small_gguf
    [ "$(rml-tokenize small.gguf ab12)" = "2 5" ]
    [ "$(rml-tokenize small.gguf --pre starcoder ab12)" = "2 3 4" ]
    try rml-tokenize small.gguf --pre nonsense ab12
    [ "$status" -eq 1 ]
    [[ $stderr == *"small.gguf: pre-tokenizer 'nonsense' is not known, expected one of: "*gpt-2* ]]
    small_gguf unheard-of
    try rml-tokenize small.gguf ab12
    [ "$status" -eq 1 ]
    [[ $stderr == *"'unheard-of'"* ]]
    [ "$(rml-tokenize small.gguf --pre gpt-2 ab12)" = "2 5" ]
    unpack bytelevel
    try rml-tokenize tokenizer.json --pre gpt-2 a
    [ "$status" -eq 1 ]
}

# What sentencepiece 0.2.1 and 0.2.3 make of the same pieces: unknown characters in a row are one token.
@test "a SentencePiece vocabulary without bytes" {
    {
        gguf_head 0 6
        gguf_key general.architecture 8 && gguf_string nothing
        gguf_key tokenizer.ggml.model 8 && gguf_string llama
        gguf_key tokenizer.ggml.tokens 9 && gguf_strings "<unk>" "<s>" "</s>" $'\xe2\x96\x81' a b
        gguf_key tokenizer.ggml.scores 9 && gguf_u32s 0 0 0 0 0 0
        gguf_key tokenizer.ggml.token_type 9 && gguf_u32s 2 3 3 1 1 1
        gguf_key tokenizer.ggml.add_bos_token 7 && gguf_number 1 0
    } >small.gguf
    printf '"%s"\n' aßqb ßq "ßaq q  ßß" éébx >texts
    try rml-tokenize small.gguf --jsonl <texts
    [ "$output" = "[3, 4, 0, 5]
[3, 0]
[3, 0, 4, 0, 3, 0, 3, 3, 0]
[3, 0, 5, 0]" ]
}

@test "a score that is no number" {
    {
        gguf_head 0 5
        gguf_key general.architecture 8 && gguf_string nothing
        gguf_key tokenizer.ggml.model 8 && gguf_string llama
        gguf_key tokenizer.ggml.tokens 9 && gguf_strings "<unk>" a b
        gguf_key tokenizer.ggml.scores 9 && gguf_number 4 6 && gguf_number 8 3
        gguf_number 4 0 && gguf_number 4 0 && gguf_number 4 $((0x7fc00000))
        gguf_key tokenizer.ggml.token_type 9 && gguf_u32s 2 1 1
    } >small.gguf
    try rml-tokenize small.gguf a
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-tokenize: small.gguf: the score of token 2 is no number (byte offset "*")" ]]
}

@test "a pre-tokenizer can be chosen only where there is one" {
    llama=$RML_SOURCE_DIR/lib/text/fuzz/corpus/tokenizer_gguf/llama.gguf
    try rml-tokenize "$llama" --pre nonsense a
    [ "$status" -eq 1 ]
    [[ $stderr == *"llama.gguf: pre-tokenizer 'nonsense' is not known, expected one of: default gpt-2 "* ]]
    for name in default llama-bpe; do
        try rml-tokenize "$llama" --pre $name a
        [ "$status" -eq 1 ]
        [[ $stderr == *"llama.gguf: the vocabulary is of the kind 'llama', which has no pre-tokenizer; one can only "* ]]
    done
    try rml-tokenize "$llama" --pre gemma4 a --json
    [ "$status" -eq 1 ]
    [ "$(sql "select json_extract('${output//\'/\'\'}', '\$.error.code')")" = unsupported ]
}

# The package cuts the ids at 3 and fills them up to 8; transformers does neither unless a call asks.
@test "truncation and padding are told of, not applied" {
    unpack bytelevel
    rml-tokenize tokenizer.json abcdef >whole
    sql "select writefile('cut.json', json_set(cast(readfile('tokenizer.json') as text),
        '\$.truncation', json('{\"max_length\": 3, \"strategy\": \"LongestFirst\", \"stride\": 0}'),
        '\$.padding', json('{\"strategy\": {\"Fixed\": 8}, \"direction\": \"Right\", \"pad_id\": 0, \"pad_type_id\": 0, \"pad_token\": \"\"}')))" >/dev/null
    try rml-tokenize cut.json abcdef
    [ "$status" -eq 0 ]
    [ "$output" = "$(<whole)" ]
    [ "$stderr" = "rml-tokenize: cut.json: asks for truncation to 3 ids and padding to 8 ids, which is not applied" ]
    try rml-tokenize cut.json --jsonl '"abcdef"'
    [ "$(wc -l <.stderr)" -eq 1 ]
    try rml-tokenize cut.json -q abcdef
    [ -z "$stderr" ]
    try rml-tokenize cut.json --decode "$(<whole)"
    [ "$output" = abcdef ]
    [ -z "$stderr" ]
    # as facts of a checkpoint
    cp -r "$RML_SOURCE_DIR/goldens/fixtures/llama/hf" folder
    cp cut.json folder/tokenizer.json
    rml-inspect folder --json >facts
    [ "$(sql "select json_extract(readfile('facts'), '\$.tokenizer.truncation')")" = '{"max_length":3,"applied":false}' ]
    [ "$(sql "select json_extract(readfile('facts'), '\$.tokenizer.padding')")" = '{"fixed_length":8,"applied":false}' ]
    rml-inspect folder | grep -q '^truncation  *{"max_length": 3, "applied": false}$'
    echo '{"version": "1.0", "padding": 5}' >folder/tokenizer.json
    rml-inspect folder | grep -q '^tokenizer: cannot be read: folder/tokenizer.json: padding is no object (byte offset 30)$'
    rml-inspect folder --json >facts
    [ "$(sql "select json_extract(readfile('facts'), '\$.tokenizer')")" = \
        '{"error":"padding is no object","file":"folder/tokenizer.json","offset":30}' ]
    cp tokenizer.json folder/
    rml-inspect folder --json >facts
    [ "$(sql "select json_type(readfile('facts'), '\$.tokenizer.truncation')")" = null ]
}

@test "an unknown token that the model lacks is an error of the text that needs it" {
    unpack bytelevel
    sql "select writefile('unknown.json', json_set(cast(readfile('tokenizer.json') as text), '\$.model.unk_token', ''))" >/dev/null
    [ "$(rml-tokenize unknown.json abc)" = "$(rml-tokenize tokenizer.json abc)" ]
    echo '{"version": "1.0", "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"a": 0}, "merges": []}}' >small.json
    [ "$(rml-tokenize small.json aa)" = "0 0" ]
    try rml-tokenize small.json ab
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-tokenize: TEXT: the text has a character that the vocabulary lacks, and the unknown token "* ]]
}

@test "a checkpoint without a tokenizer" {
    try rml-tokenize "$RML_SOURCE_DIR/goldens/fixtures/llama/model.gguf" a
    [ "$status" -eq 1 ]
    [[ $stderr == rml-tokenize:*model.gguf:*tokenizer* ]]
}

@test "a full disk is an error" {
    unpack bytelevel
    [ -w /dev/full ] || skip
    status=0
    rml-tokenize tokenizer.json --jsonl '"a"' >/dev/full 2>.stderr || status=$?
    [ "$status" -eq 1 ]
}

@test "a link in a folder whose file is missing is an error that says so" {
    unpack bytelevel
    for name in tokenizer.json tokenizer_config.json chat_template.jinja; do
        rm -rf folder && mkdir folder
        cp tokenizer.json folder/
        ln -sf ../../blobs/0123abcd folder/$name
        try rml-tokenize folder a
        [ "$status" -ne 0 ]
        [ "$stderr" = "rml-tokenize: folder/$name: is a link to '../../blobs/0123abcd', and the file it leads to is missing" ]
    done
    try rml-tokenize folder/chat_template.jinja a
    [[ $stderr == *"is a link to '../../blobs/0123abcd'"* ]]
}

@test "a measurement takes the same names as rml-tokenize" {
    unpack bytelevel
    mv tokenizer.json vocabulary # known by its contents
    mkdir folder && cp vocabulary folder/tokenizer.json
    for name in vocabulary folder; do
        run rml-bench tokenizer $name --no-db --reps 21 --size 2000 --direction encode --json
        [ "$status" -eq 0 ]
        [[ $output =~ \"status\":\ \"(ok|unstable)\" ]]
    done
}

@test "a folder needs no weights for its tokenizer, but a model does" {
    toy=$RML_SOURCE_DIR/goldens/fixtures/llama-text
    mkdir folder
    cp "$toy"/hf-text/tokenizer*.json folder/
    text="The toy reads text, 123 times; it isn't long."
    want=$(sql "select replace(trim(json_extract(readfile('$toy/golden.json'), '\$.cases[0].tokens'), '[]'), ',', ' ')")
    [ "$(rml-tokenize folder "$text")" = "$want" ]
    [ "$(rml-tokenize "$toy/model.gguf" "$text")" = "$want" ]
    run rml-golden record folder --tokens 1 -o g.json --no-db
    [ "$status" -eq 1 ]
    [[ $output == "rml-golden: folder/config.json: cannot open the file: "* ]]
    try rml-tokenize folder --pre gpt-2 a
    [ "$status" -eq 1 ]
    [[ $stderr == *"can only be chosen for a GGUF"* ]]
}

@test "a checkpoint without a tokenizer says so" {
    llama=$RML_SOURCE_DIR/goldens/fixtures/llama
    try rml-tokenize "$llama/hf" a
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-tokenize: $llama/hf: the folder has no tokenizer (tokenizer.json is missing)" ]
    try rml-tokenize "$llama/model.gguf" a --json
    [ "$status" -eq 1 ]
    [ "$(sql "select json_extract('$output', '\$.error.code')")" = not-found ]
    [[ $stderr == *"has no tokenizer (tokenizer.ggml.model is none)" ]]
    for model in no_vocab ''; do
        {
            gguf_head 0 "$([ -z "$model" ] && echo 1 || echo 2)"
            gguf_key general.architecture 8 && gguf_string nothing
            [ -z "$model" ] || { gguf_key tokenizer.ggml.model 8 && gguf_string "$model"; }
        } >none.gguf
        try rml-tokenize none.gguf a
        [ "$status" -eq 1 ]
        [[ $stderr == *"has no tokenizer (tokenizer.ggml.model is ${model:-missing})" ]]
    done
}

@test "a reader who leaves is no error to tell" {
    { yes '"x"' | head -n 100000; sleep 0.1; } | rml-tokenize "$RML_SOURCE_DIR/goldens/models/rml-tiny" --jsonl \
        2>.stderr | { head -n 1 >/dev/null; true; }
    [ ! -s .stderr ]
}
