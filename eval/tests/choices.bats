#!/usr/bin/env bats
# rml-eval choices and loglik. Expected numbers are lm-eval's (see make/); tests of known defects
# of other programs are named after them.

load eval_run

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

@test "items whose pick says nothing are warned of, with their line, and scored" {
    cat >q.jsonl <<'END'
{"context": "a", "choices": ["b", "c"], "gold": 0}
{"context": "a", "choices": ["b"], "gold": 0}
{"context": "a", "choices": ["b", "c", "b"], "gold": 2}
{"context": "a", "choices": ["b"], "gold": 0}
END
    try rml-eval choices "$TOY" q.jsonl --no-db --json -q
    [ "$status" -eq 0 ]
    [ "$stderr" = "rml-eval: warning: q.jsonl: line 2: one choice alone found, which is always picked (2 of 4 items)
rml-eval: warning: q.jsonl: line 3: two choices that are the same found, of which the second is never picked (1 of 4 items)" ]
    [[ $output == *'"n": 4'* ]]
    printf '%s\n' '0,The _ is here,Ann,Bo,1' '1,The _ is here,Ann,Ann,1' >w.csv
    try rml-eval choices "$TOY" w.csv --format winogrande --no-db
    [[ $stderr == *"w.csv: line 2: two choices that are the same found"*"(1 of 2 items)"* ]]
    echo '{"context": "a", "continuation": "b"}' >p.jsonl
    try rml-eval loglik "$TOY" p.jsonl --no-db -q
    [ "$status $stderr" = '0 ' ]
}

@test "a NUL in a question of ARC or MMLU does not end it" {
    loglik() { rml-eval choices "$TOY" "$1" --no-db -q --items items.jsonl "${@:2}" >/dev/null && cut -d: -f3- items.jsonl; }
    question='a\u0000bc'
    echo "{\"question\": \"$question\", \"choices\": {\"text\": [\"x\", \"y\"], \"label\": [\"A\", \"B\"]}, \"answerKey\": \"A\"}" >arc.jsonl
    echo "{\"context\": \"Question: $question\\nAnswer:\", \"choices\": [\"x\", \"y\"], \"gold\": 0}" >as_arc.jsonl
    [ "$(loglik arc.jsonl --format arc)" = "$(loglik as_arc.jsonl)" ]
    echo "{\"question\": \"$question\", \"choices\": [\"x\\u0000y\", \"z\"], \"answer\": 0}" >mmlu.jsonl
    echo "{\"context\": \"$question\\nA. x\\u0000y\\nB. z\\nAnswer:\", \"choices\": [\"A\", \"B\"], \"gold\": 0}" >as_mmlu.jsonl
    [ "$(loglik mmlu.jsonl --format mmlu)" = "$(loglik as_mmlu.jsonl)" ]
}

@test "a run says which it is, and is found by its label" {
    questions 8 >q.jsonl
    try rml-eval choices "$TOY" q.jsonl --label mine
    [ "$status" -eq 0 ]
    [ "$stderr" = "rml-eval: run $(query "SELECT substr(uuid, 1, 8) FROM run WHERE label = 'mine'")" ]
    try rml-eval perplexity "$TOY" "$E/text.txt" --ctx 16 --label text -q
    [ "$status $stderr" = '0 ' ]
    [ "$(query "SELECT label FROM run WHERE id = 2")" = text ]
    try rml-eval choices "$TOY" q.jsonl --no-db --label none
    [ "$status $stderr" = '0 ' ]
    try rml-eval choices "$TOY" q.jsonl --label ''
    [ "$status" -eq 2 ]
    query "DELETE FROM eval WHERE run_id = 2"
    try rml-eval gate mine text --margin 0.1
    [ "$status" -eq 6 ] && [[ $stderr == *"run 'text' ("*") is of kind eval and holds no scored items"* ]]
}
