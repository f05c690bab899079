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
    [[ $stderr == *"nan.base: scale nan and least log-probability "*" found in row 0 of window 0, expected those of log-probabilities (byte offset 1044)" ]]
    [ "$(sqlite3 :memory: "SELECT json_extract(readfile('stdout.txt'), '\$.error.offset')")" -eq 1044 ]
    # -1 as the scale, and e^5 as the least probability
    for bytes in '0 \0\0\x80\xbf' '4 \0\0\xa0\x40'; do
        cp "$E/llama_cpp.base" bad.base
        printf "${bytes#* }" | dd of=bad.base bs=1 seek=$((20 + 4 * 64 * 4 + ${bytes%% *})) conv=notrunc status=none
        try rml-eval kld bad.base "$TOY" --no-db
        [ "$status" -eq 1 ] && [[ $stderr == *"bad.base: scale "*" found in row 0 of window 0, expected those of"* ]]
    done
}

# The layout: 8 bytes, n_ctx 64, n_vocab, n_chunk 4, from byte 20 the ids, from 1044 the rows
@test "an error of llama.cpp's file says what was found, where, and what was expected" {
    local vocab chunk
    vocab=$(od -An -td4 -j 12 -N 4 "$E/llama_cpp.base" | tr -d ' ')
    chunk=$((4 * 64 + 31 * 2 * (2 * ((vocab + 1) / 2) + 4)))
    broken() { # OFFSET BYTES WHAT
        cp "$E/llama_cpp.base" bad.base
        printf "$2" | dd of=bad.base bs=1 seek="$1" conv=notrunc status=none
        try rml-eval kld bad.base "$TOY" --no-db
        echo "$stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == "rml-eval: bad.base: $3" ]]
    }
    broken 8 '\xff\xff\xff\xff' 'n_ctx is -1, expected a number from 3 to 16777216 (byte offset 8)'
    broken 8 '\xff\xff\xff\x7f' 'n_ctx is 2147483647, expected a number from 3 to 16777216 (byte offset 8)'
    broken 12 '\0\0\0\0' 'n_vocab is 0, expected a number from 1 to 16777216 (byte offset 12)'
    broken 16 '\0\0\0\0' 'n_chunk is 0, expected a number from 1 to 2147483647 (byte offset 16)'
    broken 16 '\5' "the file ends here, expected 20 bytes and 5 chunks of $chunk (byte offset $((20 + 4 * chunk)))"
    # id 5 of chunk 2
    broken $((20 + 4 * (2 * 64 + 5))) '\xfe\xff\xff\xff' "id -2 found in chunk 2, place 5, expected one of 0 to $((vocab - 1)) (byte offset $((20 + 4 * (2 * 64 + 5))))"
    head -c 14 "$E/llama_cpp.base" >bad.base
    try rml-eval kld bad.base "$TOY" --no-db
    [ "$status" -eq 1 ] && [[ $stderr == *"bad.base: the file ends where n_vocab is expected (byte offset 12)" ]]
    head -c -1 "$E/llama_cpp.base" >bad.base
    try rml-eval kld bad.base "$TOY" --no-db
    [ "$status" -eq 1 ] && [[ $stderr == *"bad.base: the file ends here, expected 20 bytes and 4 chunks of $chunk (byte offset $((20 + 4 * chunk - 1)))" ]]
}

# One checkpoint in two forms has two hashes of the tokenizer; what it makes of the texts decides,
# of two checkpoints side by side and of a base that is stored.
@test "a stored base takes the candidates that the checkpoint itself takes, and no others" {
    local tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny
    text=("$tiny/held-out.txt" --ctx 64)
    rml-quantize "$tiny" q8.gguf --type q8_0 -q --no-db >/dev/null
    rml-eval kld "$tiny" q8.gguf "${text[@]}" --head --limit 2 --no-db --json --save-base tiny.base >a.json
    rml-eval kld tiny.base q8.gguf --no-db --json >b.json
    [ "$(sql "json_remove(a, '\$.settings') = json_remove(b, '\$.settings') AND a->'kld_mean' > 0")" = 1 ]
    # as many tokens, two of them exchanged: refused by both with the same words
    cp -r "$tiny" other && rm other/rml-tiny.gguf
    sqlite3 :memory: "WITH t AS (SELECT CAST(readfile('other/tokenizer.json') AS TEXT) AS t)
        SELECT json_set(t, '\$.model.vocab.e', json_extract(t, '\$.model.vocab.t'), '\$.model.vocab.t', json_extract(t, '\$.model.vocab.e')) FROM t" >t.json
    mv t.json other/tokenizer.json
    try rml-eval kld "$tiny" other "${text[@]}" --no-db
    [ "$status" -eq 1 ] && [[ $stderr == *"other: its tokenizer gives other ids for '$tiny/held-out.txt' than the base's, expected the same" ]]
    cp stderr.txt direct.txt
    try rml-eval kld tiny.base other --no-db
    [ "$status" -eq 1 ] && cmp stderr.txt direct.txt
    try rml-eval kld "$tiny" tiny.base "$tiny/held-out.txt" --no-db
    [ "$status" -eq 2 ] && [[ $stderr == *"'tiny.base' is a stored base, expected one before a candidate and without --against options"* ]]
    try rml-eval kld tiny.base "$tiny" --against-kv f32 --no-db
    [ "$status" -eq 2 ] && [[ $stderr == *"'tiny.base' is a stored base, expected one before"* ]]
    # a base that was written when none held texts, and one with an id and a window that cannot be
    seal() { # FILE: with its checksum
        printf "$(sha256sum <"$1" | cut -c 1-64 | sed 's/../\\x&/g')" >>"$1"
    }
    rest=$(($(od -An -tu4 -j 8 -N 4 tiny.base) + 12))
    tail -c +13 tiny.base | head -c $((rest - 12)) >header.json
    header=$(sqlite3 :memory: "SELECT json_remove(CAST(readfile('header.json') AS TEXT), '\$.texts')")
    n=${#header}
    {
        head -c 8 tiny.base
        printf "\\x$(printf %x $((n % 256)))\\x$(printf %x $((n / 256)))\\0\\0%s" "$header"
        tail -c +$((rest + 1)) tiny.base | head -c -32
    } >old.base
    seal old.base
    for place in 0 $((8 + 4 * 3)); do # n_tokens of the first window, and its id 3
        head -c -32 tiny.base >bad.base
        printf '\xff\xff\xff\x7f' | dd of=bad.base bs=1 seek=$((rest + place)) conv=notrunc status=none
        seal bad.base
        try rml-eval kld bad.base "$tiny" --no-db
        [ "$status" -eq 1 ]
        [[ $stderr == *"bad.base: "*" (byte offset $((rest + place)))" ]]
        [[ $stderr == *"window 0 of 2147483647 ids scored from 33 on found, expected 2 to 65 ids"* ||
            $stderr == *"id 2147483647 found in window 0, place 3, expected one of 0 to 2047 "* ]]
    done
    rml-eval kld old.base "$tiny" --no-db --json >a.json
    [ "$(sql "a->>'kld_mean' < 1e-9")" = 1 ]
    try rml-eval kld old.base q8.gguf --no-db
    [ "$status" -eq 1 ] && [[ $stderr == *"q8.gguf: the tokenizer "*" found, expected that of the stored base, "*", which holds no texts to compare ids by" ]]
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
