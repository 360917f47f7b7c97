# SPDX-License-Identifier: BSD-3-Clause
"""What is in an experiment may be anything: nothing of it is waited for, read without end, or believed."""

import json
import os
import shutil
import sys

import pytest
from spartito import regular
from test_cli_helpers import run

# the source of f is said to be in a file that may be anything
PROGRAM = """
def g(): pass
exec(compile("def f():\\n    for i in range(100): g()\\n", "source.py", "exec"))
f()
"""
VERBS = {
    "report": ["report", "x"],
    "lines": ["report", "--lines", "x"],
    "info": ["info", "x"],
    "convert": ["convert", "x", "--to", "text", "-o", "out"],
    "html": ["html", "x", "-o", "out.html"],
    "pack": ["pack", "x", "-o", "out.spartito"],
    "finalize": ["finalize", "x"],
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    (directory / "program.py").write_text(PROGRAM)
    spartito = [sys.executable, "-m", "spartito"]
    command = [*spartito, "run", "-q", "--trace", "--lines", "f", "--lines", "g", "-o", "x", "--", sys.executable, "program.py"]
    done = run(command, cwd=directory)
    assert (done.returncode, done.stderr) == (0, "")
    (directory / "x" / "symbols").write_text("spartito symbols 1\nend\t0\n")
    (directory / "x" / "ranks").write_text("")
    return directory


def put(kind, path):
    if path.exists():
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize("name", ["experiment.json", "ranks", "symbols", "source/index.json", "raw/*.raw", "source.py", "kept"])
def test_what_is_no_regular_file_is_not_read(spartito, measured, tmp_path, kind, name):
    shutil.copytree(measured / "x", tmp_path / "x", symlinks=True)
    if name in ("source.py", "kept"):
        index = tmp_path / "x" / "source" / "index.json"
        if name == "source.py":
            index.unlink()
            put(kind, tmp_path / "source.py")
        else:
            put(kind, tmp_path / "x" / "source" / "zero")
            index.write_text(json.dumps({"files": {"source.py": "zero"}}))
    else:
        (path,) = (tmp_path / "x").glob(name)
        put(kind, path)
    for verb, words in VERBS.items():
        done = run(spartito, *words, cwd=tmp_path, timeout=60)
        assert "Traceback" not in done.stderr, (verb, done.stderr)
        if name.startswith("raw") and verb != "pack":
            assert "not a regular file" in done.stderr, (verb, done.stderr)
        if name == "experiment.json" and verb == "info":
            assert "experiment.json cannot be read: not a regular file" in done.stdout + done.stderr


def test_content_has_a_limit(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 100)
    assert regular.content(str(path), 100) == b"x" * 100
    with pytest.raises(OSError, match="larger than"):
        regular.content(str(path), 99)
    with pytest.raises(OSError, match="not a regular file"):
        regular.content("/dev/zero", 99)
