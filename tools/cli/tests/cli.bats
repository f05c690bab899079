#!/usr/bin/env bats
# What every program shares, tried on rml-golden.

setup() {
    LLAMA=$RML_SOURCE_DIR/goldens/fixtures/llama
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export RML_DB=$FOLDER/rml.db XDG_CACHE_HOME=$FOLDER/cache
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

json() { sqlite3 :memory: "select json_extract('${output//\'/\'\'}', '$1')"; }

@test "--version says what it is and what it runs on" {
    run rml-golden --version
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "rml-golden "[0-9]* ]]
    [[ ${lines[1]} == "commit: "* ]]
    [[ ${lines[2]} == "compiler: "?* ]]
    [[ ${lines[3]} == "instruction sets: ref"* ]]
    first=$output
    run rml-golden check --version
    [ "$output" = "$first" ]
}

@test "--help lists commands; a command's lists its options" {
    run rml-golden --help
    [ "$status" -eq 0 ]
    for command in record check suite; do
        [[ $output == *$command* ]]
    done
    for command in record check suite; do
        run rml-golden $command --help
        [ "$status" -eq 0 ]
        [[ $output == *--threads=N* && $output == *--arithmetic=* && $output == *--kv=* ]]
    done
    [[ $output == *--no-db* && $output == *--json* ]]
}

# Of each program and command: what fits 80 columns, with no gaps and lists that keep their shape
@test "--help is laid out for 80 columns" {
    local program command help
    for program in golden bench eval results inspect tokenize quantize chat; do
        rml-$program --help >"$BATS_TEST_TMPDIR/own"
        for command in '' $(sed -n '/^Commands:/,/^$/ s/^  \([a-z]*\) .*/\1/p' "$BATS_TEST_TMPDIR/own"); do
            help=$BATS_TEST_TMPDIR/$program.$command
            rml-$program $command --help >"$help"
            echo "$program $command:"
            [ -z "$(grep -nE '.{80}| $' "$help")" ]
            [ "$(cat -s "$help")" = "$(cat "$help")" ]
            # nothing of a list at the margin, where a line of its own begins with a capital or ends a sentence
            [ -z "$(sed -n '/^Commands:/,/^$/ p; /^Kinds:/,/^$/ p' "$help" | grep -nE '^[a-z]')" ]
        done
    done
    [ "$(ls "$BATS_TEST_TMPDIR" | wc -l)" -gt 40 ]
}

@test "common options may stand before the command" {
    run rml-golden --threads 2 --no-db --json check "$LLAMA/model.gguf" "$LLAMA/golden.json"
    [ "$status" -eq 0 ]
    [ "$(json '$.passed')" = 1 ]
    [ "$(json '$.files[0].threads')" = 2 ]
}

@test "usage errors are exit 2 and say what was expected" {
    while IFS='|' read -r arguments expected; do
        # shellcheck disable=SC2086 # a list of words
        run rml-golden $arguments
        [ "$status" -eq 2 ]
        [[ $output == *"$expected"* ]]
    done <<'END'
|no command found, expected one of record, check or suite
frobnicate|'frobnicate' found, expected a command
check|expected a checkpoint and at least one golden file
check a|expected a checkpoint and at least one golden file
check a b --threads 0|--threads: '0' found, expected a whole number from 1 to 256
check a b --threads 1e1|--threads: '1e1' found
check a b --threads=257|--threads: '257' found
check a b --arithmetic f16|--arithmetic: 'f16' found, expected f32 or i8
check a b --kv q8|--kv: 'q8' found, expected f32, f16 or i8, or two of them as K:V
check a b --kv f16:|--kv: 'f16:' found
check a b --db x --no-db|--db and --no-db exclude each other
check a b --db=|--db: '' found
check a b --bogus|unrecognized option '--bogus'
check a b --json=1|doesn't allow an argument
check a b --threads|requires an argument
check a b --tolerance nan|--tolerance: 'nan' found
suite a b|'b' found, expected one manifest only
END
}

@test "a usage error with --json is a document too" {
    try rml-golden check --json
    [ "$status" -eq 2 ]
    [ "$(json '$.error.code')" = invalid-argument ]
    [[ $stderr == *"expected a checkpoint"* ]]
}

@test "output that is lost is an error" {
    rml-golden check "$LLAMA/model.gguf" "$LLAMA/golden.json" >/dev/null
    run bash -c "rml-golden check '$LLAMA/model.gguf' '$LLAMA/golden.json' 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    [ "$output" = "rml-golden: standard output: write failed: No space left on device" ]
    run bash -c "rml-golden check '$LLAMA/model.gguf' '$LLAMA/golden.json' 2>err | true; echo \${PIPESTATUS[0]}"
    [ "$output" = 141 ] # by SIGPIPE, as other programs end
    [ ! -s err ]
    run bash -c "rml-golden --help 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    run bash -c "rml-golden record '$LLAMA/model.gguf' --tokens 1 -o - 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
}

@test "closed standard streams do not become the database" {
    run bash -c "rml-golden check '$LLAMA/model.gguf' '$LLAMA/golden.json' --db closed.db >&- 2>/dev/null"
    [ "$status" -eq 1 ]
    [ "$(sqlite3 closed.db 'pragma integrity_check')" = ok ]
    [ "$(sqlite3 closed.db 'select count(*) from run')" = 1 ]
    run bash -c "rml-golden check '$LLAMA/model.gguf' '$LLAMA/golden.json' --db closed.db <&- 2>&-"
    [ "$status" -eq 0 ]
    [ "$(sqlite3 closed.db 'pragma integrity_check')" = ok ]
}

@test "no colours, no progress line where there is no terminal" {
    run rml-golden suite "$RML_SOURCE_DIR/goldens/MANIFEST.json"
    [ "$status" -eq 0 ]
    [[ $output != *$'\033'* && $output != *$'\r'* ]]
}

@test "colours on a terminal, but not with NO_COLOR or a dumb one" {
    command -v script >/dev/null || skip "script is not installed"
    check="rml-golden check $LLAMA/model.gguf $LLAMA/golden.json"
    run env TERM=xterm script -qec "$check" /dev/null
    [[ $output == *$'\033[32m'pass* ]]
    run env TERM=xterm NO_COLOR=1 script -qec "$check" /dev/null
    [[ $output != *$'\033[32m'* ]]
    run env TERM=xterm NO_COLOR= script -qec "$check" /dev/null
    [[ $output == *$'\033[32m'* ]]
    run env TERM=dumb script -qec "$check" /dev/null
    [[ $output != *$'\033'* ]]
}
