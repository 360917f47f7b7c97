# SPDX-License-Identifier: BSD-3-Clause
"""`spartito html`: the file holds the server's answers byte for byte, lists what it leaves out, and is written as a whole or not at
all."""

import base64
import contextlib
import hashlib
import html.parser
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import zlib

import pytest
from spartito.analysis import Model
from spartito.base.messages import Refused
from spartito.view import kinds, onefile, packing, payload
from test_faults_input import one_line

PROGRAM = """
import threading
def leaf(n): return sum(range(n))
def branch(n):
    for i in range(n): leaf(i)
def make(depth):
    exec(f"def f{depth}():\\n leaf(1)\\n" + (f" f{depth - 1}()\\n" if depth else ""), globals())
for i in range(90): make(i)
for i in range(90): globals()[f"f{i}"]()
t = threading.Thread(target=branch, args=(50,))
t.start(); t.join(); branch(100)
"""


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("html")
    (cwd / "prog.py").write_text(PROGRAM)
    measure = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", sys.executable, "prog.py"]
    subprocess.run(measure, cwd=cwd, check=True)
    return cwd


@pytest.fixture
def call(spartito, cwd):
    def call(*words):
        return subprocess.run([*spartito, "html", *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=100)

    return call


class Page(html.parser.HTMLParser):
    """Parses a page: its elements, and the text of its scripts and styles."""

    def __init__(self, path):
        super().__init__()
        self.policy, self.blocks, self.code, self.elements, self.inside = "", {}, {"script": [], "style": []}, [], None
        text = path.read_text(encoding="utf-8")
        self.size = len(text.encode())
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self.inside = (tag, given.get("data-query")) if tag in self.code else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside and self.inside[1]:
            self.blocks[self.inside[1]] = zlib.decompress(base64.b64decode(data))
        elif self.inside:
            self.code[self.inside[0]].append(data)


def test_it_holds_what_the_server_answers(call, cwd):
    done = call("x")
    assert done.returncode == 0 and done.stdout.startswith("wrote x.html (") and not done.stderr
    page, experiment = Page(cwd / "x.html"), kinds.open_experiment(str(cwd / "x"))
    assert {"facts", "regions", "flat", "tree", "balance", "balance?over=threads", "flat?location=1", "tree?location=1"} <= set(
        page.blocks
    )
    for key, data in page.blocks.items():
        kind, _, query = key.partition("?")
        asked = dict(pair.split("=") for pair in query.split("&")) if query else {}
        if kind == "timeline":  # the file holds a finer timeline than the view asks for
            asked["pixels"] = str(int(asked["pixels"]) * packing.FINE)
        if kind != "facts":
            assert data == experiment.get(kind, asked), key
    facts = payload.unpack(page.blocks["facts"])[0]
    assert facts == {**experiment.facts(), "pruned": [], "file": True}
    texts = [payload.unpack(data)[0]["text"] for key, data in page.blocks.items() if key.startswith("source?")]
    assert PROGRAM in texts


def test_compensated(call, cwd):
    assert call("--compensate", "-o", "less.html", "x").returncode == 0
    blocks = Page(cwd / "less.html").blocks
    model = Model(str(cwd / "x"), compensate=True)
    for kind in ("flat", "balance"):
        assert blocks[kind] == model.view(kind) != Model(str(cwd / "x")).view(kind)
    assert payload.unpack(blocks["facts"])[0]["compensated"] is True


def test_it_asks_nothing_of_anyone(call, cwd):
    assert call("x", "-o", "own.html").returncode == 0
    page = Page(cwd / "own.html")
    for tag, given in page.elements:
        assert not {"src", "href", "srcset", "action"} & given.keys() or given == {"rel": "icon", "href": "data:,"}, (tag, given)
    directives = dict(d.strip().split(" ", 1) for d in page.policy.split(";"))
    assert directives["default-src"] == "'none'" and "connect-src" not in directives
    for tag in ("script", "style"):
        digests = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in page.code[tag])
        assert directives[tag + "-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)


def test_without_sources(call, cwd):
    assert call("x", "--no-source", "-o", "bare.html").returncode == 0
    page = Page(cwd / "bare.html")
    assert not [key for key in page.blocks if key.startswith("source")]
    assert not [key for key, data in page.blocks.items() if b"def branch(n)" in data]
    assert payload.unpack(page.blocks["facts"])[0]["has"]["source"] is False


def test_the_size_limit_is_kept_in_a_clear_order_and_reported(call, cwd, monkeypatch):
    experiment = kinds.open_experiment(str(cwd / "x"))
    monkeypatch.setattr(onefile, "inline", lambda name: "code")

    def made(limit):
        text, pruned = onefile.document(experiment, limit, True)
        assert len(text.encode()) <= limit
        (cwd / "b.html").write_text(text, encoding="utf-8")
        blocks = Page(cwd / "b.html").blocks
        assert payload.unpack(blocks["facts"])[0]["pruned"] == pruned
        tree = payload.unpack(blocks["tree"])
        # rows of the tree that summarize omitted paths have their time
        assert sum(tree[1]["excl"]) == pytest.approx(tree[0]["total"])
        levels = {key.count("begin=") for key in blocks if key.startswith("overview")}
        return levels, tree[0]["shown"], sum(key.startswith("source") for key in blocks), pruned

    limit = len(onefile.document(experiment, 1 << 40, True)[0].encode()) + 20_000
    levels, shown, sources, pruned = made(limit)
    assert (levels, pruned) == ({0, 1}, [])
    whole, lacks = (shown, sources), set()
    while True:
        limit = int(limit * 0.8)
        try:
            levels, shown, sources, pruned = made(limit)
        except Refused as e:
            assert "the functions alone take" in str(e) and "raise --max-size" in str(e)
            break
        lack = {"paths": shown < whole[0], "sources": sources < whole[1]}
        titles = {"paths": "call paths", "sources": "source file"}
        for what in ("paths", "sources"):
            assert lack[what] == any(titles[what] in sentence for sentence in pruned), (what, pruned)
        assert any("The timeline is" in sentence for sentence in pruned)
        # more important data is missing only if less important data is missing, too
        assert lack["paths"] or not lack["sources"]
        lacks.add((lack["paths"], lack["sources"]))
    assert lacks == {(False, False), (True, False), (True, True)}
    done = call("x", "--max-size", "0.001", "-o", "never.html")
    one_line(done, "cannot be made within 1.0 KiB")
    assert not (cwd / "never.html").exists()


def test_files_are_replaced_and_directories_never(call, cwd):
    target, link = cwd / "there.html", cwd / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    assert call("x", "-o", "link.html").returncode == 0
    assert link.is_symlink() and "<title>prog.py" in target.read_text(encoding="utf-8")
    (cwd / "folder").mkdir()
    one_line(call("x", "-o", "folder"), "folder is a directory")
    one_line(call("x", "-o", "no/such/folder.html"), "no/such/folder.html: No such file or directory")
    done = call("x", "-o", "/dev/stdout")
    assert done.stdout.startswith("<!doctype html>") and done.stdout.endswith("</html>\n")
    assert not list(cwd.glob("*.part-*"))


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch):
    target = tmp_path / "x.html"
    target.write_text("old")

    def fail(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(Refused, match="No space left on device"):
        onefile.write(str(target), "new")
    assert target.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["x.html"]
    monkeypatch.undo()
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    onefile.write(str(tmp_path / "pipe"), "through")
    reader.join(100)
    assert got == ["through"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_refusals_are_one_sentence(call, cwd, tmp_path):
    one_line(call(tmp_path / "none"), "none: there is no such experiment")
    one_line(call("--max-size", "0", "x"), "--max-size 0")
    one_line(call("--max-size", "x", "x"), "--max-size: 'x' is not a number")
    one_line(call("--compare", tmp_path / "none", "x"), "none: there is no such experiment")
    shutil.copytree(cwd / "x", tmp_path / "cut")
    (raw,) = (tmp_path / "cut" / "raw").glob("*.raw")
    os.truncate(raw, 30)
    one_line(call(tmp_path / "cut"), raw.name)


def test_names_cannot_leave_their_place(tmp_path):
    """Names of programs and functions that contain HTML are escaped."""
    script = tmp_path / "<b>&'x.py"
    script.write_text("exec(compile('def f(): pass\\nf()', '</script><script>alert(1)</script>', 'exec'))\n")
    measure = [sys.executable, "-m", "spartito", "run", "-q", "-o", "x", "--", sys.executable, script.name]
    subprocess.run(measure, cwd=tmp_path, check=True)
    text, _ = onefile.document(kinds.open_experiment(str(tmp_path / "x")), 1 << 30, True)
    (tmp_path / "x.html").write_text(text, encoding="utf-8")
    page = Page(tmp_path / "x.html")
    assert len(page.code["script"]) == 2 and "b" not in [tag for tag, _ in page.elements]
    assert "<title>&lt;b&gt;&amp;&#x27;x.py" in text.replace("&#x27;&#x27;", "&#x27;") or "&lt;b&gt;&amp;" in text


def test_code_within_the_page_ends_where_it_should(monkeypatch):
    monkeypatch.setattr(onefile.page, "asset", lambda name: b"a='</script>';b=/<!--/;c='</SCRIPT'")
    assert onefile.inline("app.js") == "a='<\\/script>';b=/<\\!--/;c='<\\/SCRIPT'"


def test_numbers_are_spelled_as_in_the_page():
    cases = {
        0.0: "0",
        1.0: "1",
        0.1: "0.1",
        1e-6: "0.000001",
        1e-7: "1e-7",
        1.5e-7: "1.5e-7",
        1e21: "1e+21",
        1e20: "1" + "0" * 20,
        941.5: "941.5",
    }
    assert {value: packing.number(value) for value in cases} == cases
    assert not re.search(r"\.0\b", packing.key_of("x", {"begin": packing.number(3.0)}))


def test_a_terminal_sees_what_is_done(cwd, tmp_path):
    command = [sys.executable, "-m", "spartito", "html", "-o", tmp_path / "x.html", cwd / "x"]
    main, other = os.openpty()
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other)
    os.close(other)
    seen = b""
    with contextlib.suppress(OSError):  # reading a terminal fails when its other side is closed
        while part := os.read(main, 4096):
            seen += part
    os.close(main)
    assert done.wait(100) == 0 and b"wrote" in done.stdout.read()
    assert b"making the page" in seen and seen.rstrip(b" ").endswith(b"\r")
    quiet = subprocess.run(command, capture_output=True)
    assert b"making" not in quiet.stdout + quiet.stderr


# Ctrl-C at each progress report while the trace is indexed
INTERRUPTED = """
import signal, sys
from spartito.cli.main import main
from spartito.base import progress
from spartito.experiments import conversion
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs this in the background ignores it
progress.with_bar = lambda title, work: work(lambda done, total: signal.raise_signal(signal.SIGINT))
sys.exit(main(["html", "fresh", "-o", "stopped.html"]))
"""

# an answer that never comes, from a C function that no signal interrupts: it locks the same lock twice
ENDLESS = """
import ctypes, os, sys
from spartito.cli.main import main
from spartito.view import kinds
answer = kinds.Experiment.get
def get(self, kind, parameters):
    if kind == "tree":
        os.write(1, b"asked\\n")  # with no lock, which the end would wait for
        lock = ctypes.create_string_buffer(64)
        while True:
            ctypes.CDLL(None).pthread_mutex_lock(lock)
    return answer(self, kind, parameters)
kinds.Experiment.get = get
sys.exit(main(["html", "fresh", "-o", "stopped.html"]))
"""


@pytest.fixture
def fresh(cwd, tmp_path):
    shutil.copytree(cwd / "x", tmp_path / "fresh", ignore=shutil.ignore_patterns("lod"))
    return tmp_path


def test_interrupted_while_it_sums_up(fresh):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=fresh, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "spartito: interrupted\n")
    assert sorted(os.listdir(fresh / "fresh")) == ["experiment.json", "raw"] and os.listdir(fresh) == ["fresh"]


def test_interrupted_it_waits_for_no_answer(fresh):
    made = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=fresh)
    try:
        assert made.stdout.readline() == "asked\n"
        made.send_signal(signal.SIGINT)
        assert made.communicate(timeout=60) == ("", "spartito: interrupted\n")
    finally:
        made.kill()
    assert made.returncode == 130 and os.listdir(fresh) == ["fresh"]


def test_interrupted_while_it_is_written(tmp_path, monkeypatch):
    def interrupt(*names):
        raise KeyboardInterrupt

    (tmp_path / "page.html").write_text("before")
    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        onefile.write(str(tmp_path / "page.html"), "after")
    assert os.listdir(tmp_path) == ["page.html"] and (tmp_path / "page.html").read_text() == "before"
