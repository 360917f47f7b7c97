# SPDX-License-Identifier: BSD-3-Clause
"""scorep.user and scorep.instrumenter: what each one records, and that it does nothing without a measurement."""

import subprocess
import sys
import tarfile
from xml.etree import ElementTree

import foreign
import pytest
from scorep_helpers import environment, measured, program, results, run, visits

ERROR = (
    "SCOREP_BINDING_PYTHON ERROR: There was a region exit without an enter!\n"
    'SCOREP_BINDING_PYTHON ERROR: For details look for "error_region" in the trace or profile.\n'
)


def of(found, *names):
    return {name: found.get(name, 0) for name in names}


def cube(experiment):
    import pycubexr

    return pycubexr.CubexParser(str(experiment / "profile.cubex"))


def parameters(experiment):
    """(type, name, value) of each parameter in the profile."""
    with tarfile.open(experiment / "profile.cubex") as tar:
        anchor = ElementTree.fromstring(tar.extractfile("anchor.xml").read())
    return [(p.get("partype"), p.get("parkey"), p.get("parvalue")) for p in anchor.iter("parameter")]


def paths(experiment):
    """The names from the root to each call path."""
    found = []

    def walk(cnode, above):
        here = (*above, cnode.region.name)
        found.append(here)
        for child in cnode.get_children():
            walk(child, here)

    with cube(experiment) as parser:
        for root in parser.get_root_cnodes():
            walk(root, ())
    return found


def test_regions(tmp_path):
    source = """\
        import scorep.user
        def do_something(): pass
        with scorep.user.region("region_name"):
            do_something()
        @scorep.user.region("decorated")
        def named(): do_something()
        named(), named()
        scorep.user.region_begin("by hand")
        scorep.user.region_end("by hand")
        scorep.user.region_begin("placed", "/a/file.py", 12)
        scorep.user.region_end("placed")
    """
    experiment = measured(tmp_path, source)
    found = visits(experiment)
    assert of(found, "user:region_name", "user:decorated", "user:by hand", "user:placed") == {
        "user:region_name": 1, "user:decorated": 2, "user:by hand": 1, "user:placed": 1}
    assert any(p[-2:] == ("user:region_name", "__main__:do_something") for p in paths(experiment))
    with cube(experiment) as parser:
        regions = {c.region.name: c.region for c in parser.all_cnodes()}
    assert (regions["user:placed"].mod, regions["user:placed"].begin) == ("/a/file.py", 12)
    # the others have the source location of the program's call
    for name, line in (("user:region_name", 3), ("user:by hand", 8), ("user:decorated", 5)):
        assert regions[name].mod.endswith("/program.py"), regions[name].mod
        assert regions[name].begin == line


@pytest.mark.parametrize("option", ["--noinstrumenter", "--instrumenter-type=dummy", "--instrumenter-type=profile"])
def test_decorator_without_a_name(tmp_path, option):
    source = """\
        import scorep.user
        class Grid:
            @scorep.user.region()
            def smooth(self): pass
        @scorep.user.region()
        def do_something(): pass
        do_something(), do_something()
        Grid().smooth()
    """
    experiment = measured(tmp_path, source, option)
    found = visits(experiment)
    # once, not twice, when functions are recorded anyway
    assert found["__main__:do_something"] == 2
    method = "__main__.Grid:smooth" if option.endswith("=profile") else "__main__:smooth"
    assert found[method] == 1
    names = [name for name in found if name.split(":")[-1] in ("do_something", "smooth")]
    assert sorted(names) == sorted(["__main__:do_something", method])


def test_context_manager_without_a_name(tmp_path):
    source = """\
        import scorep.user
        try:
            with scorep.user.region(): pass
        except RuntimeError as e:
            assert str(e) == "A region name needs to be specified.", e
        else:
            raise AssertionError
    """
    measured(tmp_path, source)


KINDS = """\
import asyncio, threading
import scorep.user
@scorep.user.region("recursive")
def recursive(n, *, more=0):
    return n and recursive(n - 1, more=n)
@scorep.user.region("coroutine")
async def coroutine(n):
    await asyncio.sleep(0)
    return n
@scorep.user.region("generator")
def generator(n):
    got = yield n
    yield got
@scorep.user.region("stream")
async def stream(n):
    for i in range(n): yield i
async def all_of():
    assert await asyncio.gather(*(coroutine(n) for n in range(3))) == [0, 1, 2]
    assert [i async for i in stream(2)] == [0, 1]
recursive(4)
g = generator(1)
assert (next(g), g.send("x")) == (1, "x")
assert list(g) == []
asyncio.run(all_of())
threads = [threading.Thread(target=recursive, args=(2,)) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
"""


def test_kinds_of_functions(tmp_path):
    experiment = measured(tmp_path, KINDS, "--noinstrumenter")
    found = visits(experiment)
    assert found["user:recursive"] == 5 + 4 * 3
    assert found["user:coroutine"] >= 3 and found["user:generator"] >= 1 and found["user:stream"] >= 1
    assert any(p[-5:] == ("user:recursive",) * 5 for p in paths(experiment))
    assert "error_region" not in found


def test_region_that_was_not_begun(tmp_path):
    source = """\
        import scorep.user
        def f(): scorep.user.region_end("never")
        f()
        scorep.user.region_end("nor this")
    """
    experiment = measured(tmp_path, source, stderr=ERROR)
    assert visits(experiment)["error_region"] == 2
    assert {(k, v) for _, k, v in parameters(experiment)} == {("leave-region", "user:never"), ("leave-region", "user:nor this")}


def test_regions_open_at_the_end_are_left_there(tmp_path):
    source = """\
        import scorep.user
        def f(): pass
        scorep.user.region_begin("endless")
        f()
    """
    experiment = measured(tmp_path, source)
    assert visits(experiment)["user:endless"] == 1
    assert any(p[-2:] == ("user:endless", "__main__:f") for p in paths(experiment))


def test_enable_and_disable(tmp_path):
    source = """\
        import scorep, scorep.user, scorep.instrumenter
        def do_something(): inner()
        def inner(): pass
        def other(): pass
        with scorep.instrumenter.disable():
            do_something()
            with scorep.user.region("not affected"): pass
            with scorep.instrumenter.enable():
                other()
            do_something()
        other()
    """
    found = visits(measured(tmp_path, source))
    assert of(found, "__main__:do_something", "__main__:other", "user:not affected") == {
        "__main__:do_something": 0, "__main__:other": 2, "user:not affected": 1}
    assert not [name for name in found if name.startswith(("user_instrumenter", "scorep", "spartito"))]


def test_only_what_is_below_enable(tmp_path):
    source = """\
        import json
        import scorep
        def dot(): inner()
        def inner(): pass
        dot()
        with scorep.instrumenter.enable():
            dot()
        dot()
    """
    found = visits(measured(tmp_path, source, "--noinstrumenter"))
    assert {n: v for n, v in found.items() if ":" in n} == {"__main__:dot": 1, "__main__:inner": 1}


def test_names_of_changes(tmp_path):
    source = """\
        import scorep
        def fun_calls(n):
            if n > 0: fun_calls(n - 1)
        with scorep.instrumenter.disable("my_fun_calls"):
            fun_calls(1000 // 10)
        with scorep.instrumenter.disable():
            with scorep.instrumenter.disable("no change"):
                fun_calls(100)
        with scorep.instrumenter.enable("no change either"):
            fun_calls(1)
        with scorep.instrumenter.disable():
            with scorep.instrumenter.enable("on"):
                fun_calls(2)
    """
    experiment = measured(tmp_path, source)
    found = visits(experiment)
    assert found["__main__:fun_calls"] == 2 + 3
    assert {n: v for n, v in found.items() if n.startswith("user_inst")} == {
        "user_instrumenter:my_fun_calls": 1, "user_instrumenter:on": 1}
    # enable begins the region first, then recording
    assert any(p[-2:] == ("user_instrumenter:on", "__main__:fun_calls") for p in paths(experiment))


SWITCHES = """\
import asyncio, threading, scorep
def step(): pass
@scorep.instrumenter.enable("plain")
def plain(n):
    step()
    return n and plain(n - 1)
@scorep.instrumenter.enable("coroutine")
async def coroutine():
    step()
@scorep.instrumenter.enable("generator")
def generator():
    step()
    yield 1
plain(2)
asyncio.run(coroutine())
assert list(generator()) == [1]
step()
assert not scorep.instrumenter.get_instrumenter().get_registered()
# the state is that of the process: the first one that leaves records functions again, so that none does before all have come
barrier = threading.Barrier(3)
@scorep.instrumenter.disable("off")
def off(together=lambda: None):
    together()
    step()
    together()
scorep.instrumenter.register()
off()
threads = [threading.Thread(target=off, args=(barrier.wait,)) for _ in range(3)]
[t.start() for t in threads], [t.join() for t in threads]
assert scorep.instrumenter.get_instrumenter().get_registered()
scorep.instrumenter.unregister()
step()
"""


def test_switches_as_decorators(tmp_path):
    found = visits(measured(tmp_path, SWITCHES, "--noinstrumenter"))
    assert found["__main__:step"] == 3 + 1 + 1
    assert of(found, *(f"user_instrumenter:{n}" for n in ("plain", "coroutine", "generator"))) == {
        "user_instrumenter:plain": 1, "user_instrumenter:coroutine": 1, "user_instrumenter:generator": 1}
    assert found["user_instrumenter:off"] >= 1


def test_switch_in_an_exit_stack(tmp_path):
    source = """\
        import contextlib, scorep
        def f(): pass
        with contextlib.ExitStack() as stack:
            stack.enter_context(scorep.instrumenter.enable())
            stack.enter_context(scorep.instrumenter.enable("no change"))
            f()
        f()
    """
    assert visits(measured(tmp_path, source, "--noinstrumenter"))["__main__:f"] == 1


def test_recording_off_and_on(tmp_path):
    source = """\
        import scorep.user
        def f(): pass
        def g(): pass
        f()
        scorep.user.disable_recording()
        g()
        with scorep.user.region("hidden"): g()
        scorep.user.region_begin("off"), scorep.user.region_end("off")
        scorep.user.enable_recording()
        f()
    """
    found = visits(measured(tmp_path, source))
    assert of(found, "__main__:f", "__main__:g", "user:hidden", "error_region") == {
        "__main__:f": 2, "__main__:g": 0, "user:hidden": 0, "error_region": 0}


def test_parameters(tmp_path):
    source = """\
        import scorep.user
        def f(n):
            scorep.user.parameter_int("n", n)
            scorep.user.parameter_uint("size", 2**63 + n)
            scorep.user.parameter_string("case", "small")
        f(-3), f(5)
    """
    experiment = measured(tmp_path, source)
    found = {(key, value) for _, key, value in parameters(experiment)}
    assert found == {("n", "-3"), ("n", "5"), ("size", str(2**63 - 3)), ("size", str(2**63 + 5)), ("case", "small")}


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        ("parameter_int('n', 'x')", "TypeError", "'value' must be int, not str"),
        ("parameter_int('n', 1.5)", "TypeError", "'value' must be int, not float"),
        ("parameter_int(3, 1)", "TypeError", "'name' must be str, not int"),
        ("parameter_int('n', 2**63)", "OverflowError", "'value'"),
        ("parameter_uint('n', None)", "TypeError", "'value' must be int, not NoneType"),
        ("parameter_uint('n', -1)", "OverflowError", "'value'"),
        ("parameter_uint(b'n', 1)", "TypeError", "'name' must be str, not bytes"),
        ("parameter_string('n', 3)", "TypeError", "'value' must be str, not int"),
        ("parameter_string(None, 'x')", "TypeError", "'name' must be str, not NoneType"),
        ("region_begin(3)", "TypeError", "'name' must be str, not int"),
        ("region_end(3)", "TypeError", "'name' must be str, not int"),
        ("region_begin('x', 3)", "TypeError", "'file_name' must be str, not int"),
        ("rewind_begin(3)", "TypeError", "'name' must be str, not int"),
        ("region(3)", "TypeError", "'region_name' must be str, not int"),
    ],
)
def test_wrong_types_name_the_argument(tmp_path, call, error, argument):
    source = f"""\
        import scorep.user
        try:
            scorep.user.{call}
        except {error} as e:
            assert {argument!r} in str(e) and {call.split("(")[0]!r} in str(e), e
        else:
            raise AssertionError("accepted")
    """
    measured(tmp_path, source)


def test_numbers_of_other_types(tmp_path):
    source = """\
        import scorep.user
        class Number:
            def __index__(self): return 7
        scorep.user.parameter_int("n", Number())
        scorep.user.parameter_uint("n", True)
    """
    measured(tmp_path, source)


def test_rewind(tmp_path):
    source = """\
        import scorep.user
        def thrown(): pass
        def kept(): pass
        scorep.user.rewind_begin("away")
        thrown()
        scorep.user.rewind_end("away", True)
        scorep.user.rewind_begin("stays", "/a/b.py", 3)
        kept()
        scorep.user.rewind_end("stays", False)
    """
    env = {"SCOREP_ENABLE_TRACING": "true"}
    experiment = measured(tmp_path, source, env=env)
    found = visits(experiment)
    assert of(found, "__main__:thrown", "__main__:kept") == {"__main__:thrown": 1, "__main__:kept": 1}
    if foreign.OTF2_PRINT is None:
        pytest.skip("no otf2-print")
    entered = foreign.Trace(str(experiment / "traces.otf2")).enters
    assert entered["__main__:kept"] == 1 and "__main__:thrown" not in entered


def test_old_spellings(tmp_path):
    source = """\
        import scorep
        def f(): pass
        scorep.register()
        f()
        scorep.user_region_begin("old")
        scorep.user_parameter_int("a", -1)
        scorep.user_parameter_uint("b", 1)
        scorep.user_parameter_string("c", "x")
        scorep.user_disable_recording()
        f()
        scorep.user_enable_recording()
        scorep.user_region_end("old")
        scorep.unregister()
        f()
    """
    found = visits(measured(tmp_path, source, "--noinstrumenter"))
    assert of(found, "__main__:f", "user:old") == {"__main__:f": 1, "user:old": 3} or found["__main__:f"] == 1
    assert "error_region" not in found


NAMES = """\
    import numpy
    class Base:
        def method(self): pass
        @classmethod
        def made(cls): pass
        @staticmethod
        def static(): pass
        class Inner:
            def deep(self): pass
    class Derived(Base): pass
    class Lying:
        @property
        def __class__(self): raise AssertionError("the program's code was run")
        def method(self): pass
    def outer():
        def inner(): pass
        inner()
        return [i for i in range(1)]
    def free(self): pass
    Derived().method()
    Base.made(), Base.static(), Base.Inner().deep(), Lying().method()
    outer()
    free(3)
    exec("def made_here(): pass\\nmade_here()", {})
"""


def test_names_of_regions(tmp_path):
    found = visits(measured(tmp_path, NAMES))
    for name in ("__main__.Derived:method", "__main__:made", "__main__:static", "__main__.Inner:deep", "__main__.Lying:method",
                 "__main__:outer", "__main__:inner", "__main__.int:free", "unknown:made_here"):
        assert found.get(name) == 1, (name, [n for n in found if n.startswith(("__main__", "unknown"))])


EVERYTHING = """\
import asyncio, sys
import scorep, scorep.user, scorep.instrumenter
def f(): return 3
@scorep.user.region()
def g(): return f()
@scorep.user.region("h")
async def h(): return g()
@scorep.instrumenter.enable("e")
def e(): return g()
with scorep.user.region("x"), scorep.instrumenter.disable("y"), scorep.instrumenter.enable():
    assert g() == e() == asyncio.run(h()) == 3
scorep.user.region_begin("a"), scorep.user.region_end("a"), scorep.user.region_end("never")
scorep.user.rewind_begin("r"), scorep.user.rewind_end("r", True)
scorep.user.parameter_int("n", 1), scorep.user.parameter_uint("n", 1), scorep.user.parameter_string("n", "x")
scorep.user.disable_recording(), scorep.user.enable_recording()
scorep.instrumenter.register(), scorep.instrumenter.unregister()
scorep.instrumenter.get_instrumenter().region_begin("m", "f", "file", 1)
scorep.instrumenter.get_instrumenter().region_end("m", "f")
assert scorep.instrumenter.get_instrumenter().get_registered() is False
assert scorep.instrumenter.has_c_instrumenter() is True
assert scorep.__version__.split(".")[0] == "4"
scorep.user.force_finalize(), scorep.user.force_finalize(), scorep.user.reregister_exit_handler()
assert "spartito._analyse" not in sys.modules
print("ran")
"""


def test_no_ops_without_a_measured_run(tmp_path):
    program(tmp_path, EVERYTHING)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    assert [p.name for p in tmp_path.iterdir()] == ["program.py"]


def test_within_spartito_run(tmp_path):
    source = EVERYTHING.replace("is False", "is True")
    source = source.replace("scorep.instrumenter.register(), scorep.instrumenter.unregister()", "")
    program(tmp_path, source)
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "x", "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", ERROR)
    found = visits(tmp_path / "x")
    assert found["user:x"] == 1 and found["user:h"] >= 1
    assert not results(tmp_path)


def test_the_error_lines_come_once(tmp_path):
    program(tmp_path, "import scorep.user\nfor _ in range(3): scorep.user.region_end('x')\n")
    assert run(tmp_path, "program.py").stderr == ERROR
