# SPDX-License-Identifier: BSD-3-Clause
"""An experiment may contain anything: no file in it makes a command block, read without end, or believe wrong numbers."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest
from commandline import run
from spartito._analyse import Error, Model, compress
from spartito.base import regular
from spartito.report.lines import source as linesource
from terminal import on_terminal

# the source file of f may be any file
PROGRAM = """
def g(): pass
exec(compile("def f():\\n    for i in range(100): g()\\n", "source.py", "exec"))
f()
"""
COMMANDS = {
    "report": ["report", "x"],
    "lines": ["report", "lines", "x"],
    "info": ["info", "x"],
    "convert": ["convert", "x", "--to", "text", "-o", "out"],
    "html": ["html", "x", "-o", "out.html"],
    "pack": ["pack", "x", "-o", "out.spartito"],
    "finalize": ["finalize", "x"],
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    (directory / "program.py").write_text(PROGRAM)
    spartito = [sys.executable, "-m", "spartito"]
    command = [*spartito, "run", "-q", "--trace", "--lines", "f", "--lines", "g", "-o", "x", "--", sys.executable, "program.py"]
    done = run(command, cwd=directory)
    assert (done.returncode, done.stderr) == (0, "")
    (directory / "x" / "symbols").write_text("spartito symbols 1\nend\t0\n")
    (directory / "x" / "ranks").write_text("")
    return directory


def put(kind, path):
    if path.exists():
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize("name", ["experiment.json", "ranks", "symbols", "source/index.json", "raw/*.raw", "source.py", "kept"])
def test_what_is_no_regular_file_is_not_read(spartito, measured, tmp_path, kind, name):
    shutil.copytree(measured / "x", tmp_path / "x", symlinks=True)
    if name in ("source.py", "kept"):
        index = tmp_path / "x" / "source" / "index.json"
        if name == "source.py":
            index.unlink()
            put(kind, tmp_path / "source.py")
        else:
            put(kind, tmp_path / "x" / "source" / "zero")
            index.write_text(json.dumps({"files": {"source.py": "zero"}}))
    else:
        (path,) = (tmp_path / "x").glob(name)
        put(kind, path)
    for verb, words in COMMANDS.items():
        done = run(spartito, *words, cwd=tmp_path, timeout=60)
        assert "Traceback" not in done.stderr, (verb, done.stderr)
        if name.startswith("raw") and verb != "pack":
            assert "not a regular file" in done.stderr, (verb, done.stderr)
        if name == "experiment.json" and verb == "info":
            assert "experiment.json cannot be read: not a regular file" in done.stdout + done.stderr


def test_content_has_a_limit(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 100)
    assert regular.content(str(path), 100) == b"x" * 100
    with pytest.raises(OSError, match="larger than"):
        regular.content(str(path), 99)
    with pytest.raises(OSError, match="not a regular file"):
        regular.content("/dev/zero", 99)


def test_a_page_holds_no_source_that_only_the_index_has(measured, tmp_path):
    """Otherwise the experiment of another person could place any file of this machine into a page, which is then sent on."""
    shutil.copytree(measured / "x", tmp_path / "x")
    (tmp_path / "secret").write_text("not for others\n")
    index = tmp_path / "x" / "source" / "index.json"
    for kept, readable in (("gone", False), ("there", True)):
        (tmp_path / "x" / "source" / "there").write_text("f = 1\n")
        index.write_text(json.dumps({"files": {str(tmp_path / "secret"): kept}}))
        sources = linesource.Sources(str(tmp_path / "x"), 0)
        assert sources.readable(str(tmp_path / "secret"), 1000) is readable
    assert sources.of(str(tmp_path / "secret")).lines == ["f = 1\n"]


HUGE = "9" * 20
WRONG = [
    (["report", "--limit", HUGE, "x"], 2, "--limit"),
    (["report", "tree", "--depth", "9" * 5000, "x"], 2, "--depth"),
    (["report", "trip-count", "--depth", HUGE, "x"], 2, "--depth"),
    (["plot", "--kind", "graph", "--limit", HUGE, "x", "-o", "g.dot"], 2, "--limit"),
    (["report", "--match", b"x\xff", "x"], 2, "--match: 'x\\udcff' is not UTF-8"),
    (["report", "callers", "--match", b"x\xff", "x"], 2, "--match"),
    (["diff", "--match", b"x\xff", "x", "x"], 2, "--match"),
    (["plot", "--kind", "graph", "--title", b"x\xff", "x", "-o", "g.dot"], 2, "--title"),
    (["plot", "--kind", "flame", "--title", b"x\xff", "x", "-o", "p.svg"], 2, "--title"),
    (["run", "--to", "", "-o", "y", "--", sys.executable, "-c", ""], 2, "--to: the name of a format is empty"),
    (["convert", "x", "--to", "json,"], 2, "--to: the name of a format is empty"),
    (["pack", "empty"], 1, "empty holds no recorded process: nothing is packed"),
]


@pytest.mark.parametrize("words, status, message", WRONG, ids=lambda v: v[0] + v[1][:9] if isinstance(v, list) else "")
def test_what_cannot_be_is_one_line(measured, tmp_path, words, status, message):
    shutil.copytree(measured / "x", tmp_path / "x")
    (tmp_path / "empty" / "raw").mkdir(parents=True)
    shutil.copy(measured / "x" / "experiment.json", tmp_path / "empty")
    command = [sys.executable, "-m", "spartito", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=200)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    assert message in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["empty", "x"]


def test_formats_named_one_by_one_are_all_written(spartito, measured, tmp_path):
    shutil.copytree(measured / "x", tmp_path / "x")
    done = run(spartito, "convert", "x", "--to", "json", "--to", "text", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "x.json").exists() and (tmp_path / "x.txt").exists()


def test_a_directory_that_several_write_is_one_of_theirs(measured, tmp_path):
    shutil.copytree(measured / "x", tmp_path / "x")
    for kind in (["--to", "otf2"], ["--to", "text", "--per-rank"]):
        command = [sys.executable, "-m", "spartito", "convert", "x", *kind, "-o", "out"]
        each = [subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True) for _ in range(4)]
        messages = [p.communicate()[1] for p in each]
        for p, text in zip(each, messages):
            assert p.returncode == 0 or (text.count("\n") == 1 and "out" in text and "exists" in text), text
        assert [p.returncode for p in each].count(0) == 1
        assert sorted(os.listdir(tmp_path)) == ["out", "x"]
        shutil.rmtree(tmp_path / "out")


def status_of(tmp_path, words):
    (tmp_path / "out").unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-m", "spartito", *words], capture_output=True, text=True, cwd=tmp_path, timeout=200)
    assert done.stdout, done.stderr
    return done.returncode, done.stderr


def test_status_of_what_is_damaged_or_lost(spartito, measured, tmp_path):
    """Exit status 4: a result of incomplete data. A killed program's data is complete."""
    killed = "import os, signal\ndef f(): pass\nf()\nos.kill(os.getpid(), signal.SIGKILL)"
    limited = "def f(): pass\nfor i in range(100000): f()"
    for name, options, program in (("killed", [], killed), ("lost", ["--trace-memory", "256K", "--when-full", "stop"], limited)):
        run(spartito, "run", "-q", "--trace", *options, "-o", name, "--", sys.executable, "-c", program, cwd=tmp_path)
    shutil.copytree(measured / "x", tmp_path / "damaged")
    (raw,) = (tmp_path / "damaged").glob("raw/*.raw")
    raw.write_bytes(raw.read_bytes()[:-4096])
    shutil.copytree(measured / "x", tmp_path / "unknown")
    (tmp_path / "unknown" / "experiment.json").write_text("{")
    shutil.copytree(measured / "x", tmp_path / "whole")
    messages = {"whole": "", "killed": "ended by signal 9", "lost": "trace events not recorded", "damaged": "damaged: raw/",
            "unknown": "experiment.json is damaged"}  # fmt: skip
    for name, text in messages.items():
        expected = 0 if name in ("whole", "killed") else 4
        for words in (["report", name], ["report", "--json", name], ["convert", name, "--to", "text", "-o", "out"]):
            status, message = status_of(tmp_path, words)
            assert (status, text in message) == (expected, True), (words, message)


def outcome(directory, tmp_path):
    """(messages of damage, all reports of the experiment), or reports None if it cannot be read."""
    out = tmp_path / "out.json"
    try:
        model = Model(str(directory))
        model.convert("json", str(out))
        model.convert("chrome", str(tmp_path / "events.json"))
    except Error as e:
        return [str(e)], None
    info = model.info()
    problems = info.pop("problems")
    return problems, (out.read_text(), info, model.tree(), model.lines())


def chunks(data):
    """(offset, type, has a checksum) of each chunk of a raw file."""
    at = 4096
    while at < len(data):
        magic, kind, size, words = (int.from_bytes(data[at + i : at + i + n], sys.byteorder) for i, n in FIELDS)
        if magic:
            yield at, kind, bool(words >> 32)
        at += size if magic else 4096


def without_checksum(raw):
    """Offsets of the header and of chunks without a checksum."""
    data = raw.read_bytes()
    found = [] if data[316:320] != bytes(4) else [0]
    return found + [at for at, kind, has_sum in chunks(data) if kind != FREE and not has_sum]


FIELDS, FREE = ((0, 4), (4, 4), (16, 8), (56, 8)), 7  # magic, type, bytes, words of a chunk; then a type
ENDS = {
    "tasks": "import asyncio\nasync def t(): await asyncio.sleep(0)\nasync def main(): await asyncio.gather(t(), t())\n"
    "asyncio.run(main())",
    "killed": "import os\nos.kill(os.getpid(), 9)",
    "child killed": "import os\npid = os.fork()\nif not pid: f(), os.kill(os.getpid(), 9)\nos.waitpid(pid, 0)",
    "exec": "import os\nos.execv('/bin/true', ['true'])",
    "thread left": "import threading\nlock = threading.Lock()\nlock.acquire()\n"
    "threading.Thread(target=lock.acquire, daemon=True).start()",
}


@pytest.mark.parametrize("end", ENDS)
def test_all_has_checksums_however_a_process_ended(spartito, tmp_path, end):
    program = f"def f(): pass\nfor i in range(1000): f()\n{ENDS[end]}\n"
    run(spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "-c", program, cwd=tmp_path)
    raws = sorted((tmp_path / "x" / "raw").glob("*.raw"))
    assert len(raws) == (2 if end == "child killed" else 1)
    assert [without_checksum(raw) for raw in raws] == [[]] * len(raws)
    assert Model(str(tmp_path / "x")).info()["problems"] == []


def test_finalize_gives_checksums(spartito, tmp_path):
    """A process that was killed, and had no launcher, wrote no checksums."""
    program = "import os, spartito\nspartito.start('x', trace=True)\ndef f(): pass\nf()\nos.kill(os.getpid(), 9)"
    assert run([sys.executable], "-c", program, cwd=tmp_path).returncode == -9
    (raw,) = (tmp_path / "x" / "raw").glob("*.raw")
    assert 0 in without_checksum(raw)
    before = raw.stat()
    assert run(spartito, "finalize", "-q", "x", cwd=tmp_path).returncode == 0
    assert without_checksum(raw) == []
    assert (raw.stat().st_mtime_ns, raw.stat().st_size) == (before.st_mtime_ns, before.st_size)


@pytest.mark.parametrize("kind", ["", "compressed", "killed"])
def test_each_changed_bit_is_reported(spartito, measured, tmp_path, kind):
    """Every changed bit is reported, except in fields of the writer and in reserved space."""
    if kind == "killed":
        program = PROGRAM + ENDS["killed"]
        run(spartito, "run", "-q", "--trace", "--lines", "f", "-o", "x", "--", sys.executable, "-c", program, cwd=tmp_path)
        directory = tmp_path / "x"
    else:
        directory = shutil.copytree(measured / "x", tmp_path / "x")
    if kind == "compressed":
        compress(str(directory))
    (raw,) = directory.glob("raw/*.raw")
    whole = raw.read_bytes()
    problems, reports = outcome(directory, tmp_path)
    assert problems == []
    dice = random.Random(17)
    used = [at for at, byte in enumerate(whole) if byte]
    silent = []
    of_children = range(304, 316)  # children may count themselves after the end
    some = [*dice.sample(used, 150), *(at for at in range(0, 320, 5) if at not in of_children), *range(4096, 4160, 3)]
    bits = [(at, dice.randrange(8)) for at in some]
    # all bits of the type and the length of each chunk: a free chunk has no checksum
    bits += [(chunk + i, bit) for chunk, _, _ in chunks(whole) for i in (4, *range(16, 24)) for bit in range(8)]
    for at, bit in bits:
        data = bytearray(whole)
        data[at] ^= 1 << bit
        raw.write_bytes(data)
        new_problems, now = outcome(directory, tmp_path)
        if not new_problems and now != reports:
            silent.append((hex(at), bit))
    assert silent == []


SHOWN = [
    *("report", "report threads", "report processes", "report tree", "report lines", "report lines --plain"),
    *("info", "finalize"),
]
OBEYED = [b"\x1b]0", b"\x1bP", b"\x07", b"\x1b[31mroom", b"\x1b[2J", "\x9b".encode()]


@pytest.mark.parametrize("where", ["pipe", "terminal"])
def test_a_terminal_gets_no_control_characters(spartito, measured, tmp_path, where):
    """Names of functions, files and hosts, and messages, may contain control characters: a terminal must not get them."""
    shutil.copytree(measured / "x", tmp_path / "x")
    (raw,) = (tmp_path / "x").glob("raw/*.raw")
    data = bytearray(raw.read_bytes())
    data[176:178] = b"\x1bP"  # the host's name
    raw.write_bytes(data.replace(b"__main__", b"__\x1b]0n__").replace(b"source.py", b"so\x07rce.py"))
    (tmp_path / "x" / "raw" / "h-1-1.error").write_text("no \x1b[31mroom\x9b1m")
    known = json.loads((tmp_path / "x" / "experiment.json").read_text())
    (tmp_path / "x" / "experiment.json").write_text(json.dumps({**known, "command": ["a\x1b[2Jb", "\x9b2J"]}))
    for command in SHOWN:
        words = [*spartito, *command.split(), "x"]
        if where == "terminal":
            with on_terminal(words, cwd=tmp_path) as (_, terminal):
                output = terminal.rest()
        else:
            done = subprocess.run(words, cwd=tmp_path, capture_output=True)
            output = done.stdout + done.stderr
        assert b"Traceback" not in output and len(output) > 50, command
        assert not any(text in output for text in OBEYED), (command, output)
