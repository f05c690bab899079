"""Measures the same case with several engines in turns: A B C, C B A, A B C ...

Each engine is a process of its own that answers requests (bench/message.h; engine.py), and only
one of them has a request at a time: their threads spin while they wait for each other, so two
engines at once would measure each other. Going through them forth and back, block by block, gives
each the same share of whatever the machine does meanwhile, and a drift that is linear over two
blocks the same to all.
"""

import json
import os
import select
import signal
import subprocess
import tempfile
import time

PAUSE_S = 0.02  # lets the threads of one engine stop spinning before the next one runs
WARMUP_S = 2.0  # at most, but at least two blocks
STEADY = 0.02  # two blocks in a row within this: warm
BLOCK_NS = 20e6  # least time of a block


class EngineError(Exception):
    """What an engine cannot do, or what became of its process."""


class EngineProcess:
    """Speaks the protocol with a child that is started when it is needed, again after a crash."""

    def __init__(self, command, env, timeout_s):
        self.command, self.env, self.timeout_s = command, env, timeout_s
        self.child, self.noise, self.buffer = None, None, b""

    def start(self):
        self.noise = tempfile.TemporaryFile()
        self.buffer = b""
        try:
            self.child = subprocess.Popen(
                self.command,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.noise,
                start_new_session=True,  # SIGINT is the parent's matter
            )
        except OSError as error:
            raise EngineError(f"{self.command[0]}: cannot be started: {error.strerror}") from None
        hello = self.receive()
        if hello.get("rml_bench_worker") != 1:
            self.stop()
            raise EngineError(f"{self.command[0]}: speaks another protocol, expected 1")

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()
            self.child = None
            self.noise.close()

    def gone(self):
        """The error of a child that ended by itself."""
        code = self.child.wait()
        self.noise.seek(max(0, os.fstat(self.noise.fileno()).st_size - 4000))
        said = self.noise.read().decode("utf-8", "replace").strip().splitlines()
        self.stop()
        end = f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        return EngineError(f"the process ended {end}" + (f": {said[-1][:200]}" if said else ""))

    def receive(self):
        deadline = time.monotonic() + self.timeout_s
        out = self.child.stdout.fileno()
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                self.stop()
                raise EngineError(f"took longer than {self.timeout_s:g} s")
            chunk = os.read(out, 65536)
            if not chunk:
                raise self.gone()
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, request):
        if not self.child:
            self.start()
        try:
            self.child.stdin.write(json.dumps(request).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise self.gone() from None
        answer = self.receive()
        if "error" in answer:
            raise EngineError(answer["error"].get("message", "an error without a message"))
        return answer


class Contender:
    """One engine's row of a case: its process, and what has been measured."""

    def __init__(self, row, spec, process, find_error):
        self.row, self.spec, self.process = row, spec, process
        self.find_error = find_error  # () -> the row's members about its logits
        self.iters_step = 1 if spec["n_prompt"] else spec["n_gen"]
        self.iters = self.iters_step
        self.row.update(status="ok", error=None, samples=[])

    def fail(self, error):
        self.row.update(status="error", error=str(error)[:500], samples=[])

    @property
    def is_alive(self):
        return self.row["status"] in ("ok", "unstable")

    def block(self, order, is_warmup):
        start = time.monotonic_ns()
        answer = self.process.ask({"do": "block", "iters": self.iters})
        start = answer.get("t_mono_ns", start)
        wall, cpu = answer["wall_ns"], answer.get("cpu_ns", -1)
        self.row["samples"].append([int(is_warmup), order, start, self.iters, wall, cpu])
        time.sleep(PAUSE_S)
        return wall / self.iters

    def open(self):
        facts = self.process.ask({"do": "open", "spec": self.spec})["facts"]
        for name in ("items_per_iter", "bytes_per_iter", "flops_per_iter", "isa"):
            value = facts.get(name)
            if value is not None and value != -1:
                self.row[name] = value
        build = self.process.ask({"do": "build"})["build"]
        dirty = "+dirty" if build.get("git_dirty") else ""
        commit = build.get("git_commit") or ""
        self.row["engine_version"] = build["version"] + (f"+{commit[:12]}{dirty}" if commit else "")
        return build

    def warm_up(self, order):
        """Blocks until two in a row agree; returns the next order."""
        end = time.monotonic() + WARMUP_S
        previous = None
        while True:
            ns = self.block(order, True)
            order += 1
            if previous and abs(ns - previous) <= STEADY * previous:
                break
            if previous and time.monotonic() > end:
                self.row["status"] = "unstable"
                break
            previous = ns
        steps = -(-BLOCK_NS // (ns * self.iters_step))
        self.iters = self.iters_step * max(1, int(steps))
        return order


def each(contenders, work):
    """Calls work for each that is alive; what fails becomes a row that says so."""
    for contender in contenders:
        if contender.is_alive:
            try:
                work(contender)
            except EngineError as error:
                contender.fail(error)


def measure(contenders, n_blocks, order, progress):
    """All blocks of one case; `order` counts blocks over the whole run. Returns the next order."""

    def warm_up(contender):
        nonlocal order
        order = contender.warm_up(order)

    def block(contender):
        nonlocal order
        contender.block(order, False)
        order += 1

    progress("opening")
    each(contenders, lambda c: c.open())
    progress("logits")
    each(contenders, lambda c: c.row.update(c.find_error()))
    progress("warm-up")
    each(contenders, warm_up)
    for i in range(n_blocks):
        progress(f"block {i + 1} of {n_blocks}")
        each(contenders if i % 2 == 0 else contenders[::-1], block)
    return order
