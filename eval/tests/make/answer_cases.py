#!/usr/bin/env python3
"""Writes answer_cases.json: what Python's re makes of replies under lm-eval's rules.

The filter is that of lm-eval 0.4's RegexFilter, written from its documented behaviour: findall, the
match that group_select names, of several groups the first that is not empty, stripped.

    python3 answer_cases.py > ../expected/answer_cases.json
"""
import json
import re

PATTERNS = [r"(-?[$0-9.,]{2,})|(-?[0-9]+)", r"#### (\-?[0-9\.\,]+)", r"[A-Z]", r"\w+", r"x*", r"(a)?(b)?",
            r"The answer is (.*?)\.", r"\d+", r"|a."]
REPLIES = ["", "The answer is 42.", "so 1,234.5 and -7\n#### 18", " ab b a ", "Ünïcode Äpfel x xx 東京",
           "#### 1,000 #### 2", "\u0663 apples"]


def extract(pattern, group, reply):
    found = re.findall(pattern, reply)
    if not found or not -len(found) <= group < len(found):
        return "[invalid]"
    match = found[group]
    if isinstance(match, tuple):
        match = next((m for m in match if m), "[invalid]")
    return match.strip()


print(json.dumps([{"pattern": p, "group": g, "reply": r, "answer": extract(p, g, r)}
                  for p in PATTERNS for r in REPLIES for g in (0, 1, -1)], indent=0))
