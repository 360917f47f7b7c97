# SPDX-License-Identifier: BSD-3-Clause
"""`spartito run --sample` of processes on other hosts than the launcher's, emulated by PID and UTS namespaces: process ids are
different there, and the host has another name. And of processes that begin late."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from spartito._analyse import Model
from spartito._sample import check
from test_sample_native import NATIVE
from test_sample_run import RING, WORK, gone, of, rows

from mpi import mpi  # noqa: F401 - a fixture

# keeps a host's first process alive until the samplers have ended: when it ends, the kernel kills all others of its namespace
LAST = "while ls run/samplers/* >/dev/null 2>&1; do sleep 0.02; done"
HOST = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]


def _can_unshare():
    return bool(shutil.which("unshare")) and subprocess.run([*HOST, "true"], capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}"),
    pytest.mark.skipif(not _can_unshare(), reason="no pid namespaces can be made here"),
]

PROGRAM = """
import subprocess
if len(sys.argv) == 1:
    child = subprocess.Popen([sys.executable, __file__, "x"])
    def parent(): work(0.4)
    parent()
    assert child.wait() == 0
    try:
        print("a child of nobody:", os.wait())
    except ChildProcessError:
        sys.stdout.write("done\\n")  # at once: another does so at the same time
else:
    def child(): work(0.4)
    child()
"""


def run(tmp_path, program, command, *options, status=0, **kwargs):
    (tmp_path / "program.py").write_text(WORK + program)
    measure = [sys.executable, "-m", "spartito", "run", "-q", "--sample", "-o", str(tmp_path / "run"), *options, "--"]
    done = subprocess.run([*measure, *command], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, **kwargs)
    assert done.returncode == status, done.stderr
    return done


def test_each_host_has_a_sampler(tmp_path):
    program = f"{sys.executable} program.py && exec env -u SPARTITO_EXPERIMENT sh -c '{LAST}'"
    line = f"for i in 1 2; do {' '.join(HOST)} sh -c \"hostname node$i; {program}\" & done; wait"
    done = run(tmp_path, PROGRAM, ["sh", "-c", line], *["--sample-native"] * NATIVE)
    assert (done.stdout, done.stderr) == ("done\n" * 2, "")
    m = Model(str(tmp_path / "run"))
    processes = m.info()["processes"]
    assert sorted(p["host"] for p in processes) == ["node1", "node1", "node2", "node2"]
    assert all(p["sampled"] for p in processes) and not m.info()["problems"]
    # one sampler for both processes of a host, and another one for each host
    asked = {p["host"]: set() for p in processes}
    for path in Path(tmp_path, "run", "raw").iterdir():
        if not path.name.endswith(".samples.raw"):
            asked[path.name.split("-")[0]].add(path.read_bytes()[52:56])
    assert [len(pids) for pids in asked.values()] == [1, 1]
    names = ["parent", "child"]
    for i in range(len(processes)):
        (found,) = [name for name in names if f"__main__:{name}" in rows(m, process=i)]
        assert of(rows(m, process=i)[f"__main__:{found}"], "samples") > 5
    assert not (tmp_path / "run" / "samplers").exists()
    assert gone(tmp_path)


def test_a_host_where_nobody_can_sample(tmp_path):
    """Without a sampler on its host the program runs unchanged, and the report has the reason."""
    words = "import sys; from spartito.cli.main import main; from spartito.sample import sampling; "
    words += "command = sampling.script_command; "
    words += "sampling.script_command = lambda *a, **k: ['/nowhere/python', *command(*a, **k)[1:]]; sys.exit(main())"
    (tmp_path / "program.py").write_text(WORK + "work(0.2)\nprint('done')\n")
    command = [sys.executable, "-c", words, "run", "--sample", "-o", str(tmp_path / "run"), "--"]
    command += [*HOST, sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n")
    why = "the process that samples on this host cannot be started: No such file or directory"
    assert re.search(rf"not sampled: process \d+: {why}", done.stderr)
    assert not (tmp_path / "run" / "samplers").exists()


def test_a_sampler_that_was_killed_has_a_successor(tmp_path):
    program = """
import signal, subprocess
if len(sys.argv) == 1:
    work(0.2)
    sampler = os.environ["SPARTITO_SAMPLER"]
    os.kill(int(sampler), signal.SIGKILL)
    # a signal may take its time, and who still seems to be there is not replaced
    while "Z (zombie)" not in text("/proc/{}/status", sampler):
        time.sleep(0.01)
    # as something has it that was started before the first sampler
    os.environ["SPARTITO_SAMPLING"] = "another " + os.environ["SPARTITO_SAMPLING"]
    sys.exit(subprocess.call([sys.executable, __file__, "x"]))
def second(): work(0.4)
second()
"""
    run(tmp_path, program, [*HOST, sys.executable, "program.py"])
    m = Model(str(tmp_path / "run"))
    assert len(m.info()["processes"]) == 2 and of(rows(m)["__main__:second"], "samples") > 5
    assert gone(tmp_path)


def test_ranks_of_mpi_on_separate_hosts(tmp_path, mpi):  # noqa: F811
    environment = {**mpi.environment, "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_pml": "ob1", "MPIR_CVAR_NOLOCAL": "1"}
    ranks = [f"mpiexec.{mpi.kind}", "-n", "2", *HOST, sys.executable, "program.py"]
    done = run(tmp_path, RING + "print('done')\n", ranks, env=environment)
    assert done.stdout == "done\n" * 2
    m = Model(str(tmp_path / "run"))
    processes = m.info()["processes"]
    assert [p["rank"] for p in processes] == [0, 1] and all(p["sampled"] for p in processes)
    for i in range(2):
        assert of(rows(m, process=i)["__main__:work"], "samples") > 5
    assert not (tmp_path / "run" / "samplers").exists()
    assert gone(tmp_path)


@pytest.mark.parametrize("begins", ["at once", "later"])
def test_children_that_begin_when_the_program_has_ended(tmp_path, begins):
    """`later`: a shell starts the child, after every other process of the run has ended and with it the sampling."""
    program = """
import subprocess
if len(sys.argv) == 1:
    subprocess.Popen(["sh", "-c", f"sleep {0.5 * LATER}; exec {sys.executable} {__file__} x"], stdout=-3, stderr=-3)
    work(0.1, 10)
else:
    def child(): work(0.5)
    child()
"""
    run(tmp_path, f"LATER = {begins == 'later':d}\n" + program, [sys.executable, "program.py"])
    assert gone(tmp_path)  # the child, then the sampler
    m = Model(str(tmp_path / "run"))
    assert [p["sampled"] for p in m.info()["processes"]] == [True, True]
    assert of(rows(m)["__main__:child"], "samples") > 5
    assert json.loads((tmp_path / "run" / "experiment.json").read_text())["status"] == 0
