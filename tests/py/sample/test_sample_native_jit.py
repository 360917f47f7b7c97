# SPDX-License-Identifier: BSD-3-Clause
"""Code generated at run time: it has a name where one is listed, and stacks are unwound through it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from spartito._analyse import Model
from spartito._sample import check
from test_sample_native import NATIVE, NO_NATIVE, follow, name, names, opened, running, samples_of
from test_sample_run import WORK

pytestmark = [
    pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}"),
    pytest.mark.skipif(not NATIVE, reason=NO_NATIVE),
]

# a function made of machine code that calls back or spins: with a frame pointer in rbp, or with one word on the stack
MADE = """
    import ctypes, mmap, os, sys
    how, listed = sys.argv[1:]
    shared = mmap.MAP_PRIVATE if how == "based" else mmap.MAP_SHARED
    room = mmap.mmap(-1, 4096, shared | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    at = ctypes.addressof(ctypes.c_char.from_buffer(room))
    based = bytes.fromhex("55 4889e5 4883ec20 ffd7 c9 c3")    # push rbp; mov rbp, rsp; sub rsp, 32; call *rdi; leave; ret
    word = bytes.fromhex("4883ec08 ffd7 4883c408 c3")         # sub rsp, 8; call *rdi; add rsp, 8; ret
    spins = bytes.fromhex("ebfe")
    room[:64] = (based if how == "based" else word).ljust(64, b"\\xcc")
    room[64:66] = spins
    if listed == "listed":
        with open(f"/tmp/perf-{os.getpid()}.map", "w") as f:
            f.write(f"{at:x} 40 gone\\n{at:x} 40 made_outer\\n{at + 64:x} 2 made inner@1\\nnonsense\\n")
    kind = ctypes.CFUNCTYPE(None)
    outer = ctypes.CFUNCTYPE(None, kind)(at)
    inner = kind(at + 64)
    def called_back():
        print("ready", flush=True)
        inner()
    callback = kind(called_back)
    def calls():
        outer(callback)
    calls()
    """


@pytest.fixture
def lists():
    """Removes the program's perf-PID.map in /tmp, but not those of programs that still run: tests run in parallel."""
    before = set(Path("/tmp").glob("perf-*.map"))
    yield
    for path in set(Path("/tmp").glob("perf-*.map")) - before:
        if not os.path.exists(f"/proc/{path.stem[len('perf-'):]}"):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("how", ["based", "word"])
@pytest.mark.parametrize("listed", ["listed", "not"])
def test_names_and_callers(lists, how, listed):
    first, last = ("made inner@1", "made_outer") if listed == "listed" else ("<made at run time>",) * 2
    wanted = [first, "called_back", last, "calls"]
    with running(MADE, how, listed) as p, opened(p.pid) as process:
        for sample in samples_of(process):
            complete, state, frames = sample.get(p.pid, (0, "", []))
            if complete and follow(wanted, names(frames)):
                break
        assert state == "running"
        objects = {name(f): f[0] for f in frames}
        assert objects[first] == objects[last] == "[jit]"


def test_in_an_experiment(lists, tmp_path):
    program = "\n".join(line[4:] for line in MADE.splitlines()).replace(
        "    inner()", "    while looked() < 60: inner()"
    ).replace(
        "ebfe", "48c7c1ffffff5f48ffc975fbc3"  # mov rcx, 0x5fffffff; dec rcx; jnz; ret
    ).replace("room[64:66]", "room[64:77]").replace("} 2 made", "} d made")
    assert program.count("looked()") == 1
    (tmp_path / "program.py").write_text(WORK + "sys.argv = ['', 'word', 'listed']\n" + program)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--sample", "--sample-native", "-o", str(tmp_path / "run"), "--"]
    command += [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")
    m = Model(str(tmp_path / "run"))
    found = {row["qualname"]: row for row in m.flat()}
    assert found["made inner@1"]["module"] == "[jit]" and found["made inner@1"]["metrics"]["samples"]["incl"] > 5
    assert found["made_outer"]["incl"] >= found["made inner@1"]["incl"] and "gone" not in found


@pytest.mark.skipif(sys.version_info < (3, 12), reason="python -X perf came with 3.12")
def test_what_python_makes_for_perf_is_folded(lists):
    """With -X perf Python generates a trampoline for each function: it is no separate frame."""
    code = "import sys\ndef inner():\n    print('ready', flush=True)\n    while True: pass\ndef outer(): inner()\nouter()\n"
    with subprocess.Popen([sys.executable, "-X", "perf", "-c", code], stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            if not Path(f"/tmp/perf-{p.pid}.map").exists():
                pytest.skip("this Python was built without it")
            with opened(p.pid) as process:
                for sample in samples_of(process):
                    complete, _, frames = sample.get(p.pid, (0, "", []))
                    if complete and follow(["inner", "outer", "<module>"], names(frames)):
                        break
                assert not any(f[0] == "[jit]" for f in frames)
        finally:
            p.kill()
