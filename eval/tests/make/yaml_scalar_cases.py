#!/usr/bin/env python3
"""eval/tests/expected_yaml_scalars.h: how PyYAML, with which lm-eval reads, types plain scalars.

    yaml_scalar_cases.py >expected_yaml_scalars.h

"other" stands for what rml has no value for: numbers of other bases, infinities, dates.
"""
import datetime
import json
import math
import yaml

WORDS = """~ null Null NULL nULL yes Yes YES no No NO on On ON off Off OFF true True TRUE false False
FALSE y n 0 1 -1 +5 007 08 0x1F 0b11 1_000 1:30 12 1.5 -0.25 .5 1. 1e3 1.0e+3 1.5e3 1.5E-2 .inf -.Inf
.nan 2001-12-14 a a-1 1a -a 1.2.3 1,000 A --- 9223372036854775807 = =a""".split()
WORDS.remove("---")

print("/* Written by make/yaml_scalar_cases.py. */\n#define SCALARS \\")
rows = []
for word in WORDS:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(word, Loader=loader)
    except yaml.YAMLError:
        value = math.inf
    kind, number = "OTHER", 0
    if value is None:
        kind = "NULL"
    elif isinstance(value, bool):
        kind, number = "BOOL", int(value)
    elif isinstance(value, int) and str(value) == word.lstrip("+"):
        kind, number = "INT", value if abs(value) < 2**53 else float(value)
    elif isinstance(value, float) and math.isfinite(value):
        kind, number = ("REAL", value) if ":" not in word else ("OTHER", 0)
    elif isinstance(value, str):
        kind = "STRING"
    assert kind != "OTHER" or isinstance(value, (int, float, datetime.date))
    rows.append(f"    {{{json.dumps(word)}, YAML_{kind}, {number}}}")
print(", \\\n".join(rows))
