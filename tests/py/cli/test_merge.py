# SPDX-License-Identifier: BSD-3-Clause
"""`spartito finalize`: every report of an experiment is the same before and after, byte for byte."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from commandline import run as start
from conftest import ROOT
from spartito._analyse import Model

# a parent and children, threads, a parameter value, events
PROGRAM = """
import os, threading, time
import spartito
def leaf(n): return n + 1
def work(n):
    with spartito.region("part"):
        spartito.parameter("n", n)
        for i in range(50): leaf(i)
children = []
for n in (1, 2, 3):
    pid = os.fork()
    if pid == 0:
        work(n)
        raise SystemExit
    children.append(pid)
t = threading.Thread(target=work, args=(4,))
t.start()
t.join()
for pid in children: os.waitpid(pid, 0)
"""


def run(path, *words, check=True):
    done = start([sys.executable, "-m", "spartito"], *words, cwd=path)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made")
    (path / "program.py").write_text(PROGRAM)
    options = ["-q", "--trace", "--metric", "rusage:ru_utime", "-o", "x"]
    command = [sys.executable, "-m", "spartito", "run", *options, "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=path, check=True)
    return path


COMMANDS = [
    ["info"],
    ["report"],
    ["report", "tree", "--limit", "0"],
    ["report", "balance"],
    ["report", "--json", "--limit", "0"],
    ["report", "callers", "--match", "*leaf*"],
]
FORMATS = ["json", "pstats", "callgrind", "folded", "speedscope", "text"]


def without_files(text):
    """The output of `info` without the number and size of files: the merged file is one of them."""
    return re.sub(r'"files(_bytes)?": \d+,|"merged file": \d+,|^size .* in \d+ files; |, merged file [^,\n]*', "", text, flags=re.M)


def outputs(path):
    out = []
    for words in COMMANDS:
        out.append(without_files(run(path, *words, "x").stdout))
    for name in FORMATS:
        run(path, "convert", "x", "--to", name, "-o", "converted")
        out.append((path / "converted").read_bytes())
    return out


def test_everything_is_the_same(made):
    before = outputs(made)
    r = run(made, "finalize", "x")
    assert r.stdout.startswith("x: merged 4 processes with 5 threads and "), r
    assert (made / "x" / "merged").stat().st_size > 4096
    assert outputs(made) == before
    r = run(made, "finalize", "x")
    assert r.stdout == "x: finalized before, and nothing has changed since (--force: merge again)\n"
    stamp = (made / "x" / "merged").stat().st_ino
    assert run(made, "finalize", "--force", "-q", "x").stdout == ""
    assert (made / "x" / "merged").stat().st_ino != stamp
    # compressing changes the raw files, and the merged file is made again
    run(made, "finalize", "--compress", "x")
    assert run(made, "finalize", "x").stdout.startswith("x: finalized before")
    with_size = (COMMANDS.index(["info"]), COMMANDS.index(["report", "--json", "--limit", "0"]))
    now = outputs(made)
    assert [x for i, x in enumerate(now) if i not in with_size] == [x for i, x in enumerate(before) if i not in with_size]


def test_it_is_what_is_read(made, tmp_path):
    """The reports read the merged file: the profiles in the raw files are removed."""
    copy = tmp_path / "x"
    subprocess.run(["cp", "-a", str(made / "x"), str(copy)], check=True)
    run(tmp_path, "finalize", "--force", "x")
    before = run(tmp_path, "report", "--limit", "0", "x").stdout
    for path in (copy / "raw").glob("*.raw"):
        size = path.stat().st_size
        path.write_bytes(b"")
        os.truncate(path, size)
    assert run(tmp_path, "report", "--limit", "0", "x").stdout == before
    assert "leaf" in before


def test_damage_is_one_line(made, tmp_path):
    copy = tmp_path / "x"
    subprocess.run(["cp", "-a", str(made / "x"), str(copy)], check=True)
    before = run(tmp_path, "report", "x")
    run(tmp_path, "finalize", "--force", "x")
    data = bytearray((copy / "merged").read_bytes())
    data[-100] ^= 0xFF
    (copy / "merged").write_bytes(data)
    r = run(tmp_path, "report", "x")
    assert r.stdout == before.stdout
    new = [line for line in r.stderr.splitlines() if line not in before.stderr.splitlines()]
    assert len(new) == 1, r.stderr
    assert "merged is damaged" in new[0]


def test_refusals(made, tmp_path):
    r = run(tmp_path, "finalize", "--force", "nowhere", check=False)
    assert r.returncode != 0
    assert r.stderr.count("\n") == 1
    assert "nowhere" in r.stderr
    (tmp_path / "empty" / "raw").mkdir(parents=True)
    r = run(tmp_path, "finalize", "--force", "empty", check=False)
    assert r.returncode != 0
    assert "no process was measured" in r.stderr
    assert sorted(os.listdir(tmp_path / "empty")) == ["raw"]


def test_running_process_is_refused(tmp_path):
    (tmp_path / "sleep.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(100)\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "x", "--", sys.executable, "sleep.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "here\n"
        r = run(tmp_path, "finalize", "--force", "x", check=False)
        p.send_signal(signal.SIGTERM)
    assert r.returncode != 0
    assert "a process still writes" in r.stderr
    assert r.stderr.count("\n") == 1
    assert not (tmp_path / "x" / "merged").exists()
    deadline = time.monotonic() + 100
    while run(tmp_path, "finalize", "--force", "-q", "x", check=False).returncode and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (tmp_path / "x" / "merged").exists()


def test_many_ranks(made, tmp_path):
    """An experiment of 40 ranks, made from a real one by bench/ranks.py, has the same reports before and after."""
    command = [sys.executable, str(ROOT / "bench" / "ranks.py"), str(made / "x"), "x", "40"]
    subprocess.run(command, cwd=tmp_path, check=True)
    verbs = (["info", "--json"], ["report", "--json", "--limit", "0", "--processes"], ["report", "balance"])
    before = [without_files(run(tmp_path, *words, "x").stdout) for words in verbs]
    assert run(tmp_path, "finalize", "x").stdout.startswith("x: merged 40 processes with 50 threads and ")
    assert [without_files(run(tmp_path, *words, "x").stdout) for words in verbs] == before
    info = json.loads(before[0])
    assert [p["rank"] for p in info["processes"]] == list(range(40))
    assert info["worlds"] == [40]
    assert run(tmp_path, "finalize", "x").stdout.startswith("x: finalized before")
    # the file of one rank is missing, that of another is truncated
    files = sorted((tmp_path / "x" / "raw").iterdir())
    files[7].unlink()
    os.truncate(files[9], 5000)
    without = run(tmp_path, *verbs[0], "x")
    done = run(tmp_path, "finalize", "--force", "x")
    assert "merged 39 processes" in done.stdout
    again = run(tmp_path, *verbs[0], "x")
    assert (without_files(again.stdout), again.stderr) == (without_files(without.stdout), without.stderr)
    assert files[9].name in again.stderr


def test_info_counts_every_file(made, tmp_path):
    copy = tmp_path / "x"
    subprocess.run(["cp", "-a", str(made / "x"), str(copy)], check=True)
    (copy / "source" / "more").mkdir(parents=True)
    (copy / "source" / "more" / "big").write_bytes(os.urandom(3 << 20))
    files = [path for path in copy.rglob("*") if path.is_file()]
    found = json.loads(run(tmp_path, "info", "--json", "x").stdout)
    assert found["files"] == len(files) and found["files_bytes"] == sum(path.stat().st_blocks * 512 for path in files)
    assert f" in {len(files)} files; raw files " in run(tmp_path, "info", "x").stdout


# each path of the binary tree is a separate call path: 2**20 - 1 in all
MILLION = """
def a(depth):
    if depth:
        a(depth - 1)
        b(depth - 1)
def b(depth):
    if depth:
        a(depth - 1)
        b(depth - 1)
a(19)
"""


def test_a_million_call_paths(tmp_path):
    """`view` merges such an experiment, although there is one raw file; its call tree is then used where it is mapped."""

    def answers():
        model = Model(str(tmp_path / "x"))
        views = [model.view("flat"), model.view("tree", limit=100), model.view("flat", location=0)]
        return [*views, model.flat(), model.info()["problems"]]

    (tmp_path / "p.py").write_text(MILLION, encoding="utf-8")
    run(tmp_path, "run", "-q", "-o", "x", "p.py")
    before = answers()
    assert {row["name"]: row["visits"] for row in before[3] if row["name"] in ("__main__:a", "__main__:b")} == {
        "__main__:a": 2**19, "__main__:b": 2**19 - 1}  # fmt: skip
    with subprocess.Popen([sys.executable, "-m", "spartito", "view", "--no-browser", "x"], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:  # fmt: skip
        assert p.stdout.readline().startswith(b"http://")
        end = time.monotonic() + 100
        while not (tmp_path / "x" / "merged").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        p.terminate()
    assert answers() == before
    with open(tmp_path / "x" / "merged", "r+b") as f:
        f.seek(100 << 20)  # behind 67 MB of rows: in the totals
        byte = f.read(1)[0]
        f.seek(100 << 20)
        f.write(bytes([byte ^ 1]))
    *same, problems = answers()
    assert same == before[:-1]
    assert len(problems) == 1, problems
    assert "merged is damaged" in problems[0]
