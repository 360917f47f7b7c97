# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the viewer's page compared with other viewers: time to the first picture, memory, and time from a user's action to the
next frame.

python bench/pages.py [--quick] [--docs FILE]: these figures alone, with the Python that runs it. Prints the rows of
docs/performance.md and writes the table of docs/viewer.md; make bench does the same."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import chromium
import peers
from chromium import Measured, Never, Page

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BEGIN, END = "<!-- written by make bench -->", "<!-- up to here -->"
READY = "(() => { const s = window.spartito?.state(); return Boolean(s && s.view && s.view.ready !== false) })()"
# functions that call ten others each, so that each one has one call path; the innermost hold memory for memray's page
TREE = """
import sys
n = int(sys.argv[1])
calls = ["; ".join(f"f{k}()" for k in range(10 * i + 1, min(10 * i + 11, n))) for i in range(n)]
text = "\\n".join(f"def f{i}():\\n    {c or 'keep.append(bytearray(600))'}" for i, c in enumerate(calls))
space = {"keep": []}
exec(compile(text, "tree.py", "exec"), space)
space["f0"]()
"""
# threads whose functions call each other at random: about half as many call paths as calls
WIDE = """
import sys, threading
n, space = int(sys.argv[1]), {}
body = "(depth, draw):\\n  for _ in range(draw() % 3 + (depth > 8)):\\n    if depth: F[draw() % 456](depth - 1, draw)\\n"
text = "".join(f"def f{i}{body}" for i in range(456))
exec(compile(text, "wide.py", "exec"), space)
space["F"] = F = [space[f"f{i}"] for i in range(456)]
def work(state):
    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return state >> 33
    for _ in range(n):
        F[draw() % 456](12, draw)
threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
"""
# imports of many packages, and a recursive compiler
REAL = """
import argparse, ast, asyncio, cProfile, csv, decimal, difflib, doctest, email.mime.multipart, http.server, inspect, io, json
import logging.config, os, pdb, pickle, sqlite3, ssl, statistics, tarfile, tempfile, unittest.mock, urllib.request
import xml.dom.minidom, xmlrpc.server, zipfile
import jsonschema, numpy, pip._internal.commands.install, pygments.formatters, pygments.lexers, pytest
import rich.console, rich.markdown, rich.table
from Cython.Compiler import Main, Options
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "m.pyx")
    with open(path, "w") as f:
        f.write("cdef class A:\\n    cdef int x\\n    def f(self, y):\\n        return [self.x + i for i in range(y) if i]\\n")
    Main.compile(path, Options.CompilationOptions(Options.default_options))
with open(ast.__file__) as f:
    ast.unparse(ast.parse(f.read()))
jsonschema.validate([1, {"a": 2}], {"type": "array"})
rich.console.Console(file=io.StringIO()).print(rich.markdown.Markdown("# a\\n* b\\n\\n`c`"))
"""
# turns of the wheel in both directions, then moves
ICICLE = """(i) => LARGEST.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: 300 + 20 * i,
    clientY: 250, deltaY: i < 14 ? -200 : i < 20 ? 200 : 120, shiftKey: i >= 20 }))""".replace("LARGEST", peers.LARGEST)
TIMELINE = """(i) => {
    const c = LARGEST;
    c.focus();
    c.dispatchEvent(i < 20
        ? new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: 300 + 20 * i, clientY: 400,
                                    deltaY: i < 14 ? -200 : 200 })
        : new KeyboardEvent("keydown", { bubbles: true, cancelable: true, key: i % 2 ? "d" : "a" }));
}""".replace("LARGEST", peers.LARGEST)
SEARCH = """(async () => {
    const box = document.querySelector("input[type=search]"), begin = performance.now();
    box.value = "f1";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    while (!document.querySelector(".hits")?.textContent) await new Promise((done) => requestAnimationFrame(done));
    return (performance.now() - begin) / 1e3;
})()"""
PICTURE = f"{peers.LARGEST}.toDataURL()"
MOVES = {"icicle": ICICLE, "timeline": TIMELINE, "flame": TIMELINE}
TURNS, OPENINGS, PATIENCE = 30, 3, 120


def memory_of(pid):
    """MiB that the process holds without mapped files, which the system takes back when it needs memory; and the most that it held
    with them."""
    with open(f"/proc/{pid}/status") as f:
        fields = dict(line.split(":", 1) for line in f)
    return [int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "VmHWM")]


def spartito(bench, directory, views):
    """The slowest opening of each view; the frames of a view with motion."""
    found = Measured("Spartito")
    begin = time.monotonic()
    command = [bench.command, "view", "--no-browser", directory]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    page = None
    try:
        url = server.stdout.readline().strip()
        found.ready = time.monotonic() - begin
        page = Page(PATIENCE)
        for view in views:
            found.opening += [page.open(f"{url}#view={view}", READY) for _ in range(OPENINGS)]
            if view in MOVES:
                before = page.evaluate(PICTURE)
                found.frames += page.frames(TURNS, MOVES[view])
                if page.evaluate(PICTURE) == before:
                    raise Never(f"the {view} does not move")
        found.search = page.evaluate(SEARCH)
        found.server = memory_of(server.pid)
    except (Never, OSError) as e:
        found.why = str(e)
    finally:
        if page:
            found.memory = page.memory()
            page.close()
        server.terminate()
        server.communicate()
    return found


# ---- experiments ----

def profile(bench, work, name, text, *arguments):
    """(experiment, cProfile's profile, arguments of Python) of a program measured by Spartito and by cProfile."""
    script = os.path.join(work, name + ".py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(text)
    directory, prof, program = os.path.join(work, name), os.path.join(work, name + ".prof"), [script, *map(str, arguments)]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": work}
    subprocess.run([bench.command, "run", "-q", "-o", directory, "--", bench.python, *program], **quiet)
    subprocess.run([bench.python, "-m", "cProfile", "-o", prof, *program], **quiet)
    return directory, prof, program


def trace(bench, work, events):
    """An experiment of this many events, with its level-of-detail index, which is made at the end of a run."""
    import figures  # which imports this module

    directory = os.path.join(work, "trace")
    subprocess.run([figures.rawgen(), directory, "200", "0", "1", str(events), "1", "narrow"], check=True)
    figures.ask(bench, "import sys, spartito._analyse as a; a.Model(sys.argv[1]).view('overview', pixels=10); print(0)", directory)
    return directory


def functions(bench, directory):
    import figures  # which imports this module

    return figures.ask(bench, "import sys, spartito._analyse as a; print(len(a.Model(sys.argv[1]).flat()))", directory)


def paths_of(bench, directory):
    import figures  # which imports this module

    return figures.ask(bench, "import sys, spartito._analyse as a; print(a.Model(sys.argv[1]).info()['paths'])", directory)


def measure(bench, work, quick):
    """(what, target of opening in s, of memory in MiB or None, [Spartito, then other viewers])"""
    # a viewer that needs longer is useless
    patience = {"patience": 30} if quick else {}
    for n, target in ((1000, 1), (10000, 2)) if quick else ((10000, 1), (100000, 2)):
        directory, prof, program = profile(bench, work, f"tree{n}", TREE, n)
        found = [spartito(bench, directory, ("summary", "icicle", "table")), peers.snakeviz(bench, prof, **patience)]
        yield f"profile of {n:,} functions", target, None, [*found, peers.memray(bench, work, program, **patience)]
    directory, prof, _ = profile(bench, work, "real", REAL)
    found = [spartito(bench, directory, ("summary", "icicle", "table")), peers.snakeviz(bench, prof, **patience)]
    yield f"profile of a real program, {functions(bench, directory):,} functions and recursion", 1, None, found
    for events, target in ((1000000, 1.5),) if quick else ((10**7, 1.5), (10**8, 3)):
        directory = trace(bench, work, events)
        found = [spartito(bench, directory, ("summary", "timeline", "flame"))]
        if events <= 10**7:
            found += [other(bench, work, directory, **patience) for other in (peers.speedscope, peers.perfetto)]
        shutil.rmtree(directory)
        yield f"trace of {events:,} events", target, 400 if events == 10**8 else None, found
    # a first opening, which merges the call paths and makes the index, and a second one
    directory, script = os.path.join(work, "wide"), os.path.join(work, "wide.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(WIDE)
    program = [bench.python, script, "100" if quick else "4000"]
    subprocess.run([bench.command, "run", "-q", "--trace", "-o", directory, "--", *program], check=True, cwd=work)
    paths = paths_of(bench, directory)
    for name in ("merged", "lod"):  # the end of the run has made them, if there are enough events
        if os.path.exists(os.path.join(directory, name)):
            os.remove(os.path.join(directory, name))
    for which, target in ("first", None), ("second", 3):
        found = [spartito(bench, directory, ("summary", "timeline", "flame"))]
        yield f"trace with {paths:,} call paths, {which} opening", target, 400, found
    shutil.rmtree(directory)


# ---- texts ----

def beside(found, text):
    """The other viewers in parentheses: (SnakeViz 4.5, speedscope not here)."""
    texts = [f"{m.viewer} {text(m) or m.why}" for m in found if text(m) or m.why]
    return f" ({'; '.join(texts)})" if texts else ""


def opened(m):
    return f"{m.slowest():.2f}" if m.opening else ""


def memory(m):
    return f"{m.memory:.0f}" if m.memory else ""


def frames(m):
    return ", ".join(f"{t:.0f}" for t in m.spread()) if m.frames else ""


def searched(m):
    return f"{m.search * 1e3:.0f}" if m.search else ""


def rows_of(what, target, room, found):
    ours, others = found[0], found[1:]
    if ours.why:
        return [(f"page of a {what}", ours.why, f"under {target} s", False)]
    return [
        (f"page of a {what}: s to the first picture, the slowest of {len(ours.opening)}{beside(others, opened)}", opened(ours),
         f"under {target}" if target else "", ours.slowest() < target if target else None),
        (f"the same: MiB of its process{beside([m for m in others if m.memory], memory)}", memory(ours),
         f"under {room}" if room else "", ours.memory < room if room else None),
        (f"the same: ms from a turn of the wheel or a key to the next frame, median, 90 %, most"
         f"{beside([m for m in others if m.frames], frames)}", frames(ours), "at most 50", ours.spread()[2] <= 50),
        (f"the same: ms from a search to its hits{beside([m for m in others if m.search], searched)}", searched(ours), "", None),
        ("the same: s from `spartito view` to the page's address", f"{ours.ready:.2f}", "at most 0.5", ours.ready <= 0.5),
        ("the same: MiB of the server without mapped files, and the most with them",
         ", ".join(f"{n:.0f}" for n in ours.server) if ours.server else "", "", None),
    ]


def bundle(bench):
    code = "import spartito.view.page as p; print(p.STATIC)"
    static = subprocess.run([bench.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    files = [os.path.join(static, name) for name in ("app.js", "app.css")]
    if not all(map(os.path.exists, files)):
        return []
    size = sum(map(os.path.getsize, files)) / 1000
    more = os.path.getsize(os.path.join(static, "more.js")) / 1000
    return [
        ("the viewer's script and style, minified, kB", f"{size:.0f}", "at most 250", size <= 250),
        ("its second script, which some views load, kB", f"{more:.0f}", "at most 175", more <= 175),
    ]


def table(bench, work, measured):
    """Lines of the table of docs/viewer.md."""
    yield "| experiment | viewer | first picture, s | memory, MiB | to the next frame, ms | search, ms |"
    yield "|---|---|---|---|---|---|"
    for what, _, _, found in measured:
        for m in found:
            name = "**Spartito**" if m is found[0] else m.viewer
            cells = [opened(m) or m.why, memory(m), frames(m), searched(m)]
            yield f"| {what if m is found[0] else ''} | {name} | {' | '.join(cells)} |"
    versions = ", ".join(f"{name} {version}" for name, version in peers.version_of(bench, work).items())
    yield ""
    yield f"Measured by `make bench`{', beside ' + versions if versions else ''}."


def put(path, lines):
    """Writes lines between the two marks of a page of the documentation."""
    with open(path, encoding="utf-8") as f:
        before, _, rest = f.read().partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{path} has no place for the table: {BEGIN} … {END}")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([before + BEGIN, *lines, END]) + after)


def collect(bench, work, quick, docs=None):
    """Rows as in figures.py. docs: the page whose table is written; by default that of this repository, unless quick."""
    rows = bundle(bench)
    if not chromium.AVAILABLE:
        return [*rows, ("pages of the viewer: not measured, there is no Chromium", "", "", None)]
    if not rows:
        return [("pages of the viewer: not measured, built without it", "", "", None)]
    place = tempfile.mkdtemp(dir=work)
    measured = []
    for found in measure(bench, place, quick):
        print(f"  {found[0]}", file=sys.stderr, flush=True)
        measured.append(found)
        rows += rows_of(*found)
    if docs or not quick:
        put(docs or os.path.join(ROOT, "docs", "viewer.md"), list(table(bench, place, measured)))
    shutil.rmtree(place, ignore_errors=True)
    return rows


class Here:
    """The Python that runs this, with the interface of Bench in run.py."""

    python = sys.executable
    command = os.path.join(os.path.dirname(sys.executable), "spartito")

    def has(self, module):
        return subprocess.run([self.python, "-c", "import " + module], capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small ones, and docs/viewer.md stays as it is")
    parser.add_argument("--docs", help="the page whose table is written")
    options = parser.parse_args()
    import table as tables

    work = tempfile.mkdtemp(prefix="spartito-bench-")
    try:
        found = collect(Here(), work, options.quick, options.docs)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("\n".join(tables.rows(["figure", "measured", "target", "met"], [[f, m, t, tables.verdict(ok)] for f, m, t, ok in found])))


if __name__ == "__main__":
    main()
