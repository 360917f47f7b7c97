# SPDX-License-Identifier: BSD-3-Clause
""".lprof files, read by line_profiler itself and as pickles."""

import json
import pickle
import pickletools
import subprocess
import sys

import linedata
import pytest
import rawlines
from spartito._analyse import Error, Model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return linedata.make(tmp_path_factory.mktemp("lprof"))


class Loaded(pickle.Unpickler):
    """Reads the pickle without line_profiler."""

    class Stats:
        pass

    def find_class(self, module, name):
        assert (module, name) == ("line_profiler.line_profiler", "LineStats")
        return self.Stats


def load(path):
    with open(path, "rb") as f:
        return Loaded(f).load()


def written(run, tmp_path, **options):
    Model(str(run)).convert("lprof", str(tmp_path / "x.lprof"), **options)
    return load(tmp_path / "x.lprof")


def expected(run):
    """The model's numbers in nanoseconds."""
    return {
        (f["file"], f["line"], f["function"]): [(n, hits, round((own + below) * 1e9)) for n, hits, own, below in f["lines"]]
        for f in Model(str(run)).lines()
    }


def test_what_is_in_it(run, tmp_path):
    found = written(run, tmp_path)
    assert vars(found) == {"timings": expected(run), "unit": 1e-9}
    file = str(run.parent / "lined.py")
    assert list(found.timings) == [
        (file, 5, "busy"),
        (file, 14, "helper"),
        (file, 19, "Grid.wide"),
        (file, 23, "Grid.wide.<locals>.<lambda>"),
    ]
    assert [line[:2] for line in found.timings[file, 5, "busy"]] == [(6, 1), (7, 6), (8, 5), (11, 1)]
    assert found.timings[file, 14, "helper"][0][1] == 12_345_678_901
    text = (tmp_path / "x.lprof").read_bytes()
    assert max(op.proto for op, _, _ in pickletools.genops(text)) == 4


def test_line_profiler_loads_it(run, tmp_path):
    line_profiler = pytest.importorskip("line_profiler")
    Model(str(run)).convert("lprof", str(tmp_path / "x.lprof"))
    stats = line_profiler.load_stats(str(tmp_path / "x.lprof"))
    assert (dict(stats.timings), stats.unit) == (expected(run), 1e-9)
    done = subprocess.run(
        [sys.executable, "-m", "line_profiler", "-z", tmp_path / "x.lprof"], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0 and "Function: busy at line 5" in done.stdout, done.stderr


def test_what_differs_in_its_module_alone_is_one_function(tmp_path):
    """Functions that differ only in their module are one function: in processes of multiprocessing the script is __mp_main__."""
    script = tmp_path / "spawned.py"
    script.write_text(
        "import multiprocessing\n\n\ndef work(n):\n    return n\n\n\nif __name__ == '__main__':\n    work(1)\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        pool.map(work, [1, 2])\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "run", "--", sys.executable, script]
    subprocess.run(list(map(str, command)), check=True)
    files = sorted((tmp_path / "run/raw").glob("*.raw"))
    having = [i for i, path in enumerate(files) if b"work" in path.read_bytes()]
    added = 0
    for i in having:
        try:
            rawlines.add(tmp_path / "run", {"work": {5: (i + 1, 10**9, 0)}}, process=i)
            added += i + 1
        except KeyError:
            continue
    names = {f["name"] for f in Model(str(tmp_path / "run")).lines()}
    assert names == {"__main__:work", "__mp_main__:work"}
    ((key, lines),) = written(tmp_path / "run", tmp_path).timings.items()
    assert key == (str(script), 4, "work") and [line[:2] for line in lines] == [(5, added)]


def test_one_process(run, tmp_path):
    assert written(run, tmp_path, process=0).timings == expected(run)


@pytest.mark.parametrize("option", ["--trace", "--sample"])
def test_without_lines_it_is_refused(tmp_path, option):
    """Line times of samples have no hits, by which line_profiler divides: the format is refused."""
    (tmp_path / "p.py").write_text(
        "import glob, sys, time\ndef resting(): time.sleep(0.01)\nresting()\n"
        "while sys.argv[1:] and not any(b'resting' in open(name, 'rb').read() for name in glob.glob(sys.argv[1])): resting()\n",
        encoding="utf-8",
    )
    run = [sys.executable, "-m", "spartito", "run", "-q", option, "-o", tmp_path / "run"]
    seen = [tmp_path / "run/raw/*.samples.raw"] if option == "--sample" else []
    subprocess.run(list(map(str, [*run, "--", sys.executable, tmp_path / "p.py", *seen])), check=True)
    assert bool(Model(str(tmp_path / "run")).lines()) == (option == "--sample")
    with pytest.raises(Error, match="measure with --lines"):
        Model(str(tmp_path / "run")).convert("lprof", str(tmp_path / "x.lprof"))
    assert not (tmp_path / "x.lprof").exists()


def test_json_has_the_same(run, tmp_path):
    Model(str(run)).convert("json", str(tmp_path / "x.json"))
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert found["line_columns"] == ["location", "region", "line", "hits", "excl", "callees"]
    rows = {}
    for location, region, line, hits, own, callees in found["lines"]:
        assert location == 0
        of = found["regions"][region]
        rows.setdefault((of["file"], of["line"], of["qualname"]), []).append((line, hits, own + callees))
    assert rows == expected(run)


def test_replaces_and_leaves_nothing_half(run, tmp_path):
    path = tmp_path / "x.lprof"
    path.write_text("old" * 10**5, encoding="utf-8")
    Model(str(run)).convert("lprof", str(path))
    assert load(path).timings == expected(run)
    with pytest.raises(Error, match="is a directory"):
        Model(str(run)).convert("lprof", str(tmp_path))

    def stop(done, total):
        raise KeyboardInterrupt

    path.unlink()
    with pytest.raises(KeyboardInterrupt):
        Model(str(run)).convert("lprof", str(path), progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_file_for_each_process(run, tmp_path):
    command = [sys.executable, "-m", "spartito", "convert", run, "--per-rank", "--to", "lprof", "-o", tmp_path / "all"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    assert load(tmp_path / "all/process_0.lprof").timings == expected(run)
