"""Two multiple-choice files from the text that rml-tiny has not seen.

order: some sentences, and which sentence comes next; the wrong ones are the right one
with two neighbouring words swapped. cloze: a passage without its last word, and which
word it was; the wrong ones are as frequent.
"""

import collections
import json
import random
import re

N_ITEMS, N_CHOICES = 250, 4
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"])")


def _passages(text):
    """Lists of sentences that follow one another in a paragraph (in verse: in a chapter)."""
    for block in ([text.replace("\n", " ")] if text.count("\n") > len(text) / 400
                  else text.split("\n")):
        yield [s.strip() for s in SENTENCE_END.split(block) if s.strip()]


def _n_words(text):
    return len(text.split())


def _with_gold(rng, right, wrong):
    choices = [right, *wrong]
    rng.shuffle(choices)
    return {"choices": choices, "gold": choices.index(right)}


def _swaps(sentence):
    """The sentence with two neighbouring words swapped, in each way that shows."""
    words = sentence.split(" ")
    for i in range(1, len(words) - 2):
        a, b = words[i], words[i + 1]
        if re.fullmatch("[a-z]{2,}", a) and re.fullmatch("[a-z]{2,}", b) and a != b:
            yield " ".join([*words[:i], b, a, *words[i + 2:]])


def order(documents, seed):
    rng = random.Random(seed)
    found = []
    for title, text in documents:
        for sentences in _passages(text):
            for i in range(2, len(sentences)):
                context = " ".join(sentences[max(0, i - 5):i])
                wrong = list(_swaps(sentences[i]))
                if (25 <= _n_words(context) <= 120 and 6 <= _n_words(sentences[i]) <= 30
                        and len(wrong) >= N_CHOICES - 1):
                    found.append((title, context, sentences[i], wrong))
    return [{"id": f"order-{i}", "context": context,
             **_with_gold(rng, right, rng.sample(wrong, N_CHOICES - 1)), "group": title}
            for i, (title, context, right, wrong)
            in enumerate(rng.sample(found, min(N_ITEMS, len(found))))]


def cloze(documents, seed):
    rng = random.Random(seed)
    counts = collections.Counter(re.findall(r"\b[a-z]{4,}\b", " ".join(t for _, t in documents)))
    by_rank = [w for w, n in counts.most_common() if n >= 2]
    found = []
    for title, text in documents:
        for sentences in _passages(text):
            for i in range(1, len(sentences)):
                last = re.fullmatch(r"(.*) ([a-z]{4,})[.!?]", sentences[i])
                if last and last[2] in by_rank and _n_words(sentences[i]) >= 8:
                    context = " ".join([*sentences[max(0, i - 2):i], last[1]])
                    found.append((title, context, last[2]))
    items = []
    for title, context, right in rng.sample(found, min(N_ITEMS, len(found))):
        rank = by_rank.index(right)
        near = [w for w in by_rank[max(0, rank - 40):rank + 40] if w != right]
        items.append({"id": f"cloze-{len(items)}", "context": context,
                      **_with_gold(rng, right, rng.sample(near, N_CHOICES - 1)), "group": title})
    return items


def write(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
