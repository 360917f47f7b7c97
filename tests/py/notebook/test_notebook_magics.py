# SPDX-License-Identifier: BSD-3-Clause
"""The other magics: measuring several cells, results, defaults, help and completion."""

import re
import urllib.request

import pytest
from spartito.view import payload

notebook = pytest.importorskip("notebook")
from test_notebook_cells import functions, model, results  # noqa: E402


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with notebook.Kernel(tmp_path_factory.mktemp("magics")) as kernel:
        kernel.ok("%load_ext spartito")
        kernel.ok("def f(n): return sum(range(n))")
        yield kernel


def offered(kernel, line):
    return kernel.ask("complete", code=line, cursor_pos=len(line))["matches"]


def test_measuring_over_several_cells(kernel):
    defined = kernel.ok("def f(n): return sum(range(n))")
    first = kernel.ok("f(0)\n%spartito_start --trace\nf(1)")
    kernel.ok("f(2)")
    third = kernel.ok("%%spartito\nf(3)")
    assert "is being measured, and this cell with it" in third.stderr and not results(third)
    again = kernel.run("%spartito_start").stderr
    assert again.startswith(f"UsageError: %spartito_start: In[{first.count}] is being measured already")
    last = kernel.ok("f(4)\n%spartito_stop\nf(5)")
    seen, found = functions(last), model(last)
    assert seen[f"In[{defined.count}]:f"] == 4
    assert {f"In[{n}]" for n in range(first.count, last.count + 1)} <= seen.keys() and found.info()["traced"]
    assert not [name for name in seen if name.startswith(("IPython", "ipykernel", "asyncio", "tornado"))]
    assert " with the time between the cells, in which nothing is recorded. " in last.displays[0]["text/plain"]
    assert f"In[{first.count}] to In[{last.count}]" in (results(last)[0] / "experiment.json").read_text()
    assert not results(kernel.ok("f(6)"))
    assert "nothing is being measured" in kernel.run("%spartito_stop").stderr


def test_a_cell_that_is_run_again_is_the_same_cell(kernel):
    a, b = kernel.ok("%%spartito\nf(10**4);"), kernel.ok("%%spartito\nf(10**5);")
    text = kernel.ok(f"%spartito_diff {a.count} {b.count}").value
    assert "is new" not in text and "is gone" not in text
    assert f"In[{a.count}]:<module>" in text and f"In[{a.count}] is now In[{b.count}]" in text


def test_showing_a_value_is_a_separate_region(kernel):
    kernel.ok(
        "import time\nclass Slow:\n    def __repr__(self):\n        begin = time.perf_counter()\n        f(10**6)\n"
        "        Slow.took = time.perf_counter() - begin\n        return 'slow'"
    )
    shown = kernel.ok("%%spartito\nSlow()")
    assert shown.result["text/plain"] == "slow"
    rows = {row["name"]: row["excl"] for row in model(shown).flat()}
    # the two times come from two clocks
    assert rows["display"] > 0.99 * float(kernel.ok("Slow.took").value) and f"In[{shown.count}]:<module>" in rows
    assert not [name for name in rows if "__repr__" in name or name.endswith(":f")]


def test_headlines_are_of_the_cell_and_not_of_what_shows_it(kernel):
    showing = kernel.ok("%%spartito\nclass Slow:\n    pass\nf(10**6)\n{i: list(range(60)) for i in range(3000)}")
    failing = kernel.run("%%spartito\nf(10**6)\n1 / 0")
    for cell, region in ((showing, "display"), (failing, "traceback")):
        head, _, table = cell.displays[0]["text/plain"].partition("\n")
        assert region in table and region not in head and f"In[{cell.count}] (" not in head, head
        assert ":f" in head or "outside of functions" in head, head


def test_formats_of_a_cell_are_reported_in_the_log_only(kernel):
    cell = kernel.ok("%%spartito --to folded\nf(1);")
    assert (cell.stdout, cell.stderr) == ("", "")
    (place,) = results(cell)
    (made,) = place.parent.glob(place.name + "*folded*")
    assert f"spartito: wrote {made}" in kernel.log()


def test_a_statement_that_is_none_and_the_place_of_its_report(kernel):
    refused = kernel.run("%spartito x =")
    assert refused.stderr == "UsageError: %spartito: invalid syntax: x =\n"
    cell = kernel.ok("%spartito f(3)")
    order = [message["output_type"] for message in cell.outputs if "data" in message]
    assert cell.result["text/plain"] == "3" and order == ["execute_result", "display_data"]


def test_results_are_shown_again_compared_kept_and_viewed(kernel):
    a = kernel.ok("%%spartito\nf(10)")
    b = kernel.ok("%%spartito\nf(10); f(20)")
    report = kernel.ok(f"%spartito_report {a.count}")
    assert f"In[{a.count}]:<module>" in report.value and "<iframe" in report.result["text/html"]
    assert f"In[{b.count}]" in kernel.ok("%spartito_report").value
    assert re.search(r" 2 .*In\[\d+\]:f", kernel.ok("%spartito_report tree --threshold 0").stdout)
    assert re.search(r"In\[\d+\]:f", kernel.ok(f"%spartito_diff {a.count} {b.count}").value)
    assert kernel.ok("%spartito_diff --json").stdout.startswith("{")
    kernel.ok(f"%spartito_save {a.count} kept\n%spartito_save page.html")
    assert (kernel.directory / "kept" / "raw").is_dir() and (kernel.directory / "page.html").stat().st_size > 10_000
    assert f"In[{a.count}]" in kernel.ok("%spartito_report kept").value
    assert kernel.run("%spartito_save kept").error[1].endswith("kept already exists; choose another name")
    assert "`%%spartito --lines PATTERN` records those of" in kernel.run("%spartito_report lines").stderr
    for options, compensated in (("", False), (" --compensate", True)):
        url = kernel.ok("%spartito_view" + options).value
        with urllib.request.urlopen(url, timeout=notebook.PATIENCE) as page:
            assert b"<html" in page.read()
        with urllib.request.urlopen(f"{url}data/facts", timeout=notebook.PATIENCE) as facts:
            assert payload.unpack(facts.read())[0]["compensated"] is compensated


def test_a_comparison_says_options_as_they_were_typed(kernel):
    a, b = kernel.ok("%%spartito\nf(10)"), kernel.ok("%%spartito --lines . --exclude In[1]:g\nf(10)")
    text = kernel.ok(f"%spartito_diff {a.count} {b.count}").value
    (line,) = [one for one in text.splitlines() if "recorded with" in one]
    assert line.startswith("B was recorded with --exclude 'In[1]:g', --lines ., A without")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%spartito_report 9999", "%spartito_report: In[9999] was not measured (measured: "),
        ("%spartito_report nowhere", "%spartito_report: 'nowhere' is neither the number of a cell nor a directory"),
        ("%spartito_report --dept 3", "%spartito_report: unknown option --dept; did you mean --depth?"),
        ("%spartito_diff 1", "%spartito_diff: two cells are needed, the earlier one first"),
        ("%spartito_save", "%spartito_save: a name is needed"),
        ("%spartito_config --trace-memory x", "%spartito_config: --trace-memory: 'x' is not a size"),
        ("%spartito_config --output x", "%spartito_config: unknown option --output"),
        ("%spartito_repor", "did you mean %spartito_report?"),
    ],
)
def test_what_cannot_be_done_is_one_line(kernel, line, message):
    cell = kernel.run(line)
    assert cell.status == "error" and message in cell.stderr and cell.stderr.count("\n") <= 2 and kernel.ok("1").value == "1"


def test_workers_from_before_the_cell_are_named(kernel):
    """Workers of a pool started before the cell are not children of the cell: a message names them as missing."""
    work = "import time\ndef burn(s):\n    until = time.process_time() + s\n    while time.process_time() < until: pass"
    kernel.ok(work + "\nimport multiprocessing\npool = multiprocessing.get_context('fork').Pool(1)\npool.map(burn, [0]);")
    for seconds in (0.3, 0.001):
        message = kernel.ok(f"%%spartito\npool.map(burn, [{seconds}]);").stderr
        assert message.startswith("spartito: 1 process of multiprocessing from before this cell worked for ")
        assert "not in the result" in message
    assert kernel.ok("%%spartito\nf(1);").stderr == ""
    # a worker of dask is recognized by its process name only
    kernel.ok("import multiprocessing.process\n[worker] = multiprocessing.process._children\nworker.name = 'Dask Worker process'")
    assert kernel.ok("%%spartito\npool.map(burn, [0.3]);").stderr.startswith("spartito: 1 process of dask from before")
    kernel.ok("import sys, types\nsys.modules['ipyparallel'] = types.ModuleType('ipyparallel')")
    assert "engines of ipyparallel" in kernel.ok("%%spartito\nf(1);").stderr and kernel.ok("%%spartito\nf(1);").stderr == ""
    kernel.ok("pool.terminate(); pool.join()\ndel pool, sys.modules['ipyparallel']")


def test_a_misspelt_variable_is_reported_once(kernel):
    kernel.ok("import os\nos.environ['SPARTITO_TRACE_MEMROY'] = '1G'")
    message = "spartito: the variable SPARTITO_TRACE_MEMROY is not known and not used; did you mean SPARTITO_TRACE_MEMORY?\n"
    assert kernel.ok("%%spartito\nf(1);").stderr == message and kernel.ok("%%spartito\nf(1);").stderr == ""
    kernel.ok("del os.environ['SPARTITO_TRACE_MEMROY']")


def test_defaults_of_the_session(kernel):
    kernel.ok("%spartito_config --trace --exclude 'In*:f'")
    shown = kernel.ok("%spartito_config").stdout
    assert re.search(r"^trace +on +%spartito_config", shown, re.MULTILINE)
    cell = kernel.ok("%%spartito\nf(3)")
    assert model(cell).info()["traced"] and not [name for name in functions(cell) if name.endswith(":f")]
    # one cell without one of the defaults, or without all
    assert not model(kernel.ok("%%spartito --no-trace\nf(3)")).info()["traced"]
    plain = kernel.ok("%%spartito --no-config\nf(3)")
    assert not model(plain).info()["traced"] and [name for name in functions(plain) if name.endswith(":f")]
    assert "--no-trace" in offered(kernel, "%%spartito --no-t")
    assert "unknown option --no-config" in kernel.run("%spartito_config --no-config").stderr
    kernel.ok("%spartito_config --reset")
    assert not model(kernel.ok("%%spartito\nf(3)")).info()["traced"]


def test_help_and_completion(kernel):
    for line in ("%spartito", "%%spartito", "%spartito_diff"):
        text = kernel.ask("inspect", code=line, cursor_pos=len(line))["data"]["text/plain"]
        assert ("--only-mine" in text) == (line != "%spartito_diff") and line.lstrip("%") in text
    assert "--when-full" in kernel.ok("%spartito --help").stdout and "--when-full" in kernel.ok("%%spartito --help\n1").stdout
    assert "[A B]" in kernel.ok("%spartito_diff --help").stdout
    assert {"--trace", "--to"} <= set(offered(kernel, "%%spartito --t"))
    assert {"flush", "stop"} <= set(offered(kernel, "%%spartito --when-full "))
    assert "perfetto" in offered(kernel, "%spartito --to per")
    assert "tree" in offered(kernel, "%spartito_report tr")
    assert "%spartito_report" in offered(kernel, "%spartito_re")


def test_the_shell_takes_a_marked_cell_as_one_of_its_own(kernel):
    complete = kernel.ask("is_complete", code="%%spartito\nfor i in range(3):")
    assert complete["status"] == "incomplete"
    cell = kernel.ok("%%spartito -q\nprint(_ih[-1].splitlines()[0])")
    assert cell.stdout == "%%spartito -q\n" or cell.stdout == "\n"
    assert not cell.displays and kernel.ok("In[-2]").value is not None


def test_unloading_leaves_nothing(kernel):
    kernel.ok("%unload_ext spartito")
    assert "not found" in kernel.run("%%spartito\n1").stderr and kernel.ok("2").value == "2"
    kernel.ok("%load_ext spartito")
    assert results(kernel.ok("%%spartito\n1"))


def test_what_is_measured_when_the_kernel_ends_becomes_whole(tmp_path):
    import json

    from spartito.analysis import Model

    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("%load_ext spartito\n%spartito_start\ndef g(): return sum(range(10**5))")
        kernel.ok("g()")
        kernel.restart()
        (directory,) = (tmp_path / "spartito-notebook").iterdir()
        reported = json.loads((directory / "experiment.json").read_text())
        assert reported["command"] == ["In[1] to In[2]"] and reported["end"]
        assert Model(str(directory)).info()["processes"][0]["end"] == "stopped"
        kernel.ok("%load_ext spartito")
        assert "In[1]:g" in kernel.ok(f"%spartito_report {directory}").value


def test_outside_of_ipython_it_says_what_to_do():
    import spartito

    with pytest.raises(TypeError, match="`%load_ext spartito` in a cell"):
        spartito.load_ipython_extension(None)
