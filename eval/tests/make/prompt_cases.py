#!/usr/bin/env python3
"""eval/tests/expected/prompt_cases.json: templates of task files as lm-eval 0.4.13 renders them.

    prompt_cases.py >prompt_cases.json

"text" is what its apply_template makes of a document, "literal" what ast.literal_eval reads in
that, "error" a template that Jinja, too, refuses or that fails for this document. "refused" are
templates that Jinja renders and rml-eval does not take. Package: lm-eval==0.4.13.
"""
import ast
import json

from lm_eval.utils import apply_template

DOC = {
    "question": "  Why is the sky blue? ", "answer": 2, "choices": ["red", "blüe", "it's", 'a "b"'],
    "arc": {"text": ["up", "down", "left"], "label": ["A", "B", "C"]}, "answerKey": "B", "none": None,
    "score": 0.1, "big": 1e22, "whole": 3.0, "yes": True, "goal": "To fly", "items": {"a": 1},
    "text": "one two  three\nfour", "empty": "", "number": "12", "zwölf": "Ä ö", "esc": "tab\tnl\nq'\\",
    "rows": [{"q": "x"}, {"q": "y"}],
}
TEMPLATES = r"""
{{question}}|Question: {{question.strip()}}\nAnswer:|{{answer}}|{{choices[0]}} {{choices[-1]}}
{{choices}}|{{arc.text}}|{{arc['label'].index(answerKey)}}|{{arc.label.index(answerKey.lstrip())}}
{{['A', 'B', "C"].index(answerKey)}}|{{[goal, question.strip()]}}|{{[choices[0], 'x\'y', "z\n"]}}
{{goal[:1].lower() + goal[1:]}}|{{goal[3:]}}|{{goal[-3:-1]}}|{{text.split(' ')[-1]}}|{{' '+text.split()[-1]}}
{{text.split(' ')[:-1]|join(' ')}}|{{choices|join(', ')}}|{{choices|join}}|{{arc.text|length}}
{{'ABCD'[answerKey|int - 1] if answerKey|string in '1234' else answerKey}}|{{number|int + 1}}
{% if none is not none %}a{% else %}b{% endif %}|{% if answer is defined %}x{% elif yes %}y{% endif %}
{%- if yes -%}  a  {%- endif -%}  b|{{- goal -}}  z|a {#- c -#} b|{{undefd|default('dd')}}|{{undefd is defined}}
{{score}} {{big}} {{whole}} {{yes}} {{none}}|{{esc}}|{{[esc, zwölf, none, yes, score]}}|{{items['a']}}
{{ not yes }}|{{ yes and goal }}|{{ none or goal }}|{{ 1 < 2 }} {{ 'a' == "a" }} {{ 2 != 2 }}|{{ 3 - 1 - 1 }}
{{ 'a' ~ 1 ~ none }}|{{ 1 ~ 2 + 'x' }}|{{ goal|lower }} {{ goal|upper }} {{'hELLO'|capitalize}}|{{ 4|string }}
{{ goal.replace('fly', 'run').upper() }}|{{ choices|first }} {{ choices|last }}|{{ zwölf.upper() }} {{zwölf|lower}}
{{ goal.startswith('To') }} {{ goal.endswith('x') }}|{{ '-'.join(choices) }}|{{ question|trim }}|{{ 'xxaxx'.strip('x') }}
{{ empty }}|{{ rows[1].q }}|{{ rows[1]['q'] }}|{{ 'blue' in choices }} {{ 'red' in choices }} {{ 'x' not in goal }}
{{ (1 + 2) - -1 }}|{{ 'a' if empty else 'b' if yes else 'c' }}|no braces at all|{ {a} }|{{ text|list|length }}
{{ choices[1]|length }}|{{ zwölf[0] }}|{{ 'abc'[1:2] }}|{{ 1.50 }}|{{ "\u00e9\x41" }}|{{ 'ü'|upper }}|{{ 'None'|int }}
{{ goal if yes }}{{ goal if none }}|{{ goal if undefd is defined }}x|{{ 'a' ~ (goal if none) ~ 'b' }}|{{ (goal if none)|default('dd') }}
{{ (goal if none) is defined }} {{ (goal if yes) is defined }}|{{ 'a' if none else 'b' if none }}
['yes', 'no']|[1, 'a', None, True]|{{ ["a", 'b'] + choices }}|{{ number|int is none }}|{{ '3.7'|int }} {{ 2.9|int }}
""".strip().split("\n")
FAIL = ["{{undefd}}", "{{undefd.x}}", "{{choices[9]}}", "{{arc.missing}}", "{{ goal", "{% if yes %}x",
        "{{ goal + 1 }}", "{{ (goal if none) + goal }}", "{{ choices.index('zzz') }}", "{{ goal. }}", "{% endif %}", "{{ 'a }}", "{{}}"]
REFUSED = ["{% for c in choices %}{{c}}{% endfor %}", "{% set x = 1 %}{{x}}", "{{ choices|map('upper')|list }}",
           "{{ choices|sort }}", "{{ goal.title() }}", "{{ 2 * 3 }}", "{{ range(3)|list }}",
           "{{ {'a': 1} }}", "{{ 1 is odd }}", "{{ arc.items() }}", "{{ 'straße'.upper() }}",
           "{% raw %}x{% endraw %}", "{{ 1 < 2 < 3 }}", "{{ 'x'.center(3) }}", "{{ goal|regex_replace('a', 'b') }}"]

cases, ALL = [], []
for line in TEMPLATES:   # "|" with no filter behind it divides templates
    part = ""
    for piece in line.split("|"):
        part = piece if not part else part + "|" + piece
        if part.count("{{") == part.count("}}") and part.count("{%") == part.count("%}"):
            ALL.append(part.replace("\\nAnswer", "\nAnswer"))
            part = ""
    assert not part, line
for template in ALL + ["{{ '}}' }}", "a\r\nb{{ answer }}\n"]:
    text = apply_template(template, DOC)
    case = {"template": template, "text": text}
    try:
        case["literal"] = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        pass
    if isinstance(case.get("literal"), (set, dict, tuple)):
        del case["literal"]
    cases.append(case)
for template in FAIL:
    try:
        apply_template(template, DOC)
        raise SystemExit(f"{template} is rendered")
    except Exception as error:
        cases.append({"template": template, "error": type(error).__name__})
for template in REFUSED:
    apply_template(template, DOC)
    cases.append({"template": template, "refused": True})
print(json.dumps({"document": DOC, "cases": cases}, ensure_ascii=False, indent=0))
