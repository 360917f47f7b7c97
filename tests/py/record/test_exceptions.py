# SPDX-License-Identifier: BSD-3-Clause
"""Calls that an exception ended, by call path."""

import sys

import pytest
from commandline import run
from programs import HOOKS
from spartito._analyse import Model

PROGRAM = """
import asyncio, os, sys, threading
def fails(n):
    if n: fails(n - 1)
    raise ValueError
def passes(): fails(0)
def catches():
    try: passes()
    except ValueError: pass
def finally_returns():
    try: fails(0)
    finally: return 1
def generator():
    yield 1
    yield 2
def failing_generator():
    yield 1
    raise KeyError
def iterates():
    for i in generator(): pass
    for i in generator(): break
    generator().close()
    next(generator())
    try: list(failing_generator())
    except KeyError: pass
class Iterator:
    def __iter__(self): return self
    def __next__(self): raise StopIteration
async def step():
    await asyncio.sleep(0)
    raise OSError
async def main():
    try: await step()
    except OSError: pass
def forks():
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    raise RuntimeError
for i in range(3): catches()
finally_returns()
iterates()
list(Iterator())
asyncio.run(main())
try: fails(4)
except ValueError: pass
t = threading.Thread(target=catches)
t.start()
t.join()
try: forks()
except RuntimeError:
    catches()
    os._exit(0)
sys.exit(passes)
"""
MODES = [(), ("--trace",), ("--metric", "rusage:ru_utime")]
OF_GENERATORS = {"__main__:failing_generator": 1, "__main__:step": 1}


def measured(spartito, tmp_path, program, *options):
    (tmp_path / "program.py").write_text(program)
    done = run(spartito, "run", "-q", "-o", tmp_path / "run", *options, "--", sys.executable, tmp_path / "program.py")
    return Model(str(tmp_path / "run")), done


def by_function(model, process):
    """{function: number of calls that an exception ended} of the program's functions in a process."""
    found = {}
    for row in model.tallies()["rows"]:
        of_process = model.info()["locations"][row["location"]]["process"] == process
        if row["what"] == "exception" and row["file"].endswith("program.py") and of_process:
            found[row["name"]] = found.get(row["name"], 0) + row["count"]
    return found


@pytest.mark.parametrize("options", MODES, ids="".join)
@pytest.mark.parametrize("hook", HOOKS)
def test_exceptions_by_call_path(spartito, tmp_path, hook, options):
    model, done = measured(spartito, tmp_path, PROGRAM, "--hook", hook, *options)
    assert done.returncode == 1 and "function passes" in done.stderr
    if hook == "setprofile" and sys.version_info[:2] == (3, 12):  # it does not tell a return of None from an exception
        assert by_function(model, 0) == {}
        return
    expected = {"__main__:fails": 3 + 1 + 5 + 1, "__main__:passes": 3 + 1, "__main__:<module>": 1}
    if hook == "setprofile":  # it does not know the type
        expected["__main__:Iterator.__next__"] = 1
    else:
        expected.update(OF_GENERATORS)
    assert by_function(model, 0) == expected
    # in the child the fork's frames count for no call
    assert by_function(model, 1) == {"__main__:fails": 1, "__main__:passes": 1}
    tallies = model.tallies()
    recursive = [row for row in tallies["rows"] if tallies["stacks"][row["path"]][-5:] == ["__main__:fails"] * 5]
    assert [row["count"] for row in recursive] == [1]
    visits = {row["path"]: row["visits"] for row in model.tree()}
    ended = {}
    for row in tallies["rows"]:
        if row["what"] == "exception":
            ended[row["path"]] = ended.get(row["path"], 0) + row["count"]
    assert all(ended[path] <= visits[path] for path in ended)
    total = sum(ended.values())
    assert model.info()["exceptions"] == total
    assert f"\nexceptions  ended {total:,} calls\n" in run(spartito, "info", tmp_path / "run").stdout


FILTERED = """
import spartito
def fails(): raise ValueError
def catches(n):
    for i in range(n):
        try: fails()
        except ValueError: pass
def left_out():
    catches(2)
    raise KeyError
def pauses():
    spartito.pause()
    try: left_out()
    except KeyError: pass
    spartito.resume()
    raise KeyError
try: left_out()
except KeyError: pass
try: pauses()
except KeyError: pass
catches(4)
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_excluded_functions_and_pauses(spartito, tmp_path, hook):
    if hook == "setprofile" and sys.version_info[:2] == (3, 12):
        pytest.skip("nothing is counted there")
    model, done = measured(spartito, tmp_path, FILTERED, "--hook", hook, "--exclude", "__main__:left_out")
    assert (done.returncode, done.stderr) == (0, "")
    assert by_function(model, 0) == {"__main__:fails": 2 + 4, "__main__:pauses": 1}
