# SPDX-License-Identifier: BSD-3-Clause
"""Results in JupyterLab and Notebook in a browser, and in the file made by nbconvert."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys

import browser
import pytest
from spartito.analysis import Model
from spartito.notebook.result import Result
from spartito.view import page as built

labpage = pytest.importorskip("labpage")
pytest.importorskip("jupyter_client")
from kernel_helpers import ARGUMENTS, SETTINGS, SLEEP  # noqa: E402

pytest.importorskip("jupyterlab")

pytestmark = [
    pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium"),
    pytest.mark.skipif(not os.path.exists(os.path.join(built.STATIC, "cell.js")), reason="built without the viewer"),
]
PROGRAM = """
def leaf(n): return sum(range(n))
def branch(n):
    for i in range(n): leaf(i)
branch(100)
"""
SHOW = "from spartito.notebook.result import Result\nResult({!r})"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("result")
    (cwd / "prog.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--lines", "branch", "-o", "x", "--", sys.executable, "prog.py"]
    subprocess.run(command, cwd=cwd, check=True)
    return cwd / "x"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = labpage.Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture
def opened(lab, tmp_path):
    """A function that opens a notebook with these cells."""
    pages = []

    def opened(app, name, *cells, **kernel):
        labpage.write(lab.root / name, *cells, **kernel)
        pages.append(labpage.Page(lab, app, name, tmp_path))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


def compare(frame, model):
    """Compares the numbers in the frame's views with the model's."""
    paths = model.tree()
    shown = frame.view({"view": "icicle"})
    assert shown["paths"] == len(paths) == 3 and frame.colours() > 3
    assert shown["total"] == pytest.approx(sum(loc["busy"] for loc in model.info()["locations"]))
    rows = {r["name"]: (r["visits"], r["excl"], r["incl"]) for r in model.flat()}
    shown = frame.view({"view": "table"})
    assert {r["name"]: (r["visits"], r["excl"], r["incl"]) for r in shown["top"]} == rows
    (lines,) = [[list(line) for line in f["lines"]] for f in model.lines()]
    shown = frame.view({"view": "source"})
    assert [[line["line"], line["hits"], line["excl"], line["callees"]] for line in shown["lines"]] == lines
    assert shown["text"] and shown["function"] == "__main__:branch"


@pytest.mark.parametrize("app", ["lab", "notebooks"])
def test_a_result_below_its_cell(lab, opened, directory, app):
    if app == "notebooks" and not list(importlib.metadata.Distribution.discover(name="notebook")):
        pytest.skip("needs Notebook")
    model = Model(str(directory))
    page = opened(app, f"below-{app}.ipynb", "1 + 1", SHOW.format(str(directory)))
    page.run()
    (frame,) = labpage.frames(page.browser, 1)
    compare(frame, model)
    assert frame.evaluate("self.origin") == "null"  # neither the origin of the notebook nor that of another output
    # a reload of the notebook's page shows the result again, without a kernel
    page.open()
    (frame,) = labpage.frames(page.browser, 1)
    compare(frame, model)
    assert page.requests() == {lab.url.split("/")[2]}


CELL = """%%spartito --lines branch{more}
def leaf(n): return sum(range(n))
def branch(n):
    for i in range(n): leaf(i)
branch({n})
"""


def calls(frame, function="leaf"):
    """(name, visits) of the function in the frame's table, or None if it has no row."""
    frame.view({"view": "table"})
    found = [(r["name"], r["visits"]) for r in frame.view()["top"] if r["name"].endswith(":" + function)]
    assert len(found) <= 1
    return found[0] if found else None


def test_measured_cells(lab, opened):
    page = opened("lab", "cells.ipynb", "%load_ext spartito", CELL.format(n=30, more=""), CELL.format(n=40, more=" --trace"))
    page.run()
    expected = {("In[2]:leaf", 30), ("In[3]:leaf", 40)}
    assert {calls(frame) for frame in labpage.frames(page.browser, 2)} == expected
    # a result stays when its kernel is restarted
    assert page.browser.evaluate(f"{labpage.CONTEXT}.restartKernel().then(() => 'done')") == "done"
    page.open()
    frames = labpage.frames(page.browser, 2)
    assert {calls(frame) for frame in frames} == expected
    for frame in frames:
        name, n = calls(frame)
        shown = frame.view({"view": "source"})
        assert shown["text"] and shown["file"] == name.partition(":")[0]
        assert [line["hits"] for line in shown["lines"]] == [n + 1]
    kept = {d.name.split("-")[1]: d for d in (lab.root / "spartito-notebook").iterdir()}
    rows = {r["name"]: r["visits"] for d in kept.values() for r in Model(str(d)).flat()}
    assert expected <= rows.items() and set(kept) == {"In2", "In3"}


SMALL = """%%spartito
def step(x):
    for d in (3, 5, 7, 11, 13, 17):
        x = x * 31 % d
    return x
for i in range(600_000): step(i)
"""


def test_the_findings_of_a_cell(lab, opened):
    page = opened("lab", "findings.ipynb", "%load_ext spartito", SMALL)
    page.run()
    (frame,) = labpage.frames(page.browser, 1)
    button = "[...document.querySelectorAll('header button')].find((b) => b.textContent === '1 finding')"
    frame.wait_for(f"{button}?.ariaExpanded === 'false'")
    frame.evaluate(f"{button}.click()")
    text = frame.evaluate("document.querySelector('.findings').innerText")
    assert "In[2]:step" in text and "Try: " in text
    frame.evaluate("document.querySelector('.findings button').click()")
    frame.wait_for("document.querySelector('[role=tab][aria-selected=true]').textContent === 'Callers'")
    frame.view()


def test_a_notebook_of_the_score_p_kernel(lab, opened):
    """A notebook of the Score-P kernel names that kernel; its outputs are shown, and the report below measured cells."""
    command = [sys.executable, "-m", "spartito", "kernel", "install", "--score-p", "--user"]
    subprocess.run(command, env=labpage.environment(lab.root.parent), check=True)
    theirs = {"name": "scorep_jupyter", "display_name": "Score-P_Python", "language": "python"}
    quick = SLEEP.replace("time.sleep(x)", "time.sleep(x / 1000)")
    page = opened("lab", "scorep.ipynb", SETTINGS, ARGUMENTS, quick, "print(x)", kernel=theirs)
    page.run()
    (frame,) = labpage.frames(page.browser, 1)
    assert calls(frame, "sleep_and_double") == ("__main__:sleep_and_double", 2)
    text = page.browser.evaluate("document.querySelector('.jp-Notebook').innerText")
    for line in ("set user environment sucessfully", "use the following scorep python binding arguments: --noinstrumenter", "20"):
        assert line in text
    (output,) = labpage.outputs(lab.root / "scorep.ipynb")[2]
    (path,) = re.findall(r"results can be found in (\S+)", "".join(output["data"]["text/plain"]))
    assert os.path.exists(f"{path}/traces.otf2") and not os.path.exists(f"{path}/profile.cubex")


def test_the_frame_asks_nobody_and_reaches_nothing(lab, opened, directory):
    page = opened("lab", "alone.ipynb", SHOW.format(str(directory)))
    page.run()
    (frame,) = labpage.frames(page.browser, 1)
    for attempt in (f"fetch({lab.url!r})", "(async () => parent.document.title)()", "(async () => localStorage.length)()"):
        assert frame.evaluate(f"{attempt}.then(() => 'reached', () => 'refused')") == "refused", attempt
    # a selection in the frame is not a step in the notebook's history
    before = page.browser.evaluate("[history.length, location.href]")
    frame.view({"view": "table"})
    frame.view({"view": "callers", "region": 1})
    assert page.browser.evaluate("[history.length, location.href]") == before


def test_the_viewer_through_jupyters_own_server(lab, opened):
    pytest.importorskip("jupyter_server_proxy")
    page = opened("lab", "proxy.ipynb", "%load_ext spartito", "%%spartito\nsum([])", "page = %spartito_view\nprint(page.link)")
    page.run()
    (link,) = labpage.outputs(lab.root / "proxy.ipynb")[2]
    path = "".join(link["text"]).strip()
    assert path.startswith("/proxy/")
    page.browser.call("Page.navigate", url=lab.url.rstrip("/") + path)
    page.browser.wait_for("document.body?.innerText.includes('In[2]')")


# visible cells of tables
CELLS = """[...document.querySelectorAll('.spartito-table td')]
    .filter(cell => cell.getClientRects().length).map(cell => cell.innerText)"""
JUNK = "document.body.innerText.includes('srcdoc') || document.body.innerText.includes('display:')"


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a trusted one"])
def test_a_notebook_that_is_not_trusted_shows_a_table(lab, opened, directory, beside):
    name = f"foreign{beside}".lower()
    page = opened("lab", f"{name}.ipynb", SHOW.format(str(directory)))
    page.run()
    labpage.frames(page.browser, 1)
    assert page.browser.evaluate(CELLS) == []
    other = json.loads((lab.root / f"{name}.ipynb").read_text())
    other["cells"][0]["source"] += "\n# by somebody else"
    (lab.root / "untrusted.ipynb").write_text(json.dumps(other))
    if beside:
        page.browser.evaluate("void jupyterapp.commands.execute('docmanager:open', { path: 'untrusted.ipynb' })")
    else:
        page.url = page.url.replace(name, "untrusted")
        page.open()
    page.browser.wait_for(f"{CELLS}.includes('function')")
    assert "__main__:leaf" in page.browser.evaluate(CELLS)
    assert "A notebook that is not trusted does not show" in page.browser.evaluate("document.body.innerText")
    assert page.browser.evaluate("document.querySelectorAll('iframe[srcdoc]').length") == int(beside)


def test_a_frame_opens_with_what_was_asked_for(lab, opened):
    options = {"memory": "--memory-profile", "locks": "--waits", "source": "--lines .", "icicle": ""}
    cells = [f"%%spartito {option}\nimport time\nkept = list(range(1000))\ntime.sleep(0.001)" for option in options.values()]
    page = opened("lab", "asked.ipynb", "%load_ext spartito", *cells)
    page.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=3600, deviceScaleFactor=1, mobile=False)
    page.run()
    shown = {}
    for frame in labpage.frames(page.browser, len(options)):
        tabs = frame.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => [tab.id, tab.ariaSelected])")
        shown[frame.evaluate("document.querySelector('h1').innerText")] = tabs
        (tab,) = [tab for tab, chosen in tabs if chosen == "true"]
        view = frame.view()
        if tab == "tab-memory":
            assert view["totals"]["bytes"] > 8000 and ["In[2]:<module>", 3] in [row[:2] for row in view["rows"]]
        elif tab == "tab-locks":
            assert view["total"] >= 0.001 and view["waits"][0][0] == "sleep"
        elif tab == "tab-source":
            assert [line["hits"] for line in view["lines"] if line["hits"]] == [1, 1, 1]
    found = {cell: [tab for tab, chosen in tabs if chosen == "true"] for cell, tabs in shown.items()}
    assert found == {f"In[{n}]": [f"tab-{view}"] for n, view in enumerate(options, 2)}
    # frames have these tabs only if they have data for them
    assert [len(shown[f"In[{n}]"]) for n in range(2, 6)] == [5, 5, 4, 4]


def converted(place, directory, *options):
    """Opens the page that nbconvert makes of a result."""
    pytest.importorskip("nbconvert")
    labpage.write(place / "n.ipynb", SHOW.format(str(directory)))
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--KernelManager.transport=ipc", *options, "n.ipynb"]
    done = subprocess.run(command, cwd=place, env=labpage.environment(place), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = browser.Browser(place)
    page.call("Page.navigate", url=(place / "n.html").as_uri())
    return page


@pytest.mark.parametrize("template", ["lab", "classic"])
def test_as_html_by_nbconvert(tmp_path, directory, template):
    page = converted(tmp_path, directory, "--template", template)
    try:
        (frame,) = labpage.frames(page, 1)
        compare(frame, Model(str(directory)))
        assert page.evaluate(CELLS) == [] and not page.evaluate(JUNK)
    finally:
        page.close()


@pytest.mark.parametrize("template", ["lab", "classic"])
def test_as_sanitized_html_by_nbconvert(tmp_path, directory, template):
    page = converted(tmp_path, directory, "--template", template, "--sanitize-html")
    try:
        page.wait_for(f"{CELLS}.includes('__main__:leaf')")
        assert not page.evaluate(JUNK) and page.evaluate("document.querySelectorAll('iframe').length") == 0
    finally:
        page.close()


def test_in_a_web_view(tmp_path, directory):
    """As VS Code shows outputs: set as innerHTML, in a page with a policy that its frames inherit."""
    policy = (
        "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:"
    )
    text = json.dumps(Result(str(directory)).html()).replace("</", "<\\/")
    (tmp_path / "view.html").write_text(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<div></div><script>document.querySelector('div').innerHTML = {text}</script>"
    )
    page = browser.Browser(tmp_path)
    try:
        page.call("Page.navigate", url=(tmp_path / "view.html").as_uri())
        (frame,) = labpage.frames(page, 1)
        compare(frame, Model(str(directory)))
    finally:
        page.close()
