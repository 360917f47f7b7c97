# SPDX-License-Identifier: BSD-3-Clause
"""Cells with samples, memory and waits: data of the cell, messages in the result, and no processes or files left behind."""

import os
import re
import sys
import time
from pathlib import Path

import pytest

notebook = pytest.importorskip("notebook")
if __import__("importlib.util").util.find_spec("spartito._sample") is None:
    pytest.skip("no sampler here", allow_module_level=True)
from spartito import _sample  # noqa: E402

OLD = sys.version_info < (3, 11)
samples = pytest.mark.skipif(OLD or _sample.check() is not None, reason="cells cannot be sampled here")
SPIN = """
import os, threading, time
def spin(until):
    while not os.path.exists(until):
        sum(range(100))
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with notebook.Kernel(tmp_path_factory.mktemp("collections")) as kernel:
        kernel.ok("%load_ext spartito")
        kernel.ok(SPIN)
        yield kernel


def model(cell):
    from spartito.analysis import Model

    (text,) = (data["text/plain"] for data in cell.displays)
    return Model(text.split("\n")[-1])


def until_seen(kernel, code, name, enough):
    """Runs a cell whose result is in the directory `name`. The cell loops until the file `name`.seen exists; it is created when the
    recorded data satisfies `enough`."""
    from spartito.analysis import Error, Model

    def recorded():
        try:
            return enough(Model(str(kernel.directory / name)))
        except Error:
            return False  # the experiment does not exist yet

    running = kernel.begin(code).until(recorded)
    (kernel.directory / f"{name}.seen").touch()
    cell = running.end()
    assert cell.status == "ok", f"{cell}\n{cell.traceback}"
    return cell


def spins(found):
    """[samples of spin() called from a cell's code, and from elsewhere]."""
    samples = [0, 0]
    for path, row in call_paths(found).items():
        if path[-1].endswith(":spin"):
            samples[not path[0].startswith("In[")] += row.get("metrics", {}).get("samples", {}).get("incl", 0)
    return samples


def call_paths(found):
    names, paths = {}, {}
    for row in found.tree():
        names[row["path"]] = (*names.get(row["parent"], ()), row["name"])
        paths[names[row["path"]]] = row
    return paths


def samplers():
    """Command lines of sampler processes, and of the processes between a kernel and its sampler."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"spartito/sample/samplerscript.py") for word in command):
            found.append([os.fsdecode(word) for word in command])
    return found


def none_left(directory):
    until = time.monotonic() + 60
    while any(str(directory) in word for command in samplers() for word in command):
        assert time.monotonic() < until, samplers()
        time.sleep(0.02)


@pytest.mark.skipif(not OLD, reason="they can be from 3.11 on")
def test_where_cells_cannot_be_sampled(kernel):
    cell = kernel.ok("%%spartito --sample\nprint('ran')")
    assert cell.stdout == "ran\n" and cell.displays == []
    assert "is not measured: --sample: cells can be sampled from Python 3.11 on" in cell.stderr


@samples
def test_samples_of_a_cell_are_those_of_its_code(kernel):
    code = "t = threading.Thread(target=spin, args=('both.seen',)); t.start()\nspin('both.seen')\nt.join()\n'done'"
    cell = until_seen(kernel, f"%%spartito --sample -o both\n{code}", "both", lambda found: min(spins(found)) > 10)
    here, before = f"In[{cell.count}]", f"In[{cell.count - 1}]"
    assert cell.value == "'done'" and cell.stderr == ""
    paths = call_paths(model(cell))
    assert paths[here, f"{here}:<module>", f"{before}:spin"]["metrics"]["samples"]["incl"] > 10
    # a thread may be sampled before its first Python function, and after its last one
    assert {path[0] for path in paths} - {"<no Python code>"} == {here, "threading:Thread._bootstrap"}
    names = {name for path in paths for name in path}
    assert not [n for n in names if n.startswith(("IPython", "ipykernel", "tornado", "zmq", "asyncio", "selectors", "spartito"))]
    info = model(cell).info()
    assert [p["sampled"] for p in info["processes"]] == [True] and not info["problems"]
    text = cell.displays[0]["text/plain"]
    assert "times are those of samples" in text
    assert f"-  {before}:spin\n" in text  # the number of calls is unknown
    none_left(kernel.directory)


@samples
def test_samples_beside_calls_meet_them(kernel):
    code = "%%spartito --sample --calls -o called\nspin('called.seen')"
    cell = until_seen(kernel, code, "called", lambda found: spins(found)[0] > 10)
    here = f"In[{cell.count}]"
    cells = ((path, row) for path, row in call_paths(model(cell)).items() if path[:2] == (here, f"{here}:<module>"))
    (row,) = (row for path, row in cells if path[-1].endswith(":spin"))
    assert row["visits"] == 1 and row["metrics"]["samples"]["incl"] > 10


@samples
def test_a_statement_is_sampled(kernel):
    cell = until_seen(kernel, "%spartito --sample -o stated spin('stated.seen')", "stated", lambda found: spins(found)[0] > 5)
    assert spins(model(cell))[0] > 5
    none_left(kernel.directory)


@samples
def test_the_sampler_ends_with_an_error_and_an_interrupt(kernel):
    cell = kernel.run("%%spartito --sample\nsum(range(10**6))\n1 / 0")
    assert cell.error[0] == "ZeroDivisionError" and len(cell.displays) == 1
    none_left(kernel.directory)
    running = kernel.begin("%%spartito --sample\nprint('now', flush=True)\nspin('never')").until("now")
    assert [command for command in samplers() if any(str(kernel.directory) in word for word in command)]
    kernel.interrupt()
    cell = running.end()
    assert cell.error[0] == "KeyboardInterrupt" and len(cell.displays) == 1
    none_left(kernel.directory)


@samples
def test_the_sampler_ends_with_the_kernel(tmp_path):
    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("%load_ext spartito")
        running = kernel.begin("%%spartito --sample\nprint('now', flush=True)\nwhile True: sum(range(100))").until("now")
        assert any(str(tmp_path) in word for command in samplers() for word in command)
        kernel.kill()
        with pytest.raises(notebook.Died):
            running.end()
        none_left(tmp_path)


@samples
def test_children_are_those_of_the_cell(kernel):
    """The sampler is not a child of the kernel: os.wait() in a cell must not return it."""
    code = "import os\ntry:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('none')"
    cell = kernel.ok("%%spartito --sample\n" + code)
    assert cell.stdout == "none\n"


def test_memory_of_a_cell_and_what_is_missing(kernel):
    kernel.ok("def keep(n):\n    return [bytes(400) for _ in range(n)]")
    cell = kernel.ok("%%spartito --memory-profile\nkept = keep(5000)")
    text = cell.displays[0]["text/plain"]
    assert cell.stderr == ""
    assert re.search(r"memory: .* allocated in .* blocks; .* at the end", text)
    assert re.search(r"MiB .*In\[\d+\]:keep.*, line 2", text)
    assert "not allocated by Python's own allocators (malloc, mmap)" in text
    sites = [site for site in model(cell).memory()["sites"] if (site["function"] or "").endswith((":keep", ".<listcomp>"))]
    assert sum(site["left"] for site in sites) >= 5000 and sum(site["left_bytes"] for site in sites) >= 5000 * 400
    # the next measurement starts with empty tables and records again
    cell = kernel.ok("%%spartito --memory-profile\nagain = keep(100)")
    sites = [site for site in model(cell).memory()["sites"] if (site["function"] or "").endswith((":keep", ".<listcomp>"))]
    assert 100 <= sum(site["left"] for site in sites) < 1000
    assert kernel.ok("len(kept), len(again)").value == "(5000, 100)"


def test_samples_of_memory_record_no_calls(kernel):
    cell = kernel.ok("%%spartito --memory-sample 4K\nkept = [bytes(400) for _ in range(20000)]")
    text = cell.displays[0]["text/plain"]
    assert "numbers are estimates" in text and "(malloc, mmap), because" in text and cell.stderr == ""


def test_waits_of_a_cell(kernel):
    code = (
        "%%spartito --waits -o held\nlock = threading.Lock()\nheld = threading.Event()\ndef hold():\n    with lock:\n"
        "        held.set()\n        while not os.path.exists('held.seen'): time.sleep(.01)\n"
        "t = threading.Thread(target=hold); t.start()\nheld.wait()\nwith lock: pass\nt.join()"
    )
    cell = until_seen(kernel, code, "held", lambda found: any(w["open"] and w["kind"] == "lock" for w in found.locks()["waits"]))
    text = cell.displays[0]["text/plain"]
    assert cell.stderr == "" and re.search(rf"Lock made at In\[{cell.count}\]:2 .*In\[{cell.count}\]:hold", text)


def test_a_kernel_that_was_prepared_records_malloc_too(tmp_path):
    import subprocess
    import sys

    command = [sys.executable, "-m", "spartito", "kernel", "install", "--prefix", "here", "--name", "measured", "--memory-profile"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with notebook.Kernel(tmp_path, name="measured", specs=[tmp_path / "here" / "share" / "jupyter" / "kernels"]) as kernel:
        assert kernel.ok("import os\n[n for n in os.environ if n.startswith('SPARTITO') or n == 'LD_PRELOAD']").value == "[]"
        kernel.ok("import ctypes\nc = ctypes.CDLL(None)\nc.malloc.restype = ctypes.c_void_p")
        cell = kernel.ok("%%spartito --memory-profile\nblock = c.malloc(1234567)")
        assert "not recorded in process" not in cell.displays[0]["text/plain"]
        sites = [site for site in model(cell).memory()["sites"] if site["left_bytes"] >= 1234567]
        assert [site["allocator"] for site in sites] == ["malloc"]
