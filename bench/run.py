# SPDX-License-Identifier: BSD-3-Clause
"""make bench: times Spartito, minimal hooks and other tools on the same programs, checks each figure against its target, and writes
docs/performance.md. QUICK=1: one repetition of everything."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(ROOT, "tools")]

import figures  # noqa: E402
import lines  # noqa: E402
import memory  # noqa: E402
import notebooks  # noqa: E402
import programs  # noqa: E402
import pythons  # noqa: E402
import sampling  # noqa: E402
import table  # noqa: E402
import waits  # noqa: E402

import mpi  # noqa: E402

VERSIONS = ("3.9", "3.11", "3.13")
PEERS = ("cProfile", "yappi", "viztracer")
TIMEOUT = 300


class Bench:
    """The tools available for one Python."""

    def __init__(self, version, python, work):
        self.version, self.work = version, os.path.join(work, version)
        venv = os.path.join(ROOT, ".venvs", version)
        subprocess.run([os.path.join(ROOT, "tools", "venv.sh"), python, venv, "test", "notebook", "bench"], check=True)
        self.python = os.path.join(venv, "bin", "python")
        self.command = os.path.join(venv, "bin", "spartito")  # the command that users run
        os.makedirs(self.work)
        self.build_floor()
        code = "import spartito._measure as m; print(*(n for n, works, _ in m.hooks() if works))"
        self.hooks = subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        self.hook = self.hooks[0]
        code = f"import sys; sys.path.insert(0, {self.work!r}); import floor; print(*floor.hooks())"
        floors = subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        self.tools = ["none", *(f"floor-{hook}" for hook in floors), "spartito", "spartito-trace", *PEERS]
        if shutil.which("scorep-config") and self.has("scorep"):
            self.tools.append("scorep")

    def build_floor(self):
        code = "import sysconfig; print(sysconfig.get_path('include'))"
        include = subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I" + include,
                        "-I" + os.path.join(HERE, "..", "src"), "-o",
                        os.path.join(self.work, "floor.so"), os.path.join(HERE, "hooks", "floor.c")], check=True)

    def has(self, module):
        return subprocess.run([self.python, "-c", "import " + module], capture_output=True).returncode == 0

    def time(self, tool, program, repetitions):
        """Seconds of the program's fastest repetition in a new process."""
        directory = tempfile.mkdtemp(dir=self.work)
        inner = tool if not tool.startswith(("spartito", "scorep")) else "none"
        command = [self.python, os.path.join(HERE, "worker.py"), inner, program, str(repetitions)]
        if tool.startswith("spartito"):
            trace = ["--trace"] if tool == "spartito-trace" else []
            command = [self.command, "run", "-q", *trace, "-o", os.path.join(directory, "x"), "--", *command]
        elif tool == "scorep":
            command[1:1] = ["-m", "scorep", "--thread=pthread"]
        environment = {**os.environ, "FLOOR": self.work, "SCOREP_EXPERIMENT_DIRECTORY": os.path.join(directory, "s"),
                       "SCOREP_ENABLE_TRACING": "1", "SCOREP_TOTAL_MEMORY": "1G", "PYTHONHASHSEED": "0"}
        p = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, cwd=directory)
        shutil.rmtree(directory, ignore_errors=True)
        if p.returncode:
            sys.exit(f"{' '.join(command)}\n{p.stdout}{p.stderr}")
        return float(p.stdout.split()[-1])


def measure(bench, names, rounds, repetitions):
    """{(tool, program): seconds}: minima over rounds of new processes; all tools run a program one after the other. The loops are
    short and take part in twice as many rounds."""
    best = {}
    for n in range(2 * rounds):
        for program in names if n < rounds else [p for p in names if p in programs.LOOPS]:
            for tool in bench.tools:
                key = tool, program
                # a loop is short: more repetitions cost little and find times when the machine is idle
                more = 4 * repetitions if program in programs.LOOPS else repetitions
                best[key] = min(best.get(key, float("inf")), bench.time(tool, program, more))
            print(f"\rPython {bench.version}, round {n + 1} of {2 * rounds}: {program:<12}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--python", default=",".join(VERSIONS), help="versions, such as 3.11,3.13")
    parser.add_argument("--programs", default="", help="only these, without the other figures")
    parser.add_argument("--rounds", type=int, help="how often everything is measured; 3, with --quick 1")
    parser.add_argument("-o", default=os.path.join(ROOT, "docs", "performance.md"))
    options = parser.parse_args()
    found = pythons.find()
    wanted = [v for v in options.python.split(",") if v in found]
    for version in set(options.python.split(",")) - set(wanted):
        print(f"Python {version} is not installed here and not measured", file=sys.stderr)
    rounds, repetitions = options.rounds or (1 if options.quick else 3), 1 if options.quick else 2
    names = options.programs.split(",") if options.programs else [*programs.LOOPS, *programs.PROGRAMS]
    work = tempfile.mkdtemp(prefix="spartito-bench-")
    try:
        benches = [Bench(version, found[version], work) for version in wanted]
        results = {b.version: measure(b, names, rounds, repetitions) for b in benches}
        middle = benches[len(benches) // 2]
        others = []
        if not options.programs:
            others = figures.collect(middle, work, options.quick) + mpi.collect(middle, work, options.quick)
            others += waits.collect(benches, work, options.quick)
            others += lines.collect(benches, work, options.quick) + notebooks.collect(middle, work, options.quick)
            others += sampling.collect(middle, work, options.quick)
            others += memory.collect(middle, work, options.quick)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text = table.document(benches, results, others, rounds)
    os.makedirs(os.path.dirname(os.path.abspath(options.o)), exist_ok=True)
    with open(options.o, "w", encoding="utf-8") as f:
        f.write(text)
    print(text)


if __name__ == "__main__":
    main()
