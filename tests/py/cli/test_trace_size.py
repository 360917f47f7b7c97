# SPDX-License-Identifier: BSD-3-Clause
"""The size of a trace in the summary and while the program runs, and the sizes of the parts of an experiment in `spartito info`."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spartito._analyse import Model
from spartito.run import tracewatch
from terminal import on_terminal

PROGRAM = """
import os, sys
def leaf(): pass
def work():
    for _ in range(100_000): leaf()
children = []
for _ in range(int(sys.argv[1])):
    children.append(os.fork())
    if not children[-1]:
        work()
        sys.exit()
for child in children: os.waitpid(child, 0)
if not children: work()
"""
EVENTS = 200_000  # of one process, at least


@pytest.fixture
def recorded(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(children, *options):
        """Lines of the summary about the trace, and the number of events in it."""
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        words = [sys.executable, "-W", "ignore", "-m", "spartito", "run", "--trace", *options, "-o", "run", "--"]
        command = [*words, sys.executable, "program.py", str(children)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=200)
        assert done.returncode == 0, done.stderr
        info = Model(str(tmp_path / "run")).info()
        assert sum(loc["events"] for loc in info["locations"]) == info["events"]
        return [line for line in done.stderr.splitlines() if "trace" in line], info

    return run


def test_the_summary_has_the_size(recorded):
    (line,), info = recorded(0)
    assert info["events"] >= EVENTS and line.startswith(f"trace: {info['events']:,} events; the raw files take ")
    lines, info = recorded(0, "--trace-memory", "1M")
    (process,) = info["processes"]
    passed = "passed --trace-memory (1.0 MiB) and was written to disk: 1.5 MiB uncompressed"
    assert lines[1] == f"the trace of process {process['pid']} {passed}"
    lines, _ = recorded(2, "--trace-memory", "1M")
    assert lines[1].startswith("the trace of 2 processes passed --trace-memory (1.0 MiB)") and len(lines) == 2
    lines, _ = recorded(0, "--trace-memory", "1M", "--when-full", "stop")
    assert not any("passed" in line for line in lines) and any("not recorded" in line for line in lines)


def test_info_has_the_size_of_the_index(recorded, spartito, tmp_path):
    recorded(0)
    info = [*spartito, "info", tmp_path / "run"]
    assert "level-of-detail index" not in subprocess.run(info, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    Model(str(tmp_path / "run")).sum_up(lambda done, total: None)
    found = json.loads(subprocess.run([*info, "--json"], stdout=subprocess.PIPE, check=True).stdout)
    taken = {name: (tmp_path / "run" / name).stat().st_blocks * 512 for name in ("lod", "experiment.json")}
    (raw,) = (tmp_path / "run" / "raw").iterdir()
    assert found["bytes_of"]["level-of-detail index"] == taken["lod"] > 0
    assert found["bytes_of"]["raw files"] == raw.stat().st_blocks * 512
    assert found["files_bytes"] == sum(taken.values()) + found["bytes_of"]["raw files"]
    assert ", level-of-detail index " in subprocess.run(info, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


WAITS = """
import sys, termios, tty
def leaf(): pass
if sys.argv[1:] == ["keys"]:
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
for _ in range(100_000): leaf()
print("traced", flush=True)
sys.stdin.read(1)
if sys.argv[1:] == ["keys"]:
    print("cooked", flush=True)
    termios.tcsetattr(0, termios.TCSADRAIN, before)
    sys.stdin.read(1)
"""


def test_a_trace_that_passes_the_limit_is_announced(spartito, tmp_path):
    (tmp_path / "waits.py").write_text(WAITS)
    command = [*spartito, "run", "--trace", "--trace-memory", "1M", "-o", "run", "--", sys.executable, "waits.py"]
    announced = rb"spartito: the trace of process (\d+) has passed --trace-memory \(1.0 MiB\) and is written to disk: 1.\d MiB so"
    with on_terminal(command, cwd=tmp_path) as (process, terminal):
        shown = terminal.until(b"uncompressed\r\n")
        (pid,) = re.findall(announced, shown)
        terminal.type(b"\n")
        rest = terminal.rest()
        assert process.wait() == 0
    assert f"the trace of process {int(pid)} passed --trace-memory".encode() in rest and b"has passed" not in rest


def test_it_is_not_announced_on_a_terminal_that_the_program_reads_keys_from(spartito, tmp_path):
    (tmp_path / "waits.py").write_text(WAITS)
    command = [*spartito, "run", "--trace", "--trace-memory", "1M", "-o", "run", "--", sys.executable, "waits.py", "keys"]
    with on_terminal(command, cwd=tmp_path) as (process, terminal):
        shown = terminal.until(b"traced")
        looked = times_slept(process.pid)
        while times_slept(process.pid) < looked + 3:
            time.sleep(0.1)
        terminal.type(b"x")
        shown += terminal.until(b"cooked")
        assert b"has passed" not in shown
        terminal.until(b"has passed")
        terminal.type(b"\n")
        terminal.rest()
        assert process.wait() == 0


def times_slept(pid):
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


def test_nobody_is_told_with_q_or_elsewhere_than_in_a_terminal(tmp_path, monkeypatch):
    texts = {"trace": "1", "when_full": "flush", "quiet": "0", "trace_memory": "1M"}
    ours, theirs = os.openpty()
    with open(theirs, "w") as stream, open(os.devnull, "w") as elsewhere:
        monkeypatch.setattr(sys, "stderr", stream)
        assert tracewatch.wanted(texts, str(tmp_path)).limit == 1 << 20
        for name, value in (("quiet", "1"), ("when_full", "stop"), ("trace", "0")):
            assert tracewatch.wanted({**texts, name: value}, str(tmp_path)) is None
        monkeypatch.setattr(sys, "stderr", elsewhere)
        assert tracewatch.wanted(texts, str(tmp_path)) is None
    os.close(ours)
