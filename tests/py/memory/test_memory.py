# SPDX-License-Identifier: BSD-3-Clause
"""Memory recorded by the wrappers and by Python's allocators: exact numbers of each block at the line that allocated it."""

import json
import os
import re
import subprocess
import sys

import pytest
from commandline import run
from memoryhelp import LIBC, Memory, recorded
from programs import HOOKS, WITHOUT_GIL
from spartito.analysis import Model
from spartito.run.preload import HEAP


@pytest.mark.parametrize("hook", HOOKS)
def test_functions_of_the_c_library(spartito, tmp_path, hook):
    m = recorded(spartito, tmp_path, LIBC + """
p = libc.malloc(100)  # malloc
q = libc.calloc(3, 50)  # calloc
r = libc.realloc(q, 70)  # realloc
s = libc.aligned_alloc(64, 640)  # aligned
t = libc.valloc(10)  # valloc
u = libc.reallocarray(t, 5, 6)  # reallocarray
out = ctypes.c_void_p()
libc.posix_memalign(ctypes.byref(out), 256, 33)  # posix
for x in p, r, s, u, out:
    libc.free(x)
kept = libc.realloc(None, 11)  # none
for i in range(10):
    libc.malloc(1000)  # leak
""", "--hook", hook)
    assert m.numbers("malloc") == (1, 100, 1, 100)
    assert m.numbers("calloc") == (1, 150, 1, 150)
    assert m.numbers("realloc") == (1, 70, 1, 70)
    assert m.numbers("aligned") == (1, 640, 1, 640)
    assert m.numbers("valloc") == (1, 10, 1, 10)
    assert m.numbers("reallocarray") == (1, 30, 1, 30)
    assert m.numbers("posix") == (1, 33, 1, 33)
    assert m.numbers("none") == (1, 11, 0, 0)
    assert m.numbers("leak") == (10, 10000, 0, 0)
    assert m.sum("leak", "left") == 10 and m.sum("leak", "left_bytes") == 10000
    (process,) = m.found["processes"]
    assert process["lost"] == 0 and process["sample"] == 0 and process["unknown"] > 0
    assert process["count"] == sum(s["count"] for s in m.found["sites"])
    assert process["allocated"] == sum(s["bytes"] for s in m.found["sites"])
    assert process["freed_bytes"] == sum(s["freed_bytes"] for s in m.found["sites"])
    assert process["bytes"] == process["allocated"] - process["freed_bytes"]


def test_python_objects(spartito, tmp_path):
    m = recorded(spartito, tmp_path, """import sys
def make():
    a = bytearray(1 << 20)  # bytearray
    b = bytes(5000)  # bytes
    return a, b
kept = [make() for i in range(7)]
big = [None] * 100000  # list
size = sys.getsizeof(bytes(5000))
print(size)
""")
    # The object and its buffer. The domain of the buffer, and allocations by the interpreter when a line runs for the first time,
    # depend on the version.
    python = [s for s in m.sites("bytearray") if s["allocator"].startswith("python")]
    assert 14 <= sum(s["left"] for s in python) <= 16
    assert 7 << 20 <= sum(s["left_bytes"] for s in python) < (7 << 20) + 2000
    assert 7 <= m.sum("bytes", "left", "python object") <= 8
    size = sys.getsizeof(bytes(5000))
    assert 7 * size <= m.sum("bytes", "left_bytes", "python object") < 8 * size
    assert m.sum("list", "bytes", "python mem") + m.sum("list", "bytes", "python object") >= 800000
    # memory that Python's allocators take from the C library is not counted twice
    assert not m.sites("bytearray", "malloc") and not m.sites("list", "malloc")


def test_numpy_buffers(spartito, tmp_path):
    pytest.importorskip("numpy")
    m = recorded(spartito, tmp_path, """import numpy
def work():
    a = numpy.zeros(100_000)  # zeros
    b = a + a  # sum
    return b.sum()
for i in range(3):
    work()
""")
    more = 64 if WITHOUT_GIL else 0  # numpy aligns the buffers itself there
    assert 0 <= sum(s["bytes"] for s in m.sites("zeros") if s["bytes"] > 100000) - 3 * 800_000 <= 3 * more
    assert 0 <= sum(s["freed_bytes"] for s in m.sites("sum") if s["bytes"] > 100000) - 3 * 800_000 <= 3 * more


def test_pages(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import mmap
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
a = mmap.mmap(-1, 1 << 20)  # python
a.close()
p = libc.mmap(None, 64 << 12, 3, 0x22, -1, 0)  # part
libc.munmap(p + (16 << 12), 16 << 12)
q = libc.mmap(None, 8 << 12, 3, 0x22, -1, 0)  # moved
q = libc.mremap(q, 8 << 12, 200 << 12, 1)  # to
libc.munmap(q, 200 << 12)
""")
    assert m.numbers("python", "mmap") == (1, 1 << 20, 1, 1 << 20)
    assert m.numbers("part", "mmap") == (1, 64 << 12, 0, 16 << 12)
    assert m.numbers("moved", "mmap") == (1, 8 << 12, 1, 8 << 12)
    assert m.numbers("to", "mmap") == (1, 200 << 12, 1, 200 << 12)


def test_peak_and_what_is_temporary(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
malloc, free = libc.malloc, libc.free
def high():
    p = malloc(5_000_000)  # high
    q = malloc(3_000_000)  # beside
    free(q)
    free(p)
before = malloc(1_000_000)  # before
high()
after = malloc(2_000_000)  # after
free(before)
""")
    assert m.sum("high", "peak_bytes") == 5_000_000
    assert m.sum("beside", "peak_bytes") == 3_000_000
    assert m.sum("before", "peak_bytes") == 1_000_000 and m.sum("before", "left_bytes") == 0
    assert m.sum("after", "peak_bytes") == 0 and m.sum("after", "left_bytes") == 2_000_000
    (process,) = m.found["processes"]
    assert process["peak_bytes"] == sum(s["peak_bytes"] for s in m.found["sites"])
    assert process["peak_blocks"] == sum(s["peak"] for s in m.found["sites"])


def test_when_the_peak_was(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
x = libc.malloc(10)  # before
p = libc.malloc(50_000_000)
y = libc.malloc(11)  # there
libc.free(p)
""")
    (process,) = m.found["processes"]
    assert m.sites("before", "malloc")[0]["first"] <= process["peak_time"]


def test_released_before_the_next_one(spartito, tmp_path):
    m = recorded(spartito, tmp_path, """
def work():
    for i in range(100):
        b = bytes(3000); del b  # gone
    return [bytes(3000) for i in range(50)]  # kept
x = work()
""")
    assert 100 <= m.sum("gone", "temporary", "python object") <= 102
    assert m.sum("kept", "temporary_bytes", "python object") < 3000  # no block is temporary


def test_threads_and_release_by_another(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import threading
kept = []
def give():
    for i in range(100):
        kept.append(libc.malloc(500))  # given
def take():
    for p in kept:
        libc.free(p)
for f in give, take:
    t = threading.Thread(target=f)
    t.start()
    t.join()
def own():
    for i in range(1000):
        libc.free(libc.malloc(10 + i % 50))  # own
threads = [threading.Thread(target=own) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""")
    assert m.numbers("given") == (100, 50000, 100, 50000)
    assert m.sum("given", "elsewhere") == 100
    sites = m.sites("own", "malloc")
    assert len({s["location"] for s in sites}) == 4
    assert m.sum("own", "count") == m.sum("own", "freed") == 4000
    assert m.sum("own", "elsewhere") == 0


def test_children(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import os, multiprocessing
def child(n):
    for i in range(n):
        libc.malloc(100)  # child
    return n
before = libc.malloc(77)  # parent
if __name__ == "__main__":
    pid = os.fork()
    if not pid:
        child(10)
        libc.free(before)
        os._exit(0)
    os.waitpid(pid, 0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(child, [5] * 6)))
        pool.close()
        pool.join()
""")
    assert m.sum("child", "count") == 10 + 30
    assert m.sum("child", "left_bytes") == 4000
    assert m.numbers("parent") == (1, 77, 0, 0)
    processes = {p["process"]: p for p in m.found["processes"]}
    assert len(processes) == 4
    forked = next(s["process"] for s in m.sites("child", "malloc") if s["count"] == 10)
    assert processes[forked]["unknown"] >= 1


def test_killed(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import os, signal
def leak():
    for i in range(1000):
        libc.malloc(1000)  # leak
leak()
os.kill(os.getpid(), signal.SIGKILL)
""", status=-9)
    assert m.numbers("leak") == (1000, 1_000_000, 0, 0)
    assert m.sum("leak", "left_bytes") == m.sum("leak", "peak_bytes") == 1_000_000
    assert m.found["processes"][0]["ended"] is None


def test_with_a_trace_and_file_io(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
def f():
    for i in range(100):
        libc.malloc(10)  # leak
    open(__file__).read()
f()
""", "--trace", "--io")
    assert m.numbers("leak") == (100, 1000, 0, 0)
    rows = Model(str(tmp_path / "x")).flat()
    assert any(row["kind"] == "io" for row in rows)
    f = next(row for row in rows if row["name"] == "__main__:f")
    assert f["metrics"]["left_bytes"]["excl"] >= 1000


def test_at_the_end_of_the_interpreter(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import atexit
class C:
    def __del__(self):
        libc.malloc(123)
c = C()
kept = [bytes(10000) for i in range(10)]  # kept
atexit.register(lambda: libc.malloc(321))  # atexit
""")
    # the interpreter releases these blocks at its end; they still count as left by the program
    assert m.sum("kept", "left_bytes", "python object") >= 100_000
    assert m.numbers("atexit") == (1, 321, 0, 0)
    assert m.found["processes"][0]["ended"] is not None


OWN_MALLOC = r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
static char *at, *end;
static __thread int calls;
void *malloc(size_t n)
{
	calls++;
	size_t whole = (n + 31) / 16 * 16;
	if (!at || at + whole > end) {
		size_t more = whole > 1 << 24 ? whole : 1 << 24;
		at = mmap(0, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + more;
	}
	char *p = __atomic_fetch_add(&at, whole, __ATOMIC_RELAXED);
	memcpy(p, &n, sizeof n);
	return p + 16;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }
void *realloc(void *p, size_t n)
{
	size_t old = 0;
	if (p)
		memcpy(&old, (char *)p - 16, sizeof old);
	void *q = malloc(n);
	return memcpy(q, p ? p : q, old < n ? old : n);
}
int own_calls(void) { return calls; }
"""


REFUSED = """
#include <stdint.h>
#include <stdlib.h>
void *refused(size_t n)
{
	void *p = malloc(n), *q = realloc(p, PTRDIFF_MAX);
	return q ? q : p;
}
"""


def test_a_block_that_could_not_grow(spartito, tmp_path):
    """When realloc() fails, the block stays where it was and is not released, whether it is the thread's last one or belongs to
    another thread."""
    (tmp_path / "refused.c").write_text(REFUSED)
    library = tmp_path / "refused.so"
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-fno-builtin", "-o", library, tmp_path / "refused.c"], check=True)
    m = recorded(spartito, tmp_path, LIBC + f"""
import threading
refused = ctypes.CDLL({str(library)!r}).refused
refused.argtypes, refused.restype = [ctypes.c_size_t], ctypes.c_void_p
last = refused(300)  # last
others = libc.malloc(200)  # others
thread = threading.Thread(target=libc.realloc, args=(others, (1 << 63) - 1))
thread.start()
thread.join()
freed = refused(100)  # freed
libc.free(freed)
""")
    assert m.numbers("last") == (1, 300, 0, 0) and m.numbers("others") == (1, 200, 0, 0)
    assert m.sum("last", "temporary") == 0 and m.sum("others", "elsewhere") == 0
    assert m.sum("last", "left") == 1 and m.sum("others", "left") == 1
    assert m.numbers("freed") == (1, 100, 1, 100)


def test_in_another_interpreter(spartito, tmp_path):
    recorded(spartito, tmp_path, """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
one = interpreters.create()
(getattr(interpreters, "exec", None) or interpreters.run_string)(one, "def keep():\\n    return bytearray(7_000_000)\\nx = keep()")
""")
    kept = [s for s in Model(str(tmp_path / "x")).memory()["sites"] if s["left_bytes"] >= 7_000_000]
    assert [(s["function"], s["line"]) for s in kept] == [("__main__:keep", 2)]


def test_an_allocator_of_the_programs_own(spartito, tmp_path):
    (tmp_path / "own.c").write_text(OWN_MALLOC)
    library = tmp_path / "own.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-o", library, tmp_path / "own.c"], check=True)
    text = LIBC + """
for i in range(100):
    libc.malloc(1000)  # leak
p = libc.malloc(30 << 20)  # large
print(libc.own_calls() > 100)
"""
    (tmp_path / "program.py").write_text(text)
    command = ["env", f"LD_PRELOAD={library}", sys.executable, tmp_path / "program.py"]
    done = run(spartito, "run", "-q", "--memory-profile", "-o", tmp_path / "x", "--", sys.executable, tmp_path / "program.py",
               env={**__import__("os").environ, "LD_PRELOAD": str(library)})
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True\n"
    m = Memory(tmp_path / "x", text)
    assert m.numbers("leak") == (100, 100_000, 0, 0)
    assert m.numbers("large") == (1, 30 << 20, 0, 0)
    assert not m.sites("large", "mmap")  # the allocator's own mapping is not counted


def test_in_a_handler(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import signal, time
calls = []
def handler(number, frame):
    libc.malloc(50)  # handler
    calls.append(1)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 0.3
while time.monotonic() < end or len(calls) <= 10:
    libc.free(libc.malloc(20))  # plain
signal.setitimer(signal.ITIMER_REAL, 0)
libc.calloc(len(calls), 1)  # counted
""")
    assert m.sum("handler", "count") == m.sum("counted", "bytes") > 10
    assert m.sum("plain", "count") == m.sum("plain", "freed")


def test_free_keeps_errno(spartito, tmp_path):
    """Also when the wrapper of free() measures the resident size, and cannot open a file for it."""
    m = recorded(spartito, tmp_path, LIBC + """
import resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
seen = set()
for i in range(5):
    p = libc.malloc(1 << 17)  # one
    time.sleep(0.05)
    ctypes.set_errno(7)
    libc.free(p)
    seen.add(ctypes.get_errno())
print(seen)
""")
    assert m.numbers("one") == (5, 5 << 17, 5, 5 << 17)


HAMMER = """
#include <pthread.h>
#include <stdlib.h>
enum { THREADS = 16, KEPT = 64 };
static volatile int over;
static pthread_t threads[THREADS];
static void *work(void *seed)
{
    unsigned x = (unsigned)(size_t)seed;
    void *kept[KEPT] = {0};
    while (!over) {
        x = x * 1664525u + 1013904223u;
        free(kept[x >> 26]);
        kept[x >> 26] = malloc(16 + (x >> 8 & 1023));
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    return NULL;
}
void begin(void)
{
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
}
void end(void)
{
    over = 1;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
"""


def test_threads_that_allocate_while_measurements_end_and_begin(tmp_path):
    (tmp_path / "hammer.c").write_text(HAMMER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-pthread", "-o", "hammer.so", "hammer.c"], cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text("""
import ctypes, os, shutil, spartito
hammer = ctypes.CDLL("./hammer.so")
hammer.begin()
for i in range(60):
    spartito.start(f"x{i}", memory_profile=True)
    sum(len([j]) for j in range(1000))
    spartito.stop()
    shutil.rmtree(f"x{i}")
hammer.end()
""")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env={**os.environ, "LD_PRELOAD": HEAP},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_growing_and_kept(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
import os, time
cache = [libc.malloc(1000) for i in range(1000)]  # cache
started = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
end = time.monotonic() + 2 + 2 * (time.clock_gettime(time.CLOCK_BOOTTIME) - started)  # over most of the run
while time.monotonic() < end:
    libc.malloc(1000)  # leak
    t = time.monotonic() + 0.02
    while time.monotonic() < t:
        libc.free(libc.malloc(10))  # nothing
""")
    assert [s["kept"] for s in m.sites("leak", "malloc")] == ["growing"]
    assert [s["kept"] for s in m.sites("cache", "malloc")] == ["cache"]
    assert [s["kept"] for s in m.sites("nothing", "malloc")] == ["nothing"]
    series = m.found["processes"][0]["series"]
    assert len(series) > 10 and series == sorted(series)
    assert all(resident > 0 for *_, resident in series)


def test_samples(spartito, tmp_path):
    m = recorded(spartito, tmp_path, """
kept = []
def small():
    for i in range(200_000):
        kept.append(bytes(100))  # small
def large():
    return [bytes(50_000) for i in range(400)]  # large
def outer():
    small()
    return large()
x = outer()
del x[100:]
""", "--memory-sample", "20K")
    # 26 and 20 MB in steps of 20 kB: the standard deviation is 3 %
    assert abs(m.sum("small", "bytes", "python object") / (200_000 * sys.getsizeof(bytes(100))) - 1) < 0.2
    assert abs(m.sum("small", "count", "python object") / 200_000 - 1) < 0.2
    assert abs(sum(m.sum("large", "bytes", a) for a in ("python object", "malloc")) / 20_000_000 - 1) < 0.2
    (site, *_) = m.sites("small", "python object")
    assert m.found["stacks"][site["path"]][-3:] == ["__main__:<module>", "__main__:outer", "__main__:small"]
    (process,) = m.found["processes"]
    assert process["sample"] == 20 << 10
    left = sum(m.sum("large", "left_bytes", a) for a in ("python object", "malloc"))
    assert 0.1 < left / sum(m.sum("large", "bytes", a) for a in ("python object", "malloc")) < 0.45
    flat = Model(str(tmp_path / "x")).flat()
    assert not any(row["visits"] for row in flat if row["kind"] == "python")


def test_where_no_calls_were_recorded(spartito, tmp_path):
    (tmp_path / "program.py").write_text("""
def small():
    return [bytes(600) for i in range(1000)]
def large():
    return bytearray(b"x") * (40 << 20)
x = small(), large()
""")
    command = (spartito, "run", "--memory-sample", "4K", "--limit-rss", "1M", "-o", "x", "--", sys.executable, "program.py")
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 0
    assert "peak" in done.stderr and "MiB resident was passed" in done.stderr
    assert re.search(r"; recording took about [\d.]+ [µm]?s; spartito report memory shows where\n", done.stderr)
    assert done.stderr.endswith("next: spartito report memory x\n")
    for view in (), ("tree",):
        shown = run(spartito, "report", *view, "x", cwd=tmp_path).stdout
        header, *lines = shown.splitlines()
        assert "allocated" in header and "calls" not in header
        large = next(line for line in lines if "__main__:large" in line)
        assert "40.0 MiB" in large  # also if a small block was sampled, which represents 4 KiB
        assert "no calls were recorded; `spartito report memory` shows the memory" in lines
        assert "large" in lines[0] or view
    one = json.loads(run(spartito, "report", "--limit", "1", "--json", "x", cwd=tmp_path).stdout)
    assert [row["name"] for row in one["rows"]] == ["__main__:large"]


def test_limit_of_the_resident_size(spartito, tmp_path):
    m = recorded(spartito, tmp_path, """
import time
def big():
    x = bytearray(b"x") * 80_000_000  # big
    time.sleep(0.1)  # the resident size is measured from time to time
    y = [bytes(1000) for i in range(100)]
    return len(x)
print(big())
z = [bytes(1000) for i in range(10000)]
""", "--limit-rss", "60M", "--memory-profile")
    (process,) = m.found["processes"]
    limit = process["limit"]
    assert limit["bytes"] == 60 << 20 and limit["passes"] == 1 and limit["over"] > 0
    assert limit["function"].startswith("__main__:big") and "__main__:big" in m.found["stacks"][limit["path"]]
    assert process["resident_peak"] > 80_000_000


def test_the_report(spartito, tmp_path):
    m = recorded(spartito, tmp_path, LIBC + """
def leak():
    for i in range(100):
        libc.malloc(10_000)  # leak
leak()
""")
    done = run(spartito, "report", "memory", tmp_path / "x")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"__main__:leak, line {m.lines['leak']}" in done.stdout
    assert re.search(r"recording itself took [\d.]+ \w+ and about [\d.]+ [µm]?s\n", done.stdout)
    assert m.found["processes"][0]["cost"] > 0
    assert "left at the end" in done.stdout and "resident" in done.stdout and "released that were there before" in done.stdout
    found = json.loads(run(spartito, "report", "memory", "--json", tmp_path / "x").stdout)
    assert found["totals"]["bytes"] == m.found["processes"][0]["allocated"]
    assert found["left"][0]["left_bytes"] >= 1_000_000 and found["left"][0]["line"] == m.lines["leak"]
    assert "; measuring calls, without memory, took about " in run(spartito, "report", tmp_path / "x").stdout
    assert run(spartito, "finalize", "--force", tmp_path / "x").returncode == 0
    merged = Model(str(tmp_path / "x"))
    leak = next(row for row in merged.flat() if row["name"] == "__main__:leak")
    assert leak["metrics"]["left_bytes"]["excl"] >= 1_000_000
    assert merged.memory() == m.found


def test_an_import_is_one_part_of_a_path(spartito, tmp_path):
    (tmp_path / "outer.py").write_text("import inner\n")
    (tmp_path / "inner.py").write_text("held = bytearray(9_000_000)\n")
    m = recorded(spartito, tmp_path, "import outer\n")
    shown = run(spartito, "report", "memory", tmp_path / "x").stdout
    assert "__main__:<module> > (import) > outer:<module> > (import) > inner:<module>\n" in shown
    (row,) = (s for s in m.found["sites"] if s["bytes"] >= 9_000_000)
    # the call paths in the data contain all frames of the import system
    assert sum(name.startswith("_frozen_importlib") for name in m.found["stacks"][row["path"]]) >= 8


@pytest.mark.parametrize("option", [("--memory-sample", "none"), ("--limit-rss", "-1"), ("--memory-sample", ""),
                                    ("--memory-sample", "0"), ("--memory-sample", "0.5"), ("--limit-rss", "0K")])
def test_what_cannot_be(spartito, tmp_path, option):
    done = run(spartito, "run", *option, "-o", tmp_path / "x", "--", sys.executable, "-c", "1")
    assert done.returncode in ((2,) if option[1] else (0,))
    if option[1]:
        assert option[0] in done.stderr and len(done.stderr.splitlines()) == 1
