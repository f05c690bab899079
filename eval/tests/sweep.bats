#!/usr/bin/env bats
# rml-eval sweep: every figure is that of rml-eval kld and perplexity for the same setting, which
# are held against numpy (kld.bats, rml_tiny.bats).

load eval_run

setup_file() {
    export TINY=$RML_SOURCE_DIR/goldens/models/rml-tiny
}

# row FILE CHECKPOINT ARITHMETIC KV: that row of the table
row() {
    sqlite3 :memory: "SELECT value FROM json_each(CAST(readfile('$1') AS TEXT), '\$.rows')
        WHERE value->>'checkpoint' = '$2' AND value->>'arithmetic' = '$3'
          AND value->>'k_dtype' || ':' || (value->>'v_dtype') = '$4'"
}

@test "a row is what kld and perplexity say of that setting" {
    rml-quantize "$TINY" q8.gguf --type q8_0 -q >/dev/null
    text=(--ctx 128 --limit 5)
    rml-eval sweep "$TINY" "$TINY/held-out.txt" "${text[@]}" --variant q8.gguf --no-db --json -o s.csv >s.json
    # nine pairs and two arithmetics of each; i8 of weights that are not quantised is skipped by name
    [ "$(sqlite3 :memory: "SELECT count(*), sum(value->>'status' = 'ok'), sum(value->>'is_base'),
        sum(value->>'reason' LIKE 'no matrix is quantised%')
        FROM json_each(CAST(readfile('s.json') AS TEXT), '\$.rows')")" = '36|27|1|9' ]
    keys='kld_mean kld_stderr kld_median kld_p99 kld_max same_top dp_mean dp_rms ppl base_ppl ppl_ratio ln_ppl_ratio ln_ppl_ratio_stderr n_scored'
    expect_row() { # CHECKPOINT ARITHMETIC KV, with b.json the outcome of kld
        row s.json "$@" >a.json
        for key in $keys; do
            [ "$(sql "a->>'$key' = b->>'$key' AND a->>'$key' IS NOT NULL")" = 1 ]
        done
    }
    rml-eval kld "$TINY" --kv i8:f16 --against-kv f32 "$TINY/held-out.txt" "${text[@]}" --no-db --json >b.json
    expect_row "$TINY" f32 i8:f16
    rml-eval kld "$TINY" q8.gguf "$TINY/held-out.txt" "${text[@]}" --no-db --json >b.json
    expect_row q8.gguf f32 f32:f32
    rml-eval perplexity q8.gguf "$TINY/held-out.txt" "${text[@]}" --arithmetic i8 --kv f16:i8 --no-db --json >b.json
    row s.json q8.gguf i8 f16:i8 >a.json
    [ "$(sql "abs(a->>'ppl' / (b->>'ppl') - 1) < 1e-13")" = 1 ]
    # the base: no divergence, its own perplexity
    rml-eval perplexity "$TINY" "$TINY/held-out.txt" "${text[@]}" --no-db --json >b.json
    row s.json "$TINY" f32 f32:f32 >a.json
    [ "$(sql "a->>'kld_mean' = 0 AND a->>'kld_max' = 0 AND a->>'same_top' = 1
        AND abs(a->>'ppl' / (b->>'ppl') - 1) < 1e-13")" = 1 ]
    # 2 layers of 2 heads of 32 keys and values for 2 pages of 64 tokens, as in its config.json
    [ "$(sql "a->>'kv_bytes' = (SELECT 2 * 4 * 128 * (c->>'num_hidden_layers') *
        (c->>'num_key_value_heads') * coalesce(c->>'head_dim', c->>'hidden_size' / (c->>'num_attention_heads'))
        FROM (SELECT CAST(readfile('$TINY/config.json') AS TEXT) AS c))")" = 1 ]
    # the same as CSV
    sqlite3 csv.db -cmd '.mode csv' '.import s.csv t' ''
    [ "$(sqlite3 csv.db "SELECT count(*) FROM t, json_each(CAST(readfile('s.json') AS TEXT), '\$.rows') AS j
        WHERE j.key = t.rowid - 1 AND t.checkpoint = j.value->>'checkpoint'
          AND CAST(t.kld_mean AS REAL) = j.value->>'kld_mean'")" -eq 27 ]
}

@test "the base's perplexity is numpy's" {
    for i in 0 1; do
        n_ctx=$(sqlite3 :memory: "SELECT json_extract(readfile('$TINY/expected.json'), '\$.perplexity[$i].n_ctx')")
        rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx "$n_ctx" --kv f32,f16 --arithmetic f32 --json --no-db >a.json
        cp "$TINY/expected.json" b.json
        [ "$(sql "abs(json_extract(a, '\$.rows[0].ppl') / json_extract(b, '\$.perplexity[$i].ppl') - 1) < 1e-6
            AND json_extract(a, '\$.rows[0].n_scored') = json_extract(b, '\$.perplexity[$i].n_scored')
            AND json_extract(a, '\$.rows[1].kld_mean') > 0")" = 1 ]
    done
}

@test "every setting is a run; a second sweep, and kld, find what is there" {
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 128 --limit 6 --kv f32,i8,f16:i8 --arithmetic f32 -o first.json
    [ "$status" -eq 0 ]
    [ "$(query "SELECT count(*), count(DISTINCT label), sum(state = 'complete' AND exit_code = 0) FROM run")" = '3|1|3' ]
    [ "$(query "SELECT count(*), count(DISTINCT request_sha256) FROM eval_item")" = '18|18' ]
    [ "$(query "SELECT count(DISTINCT run_id) FROM eval_metric WHERE metric = 'weight_bytes' AND value > 0")" -eq 3 ]
    [ "$(query "SELECT count(*) FROM eval WHERE base_k_dtype = 'f32' AND base_arithmetic = 'f32' AND k_dtype || v_dtype IN ('i8i8', 'f16i8', 'f32f32')")" -eq 3 ]
    try rml-eval kld "$TINY" --kv i8 --against-kv f32 "$TINY/held-out.txt" --ctx 128 --limit 6 --json
    cp stdout.txt b.json
    [ "$(query "SELECT count(DISTINCT request_sha256) FROM eval_item")" -eq 18 ]
    # one more setting: only that is computed, also with other threads; the label says that it is another sweep
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 128 --limit 6 --kv f32,i8,f16:i8,f16 --arithmetic f32 --threads 1 -o second.json
    [ "$(query "SELECT count(DISTINCT request_sha256) FROM eval_item")" -eq 24 ]
    # a speed that is missing has its reason beside it
    [ "$(grep -c ' - .* kept before *$' stdout.txt)" -eq 2 ]
    [ "$(grep -c 'kept before' stdout.txt)" -eq 2 ]
    for i in 0 1 2; do
        [ "$(sqlite3 :memory: "SELECT json_extract(readfile('first.json'), '\$.rows[$i].kld_mean') =
            json_extract(readfile('second.json'), '\$.rows[$i].kld_mean')
            AND json_extract(readfile('second.json'), '\$.rows[$i].n_windows_reused') = 6
            AND json_extract(readfile('second.json'), '\$.rows[$i].n_windows_computed') = 0")" = 1 ]
    done
    [ "$(sqlite3 :memory: "SELECT json_extract(readfile('first.json'), '\$.label') <> json_extract(readfile('second.json'), '\$.label')")" = 1 ]
}

@test "the chart of quality has each setting over its memory and its speed" {
    rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 128 --limit 4 --kv f32,i8,f16:i8 --arithmetic f32 -o s.json >/dev/null
    RML_PLOTS_DIR=$RML_SOURCE_DIR/results/plots rml-results plot quality -o q.png --data q.dat
    [ -s q.png ]
    # two settings in two panels: the base has no place on a logarithmic axis
    [ "$(grep -c '^"over ' q.dat)" -eq 4 ]
    sqlite3 :memory: "SELECT printf('%.12g', (value->>'weight_bytes' + (value->>'kv_bytes')) / 1e6) || ' ' ||
        printf('%.12g', value->>'tokens_per_second') || ' ' || printf('%.12g', value->>'kld_mean')
        FROM json_each(CAST(readfile('s.json') AS TEXT), '\$.rows') WHERE NOT value->>'is_base'" | {
        n=0
        while read -r memory speed kld; do
            grep '^"over memory in MB' q.dat | grep -q " $memory \".*\" $kld "
            grep '^"over scored tokens/s' q.dat | grep -q " $speed \".*\" $kld "
            n=$((n + 1))
        done
        [ $n -eq 2 ]
    }
}

@test "the panels of quality that compare something are drawn, whatever came after" {
    rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 128 --head --limit 2 --kv f32,i8,f16 --arithmetic f32 >/dev/null
    for n in 20 21 22 23 24 25 26 27 28; do # no two of these have a context in common
        rml-eval perplexity "$TINY" "$TINY/held-out.txt" --ctx $n --head --limit 1 -q >/dev/null
    done
    RML_PLOTS_DIR=$RML_SOURCE_DIR/results/plots rml-results plot quality -o q.svg --data q.dat 2>note
    grep -q '2 of 20 panels drawn; with nothing to compare: 18, more than fit into one chart: 0' note
    for what in memory scored; do # both settings beside the base
        [ "$(grep -c "^\"over $what" q.dat)" -eq 2 ]
    done
    grep -q '^"Quality.*"kld_mean of kld' q.dat # what is the same in all of them
    # the sweep alone, by its label, which all its runs have
    RML_PLOTS_DIR=$RML_SOURCE_DIR/results/plots rml-results plot quality -o q.svg --data q.dat \
        --run "$(query "SELECT label FROM run LIMIT 1")"
    grep -q '^# rows: 4 in 2 panels' q.dat
}

@test "speed of decoding is what rml-bench has measured, and nothing else" {
    rml-bench decoder "$TINY/rml-tiny.gguf" --threads 1 --kv f16 --arithmetic f32 --gen 4 --prompt 0 --reps 21 -q >/dev/null || true
    n=$(query "SELECT count(*) FROM v_chart WHERE suite = 'decoder' AND n_gen > 0 AND tokens_per_second > 0")
    [ "$n" -gt 0 ]
    rml-eval sweep "$TINY/rml-tiny.gguf" "$TINY/held-out.txt" --ctx 64 --limit 2 --kv f32,f16 --arithmetic f32 --threads 1 --json >a.json
    [ "$(sql "json_extract(a, '\$.rows[0].decode_tokens_per_second') IS NULL AND json_extract(a, '\$.rows[1].decode_tokens_per_second') > 0")" = 1 ]
    [ "$(query "SELECT count(*) FROM v_chart WHERE run_uuid = '$(sql "json_extract(a, '\$.rows[1].decode_run')")'")" -gt 0 ]
}

@test "what is no variant is refused by name before anything runs" {
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --variant "$TOY"
    [ "$status" -eq 1 ]
    [[ $stderr == *"$TOY: a vocabulary of "*" tokens found, expected the base's "* ]]
    # as many tokens, two of them exchanged
    cp -r "$TINY" other && rm other/rml-tiny.gguf
    sqlite3 :memory: "WITH t AS (SELECT CAST(readfile('other/tokenizer.json') AS TEXT) AS t)
        SELECT json_set(t, '\$.model.vocab.e', json_extract(t, '\$.model.vocab.t'), '\$.model.vocab.t', json_extract(t, '\$.model.vocab.e')) FROM t" >t.json
    mv t.json other/tokenizer.json
    rml-quantize other other.gguf --type q8_0 -q --no-db >/dev/null
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --variant other.gguf
    [ "$status" -eq 1 ]
    [[ $stderr == *"other.gguf: its tokenizer gives other ids for "* ]]
    head -c 5000 "$TINY/rml-tiny.gguf" >cut.gguf
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --variant cut.gguf
    [ "$status" -eq 1 ] && [[ $stderr == *"cut.gguf"* ]]
    cp "$TINY/rml-tiny.gguf" same.gguf
    try rml-eval sweep "$TINY/rml-tiny.gguf" "$TINY/held-out.txt" --variant same.gguf
    [ "$status" -eq 1 ] && [[ $stderr == *"same.gguf: the content of"* ]]
    for wrong in '--kv f32,f33' '--kv f32,f32' '--arithmetic f16' '-o x.txt'; do
        # shellcheck disable=SC2086 # two words
        try rml-eval sweep "$TINY" "$TINY/held-out.txt" $wrong
        [ "$status" -eq 2 ]
    done
    [ ! -e "$RML_DB" ]
}

@test "a plan lists what would run" {
    try rml-eval sweep "$TINY" "$TINY/held-out.txt" --ctx 128 --kv f32,i8 --plan --json
    [ "$status" -eq 0 ] && [ ! -e "$RML_DB" ]
    cp stdout.txt a.json
    [ "$(sql "json_array_length(a, '\$.rows') = 4 AND json_extract(a, '\$.rows[3].status') = 'skipped'
        AND json_extract(a, '\$.n_windows') > 10 AND json_extract(a, '\$.rows[0].kld_mean') IS NULL")" = 1 ]
}

@test "a sweep that is killed loses and doubles nothing" {
    run "$RML_SOURCE_DIR/eval/tests/kill_and_resume_sweep" 3 "$TINY" "$TINY/held-out.txt"
    echo "$output"
    [ "$status" -eq 0 ]
}
