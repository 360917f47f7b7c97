# SPDX-License-Identifier: BSD-3-Clause
"""`spartito convert --per-rank`: one file for each rank or process; and all writers with many processes."""

import json
import pstats
import shutil
import subprocess
import sys

import pytest
import taufiles
import written
from spartito._analyse import Model
from spartito.experiments import conversion, perrank

FORKS = 16
SOURCE = f"""\
import os
import sys


def leaf(n):
    return n


def work(n):
    for i in range(10 * n + 10):
        leaf(i)


for n in range({FORKS}):
    pid = os.fork()
    if not pid:
        work(n)
        sys.exit(0)
    os.waitpid(pid, 0)
"""


def calls(path, name):
    return sum(row[1] for key, row in pstats.Stats(str(path)).stats.items() if key[2] == name)


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    directory = tmp_path_factory.mktemp("forks")
    (directory / "forks.py").write_text(SOURCE, encoding="utf-8")
    program = [sys.executable, directory / "forks.py"]
    run = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", directory / "run", "--", *program]
    subprocess.run(list(map(str, run)), check=True)
    return directory / "run"


def spartito(*words):
    command = [sys.executable, "-m", "spartito", *map(str, words)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=200)


def test_a_file_for_each_process(forks, tmp_path):
    done = spartito("convert", forks, "--per-rank", "--to", "pstats,text", "-o", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {2 * FORKS + 2} files into {tmp_path / 'all'}\n"
    names = [f"process_{n}" for n in range(FORKS + 1)]
    assert {p.name for p in (tmp_path / "all").iterdir()} == {n + s for n in names for s in (".prof", ".txt")}
    counts = [calls(tmp_path / "all" / f"{n}.prof", "leaf") for n in names]
    # in the order of their start; the first process forked the others and did not call leaf()
    assert counts == [0, *(10 * n + 10 for n in range(FORKS))]
    for name, count in zip(names, counts):
        (line,) = [t for t in (tmp_path / "all" / f"{name}.txt").read_text().splitlines() if "(leaf)" in t] or [""]
        assert (line.split() or ["0"])[0] == str(count)


def test_every_format_of_one_process(forks, tmp_path):
    model = Model(str(forks))
    done = spartito("convert", forks, "--per-rank", "--to", "speedscope,folded,callgrind", "-o", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    for number in range(FORKS + 1):
        for suffix in (".speedscope.json", ".folded", ".callgrind"):
            assert (tmp_path / "all" / f"process_{number}{suffix}").exists()
    model.convert("folded", str(tmp_path / "three"), process=3)
    assert (tmp_path / "all" / "process_3.folded").read_bytes() == (tmp_path / "three").read_bytes()


def test_default_directory(forks, tmp_path):
    shutil.copytree(forks, tmp_path / "copy")
    assert spartito("convert", tmp_path / "copy", "--per-rank", "--to", "pstats").returncode == 0
    assert len(list((tmp_path / "copy-ranks").iterdir())) == FORKS + 1


@pytest.mark.parametrize(
    "words, message",
    [
        (["--per-rank", "--to", "otf2"], "--per-rank: otf2 keeps processes apart already"),
        (["--per-rank", "--to", "pstats,tau"], "--per-rank: tau keeps processes apart already"),
        (["--per-rank", "--to", "pstats", "--process", "1"], "--process names one"),
        (["--per-rank", "--to", "pstats,nonsense"], "unknown format 'nonsense'"),
        (["--per-rank", "--to", "pstats", "-o", "/nonexistent/a/b"], "/nonexistent/a/b: No such file"),
        (["--to", "pstats,text", "-o", "one"], "-o names one file, and --to several formats"),
        (["--per-rank"], "no format given"),
    ],
)
def test_refused_in_one_line(forks, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = spartito("convert", forks, *words)
    assert done.returncode != 0 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_existing_directory_stays(forks, tmp_path):
    (tmp_path / "there").mkdir()
    done = spartito("convert", forks, "--per-rank", "--to", "pstats", "-o", tmp_path / "there")
    assert done.returncode != 0 and "already exists" in done.stderr


def test_failure_leaves_nothing(forks, tmp_path):
    class Broken:
        def __init__(self):
            self.model = Model(str(forks))

        def info(self):
            return self.model.info()

        def convert(self, *arguments, process, progress):
            if process == 5:
                raise KeyboardInterrupt
            self.model.convert(*arguments, process=process, progress=progress)

    with pytest.raises(KeyboardInterrupt):
        perrank.convert(Broken(), [conversion.find("pstats")], str(tmp_path / "all"))
    assert list(tmp_path.iterdir()) == []


def test_names_of_ranks():
    def info(*places):
        return {"processes": [{"world": world, "rank": rank} for world, rank in places], "worlds": [3, 2]}

    plain = (None, None)
    assert perrank.stems(info(plain, plain)) == ["process_0", "process_1"]
    many = info((0, 2), plain, (0, 0), (1, 1), (0, 1), (0, 1))
    assert perrank.stems(many) == ["cpu_2", "process_1", "cpu_0", "cpu_4", "cpu_1", "process_5"]


def test_several_formats_beside_the_experiment(forks, tmp_path):
    shutil.copytree(forks, tmp_path / "copy")
    done = spartito("convert", tmp_path / "copy", "--to", "pstats,json")
    assert done.returncode == 0 and done.stdout.count("wrote ") == 2
    assert {p.name for p in tmp_path.iterdir()} == {"copy", "copy.prof", "copy.json"}


def test_writers_with_many_processes(forks, tmp_path):
    """All formats have the same calls; formats with processes assign them to the process that made them."""
    model = Model(str(forks))
    expected = [0, *(10 * n + 10 for n in range(FORKS))]
    model.convert("pstats", str(tmp_path / "pstats"))
    assert calls(tmp_path / "pstats", "leaf") == sum(expected)
    model.convert("tau", str(tmp_path / "tau"))
    for (node, _, _), thread in taufiles.read_text(tmp_path / "tau").items():
        rows = [row for name, row in thread.flat().items() if name.startswith("__main__:leaf [")]
        assert sum(row.calls for row in rows) == expected[node]
    model.convert("json", str(tmp_path / "json"))
    found = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    (leaf,) = [i for i, region in enumerate(found["regions"]) if region["name"] == "__main__:leaf"]
    for location, rows in zip(found["locations"], found["values"]):
        visits = sum(row[1] for row in rows if found["paths"][row[0]][1] == leaf)
        assert visits == expected[location["process"]]
    model.convert("otf2", str(tmp_path / "otf2"))
    lines = written.run("otf2-print", tmp_path / "otf2" / "traces.otf2").splitlines()
    enters = [line.split()[1] for line in lines if line.startswith("ENTER") and ':leaf"' in line]
    assert sorted(enters.count(location) for location in set(enters)) == expected[1:]
    for name in ("cube", "speedscope", "folded", "callgrind", "text", "ppk"):
        model.convert(name, str(tmp_path / name))
    speedscope = json.loads((tmp_path / "speedscope").read_text(encoding="utf-8"))
    assert len(speedscope["profiles"]) == FORKS + 1
