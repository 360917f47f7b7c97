# SPDX-License-Identifier: BSD-3-Clause
"""The size of a trace in the summary, and the sizes of the parts of an experiment in `spartito info`."""

import json
import shutil
import subprocess
import sys

import pytest
from spartito._analyse import Model

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
