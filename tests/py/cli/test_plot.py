# SPDX-License-Identifier: BSD-3-Clause
"""`spartito plot`: numbers in the SVG equal the model's, its texts fit in a browser, and its size is bounded."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import browser
import pytest
import written
from commandline import run
from conftest import ROOT
from spartito._analyse import Model
from spartito.picture import pixels

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("flame", "icicle", "sunburst", "balance", "timeline")
TREES = KINDS[:3]
MARGIN = 12
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
ODD = 'a "b" \\N {x|y} <c> & &amp; \u00fc \U0001f3bc \ufffe'
PHASES = """
import threading, time
def load(): time.sleep(0.3)
def solve(): time.sleep(0.2)
def wait(): time.sleep(0.4), sum(range(5_000_000))
t = threading.Thread(target=wait, name="helper")
t.start(); load(); solve(); t.join()
"""
# the functions of each module take some time
MODULES = ["", "builtins", "MPI", "__main__", "numpy", "numpy.linalg", "json.decoder", "a.b.c", "gr\u00f6\u00dfe.x", "\U0001f3bc.m",
           "x", *(f"package{i}.module{j}" for i in range(6) for j in range(3))]  # fmt: skip
GOLDEN = ROOT / "tests" / "golden" / "module_colours.json"


def time_of(text):
    number, unit = text.replace(",", "").split(" ")
    return float(number) * UNITS[unit]


def near(seconds):
    return pytest.approx(seconds, rel=2e-3, abs=1e-9)


@functools.cache
def phases():
    place = written.scratch() / "phases"
    place.mkdir()
    (place / "prog.py").write_text(PHASES)
    command = [
        sys.executable,
        "-m",
        "spartito",
        "run",
        "-q",
        "--trace",
        "-o",
        place / "exp",
        "--",
        sys.executable,
        place / "prog.py",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Model(str(place / "exp"))


def drawn(tmp_path, kind, model=None, **how):
    """([(lines of the tooltip, group)] of the parts, the picture, the result of plot())."""
    path = tmp_path / f"{kind}.svg"
    done = (model or written.model("--trace")).plot(kind, str(path), **how)
    picture = ET.parse(path).getroot()
    return [(g.find(SVG + "title").text.split("\n"), g) for g in picture.iter(SVG + "g")], picture, done


def rectangle(group):
    return {k: float(group.find(SVG + "rect").get(k)) for k in ("x", "y", "width", "height")}


@pytest.mark.parametrize("kind", ["flame", "icicle"])
def test_boxes_are_the_call_tree(tmp_path, kind):
    model = written.model("--trace")
    groups, _, done = drawn(tmp_path, kind)
    rows = model.tree()
    assert done["drawn"] + done["hidden"] == len(rows)
    total = sum(row["incl"] for row in rows if row["depth"] == 0)
    paths = {}
    for row in rows:
        if row["incl"] * 1176 / total > 3.5:
            paths.setdefault(row["name"], []).append(row["incl"])
    seen = {}
    for lines, group in groups:
        if len(lines) == 1:
            assert re.match(r"\d+ calls that are too small to be drawn by themselves: ", lines[0])
            continue
        time, share, own, calls = re.match(r"total (.*?) \((.*?) %\), self (.*?), (\d+) calls?$", lines[1]).groups()
        assert rectangle(group)["width"] == pytest.approx(1176 * time_of(time) / total, rel=2e-3, abs=0.02)
        assert float(share) == pytest.approx(100 * time_of(time) / total, rel=2e-3, abs=0.006)
        assert time_of(own) <= time_of(time) * 1.001 and int(calls) >= 0
        seen.setdefault(lines[0].split(" [")[0], []).append(time_of(time))
    for name, times in paths.items():
        assert len(seen[name]) >= len(times)
        assert sorted(seen[name], reverse=True)[: len(times)] == [near(t) for t in sorted(times, reverse=True)], name


@pytest.mark.parametrize("kind", ["flame", "icicle"])
def test_callees_lie_within_their_callers(tmp_path, kind):
    groups, _, _ = drawn(tmp_path, kind)
    boxes = [rectangle(g) for _, g in groups]
    rows = sorted({b["y"] for b in boxes}, reverse=kind == "flame")
    for box in boxes:
        row = rows.index(box["y"])
        assert row == 0 or any(
            up["y"] == rows[row - 1] and up["x"] <= box["x"] + 0.02 and box["x"] + box["width"] <= up["x"] + up["width"] + 0.02
            for up in boxes
        )


def test_a_wide_and_deep_program_has_a_bounded_picture(spartito, tmp_path):
    code = "import sys; sys.setrecursionlimit(9000)\n" + "".join(f"def f{i}(): pass\n" for i in range(3000))
    code += (
        "def deep(n): return n and deep(n - 1)\ndef all():\n" + "".join(f"    f{i}()\n" for i in range(3000)) + "deep(3000); all()"
    )
    (tmp_path / "many.py").write_text(code)
    done = run(spartito, "run", "-q", "-o", "exp", "--", sys.executable, "many.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = Model(str(tmp_path / "exp"))
    for kind in TREES:
        groups, picture, done = drawn(tmp_path, kind, model)
        assert done["hidden"] > 3000 and len(groups) < 3000
        assert (tmp_path / f"{kind}.svg").stat().st_size < 2e6 and float(picture.get("height")) < 1000
        assert done["drawn"] + done["hidden"] == len(model.tree())
        # a box without callees' boxes notes this, or one box represents all of them
        assert any("not drawn" in lines[-1] or "too small" in lines[0] for lines, _ in groups)


def test_match_shows_what_is_below(tmp_path):
    groups, _, _ = drawn(tmp_path, "icicle", match="__main__:caught")
    # its callee may take nearly all of its time
    highest = min(rectangle(g)["y"] for _, g in groups)
    (top,) = [(lines, rectangle(g)) for lines, g in groups if rectangle(g)["y"] == highest]
    assert top[0][0] == "__main__:caught" and top[1]["x"] == MARGIN and top[1]["width"] > 1170
    with pytest.raises(Exception, match="no recorded function matches 'nobody'"):
        drawn(tmp_path, "icicle", match="nobody")


def test_sunburst_has_the_total_in_its_middle(tmp_path):
    groups, picture, done = drawn(tmp_path, "sunburst", phases())
    total = sum(row["incl"] for row in phases().tree() if row["depth"] == 0)
    assert any(time_of(t.text) == near(total) for t in picture.iter(SVG + "text") if re.fullmatch(r"[\d.]+ \S+", t.text))
    assert done["drawn"] == sum(len(lines) > 1 for lines, _ in groups) > 3
    assert all(g.find(SVG + "path").get("d").startswith("M") for _, g in groups)


def test_balance_is_that_of_the_model(tmp_path):
    model = written.model("--trace")  # two threads
    groups, picture, done = drawn(tmp_path, "balance")
    found = model.balance(by="region", time="running", over="threads")
    rows = {row["name"]: row["running"] for row in found["rows"]}
    names = [loc["name"] for loc in model.info()["locations"]]
    assert done == {"drawn": 9, "hidden": len(rows) - 9}
    lines = {}
    for text in picture.iter(SVG + "text"):
        lines.setdefault(text.get("y"), []).append(text.text)
    table = {cells[0]: cells[1:] for cells in lines.values() if len(cells) == 5 and cells[0] != "mean"}
    best = rows.keys() & table.keys()  # with equal times any of them may be in the table
    assert min(rows[name]["mean"] for name in best) == sorted(x["mean"] for x in rows.values())[-9] and len(best) == 9
    for name in best:
        mean, least, most, imbalance = table[name]
        x = rows[name]
        assert time_of(mean) == near(x["mean"]) and float(imbalance.split()[0]) == pytest.approx(x["percent"], abs=0.051)
        for text, key in ((least, "min"), (most, "max")):
            time, unit = text.split(" on ")
            assert time_of(time) == near(x[key]) and unit == names[found["units"][x[key + "_unit"]]]
    busy = [loc["running"] for loc in model.info()["locations"]]
    assert time_of(table["all"][0]) == near(sum(busy) / 2) and time_of(table["all"][2].split(" on ")[0]) == near(max(busy))
    assert all(tip[0] in names for tip, _ in groups)


def test_timeline_shows_when(tmp_path):
    model = phases()
    groups, picture, done = drawn(tmp_path, "timeline", model)
    assert done == {"drawn": 2, "hidden": 0}
    rows = sorted({rectangle(g)["y"] for _, g in groups})
    # left of the rows; the last number of the scale ends at the right
    names = [t.text for t in picture.iter(SVG + "text") if t.get("text-anchor") == "end" and float(t.get("x")) < 190]
    assert names == ["MainThread", "helper"] and len(rows) == 2
    info = model.info()
    begin, end = 0, info["end"] - info["begin"]  # the whole run, as in the viewer
    column = (end - begin) / ((1200 - 190 - MARGIN) // 2)
    flat = {row["qualname"]: row["incl"] for row in model.flat() if row["kind"] == "python"}
    for name, row in (("load", 0), ("solve", 0), ("wait", 1)):
        times = [
            [time_of(t) for t in re.match(r"(.*?) to (.*?);", tip[1]).groups()]
            for tip, g in groups
            if tip[0] == f"__main__:{name}" and rectangle(g)["y"] == rows[row]
        ]
        assert sum(b - a for a, b in times) == pytest.approx(flat[name], abs=3 * column + 2e-3)
        x = min(rectangle(g)["x"] for tip, g in groups if tip[0] == f"__main__:{name}")
        assert x == pytest.approx(190 + (times[0][0] - begin) / (end - begin) * 998, abs=3)


def test_a_height_is_kept_and_says_what_is_missing(tmp_path):
    for kind in KINDS:
        _, picture, done = drawn(tmp_path, kind, width=700, height=420, title="A title")
        assert (picture.get("width"), picture.get("height")) == ("700", "420")
        assert picture.find(SVG + "title").text == "A title" and done["drawn"] > 0
    _, picture, done = drawn(tmp_path, "timeline", phases(), height=130)
    assert done == {"drawn": 1, "hidden": 1}
    texts = [t.text for t in picture.iter(SVG + "text")]
    # the main thread takes as long, but only waits
    assert "helper" in texts and "MainThread" not in texts and "1 more thread with less time not shown" in texts


def test_names_of_any_characters(spartito, tmp_path):
    code = f"import spartito as u, time\nwith u.region({ODD!r}):\n    with u.region('x' * 30000): time.sleep(0.1)"
    done = run(spartito, "run", "-q", "--trace", "-o", "exp", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for kind in ("flame", "icicle", "sunburst", "timeline"):
        done = run(spartito, "plot", "exp", "--kind", kind, "-o", f"{kind}.svg", "--title", ODD, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        picture = ET.parse(tmp_path / f"{kind}.svg").getroot()
        assert picture.find(SVG + "title").text == ODD.replace("\ufffe", "?")
        tips = [g.find(SVG + "title").text for g in picture.iter(SVG + "g")]
        assert any("x…x" in tip for tip in tips)


def test_colours_are_the_viewers(tmp_path, spartito):
    """viewer/test/colours.test.ts compares the same golden file with viewer/src/draw/colour.ts."""
    code = f"import time\nfor name in {MODULES!r}:\n    space = {{'__name__': name, 'sleep': time.sleep}}\n"
    code += "    exec('def f(): sleep(0.002)', space)\n    space['f']()\n"
    done = run(spartito, "run", "-q", "-o", "exp", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model, found = Model(str(tmp_path / "exp")), {}
    for theme in ("light", "dark"):
        found[theme] = {}
        for module in MODULES:
            # one picture for each module, so that none is too small to be drawn
            name = f"{module}:f" if module else "f"
            groups, _, _ = drawn(tmp_path, "icicle", model, theme=theme, match=f"{name[:-1]}[f]")
            fills = {lines[0]: g.find(SVG + "rect").get("fill") for lines, g in groups}
            found[theme][module] = fills[name]
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


FITS = """(() => {
  const bad = [], luminance = (c) => { const p = c.match(/\\d+/g).map(Number).map(v => v / 255).map(
    v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2]; };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const page = document.documentElement.viewBox.baseVal, fill = (e) => getComputedStyle(e).fill;
  const paper = fill(document.querySelector('rect'));
  let texts = 0;
  for (const t of document.querySelectorAll('text')) {
    const box = t.getBoundingClientRect(), shape = t.parentElement.querySelector('rect, path');
    texts++;
    const inside = box.left > -1 && box.right < page.width + 1 && box.top > -1 && box.bottom < page.height + 1;
    if (!inside) bad.push(['outside', t.textContent]);
    const own = t.parentElement.tagName === 'g';
    if (contrast(fill(t), own ? fill(shape) : paper) < 4.5) bad.push(['contrast', t.textContent]);
    if (own && shape.tagName === 'rect' && t.getComputedTextLength() > shape.width.baseVal.value) bad.push(['wide', t.textContent]);
  }
  return [texts, bad];
})()"""


@pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium")
def test_texts_fit_and_can_be_read_in_a_browser(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for kind in KINDS:
        for theme in ("light", "dark", "grey"):
            title = f"{kind} {theme}, a title that is a little longer than most of them are " * 3
            written.model("--trace").plot(kind, str(pictures / f"{kind}-{theme}.svg"), theme=theme, width=800, title=title)
    server, page = browser.Server(pictures), browser.Browser(tmp_path)
    try:
        for path in sorted(pictures.iterdir()):
            page.call("Page.navigate", url=f"{server.url}/{path.name}")
            page.wait_for(f"document.readyState === 'complete' && location.pathname === '/{path.name}'")
            texts, bad = page.evaluate(FITS)
            assert texts > 3 and not bad, (path.name, bad)
        assert not page.exceptions()
    finally:
        page.close()
        server.close()


def test_what_it_says(spartito, tmp_path):
    done = run(spartito, "plot", str(written.experiment("--trace")), "--kind", "icicle", "-o", "x.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"wrote x\.svg: \d+ call paths; [\d,]+ smaller ones? not shown alone\n", done.stdout)
    title = ET.parse(tmp_path / "x.svg").getroot().find(SVG + "title").text
    assert re.fullmatch(r"\S+ known\.py \(.*s\)", title)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["-o", "x.svg"], 2, "no kind given: --kind flame, icicle, sunburst, graph, balance or timeline"),
        (["--kind", "pie", "-o", "x.svg"], 2, "--kind: 'pie' is not one of flame, icicle, sunburst, graph, balance, timeline"),
        (["--kind", "flame"], 2, "no file given: -o FILE (.svg or .png)"),
        (["--kind", "flame", "-o", "x.gif"], 2, "-o x.gif: a chart ends in .svg or .png"),
        (["--kind", "flame", "-o", "x.svg", "--width", "20"], 2, "--width 20: a chart is 200 to 10000 pixels wide"),
        (["--kind", "flame", "-o", "x.svg", "--height", "99999"], 2, "--height 99999: a chart is 100 to 10000 pixels high"),
        (["--kind", "sunburst", "-o", "x.svg", "--height", "150"], 1, "1200 by 150 is too small for a sunburst"),
        (["--kind", "flame", "-o", "x.svg", "--height", "100"], 1, "a height of 100 has no room for two rows of boxes"),
        (["--kind", "flame", "-o", "x.svg", "--limit", "3"], 2, "--limit is not for --kind flame"),
        (["--kind", "graph", "-o", "x.svg", "--width", "300"], 2, "--width is not for --kind graph"),
        (["--kind", "balance", "-o", "x.svg", "--process", "0"], 2, "--process is not for --kind balance"),
        (
            ["--kind", "timeline", "-o", "x.svg"],
            1,
            "a timeline needs the trace, which this experiment does not hold: measure with --trace",
        ),
        (["--kind", "flame", "-o", "x.svg", "--match", "nobody"], 1, "no recorded function matches 'nobody'"),
        (["--kind", "flame", "-o", "none/x.svg"], 1, "none/x.svg: No such file or directory"),
    ],
)
def test_mistakes(spartito, tmp_path, words, status, message):
    done = run(spartito, "plot", str(written.experiment()), *words, cwd=tmp_path)
    assert done.returncode == status and message in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_a_balance_needs_two(spartito, tmp_path):
    run(spartito, "run", "-q", "-o", "exp", "--", sys.executable, "-c", "pass", cwd=tmp_path)
    done = run(spartito, "plot", "exp", "--kind", "balance", "-o", "x.svg", cwd=tmp_path)
    assert done.returncode == 1 and "here is only one thread" in done.stderr and not (tmp_path / "x.svg").exists()


def test_png(tmp_path):
    """PNG is drawn by any installed program; without one, a message names what to install."""
    phases()
    experiment = str(written.scratch() / "phases" / "exp")
    words = ["plot", experiment, "--kind", "icicle", "--width", "400", "--height", "150", "-o", "x.png"]
    command = [sys.executable, "-m", "spartito", *words]
    bare = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": ""}, capture_output=True, text=True)
    assert bare.returncode == 1 and bare.stderr.startswith("spartito: x.png needs a program that draws SVG, and none is installed")
    assert not (tmp_path / "x.png").exists()
    if not any(map(shutil.which, ("rsvg-convert", "inkscape", *pixels.BROWSERS))):
        pytest.skip("no program that draws SVG")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("wrote x.png: "), done.stderr
    data = (tmp_path / "x.png").read_bytes()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and (width, height) == (400 * pixels.SCALE, 150 * pixels.SCALE)
