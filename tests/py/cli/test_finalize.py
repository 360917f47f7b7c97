# SPDX-License-Identifier: BSD-3-Clause
"""`run --no-finalize` and `spartito finalize`: finalization separate from the run, and names of compiled functions without their
object files."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from commandline import run
from spartito._sample import check
from spartito.analysis import Model
from test_native import LINES, ONLY, compiled, rows
from test_native import SUFFIX as EXTENSION
from test_sample_run import WORK

PROGRAM = """
import subprocess, sys
def g(): pass
def f(n):
    for i in range(n): g()
f(300)
for _ in range({children}):
    subprocess.run([sys.executable, __file__.replace("program", "child")])
sys.exit(3)
"""
CHILD = "def in_child(): pass\nin_child()\n"
SAMPLED = WORK + "def f():\n    rest(0.2)\nf()\n"
LARGE = (
    "import sys\nfrom spartito.experiments import lod\nlod.MIN_EVENTS = 500\nfrom spartito.cli.main import main\n"
    "sys.exit(main())"
)


def collect(spartito, tmp_path, *options, children=0, name="x"):
    (tmp_path / "program.py").write_text(PROGRAM.format(children=children))
    (tmp_path / "child.py").write_text(CHILD)
    words = ["run", "--no-finalize", *options, "-o", name, "--", sys.executable, "program.py"]
    done = run(spartito, *words, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    return tmp_path / name, done


def left(directory):
    return sorted(path.name for path in directory.iterdir())


def known(directory):
    return json.loads((directory / "experiment.json").read_text())


def test_raw_files_alone_and_the_next_command(spartito, tmp_path):
    directory, done = collect(spartito, tmp_path, "--trace", "--compress", "--to", "folded,otf2", children=1)
    assert done.stderr == "spartito: collected 2 processes; next: spartito finalize x\n" and done.stdout == ""
    assert left(directory) == ["experiment.json", "raw"] and left(tmp_path) == ["child.py", "program.py", "x"]
    assert known(directory)["wanted"] == {"compress": True, "to": ["folded", "otf2"], "lines": []}
    quiet, done = collect(spartito, tmp_path, "-q", name="y")
    assert done.stderr == "" and left(quiet) == ["experiment.json", "raw"]


def test_the_setting_has_a_variable(spartito, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARTITO_FINALIZE", "no")
    (tmp_path / "program.py").write_text("def f(): pass\nf()\n")
    done = run(spartito, "run", "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.stderr == "spartito: collected 1 process; next: spartito finalize x\n" and "wanted" in known(tmp_path / "x")


def test_every_verb_opens_what_is_not_finalized(spartito, tmp_path):
    directory, _ = collect(spartito, tmp_path, "--trace")
    graph = ["plot", "--kind", "graph", "-o", tmp_path / "g.svg"]
    for words in (["report"], ["html"], ["convert", "--to", "pstats"], graph):
        done = run(spartito, *words, directory)
        assert (done.returncode, done.stderr) == (0, ""), words
    info = run(spartito, "info", "x", cwd=tmp_path).stdout
    assert "finalized   not yet: spartito finalize x\n" in info
    run(spartito, "finalize", directory)
    assert "finalized" not in run(spartito, "info", directory).stdout


def test_all_that_was_wanted_is_done_once(spartito, tmp_path):
    directory, _ = collect(spartito, tmp_path, "--trace", "--compress", "--to", "folded", children=2)
    before, raw = known(directory), sum(p.stat().st_size for p in (directory / "raw").iterdir())
    done = run(spartito, "finalize", "--to", "otf2", "x", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split(" ")[1] for line in done.stdout.splitlines()] == ["compressed", "merged", "wrote", "wrote"]
    assert "g" in (tmp_path / "x.folded").read_text() and (tmp_path / "x-otf2" / "traces.otf2").exists()
    assert done.stderr.count("waiting  ") == 1 and re.search(r"next: spartito report (tree|waits|findings) x\n$", done.stderr)
    assert left(directory) == ["experiment.json", "merged", "raw"]
    assert sum(p.stat().st_size for p in (directory / "raw").iterdir()) < raw
    del before["wanted"]
    assert known(directory) == before
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = run(spartito, "finalize", "x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "x: finalized before, and nothing has changed since (--force: merge again)\n"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == files


def test_a_large_trace_is_summed_up(tmp_path, spartito):
    directory, _ = collect([sys.executable, "-c", LARGE], tmp_path, "--trace")
    assert left(directory) == ["experiment.json", "raw"]
    done = run([sys.executable, "-c", LARGE], "finalize", "-q", directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert left(directory) == ["experiment.json", "lod", "raw"]


def test_a_format_that_cannot_be_written_stays_wanted(spartito, tmp_path):
    directory, _ = collect(spartito, tmp_path, "--to", "folded,pstats")
    (tmp_path / "x.folded").mkdir()
    done = run(spartito, "finalize", "-q", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "spartito: x: folded: x.folded is a directory; folded writes a file: name it with -o\n"
    assert known(directory)["wanted"]["to"] == ["folded"] and (tmp_path / "x.prof").exists()
    (tmp_path / "x.folded").rmdir()
    assert run(spartito, "finalize", "-q", "x", cwd=tmp_path).returncode == 0
    assert (tmp_path / "x.folded").is_file() and "wanted" not in known(directory)


def test_samples_are_of_the_process_that_they_were_taken_of(spartito, tmp_path):
    (tmp_path / "program.py").write_text(SAMPLED)
    words = ["run", "--sample", "--no-finalize", "--to", "folded", "-o", "x", "--", sys.executable, "program.py"]
    done = run(spartito, *words, cwd=tmp_path)
    assert done.stderr == "spartito: collected 1 process; next: spartito finalize x\n"
    assert len(list((tmp_path / "x" / "raw").iterdir())) == 2
    done = run(spartito, "finalize", "-q", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert left(tmp_path / "x") == ["experiment.json", "raw"] and "__main__:f" in (tmp_path / "x.folded").read_text()
    # a run whose script does not exist leaves no directory, with samples or without
    assert run(spartito, "run", "--sample", "-o", "y", "--", sys.executable, "none.py", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "y").exists()


def test_samples_are_events_in_every_verb(spartito, tmp_path):
    """Formats that need the trace can use samples instead: at the end of a run, in finalize, and in convert."""
    (tmp_path / "program.py").write_text(SAMPLED)
    words = ["--sample", "--to", "chrome", "--", sys.executable, "program.py"]
    done = run(spartito, "run", "-q", "-o", "now", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "now.chrome.json" in os.listdir(tmp_path)
    assert run(spartito, "run", "-q", "--no-finalize", "-o", "later", *words, cwd=tmp_path).returncode == 0
    done = run(spartito, "finalize", "-q", "--to", "perfetto", "later", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    kept = sorted(os.listdir(tmp_path))
    assert run(spartito, "convert", "--to", "chrome,perfetto", "later", cwd=tmp_path).returncode == 0
    assert sorted(os.listdir(tmp_path)) == kept
    # without samples and trace, both commands refuse the format
    run(spartito, "run", "-q", "-o", "profile", "--", sys.executable, "program.py", cwd=tmp_path)
    for words in (["finalize", "-q"], ["convert"]):
        done = run(spartito, *words, "--to", "chrome", "profile", cwd=tmp_path)
        assert done.returncode == 1 and "the format chrome needs the trace" in done.stderr


def test_patterns_of_lines_without_match_are_reported(spartito, tmp_path):
    collect(spartito, tmp_path, "--lines", "f", "--lines", "nothing")
    done = run(spartito, "finalize", "x", cwd=tmp_path)
    assert "--lines 'nothing': no function that ran matches it" in done.stderr and "--lines 'f'" not in done.stderr


def test_bad_input_is_one_line(spartito, tmp_path):
    collect(spartito, tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for words, status, message in [
        ([], 2, "spartito finalize: no experiment given: spartito finalize DIR"),
        ([""], 2, "spartito finalize: the name of the experiment is empty"),
        (["none"], 1, "spartito: none: there is no such experiment"),
        (["file"], 1, "spartito: file is not the directory of an experiment"),
        (["empty"], 1, "spartito: empty: not an experiment: there is no directory raw in it"),
        (["--to", "otf3", "x"], 2, "spartito: unknown format 'otf3'; did you mean otf2?"),
        (["--to", "otf2", "x"], 1, "spartito: x: otf2: the format otf2 needs the trace, which this experiment does not hold"),
    ]:
        done = run(spartito, "finalize", "-q", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    # an error in one experiment does not stop the others
    done = run(spartito, "finalize", "none", "x", cwd=tmp_path)
    assert done.returncode == 1 and "none: there is no such experiment\n" in done.stderr and " running " in done.stderr


def test_not_while_a_process_writes_it(spartito, tmp_path):
    program = "import time\ndef f(): pass\nf()\nprint(flush=True)\ntime.sleep(1000)\n"
    (tmp_path / "program.py").write_text(program)
    words = [*spartito, "run", "--no-finalize", "-q", "-o", "x", "--", sys.executable, "program.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        done = run(spartito, "finalize", "x", cwd=tmp_path)
        p.send_signal(signal.SIGTERM)
    assert done.returncode == 1 and done.stderr.startswith("spartito: x: a process still writes raw/")
    assert done.stderr.endswith(".raw: it can be finalized when the program has ended\n")
    assert run(spartito, "finalize", "x", cwd=tmp_path).returncode == 0


def test_a_launcher_that_is_killed_leaves_what_was_wanted(spartito, tmp_path):
    (tmp_path / "program.py").write_text("def f(): pass\nf()\nprint(flush=True)\ninput()\n")
    words = [*spartito, "run", "--no-finalize", "--to", "folded", "-o", "x", "--", sys.executable, "program.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        p.kill()
    until = time.monotonic() + 200
    while run(spartito, "finalize", "-q", "x", cwd=tmp_path).returncode and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "x.folded").is_file()


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nested")
    compiled(["compile", "cc", "-O2"], "nested.c", "nested" + EXTENSION, directory)
    (directory / "program.py").write_text("import nested\nprint(nested.work(10))\n")
    return directory


@pytest.fixture
def moved(spartito, extension, tmp_path):
    """(experiment whose object file was deleted, the function names before)."""
    for path in extension.iterdir():
        shutil.copy(path, tmp_path)
    done = run(spartito, "run", "-q", "--no-finalize", *ONLY, "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "90\n", "")
    directory = tmp_path / "x"
    assert left(directory) == ["experiment.json", "raw", "symbols"]
    kept = (directory / "symbols").rename(tmp_path / "symbols")
    before = compiled_functions(spartito, directory)
    kept.rename(directory / "symbols")
    (tmp_path / ("nested" + EXTENSION)).unlink()
    return before, directory


def compiled_functions(spartito, directory):
    return sorted((row["name"], row["file"], row["line"]) for row in rows(spartito, directory) if row["kind"] == "native")


def test_compiled_functions_have_their_names_where_the_object_is_not(spartito, moved):
    before, directory = moved
    assert [name for name, _, _ in before] == ["nested:PyInit_nested", "nested:leaf", "nested:middle", "nested:work"]
    assert compiled_functions(spartito, directory) == before
    done = run(spartito, "finalize", "-q", directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert compiled_functions(spartito, directory) == before
    # without the kept symbol table the names are unknown, which is reported
    (directory / "symbols").unlink()
    done = run(spartito, "report", directory)
    assert "no lines of its functions: the file cannot be read any more" in done.stderr
    done = run(spartito, "finalize", directory)
    assert done.returncode == 0 and "4 compiled functions without file and line" in done.stderr
    if LINES:
        assert run(spartito, "report", "--json", directory).stdout.count('nested.c"') == 0


ELSEWHERE = """
hostname elsewhere
mount -t tmpfs none "$1" # where the program, its sources and its libraries were
cd "$2"
ls "$1"
shift 2
exec "$@"
"""


def elsewhere(gone, directory, *words):
    """Runs a command in new namespaces: another host with other processes, which has only the experiment directory."""
    command = ["unshare", "-rmpuf", "sh", "-ec", ELSEWHERE, "sh", gone, directory, sys.executable, "-m", "spartito", *words]
    try:
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, "HOME": "/nowhere"})
    except FileNotFoundError:
        pytest.skip("no unshare here")


@pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")
def test_on_another_machine(spartito, extension, tmp_path):
    """Compiled calls, samples with native frames, lines and memory are shown on another host as on the host of the run."""
    here, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(extension, here)
    there.mkdir()
    (here / "program.py").write_text("import nested\ndef f():\n    return [nested.work(10000) for i in range(150)]\nf()\n")
    options = ["--sample", "--sample-native", "--calls", "--trace", "--memory-profile", "--lines", "f", *ONLY]
    done = run(spartito, "run", "-q", "--no-finalize", *options, "-o", there / "x", "--", sys.executable, "program.py", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    views = (["report", "--json", "--limit", "0"], ["report", "lines"], ["report", "memory"], ["report", "tree"])
    before = [run(spartito, *view, "x", cwd=there).stdout for view in views]
    assert "nested:work" in before[0] and "nested:leaf" in before[0] and "nested.work(10000)" in before[1]
    shutil.copytree(there / "x", there / "y")
    done = elsewhere(here, there, "finalize", "-q", "--to", "folded,otf2", "x")
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "nested:leaf" in (there / "x.folded").read_text() and (there / "x-otf2" / "traces.otf2").exists()
    after = [elsewhere(here, there, *view, "x").stdout for view in views]
    # the report notes that the source is the experiment's copy
    here_gone = f"{here}/program.py is gone; this is its source as it was measured\n"
    assert here_gone in after[1] and after[1].replace(here_gone, "") == before[1]
    assert after[2:] == before[2:] and json.loads(after[0])["rows"] == json.loads(before[0])["rows"]
    # without its symbol table the other host cannot name the functions
    (there / "y" / "symbols").unlink()
    assert json.loads(elsewhere(here, there, *views[0], "y").stdout)["rows"] != json.loads(before[0])["rows"]


def test_another_build_of_the_object_changes_nothing(spartito, moved, tmp_path):
    before, directory = moved
    compiled(["compile", "cc", "-O2"], "nested.c", "nested" + EXTENSION, tmp_path, "-DOTHER", "-Wl,--build-id=0x1234")
    assert compiled_functions(spartito, directory) == before
    done = run(spartito, "finalize", "-q", directory)
    assert (done.returncode, done.stderr) == (0, "") and compiled_functions(spartito, directory) == before


@pytest.mark.parametrize(
    "damage, line",
    [
        (lambda text: text[: len(text) // 2], 4),
        (lambda text: text.replace("end\t4", "end\t5"), 7),
        (lambda text: text.replace("spartito symbols 1", "spartito symbols 2"), 1),
        (lambda text: text.replace("object\t", "object\t\\xzz"), 2),
        (lambda text: text + "\0", None),
        (lambda text: "", 1),
    ],
    ids=["cut", "number", "version", "escape", "more", "empty"],
)
def test_a_damaged_file_of_symbols_is_reported(spartito, moved, damage, line):
    _, directory = moved
    file = directory / "symbols"
    file.write_text(damage(file.read_text()))
    done = run(spartito, "report", "--limit", "0", directory)
    assert done.returncode == (0 if line is None else 4) and "nested:work" in done.stdout
    if line is None:  # nothing after the last line is read
        assert done.stderr == ""
    else:
        assert "symbols: damaged in line " in done.stderr


def test_each_changed_bit_of_symbols_is_reported(moved):
    _, directory = moved
    file = directory / "symbols"
    whole, dice = file.read_bytes(), random.Random(2)
    assert Model(str(directory)).info()["problems"] == []
    for at in range(len(whole)):
        text = bytearray(whole)
        text[at] ^= 1 << dice.randrange(8)
        file.write_bytes(text)
        assert Model(str(directory)).info()["problems"], (at, bytes(text))


def test_any_file_of_symbols_leaves_the_experiment_readable(spartito, moved):
    _, directory = moved
    file = directory / "symbols"
    whole, dice = file.read_bytes(), random.Random(1)
    visits = {row["visits"] for row in Model(str(directory)).flat() if row["kind"] == "native"}
    for _ in range(300):
        text = bytearray(whole)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(text))
            into = dice.choice([b"\t", b"\n", b"\\", b"\0", b"\\x0", b"\xff", b"", text[:40], b"9" * 30])
            text[at : at + dice.randrange(3)] = into
        file.write_bytes(text)
        model = Model(str(directory))
        assert {row["visits"] for row in model.flat() if row["kind"] == "native"} >= visits - {1}
        assert model.info()["problems"] or bytes(text).startswith(b"spartito symbols 1\n")


def test_names_with_tabs_and_backslashes(spartito, extension, tmp_path):
    odd = tmp_path / "a\tb\\x"
    odd.mkdir()
    for path in extension.iterdir():
        shutil.copy(path, odd)
    done = run(spartito, "run", "-q", "--no-finalize", *ONLY, "-o", tmp_path / "x", "--", sys.executable, "program.py", cwd=odd)
    assert done.returncode == 0, done.stderr
    before = compiled_functions(spartito, tmp_path / "x")
    os.rename(odd, tmp_path / "elsewhere")
    done = run(spartito, "report", tmp_path / "x")
    assert done.stderr == "" and compiled_functions(spartito, tmp_path / "x") == before
