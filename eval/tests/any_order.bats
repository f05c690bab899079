#!/usr/bin/env bats
# Totals of rml-eval do not depend on the order of what they are of, to the last bit.

load eval_run

# shuffled FILE: three orders of its lines in 0/FILE, 1/FILE, 2/FILE
shuffled() {
    mkdir -p 0 1 2
    cp "$1" "0/$1"
    tac "$1" >"1/$1"
    shuf --random-source=<(yes 17) "$1" >"2/$1"
}

# same_totals FILE COMMAND...: the totals of --json of the three orders are one; FILE is put last
same_totals() {
    local file=$1
    shift
    for i in 0 1 2; do
        (cd "$i" && "$@" "$file" --no-db --json -q) >a.json
        sql "json_remove(a, '\$.documents', '\$.windows', '\$.items', '\$.settings',
            '\$.tasks[0].settings')" >"$i.json"
    done
    grep -q '[0-9]\.[0-9]' 0.json
    cmp 0.json 1.json
    cmp 0.json 2.json
}

# each EXPRESSION: of every `value` at `key` of the array in a.json
each() {
    sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('a.json') AS TEXT))"
}

documents() {
    lines <(questions 150) >a.json
    each "json_object('text', value->>'context' || ' ' || (value->>'\$.choices[0]'))" >docs.jsonl
    shuffled docs.jsonl
}

@test "order-dependent sums: documents in any order give the same perplexity and errors" {
    documents
    for options in '' '--protocol hf-stride --stride 5' '--protocol lm-eval'; do
        # shellcheck disable=SC2086 # words
        same_totals docs.jsonl rml-eval perplexity "$TOY" --documents jsonl --ctx 16 $options
    done
}

@test "order-dependent sums: the same of a KL divergence" {
    documents
    same_totals docs.jsonl rml-eval kld "$TOY" --kv i8 --against-kv f32 --documents jsonl --ctx 16
}

@test "order-dependent sums: the same of questions in groups and of pairs" {
    lines <(questions 150) >a.json
    each "json_object('id', key, 'context', value->'context', 'choices', value->'choices',
        'gold', value->'gold', 'group', 'group ' || (key % 37))" >q.jsonl
    shuffled q.jsonl
    same_totals q.jsonl rml-eval choices "$TOY"
    lines q.jsonl >a.json
    each "json_object('context', value->'context', 'continuation', ' ' || (value->>'\$.choices[1]'))" >p.jsonl
    shuffled p.jsonl
    same_totals p.jsonl rml-eval loglik "$TOY"
}

@test "order-dependent sums: the same of tasks" {
    cp "$E"/tasks/*.yaml "$E"/tasks/train.jsonl .
    shuffled "$(cp "$E/tasks/test.jsonl" . && echo test.jsonl)"
    for i in 0 1 2; do
        cp ./*.yaml train.jsonl "$i"
    done
    same_totals rolling.yaml rml-eval task "$TOY"
    # no examples: which documents get is drawn in their order
    same_totals cloze.yaml rml-eval task "$TOY" --num-fewshot 0
}

@test "order-dependent sums: the same of two runs that are compared" {
    documents
    for i in 0 1 2; do
        for kv in f32 i8; do
            rml-eval perplexity "$TOY" "$i/docs.jsonl" --documents jsonl --ctx 16 --kv "$kv" \
                --db "$i.db" -q >/dev/null
        done
        rml-eval compare 1 2 --db "$i.db" --json >a.json
        sql "json_remove(a, '\$.run_a', '\$.run_b')" >"$i.json"
    done
    grep -q '"stderr":[0-9]' 0.json
    cmp 0.json 1.json
    cmp 0.json 2.json
}
