#!/usr/bin/env bats
# Where rml-eval's outputs go, and what it says when they cannot.

load eval_run

TINY=$RML_SOURCE_DIR/goldens/models/rml-tiny

@test "an output that cannot be opened is found out before anything is read or scored" {
    questions 2 >q.jsonl
    mkdir folder
    # the checkpoint and the texts are not there either: the output comes first
    while read -r command; do
        for name in /nonexistent/x folder folder/; do
            # shellcheck disable=SC2086 # words
            try rml-eval ${command/OUT/$name} --db eval.db --json
            echo "$command: $stderr"
            [ "$status" -eq 1 ]
            reason='Is a directory'
            [ "$name" != /nonexistent/x ] || reason='No such file or directory'
            [ "$stderr" = "rml-eval: $name: cannot open for writing: $reason" ]
            [ "$(sqlite3 :memory: "SELECT readfile('stdout.txt') ->> '\$.error.file'")" = "$name" ]
            [ ! -e eval.db ]
        done
    done <<'END'
choices nowhere nothing --items OUT
loglik nowhere nothing --items OUT
generate nowhere nothing --items OUT
task nowhere nothing --items OUT
kld nowhere nobody nothing --save-base OUT
compare 1 2 --markdown OUT
compare 1 2 --junit OUT
gate 1 2 --margin 1 --markdown OUT
gate 1 2 --margin 1 --junit OUT
END
    try rml-eval sweep nowhere nothing -o /nonexistent/x.csv
    [ "$status" -eq 1 ] && [ "$stderr" = "rml-eval: /nonexistent/x.csv: cannot open for writing: No such file or directory" ]
    # looking leaves nothing behind, and waits for nobody at the end of a pipe
    mkfifo pipe
    try timeout 20 rml-eval choices nowhere nothing --items pipe
    [ "$status" -eq 1 ] && [[ $stderr == *nothing* ]]
    try rml-eval choices nowhere nothing --items folder/new.jsonl
    [ "$status" -eq 1 ] && [ -z "$(ls folder)" ]
    echo kept >old.jsonl
    try rml-eval choices nowhere nothing --items old.jsonl
    [ "$status" -eq 1 ] && [ "$(<old.jsonl)" = kept ]
    ! compgen -G '*.tmp-*'
}

@test "an output that is an input, or another output, is refused: it would be lost" {
    questions 2 >q.jsonl
    cp q.jsonl same.jsonl && ln -s q.jsonl link.jsonl && ln q.jsonl hard.jsonl
    for name in q.jsonl ./q.jsonl link.jsonl hard.jsonl "$PWD/q.jsonl"; do
        try rml-eval choices "$TOY" q.jsonl --no-db --items "$name"
        [ "$status" -eq 1 ] && [ "$stderr" = "rml-eval: $name: an output that is named on the command line again, expected a file of its own" ]
        try rml-eval choices "$TOY" q.jsonl --no-db --items="$name"
        [ "$status" -eq 1 ]
    done
    cmp q.jsonl same.jsonl
    cp "$TINY/held-out.txt" text.txt
    try rml-eval kld "$TINY" --kv f16 --against-kv f32 text.txt --ctx 64 --no-db --save-base text.txt
    [ "$status" -eq 1 ] && cmp text.txt "$TINY/held-out.txt"
    echo >m.md
    try rml-eval gate 1 2 --margin 1 --markdown m.md --junit m.md
    [ "$status" -eq 1 ] && [[ $stderr == *"m.md: an output that is named"* ]]
    # a file of its own that is there already is replaced
    rml-eval choices "$TOY" q.jsonl --no-db -q --items same.jsonl >/dev/null
    ! cmp -s q.jsonl same.jsonl
}

@test "an output that is the database, another output, a task's file or a part of the checkpoint is refused" {
    questions 2 >q.jsonl
    export RML_DB=$PWD/r.db
    rml-eval choices "$TOY" q.jsonl -q >/dev/null
    refused() { # NAME WORDS...
        local name=$1
        shift
        try rml-eval "$@"
        echo "$*: $stderr"
        [ "$status" -eq 1 ] && [[ $stderr == "rml-eval: $name: an output that "*", expected a file of its own" ]]
    }
    refused r.db choices "$TOY" q.jsonl --items r.db
    refused new.db choices "$TOY" q.jsonl --db new.db --items new.db
    [ ! -e new.db ]
    mkdir results && refused results/rml.db choices "$TOY" q.jsonl --db results/rml.db --items results/rml.db
    env -u RML_DB rml-eval choices "$TOY" q.jsonl -q >/dev/null
    unset RML_DB
    refused results/rml.db compare 1 1 --markdown results/rml.db
    export RML_DB=$PWD/r.db
    refused z compare 1 1 --markdown ./z --junit z
    cp -r "$TINY" folder && chmod -R u+w folder
    for part in tokenizer.json config.json model.safetensors; do
        refused folder/$part choices folder q.jsonl --items folder/$part
        cmp folder/$part "$TINY/$part"
    done
    rml-eval choices folder q.jsonl -q --items folder/scores.jsonl >/dev/null
    rml-eval choices folder q.jsonl -q --items folder/scores.jsonl >/dev/null # one's own file again
    printf 'task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: q.jsonl}}\ntest_split: test
output_type: multiple_choice\ndoc_to_text: "{{context}}"\ndoc_to_choice: choices\ndoc_to_target: gold\n' >base.yaml
    printf 'include: base.yaml\n' >t.yaml
    cp q.jsonl same.jsonl && cp base.yaml same.yaml
    refused q.jsonl task folder t.yaml --items q.jsonl
    refused base.yaml task folder t.yaml --items base.yaml
    cmp q.jsonl same.jsonl && cmp base.yaml same.yaml
    [ "$(sqlite3 r.db 'PRAGMA integrity_check')" = ok ]
}

# More than what is buffered, so that the disk is full in the middle.
@test "a full disk is named as what it is, whoever writes" {
    reason='rml-eval: /dev/full: cannot write: No space left on device'
    sqlite3 :memory: "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 700)
        SELECT json_object('id', printf('%0100d', i), 'context', 'a', 'choices', json_array('b', 'c'), 'gold', 0) FROM n" >many.jsonl
    try rml-eval choices "$TOY" many.jsonl --no-db --items /dev/full
    [ "$status" -eq 1 ] && [ "$stderr" = "$reason" ]
    try rml-eval kld "$TINY" --kv f16 --against-kv f32 "$TINY/held-out.txt" --ctx 64 --head --limit 2 --no-db --save-base /dev/full
    [ "$status" -eq 1 ] && [ "$stderr" = "$reason" ]
    printf 'task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: long.jsonl}}\ntest_split: test
output_type: multiple_choice\ndoc_to_text: "{{context}}"\ndoc_to_choice: choices\ndoc_to_target: gold\n' >t.yaml
    sqlite3 :memory: "SELECT json_object('context', replace(printf('%040000d', 0), '0', 'a b '), 'choices', json_array('b', 'c'), 'gold', 0)" >long.jsonl
    try rml-eval task "$TOY" t.yaml --no-db --items /dev/full
    [ "$status" -eq 1 ] && [ "$stderr" = "$reason" ]
}

@test "-o - and --items - are standard output, alone" {
    rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 64 --head --limit 2 --kv f32,f16 --arithmetic f32 -o - >a.json
    [ "$(sql "json_array_length(a, '\$.rows') = 2 AND json_extract(a, '\$.rows[1].kld_mean') > 0")" = 1 ]
    # kept before: no speed, and what brings it
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 64 --head --limit 2 --kv f32,f16 --arithmetic f32 -o -
    [ "$status" -eq 0 ] && [[ $stderr == *"2 of 2 settings were kept before and have no speed here (--fresh runs all anew)"* ]]
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" -o - --json
    [ "$status" -eq 2 ] && [[ $stderr == *"--json and -o - both want standard output"* ]]
    questions 2 >q.jsonl
    for command in 'choices q.jsonl' 'loglik p.jsonl' 'generate g.jsonl --max-tokens 2'; do
        echo '{"context": "a", "continuation": " b"}' >p.jsonl
        echo '{"context": "a", "gold": "b"}' >g.jsonl
        # shellcheck disable=SC2086 # words
        rml-eval ${command%% *} "$TOY" ${command#* } --no-db --items - >lines.jsonl
        lines lines.jsonl >a.json
        [ "$(sql "json_array_length(a) > 0")" = 1 ]
    done
}

@test "--chat without a template names the checkpoint and the formats there are" {
    questions 2 >q.jsonl
    echo '{"context": "a", "gold": "b"}' >g.jsonl
    for command in 'choices q.jsonl' 'generate g.jsonl --max-tokens 2'; do
        # shellcheck disable=SC2086 # words
        try rml-eval ${command%% *} "$TINY" ${command#* } --no-db --chat
        echo "$stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: $TINY: the checkpoint has no chat template; expected one that is known, or --chat=NAME with one of: chatml"*gemma* ]]
    done
    try rml-eval choices "$TINY" q.jsonl --no-db --chat=nope
    [ "$status" -eq 2 ] && [[ $stderr == *"--chat: 'nope' found, expected one of: chatml"*gemma* ]]
}
