# SPDX-License-Identifier: BSD-3-Clause
"""The level-of-detail index of a large trace, made at the end of a run and of a merge: either it exists, or one line reports why it
does not. The program's exit status stays the same either way. And the viewer's answers when the index or the trace is truncated or
missing."""

import json
import os
import signal
import subprocess
import sys

import pytest
from spartito import _analyse

PROGRAM = """
import sys
def g():
    pass
def f(n):
    for i in range(n):
        g()
f(20000)
sys.exit(3)
"""
# the command line with a lower limit of a large trace, and with code that a test inserts
SPARTITO = """
import os, signal, sys
from spartito.experiments import lod
lod.MIN_EVENTS = 1000
{}
from spartito.cli.main import main
sys.exit(main())
"""
NO_ROOM = """
import resource
real = lod.make
def make(*arguments):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
    real(*arguments)
lod.make = make
"""
KILLED = """
lod.make = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
"""
INTERRUPTED = """
import time
real = lod.make
def ctrl_c():
    os.kill(os.getppid(), signal.SIGINT)
    while True:
        time.sleep(1)  # one that comes just before does not end it
lod.make = lambda model, directory, quiet, wanted: real(model, directory, quiet, ctrl_c)
"""


def spartito(*words, also=""):
    command = [sys.executable, "-c", SPARTITO.format(also), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def measure(tmp_path, *options, also=""):
    program, directory = tmp_path / "program.py", tmp_path / "run"
    program.write_text(PROGRAM, encoding="utf-8")
    done = spartito("run", *options, "-o", directory, "--", sys.executable, program, also=also)
    assert done.returncode == 3, done.stderr
    return directory, done


def left(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("options", [("--trace",), ("--trace", "-q"), ("--trace", "-q", "--compress")])
def test_it_is_there(tmp_path, options):
    directory, done = measure(tmp_path, *options)
    assert left(directory) == ["experiment.json", "lod", "raw"]
    assert "summar" not in done.stderr
    assert ("-q" in options) == (done.stderr == "")
    assert _analyse.Model(str(directory)).sum_up() is False


def test_it_is_left_out(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "--no-finalize")
    assert left(directory) == ["experiment.json", "raw"]
    small = subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", directory], capture_output=True, text=True)
    assert small.returncode == 0 and left(directory) == ["experiment.json", "merged", "raw"]
    for options in (("--force", "--no-index"), ("--force",)):
        done = spartito("finalize", *options, directory)
        assert done.returncode == 0 and "merged 1 process" in done.stdout
        assert ("lod" in left(directory)) == (len(options) == 1)
    assert _analyse.Model(str(directory)).sum_up() is False


def test_a_profile_has_none(tmp_path):
    directory, _ = measure(tmp_path)
    assert left(directory) == ["experiment.json", "raw"]


@pytest.mark.parametrize(
    "also, why",
    [(NO_ROOM, "File too large"), (KILLED, "died of signal 9"), (INTERRUPTED, "interrupted")],
    ids=["room", "killed", "ctrl-c"],
)
def test_what_fails_is_one_line(tmp_path, also, why):
    directory, done = measure(tmp_path, "--trace", "-q", also=also)
    assert left(directory) == ["experiment.json", "raw"]
    assert why in done.stderr and done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"; spartito view {directory} makes them\n")


def test_progress_and_what_it_raises(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "--no-finalize", "-q")
    model, progress = _analyse.Model(str(directory)), []

    def stop(done, total):
        raise LookupError

    with pytest.raises(LookupError):
        model.sum_up(stop)
    # a progress callback that uses the same model fails at once: waiting would be a deadlock
    for keep in (False, True):
        with pytest.raises(RuntimeError, match="its progress callback cannot use it"):
            model.sum_up(lambda done, total: model.view("overview"), keep=keep)
    assert left(directory) == ["experiment.json", "raw"]
    assert model.sum_up(lambda done, total: progress.append((done, total))) is True
    assert progress and all(0 < done <= total for done, total in progress)


def test_files_that_are_cut_while_they_are_read(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "-q")
    model = _analyse.Model(str(directory))
    info = model.info()
    middle = (info["locations"][0]["begin"] + info["locations"][0]["end"]) / 2
    part = {"location": 0, "begin": middle, "end": middle + 1e-5, "pixels": 1000}
    assert model.view("timeline", **part)
    (raw,) = (directory / "raw").iterdir()
    os.truncate(raw, 4096)
    for _ in range(2):
        with pytest.raises(_analyse.Error, match="was cut"):
            model.view("timeline", **part)
    assert model.view("tree") and model.view("regions")
    os.truncate(directory / "lod", 4096)
    with pytest.raises(_analyse.Error, match="was cut"):
        model.view("overview", pixels=3)
    assert model.view("tree")


def test_files_that_are_cut_where_others_look_for_faults(tmp_path):
    """Another SIGBUS handler, faulthandler, is enabled after Spartito's. Truncated files still give an error message in the viewer,
    and faulthandler still reports all other faults, once."""
    directory, _ = measure(tmp_path, "--trace", "-q")
    text = (
        "import faulthandler, mmap, os, sys\n"
        "from spartito import _analyse\n"
        "model = _analyse.Model(sys.argv[1])\n"
        "model.view('overview')\n"
        "faulthandler.enable()\n"
        "os.truncate(sys.argv[1] + '/lod', 4096)\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        model.view('overview', pixels=3)\n"
        "    except _analyse.Error as e:\n"
        "        print('was cut' in str(e), flush=True)\n"
        "with open('other', 'w+b') as f:\n"
        "    f.truncate(4096)\n"
        "    other = mmap.mmap(f.fileno(), 4096)\n"
        "    f.truncate(0)\n"
        "    other[0]\n"
    )
    done = subprocess.run([sys.executable, "-c", text, str(directory)], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.stdout == "True\nTrue\n" and done.returncode == -signal.SIGBUS
    assert done.stderr.count("Fatal Python error: Bus error") == 1


WHILE_CUT = """
import json, os, sys
from spartito import _analyse
model, out, answers = _analyse.Model(sys.argv[1]), sys.argv[2], {}
for name in sys.argv[3:]:
    os.truncate(os.path.join(sys.argv[1], name), 4096)
asked = {"io": model.io, "rows": lambda: model.flat(location=0), "plot": lambda: model.plot("timeline", out + "/plot.svg")}
for name, _, _, _, needs_trace, _, _ in _analyse.writers():
    asked[name] = lambda name=name: model.convert(name, os.path.join(out, name))
for name, ask in asked.items():
    try:
        answers[name] = ask() and ""
    except _analyse.Error as e:
        answers[name] = str(e)
print(json.dumps([answers, model.info()["problems"]]))
"""


def cut(directory, tmp_path, *names):
    """Truncates these files under an open model. Returns the answer to each question, the model's problems and the names of the
    files that were written."""
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run([sys.executable, "-c", WHILE_CUT, directory, out, *names], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return *json.loads(done.stdout), {path.name for path in out.iterdir()}


def test_reports_and_writers_whose_files_are_cut(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "-q", "--io", "--lines", "f", "--no-finalize")
    (raw,) = (directory / "raw").iterdir()
    answers, problems, written = cut(directory, tmp_path, f"raw/{raw.name}")
    reading = {"io", "plot", "otf2", "perfetto", "chrome", "speedscope", "tau", "ppk"}
    for name, text in answers.items():
        assert (f"raw/{raw.name}: a file of the experiment was cut" in text) if name in reading else not text, (name, text)
    assert problems == [] and written == answers.keys() - reading - {"rows"}  # no partial output file remains


def test_a_merged_file_that_is_cut(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "-q", "--lines", "f", "--no-finalize")
    merged = subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", directory], capture_output=True, text=True)
    assert merged.returncode == 0, merged.stderr
    answers, problems, written = cut(directory, tmp_path, "merged")
    assert not any(answers.values()), answers
    assert len(problems) == 1 and problems[0].startswith("merged is damaged"), problems
    assert len(written) == len(answers) - 2


NOT_AGAIN = """
import json, resource, signal, sys
from spartito import _analyse
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model, answers = _analyse.Model(sys.argv[1]), []
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
for _ in range(2):
    try:
        model.view("overview", pixels=3)
    except _analyse.Error as e:
        answers.append(str(e))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
print(json.dumps([answers, model.info()["problems"]]))
"""


def test_what_cannot_be_made_is_tried_once(tmp_path):
    directory, _ = measure(tmp_path, "--trace", "-q", "--no-finalize")
    done = subprocess.run([sys.executable, "-c", NOT_AGAIN, directory], capture_output=True, text=True)
    answers, problems = json.loads(done.stdout)
    assert len(answers) == 2 and answers[0] == answers[1] and "no space to sum up the trace" in answers[0]
    assert problems == [answers[0]]
