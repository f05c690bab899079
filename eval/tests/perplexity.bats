#!/usr/bin/env bats
# rml-eval perplexity. Expected numbers are those of transformers in float64 and of lm-eval (see
# make/); tests of known defects of other programs are named after them.

load eval_run

@test "perplexity by each protocol is that of a float64 forward pass" {
    cp "$E/perplexity.json" b.json
    while IFS='|' read -r name options; do
        # shellcheck disable=SC2086 # words
        rml-eval perplexity "$TOY" "$E/text.txt" --no-db --json $options >a.json
        [ "$(sql "abs(a->>'nll_sum' - (b->'\$.$name'->>'nll_sum')) < 1e-6 * (a->>'nll_sum')")" = 1 ]
        [ "$(sql "a->>'n_scored' = b->'\$.$name'->>'n_scored'")" = 1 ]
        if [[ $name != *hf-stride* ]]; then
            for figure in word_perplexity byte_perplexity bits_per_byte; do
                [ "$(sql "abs(a->>'$figure' / (b->'\$.$name'->>'$figure') - 1) < 1e-5")" = 1 ]
            done
        fi
    done <<'END'
"llama.cpp 128"|--ctx 128
"llama.cpp 65"|--ctx 65 --threads 3
"hf-stride 128 64"|--protocol hf-stride --ctx 128
"hf-stride 100 33"|--protocol hf-stride --ctx 100 --stride 33
"lm-eval 128"|--protocol lm-eval --ctx 128
"lm-eval 100 double-bos"|--protocol lm-eval --ctx 100 --compat double-bos
END
}

@test "a default context beyond the model's says what stays within it" {
    local tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny advice
    try rml-eval perplexity "$tiny" "$tiny/held-out.txt" --limit 1 --no-db -q
    [ "$stderr" = "rml-eval: warning: the context of 512, llama.cpp's default, is longer than the 256 tokens that the model was made for; --ctx 256 or --protocol hf-stride stays within them" ]
    try rml-eval perplexity "$tiny" "$tiny/held-out.txt" --limit 1 --no-db -q --protocol lm-eval --ctx 300
    [ "$stderr" = "rml-eval: warning: the context of 300 is longer than the 256 tokens that the model was made for; --ctx 256 stays within them" ]
    for advice in '--ctx 256' '--protocol hf-stride'; do
        # shellcheck disable=SC2086 # two words
        try rml-eval perplexity "$tiny" "$tiny/held-out.txt" --limit 1 --no-db -q $advice
        [ "$status $stderr" = '0 ' ]
    done
}

@test "rolling log-likelihoods of documents are lm-eval's" {
    rolling_documents
    rml-eval perplexity "$TOY" docs.jsonl --documents jsonl --protocol lm-eval --no-db --json \
        --compat double-bos >a.json
    cp "$E/llama-text.json" b.json
    [ "$(sql "json_array_length(a->'documents')")" -eq 4 ]
    [ "$(sql "(SELECT max(abs(d.value->>'nll_sum' + (b->'rolling'->>d.key))) < 0.05
        FROM json_each(a, '\$.documents') AS d)")" = 1 ]
}

@test "stride mode that prints no final value; n=1 or zero variance divides by 0" {
    printf 'toy text' >short.txt
    rml-eval perplexity "$TOY" short.txt --protocol hf-stride --no-db >out.txt
    grep -q '^perplexity  *[0-9]' out.txt
    rml-eval perplexity "$TOY" short.txt --protocol hf-stride --no-db --json >a.json
    [ "$(sql "a->>'ppl' > 1 AND json_type(a, '\$.ppl_stderr') = 'null'")" = 1 ]
    echo '{"context": "a", "choices": ["b"], "gold": 0}' >q.jsonl
    rml-eval choices "$TOY" q.jsonl --no-db --json >a.json
    [ "$(sql "a->>'acc' = 1 AND json_type(a, '\$.acc_stderr') = 'null'")" = 1 ]
    rml-eval kld "$TOY" "$TOY" "$E/text.txt" --ctx 1024 --no-db --json >a.json
    [ "$(sql "a->>'kld_mean' = 0 AND json_type(a, '\$.kld_stderr') IN ('null', 'real')")" = 1 ]
}

@test "last line without newline dropped" {
    questions 2 | head -c -1 >q.jsonl
    rml-eval choices "$TOY" q.jsonl --no-db --json >a.json
    [ "$(sql "a->>'n'")" -eq 2 ]
    printf 'one line\nand another' >t.txt
    rml-eval perplexity "$TOY" t.txt --documents lines --protocol lm-eval --no-db --json >a.json
    [ "$(sql "a->'documents'->1->>'id' || ' ' || (a->>'n_scored' = a->>'n_tokens')")" = "t.txt:2 1" ]
}

@test "settings tell the content of the texts, by whatever names and in whatever order" {
    printf 'one text\n' >a.txt
    printf 'and another text\n' >b.txt
    cp a.txt c.txt
    sha() { sha256sum "$1" | cut -c 1-64; }
    want=$(for f in a.txt b.txt; do sha $f; done | sort | tr '\n' '\0' | sha256sum | cut -c 1-64)
    for files in 'a.txt b.txt' 'b.txt a.txt' 'b.txt c.txt'; do
        # shellcheck disable=SC2086 # words
        rml-eval perplexity "$TOY" $files --protocol lm-eval --json >a.json
        [ "$(sql "a->'settings'->>'texts_sha256'")" = "$want" ]
    done
    rml-eval kld "$TOY" "$TOY" b.txt a.txt --protocol lm-eval --json >a.json
    [ "$(sql "a->'settings'->>'texts_sha256'")" = "$want" ]
    [ "$(query "SELECT count(*) FROM eval WHERE settings_json->>'texts_sha256' = '$want'")" -eq 4 ]
    rml-eval perplexity "$TOY" a.txt --protocol lm-eval --no-db --json >a.json
    [ "$(sql "a->'settings'->>'texts_sha256' <> '$want'")" = 1 ]
}
