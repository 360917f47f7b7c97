# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report lines`: numbers beside the source, line_profiler's text form, JSON, and changed source files."""

import json
import os
import pty
import shutil
import subprocess
import sys

import linedata
import pytest
from spartito._analyse import Model
from spartito.report.lines.source import Sources, block, decoded, extent
from spartito.report.lines.text import MAX_BLANK, UNIT, Timed, function


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return linedata.make(tmp_path_factory.mktemp("lines"))


@pytest.fixture
def run(made, tmp_path):
    """A copy of the experiment; the test may change its source file."""
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def report(run, *words, status=0):
    command = [sys.executable, "-m", "spartito", "report", "lines", *words, run]
    done = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", timeout=200)
    assert done.returncode == status, done.stderr
    return done


def functions(run, *words):
    (part,) = json.loads(report(run, "--json", *words).stdout)["parts"]
    return part["functions"]


def test_functions_by_time_with_all_their_lines(made):
    text = report(made).stdout
    order = [name for name in ("__main__:helper", "__main__:busy", "__main__:Grid.wide  ") if name in text]
    assert [text.index(name) for name in order] == sorted(text.index(name) for name in order) and len(order) == 3
    rows = {row.split()[0]: row for row in text.partition("__main__:busy")[2].splitlines()[2:9]}
    assert list(rows) == ["5", "6", "7", "8", "9", "10", "11"]
    assert rows["8"].split()[1] == "5" and rows["8"].endswith("        total += helper(i)  # größer")
    assert rows["9"].split() == ["9"] and rows["10"].split(None, 1)[1] == "# a comment within"


def test_json_has_own_time_and_callees(made):
    by_name = {f["name"]: f for f in functions(made)}
    model = {f["name"]: f for f in Model(str(made)).lines()}
    assert set(by_name) == set(model)
    for f in by_name.values():
        ran = [(row["line"], row["hits"], row["excl"], row["callees"]) for row in f["lines"] if row["hits"]]
        assert ran == [tuple(line) for line in model[f["name"]]["lines"]]
        assert f["incl"] == pytest.approx(sum(row["incl"] for row in f["lines"]))
        assert sum(row["percent"] for row in f["lines"]) == pytest.approx(100)
        assert [row["line"] for row in f["lines"]] == list(range(f["line"], f["lines"][-1]["line"] + 1))
    assert by_name["__main__:busy"]["lines"][0]["source"] == "def busy(n):"
    assert by_name["__main__:busy"]["remark"] is None


def test_limit_and_match(made):
    assert [f["name"] for f in functions(made, "--limit", "1")] == ["__main__:helper"]
    assert "3 functions with less time not shown (--limit)" in report(made, "--limit", "1").stdout
    assert [f["name"] for f in functions(made, "--match", "*:b*")] == ["__main__:busy"]
    assert [f["name"] for f in functions(made, "--match", "lined:b*")] == ["__main__:busy"]
    assert "'nonsense'" in report(made, "--match", "nonsense", status=1).stderr


def test_processes_and_threads(made):
    assert "__main__:busy" in report(made, "--processes").stdout
    assert "thread MainThread" in report(made, "--threads").stdout
    assert len(functions(made, "--process", "0")) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--depth", "3"], "--depth is not for the report lines"),
        (["--sort", "incl"], "--sort is not for the report lines"),
        (["--compensate"], "--compensate is not for the report lines"),
        (["--plain", "--json"], "--plain and --json exclude each other"),
        (["--plain", "--threads"], "--plain and --threads exclude each other"),
    ],
)
def test_what_does_not_go_together(made, words, message):
    done = report(made, *words, status=2)
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_plain_needs_lines(made, spartito):
    done = subprocess.run([*spartito, "report", "--plain", made], capture_output=True, encoding="utf-8")
    assert done.returncode == 2 and "--plain is not for the report flat; it is for lines" in done.stderr


def test_a_run_without_lines_says_how(tmp_path, spartito):
    (tmp_path / "p.py").write_text("def f(): pass\nf()\n", encoding="utf-8")
    subprocess.run([*spartito, "run", "-q", "-o", "x", "--", "p.py"], cwd=tmp_path, check=True)
    done = report(tmp_path / "x", status=1)
    message = f"spartito: {tmp_path / 'x'}: no lines were recorded; `spartito run --lines PATTERN` records"
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1 and not done.stdout


def theirs(run, path, *words):
    Model(str(run)).convert("lprof", str(path))
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "line_profiler", *words, path]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment, cwd=path.parent).stdout


def test_plain_is_line_profilers_text(made, tmp_path):
    pytest.importorskip("line_profiler")
    assert report(made, "--plain").stdout == theirs(made, tmp_path / "x.lprof")


OTHERS = ["", "def other():\n    pass\n", "x = '''\n" * 3, "   strange\n  indents\n", "\0\n", "lambda: 0\r\n"]


@pytest.mark.parametrize("source", OTHERS)
def test_plain_of_other_source_is_too(made, run, tmp_path, source):
    """The source file was changed after the run: the text equals line_profiler's."""
    pytest.importorskip("line_profiler")
    program = made.parent / "lined.py"
    before = program.read_bytes()
    try:
        program.write_bytes(source.encode())
        assert report(run, "--plain").stdout == theirs(run, tmp_path / "x.lprof")
    finally:
        program.write_bytes(before)


def test_plain_without_source_is_too(tmp_path):
    pytest.importorskip("line_profiler")
    run = linedata.make(tmp_path)
    (tmp_path / "lined.py").unlink()
    done = report(run, "--plain")
    assert done.stdout == theirs(run, tmp_path / "x.lprof")
    assert done.stderr == f"spartito: no source: {tmp_path / 'lined.py'} is gone\n"


def test_other_units_and_a_summary(made, tmp_path):
    pytest.importorskip("line_profiler")
    from spartito.report.lines.source import Sources
    from spartito.report.lines.text import text, timed

    model = Model(str(made))
    for unit in ("1e-09", "0.001", "3.5"):
        lines = text(timed(model.lines()), Sources(str(made), model.info()["end"]), float(unit), True, True)
        assert "".join(line + "\n" for line in lines) == theirs(made, tmp_path / "x.lprof", "-u", unit, "-z", "-m")


def test_changed_source_is_reported(tmp_path):
    run = linedata.make(tmp_path)
    program = tmp_path / "lined.py"
    assert not any(f["remark"] for f in functions(run))
    program.write_text(linedata.SOURCE.replace("a comment within", "another one"), encoding="utf-8")
    os.utime(program, (program.stat().st_mtime + 60,) * 2)
    message = f"{program} was changed after the run: these may not be the lines that ran"
    assert {f["remark"] for f in functions(run)} == {message} and message in report(run).stdout
    program.unlink()
    found = functions(run)
    assert {f["remark"] for f in found} == {f"no source: {program} is gone"}
    # each line that ran has its numbers even without source
    assert all(row["source"] is None for f in found for row in f["lines"])
    assert [row["line"] for row in found[0]["lines"] if row["hits"]] == [15]


def test_kept_source_is_shown_as_it_was(tmp_path):
    run = linedata.make(tmp_path)
    program = tmp_path / "lined.py"
    (run / "source").mkdir()
    (run / "source/lined").write_text(linedata.SOURCE, encoding="utf-8")
    index = run / "source/index.json"
    index.write_text(json.dumps({"files": {str(program): "lined"}}), encoding="utf-8")
    plain = report(run, "--plain").stdout
    assert {f["remark"] for f in functions(run)} == {None}
    program.write_text("nothing\n", encoding="utf-8")
    assert {f["remark"] for f in functions(run)} == {f"{program} has changed since; this is its source as it was measured"}
    done = report(run, "--plain")
    assert done.stdout == plain and done.stderr.count("\n") == 1 and "has changed since" in done.stderr
    program.unlink()
    assert {f["remark"] for f in functions(run)} == {f"{program} is gone; this is its source as it was measured"}
    assert "total += helper(i)" in report(run).stdout
    for damaged in (b"{", b"[]", b'{"files": 1}', b'{"files": {"a": "../../x"}}', b"\xff"):
        index.write_bytes(damaged)
        assert {f["remark"] for f in functions(run)} == {f"no source: {program} is gone"}


def test_hot_lines_are_coloured_in_a_terminal(made):
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "spartito", "report", "lines", "--match", "*:busy", made]
    with subprocess.Popen(command, stdout=child, env=environment):
        os.close(child)
        shown = b""
        while True:
            try:
                data = os.read(parent, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
    os.close(parent)
    lines = shown.decode().splitlines()
    (hot,) = [line for line in lines if "total += helper" in line]
    (cold,) = [line for line in lines if "total = 0" in line]
    assert "\x1b[1;31m" in hot and "\x1b[1;31m" not in cold
    assert "100.0" in hot


def test_lines_of_functions_in_source():
    lines = decoded(linedata.SOURCE.encode())
    assert [line.strip() for line in block(lines, 14)] == ["def helper(i):", "return i * 2"]
    assert [n for n, _ in extent(lines, 5, (), False)] == list(range(5, 12))
    assert extent(lines, 0, (), True)[-1] == (len(lines), "Grid.wide()")
    assert extent(lines, 5, (6, len(lines) + 3), False)[-1] == (len(lines) + 3, "")
    # without source, and of a damaged experiment: the lines that ran
    assert extent([], 3, (5, 3, 4_000_000_000), False) == [(3, ""), (5, ""), (4_000_000_000, "")]
    assert decoded("# coding: latin-1\nü = 'ä'".encode("latin-1")) == ["# coding: latin-1\n", "ü = 'ä'\n"]
    assert decoded(b"\xff\xfe") == []


def test_lines_alone_are_summed_up_without_calls(tmp_path, spartito):
    """With --lines-only, frames that are open in a thread when its lines begin are not added to the profile."""
    text = "import threading\ndef f():\n    pass\nt = threading.Thread(target=f)\nt.start()\nt.join()\n"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    words = ["run", "--lines-only", "--lines", "f", "-o", "x", "--", sys.executable, "program.py"]
    done = subprocess.run([*map(str, [*spartito, *words])], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=200)
    messages = done.stderr.splitlines()
    assert done.returncode == 0 and len(messages) == 3, done.stderr
    assert messages[1].startswith("spartito: program took ") and messages[2] == "next: spartito report lines x"
    command = [*map(str, spartito), "report", "x"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=200).stdout
    assert "no calls were recorded; `spartito report lines` shows the lines\n" in shown


def test_plain_of_a_line_far_outside(tmp_path):
    """A damaged experiment names line 4,000,000,000 of a file that does not exist: no blank rows up to it."""
    f = Timed(str(tmp_path / "missing.py"), 3, "f", [(4, 2, 1000), (4_000_000_000, 1, 5)])
    rows = list(function(f, Sources(str(tmp_path), 0.0), UNIT))
    assert len(rows) < 2 * MAX_BLANK and rows[-2].startswith("4000000000         1")
