#!/usr/bin/env python3
"""Tasks and what lm-eval 0.4.13 makes of them: eval/tests/expected/tasks/.

    task_expectations.py FOLDER             task files and their documents
    task_expectations.py FOLDER CHECKPOINT  FOLDER/expected.json: each task run by lm-eval on a Hugging
                                            Face folder, with prompts, log-likelihoods, replies

The tasks are read by lm-eval's own TaskManager, models run by HFLM with logits_cache=False, float32.
Packages: lm-eval==0.4.13, torch, transformers.
"""
import json
import os
import random
import sys
from pathlib import Path

ANIMALS = "cat dog cow hen fox owl bee ant pig rat".split()
PLACES = "house garden field forest river tree barn road hill pond".split()

TASKS = {
    "mc_base.yaml": r"""
dataset_path: json
dataset_kwargs: {data_files: {train: train.jsonl, test: [test.jsonl]}}
output_type: multiple_choice
test_split: test
doc_to_text: "Q: {{question.strip()}}\nA:"
doc_to_choice: "{{choices.text}}"
doc_to_target: "{{choices.label.index(answerKey)}}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - {metric: acc_norm}
  - metric: acc_bytes
""",
    "mc_default.yaml": r"""
include: mc_base.yaml
task: mc_default
tag: [some_tag]
fewshot_split: train
num_fewshot: 5
description: "Questions about {{kind}}.\n\n"
metadata: {version: 1.0}
""",
    "mc_self.yaml": r"""
# the split of the examples is that of the documents, which holds some of them twice
include: [mc_base.yaml]
task: mc_self
fewshot_split: test
num_fewshot: 3
target_delimiter: "  "
fewshot_delimiter: "\n"
doc_to_choice: "{{['in the ' + choices.text[0], 'in the ' ~ choices.text[1], 'nowhere at \"all\"']}}"
doc_to_target: "{{'AB'.index(answerKey)}}"
""",
    "mc_first.yaml": r"""
include: mc_base.yaml
task: mc_first
num_fewshot: 2
doc_to_text: question
doc_to_choice: ["yes", 'no']
doc_to_target: "{% if answerKey == 'A' %}yes{% else -%} no {%- endif %}"
fewshot_config:
  sampler: first_n
  doc_to_text: "{{question}} Is it so?"
  samples:
    - {question: "Is it day?", answerKey: A}
    - {question: "Is it night?", answerKey: B}
    - {question: "Is it late?", answerKey: B}
""",
    "mc_implicit.yaml": r"""
# no test_split and no fewshot_split: examples are from the training split, one more is drawn
include: mc_base.yaml
task: mc_implicit
test_split: null
validation_split: test
training_split: train
num_fewshot: 4
""",
    "mc_contexts.yaml": r"""
# the contexts are the choices, as in winogrande
include: mc_base.yaml
task: mc_contexts
fewshot_split: train
num_fewshot: 1
doc_to_text: "{{['A', 'B'].index(answerKey)}}"
doc_to_choice: "{{['The ' + animal + ' of the ' + choices.text[0], 'The ' + animal + ' of the ' + choices.text[1]]}}"
doc_to_target: "is happy today."
metric_list: [{metric: acc}]
""",
    "cloze.yaml": r"""
task: cloze
dataset_path: json
dataset_kwargs: {data_files: {train: train.jsonl, test: test.jsonl}}
output_type: loglikelihood
test_split: test
fewshot_split: train
num_fewshot: 1
target_delimiter: ""
doc_to_text: "{{sentence.split(' ')[:-1]|join(' ')}}"
doc_to_target: "{{' ' + sentence.split(' ')[-1]}}"
""",
    "rolling.yaml": r"""
task: rolling
dataset_path: json
dataset_kwargs:
  data_files: {test: test.jsonl}
output_type: loglikelihood_rolling
test_split: test
doc_to_text: ""
doc_to_target: "{{sentence}} {{question}}"
should_decontaminate: true
doc_to_decontamination_query: "{{sentence}}"
""",
    "reply.yaml": r"""
task: reply
dataset_path: json
dataset_kwargs: {data_files: {train: train.jsonl, test: test.jsonl}}
test_split: test
fewshot_split: train
num_fewshot: 2
doc_to_text: "{{sentence.split(' ')[:2]|join(' ')}}"
doc_to_target: "{{accepted}}"
generation_kwargs: {until: ["\n", "x"], max_gen_toks: 12, do_sample: false, temperature: 0.0}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
    regexes_to_ignore: ["\\s", "[0-9]+"]
repeats: 1
filter_list:
  - name: letters
    filter:
      - {function: regex, regex_pattern: "([a-z])[a-z]*", group_select: -1, fallback: "none"}
      - {function: take_first}
  - name: plain
    filter:
      - function: remove_whitespace
      - function: lowercase
      - function: take_first
""",
}

# name, task, lm-eval's arguments, those of rml-eval task
CHAT = {"apply_chat_template": True, "fewshot_as_multiturn": False}
TURNS = {"apply_chat_template": True, "fewshot_as_multiturn": True}
SYSTEM = {"system_instruction": "Be brief."}
RUNS = [
    ("mc_default", "mc_default", {}, []),
    ("mc_default-head", "mc_default", {"limit": 5}, ["--limit", "5", "--head"]),
    ("mc_self", "mc_self", {}, []),
    ("mc_first", "mc_first", {}, []),
    ("mc_implicit", "mc_implicit", {}, []),
    ("mc_implicit-1", "mc_implicit", {"num_fewshot": 1}, ["--num-fewshot", "1"]),
    ("mc_contexts", "mc_contexts", {}, []),
    ("cloze", "cloze", {}, []),
    ("rolling", "rolling", {}, ["--compat", "double-bos"]),
    ("reply", "reply", {}, []),
    ("mc_default-chat", "mc_default", CHAT, ["--chat"]),
    ("mc_default-turns", "mc_default", {**TURNS, **SYSTEM},
     ["--chat", "--fewshot-as-turns", "--system", "Be brief."]),
    ("mc_self-chat", "mc_self", {**CHAT, **SYSTEM}, ["--chat", "--system", "Be brief."]),
    ("mc_contexts-turns", "mc_contexts", TURNS, ["--chat", "--fewshot-as-turns"]),
    ("cloze-chat", "cloze", CHAT, ["--chat=chatml"]),
    ("reply-turns", "reply", {**TURNS, **SYSTEM},
     ["--chat", "--fewshot-as-turns", "--system", "Be brief."]),
]


def make_documents(folder, name, count, seed, twice):
    draw = random.Random(seed)
    documents = []
    for number in range(count):
        animal, (a, b) = draw.choice(ANIMALS), draw.sample(PLACES, 2)
        key = draw.choice("AB")
        where = a if key == "A" else b
        documents.append({
            "question": f" Where is the {animal} ({number})? ", "kind": draw.choice(["animals", "places"]),
            "choices": {"text": [a, b], "label": ["A", "B"]}, "answerKey": key, "animal": animal,
            "sentence": f"The {animal} is in the {where}", "accepted": [where, where[0], "none"],
        })
    for number in twice:
        documents.insert(number, documents[number])
    with open(folder / name, "w") as file:
        for document in documents:
            file.write(json.dumps(document) + "\n")


def run(folder, checkpoint):
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager
    os.chdir(folder)
    lm = HFLM(pretrained=checkpoint, batch_size=8, logits_cache=False, device="cpu", dtype="float32")
    manager = TaskManager(include_path=".", include_defaults=False)
    runs = []
    for name, task, arguments, options in RUNS:
        out = lm_eval.simple_evaluate(model=lm, tasks=[task], task_manager=manager, log_samples=True,
                                      bootstrap_iters=0, **arguments)
        samples = {}
        for sample in out["samples"][task]:
            entry = samples.setdefault(sample["doc_id"], {"id": sample["doc_id"]})
            requests = list(sample["arguments"].values()) if isinstance(sample["arguments"], dict) \
                else sample["arguments"]
            requests = [tuple(r.values()) if isinstance(r, dict) else r for r in requests]
            contexts = [r[0] for r in requests]
            resps = [r[0] if isinstance(r, list) else r for r in sample["resps"]]
            if task == "rolling":
                entry["nll_sum"] = -round(float(resps[0]), 5)
                continue
            entry["prompt"] = contexts if task == "mc_contexts" else contexts[0]
            if task == "reply":
                entry["reply"] = resps[0]
                entry.setdefault("answer", {})[sample["filter"]] = sample["filtered_resps"][0]
                entry.setdefault("exact_match", {})[sample["filter"]] = int(sample["exact_match"])
            else:
                entry["loglik"] = [round(float(r[0]), 5) for r in resps]
                entry["greedy"] = [str(r[1]) == "True" for r in resps]
        results = {key.removesuffix(",none"): round(value, 7) for key, value in
                   out["results"][task].items() if isinstance(value, float) and "stderr" not in key}
        runs.append({"name": name, "task": task, "options": options, "results": results,
                     "samples": list(samples.values())})
    document = {"source": {"engine": "lm-eval", "version": "0.4.13", "dtype": "float32"}, "runs": runs}
    Path("expected.json").write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        run(target, str(Path(sys.argv[2]).resolve()))
    else:
        for file_name, text in TASKS.items():
            (target / file_name).write_text(text.lstrip("\n"))
        make_documents(target, "train.jsonl", 30, 1, [])
        make_documents(target, "test.jsonl", 14, 2, [1, 1, 9])
