# SPDX-License-Identifier: BSD-3-Clause
"""`spartito view --live`: a page that follows a run, in a real browser; its server; one message for each refusal."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from commandline import run
from spartito.analysis import Error, Model
from spartito.view import live as living
from spartito.view import pool, wire
from test_faults_input import one_line
from test_sample_stacks import running
from viewing import Viewer, needs_viewer

# each line of input is a function to call; both compute, so that they are the first rows of a table that shows only some
STEPS = """
import sys, threading
def first():
    for _ in range(1_000_000): pass
def second():
    for _ in range(500_000): pass
def waits(): threading.Event().wait()
first()
threading.Thread(target=waits, daemon=True).start()
print("called first", flush=True)
for line in sys.stdin:
    globals()[line.strip()]()
    print("called", line.strip(), flush=True)
"""


class Steps:
    """A measured program that calls functions on request."""

    def __init__(self, place, *options):
        (place / "steps.py").write_text(STEPS)
        command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "x", *options, "--", sys.executable, "steps.py"]
        self.process = subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "called first\n"

    def call(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"called {name}\n"

    def end(self):
        self.process.stdin.close()
        return self.process.wait(100)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


SAYS = "(document.querySelector('header .live')?.innerText ?? '')"
ROWS = "[...document.querySelectorAll('[role=row]')]"
FUNCTIONS = f"{ROWS}.map((row) => row.innerText).join(' ')"


def has(name):
    return f"{FUNCTIONS}.includes('__main__:{name}')"


def click(viewer, text):
    viewer.page.evaluate(f"[...document.querySelectorAll('header button')].find((b) => b.innerText === {text!r}).click()")


@pytest.fixture
def steps(tmp_path):
    with Steps(tmp_path, "--trace") as program:
        yield program


@pytest.fixture
def viewer(steps, tmp_path, tmp_path_factory):
    v = Viewer(tmp_path / "x", tmp_path_factory.mktemp("browser"), "--live")
    yield v
    assert not v.page.exceptions()
    v.close()


def selected(viewer):
    """The name of the selected function."""
    return viewer.page.evaluate("document.querySelector('.chips')?.innerText ?? ''")


class TestPage:
    pytestmark = needs_viewer

    def test_it_follows_the_run_and_is_the_plain_viewer_at_the_end(self, steps, viewer, tmp_path):
        viewer.open("view=table")
        page = viewer.page
        page.wait_for(f"/^live, \\d+ s ago/.test({SAYS})")
        page.evaluate("window.marked = true")
        page.wait_for(has("first"))
        assert not page.evaluate(has("second"))
        page.evaluate(f"{ROWS}.find((row) => row.innerText.includes('__main__:first')).click()")
        page.wait_for("window.spartito.state().selection.region !== undefined")
        viewer.ready()
        before = selected(viewer)
        assert "__main__:first" in before
        steps.call("second")
        page.wait_for(has("second"))
        viewer.ready()
        assert selected(viewer) == before and page.evaluate("window.marked")
        click(viewer, "Pause")
        page.wait_for(f"{SAYS}.startsWith('paused')")
        assert steps.end() == 0
        click(viewer, "Resume")
        page.wait_for(f"{SAYS} === ''")
        viewer.ready()
        assert page.evaluate("window.marked") and selected(viewer) == before
        model = Model(str(tmp_path / "x"))
        facts = page.evaluate("window.spartito.store.source.get('facts').then((columns) => columns.meta)")
        info = model.info()
        assert facts["visits"] == sum(loc["visits"] for loc in info["locations"])
        assert facts["processes"][0]["ended"] == "normal" and not facts["lost"]
        # a page that is loaded now is the plain viewer
        viewer.open("view=table")
        assert page.evaluate(SAYS) == "" and page.evaluate(has("second"))

    def test_the_timeline_keeps_its_zoom(self, steps, viewer):
        viewer.open("view=timeline")
        viewer.focus("canvas")
        viewer.key("+", "+")
        zoomed = viewer.ready()
        length = zoomed["whole"]["end"]
        assert zoomed["span"]["end"] - zoomed["span"]["begin"] < length
        steps.call("second")
        viewer.page.wait_for(f"window.spartito.state().view.whole.end > {length}")
        later = viewer.ready()
        assert later["span"] == pytest.approx(zoomed["span"])
        viewer.key("0")
        whole = viewer.ready()
        steps.call("first")
        viewer.page.wait_for(f"window.spartito.state().view.whole.end > {whole['whole']['end']}")
        later = viewer.ready()
        assert later["span"] == later["whole"]


@needs_viewer[1]
def test_the_server_refuses_what_it_does_not_know(steps, tmp_path, spartito):
    command = [*spartito, "view", "--live", "--no-browser", str(tmp_path / "x")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        url = server.stdout.readline().strip()

        def status(path, where=url, **headers):
            try:
                with urllib.request.urlopen(urllib.request.Request(where + path, headers=headers), timeout=100) as answer:
                    return answer.status
            except urllib.error.HTTPError as e:
                return e.code

        state = "live?version=1&paused=0"
        with urllib.request.urlopen(url + state, timeout=100) as answer:
            found = json.loads(answer.read())
        assert found["running"] and found["version"] >= 1 and found["age"] >= 0
        assert status("data/1/facts") == status("data/facts") == 200
        assert status("data/99/facts") == 410
        assert {status(path) for path in ("live", "live?version=x&paused=0", "data/0/facts")} == {404}
        other = url.rsplit("/", 2)[0] + "/" + "t" * 43 + "/"
        assert status(state, other) == status(state, Origin="http://example.org") == 403
        assert status(state, **{"Sec-Fetch-Site": "cross-site"}) == 403
        server.terminate()
        assert server.wait(100) == 0


class Fake:
    """A loader. next: what load() returns."""

    def __init__(self):
        self.running, self.next, self.loads = True, object(), 0
        self.directory = "nowhere"

    def load(self):
        self.loads += 1
        if isinstance(self.next, Exception):
            raise self.next
        return self.next


def test_nothing_is_loaded_unless_a_page_asks_and_old_versions_are_forgotten(monkeypatch, capsys):
    for name, value in (("PERIOD", 0), ("SHARE", float("inf")), ("TURN", 0.001)):
        monkeypatch.setattr(living, name, value)
    loader = Fake()

    async def until(condition, ask=lambda: None):
        while not condition():
            ask()
            await asyncio.sleep(0.001)

    async def play():
        live = living.Live(loader, object(), pool.Pool(1))
        loop = asyncio.ensure_future(live.run())
        turns = iter(range(100))
        await until(lambda: next(turns) == 99, lambda: live.state(1, True))
        assert loader.loads == 0 and live.state(1, True)["running"]
        await until(lambda: live.newest >= 2, lambda: live.state(1, False))
        loader.next = None  # a state that seems damaged
        loads = loader.loads
        await until(lambda: loader.loads > loads + 1, lambda: live.state(1, False))  # a load may have begun before
        newest, loads = live.newest, loader.loads
        await until(lambda: loader.loads > loads + 1, lambda: live.state(1, False))
        assert live.newest == newest and live.answers(newest).experiment is not None
        monkeypatch.setattr(living, "KEPT", -1)
        await until(lambda: list(live.versions) == [newest])
        with pytest.raises(wire.Bad, match="not kept any more"):
            live.answers(1)
        monkeypatch.setattr(living, "KEPT", 1000)
        loader.next = Error("nowhere: there are no raw files")
        await until(lambda: not live.running, lambda: live.state(newest, False))
        assert live.state(newest, False)["version"] == newest
        loop.cancel()

    asyncio.run(play())
    assert capsys.readouterr().err == "spartito: view: the end of the run cannot be read: nowhere: there are no raw files\n"


BUSY = """
import sys, threading
def leaf(n): return bytearray(n)
def deep(n): return leaf(n) if n == 0 else deep(n - 1)
def work(n):
    while not ended.is_set():
        space = {}
        exec(f"def made_{n}(): pass\\nfor _ in range(500): made_{n}()", space)
        deep(n % 50)
        n += 1
ended = threading.Event()
threads = [threading.Thread(target=work, args=(1_000_000 * i,)) for i in range(4)]
for t in threads: t.start()
print("ready", flush=True)
sys.stdin.readline()
ended.set()
"""


def test_what_a_program_is_just_writing_is_no_damage(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "--memory-profile", "-o", "x", "--", sys.executable]
    with subprocess.Popen([*command, "busy.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        loader = living.Loader(str(tmp_path / "x"))
        visits = []
        for _ in range(30):
            experiment = loader.load()
            assert loader.running
            if experiment is not None:
                facts = experiment.facts()
                assert facts["problems"] == [] and not any("damaged" in text for text in facts["lost"])
                visits.append(facts["visits"])
        assert len(visits) > 10 and visits == sorted(visits)
        program.stdin.write("\n")
        program.stdin.close()
        assert program.wait() == 0
    last = loader.first()
    locations = Model(str(tmp_path / "x")).info()["locations"]
    assert not loader.running and last.facts()["visits"] == sum(loc["visits"] for loc in locations)


def test_damage_that_stays_is_shown(tmp_path):
    with Steps(tmp_path) as program:
        assert program.end() == 0
    (raw,) = (tmp_path / "x" / "raw").glob("*.raw")
    data = bytearray(raw.read_bytes())
    data[4096 + 4096 : 4096 + 4100] = b"oops"
    raw.write_bytes(data)
    loader = living.Loader(str(tmp_path / "x"))
    assert loader.first().facts()["problems"] or loader.first().facts()["lost"]


def test_a_process_is_sampled(spartito, tmp_path):
    with running("def busy():\n while True: sum(range(1000))\nprint('ready', flush=True); busy()") as p:
        command = [*spartito, "view", "--live", "--no-browser", str(p.pid)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            url = server.stdout.readline().strip()
            names = b""
            while b"__main__:busy" not in names:
                for path in ("live?version=1&paused=0", "data/regions"):
                    with urllib.request.urlopen(url + path, timeout=100) as answer:
                        names = answer.read()
                time.sleep(0.2)
            server.terminate()
            error = server.stderr.read()
            assert server.wait(100) == 0
        (made,) = tmp_path.iterdir()
        assert error.endswith(f"spartito: the samples are in {made.name}\n") and p.poll() is None
    info = Model(str(made)).info()
    assert [process["pid"] for process in info["processes"]] == [p.pid]
    assert json.loads((made / "experiment.json").read_text())["attached"] == "runs"


def test_sampling_ends_with_a_killed_server(spartito, tmp_path):
    with running("def busy():\n while True: sum(range(1000))\nprint('ready', flush=True); busy()") as p:
        command = [*spartito, "view", "--live", "--no-browser", str(p.pid)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline()
            server.kill()
        (made,) = tmp_path.iterdir()
        until = time.monotonic() + 100
        while json.loads((made / "experiment.json").read_text())["end"] is None:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert p.poll() is None
        assert json.loads((made / "experiment.json").read_text())["attached"] == "runs"


def test_a_run_that_has_ended_is_shown_plainly(spartito, tmp_path):
    with Steps(tmp_path) as program:
        assert program.end() == 0
    command = [*spartito, "view", "--live", "--no-browser", "x"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=100) as answer:
            assert b"data-live" not in answer.read()
        server.terminate()
        assert "spartito: the run in x has ended; this shows all of it\n" in server.stderr.read()


@pytest.mark.parametrize("words, status, error", [
    (("--live", "nowhere"), 1, "nowhere: there is no such experiment"),
    (("--live", "999999999"), 1, "there is no process 999999999"),
    (("--live", "--compare", "a", "b"), 2, "--live shows one run, without --compare"),
    (("--live", "a", "b"), 2, "one experiment at a time, not also 'b'"),
])
def test_targets_that_cannot_be(spartito, tmp_path, words, status, error):
    done = run(spartito, "view", "--no-browser", *words, cwd=tmp_path)
    one_line(done, error)
    assert done.returncode == status and list(tmp_path.iterdir()) == []
