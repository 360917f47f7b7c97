# SPDX-License-Identifier: BSD-3-Clause
"""Several measurements, one after the other, in the same process."""

import subprocess
import sys

import pytest
from programs import HOOKS
from spartito.analysis import Model
from spartito.experiments import contents

START = """\
import linecache, os
from spartito import _measure as measure
def start(name, **settings):
    os.makedirs(name + "/raw")
    measure.start(os.path.abspath(name), dict(settings, open_frames="0"))
"""


def run(tmp_path, text):
    (tmp_path / "program.py").write_text(START + text)
    # Python 3.12 and later warn of fork() in a process with threads
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", ["cell", "<ipython-input-1-0123456789ab>"])  # file names of cells in a kernel and in a terminal
def test_the_source_of_a_cell_is_kept_in_each_measurement(tmp_path, file):
    run(
        tmp_path,
        f"text, name, names = 'def f():\\n    pass\\n', {file!r}, {{'__name__': '__main__'}}\n"
        "linecache.cache[name] = len(text), None, text.splitlines(True), name\n"
        "exec(compile(text, name, 'exec'), names)\n"
        "measure.cells({name: 1})\n"
        "for n in range(3):\n"
        "    start(str(n))\n"
        "    names['f']()\n"
        "    measure.stop()\n",
    )
    assert [(tmp_path / n / "source" / "In[1]").read_text() for n in "012"] == 3 * ["def f():\n    pass\n"]


def test_what_an_event_costs_is_found_once(tmp_path, monkeypatch):
    """The cost of an event is calibrated once, and again when the kind of events changes."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/none")  # no such directory: nothing is shared with other processes
    names = ("a", "b", "traced0", "c0", "traced1", "c1", "traced2", "c2")
    run(
        tmp_path,
        f"for name in {names}:\n    start(name, **({{'trace': '1'}} if 'traced' in name else {{}}))\n    measure.stop()\n",
    )
    processes = {name: Model(str(tmp_path / name)).info()["processes"][0] for name in names}
    costs = {name: (process["cost_in"], process["cost_out"]) for name, process in processes.items()}
    assert costs["a"] == costs["b"] and sum(costs["a"]) > 0
    # two calibrations may give the same value by chance, but not all of them
    assert 3 in [len({costs["b"], costs[f"traced{n}"], costs[f"c{n}"]}) for n in range(3)], costs


@pytest.mark.parametrize("filters", [{"only_mine": "1"}, {"filter": "-*"}], ids=["only-mine", "filter"])
def test_filters_do_not_change_what_an_event_costs(tmp_path, monkeypatch, filters):
    """The calibration's loop is recorded even if the filters leave out such code."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/none")
    run(tmp_path, f"start('run', **{filters})\nmeasure.stop()\n")
    process = Model(str(tmp_path / "run")).info()["processes"][0]
    assert process["cost_in"] + process["cost_out"] > 1e-9


def test_what_a_function_was_long_ago_is_forgotten(tmp_path):
    """The cached state of a function, in a word of its code object, contains the generation number of the recorder's settings.
    After 65,536 changes of settings the number repeats: state from an earlier measurement must not be used again."""
    run(
        tmp_path,
        "def before(): pass\n"
        "def f(): pass\n"
        "start('first')\n"
        "before(); f()\n"
        "measure.stop()\n"
        "start('second')\n"
        "for _ in range((1 << 16) - 1):\n"
        "    measure.annotate(False)\n"
        "f()\n"
        "measure.stop()\n",
    )
    assert [row["name"] for row in Model(str(tmp_path / "second")).flat() if row["visits"]] == ["__main__:f"]


def test_the_pth_file_is_read_again(tmp_path):
    """The .pth file that starts a measurement is read again, by site.addsitedir(), in the interpreter that is measured."""
    run(
        tmp_path,
        "import site, spartito\n"
        "place = os.path.dirname(os.path.dirname(spartito.__file__))\n"
        "def inner(): pass\n"
        "def outer():\n"
        "    os.environ['SPARTITO_EXPERIMENT'] = os.path.abspath('e')\n"
        "    site.addsitedir(place)\n"
        "    inner()\n"
        "os.makedirs('e/raw')\n"
        "measure.start(os.path.abspath('e'), {})\n"
        "outer()\n"
        "measure.stop()\n",
    )
    model = Model(str(tmp_path / "e"))
    own = [(row["qualname"], row["depth"], row["visits"]) for row in model.tree() if row["qualname"] in ("outer", "inner")]
    assert own == [("outer", 1, 1), ("inner", 2, 1)]
    assert not model.info()["problems"]


def test_a_child_of_fork_leaves_what_is_over_to_its_parent(tmp_path):
    """In the parent another thread may still be within an event of an ended measurement, so its files stay mapped. The child has no
    such thread. After the child reported that it runs, it calls no Python function: the hook would find that its measurement is
    over."""
    run(
        tmp_path,
        "import threading, time\n"
        "def kept(): return [line for line in open('/proc/self/maps') if '/first/raw/' in line]\n"
        "go, here = threading.Lock(), threading.Lock()\n"
        "go.acquire(), here.acquire()\n"
        "def work():\n"
        "    here.release()\n"
        "    go.acquire()\n"
        "start('first')\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "here.acquire()\n"
        "measure.stop()\n"
        "start('second')\n"
        "measure.stop()\n"
        "assert kept()\n"
        "child = os.fork()\n"
        "if not child: os._exit(len(kept()))\n"
        "status = os.waitpid(child, 0)[1]\n"
        "go.release()\n"
        "thread.join()\n"
        "end = time.monotonic() + 100\n"
        "while kept() and time.monotonic() < end: time.sleep(0.001)  # it may be joined a moment before its end\n"
        "assert status == 0 and not kept()\n",
    )


def test_a_long_setting_is_complete(tmp_path):
    """A setting longer than usual is complete, and so are the settings after it, in the recorder and in its file."""
    patterns = [f"-some.package.module_{n}:function_{n}" for n in range(1000)]
    run(
        tmp_path,
        f"patterns = {patterns!r}\n"
        "start('long', filter='\\n'.join(patterns), depth='77', scorep='1')\n"
        "settings = dict(measure.settings())\n"
        "measure.stop()\n"
        "assert settings['filter'].split('\\n') == patterns, settings\n"
        "found = (settings['depth'], settings['trace_memory'], settings['when_full'], settings['trace'])\n"
        "assert found == ('77', str(512 << 20), 'flush', '0'), settings\n",
    )
    written = contents.settings(Model(str(tmp_path / "long")).info())
    assert written["filter"].split("\n") == patterns
    assert (written["depth"], written["scorep"], written["clock"], written["label_limit"]) == ("77", "1", "auto", "10000")


@pytest.mark.skipif("setprofile" not in HOOKS, reason="this Python has no hook setprofile")
def test_another_profiler_stays(tmp_path):
    """Another profile function, written in C, replaced Spartito's during the measurement: the end of the measurement keeps it."""
    text = """
import ctypes, threading
import spartito
seen = []
TYPE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
@TYPE
def other(self, frame, what, arg):
    seen.append(what)
    return 0
def work():
    pass
def own(ready, over):
    ctypes.pythonapi.PyEval_SetProfile(other, None)
    ready.set()
    over.wait()
    seen.clear()
    work()
    print(len(seen) > 0)
    ctypes.pythonapi.PyEval_SetProfile(None, None)
spartito.start("x", hook="setprofile")
ready, over = threading.Event(), threading.Event()
t = threading.Thread(target=own, args=(ready, over))
t.start()
ready.wait()
spartito.stop()
over.set()
t.join()
"""
    (tmp_path / "program.py").write_text(text)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
