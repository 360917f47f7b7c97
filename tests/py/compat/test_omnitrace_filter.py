# SPDX-License-Identifier: BSD-3-Clause
"""Omnitrace's filters: their order, functions that are left out together with their callees, and a filter that changes while the
program runs."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """\
    from spartito import _measure
    class Grid:
        def smooth(self): return step(2)
    def step(n): return leaf() if n == 0 else step(n - 1)
    def leaf(): return 1
    def generate():
        yield leaf()
        yield leaf()
    def hidden():
        with _measure.region("mine"):
            leaf()
            with _measure.region("inner"):
                Grid().smooth()
        try:
            failing()
        except ValueError:
            pass
        list(generate())
    def failing():
        leaf()
        raise ValueError
    def main():
        hidden()
        Grid().smooth()
        (lambda: leaf())()
    main()
"""


def tree(path, source, *, filter="", **settings):
    """Measures source with Omnitrace's settings; returns (depth, name, visits) of each call path."""
    from spartito._analyse import Model

    (path / "program.py").write_text(textwrap.dedent(source))
    (path / "run/raw").mkdir(parents=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    words = {"EXPERIMENT": str(path / "run"), "OMNITRACE": "1", "FILTER": filter, **settings}
    env = {**kept, **{"SPARTITO_" + name: value for name, value in words.items()}}
    done = subprocess.run([sys.executable, "program.py"], cwd=path, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    model = Model(str(path / "run"))
    info = model.info()
    assert not info["problems"] and not any(info["processes"][0]["lost"].values()), info
    rows = [(row["depth"], row["name"].removeprefix("__main__:"), row["visits"]) for row in model.tree(sort="name")]
    return [row for row in rows if row[1] != "Grid"]  # the body of the class


def filter_of(**lists):
    from spartito.compat.omnitrace.config import Config

    config = Config()
    for name, patterns in lists.items():
        setattr(config, name, patterns)
    return config.filter()


def names(rows):
    return {name for _, name, _ in rows}


ONLY = {"include_modules": [r"program\.py$"], "exclude_modules": ["."]}


def test_built_in_exclusions_skip_the_frame_only(tmp_path):
    rows = tree(tmp_path, PROGRAM, filter=filter_of(**ONLY))
    # neither the module's frame nor the lambda, but their callees
    assert (0, "main", 1) in rows
    main = [row for row in rows if row[0] == 1]
    assert main == [(1, "Grid.smooth", 1), (1, "hidden", 1), (1, "leaf", 1)]


def test_excluded_functions_hide_what_they_call_but_not_regions(tmp_path):
    rows = tree(tmp_path, PROGRAM, filter=filter_of(exclude_functions=["^hidden$"], **ONLY))
    assert rows == [
        (0, "main", 1),
        (1, "Grid.smooth", 1), (2, "step", 1), (3, "step", 1), (4, "step", 1), (5, "leaf", 1),
        (1, "leaf", 1),
        (1, "mine", 1), (2, "inner", 1),
    ]  # fmt: skip


def test_the_same_with_trace_metrics_and_functions_of_c(tmp_path):
    settings = {"TRACE": "1", "METRICS": "rusage:ru_utime", "C_CALLS": "1"}
    rows = tree(tmp_path, PROGRAM, filter=filter_of(exclude_functions=["^hidden$"], **ONLY), **settings)
    assert {(1, "Grid.smooth", 1), (1, "leaf", 1), (1, "mine", 1), (2, "inner", 1)} < set(rows)
    assert "failing" not in names(rows) and "generate" not in names(rows)


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        ({"restrict_functions": ["^s"]}, {"Grid.smooth", "step"}),
        # what restrict keeps, no other filter removes
        ({"restrict_functions": ["leaf"], "exclude_functions": ["leaf"], "exclude_modules": ["program"]}, {"leaf"}),
        # functions match by their names without class
        ({"restrict_functions": ["^smooth$"]}, {"Grid.smooth"}),
        ({"restrict_functions": [r"Grid\."]}, set()),
        # include precedes exclude, and all filters of files
        ({"include_functions": ["^leaf$"], "exclude_functions": ["leaf", "main"], "exclude_modules": ["."]}, set()),
        ({"include_functions": ["leaf"], "exclude_modules": ["program"]}, {"leaf"}),
        ({"include_functions": ["leaf"], "restrict_modules": ["nothing"]}, {"leaf"}),
        # a lambda is excluded unless it is included
        ({"include_functions": ["<lambda>"], "restrict_modules": ["nothing"]}, {"<lambda>"}),
        ({"restrict_modules": [r"program\.py$"], "exclude_modules": ["program"], "exclude_functions": ["hid"]},
         {"main", "Grid.smooth", "step", "leaf"}),
        ({"include_modules": ["prog"], "exclude_modules": ["."], "exclude_functions": ["hid", "step"]},
         {"main", "Grid.smooth", "leaf"}),
    ],
)  # fmt: skip
def test_the_order_of_precedence(tmp_path, lists, found):
    rows = tree(tmp_path, PROGRAM, filter=filter_of(**lists))
    assert {name.rpartition(".<locals>.")[2] for name in names(rows)} - {"mine", "inner"} == found


def test_functions_of_c_have_no_file(tmp_path):
    source = "import math\ndef f(): return math.sqrt(4)\nf()\n"
    lists = {"restrict_modules": [r"program\.py$"]}
    assert "math:<built-in method math.sqrt>" in names(tree(tmp_path, source, filter=filter_of(**lists), C_CALLS="1"))


def test_a_thread_without_functions_and_one_with_them(tmp_path):
    source = """\
        import threading
        from spartito import _measure
        def leaf(): pass
        def outer():
            assert _measure.thread_functions(False)
            assert not _measure.thread_functions(False)
            leaf()
            with _measure.region("mine"):
                leaf()
                other = threading.Thread(target=in_thread)
                other.start()
                other.join()
            assert _measure.thread_functions(True)
            assert not _measure.thread_functions(True)
            leaf()
        def in_thread(): leaf()
        outer()
    """
    rows = tree(tmp_path, source, filter=filter_of(restrict_functions=["leaf", "outer", "in_thread"]))
    assert rows == [(0, "in_thread", 1), (1, "leaf", 1), (0, "outer", 1), (1, "leaf", 1), (1, "mine", 1)]


def test_what_was_open_before_stays_unseen(tmp_path):
    source = """\
        from spartito import _measure
        def outer():
            _measure.instrument(True)
            inner()
            _measure.instrument(False)
            inner()
        def inner(): leaf()
        def leaf(): pass
        outer()
        outer()
    """
    assert tree(tmp_path, source, filter="", INSTRUMENT="0") == [(0, "inner", 2), (1, "leaf", 2)]


def test_another_filter_while_the_program_runs(tmp_path):
    source = """\
        import sys
        from spartito import _measure
        def decide(items):
            _measure.filter(items)
            if sys.version_info >= (3, 12):
                sys.monitoring.restart_events()
        def a(): return len("a")
        def b(): return len("b")
        def both(): a(), b()
        both()
        decide("-*\\n+name:b\\n-name:len")
        both()
        decide("-*\\n+name:re:^a$\\n+name:len")
        both()
        try:
            decide("?")
        except ValueError as e:
            assert "begins with neither" in str(e), e
        else:
            raise AssertionError
    """
    rows = tree(tmp_path, source, filter="-*\n+name:both\n+name:a", C_CALLS="1")
    length = "builtins:<built-in method builtins.len>"
    assert rows == [(0, "a", 1), (1, length, 1), (0, "b", 1), (0, "both", 1), (1, "a", 1)]


def test_it_may_change_any_number_of_times(tmp_path):
    code = """\
        import spartito
        from spartito import _measure
        for n in range(2):
            spartito.start(f"x{n}")
            for i in range(150_000):
                _measure.filter("-name:re:^a")
            spartito.stop()
        print("ended")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
