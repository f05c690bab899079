#!/usr/bin/env bats
# rml-inspect as its users see it.

load gguf_bytes

setup() {
    FIXTURES=$RML_SOURCE_DIR/goldens/fixtures
    LLAMA=$FIXTURES/llama/model.gguf
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export XDG_CACHE_HOME=$FOLDER/cache
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
    printf '%s' "$output" >.document
}

# The value at a path of the JSON document that try left, by SQLite.
json() { sqlite3 :memory: "select json_extract(readfile('.document'), '$1')"; }
sql() { sqlite3 :memory: "$1"; }

# One F32 tensor of 64 elements, the 5th and 6th of which are the 4 bytes given, in a model of an
# architecture that nobody knows.
write_small() {
    {
        gguf_head 1 2
        gguf_key general.architecture 8 && gguf_string nothing
        gguf_key nothing.block_count 4 && gguf_number 4 3
        gguf_tensor strange 0 64 1 && gguf_fill
        head -c 16 /dev/zero
        gguf_number 4 "$1"
        gguf_number 4 "$1"
        head -c 232 /dev/zero
    } >small.gguf
}

@test "one checkpoint as text" {
    run rml-inspect "$LLAMA"
    [ "$status" -eq 0 ]
    [[ $output == *"architecture "*llama* ]]
    [[ $output == *"rope_pairing "*interleaved* ]]
    [[ $output == *"tokenizer: none"* ]]
    [[ $output == *"blk.1.attn_q.weight       F16   [48, 32]"* ]]
    [[ $output == *"runs            yes"* ]]
}

@test "one checkpoint as JSON" {
    try rml-inspect "$LLAMA" --json
    [ "$status" -eq 0 ]
    [ "$(json '$.format')" = gguf ]
    [ "$(json '$.config.n_embd')" = 32 ]
    [ "$(json '$.config.norm_eps')" = 0.003 ]
    [ "$(json '$.runs')" = 1 ]
    [ "$(json '$.content_sha256')" = "" ]
    [ "$(json '$.tokenizer')" = "" ]
    [ "$(json '$.nbytes')" = "$(stat -c %s "$LLAMA")" ]
    # Each tensor lies where it says: the sum of all bytes, and the end of the last
    [ "$(sql "select sum(json_extract(value, '\$.nbytes')) = json_extract(readfile('.document'), '\$.memory.weights_nbytes')
              from json_each(readfile('.document'), '\$.tensors')")" = 1 ]
    [ "$(sql "select max(json_extract(value, '\$.offset') + json_extract(value, '\$.nbytes'))
              from json_each(readfile('.document'), '\$.tensors')")" -le "$(json '$.nbytes')" ]
    # Parameters: elements of all tensors but the factors of the angles
    [ "$(sql "select sum(json_extract(value, '\$.shape[0]') * coalesce(json_extract(value, '\$.shape[1]'), 1))
              from json_each(readfile('.document'), '\$.tensors')
              where json_extract(value, '\$.name') <> 'rope_freqs.weight'")" = "$(json '$.n_parameters')" ]
}

@test "memory of caches" {
    try rml-inspect "$LLAMA" --json --ctx 100
    # 100 positions are two pages of 64; 2 layers, keys and values, 2 heads of 12 in f32
    [ "$(sql "select json_extract(value, '\$.nbytes') from json_each(readfile('.document'), '\$.memory.kv')
              where json_extract(value, '\$.dtype') = 'f32'")" = $((2 * 64 * 2 * 2 * 2 * 12 * 4)) ]
    [ "$(json '$.memory.scratch.ctx')" = 100 ]
    [ "$(json '$.memory.scratch.f32')" -gt 0 ]
}

@test "every fixture can be looked at, and is sound" {
    for checkpoint in "$FIXTURES"/*/model.gguf "$FIXTURES"/*/hf*; do
        try rml-inspect "$checkpoint" --json --verify --threads 2
        [ "$status" -eq 0 ]
        [ "$(json '$.runs')" = 1 ]
        [ "$(json '$.verify.passed')" = 1 ]
    done
}

@test "the hash is shown once it is known" {
    cp "$LLAMA" model.gguf
    touch -d '1 minute ago' model.gguf
    sleep 1.1
    try rml-inspect model.gguf --json
    [ "$(json '$.content_sha256')" = "" ]
    try rml-inspect model.gguf --json --verify
    [ "$(json '$.content_sha256')" = "$(sha256sum model.gguf | cut -d ' ' -f 1)" ]
    try rml-inspect model.gguf --json
    [ "$(json '$.content_sha256')" = "$(sha256sum model.gguf | cut -d ' ' -f 1)" ]
    printf x >>model.gguf
    try rml-inspect model.gguf --json
    [ "$(json '$.content_sha256')" = "" ]
    # A folder is known when all of its files are
    cp -r "$FIXTURES/llama/hf-sharded" folder
    sleep 1.1
    try rml-inspect folder --json --verify
    hash=$(json '$.content_sha256')
    [ ${#hash} = 64 ]
    try rml-inspect folder --json
    [ "$(json '$.content_sha256')" = "$hash" ]
    touch folder/config.json
    try rml-inspect folder --json
    [ "$(json '$.content_sha256')" = "" ]
}

@test "metadata of both formats, shortened" {
    try rml-inspect "$LLAMA" --metadata --json
    entry() { sql "select json_extract(value, '$2') from json_each(readfile('.document'), '\$.metadata')
                   where json_extract(value, '\$.key') = '$1'"; }
    [ "$(entry general.architecture $.value)" = llama ]
    [ "$(entry llama.block_count $.type)" = u32 ]
    [ "$(entry llama.block_count $.value)" = 2 ]
    try rml-inspect "$FIXTURES/llama/hf" --metadata --json
    [ "$(entry hidden_size $.value)" = 32 ]
    [ "$(entry model_type $.type)" = string ]
    {
        gguf_head 1 3
        gguf_key long 8 && gguf_string "$(head -c 1000 /dev/zero | tr '\0' x)"
        gguf_key many 9 && gguf_strings {1..50}
        gguf_key bytes 8 && gguf_string "$(printf 'a\377b')"
        gguf_tensor t 0 8 && gguf_fill
        head -c 32 /dev/zero
    } >long.gguf
    try rml-inspect long.gguf --metadata --json
    [ "$(entry long $.length)" = 1000 ]
    [ "$(entry long $.value)" = "$(head -c 200 /dev/zero | tr '\0' x)" ]
    [ "$(entry many $.length)" = 50 ]
    [ "$(entry many $.value[7])" = 8 ]
    [ "$(entry many $.value[8])" = "" ]
    [ "$(entry bytes $.value)" = 'a?b' ]
    rml-inspect long.gguf --metadata | grep -q '^long .*x\.\.\.$'
}

@test "what cannot run is listed all the same" {
    write_small 0
    try rml-inspect small.gguf --json
    [ "$status" -eq 0 ]
    [ "$(json '$.runs')" = 0 ]
    [[ $(json '$.why_not') == *nothing* ]]
    [ "$(json '$.config')" = "" ]
    [ "$(json '$.tensors[0].name')" = strange ]
    [ "$(json '$.tensors[0].shape')" = '[1,64]' ]
    [[ "$(rml-inspect small.gguf)" == *"runs            no: "*nothing* ]]
}

@test "verify names tensor and element" {
    for damage in 7fc00000:nan ff800000:inf 7f000000:absurd; do
        write_small $((16#${damage%:*}))
        try rml-inspect small.gguf --json --verify
        [ "$status" -eq 1 ]
        [ "$(json '$.verify.passed')" = 0 ]
        [ "$(json '$.verify.findings[0].tensor')" = strange ]
        [ "$(json '$.verify.findings[0].kind')" = ${damage#*:} ]
        [ "$(json '$.verify.findings[0].element')" = '[0,4]' ]
        [[ $stderr == *"the tensor 'strange' is ${damage#*:} at [0, 4]"* ]]
    done
    [ "$(json '$.verify.n_values')" = 64 ]
}

@test "verify finds a flipped bit in a block's scale" {
    cp "$FIXTURES/llama-q8_0/model.gguf" model.gguf
    rml-inspect model.gguf --verify --threads 3 >/dev/null
    try rml-inspect model.gguf --json
    at=$(sql "select json_extract(value, '\$.offset') from json_each(readfile('.document'), '\$.tensors')
              where json_extract(value, '\$.name') = 'blk.0.ffn_up.weight'")
    # The scale of the second block of 34 bytes, with the highest bit of its exponent set
    high=$(od -An -tu1 -j $((at + 35)) -N 1 model.gguf)
    printf "\\x$(printf %02x $((high | 64)))" | dd of=model.gguf bs=1 seek=$((at + 35)) conv=notrunc status=none
    try rml-inspect model.gguf --json --verify
    [ "$status" -eq 1 ]
    [ "$(json '$.verify.findings[0].tensor')" = blk.0.ffn_up.weight ]
    [ "$(sql "select count(*) from json_each(readfile('.document'), '\$.verify.findings')")" = 1 ]
}

@test "a file of 100 GB takes a moment" {
    # 16 layers of 32768: written as a header and a hole
    mkdir big
    cat >big/config.json <<'END'
{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 32768, "intermediate_size": 32768,
 "num_hidden_layers": 8, "num_attention_heads": 256, "num_key_value_heads": 256, "vocab_size": 32768,
 "rms_norm_eps": 1e-5, "max_position_embeddings": 1024, "tie_word_embeddings": true,
 "hidden_act": "silu", "rope_theta": 10000.0}
END
    header='{' end=0
    add() { # NAME NBYTES SHAPE
        header+="\"$1\": {\"dtype\": \"BF16\", \"shape\": $3, \"data_offsets\": [$end, $((end + $2))]}, "
        end=$((end + $2))
    }
    square=$((32768 * 32768 * 2))
    add model.embed_tokens.weight $square '[32768, 32768]'
    add model.norm.weight 65536 '[32768]'
    for l in {0..7}; do
        add model.layers.$l.input_layernorm.weight 65536 '[32768]'
        add model.layers.$l.post_attention_layernorm.weight 65536 '[32768]'
        for name in self_attn.{q,k,v,o}_proj mlp.{gate,up,down}_proj; do
            add model.layers.$l.$name.weight $square '[32768, 32768]'
        done
    done
    header="${header%, }}"
    while [ $((${#header} % 8)) -ne 0 ]; do header+=' '; done
    { gguf_number 8 ${#header}; printf '%s' "$header"; } >big/model.safetensors
    truncate -s $((8 + ${#header} + end)) big/model.safetensors || skip "no sparse files here"
    [ "$(stat -c %s big/model.safetensors)" -gt 100000000000 ]
    before=$SECONDS
    try timeout 60 rml-inspect big --json
    [ "$status" -eq 0 ]
    [ $((SECONDS - before)) -lt 30 ]
    [ "$(json '$.n_parameters')" = $((57 * 32768 * 32768 + 17 * 32768)) ]
    [ "$(json '$.runs')" = 1 ]
}

@test "two equal checkpoints" {
    cp "$LLAMA" copy.gguf
    run rml-inspect "$LLAMA" copy.gguf
    [ "$status" -eq 0 ]
    [[ $output == equal:* ]]
    run rml-inspect "$LLAMA" "$FIXTURES/llama/split-00001-of-00003.gguf"
    [ "$status" -eq 0 ]
    run rml-inspect "$FIXTURES/llama/hf" "$FIXTURES/llama/hf-unaligned"
    [ "$status" -eq 0 ]
}

@test "a GGUF has the values of the folder it was made from" {
    for family in llama gemma3 mixtral qwen2 qwen3_moe olmoe; do
        try rml-inspect "$FIXTURES/$family/model.gguf" "$FIXTURES/$family/hf" --json --threads 2
        [ "$status" -eq 4 ] # types differ
        [ "$(json '$.n_compared')" -gt 20 ]
        [ "$(sql "select count(*), sum(json_extract(value, '\$.n_different'))
                  from json_each(readfile('.document'), '\$.tensors')")" = "$(json '$.n_compared')|0" ]
        [ "$(json '$.only_b')" = '[]' ]
    done
}

@test "the element that differs most" {
    cp "$FIXTURES/llama-f32/model.gguf" changed.gguf
    try rml-inspect changed.gguf --json
    at=$(sql "select json_extract(value, '\$.offset') from json_each(readfile('.document'), '\$.tensors')
              where json_extract(value, '\$.name') = 'blk.0.attn_q.weight'")
    columns=$(sql "select json_extract(value, '\$.shape[1]') from json_each(readfile('.document'), '\$.tensors')
              where json_extract(value, '\$.name') = 'blk.0.attn_q.weight'")
    # Element [2, 3] becomes 100, [0, 1] 7
    printf '\0\0\310\102' | dd of=changed.gguf bs=1 seek=$((at + (2 * columns + 3) * 4)) conv=notrunc status=none
    printf '\0\0\340\100' | dd of=changed.gguf bs=1 seek=$((at + 4)) conv=notrunc status=none
    try rml-inspect "$FIXTURES/llama-f32/model.gguf" changed.gguf --json
    [ "$status" -eq 4 ]
    [ "$(json '$.equal')" = 0 ]
    [ "$(json '$.tensors[0].name')" = blk.0.attn_q.weight ]
    [ "$(json '$.tensors[0].n_different')" = 2 ]
    [ "$(json '$.tensors[0].element')" = '[2,3]' ]
    [ "$(json '$.tensors[0].b')" = 100.0 ]
    [ "$(json '$.tensors[1]')" = "" ]
    run rml-inspect "$FIXTURES/llama-f32/model.gguf" changed.gguf
    [[ $output == *"worst element: blk.0.attn_q.weight [2, 3], "*" apart"* ]]
    [[ $output == *"1 of "*" tensors differ" ]]
}

# A GGUF that nobody can run, of F32 tensors of 4 zeros with the names given
write_named() { # FILE NAME...
    local i=0 name
    {
        gguf_head $(($# - 1)) 1
        gguf_key general.architecture 8 && gguf_string nothing
        for name in "${@:2}"; do gguf_tensor "$name" $((32 * i++)) 4; done
        gguf_fill
        head -c $((32 * $#)) /dev/zero
    } >"$1"
}

@test "long lists of differences are cut for people, unless all are asked for" {
    write_named many.gguf z x{a..z}
    write_named few.gguf z
    try rml-inspect many.gguf few.gguf
    [ "$status" -eq 4 ]
    [ "$(grep -c "^only in A" <<<"$output")" -eq 20 ]
    [[ $output == *$'\n'"and 6 more (-v lists each, --json has all)"* ]]
    try rml-inspect many.gguf few.gguf -v
    [ "$(grep -c "^only in A" <<<"$output")" -eq 26 ]
    [[ $output != *"more (-v"* ]]
    try rml-inspect many.gguf few.gguf --json
    [ "$(sql "select json_array_length('$output', '\$.only_a')")" -eq 26 ]
}

@test "names that count up stand on one line, in the order of their numbers" {
    write_named many.gguf x blk.{2,8,9,10,11}.a blk.{8,9}.b.{0..3}.c blk.9.b.{9,10}.c
    write_named few.gguf x
    try rml-inspect many.gguf few.gguf
    [ "$status" -eq 4 ]
    [ "$output" = "only in A (many.gguf): blk.2.a
only in A (many.gguf): blk.{8..11}.a (4 tensors)
only in A (many.gguf): blk.8.b.{0..3}.c (4 tensors)
only in A (many.gguf): blk.9.b.{0..3}.c (4 tensors)
only in A (many.gguf): blk.9.b.{9..10}.c (2 tensors)
0 of 1 tensors differ" ]
}

@test "experts on one side only: a stack once, or the experts that lack a counterpart" {
    try rml-inspect "$FIXTURES/olmoe/model.gguf" "$FIXTURES/llama/model.gguf"
    [ "$status" -eq 4 ]
    [ "$(grep -c "^only in A.*: blk.{0..1}.ffn_up_exps.weight (2 tensors)$" <<<"$output")" = 1 ]
    [[ ! $output =~ ffn_up\.[0-9] ]]
    # Mixtral with 8 experts against one with 5: folders hold experts apart, GGUF files as a stack.
    try rml-inspect "$FIXTURES/mixtral/hf-v4" "$FIXTURES/mixtral-q5_0/model.gguf"
    [[ $output == *"only in A ($FIXTURES/mixtral/hf-v4): model.layers.{0..1}.block_sparse_moe.experts.{5..7}.w{1..3}.weight (18 tensors)"* ]]
    [[ $output == *$'\n'"blk.{0..1}.ffn_down.{0..4}.weight  "*" | Q5_0  [32, 24] | [64, 32] "* ]]
}

@test "facts of tokenizers that differ" {
    write_tokenizer() { # FILE TEMPLATE [TOKEN]
        {
            gguf_head 0 6
            gguf_key general.architecture 8 && gguf_string nothing
            gguf_key tokenizer.ggml.model 8 && gguf_string gpt2
            gguf_key tokenizer.ggml.tokens 9 && gguf_strings a "${3:-b}"
            gguf_key tokenizer.ggml.merges 9 && gguf_strings
            gguf_key tokenizer.ggml.add_bos_token 7 && gguf_number 1 0
            gguf_key tokenizer.chat_template 8 && gguf_string "$2"
        } >"$1"
    }
    write_tokenizer a.gguf one
    write_tokenizer b.gguf two
    try rml-inspect a.gguf b.gguf --json
    [ "$status" -eq 4 ]
    [ "$(sql "select group_concat(json_extract(value, '\$.key')) from json_each(readfile('.document'), '\$.config')")" = tokenizer.chat_why_not ]
    [[ $(json '$.config[0].b') == "unknown chat template (SHA-256 $(printf two | sha256sum | cut -d ' ' -f 1) of 3 bytes)"* ]]
    write_tokenizer b.gguf one c
    try rml-inspect a.gguf b.gguf --json
    [ "$(sql "select group_concat(json_extract(value, '\$.key')) from json_each(readfile('.document'), '\$.config')")" = tokenizer ]
    write_tokenizer b.gguf one
    try rml-inspect a.gguf b.gguf
    [ "$status" -eq 0 ]
}

@test "what differs in type alone is counted" {
    try rml-inspect "$FIXTURES/llama/model.gguf" "$FIXTURES/llama/hf"
    [ "$status" -eq 4 ]
    n=$(rml-inspect "$FIXTURES/llama/model.gguf" "$FIXTURES/llama/hf" --json | grep -c '"n_different": 0,')
    [[ $output == *$'\n'"$n of $n tensors differ, $n of them in type alone" ]]
    [[ $output != *attn_q* ]]
    [ "$(sed -n 's/^\(F16\|F32\) | BF16  *//p' <<<"$output" | awk '{ n += $1 } END { print n }')" -eq "$n" ]
    try rml-inspect "$FIXTURES/llama/model.gguf" "$FIXTURES/llama/hf" -v
    [[ $output =~ blk.0.attn_q.weight\ +F16\ \|\ BF16\ +\[48,\ 32\]\ +type\ alone\ +- ]]
}

@test "recipes and shapes that differ" {
    try rml-inspect "$FIXTURES/llama-q4_k/model.gguf" "$LLAMA" --json
    [ "$status" -eq 4 ]
    [ "$(sql "select json_extract(value, '\$.a') || ' ' || json_extract(value, '\$.b')
              from json_each(readfile('.document'), '\$.config') where json_extract(value, '\$.key') = 'n_embd'")" = "256 32" ]
    [ "$(json '$.only_a')" = '[]' ]
    [ "$(json '$.tensors[0].n_different')" = "" ]
    write_small 0
    try rml-inspect small.gguf "$LLAMA" --json
    [ "$status" -eq 4 ]
    [ "$(json '$.only_a[0]')" = strange ]
}

@test "errors and usage" {
    try rml-inspect
    [ "$status" -eq 2 ]
    try rml-inspect a b c
    [ "$status" -eq 2 ]
    try rml-inspect a b --verify
    [ "$status" -eq 2 ]
    try rml-inspect none.gguf --json
    [ "$status" -eq 1 ]
    [ "$(json '$.error.code')" = not-found ]
    run rml-inspect --help
    [ "$status" -eq 0 ]
    [[ $output == *Example:* ]]
}

@test "a GGUF and a folder: tokens are compared by what they stand for" {
    tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny
    rml-quantize "$tiny" same.gguf --type bf16 --no-db -q >/dev/null
    rml-inspect same.gguf "$tiny" --json >a.json || true
    [ "$(sqlite3 :memory: "SELECT json_extract(readfile('a.json'), '\$.config')")" = '[]' ]
    cp -r "$tiny" other
    # two tokens that change places, and no BOS
    sqlite3 :memory: "WITH t(x) AS (SELECT readfile('$tiny/tokenizer.json')),
        v(a, b) AS (SELECT (SELECT key FROM json_each(x, '\$.model.vocab') WHERE value = 600),
          (SELECT key FROM json_each(x, '\$.model.vocab') WHERE value = 900) FROM t)
        SELECT writefile('other/tokenizer.json', json_set(x, '\$.model.vocab.\"' || a || '\"', 900,
          '\$.model.vocab.\"' || b || '\"', 600)) FROM t, v" >/dev/null
    echo '{"add_bos_token": false}' >other/tokenizer_config.json
    status=0
    rml-inspect same.gguf other >differences || status=$?
    [ "$status" -eq 4 ]
    grep -qE '^tokenizer.n_different_tokens +2 +2$' differences
    grep -qE '^tokenizer.first_different_token +\{"id": 600,' differences
    grep -qE '^tokenizer.adds_bos +true +false$' differences
}
