# SPDX-License-Identifier: BSD-3-Clause
"""fuzz_results.py [--seconds N] [--seed N] [--first N] [--cases N] [--jobs N]: damages files of experiments of every kind, at
random but determined by the seed, and makes reports, pictures, pages and formats from them. None may end with a traceback, a
signal, a report of a sanitizer, or take more than LONGEST seconds or LARGEST bytes: damage is reported in one line. A case that
fails is kept and named; --seed and --first run it again, with the same experiments (--made).

tools/fuzz.sh runs it with libraries built with AddressSanitizer and UndefinedBehaviorSanitizer."""

# ruff: noqa: SIM905
import argparse
import io
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
OLD = HERE.parent / "old-raw"
LONGEST, LARGEST = 60, 3 << 30
PROGRAM = """
import asyncio, os, queue, subprocess, sys, threading, time
def leaf(n): return n + 1
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def worker(q, lock):
    for _ in range(20):
        with lock: time.sleep(.0002)
        q.put(leaf(1))
def memory():
    kept = [bytearray(5000) for _ in range(50)]
    for n in range(20): str(n) * 500
    return kept
async def nap(n):
    await asyncio.sleep(.001 * n)
async def main():
    await asyncio.gather(*(nap(n) for n in range(4)))
def files():
    with open('fuzzed.txt', 'w') as f:
        for n in range(10): f.write(str(n))
    with open('fuzzed.txt') as f: f.read()
def all_of_it():
    fib(9); files(); memory()
    q, lock = queue.Queue(), threading.Lock()
    threads = [threading.Thread(target=worker, args=(q, lock)) for _ in range(2)]
    for t in threads: t.start()
    for t in threads: t.join()
    while not q.empty(): q.get()
    asyncio.run(main())
    end = time.time() + .1
    while time.time() < end: fib(9)
    subprocess.run([sys.executable, '-c', 'def f(): pass\\nf()'])
    import spartito
    with spartito.region('mine'):
        try:
            spartito.counter('c', 4); spartito.marker('here'); spartito.parameter('p', 3)
        except AttributeError: pass
all_of_it()
"""
KINDS = {
    "profile": [],
    "trace": ["--trace", "--c-calls", "--annotate"],
    "metrics": ["--trace", "--metric", "rusage:ru_utime,rusage:ru_maxrss"],
    "lines": ["--lines", "*"],
    "io": ["--trace", "--io"],
    "memory": ["--memory-profile"],
    "waits": ["--trace", "--waits"],
    "sample": ["--sample", "--sample-rate", "500"],
    "compressed": ["--trace", "--compress"],
    "collected": ["--trace", "--no-finalize", "--to", "json"],
}
FORMATS = "otf2 cube pstats perfetto chrome speedscope folded pprof callgrind tau ppk text lprof timemory json".split()
REPORTS = (
    "tree|callers --match *f*|findings|own|imports|io|memory|tasks|lines|lines --plain|balance|messages|messages --csv|waits"
    "|critical-path|trip-count|wall-clock|--threads"
    "|--processes|--compensate|tree --threads|--limit 0 --sort name||--process 0"
).split("|")
COMMANDS = [
    *(f"convert x --to {name} -o out" for name in FORMATS),
    *(f"report {words} x" for words in REPORTS),
    *(f"report --json {words} x" for words in REPORTS if "csv" not in words and "plain" not in words),
    "info x",
    "info --json x",
    "html x -o out.html",
    "plot x --kind graph -o out.dot",
    "plot x --kind graph -o out.svg",
    *(f"plot x --kind {kind} -o out.svg" for kind in "flame icicle sunburst balance timeline".split()),
    "convert x --to otf2 --samples-as-calls -o out",
    "convert x --to perfetto --process 0 -o out",
    "convert x --to text,pstats --per-rank -o out",
    "diff x whole",
    "diff --by path whole x",
    "pack x -o out.spartito",
    "finalize x",
    "finalize --force x",
    "finalize --compress x",
]
VIEWS = "balance counters flat markers matrix messages metrics overview regions states steps timeline tree".split()
VIEWS += "facts findings imports offcpu own waits critical io tasks locks memory lines source".split()


def make(place):
    """{name: directory} of experiments of every kind."""
    made = {}
    (place / "program.py").write_text(PROGRAM)
    # with the installed package: the sanitized one would need the sanitizer's library in every process of a run
    watched = ("LD_PRELOAD", "PYTHONPATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
    clean = {k: v for k, v in os.environ.items() if k not in watched}
    for name, options in KINDS.items():
        command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", name, "--", sys.executable, "program.py"]
        done = subprocess.run(command, cwd=place, env=clean, capture_output=True, text=True)
        if done.returncode == 0:
            made[name] = place / name
        else:
            print(f"not made: {name}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    for version in ("v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"):
        raw = place / version / "raw"
        raw.mkdir(parents=True)
        for file in OLD.glob(version + "-*"):
            shutil.copy(file, raw)
        made[version] = raw.parent
    for name in ("trace", "v3"):  # … merged, and with the viewer's index
        if name in made:
            made[name + "-merged"] = pathlib.Path(shutil.copytree(made[name], place / (name + "-merged")))
            command = [sys.executable, "-m", "spartito", "finalize", "--force", name + "-merged"]
            subprocess.run(command, cwd=place, env=clean, capture_output=True)
    shutil.copytree(made["profile"], place / "whole")
    return made


NUMBERS = [0, 1, 2, 7, 8, 0xFF, 0x1000, 0xFFFF, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 32, 1 << 62, 1 << 63, (1 << 64) - 1]


class Damage:
    """Kinds of damage: each method changes a bytearray."""

    def __init__(self, dice, others):
        self.dice, self.others = dice, others

    def place(self, data):
        """A random position, preferably with data: most of a file is zero."""
        at = self.dice.randrange(len(data))
        for _ in range(20):
            if any(data[at : at + 8]):
                break
            at = self.dice.randrange(len(data))
        return at

    def flip(self, data):
        data[self.place(data)] ^= 1 << self.dice.randrange(8)

    def byte(self, data):
        data[self.place(data)] = self.dice.choice((0, 1, 0x7F, 0x80, 0xFF, self.dice.randrange(256)))

    def number(self, data):
        width = self.dice.choice((4, 8))
        at = self.place(data) // width * width
        was = int.from_bytes(data[at : at + width], "little")
        new = self.dice.choice((*NUMBERS, was + 1, was - 1, was * 2, len(data), self.dice.getrandbits(64)))
        data[at : at + width] = (new % (1 << 8 * width)).to_bytes(width, "little")[: len(data) - at]

    def header(self, data):
        """A field at the begin of the file, or of a page."""
        at = self.dice.randrange(len(data) // 4096 + 1) * 4096 + self.dice.randrange(16) * 4
        data[at : at + 4] = (self.dice.choice(NUMBERS) % (1 << 32)).to_bytes(4, "little")[: max(len(data) - at, 0)]

    def cut(self, data):
        del data[self.dice.choice((self.place(data), self.place(data) // 4096 * 4096)) :]

    def lengthen(self, data):
        data += bytes(self.dice.choice((1, 4096, 5000)))

    def splice(self, data):
        other = self.dice.choice(self.others)
        page = self.dice.choice((1, 8, 4096))
        n = min(self.dice.choice((8, 64, 4096, 8192)), len(other))
        start, at = self.dice.randrange(len(other)) // page * page, self.place(data) // page * page
        piece = other[start : start + n]
        data[at : at + len(piece) * self.dice.randrange(2)] = piece

    def lose(self, data):
        page = self.dice.choice((1, 8, 4096))
        at = self.place(data) // page * page
        del data[at : at + page * self.dice.randrange(1, 4)]

    def unmark(self, data):
        """Removes the mark of all chunks of one type, or of all others."""
        kind, alone = self.dice.randrange(1, 15), self.dice.random() < 0.3
        for at in range(4096, len(data), 4096):
            if data[at : at + 4] == b"CHNK" and (data[at + 4 : at + 5] == bytes([kind])) != alone:
                data[at : at + 4] = bytes(4)

    def empty(self, data):
        at = self.place(data) // 8 * 8
        n = self.dice.choice((8, 64, 4096))
        data[at : at + n] = bytes(len(data[at : at + n]))

    def do(self, data):
        often = (self.flip, self.number)
        large = (self.cut, self.lengthen, self.splice, self.lose, self.empty, self.unmark)
        kinds = (*often, *often, self.byte, self.number, self.header, *large)
        for _ in range(self.dice.choice((1, 1, 1, 2, 4, 16))):
            if data:
                self.dice.choice(kinds)(data)


class Case:
    def __init__(self, seed, number, made, contents, others):
        dice = random.Random(f"{seed} {number}")
        self.kind = dice.choice(sorted(made))
        self.source = made[self.kind]
        names = sorted(contents[self.kind])
        raws = [name for name in names if name.endswith(".raw")]
        self.changed = {}
        kept = raws[: dice.choice((1, len(raws)))]  # without the other processes, whose data might hide an error
        self.removed = [name for name in raws if name not in kept]
        for name in {dice.choice(kept if dice.random() < 0.75 else names) for _ in range(dice.choice((1, 1, 2)))}:
            data = bytearray(contents[self.kind][name])
            Damage(dice, others).do(data)
            self.changed[name] = data
        self.verbs = dice.sample(COMMANDS, 3)
        self.views = dice.sample(VIEWS, 3)
        names = ("process", "location", "pixels")
        self.parameters = [{k: str(dice.choice((0, 1, 3, 100))) for k in dice.sample(names, 2)} for _ in VIEWS]

    def put(self, place):
        shutil.copytree(self.source, place / "x", symlinks=True)
        shutil.copytree(self.source.parent / "whole", place / "whole", symlinks=True)
        for name in self.removed:
            (place / "x" / name).unlink()
        for name, data in self.changed.items():
            (place / "x" / name).write_bytes(data)

    def read(self):
        """Runs in a separate process, whose directory contains the experiment x."""
        from spartito import _analyse
        from spartito.base.messages import Refused
        from spartito.cli.main import main
        from spartito.view.kinds import Experiment

        try:
            e = Experiment(_analyse.Model("x"), "x")
            for kind, parameters in zip(self.views, self.parameters):
                for given in ({}, parameters):
                    try:
                        e.get(kind, given)
                    except (_analyse.Error, Refused):
                        pass
        except _analyse.Error:
            pass
        for verb in self.verbs:
            output = io.StringIO()
            sys.stdout, sys.stderr, keep = io.TextIOWrapper(io.BytesIO(), "utf-8"), output, sys.stderr
            try:
                status = main(verb.split())
            except BaseException:
                sys.stderr = keep
                print(f"spartito {verb}", file=sys.stderr)
                raise
            sys.stderr = keep
            if status not in (0, 1, 2, 4) or (status in (1, 2) and output.getvalue().count("\n") < 1):
                raise AssertionError(f"spartito {verb}: status {status}, {output.getvalue()!r}")


def run(case, place, log):
    """A description of the failure, or ""."""
    case.put(place)
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.chdir(place)
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(out, 2)
            os.dup2(out, 1)
            sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), "utf-8", "backslashreplace", write_through=True)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 1))
            signal.alarm(10 * LONGEST)  # a case that waits for ever; other work may take most of the machine
            case.read()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    text = log.read_text(errors="replace") if log.exists() else ""
    if status:
        return f"ended with {os.waitstatus_to_exitcode(status)} after {time.monotonic() - begin:.1f} s\n{text[-6000:]}"
    if "runtime error" in text or "Sanitizer" in text:
        return text[-6000:]
    return f"took {used.ru_maxrss >> 10} MiB" if used.ru_maxrss > LARGEST >> 10 else ""


def work(options, made, contents, job, place):
    """Runs every jobs-th case: (number of cases, of questions, of failures)."""
    end, ran, asked, failed = time.monotonic() + options.seconds, 0, 0, 0
    number = options.first + job
    others = [c for kind in sorted(contents) for c in contents[kind].values() if c]
    while time.monotonic() < end and (not options.cases or ran * options.jobs < options.cases):
        at = place / f"case-{job}"
        at.mkdir()
        case = Case(options.seed, number, made, contents, others)
        wrong = run(case, at, place / f"log-{job}")
        if wrong:
            failed += 1
            kept = pathlib.Path(options.keep or tempfile.gettempdir()) / f"spartito-fuzz-{options.seed}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            at.rename(kept)
            print(f"FAILED  case {number} ({case.kind}: {', '.join(case.changed)}), kept in {kept}: {case.verbs}, {case.views}")
            print(wrong + "\n", flush=True)
        shutil.rmtree(at, ignore_errors=True)
        ran += 1
        asked += len(case.verbs) + 2 * len(case.views)  # reports, formats and pictures; views without and with parameters
        number += options.jobs
    return ran, asked, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=0, help="at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", default="", help="where cases that fail are kept")
    parser.add_argument("--made", default="", help="a directory for the experiments, which a run with the same one takes again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spartito-fuzz-") as work_in:
        place = pathlib.Path(work_in)
        source = pathlib.Path(options.made).resolve() if options.made else place / "made"
        if not (source / "whole").exists():
            source.mkdir(parents=True)
            make(source)
        made = {p.name: p for p in source.iterdir() if p.is_dir() and p.name != "whole"}
        contents = {
            name: {str(f.relative_to(p)): f.read_bytes() for f in sorted(p.rglob("*")) if f.is_file() and not f.is_symlink()}
            for name, p in made.items()
        }
        from spartito.cli import convert, diff, html, info, plot, report  # noqa: F401
        from spartito.experiments import conversion  # noqa: F401 - once, not in each case

        ends = []
        for job in range(options.jobs):
            child = os.fork()
            if child == 0:
                ran, asked, failed = work(options, made, contents, job, place)
                print(f"{ran} cases of seed {options.seed}, {asked} questions, {failed} failed", flush=True)
                os._exit(failed > 0)
            ends.append(child)
        return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in ends)


if __name__ == "__main__":
    sys.exit(main())
