# SPDX-License-Identifier: BSD-3-Clause
"""`spartito run --sample`: samples of threads and processes, and the program's unchanged behaviour."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spartito._analyse import Model
from spartito._sample import check
from spartito.experiments import sampled

from mpi import mpi  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")

# On a busy machine the sampler may not run for longer than the program works: work() and rest() continue until it has taken `looks`
# samples. It sleeps about once for each sample; the file of samples shows when it has opened the process.
WORK = """
import os, sys, time
def work(seconds, looks=None):
    n, end, enough = 0, time.process_time() + seconds, looked() + (3 * int(10 * seconds) if looks is None else looks)
    while time.process_time() < end or looked() < enough:
        n += 1
    return n
def rest(seconds, looks=5):
    enough = looked() + looks
    time.sleep(seconds)
    while looked() < enough:
        time.sleep(0.1)
samplers = {}
def looked():
    try:
        if os.getpid() not in samplers:
            sampler = next(filter(mine, text("/proc/{0}/task/{0}/children", os.environ["SPARTITO_SAMPLER"]).split()), None)
            if sampler is None:
                return 0
            samplers[os.getpid()] = sampler, slept(sampler)
        sampler, before = samplers[os.getpid()]
        return slept(sampler) - before
    except (KeyError, OSError):
        return float("inf")  # nobody does, or any more
def slept(sampler):
    return int(text("/proc/{}/status", sampler).split("\\nvoluntary_ctxt_switches:")[1].split()[0])
def mine(sampler):
    try:
        maps = text("/proc/{}/maps", sampler).split(".samples.raw")[:-1]
    except OSError:  # another process's, which has ended
        return False
    return any(f"-{os.getpid()}-" in line.rpartition("/")[2] for line in maps)
def text(path, pid):
    with open(path.format(pid)) as f:
        return f.read()
"""


def run(tmp_path, program, *options, status=0, **kwargs):
    """Runs the program with --sample; returns its output."""
    (tmp_path / "program.py").write_text(WORK + program)
    command = [
        sys.executable,
        "-m",
        "spartito",
        "run",
        "--sample",
        "-o",
        tmp_path / "run",
        *options,
        "--",
        sys.executable,
        "program.py",
    ]
    done = subprocess.run([str(c) for c in command], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, **kwargs)
    assert done.returncode == status, done.stderr
    return done


def model(tmp_path):
    return Model(str(tmp_path / "run"))


def rows(m, **which):
    return {row["name"]: row for row in m.flat(**which)}


def of(row, name):
    return row["metrics"][name]["incl"]


def seen(row):
    """Time of all states. A late sample counts for all periods since the one before it."""
    return sum(of(row, "sampled_" + state) for state in ("running", "gil", "syscall", "idle"))


def late(m):
    """Seconds of samples that came late on a busy machine: their time is assigned to what the next sample found."""
    (meta,) = (process["meta"] for process in m.info()["processes"])
    return int(meta["sample_late"]) / int(meta["sample_rate"])


def left_over(tmp_path):
    """Processes of this run that still exist."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(tmp_path).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def gone(tmp_path):
    """Whether they end, within a time long enough for any machine."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        if not left_over(tmp_path):
            return True
        time.sleep(0.05)
    return False


def test_functions_and_lines_of_one_thread(tmp_path):
    done = run(
        tmp_path,
        "def outer():\n    work(0.6)\ndef sleeper():\n    rest(0.3, 30)\nwork(0, 5); outer(); rest(0); sleeper(); print('done')\n",
        "-q",
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
    m = model(tmp_path)
    (process,) = m.info()["processes"]
    assert process["sampled"] and not process["counted"] and not process["traced"]
    by_name = rows(m)
    assert {"__main__:work", "__main__:outer", "__main__:sleeper", "__main__:<module>"} <= set(by_name)
    assert not any(row["visits"] for row in by_name.values())
    work, sleeper = by_name["__main__:work"], by_name["__main__:sleeper"]
    assert work["line"] == 3 and work["file"] == str(tmp_path / "program.py")
    assert of(work, "samples") > 10 and of(work, "sampled_cpu") > 0.3e9
    assert of(sleeper, "sampled_idle") > 0.2e9 and of(sleeper, "sampled_cpu") < 0.1e9
    # all samples have the whole stack, and no time is lost between the levels
    tops = [row["incl"] for row in m.tree() if row["depth"] == 0]
    assert sum(tops) == pytest.approx(sum(row["excl"] for row in by_name.values()))
    (whole,) = [row["path"] for row in m.tree() if row["depth"] == 0 and row["name"] == "__main__:<module>"]
    below = {row["name"]: row["incl"] for row in m.tree() if row["parent"] == whole}
    for name in ("outer", "sleeper"):
        assert below[f"__main__:{name}"] == by_name[f"__main__:{name}"]["incl"] > 0.2
    lines = {f["name"]: f for f in m.lines()}
    ran = {line for line, _, _, _ in lines["__main__:work"]["lines"]}
    assert ran <= {3, 4, 5, 6, 7} and ran & {5, 6}  # 3: a sample at the function's begin has the line of `def`
    # the table shows the times of lines, although their hits are unknown
    command = [sys.executable, "-m", "spartito", "report", "lines", "--match", "__main__:work", tmp_path / "run"]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert {int(n) for n in re.findall(r"^ *(\d+) +[\d.,]+ (?:ns|µs|ms|s) ", table, re.M)} == ran
    assert lines["__main__:outer"]["callees"] > 0.9 * by_name["__main__:outer"]["incl"]
    assert gone(tmp_path)


def test_shares_are_those_of_the_calls(tmp_path):
    program = """
import random
def a(): work(0.004)
def b(): work(0.002)
def c(): time.sleep(0.002)
rest(0)
for i in range(150):
    for f in random.sample((a, b, c), 3): f()
"""
    run(tmp_path, program, "--calls", "--sample-rate", "1000")
    m = model(tmp_path)
    by_name = rows(m)
    whole = by_name["__main__:<module>"]
    assert whole["visits"] == 1 and by_name["__main__:work"]["visits"] == 300
    for name in "abc":
        row = by_name[f"__main__:{name}"]
        assert row["visits"] == 150
        assert seen(row) / seen(whole) == pytest.approx(row["incl"] / whole["incl"], abs=0.06 + late(m) / whole["incl"])


def test_threads_are_distinguished(tmp_path):
    program = """
import threading
def one(): work(0.3)
def two(): rest(0.5, 50)
threads = [threading.Thread(target=f) for f in (one, two)]
for t in threads: t.start()
for t in threads: t.join()
"""
    run(tmp_path, program)
    m = model(tmp_path)
    locations = m.info()["locations"]
    seen = [{row["qualname"] for row in m.flat(location=i)} & {"one", "two", "<module>"} for i in range(len(locations))]
    assert sorted(map(sorted, seen)) == [["<module>"], ["one"], ["two"]]
    assert of(rows(m)["__main__:two"], "sampled_idle") > 0.3e9


def test_threads_have_the_names_that_the_system_has_for_them(tmp_path):
    """One thread gets its name when the sampler knows it already; another one has no name."""
    program = """
import ctypes, threading
libc = ctypes.CDLL(None)
def named(name, after):
    work(after)
    libc.prctl(15, name, 0, 0, 0)  # PR_SET_NAME
    rest(1.1), rest(0)  # names are looked at each second
def without():
    libc.prctl(15, open("/proc/self/comm", "rb").read().strip(), 0, 0, 0)  # from 3.14 on Python names it
    work(0.3)
threads = [threading.Thread(target=f, args=a) for f, a in ((named, (b"early bird", 0)), (named, (b"late", 0.3)), (without, ()))]
for t in threads: t.start()
for t in threads: t.join()
"""
    run(tmp_path, program)
    names = [location["name"] for location in model(tmp_path).info()["locations"]]
    assert {"early bird", "late"} <= set(names) and sum(name.startswith("thread ") for name in names) == 1


@pytest.mark.parametrize(
    "program",
    [
        "pid = os.fork()\nif not pid:\n    child(); os._exit(0)\nos.waitpid(pid, 0)\n",
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: p.map(child, range(2), 1)\n",
        "import subprocess\nif len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'x'])\nelse: child()\n",
        "if len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, __file__, 'x'])\nelse: child()\n",
    ],
    ids=["fork", "pool", "subprocess", "exec"],
)
def test_children(tmp_path, program):
    run(tmp_path, "def child(_=0): work(0.4)\n" + program)
    m = model(tmp_path)
    processes = m.info()["processes"]
    children = [i for i in range(1, len(processes)) if "child" in {row["qualname"] for row in m.flat(process=i)}]
    assert children and all(processes[i]["sampled"] for i in children)
    assert not m.info()["problems"]
    assert gone(tmp_path)


def test_a_process_that_ends_at_once(tmp_path):
    for i in range(5):
        place = tmp_path / str(i)
        place.mkdir()
        run(place, "", status=0)
    assert gone(tmp_path)


@pytest.mark.parametrize("options", [(), ("--trace",), ("--calls",)], ids=["samples", "trace", "calls"])
def test_status_and_signals_stay(tmp_path, options):
    run(tmp_path, "work(0.1)\nsys.exit(7)\n", *options, status=7)


def test_killed(tmp_path):
    run(
        tmp_path,
        "import signal\ndef last():\n    work(0.3)\n    os.kill(os.getpid(), signal.SIGKILL)\nlast()\n",
        status=-signal.SIGKILL,
    )
    m = model(tmp_path)
    assert of(rows(m)["__main__:last"], "samples") > 5
    assert not [text for text in m.info()["problems"] if "samples" in text]
    assert gone(tmp_path)


def test_trace_and_samples_together(tmp_path):
    run(tmp_path, "for i in range(5): work(0.1)\n", "--trace")
    m = model(tmp_path)
    (process,) = m.info()["processes"]
    assert process["sampled"] and process["counted"] and process["traced"]
    row = rows(m)["__main__:work"]
    assert row["visits"] == 5 and of(row, "samples") > 10


def test_the_report_says_that_calls_are_unknown(tmp_path):
    done = run(tmp_path, "work(0.3)\n")
    assert "samples of" in done.stderr and re.search(r"times are those of samples: [\d,]+ at 100 Hz", done.stderr)
    report, where = [sys.executable, "-m", "spartito", "report"], str(tmp_path / "run")
    text = subprocess.run([*report, where], capture_output=True, encoding="utf-8", check=True).stdout
    (line,) = [line for line in text.splitlines() if "__main__:work" in line]
    assert " - " in line and "no calls were recorded" not in text
    words = ["callers", "--match", "work"]
    callers = subprocess.run([*report, *words, where], capture_output=True, encoding="utf-8", check=True).stdout
    counts = subprocess.run([*report, "trip-count", where], capture_output=True, encoding="utf-8")
    assert (counts.returncode, counts.stdout) == (1, "") and "samples do not count calls" in counts.stderr
    for row in ("  called by  __main__:<module>", "__main__:work"):
        (line,) = [line for line in callers.splitlines() if line.endswith("  " + row)]
        assert " -  " in line
    found = json.loads(subprocess.run([*report, "--json", where], capture_output=True, check=True).stdout)
    assert any("times are those of samples" in note for note in found["notes"])
    words = ["callers", "--json", "--match", "work"]
    callers = json.loads(subprocess.run([*report, *words, where], capture_output=True, check=True).stdout)
    found = [*found["rows"], callers["callers"][0]["region"]]
    assert {row[key] for row in found for key in ("visits", "mean")} == {None} and all(row["excl"] is not None for row in found)


def test_nothing_is_seen_in_a_pause(tmp_path):
    program = """
import spartito
def before(): work(0.2)
def meanwhile(): work(0.4)
before()
spartito.pause()
meanwhile()
spartito.resume()
before()
"""
    run(tmp_path, program)
    by_name = rows(model(tmp_path))
    assert "__main__:before" in by_name
    # a sample may have begun before the pause
    assert "__main__:meanwhile" not in by_name or of(by_name["__main__:meanwhile"], "samples") <= 2


@pytest.mark.parametrize("calls", [(), ("--calls",)], ids=["samples", "calls"])
def test_the_processor_time_of_a_pause_is_nobodys(tmp_path, calls):
    program = """
import spartito
def meanwhile(): work(1.5)
def after(): work(0.3)
work(0, 5)
spartito.pause()
meanwhile()
rest(0)  # what it took until now is known
spartito.resume()
after()
"""
    run(tmp_path, program, *calls)
    by_name = rows(model(tmp_path))
    assert 0 < of(by_name["__main__:after"], "sampled_cpu") < 1e9
    assert of(by_name["__main__:<module>"], "sampled_cpu") < 1e9


def test_a_region_around_a_pause_is_in_one_place(tmp_path):
    program = """
import spartito
def after(): work(0.3)
with spartito.region("around"):
    work(0.2)
    spartito.pause()
    work(0.1)
    spartito.resume()
    after()
work(0.1)
"""
    run(tmp_path, program)
    tree = list(model(tmp_path).tree())
    assert [row["depth"] for row in tree if row["name"] == "around"] == [0]
    # the time for reading user regions from the process is not added to its functions
    for row in tree:
        if row["qualname"] in ("work", "after"):
            assert row["incl"] == pytest.approx(seen(row) / 1e9, rel=0.01)


@pytest.mark.parametrize("more", [("--waits",), ("--memory-sample", "64K"), ("--io",)], ids=["waits", "memory", "io"])
def test_a_thread_that_is_recorded_too_has_its_time_once(tmp_path, more):
    program = """
import threading
def sleeper():
    open("/dev/null").close()
    kept = [bytearray(1000) for _ in range(1000)]
    for _ in range(10):
        rest(0.05)
thread = threading.Thread(target=sleeper)
thread.start()
thread.join()
"""
    run(tmp_path, program, *more)
    row = rows(model(tmp_path))["__main__:sleeper"]
    assert of(row, "samples") > 20
    assert row["incl"] == pytest.approx(seen(row) / 1e9, rel=0.05)


@pytest.mark.parametrize("calls", [(), ("--calls",)], ids=["samples", "calls"])
def test_names_are_those_of_recorded_calls(tmp_path, calls):
    """Functions of Spartito are excluded. A module's body has one name during its import, as recorded calls have."""
    (tmp_path / "slow.py").write_text("from __main__ import work\nwork(0.3)\n")
    program = """
import spartito
@spartito.region("decorated")
def function(): work(0.3)
function()
import importlib
import slow
"""
    run(tmp_path, program, *calls, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    by_name = rows(model(tmp_path))
    assert of(by_name["__main__:function"], "samples") > 5 and of(by_name["slow:<module>"], "samples") > 5
    assert not any(name.startswith(("spartito.", "importlib._bootstrap")) for name in by_name)
    assert of(by_name["_frozen_importlib:_find_and_load"], "samples") > 5


def test_a_process_that_came_too_late_is_not_reported_as_ended():
    meta = {"settings": "\nsampler=9\n"}
    times = [
        (1, 0, 1, "normal"),
        (2, 1.1, 1.15, "normal"),
        (3, 1.1, 7.1, "normal"),
        (4, 1.1, 1.15, "running"),
        (5, 0.9, 0.95, "running"),
    ]
    processes = [
        {"pid": pid, "sampled": pid == 1, "begin": begin, "stop": stop, "end": end, "meta": meta} for pid, begin, stop, end in times
    ]
    assert sampled.missing({"processes": processes}) == [
        "not sampled: process 2: " + sampled.SHORT,
        "not sampled: 2 processes: " + sampled.LATE,
        "not sampled: process 5: " + sampled.SOON,
    ]


def test_the_filter_is_for_samples_too(tmp_path):
    run(tmp_path, "def hidden(): work(0.3)\nhidden()\n", "--exclude", "hidden")
    tree = [(row["depth"], row["qualname"]) for row in model(tmp_path).tree()]
    assert (1, "work") in tree and not any(name == "hidden" for _, name in tree)


def test_merged_experiments_have_the_same(tmp_path):
    run(tmp_path, "work(0.3)\ntime.sleep(0.1)\n")
    before = model(tmp_path)
    subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", "-q", str(tmp_path / "run")], check=True, timeout=60)
    after = model(tmp_path)
    assert (tmp_path / "run" / "merged").exists()
    for key in ("processes", "locations", "metrics"):
        assert before.info()[key] == after.info()[key]
    assert before.tree() == after.tree() and before.lines() == after.lines()


def test_the_end_is_not_held_up_by_a_pipe(tmp_path):
    """The child waits for a writer of the pipe: it ends after the run and the reader of its output have ended. Neither waits for
    it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "program.py").write_text(
        WORK + "import subprocess\nwaits = 'open(\"pipe\").read()'\n"
        "subprocess.Popen([sys.executable, '-c', waits], stdin=-3, stdout=-3, stderr=-3)\nwork(0.1)\n"
    )
    line = f"{sys.executable} -m spartito run -q --sample -o {tmp_path}/run -- {sys.executable} program.py | cat"
    subprocess.run(line, shell=True, cwd=tmp_path, check=True, timeout=120)
    with open(tmp_path / "pipe", "w"):  # blocks until the child reads
        pass
    assert gone(tmp_path)


@pytest.mark.skipif(not os.path.exists(f"/proc/self/task/{os.getpid()}/children"), reason="this kernel does not list children")
@pytest.mark.parametrize("options", [(), ("--sample-native",)])
def test_a_process_that_becomes_another_program_without_a_word(tmp_path, options):
    """The process executes another program by a direct call of the C library, without notice. That program waits until its sampler
    has ended."""
    run(
        tmp_path,
        """
import ctypes
children = "/proc/{0}/task/{0}/children".format(os.environ["SPARTITO_SAMPLER"])
while not open(children).read():
    work(0.01)
work(0.3)
wait = 'i=0; while [ $i -lt 150 ]; do [ "$(cat $0)" ] || exit 0; sleep 0.5; i=$((i + 1)); done; exit 1'
ctypes.CDLL(None).execl(b"/bin/sh", b"sh", b"-c", wait.encode(), children.encode(), None)
""",
        *options,
    )
    assert of(rows(model(tmp_path))["__main__:work"], "samples") > 5


def test_a_launcher_that_is_killed(tmp_path):
    (tmp_path / "program.py").write_text(
        WORK + "def later(): work(0.5)\nprint(os.getpid(), flush=True)\nsys.stdin.read()\nlater()\n"
    )
    command = [sys.executable, "-m", "spartito", "run", "--sample", "-o", str(tmp_path / "run"), "--", sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as launcher:
        pid = int(launcher.stdout.readline())
        launcher.kill()
        launcher.wait()
        launcher.stdin.close()
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.05)
    assert gone(tmp_path)
    assert of(rows(model(tmp_path))["__main__:later"], "samples") > 5


def test_regions_of_the_program_are_around_what_runs_in_them(tmp_path):
    program = """
import spartito
def inside(): work(0.3)
rest(0)
for i in range(2):
    with spartito.region("phase"): inside(), rest(0, 10)
work(0.3)
rest(0)
"""
    run(tmp_path, program)
    m = model(tmp_path)
    by_name = rows(m)
    phase, work = by_name["phase"], by_name["__main__:work"]
    assert phase["visits"] == 2 and phase["metrics"]["samples"]["incl"] > 10
    paths = {row["path"]: row for row in m.tree()}

    def stack(row):
        return [*(stack(paths[row["parent"]]) if row["parent"] in paths else []), row["qualname"]]

    stacks = [stack(row) for row in paths.values() if row["qualname"] == "work"]
    assert sorted(stacks) == [["<module>", "work"], ["phase", "<module>", "inside", "work"]]
    # no time counts twice: each function has the time it took, all together the length of the run
    called = sum(row["incl"] for row in paths.values() if row["parent"] in paths and paths[row["parent"]]["qualname"] == "work")
    assert phase["excl"] < 0.3 * phase["incl"] and work["excl"] + called == pytest.approx(work["incl"], rel=0.1)
    assert sum(row["excl"] for row in by_name.values()) <= 1.05 * m.info()["locations"][0]["busy"] + 0.05


RING = """
from mpi4py import MPI
world = MPI.COMM_WORLD
rank = world.Get_rank()
def exchange():
    if rank: world.recv(source=0)
    else: world.send([], 1)
for i in range(4):
    work(0.1)
    if rank:
        open(f"comes-{i}", "w").close()
    else:
        while not os.path.exists(f"comes-{i}"): work(0.01)
        rest(0.1)
    exchange()
"""


@pytest.mark.parametrize("each", [False, True], ids=["one launcher", "one for each rank"])
def test_ranks_of_mpi(tmp_path, mpi, each):  # noqa: F811
    (tmp_path / "program.py").write_text(WORK + RING)
    measure = [sys.executable, "-m", "spartito", "run", "-q", "--sample", "-o", str(tmp_path / "run"), "--"]
    ranks, program = [f"mpiexec.{mpi.kind}", "-n", "2"], [sys.executable, "program.py"]
    command = [*ranks, *measure, *program] if each else [*measure, *ranks, *program]
    done = subprocess.run(command, cwd=tmp_path, env=mpi.environment, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    m = model(tmp_path)
    processes = m.info()["processes"]
    assert [p["rank"] for p in processes] == [0, 1] and all(p["sampled"] for p in processes)
    for i in range(2):
        assert of(rows(m, process=i)["__main__:work"], "samples") > 5
    # rank 1 waits in its receive: its time is below the function that called it, and at no second place
    waits = [
        row for row in m.tree(process=1) if row["kind"] == "mpi" and row["qualname"] in ("MPI_Mprobe", "MPI_Recv", "MPI_Mrecv")
    ]
    inner = sum(row["incl"] for row in waits if row["depth"] > 0)
    assert inner > 0.1 and sum(row["visits"] for row in waits) >= 4
    assert sum(row["incl"] for row in waits if row["depth"] == 0) < 0.5 * inner
    assert gone(tmp_path)


def test_samples_are_a_timeline_in_other_formats(tmp_path):
    run(tmp_path, "def first(): work(0.2)\ndef second(): rest(0.2)\nfirst(); second()\n", "-q", "--to", "chrome")
    (process,) = model(tmp_path).info()["processes"]
    assert not process["traced"] and not process["counted"]  # with samples, a format with a timeline does not turn the trace on
    (path,) = tmp_path.glob("run*.json*")
    open_, seen = [], []
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "B":
            open_.append(event["name"])
            seen.append(tuple(open_))
        elif event["ph"] == "E":
            open_.pop()
    assert not open_
    whole = "__main__:<module>"
    assert (
        seen.index((whole, "__main__:first"))
        < seen.index((whole, "__main__:first", "__main__:work"))
        < seen.index((whole, "__main__:second"))
    )


def test_damaged_files_of_samples_are_survived(tmp_path):
    run(tmp_path, "def f(): work(0.1)\nfor i in range(3): f()\n", "-q")
    code = """
import random, sys
from pathlib import Path
from spartito._analyse import Error, Model
run, out = sys.argv[1:]
(path,) = Path(run, "raw").glob("*.samples.raw")
whole = path.read_bytes()
for seed in range(150):
    chance = random.Random(seed)
    data = bytearray(whole[: chance.choice((len(whole), chance.randrange(len(whole))))])
    used = [i for i in range(0, len(data), 8) if any(data[i : i + 8])]
    for at in chance.sample(used, min(len(used), chance.choice((0, 1, 5, 200)))):
        data[at + chance.randrange(8) if at + 8 <= len(data) else at] = chance.choice((0, 1, 127, 255, chance.randrange(256)))
    path.write_bytes(data)
    try:
        m = Model(run)
        m.flat(), m.tree(), m.lines()
        m.convert("chrome", out)
    except Error:
        pass
print("survived")
"""
    command = [sys.executable, "-c", code, str(tmp_path / "run"), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr
