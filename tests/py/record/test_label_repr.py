# SPDX-License-Identifier: BSD-3-Clause
"""Labels of types with a __repr__ of the program: spartito calls it, and does not record what it does."""

import pytest
from programs import HOOKS
from test_labels import Measured, losses, visits


@pytest.fixture
def measured(spartito, tmp_path):
    return Measured(spartito, tmp_path)


ASKED = """\
import spartito


class Point:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        helper()
        with spartito.region("inside"):
            return f"Point({self.x})"


class Broken:
    def __repr__(self):
        raise ValueError("no")


class Endless:
    def __repr__(self):
        return f(self)


def helper():
    return [None for _ in range(3)]


def f(a):
    return "f"


def g(a):
    return 0


for n in (1, 2, 1):
    f(Point(n))
    g(Broken())
repr(Point(4))
g(Endless())
f([Point(7)])
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_repr_of_types_that_are_asked_for(hook, measured):
    model, _ = measured(ASKED, "--label", "args", "--hook", hook, "--label-repr", "__main__.Point,Broken,Endless")
    found = {label: n for label, n in visits(model).items() if label[0] in "fgh"}
    assert found == {
        "f(a=Point(1))": 2,
        "f(a=Point(2))": 1,
        "f(a=[Point(7)])": 1,
        "g(a=<Broken>)": 3,
        "g(a=f)": 1,
        "helper()": 1,  # called by the program's own repr(); calls made to build labels are not recorded
    }
    assert next(row["visits"] for row in model.flat() if row["name"] == "inside") == 1
    (lost,), _ = losses(model)
    assert not any(lost.values()) and len(model.info()["locations"]) == 1
    other, _ = measured(ASKED, "--label", "args", "--hook", hook, "--label-repr", "elsewhere.Point")
    assert visits(other)["f(a=<Point>)"] == 3


EMPTIED = """\
class Taker:
    def __repr__(self):
        where.clear()
        return "taken"


def f(a):
    return None


for where in ([Taker(), [1], Taker()], {1: Taker(), 2: Taker()}, {Taker()}):
    f((where, "kept"))
    f([where])
"""


INTERRUPTED = """\
import os
import signal


class Slow:
    def __repr__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass


def f(a):
    return [n for n in range(1000)]


try:
    f(Slow())
    for _ in range(100):
        f(1)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_repr_may_be_interrupted(hook, measured):
    model, printed = measured(INTERRUPTED, "--label", "args", "--label-repr", "Slow", "--hook", hook)
    assert printed == "interrupted\n" and visits(model)["f(a=<Slow>)"] == 1


def test_repr_may_empty_its_container(measured):
    found = visits(measured(EMPTIED, "--label", "args", "--label-repr", "Taker")[0])
    assert sum(found.values()) == 7 and {"f(a=([taken], 'kept'))", "f(a=[[]])", "f(a=({taken}, 'kept'))"} <= set(found)
