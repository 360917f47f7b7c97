# SPDX-License-Identifier: BSD-3-Clause
"""The viewer in a real browser: `spartito view` on an experiment, and a page that shows it."""

import base64
import json
import os
import subprocess
import sys
import urllib.request
import zlib

import browser
import pytest
from commandline import run
from conftest import ROOT
from spartito.analysis import Model
from spartito.view import page as built
from spartito.view import payload

from mpi import Mpi, some_kind

READY = "(() => { const s = window.spartito?.state(); return Boolean(s && s.view && s.view.ready !== false) })()"
# two frames later: the last action may cause new questions, and a picture is drawn in the frame after its view has all answers
SETTLED = f"new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done({READY}))))"
SHIFT = 8  # bit of DevTools' modifiers
# texts that are only partly visible, and a position of the pointer on each
CUT = """(() => {
    const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    while (texts.nextNode()) {
        const node = texts.currentNode, text = node.data.trim();
        if (!text || node.parentElement.closest("script, style, option, .unseen")) continue;
        range.selectNodeContents(node);
        const all = range.getBoundingClientRect(), seen = { left: all.left, right: all.right };
        let scroller = null; // whoever wants to see it there can
        for (let e = node.parentElement; e && !scroller; e = e.parentElement) {
            const { overflowX } = getComputedStyle(e), box = e.getBoundingClientRect();
            if (overflowX === "auto" || overflowX === "scroll") scroller = e;
            if (overflowX === "hidden") [seen.left, seen.right] = [Math.max(seen.left, box.left), Math.min(seen.right, box.right)];
        }
        const x = (seen.left + seen.right) / 2, y = (all.top + all.bottom) / 2, at = document.elementFromPoint(x, y);
        const met = at && at !== scroller && (at.contains(node) || node.parentElement.contains(at));
        if (met && seen.right - seen.left < all.width - 1.5) found.push([text, x, y]);
    }
    return found;
})()"""

needs_viewer = [
    pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium"),
    pytest.mark.skipif(not os.path.exists(os.path.join(built.STATIC, "app.js")), reason="built without the viewer"),
]


def run_of(tmp_path_factory, options=(), **sources):
    """The experiment of a run of program.py. options: of `spartito run`. sources: the text of each module of it by name, among them
    `program`."""
    place = tmp_path_factory.mktemp("run")
    for name, text in sources.items():
        (place / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / "x"


def reported(directory, *words):
    """The JSON of a report."""
    done = run([sys.executable, "-m", "spartito"], "report", *words, "--json", str(directory))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class WithoutPreemption:
    """A model whose rows have the times that a comparison of two runs shows."""

    def __init__(self, directory, **options):
        self.model = Model(str(directory), **options)

    def flat(self):
        return [found["region"] for found in self.callers("*")]

    def tree(self):
        return list(map(self._row, self.model.tree()))

    def callers(self, match):
        return [
            {"region": self._row(found["region"]), **{side: list(map(self._row, found[side])) for side in ("callers", "callees")}}
            for found in self.model.callers(match)
        ]

    @staticmethod
    def _row(row):
        return {**row, "excl": row["running"] + row["waiting"], "incl": row["running_incl"] + row["waiting_incl"]}

    def __getattr__(self, name):
        return getattr(self.model, name)


def ranks_of_heat(tmp_path_factory, against=0):
    """For a fixture: yields the model of examples/heat.py with four ranks, and a viewer of it. With `against`, a run of that many
    ranks is compared; its model is yielded between the two."""
    pytest.importorskip("mpi4py")
    kind = some_kind()
    place = tmp_path_factory.mktemp("heat")
    found = []
    for name, n in (("x", 4), ("base", against)):
        if n == 0:
            continue
        command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", place / name, "--", sys.executable]
        done = Mpi(kind, place).run(n, [*command, ROOT / "examples/heat.py"])
        assert done.returncode == 0, done.stderr
        found.append(Model(str(place / name)))
    options = ["--compare", place / "base"] if against else []
    v = Viewer(place / "x", tmp_path_factory.mktemp("browser"), *options)
    yield (*found, v)
    v.close()


class Viewer:
    """`spartito view` on a directory, and one page."""

    def __init__(self, directory, scratch, *options):
        command = [sys.executable, "-m", "spartito", "view", "--no-browser", *map(str, options), str(directory)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        self.page = browser.Browser(scratch)
        self.size(1280, 800)

    def size(self, width, height):
        self.page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, hash):
        """Opens the page with that selection; returns what its view shows, once it has all answers."""
        self.page.call("Page.navigate", url="about:blank")
        self.page.call("Page.navigate", url=f"{self.url}#{hash}")
        return self.ready()

    def ready(self):
        self.page.wait_for(READY)
        self.page.wait_for(SETTLED)
        return self.view()

    def show(self, view):
        """Shows another view with the same selection; returns what it shows."""
        self.page.evaluate(f"window.spartito.store.select({{ view: {view!r} }})")
        return self.ready()

    def index_of(self, name):
        """The region's number, requested from the server without a page."""
        with urllib.request.urlopen(self.url + "data/regions", timeout=browser.PATIENCE) as answer:
            return payload.unpack(answer.read())[0]["names"].index(name)

    def go(self, step):
        """Goes back (-1) or forward (1) in the history; returns what the view shows."""
        was = self.page.evaluate("location.hash")
        self.page.evaluate(f"history.go({step})")
        self.page.wait_for(f"location.hash !== {was!r}")
        return self.ready()

    def view(self):
        return self.page.evaluate("window.spartito.state().view")

    def selection(self):
        return self.page.evaluate("window.spartito.state().selection")

    def focus(self, selector):
        self.page.evaluate(f"document.querySelector({selector!r}).focus()")

    def key(self, *keys):
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self.page.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.page.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        return self.ready()

    def box(self, selector):
        """x and y of the top left corner of an element."""
        return self.page.evaluate(f"(({{x, y}}) => [x, y])(document.querySelector({selector!r}).getBoundingClientRect())")

    def mouse(self, what, x, y, **more):
        self.page.call("Input.dispatchMouseEvent", type="mouse" + what, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("Pressed", x, y, button="left", clickCount=1)
        self.mouse("Released", x, y, button="left", clickCount=1)
        return self.ready()

    def drag(self, x, y, to_x, to_y, shift=False):
        held = {"modifiers": SHIFT} if shift else {}
        self.mouse("Pressed", x, y, button="left", clickCount=1, **held)
        for part in (0.3, 0.7, 1):
            self.mouse("Moved", x + (to_x - x) * part, y + (to_y - y) * part, button="left", buttons=1, **held)
        self.mouse("Released", to_x, to_y, button="left", clickCount=1, **held)
        return self.ready()

    def cut_texts(self):
        """Texts that are only partly visible, each with its words missing in its tooltip."""
        found = []
        for text, x, y in self.page.evaluate(CUT):
            self.mouse("Moved", x, y)
            tooltip = self.page.evaluate(f"document.elementFromPoint({x}, {y}).closest('[title]')?.title ?? ''")
            found.append((text, [word for word in text.split() if word not in tooltip]))
        self.mouse("Moved", 0, 0)
        return found

    def wheel(self, x, y, dy):
        self.mouse("Wheel", x, y, deltaX=0, deltaY=dy)
        return self.ready()

    def screenshot(self):
        return base64.b64decode(self.page.call("Page.captureScreenshot")["data"])

    def pixels(self, selector="canvas"):
        """The number of colours of a canvas (1 if empty), and a checksum of it."""
        data = self.page.evaluate(f"""(() => {{
            const c = document.querySelector({selector!r}), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const colours = new Set();
            for (let i = 0; i < d.length; i += 4) colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
            return [colours.size, c.toDataURL()];
        }})()""")
        return data[0], zlib.crc32(data[1].encode())

    def close(self):
        self.page.close()
        self.process.terminate()
        self.process.communicate()


def assert_says_how_to_record(directory, view, message):
    """The view, for an experiment without data for it, shows the message how to record them."""
    (directory / "program.py").write_text("def f(): pass\nf()\n")
    done = run([sys.executable, "-m", "spartito"], "run", "-q", "-o", "x", "--", sys.executable, "program.py", cwd=directory)
    assert done.returncode == 0, done.stderr
    (directory / "browser").mkdir()
    v = Viewer(directory / "x", directory / "browser")
    try:
        v.page.call("Page.navigate", url=f"{v.url}#view={view}")
        v.page.wait_for(f"document.body?.innerText.includes({message!r})")
    finally:
        v.close()
