#!/usr/bin/env python3
"""Writes ../expected/lm_eval: what lm-eval leaves behind, for the tests of rml-eval import.

    lm_eval_samples.py goldens/models/rml-tiny OUT

Runs lm-eval 0.4.13 (float32, logits_cache=False) on rml-tiny with the tasks of lm_eval_tasks and
copies its files with the date left out of their names, together with the items that they are of.
What describes the machine (pretty_env_info and the paths of the configuration) is left out of the
results file; nothing else is changed.

Packages: lm-eval==0.4.13, torch, transformers, datasets.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
model, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
lines = (HERE.parent / "expected" / "questions.jsonl").read_text().splitlines(keepends=True)
items = [json.loads(line) for line in lines]

with tempfile.TemporaryDirectory() as folder:
    work = Path(folder)
    (work / "questions.jsonl").write_text("".join(lines[:24]))
    with open(work / "texts.jsonl", "w") as file:
        for begin in (0, 8, 16, 24):
            text = "".join(item["context"] + " " + item["choices"][item["gold"]] + "\n"
                           for item in items[begin : begin + 8])
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    with open(work / "prompts.jsonl", "w") as file:
        for item in items[32:38]:
            words = (item["context"] or "And").split()
            file.write(json.dumps({"context": " ".join(words[:-1]), "gold": "the"},
                                  ensure_ascii=False) + "\n")
    os.symlink(model, work / "rml-tiny")
    subprocess.run(
        [Path(sys.executable).parent / "lm_eval", "run", "--model", "hf", "--model_args",
         "pretrained=rml-tiny,dtype=float32,logits_cache=False", "--include_path",
         HERE / "lm_eval_tasks", "--tasks", "imported_group,imported_texts,imported_replies",
         "--batch_size", "4", "--device", "cpu", "--log_samples", "--output_path", "out"],
        cwd=work, check=True, env=os.environ | {"HF_HOME": str(work / "cache")})
    out.mkdir(parents=True, exist_ok=True)
    for name in ("questions.jsonl", "texts.jsonl", "prompts.jsonl"):
        shutil.copy(work / name, out / f"lm_eval_{name}")
    for file in (work / "out").glob("*/*"):
        name, _, rest = file.name.rpartition("_")
        text = file.read_text()
        if name == "results":
            document = json.loads(text)
            del document["pretty_env_info"]
            text = json.dumps(document, indent=2, ensure_ascii=False).replace(str(work), "WORK")
            text = text.replace(str(HERE), "MAKE")
        (out / f"{name}_2026-11-30.{rest.rpartition('.')[2]}").write_text(text)
