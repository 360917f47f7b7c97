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
from spartito.kernprof.stats import LineStats, load_stats, main
from spartito.say import Refused
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
