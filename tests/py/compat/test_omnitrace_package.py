# SPDX-License-Identifier: BSD-3-Clause
"""The package omnitrace in a program: profile, noprofile, config, user, the builtins of -b, and its effects on the program."""

import sys

import pytest
from omnitrace_helpers import COUNTS, measured, output, outputs, program, rows, run, started


def run_alone(path, source, status=0, message="", lines=0, env=None):
    """Runs source without `python -m omnitrace`; returns the rows of the table of counts. Messages besides the list of files:
    `lines` lines that contain `message`."""
    name = program(path, source)
    done = started(path, name, env={**COUNTS, **(env or {})})
    other = [line for line in done.stderr.splitlines() if not line.startswith("omnitrace: wrote ")]
    assert done.returncode == status, done.stdout + done.stderr
    assert len(other) == lines and message in "\n".join(other), done.stderr
    return rows(path)


def test_nothing_is_recorded_before_and_after(tmp_path):
    found = run_alone(tmp_path, """\
        import omnitrace
        def f(): g()
        def g(): pass
        def outer():
            f()
            with omnitrace.profile():
                f()
            f()
            p = omnitrace.profile()
            assert p.start() == 1 and p.start() == 2
            f()
            assert p.stop() == 1
            g()
            assert p.stop() == 0 and p.stop() == 0
            f()
        outer()
    """)  # fmt: skip
    # outer() began before
    assert found == [("f", 2, 0), ("|_g", 2, 1), ("g", 1, 0)]


def test_decorated_functions_of_all_kinds(tmp_path):
    found = run_alone(tmp_path, """\
        import asyncio, inspect, omnitrace
        def leaf(): pass
        @omnitrace.profile()
        def plain(a, *, b=2):
            "its text"
            leaf()
            return a + b
        @omnitrace.profile()
        def fails(): raise KeyError("mine")
        @omnitrace.profile()
        def generate():
            yield leaf()
        @omnitrace.profile()
        async def coroutine(): leaf()
        assert plain(1) == 3 and plain.__name__ == "plain" and plain.__doc__ == "its text"
        try: fails()
        except KeyError as e: assert e.args == ("mine",)
        else: raise AssertionError
        leaf()
        assert inspect.isgeneratorfunction(generate) and list(generate()) == [None]
        assert inspect.iscoroutinefunction(coroutine)
        c = coroutine()
        try: c.send(None)
        except StopIteration: pass
        leaf()
    """)  # fmt: skip
    assert [row for row in found if not row[2]] == [("plain", 1, 0), ("fails", 1, 0), ("generate", 2, 0), ("coroutine", 1, 0)]
    assert all(label == "|_leaf" and count == 1 for label, count, depth in found if depth)


def test_profilers_within_each_other_and_conditions(tmp_path):
    found = run_alone(tmp_path, """\
        import omnitrace
        def a(): pass
        def b(): pass
        with omnitrace.profile():
            with omnitrace.profile():
                a()
            b()
        a()
        omnitrace.profile.condition(lambda: False)
        assert not omnitrace.profile.is_enabled()
        with omnitrace.profile(): a()
        omnitrace.profile.condition(lambda: True)
        assert omnitrace.Profiler.is_enabled() and not omnitrace.noprofile.is_enabled()
        with omnitrace.profile(): b()
    """)  # fmt: skip
    assert found == [("a", 1, 0), ("b", 2, 0)]


def test_noprofile(tmp_path):
    found = run_alone(tmp_path, """\
        import omnitrace
        def f(): g()
        def g(): pass
        @omnitrace.noprofile()
        def quiet(): f()
        def loud():
            quiet()
            with omnitrace.noprofile():
                with omnitrace.noprofile(): f()
                f()
            g()
        with omnitrace.profile(): loud()
    """)  # fmt: skip
    assert found == [("loud", 1, 0), ("|_g", 1, 1)]


BUILTIN = """\
    @profile
    def run(n): return quiet(n) + f(n)
    @noprofile
    def quiet(n): return f(n)
    def f(n): return n
    def outer():
        with profile: f(1)
        with trace: f(1)
        f(1)
    outer()
    run(2)
"""


def test_builtins(tmp_path):
    assert measured(tmp_path, BUILTIN, "-b") == [("f", 2, 0), ("run", 1, 0), ("|_f", 1, 1)]


def test_no_builtins_without_the_option(tmp_path):
    done = run(tmp_path, program(tmp_path, "assert len('a') == 1\nprofile\n"))
    assert done.returncode == 1 and "NameError: name 'profile' is not defined" in done.stderr


@pytest.mark.parametrize("own_name", ["def profile(f): return f", "from own import profile", "profile = lambda f: f"])
def test_a_script_with_a_profile_of_its_own(tmp_path, own_name):
    program(tmp_path, "def profile(f): return f\n", "own.py")
    program(tmp_path, own_name + "\n@profile\ndef f(): print('ran')\nf()\n")
    done = run(tmp_path, "-b", "--", "program.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    message = "omnitrace: -b: the script defines the name 'profile', which hides the builtin: what uses it is not recorded"
    assert done.stderr.splitlines().count(message) == 1


def test_a_script_that_only_helps_itself_without_the_builtin(tmp_path):
    code = """\
        try: profile
        except NameError: profile = lambda f: f
        @profile
        def f(): pass
        f()
    """
    assert measured(tmp_path, code, "-b") == [("f", 1, 0)]


def test_setup_runs_before_and_is_not_recorded(tmp_path):
    prepare = """\
        import sys
        def double(n): return 2 * n
        x = double(2)
        print(__file__ == sys.path[1] + '/prepare.py', __name__)
    """
    program(tmp_path, prepare, "prepare.py")
    program(tmp_path, "print(x, __file__.endswith('/program.py'))\ndef f(): return double(x)\nf()\n")
    done = run(tmp_path, "-s", "prepare.py", "--", "program.py")
    assert (done.returncode, done.stdout) == (0, "True __main__\n4 True\n"), done.stderr
    assert rows(tmp_path) == [("f", 1, 0), ("|_double", 1, 1)]


def test_setup_with_builtins_and_what_goes_wrong_in_it(tmp_path):
    program(tmp_path, "def double(n): return 2 * n\n", "prepare.py")
    assert measured(tmp_path, "def f(): double(1)\nf()\nwith profile: double(2)\n", "-b", "-s", "prepare.py") == [("double", 1, 0)]
    program(tmp_path, "1 / 0\n", "prepare.py")
    done = run(tmp_path, "-s", "prepare.py", "--", program(tmp_path, "print('ran')"))
    assert done.returncode == 1 and done.stdout == ""
    messages = [line for line in done.stderr.splitlines() if not line.startswith("omnitrace: wrote")]
    first, second, *_, last = messages
    assert first == "Traceback (most recent call last):" and "prepare.py\", line 1, in <module>" in second, done.stderr
    assert last == "ZeroDivisionError: division by zero" and not any("spartito" in line for line in messages)
    program(tmp_path, "raise SystemExit(7)\n", "prepare.py")
    assert run(tmp_path, "-s", "prepare.py", "--", "program.py").returncode == 7


def test_tracebacks_are_those_of_the_program(tmp_path):
    """Tracebacks are the same as without omnitrace, except for the decorator's frame before Python 3.11."""
    code = """\
        @profile
        def f(n): return g(n)
        @profile
        def g(n): return h(n)
        class C:
            @profile
            def m(self): return f(1)
        def h(n): raise ValueError(n)
        try: C().m()
        except ValueError as e: print(len(str(e)))
        with profile: C().m()
    """
    done = run(tmp_path, "-b", "--", program(tmp_path, code))
    assert done.returncode == 1 and done.stdout == "1\n"
    names = [line.rpartition(" in ")[2] for line in done.stderr.splitlines() if line.startswith("  File ")]
    inner = [name for name in names if name != "call"]
    assert [name.rpartition(".")[2] for name in inner] == ["<module>", "m", "f", "g", "h"]
    assert inner == names or sys.version_info < (3, 11), done.stderr
    assert rows(tmp_path)[0] == ("m", 2, 0)


def test_nothing_decorated_is_reported(tmp_path):
    message = "omnitrace: -b: no function was recorded: none that ran is decorated with @profile"
    assert measured(tmp_path, "def f(): pass\nf()\n", "-b", message=message, lines=1) == []


def test_children_of_fork_stay_silent(tmp_path):
    found = run_alone(tmp_path, """\
        import os
        import omnitrace
        def f(): pass
        def forked():
            pid = os.fork()
            f()
            return pid
        with omnitrace.profile():
            with omnitrace.noprofile():
                pid = forked()
            f()
            if not pid: os._exit(0)
            os.wait()
    """)  # fmt: skip
    assert found == [("f", 1, 0), ("f", 1, 0)]


def test_regions(tmp_path):
    found = run_alone(tmp_path, """\
        from omnitrace import user, profile
        def f(): pass
        @user.region("decorated")
        def g(): f()
        with user.region("first"):
            f()
            user.push_region("inner")
            user.pop_region("inner")
        r = user.region("by hand")
        r.start(); r.start(); r.stop(); r.stop()
        user.start_trace()
        g()
        user.stop_trace()
        g()
        r.runcall(f)
        user.start_trace()
        f()
        user.stop_thread_trace()
        g()
        user.start_thread_trace()
        f()
        try: user.pop_region("not open")
        except RuntimeError as e: assert "'not open' is not open" in str(e)
        else: raise AssertionError
        try: user.push_region(3)
        except TypeError as e: assert "must be str, not int" in str(e)
        else: raise AssertionError
    """)  # fmt: skip
    assert [row for row in found if row[0] != "f"] == [
        ("first", 1, 0), ("|_inner", 1, 1), ("by hand", 2, 0), ("decorated", 3, 0), ("|_g", 1, 1), ("  |_f", 1, 2),
    ]  # fmt: skip
    assert ("f", 2, 0) in found


def test_initialize_and_finalize(tmp_path):
    found = run_alone(tmp_path, """\
        import os, omnitrace
        from omnitrace import user
        assert not omnitrace.is_initialized()
        omnitrace.initialize(["some/tool.py", "x"])
        assert user.is_initialized() and not user.is_finalized()
        try: user.initialize("x")
        except RuntimeError as e: assert "already initialized" in str(e)
        else: raise AssertionError
        def f(): pass
        with omnitrace.profile(): f()
        user.finalize()
        (above,) = [n for n in os.listdir() if n.startswith("omnitrace-")]
        assert above == "omnitrace-tool-output", above
        with omnitrace.profile(): f()
        try: omnitrace.finalize()
        except RuntimeError as e: assert "already finalized" in str(e)
        else: raise AssertionError
    """)  # fmt: skip
    assert found == [("f", 1, 0)]


def test_config(tmp_path):
    found = run_alone(tmp_path, """\
        from omnitrace.profiler import config, Config
        import omnitrace
        assert config is omnitrace.config and config is Config
        flags = "trace_c include_internal include_args include_line include_filename full_filepath annotate_trace"
        assert [getattr(config, name) for name in flags.split()] == [False] * 7 and config.verbosity == 0
        assert config.restrict_functions == [] and config.exclude_functions == ["^<.*>$"]
        config.include_functions += ["one"]
        config.include_functions = ["two", "one"]
        assert config.include_functions == ["one", "two"]
        for name, value, kind in (("nothing", 1, AttributeError), ("trace_c", "yes", TypeError), ("verbosity", "1", TypeError),
                                  ("exclude_modules", "x", TypeError), ("exclude_modules", [1], TypeError),
                                  ("restrict_functions", ["a("], ValueError)):
            try: setattr(config, name, value)
            except kind as e: assert name in str(e), e
            else: raise AssertionError(name)
        def f(n): return g(n)
        def g(n): return n
        with omnitrace.profile(): f(1)
        config.include_args = True
        config.exclude_functions += ["^g"]
        with omnitrace.profile():
            f(2)
            # from here on
            config.include_line = True
            f(3)
        config.include_internal = True
    """, message="config.include_internal has no effect here", lines=1)  # fmt: skip
    assert found == [("f", 1, 0), ("|_g", 1, 1), ("f(n=2)", 1, 0), ("f(n=3):16", 1, 0)]


def test_config_is_that_of_the_command_line(tmp_path):
    code = """\
        from omnitrace.profiler import config
        assert config.include_args and config.restrict_functions == ["^f$"] and config.verbosity == -1
        assert config.full_filepath and not config.include_line and not config.trace_c
        def f(n): return g(n)
        def g(n): return n
        f(1)
        config.restrict_functions += ["^g$"]
        f(2)
    """
    message = "omnitrace: -F has no effect without --label file"
    found = measured(tmp_path, code, "--label", "args", "-F", "-R", "^f$", "-v", "-1", message=message, lines=1)
    assert found == [("f(n=1)", 1, 0), ("f(n=2)", 1, 0), ("|_g(n=2)", 1, 1)]


def test_exit_status_arguments_and_signals(tmp_path):
    program(tmp_path, "import sys\nprint(sys.argv, __file__ == sys.argv[0], sys.path[0])\nsys.exit(int(sys.argv[1]))\n")
    words = ["5", "a b", "", "*", "'\"", "$HOME", "--", "\n"]
    done = run(tmp_path, "-v", "-1", "--", "program.py", *words)
    plain = started(tmp_path, "program.py", *words)
    assert (done.returncode, done.stdout, done.stderr) == (5, plain.stdout, "")
    program(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    assert run(tmp_path, "program.py").returncode == -15
    program(tmp_path, "def f(): raise ValueError('mine')\nf()\n")
    done = run(tmp_path, "-v", "-1", "--", "program.py")
    assert (done.returncode, done.stderr) == (1, started(tmp_path, "program.py").stderr)


def test_modules_and_code(tmp_path):
    program(tmp_path, "import sys\ndef f(): pass\nf()\nprint(sys.argv[1:])\n", "mod.py")
    done = run(tmp_path, "-v", "-1", "--", "-m", "mod", "x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['x']\n", "")
    assert output(tmp_path).parent.name == "omnitrace-mod-output"
    # before Python 3.11 functions of runpy are recorded as any other
    assert [count for label, count, _ in rows(tmp_path) if label.strip().removeprefix("|_") == "f"] == [1]


def test_every_thread_and_process_is_there(tmp_path):
    code = """\
        import os, threading
        def work(): pass
        def main():
            t = threading.Thread(target=work)
            t.start()
            t.join()
            pid = os.fork()
            if not pid:
                work()
                os._exit(0)
            os.waitpid(pid, 0)
        main()
    """
    program(tmp_path, code)
    assert run(tmp_path, "-MR", "program", "--", "program.py").returncode == 0
    table = (output(tmp_path) / "trip_count.txt").read_text()
    assert len([line for line in table.splitlines() if "work" in line]) == 2


def test_builtins_are_in_processes_that_the_script_starts(tmp_path):
    code = """\
        import multiprocessing
        @profile
        def f(n): return n
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(f, [1, 2]))
                pool.close()
                pool.join()
    """
    done = run(tmp_path, "-b", "--", program(tmp_path, code))
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr
    assert rows(tmp_path) == [("f", 2, 0)]


def test_user_code_without_a_measured_run_changes_nothing(tmp_path):
    code = """\
        import omnitrace
        @omnitrace.profile()
        def f(): pass
        f()
        print("ran")
    """
    done = started(tmp_path, program(tmp_path, code), env={"OMNITRACE_ENABLED": "off"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "") and not outputs(tmp_path)
    done = started(tmp_path, "program.py", env={"OMNITRACE_PROFILE": "perhaps"})
    assert done.returncode == 1 and "ValueError: OMNITRACE_PROFILE: 'perhaps' is neither true" in done.stderr


def test_under_spartito_run_functions_stay_recorded(tmp_path):
    code = """\
        import omnitrace
        def f(): pass
        with omnitrace.profile(): f()
        with omnitrace.user.region("mine"): f()
    """
    done = started(tmp_path, "-m", "spartito", "run", "-q", "-o", "out", "--", sys.executable, program(tmp_path, code))
    assert (done.returncode, done.stderr) == (0, "")
    from spartito._analyse import Model

    visits = {row["name"]: row["visits"] for row in Model(str(tmp_path / "out")).flat()}
    assert visits["__main__:f"] == 2 and visits["mine"] == 1
