# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of the module omnitrace: runs programs with `python -m omnitrace`, and reads their outputs."""

import os
import subprocess
import sys
import textwrap

from conftest import ROOT

DROPIN = str(ROOT / "dropin")
COUNTS = {"OMNITRACE_PROFILE": "ON", "OMNITRACE_TIMEMORY_COMPONENTS": "trip_count"}


def environment(**more):
    """The environment with the modules of dropin/ on the path, without a configuration file at home, and with only these variables
    of Omnitrace."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMNITRACE_", "SPARTITO_", "PYTHONUNBUFFERED"))}
    path = os.pathsep.join(filter(None, [DROPIN, os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, "HOME": "/nowhere", **more}


def started(path, *words, env=None, **keywords):
    """Runs python WORDS in the directory path. env: variables of Omnitrace."""
    command = [sys.executable, *map(str, words)]
    keywords.setdefault("timeout", 120)
    return subprocess.run(command, cwd=path, env=environment(**(env or {})), capture_output=True, text=True, **keywords)


def run(path, *words, env=None, **keywords):
    return started(path, "-m", "omnitrace", *words, env={**COUNTS, **(env or {})}, **keywords)


def program(path, source, name="program.py"):
    (path / name).write_text(textwrap.dedent(source), encoding="utf-8")
    return name


def outputs(path):
    """Output directories below path that contain an experiment."""
    return sorted({p.parent.parent for p in path.rglob("experiment.json")})


def output(path):
    (found,) = outputs(path)
    return found


def rows(path, metric="trip_count"):
    """(indent and label, count, depth) of each row of a table."""
    found = []
    for line in (output(path) / f"{metric}.txt").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) > 4 and cells[1].isdigit():
            found.append((cells[0].partition(">>> ")[2], int(cells[1]), int(cells[2])))
    return found


def measured(path, source, *options, env=None, status=0, arguments=(), message="", lines=0):
    """Runs source with `python -m omnitrace`; returns the rows of the table of counts. Besides the list of written files, standard
    error must have `lines` lines and contain `message`."""
    name = program(path, source)
    words = [*options, "--", name] if options else [name]
    done = run(path, *words, *arguments, env=env)
    other = [line for line in done.stderr.splitlines() if not line.startswith("omnitrace: wrote ")]
    assert done.returncode == status, done.stdout + done.stderr
    assert len(other) == lines and message in "\n".join(other), done.stderr
    return rows(path)
