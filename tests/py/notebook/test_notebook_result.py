# SPDX-License-Identifier: BSD-3-Clause
"""The result of a measured cell, created from the directory of any experiment: what it shows, returns, saves and opens."""

import base64
import hashlib
import html.parser
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import pytest
import spartito
from spartito.analysis import Model
from spartito.notebook import frame, tables
from spartito.notebook.result import Comparison, Result, ResultError
from spartito.view import kinds, locks, memory, page, payload
from spartito.view.packing import ROWS_OF_TABLES

PROGRAM = """
def leaf(n):
    return sum(range(n))

def branch(n):
    for i in range(n):
        leaf(i)

branch({n})
"""
PATIENCE = 100  # seconds
OLD_RAW = Path(__file__).resolve().parents[2] / "old-raw"


def measure(directory, program, *options):
    (directory.parent / "prog.py").write_text(program)
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", directory, "--", sys.executable, "prog.py"]
    subprocess.run(command, cwd=directory.parent, check=True)
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("result") / "it's & x", PROGRAM.format(n=100), "--lines", "branch")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("result") / "y", PROGRAM.format(n=300).replace("leaf", "twig"))


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """An experiment with more call paths than fit into a frame."""
    program = "\n".join(f"def f{i}():\n    f{i - 1}() if {i} % 7 else None\n    f{i // 2}() if {i} else None" for i in range(300))
    return measure(tmp_path_factory.mktemp("result") / "deep", program + "\nfor i in range(300): globals()[f'f{i}']()\n")


class Frame(html.parser.HTMLParser):
    """Parses a page: the single element, and the document inside it."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.policy, self.blocks, self.query, self.inner = [], "", "", {}, None, None
        self.feed(text)
        self.close()
        for tag, given in self.elements:
            if tag == "iframe":
                self.inner = Frame(given["srcdoc"])

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        self.query = given.get("data-query", given.get("data-element"))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_endtag(self, tag):
        self.query = None

    def handle_data(self, data):
        if self.query:
            self.blocks[self.query] = zlib.decompress(base64.b64decode(data))
        self.words += data


needs_viewer = pytest.mark.skipif(
    not os.path.exists(os.path.join(page.STATIC, "cell.js")), reason="built without the viewer"
)


def test_it_says_what_took_the_time(directory):
    result = Result(directory)
    info = Model(str(directory)).info()
    assert result.total == sum(loc["busy"] for loc in info["locations"])
    assert result.duration == info["end"] - info["begin"]
    assert result.directory == str(directory)
    text = result.text().split("\n")
    assert text[0].startswith("prog.py took ") and "is spent in" in text[0]
    assert text[1].split()[-4:] == ["%", "waiting", "calls", "function"]
    (row,) = (line.split() for line in text[2:5] if "__main__:leaf" in line)
    assert "100" in row
    assert text[-1] == str(directory)
    assert re.fullmatch(r"<prog\.py: [\d.]+ \S+, 102 calls of 3 functions, in .*it's & x>", repr(result))


SLEEPS = """
import decimal, email.mime.multipart, unittest.mock
import time

def sleep_long():
    time.sleep(0.6)

def compute():
    for i in range(200_000):
        i * i

sleep_long()
compute()
"""


def test_the_table_is_that_of_the_summary_of_a_run(tmp_path):
    """A function that waits does not come before those that run, and the lines about imports and waits are the same."""
    (tmp_path / "prog.py").write_text(SLEEPS)
    place = tmp_path / "x"
    command = [sys.executable, "-m", "spartito", "run", "-o", place, "--", sys.executable, "prog.py"]
    printed = subprocess.run(command, cwd=tmp_path, check=True, stderr=subprocess.PIPE, text=True).stderr.splitlines()
    text = Result(place).text().splitlines()
    assert text[1].split() == ["running", "%", "waiting", "calls", "function"]
    end = next(i for i, line in enumerate(text) if line.startswith("running time: "))
    assert text[1:end] == printed[2 : end + 1]
    functions = [line.split()[-1] for line in text[2:end]]
    assert functions.index("__main__:compute") < functions.index("__main__:sleep_long")
    for begin in ("running time: ", "imports took ", "waiting: "):
        (line,) = (line for line in text if line.startswith(begin))
        assert line in printed


CALLS = """
def step(x):
    for d in (3, 5, 7, 11, 13, 17, 19, 23):
        x = x * 31 % d
    return x

def twist(x):
    for d in (3, 5, 7, 11, 13, 17, 19, 23):
        x = x * 37 % d
    return x

def loop(n):
    for i in range(n):
        step(i)
        twist(i)

loop(600_000)
"""


def test_the_first_finding_has_its_evidence_and_what_to_try(tmp_path):
    place = measure(tmp_path / "x", CALLS)
    command = [sys.executable, "-m", "spartito", "report", "findings", place]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    text = Result(place).text().splitlines()
    found = [line for line in text if line.startswith("finding: ")]
    titles = [re.match(r"finding: (.*) \(a change saves at most (.*)\)$", line).groups() for line in found]
    assert titles == [
        (line.partition(". ")[2], after.partition(": ")[2]) for line, after in zip(printed, printed[1:]) if re.match(r"\d\. ", line)
    ]
    assert len(titles) == 2 and {re.search(":(step|twist) ", title)[1] for title, _ in titles} == {"step", "twist"}
    first, second = (i for i, line in enumerate(text) if line.startswith("finding: "))
    below = [line.strip() for line in text[first + 1 : second]]
    assert below == [line.strip() for line in printed[2 : printed.index("")]]
    assert [line for line in below if line.startswith("call path: ")] and [line for line in below if line.startswith("try: ")]
    assert f"spartito report findings {place} shows the evidence of all findings, and what to try" in text
    inner = Frame(Result(place).html()).inner
    assert inner.blocks["findings"] == kinds.open_experiment(str(place)).get("findings", {})
    # of a cell, the command is that of the notebook
    known = json.loads((place / "experiment.json").read_text())
    (place / "experiment.json").write_text(json.dumps({**known, "command": ["In[7]"]}))
    shutil.copytree(place, tmp_path / "cell")
    again = Result(tmp_path / "cell").text()
    assert "%spartito_report findings 7 shows the evidence of all findings, and what to try\n" in again
    words = " ".join(Frame(tables.static(kinds.open_experiment(str(tmp_path / "cell")), "first")).words.split())
    for line in below[:-1]:  # the last one has the path
        assert " ".join(line.split()) in words, line


def test_the_table_has_self_time_where_waits_are_not_known(tmp_path):
    """As in an experiment of an older version."""
    (tmp_path / "x" / "raw").mkdir(parents=True)
    shutil.copy(OLD_RAW / "v6-profile.raw", tmp_path / "x" / "raw" / "0.raw")
    text = Result(tmp_path / "x").text().splitlines()
    assert text[1].split() == ["self", "time", "%", "calls", "function"]
    assert not [line for line in text if line.startswith("waiting")]


@needs_viewer
def test_the_frame_has_all_in_it_and_may_run_scripts_alone(directory):
    text = Result(directory).html()
    ((tag, around), (_, _), (frames, given), *beside) = Frame(text).elements
    assert (tag, frames, given["sandbox"]) == ("div", "iframe", "allow-scripts")
    # the table has only tags that the sanitizers of JupyterLab and nbconvert keep
    assert {tag for tag, _ in beside} == {"div", "table", "tr", "td", "b"}
    inner = Frame(text).inner
    assert inner.policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in inner.policy
    assert not [a for _, a in inner.elements if {"src", "href"} & a.keys()]
    experiment = kinds.open_experiment(str(directory))
    for query, params in (("regions", {}), ("flat", {}), ("lines", {}), ("tree", {"limit": str(frame.PATHS[0])})):
        assert inner.blocks[query] == experiment.get(query, params), query
    facts = payload.unpack(inner.blocks["facts"])[0]
    assert facts["title"] == "prog.py" and facts["pruned"] == [] and facts["has"]["lines"]
    files = payload.unpack(inner.blocks["regions"])[0]["files"]
    (source,) = (key for key in inner.blocks if key.startswith("source"))
    shown = payload.unpack(inner.blocks[source])[0]
    assert shown["text"] == PROGRAM.format(n=100) and shown["file"] == files[int(source.split("=")[1])]
    # the policy allows the unpacked script and style only
    code = (page.asset("unpack.js"), inner.blocks["script"], inner.blocks["style"])
    hashes = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in code]
    assert re.findall(r"'sha256-(.*?)'", inner.policy) == hashes
    # where frames are removed, the text inside their tags remains
    assert "This is the result as text" in Frame(text).words
    assert "prog.py took " in Frame(text).words and "__main__:leaf" in Frame(text).words
    assert around["class"] == "spartito-frame lm-Widget lm-mod-hidden hidden" and beside[0][1]["class"] == "spartito-table"
    assert '[data-jp-theme-light="false"] .spartito-frame iframe,.vscode-dark .spartito-frame iframe{color-scheme:dark}' in text
    assert len(text.encode()) <= frame.LIMIT == 100_000


WAITS = PROGRAM.format(n=3) + """
import threading, time
kept = [bytearray(5000) for i in range(50)]
t = threading.Thread(target=time.sleep, args=(0.01,))
t.start(); t.join()
"""


@needs_viewer
@pytest.mark.parametrize(("option", "kind", "fewer"), [("--memory-profile", "memory", memory), ("--waits", "locks", locks)])
def test_what_was_asked_for_is_in_the_frame_and_in_the_table(tmp_path, option, kind, fewer):
    place = measure(tmp_path / "x", WAITS, option)
    text = Result(place).html()
    inner = Frame(text).inner
    whole = payload.unpack(kinds.open_experiment(str(place)).get(kind, {}))
    possible = []
    for n in ROWS_OF_TABLES:
        whole = fewer.shortened(*whole, n)
        possible.append(whole[0])
    assert payload.unpack(inner.blocks[kind])[0] in possible
    assert inner.blocks["script"] == page.asset("cellmore.js")
    assert len(text.encode()) <= frame.LIMIT
    words = " ".join(Frame(text).words.split())
    for line in Result(place).text().split("\n")[1:-3]:
        assert all(word in words for word in line.split()), line


def test_fewer_rows_are_those_with_the_most(tmp_path):
    """When a table is too large for a frame, its largest rows are kept."""
    place = measure(tmp_path / "x", WAITS, "--memory-profile", "--waits")
    experiment = kinds.open_experiment(str(place))
    whole, columns = payload.unpack(experiment.get("memory", {}))
    fewer, points = memory.shortened(whole, columns, 1)
    assert payload.unpack(payload.repack(fewer, points))[0] == fewer
    (process,), (before,) = fewer["processes"], whole["processes"]
    assert process["rows"] == [0, len(points["at"])] and len(points["at"]) <= min(8, before["rows"][1])
    assert max(points["heap"]) == max(columns["heap"]) and list(points["at"]) == sorted(points["at"])
    for what in ("peak_bytes", "left_bytes", "bytes"):
        assert max(row[what] for row in fewer["lines"]) == max(row[what] for row in whole["lines"])
    assert not [row for row in tables.written(experiment).parts[0][1] if row[3] == "0"]  # without functions that only allocated
    assert len(fewer["lines"]) <= 4 and fewer["hidden"][0] + len(fewer["lines"]) == whole["hidden"][0] + len(whole["lines"])
    assert {str(row["path"]) for row in fewer["paths"]} == fewer["stacks"].keys()
    whole = payload.unpack(experiment.get("locks", {}))[0]
    fewer, _ = locks.shortened(whole, {}, 1)
    (longest,) = fewer["waits"]
    assert longest == max(whole["waits"], key=lambda wait: wait["time"]) and fewer["hidden"] == len(whole["waits"]) - 1
    assert fewer["objects"][longest["object"]] == whole["objects"][longest["object"]]
    assert fewer["stacks"][longest["stack"]] == whole["stacks"][longest["stack"]]


@needs_viewer
def test_what_changed_is_in_the_table_of_a_comparison(directory, other):
    text = Result(other).diff(directory)._repr_mimebundle_()
    words = " ".join(Frame(text["text/html"]).words.split())
    for line in text["text/plain"].split("\n"):
        assert all(word in words for word in line.split()), line


@needs_viewer
def test_the_icicle_of_a_metric_is_in_the_frame(tmp_path):
    touching = PROGRAM.format(n=3).replace("sum(range(n))", "b'x' * (1 << 24)")
    place = measure(tmp_path / "x", touching, "--metric", "rusage:ru_minflt")
    blocks = Frame(Result(place).html()).inner.blocks
    asked = {"metric": "ru_minflt", "limit": "20000"}
    assert blocks["tree?metric=ru_minflt"] == kinds.open_experiment(str(place)).get("tree", asked)


@needs_viewer
def test_of_very_many_functions_those_with_the_most_time_are_there(tmp_path):
    program = "\n".join(f"def a_function_with_a_name_of_its_own_{i}(): pass" for i in range(4000))
    place = measure(tmp_path / "x", program + "\nfor i in range(4000): globals()[f'a_function_with_a_name_of_its_own_{i}']()\n")
    text, model = Result(place).html(), Model(str(place))
    inner = Frame(text).inner
    assert len(text.encode()) <= frame.LIMIT
    meta, flat = payload.unpack(inner.blocks["flat"])
    rows = model.flat(limit=len(flat["region"]))
    assert 100 <= len(rows) < meta["functions"] == 4001 and sorted(flat["excl"]) == sorted(row["excl"] for row in rows)
    names = payload.unpack(inner.blocks["regions"])[0]["names"]
    assert {names[region] for region in flat["region"]} <= {row["name"] for row in model.flat()}
    shown = payload.unpack(inner.blocks["tree"])[1]["region"]
    assert len(shown) > 100 and all(names[region] for region in shown if region != payload.NONE)
    pruned = payload.unpack(inner.blocks["facts"])[0]["pruned"]
    assert pruned[0].startswith(f"Of 4,001 functions the table has the {len(rows):,} with the most running time; ")


@needs_viewer
def test_of_very_many_threads_all_have_their_names(tmp_path):
    program = "import threading\nfor i in range(800):\n    t = threading.Thread(target=len, args=('',))\n    t.start(); t.join()\n"
    place = measure(tmp_path / "x", program, "--waits", "--memory-profile")
    text = Result(place).html()
    inner = Frame(text).inner
    assert len(text.encode()) <= frame.LIMIT and {"memory", "locks"} <= inner.blocks.keys()
    named = [at["name"] for at in payload.unpack(inner.blocks["facts"])[0]["locations"]]
    assert named == [at["name"] for at in Model(str(place)).info()["locations"]]


@needs_viewer
def test_data_that_does_not_fit_is_summed_up_and_reported(deep, tmp_path):
    assert len(Result(deep).html().encode()) <= frame.LIMIT
    whole = Result(deep).html(frame.MAX_BYTES)
    there = payload.unpack(Frame(whole).inner.blocks["tree"])[0]["paths"]
    assert there > 20_000 and len(whole.encode()) < frame.MAX_BYTES
    constant = frame._around(False)[2]
    text = Result(deep).html(constant + 80_000)
    assert len(text.encode()) <= constant + 80_000
    inner = Frame(text).inner
    meta, tree = payload.unpack(inner.blocks["tree"])
    assert meta["shown"] < meta["paths"] == there and sum(tree["excl"]) == pytest.approx(meta["total"])
    pruned = payload.unpack(inner.blocks["facts"])[0]["pruned"]
    begin = f"Of {there:,} call paths the {meta['shown']:,} with the most time are here"
    (of_paths,) = [text for text in pruned if text.startswith(begin)]
    assert "`spartito view` on the experiment's directory" in of_paths
    # for a cell, the message names the magic that shows more
    shutil.copytree(deep, tmp_path / "cell")
    known = json.loads((tmp_path / "cell" / "experiment.json").read_text())
    (tmp_path / "cell" / "experiment.json").write_text(json.dumps({**known, "command": ["In[7]"]}))
    inner = Frame(Result(tmp_path / "cell").html(constant + 80_000)).inner
    assert payload.unpack(inner.blocks["facts"])[0]["pruned"][-1].endswith("; `%spartito_view` shows all of it.")
    with pytest.raises(ResultError, match="the result cannot be shown within 1.0 KiB: the names and numbers"):
        Result(deep).html(1024)


def test_only_what_is_wanted_is_made(directory, monkeypatch):
    assert set(Result(directory)._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(Result(directory)._repr_mimebundle_(exclude={"text/html"})) == {"text/plain"}
    monkeypatch.setattr(page, "STATIC", "/nowhere")
    frame._around.cache_clear()
    bundle = Result(directory)._repr_mimebundle_()
    frame._around.cache_clear()
    assert set(bundle) == {"text/plain"} and "built without the viewer" in bundle["text/plain"].split("\n")[-1]


def test_what_is_no_experiment_is_one_sentence(tmp_path):
    with pytest.raises(ResultError, match="there is no such experiment"):
        Result(tmp_path / "gone")
    with pytest.raises(ResultError, match="is not the directory of an experiment"):
        Result(__file__)
    (tmp_path / "gone").mkdir()
    gone = Result(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert repr(gone) == f"<spartito: {tmp_path}/gone: there is no such experiment>"
    assert gone._repr_mimebundle_() == {"text/plain": f"spartito: {tmp_path}/gone: there is no such experiment"}
    for ask in (gone.text, gone.html, gone.to_dataframe, gone.view, lambda: gone.total, lambda: gone.save(tmp_path / "z")):
        with pytest.raises(ResultError, match="there is no such experiment") as raised:
            ask()
        # IPython shows this instead of a traceback
        assert raised.value._render_traceback_() == [f"spartito: {tmp_path}/gone: there is no such experiment"]


def test_another_experiment_in_the_same_place(tmp_path):
    place = measure(tmp_path / "x", PROGRAM.format(n=3))
    assert " 5 calls " in repr(Result(place))
    os.rename(place, tmp_path / "before")
    measure(place, PROGRAM.format(n=7))
    assert " 9 calls " in repr(Result(place))


def test_tables_are_those_of_load(directory):
    pandas = pytest.importorskip("pandas")
    results, expected = Result(directory), spartito.load(directory)
    for name in ("regions", "call_paths", "lines", "locations"):
        table = results.to_dataframe(name)
        pandas.testing.assert_frame_equal(table, getattr(expected, name)())
        assert table.attrs["units"] == getattr(expected, name)().attrs["units"]
    regions = results.to_dataframe()
    assert dict(zip(regions.qualname, regions.visits)) == {"<module>": 1, "branch": 1, "leaf": 100}
    assert regions.exclusive_time.sum() == pytest.approx(results.total)
    with pytest.raises(ResultError, match="there is no table 'line'; there are regions, call_paths, lines"):
        results.to_dataframe("line")
    with pytest.raises(ResultError, match="no memory was recorded"):
        results.to_dataframe("memory")


def test_without_pandas(directory, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas, which is not installed: pip install pandas"):
        Result(directory).to_dataframe()


def test_a_copy_is_whole_or_not_made(directory, tmp_path, monkeypatch):
    assert Result(directory).save(tmp_path / "copy") == str(tmp_path / "copy")
    assert Model(str(tmp_path / "copy")).flat() == Model(str(directory)).flat()
    with pytest.raises(ResultError, match="copy already exists; choose another name"):
        Result(directory).save(tmp_path / "copy")
    with pytest.raises(ResultError, match="is within the result itself"):
        Result(directory).save(directory / "raw" / "more")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="file/copy[^:]*: Not a directory"):
        Result(directory).save(tmp_path / "file" / "copy")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(ResultError, match="No space left on device"):
        Result(directory).save(tmp_path / "second")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "file"]


@needs_viewer
def test_the_page_as_one_file(directory, tmp_path):
    path = Result(directory).save(tmp_path / "page.html")
    inside = Frame(Path(path).read_text(encoding="utf-8"))
    assert inside.blocks["flat"] == kinds.open_experiment(str(directory)).get("flat", {})


def test_a_comparison(tmp_path):
    # large enough for a sentence about the change; the start of the interpreter may take any time
    before = measure(tmp_path / "x", PROGRAM.format(n=3000), "--only-mine")
    after = measure(tmp_path / "y", PROGRAM.format(n=3000).replace("leaf", "twig"), "--only-mine")
    diff = Result(after).diff(Result(before))
    assert isinstance(diff, Comparison)
    text = diff.text()
    assert f"A  {before}" in text and f"B  {after}" in text
    assert "twig is new" in text and "leaf is gone" in text
    bundle = diff._repr_mimebundle_()
    assert bundle["text/plain"] == text
    if "text/html" in bundle:
        facts = payload.unpack(Frame(bundle["text/html"]).inner.blocks["facts"])[0]
        assert facts["has"]["compare"] and "compare" in Frame(bundle["text/html"]).inner.blocks
    with pytest.raises(ResultError, match="a result is not compared with itself"):
        Result(after).diff(after)


def test_a_comparison_without_the_cost_of_measuring(directory, other):
    diff = Result(other, compensate=True).diff(directory)
    assert "which has been taken out of the times" in diff.text()
    for run in (diff.before, diff.after):
        times = {row["name"]: row["excl"] for row in Model(run.directory, compensate=True).flat()}
        assert {row["name"]: row["excl"] for row in run.model.flat()} == times


def asked(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read()


def gone(url):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            asked(url)
        except (OSError, http.client.HTTPException):  # the server may end while it answers
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.05)


@needs_viewer
def test_the_viewer_is_a_separate_process(directory):
    shown = Result(directory).view()
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", str(shown))
        assert asked(shown.url + "data/flat") == kinds.open_experiment(str(directory)).get("flat", {})
        assert shown.url in shown._repr_mimebundle_()["text/html"]
    finally:
        shown.close()
    assert gone(shown.url)


@needs_viewer
@pytest.mark.parametrize("end", ["pass", "import os; os.kill(os.getpid(), 9)"])
def test_the_viewer_ends_with_its_kernel(directory, end):
    code = f"from spartito.notebook.result import Result; print(Result({str(directory)!r}).view(), flush=True); input(); {end}"
    kernel = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = kernel.stdout.readline().strip()
    assert asked(url)
    kernel.communicate("\n")
    assert gone(url)


@needs_viewer
def test_the_viewer_behind_jupyters_server(directory, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jupyter_server_proxy", types.ModuleType("jupyter_server_proxy"))
    monkeypatch.setattr(sys.modules["jupyter_server_proxy"], "__spec__", object(), raising=False)
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    shown = Result(directory).view()
    try:
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", shown.url).groups()
        assert shown.link == f"/user/ada/proxy/{port}/{token}/"
        # a hub may have any host name
        request = urllib.request.Request(shown.url, headers={"Host": "hub.example"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert b"app.js" in answer.read()
        request = urllib.request.Request(shown.url.replace(token, "x" * 43), headers={"Host": "hub.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=PATIENCE)
    finally:
        shown.close()
