#!/usr/bin/env bats
# What rml-eval keeps: scores in the database, reused, merged, resumed. Tests of known defects of
# other programs are named after them.

load eval_run

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
    try rml-eval choices "$TOY" q.jsonl --threads 1 --items second.jsonl
    [[ $stderr == *"choices: 80 scores were there already, 0 are new (--fresh computes all anew)"* ]]
    cmp first.jsonl second.jsonl
    cmp first.txt stdout.txt
    try rml-eval choices "$TOY" q.jsonl --fresh --threads 3 --items third.jsonl -v
    [[ $stderr != *"were there already"* ]]
    cmp first.jsonl third.jsonl
    questions 21 >more.jsonl
    try rml-eval choices "$TOY" more.jsonl
    [[ $stderr == *"choices: 80 scores were there already, 4 are new"* ]]
    kld() { try rml-eval kld "$TOY" --kv i8 --against-kv f32 "$E/text.txt" --ctx 64 --head --limit "$@"; }
    kld 2 && [[ $stderr != *"were there already"* ]]
    kld 5 && [[ $stderr == *"kld: 2 windows were there already, 3 are new"* ]]
    kld 5 -q && [ -z "$stderr" ]
}

@test "order-dependent sums: shards are disjoint, and merged in any order give the same totals" {
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
    for order in 't1.db t2.db' 't2.db t1.db'; do
        rm -f text.db
        # shellcheck disable=SC2086 # words
        rml-results merge $order --db text.db -q >/dev/null
        rml-eval perplexity "$TOY" "$E/text.txt" --ctx 64 --db text.db --json -q >again.json
        cmp whole.json again.json
    done
}

@test "a run killed after 10 hours starts from zero" {
    # on a model that is slow enough for some scores to be kept before the end
    head -n 120 "$RML_SOURCE_DIR/goldens/models/rml-tiny/order.jsonl" >items.jsonl
    run "$RML_SOURCE_DIR/eval/tests/kill_and_resume_scores" 3 "$RML_SOURCE_DIR/goldens/models/rml-tiny" items.jsonl
    echo "$output"
    [ "$status" -eq 0 ]
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
