# SPDX-License-Identifier: BSD-3-Clause
"""Python stacks of another process, read from outside, with the same Python version."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
import time

import pytest
from conftest import ROOT
from programs import WITHOUT_GIL
from spartito import _sample


@contextlib.contextmanager
def running(source, *arguments, cwd=None, python=sys.executable):
    """A program that prints 'ready' and runs until it is killed."""
    command = [python, "-c", textwrap.dedent(source), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            yield p
        finally:
            p.kill()


def while_waited_for():
    """Iterates for up to 100 s, then fails the test."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        yield
    pytest.fail("not seen in 100 s")


def stacks(process, depth=1024):
    """The threads of one read without a torn stack. A thread that loses its processor within a call is torn until it runs again."""
    for _ in while_waited_for():
        try:
            threads = process.stacks(depth)
        except BlockingIOError:
            continue
        if all(frames is not None for _, _, frames, _ in threads):
            return threads


def settled(process, depth=1024):
    """As stacks(), once all threads sleep and did not run in between: the main thread may still be returning from its print."""
    for _ in while_waited_for():
        before = [(tid, state, cpu) for tid, state, cpu, *_ in process.read_threads(1)]
        threads = stacks(process, depth)
        after = [(tid, state, cpu) for tid, state, cpu, *_ in process.read_threads(1)]
        if before == after and {state for _, state, _ in after} == {"idle"}:
            return threads


def names(frames):
    return [(module, qualname.rpartition(".")[2], line) for module, qualname, _, _, line, _, _ in frames]


def test_offsets_are_those_of_the_headers(tmp_path):
    exe = tmp_path / "offsets"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-w", f"-I{sysconfig.get_path('include')}", f"-I{sysconfig.get_path('platinclude')}",
                    str(ROOT / "tests" / "native" / "python_offsets.c"), "-o", str(exe)], check=True)
    printed = subprocess.run([str(exe)], check=True, capture_output=True, text=True).stdout.split()
    wanted = {name: None if value == "-" else int(value) for name, value in zip(printed[::2], printed[1::2])}
    assert _sample.offsets(sys.version_info[0] << 8 | sys.version_info[1], WITHOUT_GIL) == wanted


def test_frames_of_all_threads():
    source = """
        import threading, time
        def sleeps():
            print("ready", flush=True)
            time.sleep(1000)
        def generator():
            sleeps()
            yield
        class Thread:
            def __init__(self):
                for _ in generator():
                    pass
        threading.Thread(target=Thread, daemon=True).start()
        (lambda: time.sleep(1000))()
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        assert process.version == sys.version_info[:2] and process.alive()
        threads = {frames[-1][0]: (tid, names(frames)) for tid, _, frames, cut in settled(process) if not cut}
        assert threads["__main__"] == (p.pid, [("__main__", "<lambda>", 14), ("__main__", "<module>", 14)])
        tid, other = threads["threading"]
        assert tid != p.pid and os.path.exists(f"/proc/{p.pid}/task/{tid}")
        assert other[:3] == [("__main__", "sleeps", 5), ("__main__", "generator", 7), ("__main__", "__init__", 11)]
        assert [name for module, name, _ in other[3:]] == ["run", "_bootstrap_inner", "_bootstrap"]
        assert {tid, p.pid} == {thread[0] for thread in process.read_threads()}
        p.kill()
        p.wait()
        with pytest.raises(ProcessLookupError):
            process.stacks()
        assert not process.alive()


@pytest.mark.skipif(WITHOUT_GIL, reason="this Python has no GIL")
def test_holder_of_the_gil():
    source = """
        import threading, time
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        print("ready", flush=True)
        while True:
            pass
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        by_main = 0
        while by_main < 100:  # while a thread hands the GIL to another one, nobody holds it
            holders = [tid for tid, gil, _, _ in stacks(process) if gil]
            assert len(holders) <= 1
            by_main += holders == [p.pid]


def test_stacks_deeper_than_asked_for():
    source = """
        import sys, time, threading
        sys.setrecursionlimit(100000)
        threading.stack_size(512 << 20)
        def deeper(n):
            if n:
                deeper(n - 1)
            print("ready", flush=True)
            time.sleep(1000)
        threading.Thread(target=deeper, args=(50000,), daemon=True).start()
        time.sleep(1000)
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        for depth, cut in ((100, True), (60000, False)):
            frames, was_cut = next((frames, cut) for tid, _, frames, cut in settled(process, depth) if tid != p.pid)
            assert was_cut == cut and len(frames) == (100 if cut else 50001 + 3)
            assert {line for _, name, line in names(frames[1:50001])} == {7} and names(frames)[0][2] == 9


@pytest.mark.parametrize("depth", [30, 300, 5000])
def test_deep_stacks_that_move_are_of_one_moment(depth):
    """Each level is another function, in a fixed order: a stack read at two times would have a gap."""
    source = """
        import sys, threading
        depth = int(sys.argv[1])
        sys.setrecursionlimit(100000)
        threading.stack_size(256 << 20)
        scope = {}
        names = [f"f{i}" for i in range(100)]
        exec("".join(f"def {name}(n):\\n if n: {names[(i + 1) % 100]}(n - 1)\\n" for i, name in enumerate(names)), scope)
        def work():
            print("ready", flush=True)
            while True:
                scope["f0"](depth)
        threading.Thread(target=work, daemon=True).start()
        threading.Event().wait()
        """
    with running(source, str(depth)) as p:
        process = _sample.Process(p.pid)
        seen = deep = 0
        while seen < 50 or deep < 5:
            for _tid, _, frames, _ in process.stacks(10000) or ():
                called = [name for _, name, _ in names(frames or ()) if name[1:].isdigit()][::-1]
                assert called == [f"f{i % 100}" for i in range(len(called))]
                seen += bool(called)
                deep += len(called) > depth // 2


def test_a_generator_has_its_caller():
    """A suspended generator has no caller. One that ran at two reads may have been suspended between them."""
    source = """
        def generator(n):
            if n:
                for x in generator(n - 1): yield x
            while not n: yield
        def loops():
            print("ready", flush=True)
            for _ in generator(5): pass
        loops()
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        called = []
        while sum(called) < 500:
            for _tid, _, frames, _ in process.stacks() or ():
                found = [name for _, name, _ in names(frames or ())]
                if found:
                    assert found == ["generator"] * (len(found) - 2) + ["loops", "<module>"]
                    called.append(len(found) > 2)


def test_code_that_takes_the_place_of_another(tmp_path):
    source = """
        import sys
        def call(name):
            print(name if name != "f0" else "ready", flush=True)
            sys.stdin.readline()
        for i in range(50):
            code = compile(f"def f{i}():\\n call('f{i}')\\n", f"file{i}.py", "exec")
            exec(code)
            globals()[f"f{i}"]()
            del globals()[f"f{i}"], code
        """
    with running(source, cwd=tmp_path) as p:
        process = _sample.Process(p.pid)
        for i in range(50):
            (_, _, frames, _), = stacks(process)
            expected = [("call", "<string>"), (f"f{i}", f"{tmp_path}/file{i}.py"), ("<module>", "<string>")]
            assert [(f[1], f[2]) for f in frames] == expected
            p.stdin.write("\n")
            p.stdin.flush()
            p.stdout.readline()


def test_processes_that_have_no_python():
    with subprocess.Popen(["sleep", "1000"]) as p:
        message = ""
        while "runs no Python" not in message:  # before it executes sleep, the child is a fork of this Python
            try:
                _sample.Process(p.pid)
            except FileNotFoundError as e:
                message = e.strerror
        p.kill()
    assert re.fullmatch(rf"process {p.pid} runs no Python \(/.*\)", message)
    with pytest.raises(ProcessLookupError, match=f"there is no process {p.pid}"):
        _sample.Process(p.pid)


def test_process_in_its_start():
    for _ in range(20):
        with subprocess.Popen([sys.executable, "-c", "pass"]) as p:
            seen = set()
            while p.poll() is None:
                try:
                    seen.update(names(frames)[-1][0] for _, _, frames, _ in _sample.Process(p.pid).stacks() if frames)
                except OSError as e:
                    assert e.strerror and str(p.pid) in e.strerror or e.strerror.startswith(("Python in it", "its threads"))
            assert p.returncode == 0


SHAPES = '''
import functools, os, sys

def pause():
    print(flush=True)
    sys.stdin.readline()

def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)
    return wrapper

class Outer:
    class Inner:
        @staticmethod
        def still(): pause()
        @decorated
        @decorated
        def method(self):
            return [pause() for _ in range(2)]
    @property
    def value(self):
        return sum(pause() or 1 for _ in range(2))

def closes(n):
    text = """
def not_this():
    pass
    """
    def inner(
        a,
        b=(lambda: 1),
    ):
        class Local:
            def late(self):
                pause()
        Local().late()
        (lambda: pause())()
    inner(1)
    yield n

async def waits():
    pause()

os.chdir("/")
Outer.Inner.still()
Outer.Inner().method()
Outer().value
list(closes(1))
coroutine = waits()
try:
    coroutine.send(None)
except StopIteration:
    pass
namespace = {"pause": pause}
exec("def nowhere():\\n pause()\\nnowhere()", namespace)
# a pickle makes such a name anew, so it is not the interpreter's own
namespace = {"pause": pause, "__na" + "".join("me__"): "pickled"}
exec("def unpickled():\\n pause()\\nunpickled()", namespace)
'''


def test_functions_are_called_as_the_recorder_calls_them(tmp_path, spartito):
    (tmp_path / "shapes.py").write_text(SHAPES, encoding="utf-8")
    command = [*spartito, "run", "-q", "-o", "out", "shapes.py"]
    subprocess.run(command, cwd=tmp_path, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    report = subprocess.run([*spartito, "report", "--limit", "0", "--json", "out"], cwd=tmp_path, check=True,
                            capture_output=True, text=True)
    recorded = {(row["module"], row["qualname"], row["file"], row["line"]) for row in json.loads(report.stdout)["rows"]}
    seen = set()
    environment = {**os.environ, "PWD": str(tmp_path)}  # as a shell sets it
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "shapes.py"], cwd=tmp_path, env=environment, **pipes) as p:
        for _ in p.stdout:  # the program continues after it was sampled
            seen.update(frame[:4] for _, _, frames, _ in stacks(_sample.Process(p.pid)) for frame in frames)
            p.stdin.write("\n")
            p.stdin.flush()
        assert p.wait() == 0
    of_program = {row for row in seen if row[2].endswith("shapes.py") and row[1] != "<module>"}
    assert of_program <= recorded
    found = {qualname for _, qualname, _, _ in of_program}
    assert {"Outer.Inner.still", "Outer.Inner.method", "decorated.<locals>.wrapper", "Outer.value",
            "Outer.value.<locals>.<genexpr>", "closes", "closes.<locals>.inner", "closes.<locals>.inner.<locals>.Local.late",
            "closes.<locals>.inner.<locals>.<lambda>", "waits"} <= found
    assert {("unknown", "nowhere", "<string>", 1), ("pickled", "unpickled", "<string>", 1)} <= seen & recorded


def test_sub_interpreters():
    source = """
        import threading, time
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        code = "import time\\ndef inside():\\n print('ready', flush=True)\\n time.sleep(1000)\\ninside()"
        def runs():
            interpreters.run_string(interpreters.create(), code)
        threading.Thread(target=runs, daemon=True).start()
        time.sleep(1000)
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        threads = settled(process)
        assert len(threads) == 3
        inner = next((tid, names(frames)) for tid, _, frames, _ in threads if any(f[1] == "inside" for f in frames))
        assert inner[1][0] == ("__main__", "inside", 4) and inner[1][-1] == ("__main__", "<module>", 5)
        outer = [tid for tid, _, frames, _ in threads if any(f[1] == "runs" for f in frames)]
        assert outer == [inner[0]] and inner[0] != p.pid
        # in the whole thread, frames of the sub-interpreter are above those of the caller
        (frames,) = [frames for tid, _, _, _, frames, _ in process.read_threads() if tid == inner[0]]
        found = [f[1] for f in frames]
        assert found[:3] == ["inside", "<module>", "runs"] and found[-1].endswith("_bootstrap")


@pytest.mark.skipif(WITHOUT_GIL, reason="this Python has no GIL")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters have locks of their own from 3.12 on")
def test_states_in_a_sub_interpreter_with_a_separate_gil():
    """Two threads of one such interpreter compete for its GIL: exactly one holds it."""
    source = """
        try:
            import _interpreters as interpreters
            other = interpreters.create("isolated")
        except ImportError:
            import _xxsubinterpreters as interpreters
            other = interpreters.create(isolated=True)
        spins = "def spins():\\n while True: pass\\n"
        start = "import threading\\nthreading.Thread(target=spins).start()\\nprint('ready', flush=True)\\nspins()\\n"
        interpreters.run_string(other, spins + start)
        """
    with running(source) as p:
        process = _sample.Process(p.pid)
        for _ in while_waited_for():
            if sorted(state for _, state, *_ in process.read_threads()) == ["gil", "running"]:
                break
