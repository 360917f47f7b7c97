# SPDX-License-Identifier: BSD-3-Clause
"""doc_commands.py [--write] PAGE…: runs the commands of Markdown pages and compares their output with what the page shows.

A code block of the language `console` has lines that begin with "$ " (commands, for bash; a line that ends with "\\" continues) and
below each the output. All blocks of a page run in one new directory with a copy of examples/, in the order of the page. After the
language there may be

    status=N    the exit status of the last command of the block (default 0; all other commands must end with 0)
    lines=N     --write keeps the first N lines of each output and puts "…" behind them

A line "…" in an output represents any number of lines. Every other line must be in the real output, where numbers with their
units, and the width of spaces and rules, may differ. --write replaces the outputs by the real ones. The status is 1 if a page is
not true."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```console(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
TIMEOUT = 120  # s, of one command
# a number with its unit: "1.25 s", "3,120", "48.1 %", "12 KiB", "0x7f12", "2e-05"
NUMBER = re.compile(r"[-+±×]?(0x[0-9a-f]+|\d[\d.,:]*(?:e[-+]\d+)?)(\s?(ns|µs|ms|s|min|h|[kKMGT]i?B?|B|%|x)\b)?%?")
ELISION = "…"
# a column that tables have on a busy machine only, and a cell of it
PREEMPTED = re.compile(r"  +preempted(?=  )")
CELL = re.compile(r" *([\d.,]+ (ns|µs|ms|s|min|h))?")


def environment(directory):
    """As in a terminal of 100 columns without colours, with this Python's commands; MPI runs as root and on few processors."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARTITO_", "SCOREP_", "PYTHON"))}
    return {
        **kept,
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "HOME": str(directory),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",  # of version 4; the next is of version 5
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # the last is of version 6
        "PRTE_MCA_mapby": ":oversubscribe",
    }


def steps(body):
    """[(command, lines of output)] of a block."""
    found = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise SystemExit(f"a block begins with output: {line!r}")
    return found


def normal(line):
    """A line without what differs from run to run."""
    return re.sub(r"[\s─━-]+", " ", NUMBER.sub("#", line)).strip()


def calm(lines):
    """The output as on a machine with idle processors: tables without the column for preempted time."""
    found, span = [], None
    for line in lines:
        header = PREEMPTED.search(line)
        if header:
            span = header.span()
        elif span and not CELL.fullmatch(line[slice(*span)]):
            span = None  # the table has ended
        found.append(line[: span[0]] + line[span[1] :] if span else line)
    return found


def missing(shown, real):
    """The lines that are shown, but not in the real output."""
    there = {normal(line) for line in real}
    return [line for line in shown if line.strip() != ELISION and normal(line) not in there]


class Page:
    def __init__(self, path, directory):
        self.path, self.directory, self.problems = path, directory, []

    def _run(self, command, status):
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.directory, env=environment(self.directory), text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
        )
        if done.returncode != status:
            self.problems.append(f"$ {command}\nends with status {done.returncode} instead of {status}:\n{done.stdout}")
        return [line.rstrip().replace(str(self.directory), "~") for line in calm(done.stdout.splitlines())]

    def block(self, match):
        """The block with the real output."""
        options = dict(option.split("=", 1) for option in match["options"].split())
        commands, parts = steps(match["body"]), []
        for i, (command, shown) in enumerate(commands):
            last = i == len(commands) - 1
            real = self._run(command, int(options.get("status", 0)) if last else 0)
            lost = missing(shown, real)
            if lost:
                self.problems.append("\n".join([f"$ {command}", "does not print", *lost, "but", *real]))
            limit = int(options.get("lines", len(real)))
            parts += [f"$ {command}", *real[:limit], *([ELISION] if len(real) > limit else [])]
        return f"```console{match['options']}\n" + "".join(f"{part}\n" for part in parts) + "```"


def run(path, write=False):
    """Runs all blocks of a page and returns the problems, each a text. write: the page gets the real output."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="spartito-docs-") as directory:
        shutil.copytree(ROOT / "examples", pathlib.Path(directory) / "examples")
        page = Page(path, pathlib.Path(directory))
        written = FENCE.sub(page.block, text)
    if write:
        path.write_text(written, encoding="utf-8")
        return [problem for problem in page.problems if "\nends with status " in problem]
    return page.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    status = 0
    for path in asked.pages:
        for problem in run(path, asked.write):
            print(f"{path}: {problem}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
