#!/usr/bin/env bats
# rml-eval kld. Expected numbers are those of the formula in float64 (see make/).

load eval_run

@test "KL divergence from llama.cpp's file is that of the formula" {
    rml-eval kld "$E/llama_cpp.base" "$TOY" --no-db --json >a.json
    cp "$E/perplexity.json" b.json
    for key in kld_mean kld_max kld_median kld_p90 same_top dp_mean dp_rms ln_ppl_ratio correlation; do
        [ "$(sql "abs(a->>'$key' - (b->'kld'->>'$key')) < 2e-6 + 1e-5 * abs(b->'kld'->>'$key')")" = 1 ]
    done
    [ "$(sql "a->>'n_scored'")" -eq 124 ]
}

@test "llama.cpp's file with a row that is no numbers is refused" {
    # the first row, after the magic, 3 sizes and 4 chunks of 64 ids; a scale of NaN
    cp "$E/llama_cpp.base" nan.base
    printf '\0\0\xc0\x7f' | dd of=nan.base bs=1 seek=$((20 + 4 * 64 * 4)) conv=notrunc status=none
    try rml-eval kld nan.base "$TOY" --no-db --json
    [ "$status" -eq 1 ]
    [[ $stderr == *"nan.base: a row of scale nan and least log-probability "*" found, expected numbers"* ]]
}

@test "a stored base gives the bits of the pass that wrote it; a damaged one is refused" {
    rml-eval kld "$TOY" --kv i8 --against-kv f32 "$E/text.txt" --ctx 64 --limit 4 --json \
        --save-base toy.base >pass.json
    rml-eval kld toy.base "$TOY" --kv i8 --no-db --json >file.json
    without_settings() { sqlite3 :memory: "SELECT json_remove(readfile('$1'), '\$.settings')"; }
    [ "$(without_settings pass.json)" = "$(without_settings file.json)" ]
    # a stored base has no texts, its ids tell what was scored
    cp pass.json a.json && cp file.json b.json
    [ "$(sql "length(a->'settings'->>'texts_sha256') = 64 AND a->'settings'->'ids_sha256' IS NULL")" = 1 ]
    [ "$(sql "length(b->'settings'->>'ids_sha256') = 64 AND b->'settings'->'texts_sha256' IS NULL")" = 1 ]
    # both sides in the key: the second finds what the first has computed
    try rml-eval kld toy.base "$TOY" --kv f16 -v
    [ "$status" -eq 0 ]
    printf X | dd of=toy.base bs=1 seek=5000 conv=notrunc status=none
    try rml-eval kld toy.base "$TOY"
    [ "$status" -eq 1 ]
    [[ $stderr == *"toy.base: the checksum"* ]]
    head -c 3000 toy.base >cut.base
    try rml-eval kld cut.base "$TOY"
    [ "$status" -eq 1 ]
    try rml-eval kld "$E/llama_cpp.base" "$TOYS/llama/hf"
    [ "$status" -eq 1 ]
}
