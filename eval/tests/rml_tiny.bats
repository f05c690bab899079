#!/usr/bin/env bats
# rml-tiny scores what its expected.json says, which a float64 forward pass in numpy worked out
# (goldens/make/rml_tiny/expected.py).

setup() {
    TINY=$RML_SOURCE_DIR/goldens/models/rml-tiny
    FOLDER=$(mktemp -d)
    cd "$FOLDER" || return
    export XDG_CACHE_HOME=$FOLDER/cache RML_DB=$FOLDER/eval.db
    unset RML_CPU RML_THREADS
    cp "$TINY/expected.json" want.json
}

teardown() { rm -rf "$FOLDER"; }

# sql QUERY: over the documents want.json and got.json
sql() {
    sqlite3 :memory: "CREATE TABLE f AS SELECT CAST(readfile('want.json') AS TEXT) AS want,
      CAST(readfile('got.json') AS TEXT) AS got; $1"
}

@test "perplexity in chunks, from the folder and from the GGUF" {
    for checkpoint in "$TINY" "$TINY/rml-tiny.gguf"; do
        for i in 0 1; do
            n_ctx=$(sqlite3 :memory: "SELECT json_extract(readfile('want.json'), '\$.perplexity[$i].n_ctx')")
            rml-eval perplexity "$checkpoint" "$TINY/held-out.txt" --ctx "$n_ctx" --json >got.json
            sql "SELECT json_extract(want, '\$.n_tokens') = json_extract(got, '\$.n_tokens'),
                        json_extract(want, '\$.perplexity[$i].n_scored') = json_extract(got, '\$.n_scored'),
                        abs(json_extract(got, '\$.ppl') / json_extract(want, '\$.perplexity[$i].ppl') - 1) < 1e-6
                 FROM f" | tee out.txt
            [ "$(<out.txt)" = '1|1|1' ]
        done
    done
}

@test "perplexity by each protocol is transformers'" {
    # transformers in float32, windows of lm-eval's own (eval/tests/make/perplexity_expectations.py)
    E=$RML_SOURCE_DIR/eval/tests/expected
    cp "$E/rml-tiny-perplexity.json" want.json
    while IFS='|' read -r name options; do
        # shellcheck disable=SC2086 # words
        rml-eval perplexity "$TINY" "$E/text.txt" --ctx 128 --json $options >got.json
        sql "SELECT '$name', json_extract(got, '\$.n_scored') = json_extract(want, '\$.\"$name\".n_scored'),
               abs(json_extract(got, '\$.nll_sum') / json_extract(want, '\$.\"$name\".nll_sum') - 1) < 1e-5
             FROM f"
    done >got.txt <<'END'
llama.cpp 128|
hf-stride 128 64|--protocol hf-stride
lm-eval 128|--protocol lm-eval
END
    printf '%s|1|1\n' 'llama.cpp 128' 'hf-stride 128 64' 'lm-eval 128' | diff - got.txt
}

@test "multiple choice: every log-likelihood, and what is picked" {
    for name in order cloze; do
        rml-eval choices "$TINY" "$TINY/$name.jsonl" --items items.jsonl --json >got.json
        sql "SELECT json_extract(want, '\$.$name.n') = json_extract(got, '\$.n'),
                    abs(json_extract(want, '\$.$name.acc') - json_extract(got, '\$.acc')) < 1e-12,
                    abs(json_extract(want, '\$.$name.acc_norm') - json_extract(got, '\$.acc_norm')) < 1e-12
             FROM f" | tee out.txt
        [ "$(<out.txt)" = '1|1|1' ]
        { printf '[' && paste -sd, items.jsonl && printf ']'; } >got.json
        sql "WITH w AS (SELECT i.key AS item, c.key AS choice, c.value AS loglik
                        FROM f, json_each(want, '\$.$name.loglik') i, json_each(i.value) c),
                  g AS (SELECT i.key AS item, c.key AS choice, c.value AS loglik
                        FROM f, json_each(got) i, json_each(i.value, '\$.loglik') c)
             SELECT count(*) = (SELECT count(*) FROM w), max(abs(w.loglik - g.loglik)) < 1e-4
             FROM w JOIN g USING (item, choice)" | tee out.txt
        [ "$(<out.txt)" = '1|1' ]
    done
}

@test "four bits cost a little, eight bits of cache hardly anything" {
    rml-quantize "$TINY" q4_k.gguf --type q4_k -q >/dev/null
    rml-eval kld "$TINY" q4_k.gguf "$TINY/held-out.txt" --ctx 128 --json >got.json
    [ "$(sql "SELECT json_extract(got, '\$.kld_mean') BETWEEN 1e-3 AND 2e-2 FROM f")" = 1 ]
    rml-eval kld "$TINY" --kv i8 --against-kv f32 "$TINY/held-out.txt" --ctx 128 --json >got.json
    [ "$(sql "SELECT json_extract(got, '\$.kld_mean') BETWEEN 1e-7 AND 1e-4 FROM f")" = 1 ]
}
