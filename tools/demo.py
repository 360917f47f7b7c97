# SPDX-License-Identifier: BSD-3-Clause
"""Measures examples/weather.py, shows the report, and names the files to open."""

import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPARTITO = [sys.executable, "-m", "spartito"]
WANTED = ("otf2", "cube", "pstats", "speedscope", "folded", "callgrind", "json")


def show(words):
    """A command line as the reader would type it."""
    short = [os.path.relpath(w, ROOT) if w.startswith(ROOT) else w for w in words]
    print("\n$ spartito " + " ".join("python" if w == sys.executable else w for w in short), flush=True)


def run(*words):
    show(words)
    return subprocess.run([*SPARTITO, *words], cwd=ROOT).returncode


def main():
    from spartito import _analyse
    from spartito.experiments.conversion import default_path, find

    formats = [name for name in WANTED if name in {row[0] for row in _analyse.writers()}]
    directory = os.path.join(ROOT, time.strftime("spartito-demo-%Y%m%d-%H%M%S"))
    program = os.path.join(ROOT, "examples", "weather.py")
    status = run("run", "-q", "--trace", "--only-mine", "--to", ",".join(formats), "-o", directory, "--", sys.executable, program)
    status = status or run("report", "--limit", "12", directory)
    status = status or run("report", "tree", "--depth", "5", "--threshold", "5", directory)
    print("\nto open" + " " * 41 + "with")
    for name in formats:
        path = default_path(directory, find(name))
        if not os.path.exists(path):
            print(f"{name}: was not written", file=sys.stderr)
            status = 1
        print(f"{os.path.relpath(path, ROOT):<47} {find(name).opens}")
    bin = os.path.relpath(os.path.dirname(sys.executable), os.getcwd())
    print(f"\nto see it in a browser: . {bin}/activate; spartito view {os.path.relpath(directory)}")
    print(f"to measure a program of your own: . {bin}/activate; spartito run -- python …")
    print("to get the tools above: spartito doctor")
    return status


if __name__ == "__main__":
    sys.exit(main())
