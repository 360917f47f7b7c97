# SPDX-License-Identifier: BSD-3-Clause
"""`compress` and `run --compress`: the experiment becomes much smaller, and every report of it stays the same."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
import written
from commandline import run
from spartito import _analyse

PROGRAM = """
import os, sys
class Cell:
    def __init__(self, x):
        self.x = x
    def get(self):
        return self.x
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def steps(n):
    for i in range(n):
        yield i
def main():
    for _ in range(3):
        fib(16)
        sum(Cell(i).get() for i in steps(5000))
    if len(sys.argv) > 1:
        os.kill(os.getpid(), 9)
main()
"""


def measure(directory, *options, arguments=()):
    program = directory / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    target = directory / "run"
    command = [sys.executable, "-m", "spartito", "run", *options, "-o", target, "--", sys.executable, program, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    return target, done


def raw_bytes(directory):
    return sum(path.stat().st_size for path in (directory / "raw").iterdir())


def shown(directory, tmp_path):
    """All that is read from an experiment, except its directory and size."""
    model = _analyse.Model(str(directory))
    info = model.info()
    for key in ("dir", "bytes"):
        del info[key]
    lines = model.lines()
    found = [info, model.tree(), model.flat(), model.callers("*"), lines]
    for name, _, _, _, needs_trace, is_directory, _ in _analyse.writers():
        if (needs_trace and not info["traced"]) or (name == "lprof" and not lines):
            continue
        path = tmp_path / "out"
        model.convert(name, str(path))
        if (path / "traces.otf2").exists():
            found.append(written.run("otf2-print", path / "traces.otf2"))
        elif is_directory:
            found += [(p.name, p.read_bytes()) for p in sorted(path.rglob("*")) if p.is_file()]
        if is_directory:
            shutil.rmtree(path)
        else:
            found.append(path.read_bytes().replace(str(directory).encode(), b"DIR"))
            path.unlink()
    return found


def test_same_and_small(tmp_path):
    directory, done = measure(tmp_path, "-q", "--trace")
    assert done.returncode == 0, done.stdout
    kept = tmp_path / "kept"
    shutil.copytree(directory, kept)
    before = shown(directory, tmp_path)
    sizes = _analyse.compress(str(directory))
    assert sizes == (raw_bytes(kept), raw_bytes(directory))
    events = _analyse.Model(str(directory)).info()["events"]
    assert events > 60_000
    assert raw_bytes(directory) < 4 * events < raw_bytes(kept)
    assert shown(directory, tmp_path) == before
    assert _analyse.compress(str(directory)) == (sizes[1], sizes[1])


def test_profile_becomes_no_larger(tmp_path):
    directory, _ = measure(tmp_path, "-q")
    before = shown(directory, tmp_path)
    old, new = _analyse.compress(str(directory))
    assert new <= old and shown(directory, tmp_path) == before


def test_killed_program(tmp_path):
    directory, done = measure(tmp_path, "-q", "--trace", arguments=["kill"])
    assert done.returncode == -signal.SIGKILL
    before = shown(directory, tmp_path)
    old, new = _analyse.compress(str(directory))
    assert new < old / 2 and shown(directory, tmp_path) == before


def test_at_the_end_of_a_run(tmp_path):
    directory, done = measure(tmp_path, "--trace", "--compress", "--to", "otf2")
    assert done.returncode == 0 and "__main__:fib" in done.stdout and "wrote" in done.stdout
    info = _analyse.Model(str(directory)).info()
    assert raw_bytes(directory) < 4 * info["events"]
    assert _analyse.compress(str(directory))[0] == raw_bytes(directory)


def test_setting(spartito, tmp_path):
    done = run(spartito, "config", cwd=tmp_path, env={**os.environ, "SPARTITO_COMPRESS": "yes"})
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("compress")]
    assert "SPARTITO_COMPRESS" in line


def test_command(spartito, tmp_path):
    directory, _ = measure(tmp_path, "-q", "--trace")
    done = run(spartito, "finalize", "--compress", directory)
    assert done.returncode == 0 and ": compressed " in done.stdout
    done = run(spartito, "finalize", "--compress", directory)
    assert done.returncode == 0 and "nothing has changed since" in done.stdout


def refused(spartito, *operands):
    done = run(spartito, "finalize", "--compress", *operands)
    assert done.returncode != 0 and done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr


def test_running_process_is_refused(spartito, tmp_path):
    code = "import sys, time\ndef f(): pass\nf()\nprint('ready', flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", tmp_path / "run", "--", sys.executable]
    with subprocess.Popen([*command, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        before = raw_bytes(tmp_path / "run")
        assert "a process still writes" in refused(spartito, tmp_path / "run")
        assert raw_bytes(tmp_path / "run") == before
        # the experiment can be read while the process writes
        assert "f" in {row["qualname"] for row in _analyse.Model(str(tmp_path / "run")).flat()}
    assert run(spartito, "finalize", "--compress", tmp_path / "run").returncode == 0


# a process that ends shortly after the program, as helpers of multiprocessing do
HELPER = """
import subprocess, sys
code = "import sys, time\\ndef f(): pass\\nf()\\nprint(flush=True)\\nsys.stdin.read()\\ntime.sleep(0.2)"
helper = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
helper.stdout.readline()
helper.returncode = 0  # nobody waits for it
"""


def test_helpers_may_end_first(tmp_path):
    patient = (
        "from spartito.cli.main import main\nfrom spartito.run import ending\n"
        "ending.CHILD_TIMEOUT = 60\nsys.exit(main(sys.argv[1:]))"
    )
    words = ("run", "-q", "--trace", "--compress", "-o", "x", "--", sys.executable, "-c", HELPER)
    done = run([sys.executable, "-c", "import sys\n" + patient], *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [p["end"] for p in _analyse.Model(str(tmp_path / "x")).info()["processes"]] == ["normal", "normal"]


def test_damage_stays_and_the_rest_is_done(spartito, tmp_path):
    directory, _ = measure(tmp_path, "-q", "--trace")
    (good,) = (directory / "raw").iterdir()
    bad = directory / "raw" / "damaged-1-1.raw"
    bad.write_bytes(good.read_bytes()[:-4096])
    damaged, size = bad.read_bytes(), good.stat().st_size
    text = refused(spartito, directory)
    assert "damaged-1-1.raw at 0x" in text and "left as it is" in text
    assert bad.read_bytes() == damaged and good.stat().st_size < size
    assert len(list((directory / "raw").iterdir())) == 2


def test_bad_operands(spartito, tmp_path):
    assert "no experiment" in refused(spartito)
    assert "no such experiment" in refused(spartito, tmp_path / "none")
    assert "not an experiment" in refused(spartito, tmp_path)
    (tmp_path / "raw").mkdir()
    assert "no process was measured" in refused(spartito, tmp_path)


def test_cancelled(tmp_path):
    directory, _ = measure(tmp_path, "-q", "--trace")
    before = raw_bytes(directory)

    def progress(done, total):
        assert 0 <= done <= total
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _analyse.compress(str(directory), progress)
    assert raw_bytes(directory) == before and len(list((directory / "raw").iterdir())) == 1
