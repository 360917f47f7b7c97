# SPDX-License-Identifier: BSD-3-Clause
"""What the viewer shows as reports of the command line do: findings, own code, imports, off-CPU time. The answers equal the
reports', and a real browser shows them."""

import subprocess
import sys

import browser
import pytest
from commandline import run
from spartito.analysis import Model
from spartito.view import kinds, payload, reports
from viewing import Viewer, needs_viewer, reported, run_of

pytestmark = needs_viewer
PROGRAM = """
import json, threading
import heavy
def pause():
    threading.Event().wait(0.3)
def encode(n):
    return json.dumps(list(range(n)))
def main():
    pause()
    for i in range(300): encode(i)
main()
"""
HEAVY = """
import time
end = time.process_time() + 0.3
while time.process_time() < end: pass
"""
TEXT = "document.querySelector('#view').innerText"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_of(tmp_path_factory, program=PROGRAM, heavy=HEAVY)


@pytest.fixture(scope="module")
def in_file(recorded, tmp_path_factory):
    """The page as one file: (its path, a browser)."""
    path = recorded.with_suffix(".html")
    command = [sys.executable, "-m", "spartito", "html", str(recorded), "-o", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    b = browser.Browser(tmp_path_factory.mktemp("browser"))
    yield path, b
    b.close()


def answer(directory, kind, **options):
    return payload.unpack(kinds.open_experiment(str(directory), **options).get(kind, {}))[0]


def shown(b, path, view):
    """What the view of a file shows."""
    b.call("Page.navigate", url="about:blank")
    b.call("Page.navigate", url=f"{path.as_uri()}#view={view}")
    b.wait_for("window.spartito?.state().view?.ready")
    return b.evaluate("window.spartito.state().view")


FOUND = "window.spartito.state().view.findings !== null"


def without(row, *keys):
    return {key: value for key, value in row.items() if key not in keys}


def test_findings_are_those_of_the_report(recorded):
    found = answer(recorded, "findings")
    of_report = reported(recorded, "findings")
    assert found["findings"] == [without(row, "command") for row in of_report["rows"]]
    assert "imports" in {row["topic"] for row in found["findings"]} and found["notes"] == of_report["notes"]


def test_the_summary_shows_the_findings_and_leads_to_them(viewer, recorded):
    viewer.open("view=summary")
    viewer.page.wait_for(FOUND)
    found = answer(recorded, "findings")["findings"]
    assert viewer.view()["findings"] == [[row["title"], row["gain"]] for row in found]
    text = viewer.page.evaluate("document.querySelector('.findings').textContent")
    for row in found:
        for part in (row["title"], f"saves at most {row['gain']}", *row["evidence"], f"Try: {row['advice']}."):
            assert part in text
    assert viewer.page.evaluate("document.querySelectorAll('.findings details').length") == len(found)
    (imports,) = (i for i, row in enumerate(found) if row["topic"] == "imports")
    viewer.page.evaluate(f"document.querySelectorAll('.findings details button')[{imports}].click()")
    assert viewer.selection() == {"view": "imports", "region": viewer.index_of(found[imports]["function"] + ":<module>")}
    assert viewer.page.exceptions() == []


def test_a_file_has_the_findings(in_file, recorded):
    path, b = in_file
    shown(b, path, "summary")
    b.wait_for(FOUND)
    assert [title for title, _ in b.evaluate("window.spartito.state().view.findings")] == [
        row["title"] for row in answer(recorded, "findings")["findings"]
    ]
    assert b.exceptions() == []


def test_own_code_is_that_of_the_report(recorded):
    found = answer(recorded, "own")
    report = reported(recorded, "own")
    assert {part["part"]: part["time"] for part in found["parts"]} == report["split"]
    assert found["rows"][1:] == [without(row, "module") for row in report["rows"]]
    assert {key: found["rows"][0][key] for key in report["without_own"]} == report["without_own"]
    assert [{"name": p["name"], "excl": p["time"]} for p in found["packages"]] == [p for p in report["packages"] if p["excl"] > 0]
    assert found["notes"] == report["notes"] == []


def test_the_summary_says_whose_code_ran_and_leads_to_imports(viewer, recorded):
    viewer.open("view=summary")
    viewer.page.wait_for("window.spartito.state().view.own !== null")
    parts = answer(recorded, "own")["parts"]
    assert viewer.view()["own"] == [[part["title"], part["time"]] for part in parts]
    bars = "[...document.querySelectorAll('.owners button')]"
    names = viewer.page.evaluate(f"{bars}.map((b) => b.querySelector('.label').textContent)")
    assert names == [part["title"] for part in parts if part["time"] > 0] and "imports" in names and "own code" in names
    viewer.page.evaluate(f"{bars}[{names.index('own code')}].click()")
    assert viewer.ready()["parts"] and viewer.selection()["view"] == "own"
    viewer.go(-1)
    viewer.page.wait_for(f"{bars}.length === {len(names)}")
    viewer.page.evaluate(f"{bars}[{names.index('imports')}].click()")
    assert viewer.selection()["view"] == "imports"


def test_the_summary_has_one_bar_for_all_imports(viewer, recorded):
    view = viewer.open("view=summary")
    model = Model(str(recorded))
    whole, without_imports = ({r["name"]: r["running"] for r in model.flat(sort="running", imports=i)} for i in (True, False))
    assert view["imports"] == pytest.approx(sum(whole.values()) - sum(without_imports.values()), rel=1e-6)
    assert "heavy:<module>" in without_imports  # a module of the program is not folded
    expected = list(without_imports)[: len(view["functions"])]
    assert [name for name, _ in view["functions"]] == expected
    labels = "(list) => [...list.querySelectorAll('.label')].map((label) => label.textContent)"
    bars = viewer.page.evaluate(f"[...document.querySelectorAll('.bars')].map({labels})")
    assert bars[0].count("(imports)") == bars[1].count("(imports)") == 1
    bar = "[...document.querySelectorAll('.bars button')].find((bar) => bar.textContent.startsWith('(imports)'))"
    viewer.page.evaluate(f"{bar}.click()")
    assert viewer.ready()["total"] > 0 and viewer.selection() == {"view": "imports"}
    assert viewer.page.exceptions() == []


def test_the_view_of_own_code(viewer, recorded):
    view = viewer.open("view=own")
    found = answer(recorded, "own")
    rows = [row for row in found["rows"] if row["name"] or row["sum"] > 0]
    assert view["rows"] == [[row[key] for key in ("name", "sum", "own", "libraries", "standard")] for row in rows]
    assert view["total"] == pytest.approx(sum(part["time"] for part in found["parts"]))
    encode = next(row for row in view["rows"] if row[0] == "__main__:encode")
    assert encode[4] > 0 and encode[1] == pytest.approx(sum(encode[2:]))  # json is of the standard library
    texts = viewer.page.evaluate("[...document.querySelectorAll('.pane .row:not(.head)')].map((r) => r.textContent)")
    at = next(i for i, text in enumerate(texts) if "__main__:encode" in text)
    viewer.page.evaluate(f"document.querySelectorAll('.pane .row:not(.head)')[{at}].click()")
    viewer.ready()
    assert viewer.selection()["region"] == viewer.index_of("__main__:encode")
    assert viewer.page.exceptions() == []


def test_a_file_has_own_code(in_file, recorded):
    path, b = in_file
    names = [row["name"] for row in answer(recorded, "own")["rows"][1:]]
    assert [row[0] for row in shown(b, path, "own")["rows"] if row[0]] == names
    assert b.exceptions() == []


def test_imports_are_those_of_the_report(recorded):
    found = answer(recorded, "imports")
    report = reported(recorded, "imports", "--limit", "0")
    keys = found["modules"][0].keys()
    assert keys == {"module", "file", "own", "importer", "incl", "running_incl", "waiting_incl", "excl", "loading"}
    assert found["modules"][1:] == [{key: row[key] for key in keys} for row in report["rows"]]
    assert found["modules"][0]["incl"] == report["imports"]["incl"] and found["busy"] == report["imports"]["busy"]


def in_tree(modules, above, opened):
    """The rows of the view: (module, depth), those below modules that are not open left out."""
    found = []
    for i in sorted((i for i, m in enumerate(modules) if i and m["importer"] == above), key=lambda i: (-modules[i]["incl"], i)):
        found.append((modules[i]["module"], 0))
        if opened(modules[i]):
            found += [(module, depth + 1) for module, depth in in_tree(modules, i, opened)]
    return found


def test_the_imports_view_has_the_tree_of_modules(viewer, recorded):
    modules = answer(recorded, "imports")["modules"]
    view = viewer.open("view=imports")
    total = modules[0]["incl"]
    assert (view["total"], view["modules"]) == (total, len(modules) - 1)
    expected = in_tree(modules, 0, lambda m: m["incl"] >= 0.05 * total)
    assert [(row["module"], row["depth"]) for row in view["rows"]] == expected[:200]
    assert view["rows"][0]["module"] == "heavy" and view["rows"][0]["excl"] >= 0.3
    viewer.page.evaluate("[...document.querySelectorAll('.toolbar button')].find((b) => b.textContent === 'Close all').click()")
    closed = [(module, 0) for module, depth in expected if depth == 0]
    assert [(row["module"], row["depth"]) for row in viewer.ready()["rows"]] == closed[:200]
    (at,) = (i for i, (module, _) in enumerate(closed) if module == "json")
    viewer.focus(".table")
    viewer.key("Home", *["ArrowDown"] * at)
    assert viewer.selection()["region"] == viewer.index_of("json:<module>")
    view = viewer.key("ArrowRight")
    inner = in_tree(modules, [m["module"] for m in modules].index("json"), lambda m: False)
    assert inner and [row["module"] for row in view["rows"][at + 1 :][: len(inner)]] == [module for module, _ in inner]
    assert [row["module"] for row in viewer.key("ArrowLeft")["rows"]] == [module for module, _ in closed][:200]
    assert viewer.page.exceptions() == []


def test_a_file_has_the_imports(in_file, recorded):
    path, b = in_file
    assert shown(b, path, "imports")["total"] == answer(recorded, "imports")["modules"][0]["incl"]
    assert b.exceptions() == []


def test_off_cpu_time_is_that_of_the_report(recorded):
    found = answer(recorded, "offcpu")
    rows = reported(recorded, "waits")["off_cpu"]
    assert found["rows"] == [without(row, "module") for row in rows] and found["least"] == 0
    assert sum(row["waiting"] for row in rows) == pytest.approx(found["waited"])


def test_of_many_call_paths_those_with_little_time_are_not_searched_for_waits(recorded, monkeypatch):
    whole = answer(recorded, "offcpu")
    monkeypatch.setattr(reports, "MANY_PATHS", 2)
    found = answer(recorded, "offcpu")
    assert 0 < found["least"] < 1 and found["waited"] == whole["waited"]
    assert 0 < len(found["rows"]) <= len(whole["rows"]) and found["rows"][0]["name"] == whole["rows"][0]["name"]


def test_the_waits_view_has_functions_and_kinds_without_waits_recorded(viewer, recorded):
    view = viewer.open("view=waits")
    rows = answer(recorded, "offcpu")["rows"]
    assert view["rows"] == [[row["name"], row["kind"], row["waiting"]] for row in rows]
    sums = {}
    for row in rows:
        sums[row["kind"]] = sums.get(row["kind"], 0.0) + row["waiting"]
    assert dict(view["kinds"]) == pytest.approx(sums)
    assert view["rows"][0][2] >= 0.25  # pause()
    # a kind: its functions alone; the address keeps it
    viewer.page.evaluate("document.querySelector('.side .row:not(.head)').click()")
    view = viewer.ready()
    assert view["chosen"] == view["kinds"][0][0] and {row[1] for row in view["rows"]} == {view["chosen"]}
    assert viewer.selection()["part"] == f"functions/{view['chosen']}"
    assert viewer.open(viewer.page.evaluate("location.hash.slice(1)"))["chosen"] == view["chosen"]
    # a function is selected
    viewer.page.evaluate("document.querySelector('.pane .row:not(.head)').click()")
    viewer.ready()
    assert viewer.selection()["region"] == viewer.index_of(rows[0]["name"])
    assert viewer.page.exceptions() == []


def test_a_file_has_off_cpu_time(in_file, recorded):
    path, b = in_file
    assert [row[0] for row in shown(b, path, "waits")["rows"]] == [row["name"] for row in answer(recorded, "offcpu")["rows"]]
    assert b.exceptions() == []


def test_without_findings_and_imports_a_line_says_so(tmp_path):
    (tmp_path / "program.py").write_text("def f(): pass\nf()\n")
    words = ["run", "-q", "--only-mine", "-o", "x", "--", sys.executable, "program.py"]
    done = run([sys.executable, "-m", "spartito"], *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "browser").mkdir()
    v = Viewer(tmp_path / "x", tmp_path / "browser")
    try:
        v.open("view=summary")
        v.page.wait_for(FOUND)
        assert v.view()["findings"] == [] and "No finding" in v.page.evaluate(TEXT)
        v.page.evaluate("window.spartito.store.select({ view: 'imports' })")
        v.page.wait_for("document.querySelector('#view').innerText.includes('No imports were recorded')")
    finally:
        v.close()


def test_views_of_call_paths_show_own_code_alone(viewer, recorded):
    whole = viewer.open("view=icicle")
    viewer.page.evaluate("[...document.querySelectorAll('.choice label')].find((l) => l.textContent === 'Own code').click()")
    view = viewer.ready()
    assert viewer.selection()["code"] == "own" and view["total"] == pytest.approx(whole["total"])
    model = Model(str(recorded))
    _, regions = payload.unpack(model.view("regions"))
    names = payload.unpack(model.view("regions"))[0]["names"]
    own = {name for name, owned in zip(names, regions["own"]) if owned}
    assert {row["name"] for row in answer(recorded, "own")["rows"][1:]} <= own and "json:dumps" not in own
    assert {row["name"] for row in view["top"]} <= {*own, names[0]} and "__main__:<module>" in {row["name"] for row in view["top"]}
    # the time of an own function, with the other code that it led to
    expected = {}
    stack = []
    for row in model.tree():
        if row["kind"] == "root":
            continue
        del stack[row["depth"] :]
        stack.append(row["name"] if row["name"] in own else stack[-1] if stack else "")
        expected[stack[-1]] = expected.get(stack[-1], 0.0) + row["excl"]
    rows = {row["name"]: row["excl"] for row in viewer.open("view=bottomup&code=own")["rows"]}
    assert "__main__:encode" in rows and "json:dumps" not in rows
    assert {name: time for name, time in rows.items() if name in own} == {
        name: pytest.approx(time) for name, time in expected.items() if name in own
    }
    # a call path of own functions stays selected
    path = ".".join(str(viewer.index_of(name)) for name in ("__main__:<module>", "__main__:main", "__main__:encode"))
    viewer.open(f"view=icicle&code=own&path={path}")
    assert len(viewer.selection()["path"]) == 3
    assert "is not in this experiment" not in viewer.page.evaluate("document.body.innerText")
    assert viewer.page.exceptions() == []
