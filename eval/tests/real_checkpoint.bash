# shellcheck shell=bash
# The real checkpoints score what lm-eval 0.4.13 and transformers say of them, both in float32
# (make/lm_eval_expectations.py and make/perplexity_expectations.py). Tests take a part of the items
# that the files hold; RML_REAL_ITEMS=512 takes all. mixed_questions.jsonl is scored in a context of
# 160, which some of its items do not fit.

load eval_run

model() {
    [ -n "${RML_MODELS_DIR-}" ] || skip "RML_MODELS_DIR is not set (ci/fetch-models)"
    MODEL=$RML_MODELS_DIR/$1
    [ -r "$MODEL" ] || skip "$MODEL is not there"
}

# choices_are_lm_evals QUESTIONS EXPECTED COUNT [OPTION...]: within 1e-3. Where float32 engines
# differ by more, EXPECTED has float64's figure, too (make/float64_loglik.py), and ours has to be
# nearer to it than lm-eval's.
choices_are_lm_evals() {
    local count=${RML_REAL_ITEMS:-$3}
    rml-eval choices "$MODEL" "$E/$1" --limit "$count" --head --no-db --items items.jsonl -q \
        "${@:4}" >/dev/null
    lines items.jsonl >a.json
    cp "$E/$2" b.json
    sqlite3 :memory: "CREATE TABLE f AS SELECT CAST(readfile('a.json') AS TEXT) AS a,
          CAST(readfile('b.json') AS TEXT) AS b;
        CREATE TABLE g AS SELECT i.key AS item, c.key AS choice, c.value AS loglik,
          i.value->>'pick' AS pick, i.value->>'greedy' AS greedy
          FROM f, json_each(a) AS i, json_each(i.value, '\$.loglik') AS c;
        CREATE TABLE w AS SELECT i.key AS item, c.key AS choice, c.value AS loglik,
          f.b->'greedy'->>i.key AS greedy,
          f.b->>('\$.float64.' || i.key || '.' || c.key) AS exact
          FROM f, json_each(b, '\$.loglik') AS i, json_each(i.value) AS c WHERE i.key < $count;
        SELECT 'items', count(DISTINCT item), 'choices', count(*) FROM w;
        SELECT 'items', count(DISTINCT item), 'choices', count(*),
          'off', sum(abs(g.loglik - w.loglik) >= 1e-3 AND
            (w.exact IS NULL OR abs(g.loglik - w.exact) >= abs(w.loglik - w.exact))), 'greedy', sum(g.greedy <> w.greedy)
          FROM g JOIN w USING (item, choice);
        SELECT 'picks', count(*) FROM (SELECT item, pick,
            (SELECT choice FROM w WHERE w.item = g.item ORDER BY loglik DESC, choice LIMIT 1) AS best
          FROM g GROUP BY item) WHERE pick <> best;
        SELECT 'worst', max(abs(g.loglik - w.loglik)) FROM g JOIN w USING (item, choice)" >got.txt
    { read -r want && read -r got && read -r picks && read -r worst; } <got.txt
    echo "$want; $got; $picks; $worst"
    [ "$got" = "$want|off|0|greedy|0" ]
    [ "$picks" = 'picks|0' ]
}

# perplexity_is_transformers EXPECTED: by each protocol
perplexity_is_transformers() {
    cp "$E/$1" b.json
    while IFS='|' read -r name options; do
        # shellcheck disable=SC2086 # words
        rml-eval perplexity "$MODEL" "$E/text.txt" --ctx 128 --no-db --json -q $options >a.json
        sql "'$name', a->>'n_scored' = b->'\"$name\"'->>'n_scored',
             abs(a->>'nll_sum' / (b->'\"$name\"'->>'nll_sum') - 1) < 1e-4"
    done >got.txt <<'END'
llama.cpp 128|
hf-stride 128 64|--protocol hf-stride
lm-eval 128|--protocol lm-eval
END
    printf '%s|1|1\n' 'llama.cpp 128' 'hf-stride 128 64' 'lm-eval 128' | diff - got.txt
}

# rolling_is_lm_evals EXPECTED: of the documents that make/lm_eval_expectations.py joins
rolling_is_lm_evals() {
    rolling_documents
    rml-eval perplexity "$MODEL" docs.jsonl --documents jsonl --protocol lm-eval --no-db --json -q \
        --compat double-bos >a.json
    cp "$E/$1" b.json
    [ "$(sql "(SELECT count(*) || ' ' || (max(abs(d.value->>'nll_sum' /
        -(b->'rolling'->>d.key) - 1)) < 1e-4) FROM json_each(a, '\$.documents') AS d)")" = "4 1" ]
}
