#!/usr/bin/env bats
# The numbers of the toys: the stream of float64, and i8 arithmetic.

setup() {
    FIXTURES=$RML_SOURCE_DIR/goldens/fixtures
    TOKENS=17,43,60,32,57,23,18,27,12
    FOLDER=$(mktemp -d)
    cd "$FOLDER"
    export RML_DB=$FOLDER/rml.db XDG_CACHE_HOME=$FOLDER/cache
    unset RML_MODELS_DIR
}

teardown() { rm -rf "$FOLDER"; }

@test "the residual stream equals a float64 computation of it" {
    for toy in llama gemma3 mixtral olmoe qwen2 qwen3; do
        for checkpoint in hf model.gguf; do
            rml-golden check "$FIXTURES/$toy/$checkpoint" "$RML_SOURCE_DIR/goldens/tests/stream_$toy.json"
        done
    done
}

@test "i8 arithmetic: the same bits on every instruction set and thread count" {
    for type in q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs; do
        model=$FIXTURES/llama-$type/model.gguf
        RML_CPU=ref rml-golden record "$model" --threads 1 --arithmetic i8 --force --tokens "$TOKENS" \
            --tolerance 0 --residual-rel 0 -o i8.json
        rml-golden check --threads 3 "$model" i8.json
    done
}

@test "i8 arithmetic stays near the float64 goldens" {
    # Toys of 32 to 256 columns have few terms for errors to cancel in: the worst of them is
    # 1.1 off, on logits of up to 12.
    for type in q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs; do
        rml-golden check --arithmetic i8 --tolerance 0.6 "$FIXTURES/llama-$type/model.gguf" \
            "$FIXTURES/llama-$type/golden.json"
    done
}
