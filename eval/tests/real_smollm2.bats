#!/usr/bin/env bats
# SmolLM2 as lm-eval and transformers score it; skipped where the checkpoint is not there.

load real_checkpoint

@test "SmolLM2: log-likelihoods, greedy flags and picks are lm-eval's" {
    model SmolLM2-135M-Instruct.Q4_1.gguf
    choices_are_lm_evals questions.jsonl smollm2.json 16
}

@test "SmolLM2: the same of mixed questions, with contexts that are cut" {
    model SmolLM2-135M-Instruct.Q4_1.gguf
    choices_are_lm_evals mixed_questions.jsonl smollm2-mixed.json 4 --ctx 160
}

@test "SmolLM2: perplexity by each protocol is transformers'" {
    model SmolLM2-135M-Instruct.Q4_1.gguf
    perplexity_is_transformers smollm2-perplexity.json
}

@test "SmolLM2: rolling log-likelihoods of documents are lm-eval's" {
    model SmolLM2-135M-Instruct.Q4_1.gguf
    rolling_is_lm_evals smollm2.json
}
