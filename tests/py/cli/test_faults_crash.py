# SPDX-License-Identifier: BSD-3-Clause
"""Data recorded before a violent end is kept, and the report shows how the run ended."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter

import asleep
import pytest
import spartito._analyse as analyse
from commandline import wait_for
from programs import HOOKS

# counts its calls in a mapped file: the test reads the count when the process has died
COUNTING = """
import mmap, struct, sys, threading
with open("count", "r+b") as f:
    m = mmap.mmap(f.fileno(), 64)
def leaf(slot, n):
    m[slot * 8:slot * 8 + 8] = n.to_bytes(8, "little")
def work(slot):
    n = 0
    while True:
        n += 1
        leaf(slot, n)
for slot in range(1, THREADS):
    threading.Thread(target=work, args=(slot,), daemon=True).start()
work(0)
"""


def start(tmp_path, spartito, code, *options):
    (tmp_path / "count").write_bytes(b"\0" * 64)
    (tmp_path / "program.py").write_text(code)
    command = [*spartito, "run", "-q", "-o", "x", *options, "--", sys.executable, "program.py"]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def counted(tmp_path):
    data = (tmp_path / "count").read_bytes()
    return sum(int.from_bytes(data[i:i + 8], "little") for i in range(0, 64, 8))


def visits(tmp_path):
    model = analyse.Model(str(tmp_path / "x"))
    counts = Counter()
    for row in model.flat():
        counts[row["name"]] += row["visits"]
    return model, counts


def program_of(pid):
    """The process of the program that a launcher started, not the launcher's helper process."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        p = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True)
        programs = [line.split()[0] for line in p.stdout.splitlines() if " run " not in line]
        if programs:
            return int(programs[0])
        time.sleep(0.02)
    raise AssertionError("the program did not start")


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("threads", [1, 3])
def test_killed_from_outside(tmp_path, spartito, hook, threads):
    p = start(tmp_path, spartito, COUNTING.replace("THREADS", str(threads)), "--trace", "--hook", hook)
    pid = program_of(p.pid)
    deadline = time.monotonic() + 100
    while counted(tmp_path) < 20000 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    p.wait(100)
    assert p.returncode == -signal.SIGKILL
    model, counts = visits(tmp_path)
    real = counted(tmp_path)
    assert real >= 20000
    # in each thread, one of the two may have missed the last call
    assert real * 0.999 - threads <= counts["__main__:leaf"] <= real + threads
    (process,) = model.info()["processes"]
    assert process["end"] == "abrupt"
    report = subprocess.run([*spartito, "report", str(tmp_path / "x")], capture_output=True, text=True)
    assert report.returncode == 0
    message = (report.stdout + report.stderr).lower()
    assert any(word in message for word in ("kill", "abrupt", "did not end")), message


def test_launcher_killed_program_goes_on(tmp_path, spartito):
    code = """
import os, time
open("pid", "w").write(str(os.getpid()))
while not os.path.exists("go"): time.sleep(0.02)
def late(): return 1
late()
open("done", "w").write("done")
"""
    p = start(tmp_path, spartito, code)
    wait_for(tmp_path / "pid")
    os.kill(p.pid, signal.SIGKILL)
    p.wait(100)
    (tmp_path / "go").touch()
    wait_for(tmp_path / "done")
    assert visits(tmp_path)[1]["__main__:late"] == 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs root and mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


FILLING = """
def leaf(n):
    return n
def work():
    for n in range(COUNT):
        leaf(n)
work()
print("end")
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_disk_full_by_the_trace(tmp_path, spartito, small_disk, hook):
    p = start(tmp_path, spartito, FILLING.replace("COUNT", "1500000"), "--trace", "--hook", hook, "-o", str(small_disk / "x"))
    out, err = p.communicate(timeout=200)
    assert (p.returncode, out) == (0, "end\n"), err
    model = analyse.Model(str(small_disk / "x"))
    rows = {row["name"]: row for row in model.flat()}
    assert rows["__main__:leaf"]["visits"] == 1500000
    (process,) = model.info()["processes"]
    assert process["lost"]["events"] > 0
    assert process["lost_reason"]
    report = subprocess.run([*spartito, "report", str(small_disk / "x")], capture_output=True, text=True)
    assert "lost" in (report.stdout + report.stderr).lower()


def test_disk_full_before_the_start(tmp_path, spartito, small_disk):
    (small_disk / "filler").write_bytes(b"x" * (4 << 20))
    p = start(tmp_path, spartito, FILLING.replace("COUNT", "10"), "-o", str(small_disk / "x"))
    out, err = p.communicate(timeout=200)
    assert len(err.strip().splitlines()) == 1, err
    assert str(small_disk / "x") in err
    assert "Traceback" not in err
    # either the launcher refused, or the program ran unchanged
    assert (p.returncode == 0) == (out == "end\n")


def test_file_size_limit(tmp_path, spartito):
    """Under RLIMIT_FSIZE the recorder must not cause SIGXFSZ in the program."""
    (tmp_path / "program.py").write_text(FILLING.replace("COUNT", "300000"))
    p = subprocess.run([*spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py"], cwd=tmp_path,
                       capture_output=True, text=True, timeout=200,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert (p.returncode, p.stdout) == (0, "end\n"), p.stderr


RECURSION = """
import sys
sys.setrecursionlimit(10000)
def leaf(n):
    return n
def deep(n):
    if n:
        deep(n - 1)
def after():
    pass
def work():
    deep(0), after()  # defined while there is room
    for n in range(300000):
        leaf(n)
    for _ in range(3):
        deep(5000)
    after()
work()
print("end")
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_calls_without_room_close_none_that_are_recorded(tmp_path, spartito, hook):
    """The trace fills the file up to its limit; then a deep recursion needs a larger stack than the file has space for. Calls that
    are not recorded must not close recorded ones."""
    (tmp_path / "program.py").write_text(RECURSION)
    command = [*spartito, "run", "-q", "--trace", "--hook", hook, "-o", "x", "--", sys.executable, "program.py"]
    p = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert (p.returncode, p.stdout) == (0, "end\n"), p.stderr
    model, counts = visits(tmp_path)
    assert 4 <= counts["__main__:deep"] < 3 * 5001 + 1
    (process,) = model.info()["processes"]
    lost = process["lost"]
    assert lost["events"] >= 2 * (3 * 5001 + 1 - counts["__main__:deep"])
    assert lost["unmatched"] == 0
    (entry,) = [e for e in model.callers("__main__:after") if e["region"]["name"] == "__main__:after"]
    assert [(row["name"], row["visits"]) for row in entry["callers"]] == [("__main__:work", 2)]


def test_address_space_limit(tmp_path, spartito):
    code = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\n" + FILLING.replace("COUNT", "300000")
    p = start(tmp_path, spartito, code, "--trace")
    out, err = p.communicate(timeout=200)
    assert (p.returncode, out) == (0, "end\n"), err
    assert visits(tmp_path)[1]["__main__:leaf"] == 300000


def test_memory_limit_is_kept(tmp_path, spartito):
    code = FILLING.replace("COUNT", "3000000") + """
with open("/proc/self/status") as f:
    print([line.split()[1] for line in f if line.startswith("VmHWM")][0])
"""
    p = start(tmp_path, spartito, code, "--trace", "--trace-memory", "8M", "--when-full", "flush")
    out, err = p.communicate(timeout=200)
    assert p.returncode == 0, err
    plain = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    more = (int(out.split()[-1]) - int(plain.stdout.split()[-1])) / 1024
    assert more < 8 + 16, f"{more:.0f} MiB beyond the program's own"


def test_damage_in_the_middle_keeps_the_rest(tmp_path, spartito):
    p = start(tmp_path, spartito, FILLING.replace("COUNT", "200000"), "--trace")
    p.communicate(timeout=200)
    (raw,) = (tmp_path / "x" / "raw").glob("*.raw")
    whole = raw.read_bytes()
    for cut in (len(whole) // 3, len(whole) // 2, len(whole) - 5000):
        raw.write_bytes(whole[:cut])
        report = subprocess.run([*spartito, "report", str(tmp_path / "x")], capture_output=True, text=True)
        assert "Traceback" not in report.stderr
        assert report.returncode == 0 or raw.name in report.stderr


def test_many_children_die_at_once(tmp_path, spartito):
    code = """
import os, signal
def leaf(): return 1
pids = []
for n in range(12):
    pid = os.fork()
    if pid == 0:
        for _ in range(1000): leaf()
        os.kill(os.getpid(), signal.SIGKILL)
    pids.append(pid)
print(sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))
"""
    p = start(tmp_path, spartito, code, "--trace")
    out, err = p.communicate(timeout=200)
    assert (p.returncode, out) == (0, str([-9] * 12) + "\n"), err
    model, counts = visits(tmp_path)
    assert counts["__main__:leaf"] == 12000
    assert Counter(p["end"] for p in model.info()["processes"]) == {"abrupt": 12, "normal": 1}


def test_a_process_that_ends_while_it_is_read(tmp_path, spartito):
    """The file grows and is truncated while it is read: this is not reported as damage."""
    code = "def leaf(): return 1\nleaf()\nprint(flush=True)\nfor n in range(20000): leaf()\n"
    for n in range(8):
        p = start(tmp_path, spartito, code, "--trace", "-o", f"x{n}")
        p.stdout.readline()
        ends = set()
        while "normal" not in ends:
            model = analyse.Model(str(tmp_path / f"x{n}"))
            (process,) = model.info()["processes"]
            ends.add(process["end"])
            assert model.info()["problems"] == [] and ends <= {"running", "normal"}
            assert next(row["visits"] for row in model.flat() if row["name"] == "__main__:leaf") >= 1
        p.communicate(timeout=200)


# Makes the system calls fail with EPERM, as some containers do, and executes another program.
REFUSE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
numbers = [int(n) for n in sys.argv[1].split(",")]
row = struct.Struct("HBBI").pack
code = row(0x20, 0, 0, 0) + b"".join(row(0x15, 0, 1, n) + row(6, 0, 0, 0x50001) for n in numbers) + row(6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no seccomp: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the system calls")
@pytest.mark.parametrize("refused", ["296", "28", "296,28"], ids=["pwritev", "madvise", "both"])
def test_calls_that_make_pages_are_refused(tmp_path, spartito, refused):
    (tmp_path / "p.py").write_text("def leaf(): pass\nfor i in range(50000): leaf()\nprint(i)\n")
    words = [str(word) for word in (*spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "p.py")]
    done = subprocess.run([sys.executable, "-c", REFUSE, refused, *words], cwd=tmp_path, capture_output=True, text=True)
    if "no seccomp" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout, done.stderr) == (0, "49999\n", "")
    model, counts = visits(tmp_path)
    assert counts["__main__:leaf"] == 50000 and not model.info()["problems"]


@pytest.mark.parametrize("mode", ["--no-trace", "--trace", "--memory-profile", "--waits", "--lines=*"])
def test_a_killed_program_ran_until_it_was_killed(tmp_path, spartito, mode):
    (tmp_path / "p.py").write_text("""
import os, threading, time
lock = threading.Lock()
lock.acquire()
def blocked(): lock.acquire()
threading.Thread(target=blocked, daemon=True).start()
before = time.monotonic()
os.system("sleep 1; kill -9 " + str(os.getpid()))
""")
    words = [*spartito, "run", "-q", mode, "-o", "x", "--", sys.executable, "p.py"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode == -signal.SIGKILL
    model = analyse.Model(str(tmp_path / "x"))
    info = model.info()
    assert [p["end"] for p in info["processes"]] == ["abrupt"] and not info["problems"]
    assert info["end"] - info["begin"] >= 1 and all(p["stop"] - p["begin"] >= 1 for p in info["processes"])
    assert all(place["end"] - info["processes"][0]["begin"] >= 1 for place in info["locations"])
    if mode == "--waits":
        assert max(row["time"] for row in model.locks()["waits"]) >= 0.9


@pytest.mark.parametrize("mode", ["--no-trace", "--trace", "--memory-profile", "--waits"])
def test_a_killed_child_ran_until_its_parent_saw_it_end(tmp_path, spartito, mode):
    """A child killed with SIGKILL ends when the signal was sent, however much later the parent waits for it."""
    (tmp_path / "p.py").write_text(f"""
import os, signal, subprocess, sys, threading, time
sys.path.insert(0, {os.path.dirname(asleep.__file__)!r})
from asleep import until_asleep
def waiting():
    lock = threading.Lock()
    lock.acquire()
    os.write(ready[1], b"1")
    lock.acquire()
def ended(pid, how):
    os.read(ready[0], 1)
    until_asleep(pid)
    time.sleep(1)
    os.kill(pid, how)
    if how == signal.SIGKILL:
        time.sleep(1)
    os.waitpid(pid, 0)
ready = os.pipe()
os.set_inheritable(ready[1], True)
pid = os.fork()
if not pid:
    waiting()
ended(pid, signal.SIGKILL)
text = "import os, threading; os.write(" + str(ready[1]) + ", b'1'); threading.Event().wait()"
ended(subprocess.Popen([sys.executable, "-c", text], preexec_fn=lambda: None, close_fds=False).pid, signal.SIGTERM)
""")
    words = [*spartito, "run", "-q", mode, "-o", "x", "--", sys.executable, "p.py"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode == 0
    model = analyse.Model(str(tmp_path / "x"))
    info = model.info()
    parent, killed, terminated = (p for p in info["processes"] if p["end"] != "exec")
    assert [p["end"] for p in (parent, killed, terminated)] == ["normal", "abrupt", "abrupt"] and not info["problems"]
    ends = {c["pid"]: c["end"] for c in info["children"] if c["end"]}
    for p in (killed, terminated):
        assert p["stop"] - p["begin"] >= 1 and p["stop"] <= ends[p["pid"]]
    assert ends[killed["pid"]] - killed["stop"] >= 1
    # the process between fork and exec has ended
    assert all(p["stop"] < terminated["begin"] for p in info["processes"] if p["end"] == "exec")
    if mode == "--waits":
        waits = [row for row in model.locks()["waits"] if row["open"]]
        assert len(waits) == 2 and all(1 <= row["time"] <= info["end"] - info["begin"] for row in waits)
