"""Makes goldens/fixtures: toy checkpoints and the goldens they are held to.

    fixtures.py [NAME...]       all of them by default

Deterministic: a second run writes the same bytes.
"""

import argparse
import pathlib

import numpy as np

import checkpoint
import draw
import forward
import golden
import layout
import manifest
import quantised
import recipe as recipes
import tensor_files
import toys

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
SOURCE = {"engine": "numpy", "version": np.__version__, "dtype": "float64"}
TOLERANCE = 2e-4
N_SHORT, N_LONG, N_LONG_QUANTISED = 9, 150, 70
# Prompts are redrawn until float32 cannot flip a choice of expert or a greedy step.
TEXT_TOY, TEXT_TOY_SEED = "llama-text", 15
LEAST_ROUTER_GAP, LEAST_GREEDY_GAP = 4e-3, 2e-2


def choose_prompt(model, n, seed):
    for attempt in range(1000):
        rng = np.random.default_rng([seed, n, attempt])
        tokens = rng.integers(0, model.recipe.vocab, n)
        model.router_gap = np.inf
        logits = model.logits(tokens)
        greedy, margin = model.greedy(tokens, golden.N_GREEDY)
        if model.router_gap >= LEAST_ROUTER_GAP and margin >= LEAST_GREEDY_GAP:
            return tokens, logits, greedy, margin
    raise RuntimeError("no prompt is clear enough")


def make_golden(path, name, model, seed, n_long=N_LONG):
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = []
    for kind, n in (("short", N_SHORT), ("long", n_long)):
        tokens, logits, greedy, margin = choose_prompt(model, n, seed)
        cases.append(golden.case(kind, tokens, logits, range(n), kind == "short", greedy, margin))
    golden.write(path, golden.document(name, SOURCE, TOLERANCE, cases))
    return cases


def make_toy(name, toy):
    folder = FIXTURES / name
    config = toy["config"]
    recipe = recipes.from_config(config)
    n_ff = config.get("moe_intermediate_size", config["intermediate_size"])
    weights = draw.weights(recipe, n_ff, toy["seed"], toy.get("shrink"))
    model = forward.Model(recipe, weights)
    cases = make_golden(folder / "golden.json", name, model, toy["seed"])

    for sub, options in toy.get("folders", {"hf": {}}).items():
        change = options.get("config", dict)
        options = {k: v for k, v in options.items() if k != "config"}
        layout.write_folder(folder / sub, change(config), recipe, weights, **options)
        check_reread(folder / sub, model, cases)
    tensors = layout.gguf_tensors(recipe, weights)
    for file, options in ({"model.gguf": {}} | toy.get("ggufs", {})).items():
        keys = layout.gguf_keys(config, recipe)
        for key, value in (toy.get("gguf", {}) | options.get("gguf", {})).items():
            keys.pop(key, None)
            if value is not None:
                keys[key] = value
        paths = tensor_files.write_gguf(folder / file, keys, tensors,
                                        options.get("version", 3), options.get("n_parts", 1))
        check_reread(paths[0], model, cases)


def make_quantised(name):
    folder = FIXTURES / name
    folder.mkdir(parents=True, exist_ok=True)
    seed = quantised.write(folder / "model.gguf", name)
    model = checkpoint.open_model(folder / "model.gguf")
    make_golden(folder / "golden.json", name, model, seed, N_LONG_QUANTISED)


def make_text_toy(name):
    """Its tokenizer needs packages that the other toys do without."""
    import text_toy
    folder = FIXTURES / name
    recipe = recipes.from_config(text_toy.CONFIG)
    tokenizer = text_toy.make_tokenizer()
    prompts = text_toy.prompts(tokenizer)
    for seed in range(1000):
        weights = draw.weights(recipe, text_toy.CONFIG["intermediate_size"], [TEXT_TOY_SEED, seed],
                               None)
        model = forward.Model(recipe, weights)
        steps = [model.greedy(ids, golden.N_GREEDY) for _, ids, _ in prompts]
        if min(margin for _, margin in steps) >= LEAST_GREEDY_GAP:
            break
    else:
        raise RuntimeError("no weights are clear enough")
    cases = [golden.case(case, ids, model.logits(ids), range(len(ids)), False, *step, extra)
             for (case, ids, extra), step in zip(prompts, steps)]
    layout.write_folder(folder / "hf-text", text_toy.CONFIG, recipe, weights)
    text_toy.write_json(folder / "hf-text", tokenizer)
    golden.write(folder / "golden.json", golden.document(name, SOURCE, TOLERANCE, cases))
    keys = layout.gguf_keys(text_toy.CONFIG, recipe) | text_toy.gguf_keys(tokenizer)
    tensor_files.write_gguf(folder / "model.gguf", keys, layout.gguf_tensors(recipe, weights))
    for path in (folder / "hf-text", folder / "model.gguf"):
        check_reread(path, model, cases)


def check_reread(path, model, cases):
    """A file read back must be the model that was drawn."""
    tokens = cases[1]["tokens"]
    error = np.abs(checkpoint.open_model(path).logits(tokens) - model.logits(tokens)).max()
    print(f"{path.relative_to(FIXTURES)}: reread within {error:.1e}")
    # A GGUF holds epsilon, theta and frequency factors as f32.
    assert error < (1e-12 if path.is_dir() else 2e-5), error


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    for name in args.names or [*toys.TOYS, *quantised.TOYS, TEXT_TOY]:
        if name == TEXT_TOY:
            make_text_toy(name)
        elif name in toys.TOYS:
            make_toy(name, toys.TOYS[name])
        else:
            make_quantised(name)
    manifest.write()


if __name__ == "__main__":
    main()
