#!/usr/bin/env bats
# Goldens that start from text and from chat messages, on a toy that has a tokenizer.

setup() {
    TOY=$RML_SOURCE_DIR/goldens/fixtures/llama-text
    MODEL=$TOY/model.gguf
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export RML_DB=$FOLDER/rml.db XDG_CACHE_HOME=$FOLDER/cache
    unset RML_MODELS_DIR
    echo '[{"role": "system", "content": "You are a toy."},
           {"role": "user", "content": "What is text?"}]' >chat.json
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

# The value at a path of the JSON document in $output, by SQLite.
json() { sqlite3 :memory: "select json_extract('${output//\'/\'\'}', '$1')"; }
sql() { sqlite3 "$RML_DB" "$1"; }
# The tokens of a case of a golden file.
tokens() { sqlite3 :memory: "select json_extract(readfile('$1'), '\$.cases[$2].tokens')"; }

@test "record gives text and messages the ids of the references" {
    rml-golden record "$MODEL" --text "The toy reads text, 123 times; it isn't long." \
        --tokens 5,6 --case a-chat --messages chat.json -o g.json
    [ "$(tokens g.json 0)" = "$(tokens "$TOY/golden.json" 0)" ]
    [ "$(tokens g.json 2)" = "$(tokens "$TOY/golden.json" 2)" ]
    output=$(<g.json)
    [ "$(json '$.cases[0].text')" = "The toy reads text, 123 times; it isn't long." ]
    [ "$(json '$.cases[0].name') $(json '$.cases[2].name')" = 'case-1 a-chat' ]
    [ "$(json '$.cases[1].text')$(json '$.cases[1].messages')" = '' ]
    [ "$(json '$.cases[2].messages')" = "$(sqlite3 :memory: "select json(readfile('chat.json'))")" ]
    [ "$(json '$.cases[2].chat_format')" = '' ]
    try rml-golden check "$MODEL" g.json --json
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(json '$.files[0].cases[0].text_equal')$(json '$.files[0].cases[1].text_equal')" = 1 ]

    rml-golden record "$TOY/hf-text" --text $' naïve café\n\n\t東京 🍕' --no-special -o n.json
    [ "$(tokens n.json 0)" = "$(tokens "$TOY/golden.json" 1)" ]
    output=$(<n.json)
    [ "$(json '$.cases[0].add_special')" = 0 ]
    rml-golden check "$TOY/hf-text" n.json
}

@test "a chat format chosen by name is kept in the case" {
    rml-golden record "$MODEL" --messages - --chat-format zephyr -o z.json <chat.json
    output=$(<z.json)
    [ "$(json '$.cases[0].chat_format')" = zephyr ]
    [ "$(tokens z.json 0)" != "$(tokens "$TOY/golden.json" 2)" ]
    rml-golden check "$MODEL" z.json
    sed -i 's/"zephyr"/"chatml"/' z.json
    run rml-golden check "$MODEL" z.json
    [ "$status" -eq 4 ]
}

@test "without a chat template record says what else there is" {
    tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny
    try rml-golden record "$tiny" --messages chat.json -o t.json
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-golden: $tiny: --messages: the checkpoint has no chat template; expected a known one, or --chat-format NAME" ]
    rml-golden record "$tiny" --messages chat.json --chat-format chatml -o t.json
    rml-golden check "$tiny" t.json
}

@test "a role that no model knows is warned of where the format would write it" {
    sed 's/"user"/"usr"/' chat.json >usr.json
    try rml-golden record "$MODEL" --messages usr.json --chat-format chatml -o u.json
    [ "$status" -eq 0 ]
    [[ $stderr == "rml-golden: warning: usr.json: messages[1]: role 'usr' is none of "* ]]
    [ "$(grep -c warning .stderr)" -eq 1 ]
    try rml-golden record "$MODEL" --messages usr.json --chat-format zephyr -o z.json
    [ "$status" -eq 1 ]
    [[ $stderr != *"as it stands"* ]]
    try rml-golden record "$MODEL" --messages chat.json -o c.json
    [[ $stderr != *warning* ]]
}

@test "a text of other ids is exit 4, and the first that differs is named" {
    sed 's/toy reads/top reads/' "$TOY/golden.json" >off.json
    run rml-golden check "$MODEL" off.json
    [ "$status" -eq 4 ]
    [[ $output == *'case text: its text: token '*': id '*' found, expected id '*'"'* ]]
    [[ $output != *"first deviation"* ]]
    index=$(sed -n 's/.*its text: token \([0-9]*\):.*/\1/p' <<<"$output")
    try rml-golden check "$TOY/hf-text" off.json --json
    [ "$status" -eq 4 ]
    [ "$(json '$.files[0].cases[0].first_deviation.kind')" = token ]
    [ "$(json '$.files[0].cases[0].first_deviation.position')" = "$index" ]
    want=$(json '$.files[0].cases[0].first_deviation.want')
    [ "$want" = "$(sqlite3 :memory: "select json_extract('$(tokens off.json 0)', '\$[$index]')")" ]
    [ "$(json '$.files[0].cases[0].text_equal') $(json '$.files[0].cases[1].text_equal')" = '0 1' ]
    # The numbers of the tokens are right all the same
    [ "$(json '$.files[0].cases[0].greedy_equal')" = 1 ]
    [ "$(sql "select kind || ' ' || passed from golden where run_id = 1 and name = 'llama-text/text'")" = \
        "$(printf '%s\n' 'logits 1' 'greedy 1' 'text 0')" ]
    [[ $(sql "select first_bad from golden where not passed limit 1") == "token $index: "* ]]

    # A chat, and a suite
    sed 's/What is/What was/' "$TOY/golden.json" >chat-off.json
    printf '{"format": "rml-golden-manifest", "version": 1, "entries": [
        {"golden": "chat-off.json", "checkpoint": "%s"}]}' "$MODEL" >m.json
    run rml-golden suite m.json
    [ "$status" -eq 4 ]
    [[ $output == *"case chat: its text: token "* ]]
}

@test "wrong numbers are named beside a wrong text" {
    sed '0,/"logsumexp":/s//&1/; s/toy reads/top reads/' "$TOY/golden.json" >off.json
    run rml-golden check "$MODEL" off.json
    [ "$status" -eq 4 ]
    [[ $output == *"case text: its text: token "*"case text: first deviation: "*"position 0"* ]]
}

@test "a tokenizer that is not known never stops work on ids" {
    sed 's/gpt-2/gpt-9/' "$MODEL" >unknown.gguf
    try rml-golden check unknown.gguf "$TOY/golden.json" "$TOY/golden.json"
    [ "$status" -eq 0 ]
    [[ $stderr == *"unknown.gguf: pre-tokenizer 'gpt-9' is not known"*"judged by their tokens"* ]]
    [ "$(wc -l <.stderr)" -eq 1 ]
    [[ $output == *unknown*pass* ]]
    try rml-golden check -q unknown.gguf "$TOY/golden.json" --json
    [ -z "$stderr" ]
    [ "$(json '$.files[0].cases[0].text_equal')" = '' ]
    rml-golden record unknown.gguf --tokens 1,2 -o g.json
    try rml-golden record unknown.gguf --text hi -o t.json
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-golden: unknown.gguf: --text: pre-tokenizer 'gpt-9' is not known"* ]]
    [ ! -e t.json ]

    # None at all, half of one, and a template that is not known
    cp -r "$TOY/hf-text" bare
    rm bare/tokenizer*.json
    try rml-golden check bare "$TOY/golden.json"
    [ "$status" -eq 0 ]
    [[ $stderr == *judged\ by\ their\ tokens* ]]
    head -c 500 "$TOY/hf-text/tokenizer.json" >bare/tokenizer.json
    try rml-golden check bare "$TOY/golden.json"
    [ "$status" -eq 0 ]
    [ "$(wc -l <.stderr)" -eq 1 ]
    sed 's/<|im_start|>assistant/<|im_start|>Assistant/' "$MODEL" >template.gguf
    try rml-golden check template.gguf "$TOY/golden.json" --json
    [ "$status" -eq 0 ]
    [[ $stderr == *"unknown chat template"*"'chat' are judged by their tokens"* ]]
    [ "$(json '$.files[0].cases[0].text_equal') $(json '$.files[0].cases[2].text_equal')" = '1 ' ]
    try rml-golden record template.gguf --messages chat.json -o t.json
    [ "$status" -eq 1 ]
    [[ $stderr == "rml-golden: template.gguf: --messages: unknown chat template"* ]]
}

@test "record refuses what it cannot encode, and options without a use" {
    refused() { # STATUS MESSAGE ARGUMENTS...
        run rml-golden record "$MODEL" "${@:3}" -o t.json
        [ "$status" -eq "$1" ]
        [[ $output == *"$2"* ]]
        [ ! -e t.json ]
    }
    echo '{"messages": []}' >object.json
    echo '[{"role": "user"}]' >half.json
    echo '[{"role": "system", "content": "x"}]' >system.json
    refused 1 "no-file.json: cannot open" --messages no-file.json
    refused 1 "object.json: messages: an object, expected an array" --messages object.json
    refused 1 "half.json: messages[0]: no 'content', expected a string" --messages half.json
    refused 1 "--messages: " --messages system.json --chat-format gemma
    refused 1 "--text: no tokens found" --text '' --no-special
    refused 2 "--text: bytes found that are no UTF-8" --text $'\xff'
    refused 2 "--chat-format: 'x' found, expected one of: chatml" --messages chat.json --chat-format x
    refused 2 "--chat-format found, expected --messages" --text x --chat-format chatml
    refused 2 "--no-special found, expected --text" --messages chat.json --no-special
}

@test "a recording is a run in the database" {
    rml-golden record "$MODEL" --text hi -o g.json --force
    run rml-golden record "$MODEL" --tokens 320 -o g.json --force
    [ "$status" -eq 1 ]
    [ "$(sql "select group_concat(kind || ' ' || state || ' ' || exit_code) from run")" = \
        "golden complete 0,golden failed 1" ]
    rml-golden record "$MODEL" --text hi -o g.json --force --no-db
    [ "$(sql "select count(*) from run")" = 2 ]
    run rml-golden record "$MODEL" --text hi -o new.json --db /nonexistent/rml.db
    [ "$status" -eq 1 ]
    [[ $output == *"/nonexistent/rml.db"* ]]
    [ ! -e new.json ]
}
