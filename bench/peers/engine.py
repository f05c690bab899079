"""A process that measures one peer: llama.cpp or ik_llama.cpp, by the protocol of bench/message.h.

    python engine.py llama.cpp        JSON documents, one a line, on standard input and output

Besides "open", "block" and "build", which are rml-bench worker's, it answers

    {"do": "golden", "file": FILE}  ->  {"max_abs_error": X or null, "n_logits": N}

with the largest error of the golden's logits in the settings of the open case, computed the way
the case computes: all tokens of a prompt in one batch when the case is a prefill, its first 128
one at a time when it decodes (a kernel may be right for one and wrong for the other). null: not
finite.

Both packages bind the C interface of their library; what they differ in is in the two classes
below. Everything is the library's default but: threads, cache types, flash attention on (the
quantised V cache needs it), n_batch of the whole context with the usual n_ubatch of 512.
"""

import argparse
import ctypes
import json
import math
import os
import random
import signal
import sys
import time
from importlib import metadata

PR_SET_PDEATHSIG = 1  # prctl(2)
UBATCH = 512
CHECKED_ONE_AT_A_TIME = 128  # tokens of a prompt; a long one would take longer than its case
GGML_TYPES = {"f32": 0, "f16": 1, "i8": 8}  # i8: q8_0, 8 bits with a scale for each 32


class LlamaCpp:
    package = "llama-cpp-python"

    def __init__(self):
        import llama_cpp

        self.lib = llama_cpp
        self.lib.llama_backend_init()

    def context_params(self, settings):
        params = self.lib.llama_context_default_params()
        params.flash_attn_type = self.lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
        return params

    def free_context(self, context):
        self.lib.llama_free(context)

    def truncate(self, context, n_tokens):
        memory = self.lib.llama_get_memory(context)
        if not self.lib.llama_memory_seq_rm(memory, 0, n_tokens, -1):
            raise RuntimeError(f"the cache cannot be cut to {n_tokens} tokens")

    def synchronize(self, context):
        self.lib.llama_synchronize(context)

    def system_info(self):
        return self.lib.llama_print_system_info().decode()


class IkLlamaCpp:
    package = "ik-llama-cpp-python"

    def __init__(self):
        from ik_llama_cpp import _ctypes_api

        self.lib = _ctypes_api
        self.native = _ctypes_api._lib  # what the package binds leaves these out
        self.native.llama_kv_cache_seq_rm.argtypes = [ctypes.c_void_p] + 3 * [ctypes.c_int32]
        self.native.llama_kv_cache_seq_rm.restype = ctypes.c_bool
        self.native.llama_synchronize.argtypes = [ctypes.c_void_p]
        self.native.llama_print_system_info.restype = ctypes.c_char_p
        self.lib.llama_backend_init()

    def context_params(self, settings):
        params = self.lib.llama_context_default_params()
        params.flash_attn = True
        return params

    def free_context(self, context):
        self.lib.llama_free(context)

    def truncate(self, context, n_tokens):
        if not self.native.llama_kv_cache_seq_rm(context, 0, n_tokens, -1):
            raise RuntimeError(f"the cache cannot be cut to {n_tokens} tokens")

    def synchronize(self, context):
        self.native.llama_synchronize(context)

    def system_info(self):
        return self.native.llama_print_system_info().decode()


ENGINES = {"llama.cpp": LlamaCpp, "ik_llama.cpp": IkLlamaCpp}


class Case:
    """A context in the settings of one spec, and the batches that are put through it."""

    def __init__(self, engine, model, spec, n_context):
        lib = engine.lib
        self.engine, self.lib, self.spec = engine, lib, spec
        self.n_context = -(-n_context // 256) * 256
        params = engine.context_params(spec)
        params.n_ctx = params.n_batch = self.n_context
        params.n_ubatch = UBATCH
        params.n_seq_max = 1
        params.n_threads = params.n_threads_batch = spec["threads"]
        params.type_k = GGML_TYPES[spec["k_dtype"]]
        params.type_v = GGML_TYPES[spec["v_dtype"]]
        self.context = lib.llama_init_from_model(model, params)
        if not self.context:
            raise RuntimeError(
                f"no context with a cache of {spec['k_dtype']}:{spec['v_dtype']} can be made"
            )
        self.batch = lib.llama_batch_init(self.n_context, 0, 1)

    def close(self):
        self.lib.llama_batch_free(self.batch)
        self.engine.free_context(self.context)

    def fill(self, tokens, position, wanted):
        """Puts tokens into the batch; `wanted`: indices whose logits are computed."""
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = position + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = 0
        for i in wanted:
            batch.logits[i] = 1

    def compute(self):
        code = self.lib.llama_decode(self.context, self.batch)
        if code != 0:
            raise RuntimeError(f"llama_decode failed with {code}")
        self.engine.synchronize(self.context)

    def logits(self, i):
        row = self.lib.llama_get_logits_ith(self.context, i)
        if not row:
            raise RuntimeError("no logits were computed")
        return row


class Bench(Case):
    """The work of rml's decoder suite (bench/decoder_case.c): an iteration is a prefill into an
    empty cache, or one decoded token; decoding goes back to its depth after n_gen tokens."""

    def __init__(self, engine, model, spec):
        self.n_prompt, self.n_gen, self.depth = spec["n_prompt"], spec["n_gen"], spec["n_depth"]
        n_tokens = self.n_prompt or self.depth + self.n_gen
        super().__init__(engine, model, spec, n_tokens)
        n_vocab = engine.lib.llama_vocab_n_tokens(engine.lib.llama_model_get_vocab(model))
        draw = random.Random(spec["params"]["seed"])
        self.tokens = [draw.randrange(n_vocab) for _ in range(n_tokens)]
        if self.n_prompt:
            self.fill(self.tokens, 0, [n_tokens - 1])
        elif self.depth:
            self.fill(self.tokens[: self.depth], 0, [])
            self.compute()

    def run(self, iters):
        for i in range(iters):
            if self.n_prompt:
                self.engine.truncate(self.context, 0)
            else:
                step = i % self.n_gen
                if step == 0:
                    self.engine.truncate(self.context, self.depth)
                at = self.depth + step
                self.fill(self.tokens[at : at + 1], at, [0])
            self.compute()

    def verify(self):
        if not math.isfinite(self.logits(self.batch.n_tokens - 1)[0]):
            raise RuntimeError("a logit is not finite")


def golden_error(case, golden, one_at_a_time):
    """Largest error over the golden's logits (None: not finite), and how many there are."""
    worst, n = 0.0, 0
    for entry in golden["cases"]:
        tokens = entry["tokens"]
        if one_at_a_time:
            tokens = tokens[:CHECKED_ONE_AT_A_TIME]
        want = {p["position"]: p["top"] for p in entry["positions"] if p["position"] < len(tokens)}
        case.engine.truncate(case.context, 0)
        step = 1 if one_at_a_time else len(tokens)
        for start in range(0, len(tokens), step):
            here = range(start, start + step)
            case.fill([tokens[i] for i in here], start, [i - start for i in here if i in want])
            case.compute()
            for i in here:
                if i not in want:
                    continue
                row = case.logits(i - start)
                for token, logit in want[i]:
                    error = abs(row[token] - logit)
                    if not math.isfinite(error):
                        return None, n
                    worst, n = max(worst, error), n + 1
    return worst, n


class Worker:
    def __init__(self, name):
        self.name = name
        self.engine = ENGINES[name]()
        self.model, self.path, self.case = None, None, None

    def load(self, path):
        if self.path == path:
            return
        lib = self.engine.lib
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self.model:
            raise RuntimeError(f"{path}: {self.name} cannot load it")
        self.path = path

    def open(self, request):
        spec = request["spec"]
        if self.case:
            self.case.close()
            self.case = None
        self.load(spec["checkpoint"])
        self.case = Bench(self.engine, self.model, spec)
        return {"facts": {"items_per_iter": spec["n_prompt"] or 1}}

    def block(self, request):
        cpu, start = time.process_time_ns(), time.monotonic_ns()
        self.case.run(request["iters"])
        wall = time.monotonic_ns() - start
        answer = {"t_mono_ns": start, "wall_ns": wall, "cpu_ns": time.process_time_ns() - cpu}
        self.case.verify()
        return answer

    def golden(self, request):
        with open(request["file"], encoding="utf-8") as file:
            golden = json.load(file)
        longest = max(len(entry["tokens"]) for entry in golden["cases"])
        spec = self.case.spec
        case = Case(self.engine, self.model, spec, longest)
        try:
            worst, n = golden_error(case, golden, one_at_a_time=not spec["n_prompt"])
        finally:
            case.close()
        return {"max_abs_error": worst, "n_logits": n}

    def build(self, _request):
        version = metadata.version(self.engine.package)
        return {"build": {"version": version, "system_info": self.engine.system_info().strip()}}

    def answer(self, request):
        requests = {
            "open": self.open,
            "block": self.block,
            "golden": self.golden,
            "build": self.build,
        }
        try:
            if request["do"] in ("block", "golden") and not self.case:
                raise RuntimeError("no case is open")
            return requests[request["do"]](request)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            return {"error": {"message": f"{error}" or type(error).__name__}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=ENGINES)
    arguments = parser.parse_args()
    # A killed parent must not leave an engine behind that computes on for minutes.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # What the library prints must not get between the documents.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(arguments.engine)
    print(json.dumps({"rml_bench_worker": 1}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
