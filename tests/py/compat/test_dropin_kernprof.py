# SPDX-License-Identifier: BSD-3-Clause
"""`kernprof` and `import line_profiler` of the drop-in distribution, beside line_profiler and without; and LineStats without it."""

import os
import pickle
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import linedata
import pytest
import spartito
from spartito._analyse import Model
from spartito.base.messages import Refused
from spartito.compat.kernprof.stats import LineStats, load_stats, main
from test_kernprof import PRINTED, SCRIPT
from test_scorep_install import DROPIN, backend, bare, pip  # noqa: F401

SPARE = {"line_profiler", "kernprof"}


def built(backend, tmp_path):  # noqa: F811
    with zipfile.ZipFile(tmp_path / backend.build_wheel(str(tmp_path))) as wheel:
        return wheel.namelist()


def test_left_out_where_the_real_one_is(backend, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    names = built(backend, tmp_path)
    assert {name.partition("/")[2].partition("/")[0] for name in names} > SPARE
    assert "spartito_dropin-0.1.0.data/scripts/kernprof" in names
    for real in ("line_profiler/__init__.py", "kernprof.py"):
        path = tmp_path / real
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
        names = built(backend, tmp_path)
        assert not [name for name in names if "kernprof" in name or "line_profiler" in name]
        assert "spartito_dropin/scorep/__init__.py" in names
        path.unlink()


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SPARTITO_", "PYTHON", "LINE_PROFILE"))}


def out(place, *words):
    done = subprocess.run(list(map(str, words)), cwd=place, capture_output=True, encoding="utf-8", env=clean(), timeout=200)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_without_line_profiler(bare, tmp_path):  # noqa: F811
    python, site = bare
    package = Path(spartito.__file__).parent
    (site / "spartito").symlink_to(package)
    (site / "spartito.pth").write_bytes((package.parent / "spartito.pth").read_bytes())
    done = pip(python, "install", "--no-index", "--no-deps", DROPIN)
    assert done.returncode == 0, done.stderr
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    assert out(tmp_path, python.parent / "kernprof", "-l", "script.py", "a", "-l").startswith(PRINTED)
    text = out(tmp_path, python, "-m", "line_profiler", "script.py.lprof")
    assert "- work\n" in out(tmp_path, python, "-m", "line_profiler", "-rmt", "script.py.lprof")
    assert "Function: work at line 4\n" in text and text.startswith("Timer unit: 1e-06 s\n\n")
    (tmp_path / "explicit.py").write_text("from line_profiler import profile\n@profile\ndef f():\n    return 1\nprint(f())\n")
    assert out(tmp_path, python, "explicit.py") == "1\n"
    assert "Function: f at line 2\n" in out(tmp_path, python, "-m", "kernprof", "-lv", "explicit.py")
    # the real one comes later and is found first, by our own script too
    (site / "kernprof.py").write_text("def main():\n    print('real')\n", encoding="utf-8")
    assert out(tmp_path, python.parent / "kernprof") == "real\n"
    assert pip(python, "uninstall", "-y", "spartito-dropin").returncode == 0
    assert not (python.parent / "kernprof").exists() and not (site / "spartito_dropin").exists()


# ---- LineStats ----


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("stats")
    run = linedata.make(directory)
    Model(str(run)).convert("lprof", str(directory / "a.lprof"))
    return directory


def test_files_are_read_and_added_up(files):
    one = load_stats(files / "a.lprof")
    assert one.unit == 1e-9 and (str(files / "lined.py"), 5, "busy") in one.timings
    two = load_stats(files / "a.lprof", str(files / "a.lprof"))
    assert two.timings == {k: [(n, 2 * h, 2 * t) for n, h, t in v] for k, v in one.timings.items()}
    assert one == load_stats(files / "a.lprof") and one != two and repr(one).startswith("LineStats({(")


@pytest.mark.parametrize("words", [[], ["-z", "-m"], ["-t", "-u", "1e-3"], ["--skip-zero", "--sort", "--summarize", "--unit=2"]])
def test_printed_as_line_profiler_prints(files, words, capsys):
    pytest.importorskip("line_profiler")
    path = str(files / "a.lprof")
    assert main([*words, path]) == 0
    environment = {**clean(), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "line_profiler", *words, path]
    theirs = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment, cwd=files)
    assert capsys.readouterr().out == theirs.stdout


def test_what_is_no_lprof_file(tmp_path, capsys):
    (tmp_path / "x").write_bytes(b"no")
    (tmp_path / "evil").write_bytes(pickle.dumps(os.getcwd))
    (tmp_path / "odd").write_bytes(pickle.dumps({"a": 1}))
    for name in ("x", "evil", "odd"):
        with pytest.raises(Refused, match=f"{name} is no .lprof file: "):
            load_stats(tmp_path / name)
        assert main([str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.startswith(f"line_profiler: {tmp_path / name} is no .lprof file: ")
    assert main([]) == 2 and main(["-u", "0", "x"]) == 2 and main(["--nonsense", "x"]) == 2
    assert main([str(tmp_path / "none")]) == 1
    assert isinstance(LineStats({}, 1.0), LineStats)


EXPLICIT = """\
from line_profiler import profile

@profile
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a

fib(10)
"""


def alone(place, source, *words, **variables):
    """A program that imports line_profiler of the drop-in, started by nothing of ours."""
    (place / "script.py").write_text(source, encoding="utf-8")
    env = {**clean(), "PYTHONPATH": str(DROPIN), **variables}
    done = subprocess.run([sys.executable, "script.py", *words], cwd=place, capture_output=True, encoding="utf-8", env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "variables", "source"),
    [
        ((), {"LINE_PROFILE": "1"}, EXPLICIT),
        (("--line-profile",), {}, EXPLICIT),
        ((), {}, EXPLICIT.replace("import profile\n", "import profile\nprofile.enable()\n")),
    ],
)
def test_explicit_profile_writes_when_the_program_ends(tmp_path, words, variables, source):
    said = alone(tmp_path, source, *words, **variables)
    first = source[: source.index("@profile")].count("\n") + 1
    stats = load_stats(tmp_path / "profile_output.lprof")
    hits = {key[2]: {line: n for line, n, _ in lines} for key, lines in stats.timings.items()}
    assert hits == {"fib": {first + 2: 1, first + 3: 11, first + 4: 10, first + 5: 1}}
    assert "a, b = b, a + b" in (tmp_path / "profile_output.txt").read_text()
    assert len(list(tmp_path.glob("profile_output*"))) == 3 and "Wrote profile results to profile_output.txt\n" in said



@pytest.mark.parametrize("variables", [{}, {"LINE_PROFILE": "0"}])
def test_explicit_profile_that_nobody_asked_for(tmp_path, variables):
    assert alone(tmp_path, EXPLICIT, **variables) == "" and not list(tmp_path.glob("profile_output*"))


OWN = """\
import asyncio, functools, io, sys
from line_profiler import LineProfiler, load_stats
from line_profiler.line_profiler import show_func, show_text
from kernprof import ContextualProfile

lp = LineProfiler()

def plain(n):
    return n + 1

def steps():
    got = yield 1
    yield got

@lp
class Grid:
    @property
    def size(self):
        return 3

    @staticmethod
    def static():
        return 4

assert lp.last_time == {} and lp(plain) is not plain and lp.enable_count == 0
wrapped = lp(plain)
assert lp(wrapped) is wrapped and wrapped(1) == 2
plain(1)  # not enabled: not recorded
generator = lp(steps)()
assert next(generator) == 1 and lp.enable_count == 0 and generator.send(7) == 7
assert Grid().size == 3 and Grid.static() == 4 and lp(functools.partial(plain, 5))() == 6
with lp:
    plain(1)

@lp
def now():
    return {code.co_name for code in lp.last_time}

assert now() == {"now"} and lp.last_time == {}
hits = {key[2]: sorted(n for _, n, _ in lines) for key, lines in lp.get_stats().timings.items()}
assert hits == {"plain": [3], "steps": [1, 1], "Grid.size": [1], "Grid.static": [1], "now": [1]}, hits
other = LineProfiler(plain)
assert other.functions == [plain] and other.code_map == {plain.__code__: {}}
lp.dump_stats("own.lprof")
assert load_stats("own.lprof") == lp.get_stats() and type(lp.get_stats()).__module__ == "line_profiler.line_profiler"
out = io.StringIO()
show_func("script.py", 8, "plain", [(9, 3, 5)], 1e-9, stream=out)
assert "return n + 1" in out.getvalue() and "Function: plain at line 8" in out.getvalue()
show_text({}, 1e-6, stream=sys.stdout)
calls = ContextualProfile()
assert calls(plain)(1) == 2 and calls.enable_count == 0
with calls:
    assert calls.enable_count == 1
assert "plain" in str([entry.code for entry in calls.getstats()])
"""


def test_a_line_profiler_of_the_program(tmp_path):
    assert alone(tmp_path, OWN) == "Timer unit: 1e-06 s\n\n"
    if line_profiler := pytest.importorskip("line_profiler"):
        assert type(line_profiler.load_stats(str(tmp_path / "own.lprof"))).__module__.startswith("line_profiler")
