"""The text that rml-tiny is trained on and held out from: public-domain books out of
Debian packages.

r-cran-janeaustenr has Jane Austen's six novels (Project Gutenberg's transcripts), one R
character vector of lines each; bible-kjv prints the King James Bible of 1611.

A document is a chapter, a paragraph or verse one line of it. Everything is ASCII.
"""

import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

NOVELS = ["emma", "mansfieldpark", "northangerabbey", "persuasion", "prideprejudice",
          "sensesensibility"]  # the order in the R database
RDB = Path("/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb")

HELD_OUT_CHAPTERS = {"persuasion": 4}            # the last ones of a novel
HELD_OUT_BOOKS = {"Ruth", "Jonah", "Jas"}         # as bible(1) abbreviates them


def _r_strings(data):
    """The items of a serialized R character vector (R Internals, 1.8: XDR format,
    version 3)."""
    assert data[:2] == b"X\n"
    version, _, _ = struct.unpack_from(">3i", data, 2)
    at = 14
    if version == 3:  # the name of the native encoding
        at += 4 + struct.unpack_from(">i", data, at)[0]
    flags, n = struct.unpack_from(">2i", data, at)
    assert flags & 0xFF == 16, "not a character vector"
    at += 8
    for _ in range(n):
        flags, length = struct.unpack_from(">2i", data, at)
        assert flags & 0xFF == 9 and length >= 0, "not a string"
        at += 8
        yield data[at:at + length].decode()
        at += length


def _ascii(text):
    for odd, plain in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'),
                       ("\u2014", "--"), ("\u00e9", "e"), ("\u00e8", "e"), ("\u00ea", "e"),
                       ("\u00e0", "a"), ("\u00e6", "ae"), ("\u00a3", "L")):
        text = text.replace(odd, plain)
    return text.encode("ascii", "ignore").decode()


def novels():
    """[(name, [chapter])]"""
    database, out = RDB.read_bytes(), []
    for name in NOVELS:
        # Each object: its uncompressed size, then a zlib stream.
        inflate = zlib.decompressobj()
        lines = _r_strings(inflate.decompress(database[4:]))
        database = inflate.unused_data
        chapters, paragraph = [[]], []
        for line in [_ascii(line).strip() for line in lines] + [""]:
            if re.fullmatch(r"(?i)(volume|chapter) +[ivxl0-9]+\.?", line) or line.upper() == "FINIS":
                chapters.append([])
            elif line:
                paragraph.append(line)
            elif paragraph:
                chapters[-1].append(re.sub(" +", " ", " ".join(paragraph)))
                paragraph = []
        # What stands before the first chapter is the title page.
        out.append((name, ["\n".join(c) for c in chapters[1:] if c]))
    return out


def bible():
    """[(book, [chapter])]"""
    printed = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, text=True,
                             capture_output=True).stdout
    out = {}
    for line in printed.splitlines():
        book, chapter, verse = re.match(r"([0-9]?[A-Za-z]+)([0-9]+):[0-9]+ (.*)", line).groups()
        out.setdefault(book, {}).setdefault(chapter, []).append(_ascii(verse).strip())
    return [(book, ["\n".join(c) for c in chapters.values()]) for book, chapters in out.items()]


def split():
    """(training documents, held-out documents): [(title, text)]"""
    train, held_out = [], []
    for name, chapters in novels():
        cut = len(chapters) - HELD_OUT_CHAPTERS.get(name, 0)
        train += [(f"{name} {i + 1}", c) for i, c in enumerate(chapters[:cut])]
        held_out += [(f"{name} {cut + i + 1}", c) for i, c in enumerate(chapters[cut:])]
    for book, chapters in bible():
        where = held_out if book in HELD_OUT_BOOKS else train
        where += [(f"{book} {i + 1}", c) for i, c in enumerate(chapters)]
    return train, held_out


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import script_arguments

    script_arguments.parse(__doc__)
    for documents in split():
        print(len(documents), "documents,", sum(len(t) for _, t in documents), "bytes:",
              *[title for title, _ in documents[:3]], "...", documents[-1][0])
