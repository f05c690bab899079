#!/usr/bin/env python3
"""Writes sampler_cases.json: distributions after transformers' logits processors.

Each case has logits, a context and settings; its probabilities are those that
transformers (5.24.0, torch float64) samples from, its processors applied in the order in which
GenerationMixin.generate applies them. Settings that are off are left out, as there.

    python3 make_sampler_cases.py > sampler_cases.json
"""
import json

import numpy as np
import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)


def probabilities(logits, context, settings):
    window = settings.get("window", 0)
    ids = torch.tensor([context[-window:] if window else context], dtype=torch.int64)
    scores = torch.tensor([logits], dtype=torch.float64)
    steps = []
    if "penalty" in settings:
        steps.append(RepetitionPenaltyLogitsProcessor(settings["penalty"]))
    if "temperature" in settings:
        steps.append(TemperatureLogitsWarper(settings["temperature"]))
    if "top_k" in settings:
        steps.append(TopKLogitsWarper(settings["top_k"]))
    if "top_p" in settings:
        steps.append(TopPLogitsWarper(settings["top_p"]))
    if "min_p" in settings:
        steps.append(MinPLogitsWarper(settings["min_p"]))
    for step in steps:
        scores = step(ids, scores)
    return torch.softmax(scores, dim=-1)[0]


def case(name, logits, context, **settings):
    p = probabilities(logits, context, settings)
    kept = [[int(i), float(p[i])] for i in torch.nonzero(p)[:, 0]]
    return {"name": name, "logits": logits, "context": context, **settings, "probabilities": kept}


def main():
    rng = np.random.default_rng(20)
    worked = [2.0, 1.0, 0.0, -1.0]  # the example of the specification
    cases = [
        case("worked", worked, [], top_p=0.9, min_p=0.05),
        case("worked, penalty", worked, [0, 3], top_p=0.9, min_p=0.05, penalty=1.1),
        case("minus infinity", [1.0, float("-inf"), 0.5, float("-inf")], [], temperature=0.5),
    ]
    settings = [
        {},
        {"temperature": 0.7},
        {"temperature": 2.5},
        {"top_k": 1},
        {"top_k": 7},
        {"top_k": 1000},
        {"top_p": 0.5},
        {"top_p": 0.95},
        {"top_p": 0.01},
        {"min_p": 0.05},
        {"min_p": 0.6},
        {"penalty": 1.3},
        {"penalty": 0.8},
        {"penalty": 1.3, "window": 3},
        {"temperature": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "penalty": 1.1},
        {"temperature": 1.4, "top_k": 12, "top_p": 0.8},
        {"temperature": 1.4, "top_p": 0.8, "min_p": 0.2},
        {"temperature": 0.3, "top_k": 5, "min_p": 0.3, "penalty": 1.5, "window": 4},
    ]
    for i, these in enumerate(settings):
        n = 48 if i % 3 else 150
        logits = [round(float(x), 3) for x in rng.normal(0, 2.5, n)]
        context = [int(x) for x in rng.integers(0, n, 6)]
        context.append(int(np.argmax(logits)))
        context.append(context[0])
        name = ", ".join(f"{k} {v}" for k, v in these.items()) or "off"
        cases.append(case(name, logits, context, **these))
    for c in cases:  # JSON knows no infinity
        c["logits"] = [None if x == float("-inf") else x for x in c["logits"]]
    print(json.dumps({"source": "transformers 5.24.0, float64", "cases": cases}).replace('{"name"', '\n{"name"'))


if __name__ == "__main__":
    main()
