#!/usr/bin/env bats
# rml-quantize as its users see it, on the toy checkpoints of goldens/fixtures.

load gguf_bytes

setup() {
    FIXTURES=$RML_SOURCE_DIR/goldens/fixtures
    LLAMA=$FIXTURES/llama/model.gguf
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export XDG_CACHE_HOME=$FOLDER/cache XDG_DATA_HOME=$FOLDER/data
    unset RML_DB
}

teardown() { rm -rf "$FOLDER"; }

# As run, with standard error apart in $stderr.
try() {
    status=0
    output=$("$@" 2>.stderr) || status=$?
    stderr=$(<.stderr)
}

quantize() { rml-quantize --no-db "$@"; }
sql() { sqlite3 :memory: "$1"; }

# The type of each tensor of a GGUF, a line each: "NAME TYPE".
types() {
    rml-inspect "$1" --json >inspected.json
    sql "select json_extract(value, '\$.name') || ' ' || json_extract(value, '\$.dtype')
         from json_each(readfile('inspected.json'), '\$.tensors')" | sort
}

@test "a command line that makes no sense is a usage error" {
    for arguments in "" "$LLAMA" "$LLAMA out.gguf" "$LLAMA out.gguf --type q9" "$LLAMA out.gguf --type i8" \
        "$LLAMA - --type f16" "$LLAMA a b --type f16"; do
        try quantize $arguments
        [ $status = 2 ]
        [ ! -e out.gguf ]
    done
    try quantize "$LLAMA" out.gguf --type q9
    [[ $stderr == *"'q9' found, expected one of f32 f16 bf16 q4_0"* ]]
}

@test "inputs that are not there or no checkpoint" {
    try quantize nothing.gguf out.gguf --type f16
    [ $status = 1 ]
    [[ $stderr == "rml-quantize: nothing.gguf: "* ]]
    echo text >text
    try quantize text out.gguf --type f16 --json
    [ $status = 1 ]
    [ "$(sql "select json_extract('$output', '\$.error.file')")" = text ]
    try quantize "$FIXTURES/llama/split-00002-of-00003.gguf" out.gguf --type f16
    [ $status = 1 ]
    [[ $stderr == *"expected the first"* ]]
    [ -z "$(ls out.gguf* 2>/dev/null)" ]
}

@test "an output that exists is replaced with --force only" {
    echo precious >out.gguf
    try quantize "$LLAMA" out.gguf --type f16
    [ $status = 1 ]
    [[ $stderr == "rml-quantize: out.gguf: the file exists, expected a new name (or --force to replace it)" ]]
    [ "$(cat out.gguf)" = precious ]
    quantize "$LLAMA" out.gguf --type f16 --force
    [ "$(head -c 4 out.gguf)" = GGUF ]
    [ "$(ls)" = out.gguf ]
    mkdir folder
    try quantize "$LLAMA" folder --type f16 --force
    [ $status = 1 ]
    [[ $stderr == *"no regular file"* ]]
    try quantize "$LLAMA" nowhere/out.gguf --type f16
    [ $status = 1 ]
}

@test "the output is never a file of the input" {
    cp "$LLAMA" in.gguf
    cp in.gguf before.gguf
    ln in.gguf link.gguf
    ln -s in.gguf symlink.gguf
    for out in in.gguf ./in.gguf link.gguf symlink.gguf; do
        try quantize in.gguf $out --type f16 --force
        [ $status = 1 ]
        [[ $stderr == *"the output is a file of the input"* ]]
    done
    cmp in.gguf before.gguf
    cp "$FIXTURES"/llama/split-* .
    try quantize split-00001-of-00003.gguf split-00002-of-00003.gguf --type f16 --force
    [ $status = 1 ]
    cmp split-00002-of-00003.gguf "$FIXTURES/llama/split-00002-of-00003.gguf"
}

@test "every type: matrices have it, vectors stay f32, rows that do not fit get llama.cpp's fallback" {
    # rows of 32, but of 48 for attn_output and of 56 for ffn_down
    while read -r type of32 odd; do
        quantize "$LLAMA" $type.gguf --type $type >/dev/null
        types $type.gguf >got
        [ "$(grep -c norm.weight got)" -gt 0 ]
        [ -z "$(grep -e norm.weight -e rope_freqs got | grep -v ' F32$')" ]
        [ "$(grep -c -e attn_output.weight -e ffn_down got)" = 4 ]
        [ -z "$(grep -e attn_output.weight -e ffn_down got | grep -v " $odd\$")" ]
        [ -z "$(grep -e token_embd -e attn_[qkv].weight -e ffn_gate -e ffn_up got | grep -v " $of32\$")" ]
    done <<-END
	f32 F32 F32
	F16 F16 F16
	bf16 BF16 BF16
	q4_0 Q4_0 F16
	q4_1 Q4_1 F16
	q5_0 Q5_0 F16
	Q5_1 Q5_1 F16
	q8_0 Q8_0 F16
	q2_k Q4_0 F16
	q3_k Q4_0 F16
	q4_K Q5_0 F16
	q5_k Q5_1 F16
	q6_k Q8_0 F16
	iq4_nl IQ4_NL F16
	iq4_xs IQ4_NL F16
	END
}

@test "fallbacks are listed, each with its tensor" {
    quantize "$LLAMA" out.gguf --type q4_k -v >text
    grep -q '^blk.0.ffn_down.weight  *56  *F16$' text
    grep -q '^blk.1.attn_q.weight  *[0-9][0-9]*  *Q5_0$' text
    quantize "$LLAMA" out.gguf --type q4_k --json --force >out.json
    [ "$(sql "select count(*) from json_each(readfile('out.json'), '\$.fallbacks')")" = \
        "$(sql "select count(*) from json_each(readfile('out.json'), '\$.tensors')
                where json_extract(value, '\$.choice') = 'fallback'")" ]
    quantize "$LLAMA" out.gguf --type f16 --force >text
    [ -z "$(grep 'no multiple' text)" ]
}

@test "as f32 a file computes what it did, as q8_0 nearly" {
    quantize "$LLAMA" f32.gguf --type f32
    rml-golden check f32.gguf "$FIXTURES/llama/golden.json" --no-db
    quantize "$FIXTURES/llama-q4_k/model.gguf" again.gguf --type f32
    rml-golden check again.gguf "$FIXTURES/llama-q4_k/golden.json" --no-db
}

@test "metadata is carried over, a split file becomes one" {
    quantize "$LLAMA" one.gguf --type q8_0
    quantize "$FIXTURES/llama/split-00001-of-00003.gguf" three.gguf --type q8_0
    cmp one.gguf three.gguf
    for file in "$LLAMA" one.gguf; do
        rml-inspect "$file" --json --metadata >inspected.json
        sql "select value from json_each(readfile('inspected.json'), '\$.metadata')
             where value not like '%general.file_type%'" >$(basename "$file").keys
        sql "select json_extract(value, '\$.value') from json_each(readfile('inspected.json'), '\$.metadata')
             where json_extract(value, '\$.key') = 'general.file_type'" >$(basename "$file").file_type
    done
    grep -v quantization_version model.gguf.keys >want
    grep -v quantization_version one.gguf.keys | diff want -
    grep -q '"general.quantization_version".*"value":2' one.gguf.keys
    [ "$(cat one.gguf.file_type)" = 7 ]
}

@test "the same bytes for any number of threads, and from the same file twice" {
    quantize "$FIXTURES/mixtral/model.gguf" one.gguf --type q5_1 --threads 1
    quantize "$FIXTURES/mixtral/model.gguf" three.gguf --type q5_1 --threads 3
    cmp one.gguf three.gguf
    quantize one.gguf again.gguf --type q5_1 >text
    cmp one.gguf again.gguf
}

@test "a value that is no number is an error that names tensor and element" {
    quantize "$LLAMA" f32.gguf --type f32
    rml-inspect f32.gguf --json >inspected.json
    offset=$(sql "select json_extract(value, '\$.offset') from json_each(readfile('inspected.json'), '\$.tensors')
                  where json_extract(value, '\$.name') = 'blk.1.ffn_up.weight'")
    printf '\0\0\300\177' | dd of=f32.gguf bs=1 seek=$((offset + 4 * 130)) conv=notrunc status=none
    try quantize f32.gguf out.gguf --type q8_0
    [ $status = 1 ]
    [[ $stderr == *"element 130 of the tensor 'blk.1.ffn_up.weight' is nan, expected a finite number"* ]]
    # 1e30: finite, but beyond every f16
    printf '\312\362\111\161' | dd of=f32.gguf bs=1 seek=$((offset + 4 * 130)) conv=notrunc status=none
    for type in f16 q4_0 q8_0 iq4_nl; do
        try quantize f32.gguf out.gguf --type $type
        [ $status = 1 ]
        [[ $stderr == *"element 130 of the tensor 'blk.1.ffn_up.weight' is 1e+30, beyond what "* ]]
    done
    [ "$(ls out.gguf* 2>/dev/null)" = "" ]
    quantize f32.gguf out.gguf --type bf16
}

@test "a disk that is full leaves nothing, and an old output as it was" {
    try bash -c "trap '' XFSZ; ulimit -f 8; rml-quantize --no-db '$LLAMA' out.gguf --type f32"
    [ $status = 1 ]
    [[ $stderr == *"cannot write: File too large"* ]]
    [ -z "$(ls out.gguf* 2>/dev/null)" ]
    echo old >out.gguf
    try bash -c "trap '' XFSZ; ulimit -f 8; rml-quantize --no-db '$LLAMA' out.gguf --type f32 --force"
    [ $status = 1 ]
    [ "$(cat out.gguf)" = old ]
    [ "$(ls)" = out.gguf ]
}

# (--foreground: else timeout signals its process group too, and a second interrupt kills at once.)
@test "killed at any moment: the output is whole or not there" {
    quantize "$FIXTURES/gemma3/model.gguf" good.gguf --type q6_k >/dev/null
    for delay in 1 2 3 4 6 8 10 13 17 22; do
        for signal in KILL INT; do
            rm -f out.gguf*
            try timeout --foreground -s $signal 0.$(printf %03d $delay) rml-quantize --no-db "$FIXTURES/gemma3/model.gguf" out.gguf --type q6_k
            [ ! -e out.gguf ] || cmp out.gguf good.gguf
            [ $signal = KILL ] || [ "$(ls out.gguf.* 2>/dev/null)" = "" ]
        done
    done
}

@test "tensors that did not get the type are counted by length of row, and listed with -v" {
    quantize "$LLAMA" out.gguf --type q4_k --dry-run >short
    quantize "$LLAMA" out.gguf --type q4_k --dry-run -v >long
    quantize "$LLAMA" out.gguf --type q4_k --dry-run --json >out.json
    n=$(sql "select json_array_length(readfile('out.json'), '\$.fallbacks')")
    grep -qxF "$n tensors whose rows are no multiple of a block of Q4_K (-v lists each):" short
    # of each of two layers q, k, v, gate and up read 32 columns, as do the two tables of tokens;
    # the output projection reads 4 heads of 12, ffn_down 56: no blocks of 32 either, so F16
    [ "$(sed -n '/^columns/,$p' short | tail -n +2 | tr -s ' ')" = \
        $' 32 Q5_0 12 token_embd.weight\n 48 F16 2 blk.0.attn_output.weight\n 56 F16 2 blk.0.ffn_down.weight' ]
    [ "$(sed -n '/^tensor/,$p' long | tail -n +2 | wc -l)" -eq "$n" ]
}

@test "a dry run writes nothing" {
    quantize "$LLAMA" out.gguf --type q4_k --dry-run --json >out.json
    [ ! -e out.gguf ]
    [ "$(sql "select json_extract(readfile('out.json'), '\$.types[0].rms_error_relative') is null")" = 1 ]
    quantize "$LLAMA" out.gguf --type q4_k --json >done.json
    for file in out done; do
        sql "select json_extract(value, '\$.name', '\$.type', '\$.bytes_after')
             from json_each(readfile('$file.json'), '\$.tensors')" >$file
    done
    cmp out done
}

@test "a vocabulary without a model has no bits a weight" {
    {
        gguf_head 0 8
        gguf_key general.architecture 8
        gguf_string llama
        for number in block_count=1 context_length=8 embedding_length=8 attention.head_count=2 \
            feed_forward_length=8 vocab_size=4; do
            gguf_key llama.${number%=*} 4
            gguf_number 4 "${number#*=}"
        done
        gguf_key llama.attention.layer_norm_rms_epsilon 6
        printf '\x00\x00\x80\x3f' # 1 as f32
    } >vocabulary.gguf
    try quantize vocabulary.gguf out.gguf --type q8_0
    echo "$stderr$output"
    [ $status = 0 ]
    [[ $output == *$'\n'all*' 0 '*' 0 '*'  -  '* && $output != *nan* ]]
}

@test "the run and both models are rows of the database" {
    rml-quantize "$LLAMA" out.gguf --type q8_0 --db runs.db >/dev/null
    [ "$(sqlite3 runs.db "select kind, state, exit_code from run")" = "quantize|complete|0" ]
    [ "$(sqlite3 runs.db "select file_name, weight_dtype from model order by id" | paste -sd ' ')" = \
        "model.gguf|F16 out.gguf|Q8_0" ] || sqlite3 runs.db "select file_name, weight_dtype from model"
    [ "$(sqlite3 runs.db "select count(*) from model where content_sha256 = '$(sha256sum out.gguf | cut -d' ' -f1)'")" = 1 ]
    try rml-quantize "$LLAMA" nowhere/out.gguf --type q8_0 --db runs.db
    [ $status = 1 ]
    [ "$(sqlite3 runs.db "select state from run where id = 2")" = failed ]
}

@test "a folder is laid out as the converter does it: the same bytes of tensors, the same logits" {
    for name in llama mistral mixtral qwen2 qwen3 qwen3_moe gemma3 olmoe; do
        fixture=$FIXTURES/$name
        hf=$fixture/hf
        quantize "$hf" f16.gguf --type f16 --force >/dev/null
        quantize "$hf" f32.gguf --type f32 --force >/dev/null
        rml-golden check f32.gguf "$fixture/golden.json" --no-db >/dev/null
        # the fixture is equal to the converter's (ci/crosscheck-converter)
        quantize "$fixture/model.gguf" want.gguf --type f16 --force >/dev/null
        rml-inspect f16.gguf want.gguf --json >differences.json || true
        [ "$(sql "select count(*) from json_each(readfile('differences.json'), '\$.tensors') t
                  where json_extract(value, '\$.max_abs_difference') > 0")" = 0 ]
    done
}

# Each toy's golden against llama.cpp (of llama-cpp-python 0.3.36) on the f32 file written from its folder: those
# named here are off by 1 and more, or do not load; the others are right to 4e-5 (Gemma's, whose GELU
# is a table of f16 there, to 0.006). Values are those of the toys' config.json, the other ones of
# llama.cpp's src/models/.
@test "a warning names what llama.cpp computes otherwise" {
    cat >expected <<'END'
gemma3 'gemma3.attention.scale' is 0.204124: llama.cpp does not read it, and computes with 0.25
mistral 'llama.attention.sliding_window' is 48: llama.cpp does not read it, and lets tokens attend further back
olmoe 'olmoe.attention.head_count_kv' is 2: llama.cpp expects as many as heads, 4, and does not load the file
olmoe-normalised 'olmoe.expert_weights_norm' is true: llama.cpp does not read it, and computes with false
qwen2 'qwen2.rope.scaling.yarn_beta_fast' is 1: llama.cpp does not read it, and computes with 32
qwen2 'qwen2.rope.scaling.yarn_beta_slow' is 0.1: llama.cpp does not read it, and computes with 1
qwen3_moe-raw-weights 'qwen3moe.expert_weights_norm' is false: llama.cpp does not read it, and computes with true
END
    for hf in "$FIXTURES"/*/hf; do
        name=$(basename "$(dirname "$hf")")
        try quantize "$hf" "$name.gguf" --type f32 --json
        [ $status = 0 ]
        sed -n "s/^rml-quantize: warning: $name.gguf: /$name /p" .stderr >>found
        # and in the document
        sql "select '$name ' || value from json_each('${output//\'/\'\'}', '\$.llama_cpp_differences')" >>in_json
    done
    diff <(sort expected) <(sort found)
    diff <(sort expected) <(sort in_json)
    # from a GGUF the same, though nothing is written; and what only a GGUF can say
    try quantize "$FIXTURES/qwen2/model.gguf" o.gguf --type q8_0 --dry-run
    [[ $stderr == *"o.gguf: 'qwen2.rope.scaling.yarn_beta_fast' is 1: "* ]]
    try quantize "$FIXTURES/qwen3-yarn/model.gguf" o.gguf --type q8_0 --dry-run
    # 1.109861 = 1 + 0.1 ln 3
    [[ $stderr == *"o.gguf: 'qwen3.rope.scaling.yarn_attn_factor' is 0.9: llama.cpp does not read it, and computes with 1.10986"* ]]
    cp -r "$FIXTURES/qwen3/hf" scaled
    sed -i 's/"rope_type": "default"/"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64/' scaled/config.json
    try quantize scaled scaled.gguf --type f32
    [[ $stderr == *"scaled.gguf: a tensor 'rope_freqs.weight': "*'does not load the file'* ]]
}

@test "a sharded folder, and one of the Hugging Face cache" {
    quantize "$FIXTURES/llama/hf" one.gguf --type q8_0 >/dev/null
    quantize "$FIXTURES/llama/hf-sharded" many.gguf --type q8_0 >/dev/null
    mkdir -p hub/models--toys--llama/{refs,snapshots}
    printf abc >hub/models--toys--llama/refs/main
    cp -r "$FIXTURES/llama/hf" hub/models--toys--llama/snapshots/abc
    HF_HUB_CACHE=$PWD/hub quantize toys/llama cached.gguf --type q8_0 >/dev/null
    for file in one many cached; do
        tail -c 20000 $file.gguf >$file.data
    done
    cmp one.data many.data
    cmp one.data cached.data
    rml-inspect cached.gguf --json --metadata >inspected.json
    [ "$(sql "select json_extract(value, '\$.value') from json_each(readfile('inspected.json'), '\$.metadata')
              where json_extract(value, '\$.key') = 'general.name'")" = llama ]
}

@test "a folder without a tokenizer gives a warning, one with it the same ids" {
    try quantize "$FIXTURES/llama/hf" out.gguf --type f16
    [ $status = 0 ]
    [[ $stderr == *"no tokenizer in it, so the output has none either"* ]]
    # llama.cpp counts tokens by it where there are none (llama-vocab.cpp); config.json says 64
    quantize "$FIXTURES/qwen2/hf" qwen2.gguf --type f16 >/dev/null 2>&1
    rml-inspect qwen2.gguf --json --metadata >inspected.json
    [ "$(sql "select json_extract(value, '\$.value') from json_each(readfile('inspected.json'), '\$.metadata')
              where json_extract(value, '\$.key') = 'qwen2.vocab_size'")" = 64 ]
    try quantize "$FIXTURES/llama-text/hf-text" text.gguf --type f16
    [ $status = 0 ]
    [ -z "$stderr" ]
    text='Two words, 1234 digits and <|im_start|>user'
    for flag in "" --parse-special --no-special; do
        [ "$(rml-tokenize text.gguf $flag "$text")" = "$(rml-tokenize "$FIXTURES/llama-text/hf-text" $flag "$text")" ]
    done
}

@test "a pre-tokenizer that no GGUF names is an error, a choice is taken" {
    cp -r "$FIXTURES/llama-text/hf-text" folder
    sqlite3 :memory: "select writefile('folder/tokenizer.json', json_set(cast(readfile('folder/tokenizer.json') as text),
        '\$.pre_tokenizer', json('{\"type\": \"Sequence\", \"pretokenizers\": [
          {\"type\": \"Split\", \"pattern\": {\"Regex\": \"xyz+\"}, \"behavior\": \"Isolated\", \"invert\": false},
          {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}]}')))" >/dev/null
    try quantize folder out.gguf --type f16
    [ $status = 1 ]
    [[ $stderr == *"is none that a GGUF can name (tokenizer.ggml.pre)"*"--pre"* ]]
    [ ! -e out.gguf ]
    try quantize folder out.gguf --type f16 --pre nonsense
    [ $status = 1 ]
    [[ $stderr == *"'nonsense' is not known, expected one of: default gpt-2 "* ]]
    for checkpoint in "$FIXTURES/llama-text/model.gguf" "$FIXTURES/llama/model.gguf"; do
        try quantize "$checkpoint" out.gguf --type f16 --pre nonsense
        [ $status = 1 ]
        [[ $stderr == *"'nonsense' is not known, expected one of: default gpt-2 "* ]]
    done
    try quantize "$FIXTURES/llama/model.gguf" out.gguf --type f16 --pre smollm
    [ $status = 1 ]
    [[ $stderr == *"the vocabulary is of the kind 'none', which has no pre-tokenizer"* ]]
    try quantize "$FIXTURES/llama/hf" out.gguf --type f16 --pre smollm
    [ $status = 1 ]
    [[ $stderr == *"there is no tokenizer to choose a pre-tokenizer for" ]]
    [ ! -e out.gguf ]
    quantize folder out.gguf --type f16 --pre smollm
    rml-inspect out.gguf --json --metadata | grep -A4 tokenizer.ggml.pre | grep -q '"smollm"'
}
