# SPDX-License-Identifier: BSD-3-Clause
"""Tests for every format: the table of formats, complete files or none, refusals, cancelling, and one process of several."""

import json
import os
import pstats
import subprocess
import sys

import pytest
import written
from spartito import _analyse

TABLE = {row[0]: row for row in _analyse.writers()}
FORMATS = {name: row for name, row in TABLE.items() if name != "lprof"}  # lprof needs lines: test_write_lprof.py
FILES = [name for name, row in FORMATS.items() if not row[5]]


def options(name):
    return ("--trace",) if FORMATS[name][4] else ()


def test_table():
    profiles = {"cube", "pstats", "speedscope", "folded", "callgrind", "tau", "ppk", "text", "json", "lprof", "timemory", "pprof"}
    assert set(TABLE) == {"otf2", "perfetto", "chrome", *profiles}
    for name, what, suffix, opens, needs_trace, directory, merges in TABLE.values():
        assert name and what and opens
        assert merges == (name in ("perfetto", "chrome", "pstats", "speedscope", "folded", "callgrind", "text", "lprof", "pprof"))
        assert bool(suffix) != directory
        assert needs_trace == (name in ("otf2", "perfetto", "chrome"))


@pytest.mark.parametrize("name", FILES)
def test_existing_file_is_replaced(name, tmp_path):
    path = tmp_path / "out"
    path.write_text("old" * 10**6, encoding="utf-8")
    path.chmod(0o644)
    written.model(*options(name)).convert(name, str(path))
    assert path.read_bytes() == written.written(name, *options(name)).read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", FILES)
def test_directory_is_refused(name, tmp_path):
    with pytest.raises(_analyse.Error, match="is a directory"):
        written.model(*options(name)).convert(name, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FORMATS)
def test_missing_directory_is_named(name, tmp_path):
    path = tmp_path / "none" / "out"
    with pytest.raises(_analyse.Error, match=f"{path}.*No such file"):
        written.model("--trace").convert(name, str(path))


@pytest.mark.parametrize("name", FORMATS)
def test_disk_full_leaves_nothing(name, tmp_path):
    """A limit on the size of files emulates a full disk."""
    code = (
        "import resource, signal, sys\nfrom spartito import _analyse\n"
        "model = _analyse.Model(sys.argv[1])\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "try:\n    model.convert(sys.argv[2], sys.argv[3])\n"
        "except _analyse.Error as e:\n    sys.exit(f'refused: {e}')\n"
    )
    command = [sys.executable, "-c", code, written.experiment("--trace"), name, tmp_path / "out"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith("refused: ") and done.stdout.count("\n") == 1
    assert str(tmp_path / "out") in done.stdout and "too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
def test_symbolic_link_stays(name, tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    written.model(*options(name)).convert(name, str(link))
    assert link.is_symlink() and target.read_bytes() == written.written(name, *options(name)).read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_pipe_is_written_to(name, tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with open(tmp_path / "copy", "wb") as copy, subprocess.Popen(["cat", fifo], stdout=copy):
        written.model(*options(name)).convert(name, str(fifo))
    assert (tmp_path / "copy").read_bytes() == written.written(name, *options(name)).read_bytes()
    assert fifo.is_fifo()


def test_cancelling_leaves_nothing(tmp_path):
    def progress(done, total):
        assert 0 <= done <= total
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written.model("--trace").convert("otf2", str(tmp_path / "out"), progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_unknown_format(tmp_path):
    with pytest.raises((ValueError, _analyse.Error), match="nonsense"):
        written.model().convert("nonsense", str(tmp_path / "out"))


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """An experiment of a process and its forked child."""
    directory = tmp_path_factory.mktemp("family")
    program = directory / "family.py"
    program.write_text(
        "import os\n\ndef parent():\n    pass\n\ndef child():\n    pass\n\n"
        "pid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    parent()\nelse:\n    child()\n",
        encoding="utf-8",
    )
    run = [
        sys.executable,
        "-m",
        "spartito",
        "run",
        "-q",
        "--trace",
        "-o",
        directory / "run",
        "--",
        sys.executable,
        program,
    ]
    subprocess.run(run, check=True)
    return _analyse.Model(str(directory / "run"))


def test_one_process_of_two(family, tmp_path):
    processes = family.info()["processes"]
    assert len(processes) == 2
    for index, process in enumerate(processes):
        mine, other = ("child", "parent") if process["forked"] else ("parent", "child")
        family.convert("pstats", str(tmp_path / "p"), process=index)
        names = {key[2] for key in pstats.Stats(str(tmp_path / "p")).stats}
        assert mine in names and other not in names
        family.convert("otf2", str(tmp_path / f"t{index}"), process=index)
        text = written.run("otf2-print", tmp_path / f"t{index}" / "traces.otf2")
        assert f':{mine}"' in text and f':{other}"' not in text
        family.convert("json", str(tmp_path / "j"), process=index)
        found = json.loads((tmp_path / "j").read_text(encoding="utf-8"))
        for location, rows in zip(found["locations"], found["values"]):
            assert bool(rows) == (location["process"] == index)
    with pytest.raises((ValueError, _analyse.Error)):
        family.convert("pstats", str(tmp_path / "p"), process=2)
