"""Writes goldens/MANIFEST.json: every golden beside the checkpoints it holds.

A toy's golden holds each Hugging Face folder and GGUF of its own folder; a real
checkpoint's golden names the file to look for among the fetched models. Paths are
relative to the manifest.
"""

import json
import pathlib

GOLDENS = pathlib.Path(__file__).resolve().parent.parent


def checkpoints(folder):
    """Folders with a config.json, and GGUFs: of a split one only the first part."""
    for path in sorted(folder.iterdir()):
        if (path / "config.json").exists():
            yield path
        elif path.suffix == ".gguf" and ("-of-" not in path.name or "-00001-of-" in path.name):
            yield path


def entries():
    for golden in sorted(GOLDENS.glob("fixtures/*/golden.json")):
        for path in checkpoints(golden.parent):
            yield {"golden": str(golden.relative_to(GOLDENS)),
                   "checkpoint": str(path.relative_to(GOLDENS))}
    for golden in sorted(GOLDENS.glob("real/*.json")):
        model = json.loads(golden.read_text())["model"]
        yield {"golden": str(golden.relative_to(GOLDENS)), "model_file": model["file"],
               "sha256": model["content_sha256"]}


def write():
    rows = ",\n".join("    " + json.dumps(e) for e in entries())
    (GOLDENS / "MANIFEST.json").write_text(
        '{\n  "format": "rml-golden-manifest",\n  "version": 1,\n  "entries": [\n'
        f"{rows}\n  ]\n}}\n")


if __name__ == "__main__":
    import script_arguments

    script_arguments.parse(__doc__)
    write()
