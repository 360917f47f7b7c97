# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the notebook tests' harness (helpers/notebook.py): it collects what a notebook shows, and detects differences."""

import pytest

notebook = pytest.importorskip("notebook")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with notebook.Kernel(tmp_path_factory.mktemp("kernel")) as kernel:
        yield kernel


def test_what_a_cell_puts_out_is_kept_as_a_notebook_keeps_it(kernel):
    cell = kernel.run("import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay(3)\n4")
    assert (cell.status, cell.stdout, cell.stderr) == ("ok", "one\n", "two\n")
    assert [d["text/plain"] for d in cell.displays] == ["3"] and cell.value == "4" and cell.error is None
    assert kernel.run("_ + 1").value == "5"
    assert kernel.run("x = 1").result is None


def test_error_input_and_interrupt(kernel):
    cell = kernel.run("1 / 0")
    assert cell.status == "error" and cell.error == ("ZeroDivisionError", "division by zero") and "----> 1 1 / 0" in cell.traceback
    cell = kernel.ok("a, b = input('name? '), __import__('getpass').getpass('Password: ')\nprint(b, a)", "Ada", "secret")
    assert cell.asked == [("name? ", False), ("Password: ", True)] and cell.stdout == "secret Ada\n"
    running = kernel.begin("print('ready')\nwhile True: pass").until("ready")
    kernel.interrupt()
    assert running.end().error[0] == "KeyboardInterrupt"
    assert kernel.run("input()", KeyboardInterrupt).error[0] == "KeyboardInterrupt"


def test_restart_and_kill(tmp_path):
    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("kept = 1")
        pid = kernel.pid
        kernel.restart()
        assert kernel.pid != pid and kernel.run("kept").error[0] == "NameError"
        running = kernel.begin("print('before')\nwhile True: pass").until("before")
        kernel.kill()
        with pytest.raises(notebook.Died) as died:
            running.end()
        assert "before" in died.value.cell.stdout
        kernel.restart()
        assert kernel.run("1").value == "1"


def test_a_difference_between_two_kernels_is_found(kernel, tmp_path):
    with notebook.Kernel(tmp_path) as other:
        for one in (kernel, other):
            one.ok("get_ipython().execution_count = 50")
        a, b = notebook.same(kernel, other, "raise ValueError(f'at {id(0):#x}')", "# mark")
        assert a.error and b.error
        kernel.ok("n = 1")
        other.ok("n = 2")
        ways = ("print(n)", "n", "display(n)", "raise ValueError(n)", "n > 1 or input()", "import sys; sys.stderr.write(n * '-')")
        for code in ways:
            with pytest.raises(AssertionError):
                notebook.same(kernel, other, code, "# mark", "answer")
