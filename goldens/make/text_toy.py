"""The toy with a tokenizer: goldens that start from text and from chat messages.

A Llama of 320 tokens: four special ones, an alphabet of all bytes and what merges the
prompts below suggest. The same tokenizer stands in tokenizer.json and in GGUF keys. Ids
are those of the tokenizers package, the text of chats is that of transformers'
apply_chat_template.
"""

import json

import tokenizers
import transformers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

import toys

N_VOCAB = 320
BOS, EOS = "<s>", "</s>"
SPECIAL = [BOS, EOS, "<|im_start|>", "<|im_end|>"]
# ChatML, as it stands in TheBloke/Mistral-7B-OpenOrca-GPTQ.
TEMPLATE = (
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}"
    "{% endif %}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}")

CONFIG = toys.LLAMA | {
    "vocab_size": N_VOCAB, "intermediate_size": 48, "rms_norm_eps": 1e-3,
    "bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 700.0}}

TEXTS = {
    "text": ("The toy reads text, 123 times; it isn't long.", True),
    "no-special": (" naïve café\n\n\t東京 🍕", False),
}
CHATS = {
    "chat": [{"role": "system", "content": "You are a toy."},
             {"role": "user", "content": "What is text?"}],
    "chat-turns": [{"role": "user", "content": "  Привет! "},
                   {"role": "assistant", "content": "Hello.\n"},
                   {"role": "user", "content": "你好吗？ 👩‍🚀"}],
}


def make_tokenizer():
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    prompts = [t for t, _ in TEXTS.values()] + [m["content"] for c in CHATS.values() for m in c]
    trainer = trainers.BpeTrainer(
        vocab_size=N_VOCAB, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(prompts + ["system user assistant"] * 9, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, 0)])
    assert tokenizer.get_vocab_size() == N_VOCAB
    return tokenizer


def write_json(folder, tokenizer):
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"bos_token": BOS, "chat_template": TEMPLATE, "eos_token": EOS,
         "tokenizer_class": "PreTrainedTokenizerFast"}, indent=2) + "\n")


def gguf_keys(tokenizer):
    state = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(state["vocab"], key=state["vocab"].get)
    control, normal = 3, 1
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [control if t in SPECIAL else normal for t in tokens],
            "tokenizer.ggml.merges": [" ".join(m) for m in state["merges"]],
            "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1,
            "tokenizer.ggml.add_bos_token": True, "tokenizer.chat_template": TEMPLATE}


def prompts(tokenizer):
    """[(name, ids, keys of the case)]"""
    renderer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, chat_template=TEMPLATE)
    out = [(name, tokenizer.encode(text, add_special_tokens=special).ids,
            {"text": text} if special else {"text": text, "add_special": False})
           for name, (text, special) in TEXTS.items()]
    for name, messages in CHATS.items():
        text = renderer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        out.append((name, tokenizer.encode(text, add_special_tokens=False).ids,
                    {"messages": messages}))
    return out
