#!/usr/bin/env bats
# Replies to chats are those of lm-eval 0.4.13's generate_until behind --apply_chat_template
# (make/chat_reply_expectations.py), token for token; real checkpoints are skipped where they are not
# there.

load real_checkpoint

# replies_are_lm_evals CHECKPOINT EXPECTED [OPTION...]: without a system message, and with one
replies_are_lm_evals() {
    local run system
    cp "$E/$2" b.json
    for run in 0 1; do
        system=$(sql "b->'runs'->$run->>'system'")
        rml-eval generate "$1" "$E/chat_prompts.jsonl" --no-db --max-tokens "$(sql "b->>'max_tokens'")" \
            --until '\n\n' --until '!' ${system:+--system "$system"} --items items.jsonl -q "${@:3}"
        lines items.jsonl >a.json
        [ "$(sql "b->>'until'")" = '["\n\n","!"]' ]
        sql "(SELECT group_concat(i.key || ': ' || (i.value->>'reply') || ' for ' || (w.value), char(10))
            FROM json_each(a) AS i JOIN json_each(b, '\$.runs[$run].replies') AS w USING (key)
            WHERE i.value->>'reply' <> w.value)"
        [ "$(sql "(SELECT count(*) || ' of 8' FROM json_each(a) AS i
            JOIN json_each(b, '\$.runs[$run].replies') AS w USING (key)
            WHERE i.value->>'reply' = w.value)")" = '8 of 8' ]
    done
}

@test "the toy's replies to chats are lm-eval's" {
    replies_are_lm_evals "$TOY" llama-text-chat.json --chat
}

@test "SmolLM2's replies to chats are lm-eval's" {
    model SmolLM2-135M-Instruct.Q4_1.gguf
    replies_are_lm_evals "$MODEL" smollm2-chat.json --chat
}
