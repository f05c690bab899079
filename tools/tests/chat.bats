#!/usr/bin/env bats
# rml-chat as its users see it. The toy's greedy replies are those of its golden (numpy in float64),
# as text by the tokenizers package.

setup() {
    TOYS=$RML_SOURCE_DIR/goldens/fixtures/llama-text
    TOY=$TOYS/model.gguf
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export XDG_CACHE_HOME=$FOLDER/cache XDG_DATA_HOME=$FOLDER/data RML_THREADS=1
    unset RML_DB
    PLAIN=(--temp 0 --repeat-penalty 1 --kv f32 --no-db)
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

field() { # of the JSON in $output
    sqlite3 :memory: "select json_extract(readfile('.json'), '\$.$1')" 2>&1
}

try_json() {
    try "$@" --json
    printf '%s' "$output" >.json
}

# A copy of the toy's folder without its chat template.
base_model() {
    cp -r "$TOYS/hf-text" base
    echo '{"bos_token": "<s>", "eos_token": "</s>"}' >base/tokenizer_config.json
}

@test "one answer, from either file, is the golden's" {
    for model in "$TOY" "$TOYS/hf-text"; do
        try_json rml-chat "$model" -p 'What is text?' --system 'You are a toy.' "${PLAIN[@]}" \
            --max-tokens 8
        [ "$status" -eq 0 ]
        [ "$(field reply)" = $'"esLP\xef\xbf\xbdad\xef\xbf\xbd7' ]
        [ "$(field finish)" = limit ]
        [ "$(field chat_format)" = chatml ]
        [ "$(field n_prompt)" = 27 ]
        [ "$(field n_generated)" = 8 ]
        [ "$(field n_drafted)" = "" ]
    done
}

@test "standard output is the reply's bytes and a newline, figures go to standard error" {
    try rml-chat "$TOY" -p 'What is text?' --system 'You are a toy.' "${PLAIN[@]}" --max-tokens 8
    [ "$status" -eq 0 ]
    [ "$output" = $'"esLP\xb2ad\xc37' ]
    [[ "$stderr" == "rml-chat: prompt 27 tokens at "*" (and 0 cached), reply 8 at "*", cut at --max-tokens" ]]
    try rml-chat "$TOY" -q -p - --system 'You are a toy.' "${PLAIN[@]}" --max-tokens 8 \
        <<<'What is text?'
    [ "$output" = $'"esLP\xb2ad\xc37' ]
    [ "$stderr" = "" ]
}

@test "plain text is continued until EOS with --raw" {
    try_json rml-chat "$TOY" --raw -p "The toy reads text, 123 times; it isn't long." "${PLAIN[@]}"
    [ "$status" -eq 0 ]
    [ "$(field finish)" = stop ]
    [ "$(field stop_id)" = 1 ]
    [ "$(field n_generated)" = 5 ]
    [ "$(field reply)" = $'B\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd' ]
}

@test "a conversation: a line is a turn, the history is cached, /reset forgets it" {
    chat() { rml-chat "$TOY" --system 'You are a toy.' "${PLAIN[@]}" --max-tokens 8; }
    try chat <<<$'What is text?\nAnd more?\n/reset\nWhat is text?\n\nnever said'
    [ "$status" -eq 0 ]
    mapfile -t lines <<<"$output"
    [ "${#lines[@]}" -eq 3 ]
    [ "${lines[0]}" = $'"esLP\xb2ad\xc37' ]
    [ "${lines[2]}" = "${lines[0]}" ]
    mapfile -t notes <<<"$stderr"
    [ "${#notes[@]}" -eq 3 ]
    [[ "${notes[1]}" =~ "(and "([0-9]+)" cached)" ]]
    [ "${BASH_REMATCH[1]}" -ge 27 ] # at least the first turn's prompt
    try chat <<<$'/help\n'
    [ "$output" = "" ]
    [[ "$stderr" == "/reset "* ]]
}

@test "an unknown command is not for the model, and // says a slash" {
    chat() { rml-chat "$TOY" --raw "${PLAIN[@]}" --max-tokens 4; }
    try chat <<<$'/rest now\nHi\n'
    [ "$status" -eq 1 ]
    mapfile -t lines <<<"$stderr"
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" == *"unknown command '/rest', expected /reset or /help"* ]]
    [[ "${lines[1]}" == "rml-chat: prompt "* ]]
    try chat -q <<<$'//usr\n'
    [ "$status" -eq 0 ]
    said=$output
    try rml-chat "$TOY" --raw "${PLAIN[@]}" --max-tokens 4 -p /usr
    [ "$output" = "$said" ]
    try chat <<<$'/reset \n'
    [ "$status" -eq 0 ]
    [ "$stderr" = "" ]
}

@test "equal seeds give equal replies" {
    sampled() { rml-chat "$TOY" -q --no-db -p 'What is text?' --max-tokens 30 --temp 2 --seed "$1"; }
    try sampled 3
    first=$output
    try sampled 3
    [ "$output" = "$first" ]
    [ "$first" != "" ]
    try sampled 4
    [ "$output" != "$first" ]
}

@test "a draft changes nothing that is said greedily" {
    ask() {
        rml-chat "$TOY" --temp 0 --no-db -p 'What is text?' --max-tokens 40 --kv f32 "$@"
    }
    try ask
    alone=$output
    try ask --draft "$TOYS/hf-text" --draft-tokens 3
    [ "$status" -eq 0 ]
    [ "$output" = "$alone" ]
    [[ "$stderr" == *", draft: 100% kept, "* ]]
}

@test "a draft of other tokens is refused" {
    cp -r "$TOYS/hf-text" other
    sed -i 's/<|im_end|>/<|im_stop|>/' other/tokenizer.json
    try rml-chat "$TOY" --no-db -p x --draft other
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-chat: other: the draft's token 3 is '<|im_stop|>', expected the model's '<|im_end|>'" ]
    try rml-chat "$TOY" --no-db -p x --draft nothing
    [ "$status" -eq 1 ]
    [[ "$stderr" == "rml-chat: nothing: "* ]]
}

@test "a model without a chat template says what to do" {
    base_model
    try rml-chat base --no-db -p x
    [ "$status" -eq 1 ]
    [[ "$stderr" == "rml-chat: base: the checkpoint has no chat template; "*--chat-format*--raw* ]]
    try rml-chat base --chat-format chatml -p 'What is text?' --system 'You are a toy.' -q \
        "${PLAIN[@]}" --max-tokens 8
    [ "$output" = $'"esLP\xb2ad\xc37' ]
    try rml-chat base --chat-format nothing --no-db -p x
    [ "$status" -eq 2 ]
    [[ "$stderr" == "rml-chat: --chat-format: 'nothing' found, expected one of: chatml, "*", gemma3"* ]]
}

@test "bad usage, bad values and what does not fit" {
    for bad in "" "$TOY $TOY" "$TOY --raw --system x" "$TOY --json" "$TOY --temp -1" \
        "$TOY --top-p 0" "$TOY --min-p 1" "$TOY --top-k x" "$TOY --repeat-penalty 0" \
        "$TOY --max-tokens 0" "$TOY --draft-tokens 65"; do
        # shellcheck disable=SC2086 # words
        try rml-chat $bad --no-db
        [ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
        [[ "$output" == "" || "$output" == '{"error"'* ]]
    done
    try rml-chat "$TOY" --no-db -p 'What is text?' --system 'You are a toy.' --ctx 20
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-chat: the conversation has 27 tokens, expected at most --ctx 20" ]
    # In a script one turn that fails does not end the conversation, but the exit code says it.
    try rml-chat "$TOY" "${PLAIN[@]}" --max-tokens 2 --ctx 30 \
        <<<$'What is text and what is it for, in many words that do not fit?\nHi'
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"expected at most --ctx 30"*"reply 2 at"* ]]
    printf '{"eos_token_id": 999}' >generation_config.json
    cp "$TOYS"/hf-text/* .
    try rml-chat . --no-db -p x
    [ "$status" -eq 1 ]
    [ "$stderr" = "rml-chat: ./generation_config.json: eos_token_id is 999, expected 0 to 319" ]
}

@test "a full context ends the reply" {
    try_json rml-chat "$TOY" -p 'What is text?' --system 'You are a toy.' "${PLAIN[@]}" --ctx 30
    [ "$(field finish)" = full ]
    [ "$(field n_generated)" = 4 ] # three are run, the fourth has no place
}

@test "the run is a row of the database" {
    try rml-chat "$TOY" -p x --max-tokens 2 --db runs.db --seed 5
    [ "$status" -eq 0 ]
    run sqlite3 runs.db "select kind, state, exit_code, seed from run"
    [ "$output" = "chat|complete|0|5" ]
    # of which checkpoint, where its hash is known without reading all of it
    known="select m.content_sha256 from run_model join model as m on m.id = model_id where run_id = (select max(id) from run)"
    [ "$(sqlite3 runs.db "$known")" = '' ]
    rml-inspect --verify "$TOY" >/dev/null # computes it, and notes it
    rml-chat "$TOY" -q -p x --max-tokens 2 --db runs.db
    [ "$(sqlite3 runs.db "$known")" = "$(sha256sum <"$TOY" | cut -d ' ' -f 1)" ]
    try rml-chat "$TOY" -p x --ctx 1 --db runs.db
    run sqlite3 runs.db "select state, exit_code from run order by id desc limit 1"
    [ "$output" = "failed|1" ]
}

@test "at a terminal a reply cannot drive it" {
    command -v script >/dev/null || skip "no script(1) here"
    wild=(rml-chat "$TOY" -q --no-db -p x --temp 5 --top-k 0 --top-p 1 --min-p 0
        --repeat-penalty 1 --max-tokens 200)
    "${wild[@]}" >raw
    LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' raw
    script -qec "$(printf '%q ' "${wild[@]}")" /dev/null </dev/null | tr -d '\r' >shown
    [ -s shown ]
    ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' shown || false
    iconv -f UTF-8 -t UTF-8 shown >/dev/null
    # All else is there: the printable ASCII of both is the same.
    [ "$(LC_ALL=C tr -cd ' -~' <shown)" = "$(LC_ALL=C tr -cd ' -~' <raw)" ]
}

@test "a terminal gets a prompt and a line editor" {
    command -v script >/dev/null || skip "no script(1) here"
    ask="$(printf '%q ' rml-chat "$TOY" --system 'You are a toy.' "${PLAIN[@]}" --max-tokens 8)"
    # The typed X is rubbed out again.
    { sleep 1; printf 'What is text?X\177\n'; sleep 1; printf '\004'; } |
        script -qec "$ask" /dev/null >shown
    grep -q 'chat format chatml' shown
    grep -qF '> ' shown
    grep -qF $'"esLP\xef\xbf\xbdad\xef\xbf\xbd7' shown
    grep -q 'prompt 27 tokens' shown
}

@test "the real checkpoint answers" {
    model=${RML_MODELS_DIR-/nowhere}/SmolLM2-135M-Instruct.Q4_1.gguf
    [ -e "$model" ] || skip "SmolLM2-135M-Instruct.Q4_1.gguf is not here"
    unset RML_THREADS
    try_json rml-chat "$model" --no-db -p 'What is the capital of France?' --temp 0 --repeat-penalty 1 --arithmetic f32 --max-tokens 40
    [ "$status" -eq 0 ]
    [ "$(field finish)" = stop ]
    [[ "$(field reply)" == *Paris* ]]
    [ "$(field chat_format)" = smollm2 ]
}
