# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of the module scorep: runs programs with `python -m scorep`, and reads their experiments."""

import os
import subprocess
import sys
import textwrap
from collections import Counter

from conftest import ROOT

DROPIN = str(ROOT / "dropin")


def environment(**more):
    """The environment with the modules of dropin/ on the path, and with only these variables of Score-P."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCOREP_", "SPARTITO_", "PYTHONUNBUFFERED"))}
    path = os.pathsep.join(filter(None, [DROPIN, os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, **more}


def run(path, *words, flags=(), env=None, **keywords):
    """Runs `python -m scorep` in the directory path. env: variables of Score-P."""
    command = [sys.executable, *flags, "-m", "scorep", *map(str, words)]
    keywords.setdefault("timeout", 120)
    return subprocess.run(command, cwd=path, env=environment(**(env or {})), capture_output=True, text=True, **keywords)


def program(path, source, name="program.py"):
    (path / name).write_text(textwrap.dedent(source), encoding="utf-8")
    return name


def results(path):
    """The experiment directories in path, oldest first."""
    found = [p for p in path.iterdir() if p.is_dir() and (p / "scorep.cfg").exists()]
    return sorted(found, key=lambda p: p.stat().st_mtime_ns)


def measured(path, source, *options, env=None, status=0, stderr="", arguments=()):
    """Runs source; returns its experiment directory. The program must end with `status` and print exactly `stderr`."""
    name = program(path, source)
    before = set(results(path))
    done = run(path, *options, name, *arguments, env=env)
    assert (done.returncode, done.stderr) == (status, stderr), done.stdout + done.stderr
    (new,) = set(results(path)) - before
    return new


def visits(experiment):
    """Visits of each region by its full name, from the profile."""
    from spartito._analyse import Model

    found = Counter()
    for row in Model(str(experiment)).flat():
        found[row["name"]] += row["visits"] + row.get("resumed", 0)
    return {name: n for name, n in found.items() if n}


def configuration(experiment):
    lines = (experiment / "scorep.cfg").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)
