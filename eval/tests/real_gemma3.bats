#!/usr/bin/env bats
# Gemma 3 as lm-eval and transformers score it; skipped where the checkpoint is not there.

load real_checkpoint

@test "Gemma 3: log-likelihoods, greedy flags and picks are lm-eval's" {
    model gemma-3-270m-q4_k_m.gguf
    choices_are_lm_evals questions.jsonl gemma3.json 4
}

@test "Gemma 3: the same of mixed questions, with contexts that are cut" {
    model gemma-3-270m-q4_k_m.gguf
    choices_are_lm_evals mixed_questions.jsonl gemma3-mixed.json 3 --ctx 160
}

@test "Gemma 3: rolling log-likelihoods of documents are lm-eval's" {
    model gemma-3-270m-q4_k_m.gguf
    rolling_is_lm_evals gemma3.json
}

@test "Gemma 3: perplexity by each protocol is transformers'" {
    model gemma-3-270m-q4_k_m.gguf
    perplexity_is_transformers gemma3-perplexity.json
}
