# SPDX-License-Identifier: BSD-3-Clause
"""Screenshots of every view, of a run with data for each: none is empty, and each is the same when the view is opened again."""

import shutil
import sys

import pytest
from spartito._sample import check
from test_viewer_frame import take
from viewing import Viewer, needs_viewer

from mpi import KINDS, Mpi

PROGRAM = """
import asyncio
from mpi4py import MPI
comm = MPI.COMM_WORLD
def work(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
async def wait(n):
    work(1000 * n)
    await asyncio.sleep(0.01 * n)
async def several():
    await asyncio.gather(*(wait(n) for n in range(1, 4)))
work(20000 * (comm.rank + 1))
if comm.rank == 0:
    comm.send(b"x" * 1000, 1)
else:
    comm.recv(source=0)
with open(f"out{comm.rank}", "w") as f:
    f.write("y" * 10000)
asyncio.run(several())
comm.Barrier()
"""
# Analyses a screenshot below the page's header: the number of colours, the share of pixels that do not have the most frequent
# colour, a checksum, and how many pixels differ from the previous screenshot of that name, if there is one.
LOOK = """new Promise((done, failed) => {
    const image = new Image();
    image.onerror = () => failed(new Error("no picture"));
    image.onload = () => {
        const c = document.createElement("canvas"), top = Math.ceil(document.querySelector("main").getBoundingClientRect().top);
        c.width = image.width;
        c.height = image.height - top;
        const pen = c.getContext("2d", { willReadFrequently: true });
        pen.drawImage(image, 0, -top);
        const all = new Uint32Array(pen.getImageData(0, 0, c.width, c.height).data.buffer), seen = new Map();
        const before = (window.lookedAt ??= {})[NAME];
        let sum = 0, differ = before && before.length !== all.length ? all.length : 0;
        for (let i = 0, from = 0; i < all.length; i++) {
            sum = (Math.imul(sum, 31) + all[i]) | 0;
            if (before && before[i] !== all[i]) differ++;
            if (all[i + 1] === all[i]) continue;
            seen.set(all[i], (seen.get(all[i]) ?? 0) + i + 1 - from); // once for all neighbours that are alike
            from = i + 1;
        }
        window.lookedAt[NAME] = all;
        done([seen.size, 1 - Math.max(...seen.values()) / all.length, sum, differ]);
    };
    image.src = "data:image/png;base64,PICTURE";
})"""
# what the summary shows after its first picture has come
LATER = "(({ findings, own }) => findings !== null && own !== null)(window.spartito.state().view)"
CORNERS = 300  # pixels: the antialiasing of round corners depends on the previous picture
SAMPLED = check() is None
METRIC = "rusage:ru_minflt"
SCREENS = (("dark", 1920, 1080), ("light", 1280, 800))  # views are opened twice at the smaller size

pytestmark = needs_viewer


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    pytest.importorskip("mpi4py")
    kind = next((k for k in KINDS if shutil.which(f"mpiexec.{k}")), None)
    if kind is None:
        pytest.skip("no mpiexec is installed")
    place = tmp_path_factory.mktemp("all")
    (place / "prog.py").write_text(PROGRAM)
    kinds = [
        "--trace",
        "--io",
        "--lines",
        "work",
        "--metric",
        METRIC,
        "--memory-profile",
        "--waits",
        *(["--sample"] if SAMPLED else []),
    ]
    command = [sys.executable, "-m", "spartito", "run", "-q", *kinds, "-o", place / "x", "--"]
    done = Mpi(kind, place).run(2, [*command, sys.executable, "prog.py"])
    assert done.returncode == 0, done.stderr
    v = Viewer(place / "x", tmp_path_factory.mktemp("browser"))
    v.open("")
    yield v
    v.close()


def shown(viewer, selection):
    """Shows the selection in the page that is already open."""
    viewer.page.evaluate(f"void (location.hash = {selection!r})")
    viewer.ready()
    viewer.page.wait_for(LATER)


def look(viewer, name="any"):
    data = viewer.page.call("Page.captureScreenshot")["data"]
    return viewer.page.evaluate(LOOK.replace("NAME", repr(name)).replace("PICTURE", data))


def is_empty(found):
    """A line of text on an empty page has about 20 shades and takes a thousandth of the area."""
    return found[0] < 25 or found[1] < 0.005


def views_of(viewer):
    return [view for view in viewer.page.evaluate("window.spartito.views") if SAMPLED or view != "states"]


def test_each_view_is_there_and_stays_as_it_is(viewer):
    views = views_of(viewer)
    assert len(views) >= 16, views
    work = viewer.index_of("__main__:work")

    def one(view, theme):
        """callers and source show one function"""
        shown(viewer, f"view={view}&theme={theme}" + (f"&region={work}" if view in ("callers", "source") else ""))
        return look(viewer, view + theme)

    sums = set()
    for theme, width, height in SCREENS:
        viewer.size(width, height)
        for view in views:
            found = one(view, theme)
            assert not is_empty(found), (view, theme, found)
            sums.add(found[2])
            assert viewer.page.evaluate("document.documentElement.scrollWidth") <= width, view
    assert len(sums) == len(SCREENS) * len(views)  # all screenshots differ
    for view in reversed(views):
        assert one(view, theme)[3] <= CORNERS, view
    assert viewer.page.exceptions() == []


# The part of a canvas' pixels that differ from those of the saved SVG, drawn by the browser; and the texts in it.
SVG = """new Promise((done, failed) => {
    const file = new TextDecoder().decode(Uint8Array.from(atob(window.taken.data.split(",")[1]), (c) => c.charCodeAt(0)));
    const parsed = new DOMParser().parseFromString(file, "image/svg+xml");
    const image = new Image();
    image.onerror = () => failed(new Error("no picture"));
    image.onload = () => {
        const from = [...document.querySelectorAll("#view canvas")].sort((a, b) => b.width * b.height - a.width * a.height)[0];
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [from.width, from.height];
        copy.getContext("2d").drawImage(image, 0, 0);
        const [a, b] = [from, copy].map((c) => c.getContext("2d").getImageData(0, 0, from.width, from.height).data);
        let differ = 0;
        for (let i = 0; i < a.length; i += 4) if ([0, 1, 2].some((k) => Math.abs(a[i + k] - b[i + k]) > 64)) differ++;
        const texts = [...parsed.querySelectorAll("text")].map((t) => t.textContent);
        done([differ / (a.length / 4), texts, parsed.querySelector("parsererror") === null]);
    };
    image.src = window.taken.data;
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_as_svg_is_that_of_the_canvas(viewer, theme):
    for view in ("icicle", "sunburst", "graph", "timeline", "matrix", "metrics"):
        viewer.open(f"view={view}&theme={theme}")
        taken, said, _ = take(viewer, "Save the picture (SVG)")
        assert said == "The picture is saved." and taken["name"] == f"prog.py-{view}.svg"
        differ, texts, valid = viewer.page.evaluate(SVG)
        assert valid and texts and differ < 0.05, (view, differ, texts)
    assert viewer.page.exceptions() == []


def test_an_empty_picture_is_found(viewer):
    viewer.size(1280, 800)
    shown(viewer, "view=icicle&theme=light")
    assert not is_empty(look(viewer))
    viewer.page.evaluate("document.querySelector('main').style.visibility = 'hidden'")
    assert is_empty(look(viewer))
    viewer.page.evaluate("document.querySelector('main').style.visibility = ''")
    viewer.page.evaluate("document.querySelector('main').innerHTML = '<p>There is nothing to show: measure with --trace</p>'")
    assert is_empty(look(viewer))
    changed = look(viewer, "other")
    viewer.page.evaluate("document.querySelector('main').innerHTML = '<h1>Something else</h1>'")
    assert changed[3] == 0 and look(viewer, "other")[3] > CORNERS
