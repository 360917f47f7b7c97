# SPDX-License-Identifier: BSD-3-Clause
"""Allocators other than those of the C library and of Python: recorded numbers are exact, or a message names what is missing."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest
from commandline import run
from memoryhelp import LIBC, Memory, recorded
from spartito.run.preload import HEAP

# a directory with libraries that are not installed on the system
ELSEWHERE = os.environ.get("TEST_LIBRARIES", "")
# a function that only this allocator has
ALLOCATORS = {"libjemalloc.so.2": "mallctl", "libtcmalloc_minimal.so.4": "tc_version", "libmimalloc.so.2": "mi_version"}


def library(name):
    found = os.path.join(ELSEWHERE, name)
    if ELSEWHERE and os.path.exists(found):
        return found
    # in another process, as a loaded allocator would affect later tests
    if subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({name!r})"], capture_output=True).returncode:
        pytest.skip(f"no {name} here; TEST_LIBRARIES names a directory with it")
    return name


C = (
    LIBC
    + """
for name in "malloc_usable_size", "memalign":
    getattr(libc, name).argtypes = [ctypes.c_void_p] if name[6] == "_" else [ctypes.c_size_t] * 2
libc.memalign.restype, libc.malloc_usable_size.restype = ctypes.c_void_p, ctypes.c_size_t
def all():
    p = libc.malloc(1000)  # malloc
    print(libc.malloc_usable_size(p) >= 1000)
    q = libc.calloc(30, 50)  # calloc
    for i in range(1000):
        libc.free(libc.malloc(40))  # small
    r = libc.realloc(q, 700_000)  # realloc
    s = libc.aligned_alloc(64, 640)  # aligned
    t = libc.memalign(256, 512)  # memalign
    u = libc.malloc(40 << 20)  # large
    out = ctypes.c_void_p()
    libc.posix_memalign(ctypes.byref(out), 4096, 10_000)  # posix
    for x in p, r, t, u, out:
        libc.free(x)
    return s
kept = [all() for i in range(3)]
import threading
def run():
    for i in range(100):
        libc.free(libc.malloc(3000))  # threads
threads = [threading.Thread(target=run) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""
)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_preloaded_by_the_user(spartito, tmp_path, name):
    path, own = library(name), ALLOCATORS[name]
    m = recorded(spartito, tmp_path, C + f'print("own", hasattr(libc, "{own}"))\n', env={**os.environ, "LD_PRELOAD": path})
    assert m.stdout.endswith("own True\n")
    for mark, size in dict(malloc=1000, calloc=1500, realloc=700_000, memalign=512, large=40 << 20, posix=10_000).items():
        assert m.numbers(mark) == (3, 3 * size, 3, 3 * size), mark
    assert m.numbers("small") == (3000, 120_000, 3000, 120_000)
    assert m.numbers("threads") == (400, 1_200_000, 400, 1_200_000)
    assert m.numbers("aligned") == (3, 1920, 0, 0)
    # pages that an allocator maps are part of the blocks it returns
    assert not any(m.sites(mark, "mmap") for mark in m.lines)
    assert not any(key.startswith("missing") for p in m.model.info()["processes"] for key in p["meta"])


@pytest.mark.parametrize("name", ALLOCATORS)
def test_sampled(spartito, tmp_path, name):
    path = library(name)
    m = recorded(
        spartito,
        tmp_path,
        LIBC
        + """
def work():
    return [libc.malloc(5000) for i in range(4000)]  # kept
x = work()
""",
        "--memory-sample",
        "20K",
        env={**os.environ, "LD_PRELOAD": path},
    )
    # 1000 samples: the standard deviation is 3 %
    assert abs(m.sum("kept", "left_bytes") / 20_000_000 - 1) < 0.2


@pytest.mark.parametrize("option", ["--memory-profile", "--memory-sample=1K"])
def test_an_executable_that_takes_the_address_of_malloc(spartito, tmp_path, option):
    """In an executable that is not position-independent, as Python of some distributions, dlsym() returns a stub in the executable
    that jumps to malloc()."""
    (tmp_path / "main.c").write_text(
        "#include <Python.h>\nvoid *(*volatile used)(size_t);\n"
        "int main(int n, char **v) { used = malloc; return Py_BytesMain(n, v); }\n"
    )
    shared = sysconfig.get_config_var("LIBDIR")
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").symlink_to(os.path.join(sys.prefix, "lib"))
    shutil.copy(os.path.join(sys.prefix, "pyvenv.cfg"), tmp_path)
    library = ["-L", shared, f"-Wl,-rpath,{shared}", "-lpython" + sysconfig.get_config_var("LDVERSION")]
    built = subprocess.run(
        ["cc", "-no-pie", "-fno-pie", "-O2", "-I", sysconfig.get_path("include"), "main.c", "-o", "bin/python", *library],
        cwd=tmp_path, capture_output=True, text=True)
    if built.returncode and not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("this Python has no library to link with")
    assert built.returncode == 0, built.stderr
    text = LIBC + "kept = [libc.malloc(5000) for i in range(1000)]  # kept\n"
    (tmp_path / "program.py").write_text(text)
    done = run(spartito, "run", "-q", option, "-o", "x", "--", tmp_path / "bin/python", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    m = Memory(tmp_path / "x", text)
    assert "missing_malloc" not in m.model.info()["processes"][0]["meta"]
    assert 0.8 < m.sum("kept", "left_bytes", "malloc") / 5_000_000 < 1.2


@pytest.mark.parametrize("option", ["--memory-profile", "--memory-sample=1K"])
def test_one_that_comes_before_the_wrappers(spartito, tmp_path, option):
    """Another malloc() precedes the wrapper: a message reports it, and Python's allocators are recorded nevertheless."""
    (tmp_path / "own.c").write_text(
        "#include <stddef.h>\nvoid *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);\n"
        "void __libc_free(void *);\nvoid *malloc(size_t n) { return __libc_malloc(n); }\n"
        "void free(void *p) { __libc_free(p); }\nvoid *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }\n"
        "void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }\n"
    )
    own = tmp_path / "own.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-o", own, tmp_path / "own.c"], check=True)
    text = LIBC + "kept = [bytes(3000) for i in range(1000)]  # kept\nx = libc.malloc(123456)  # malloc\n"
    (tmp_path / "program.py").write_text(text)
    program = f"LD_PRELOAD={own}:$LD_PRELOAD exec {shlex.quote(sys.executable)} program.py"
    done = run(spartito, "run", option, "-o", "x", "--", "sh", "-c", program, cwd=tmp_path)
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.splitlines() if "LD_PRELOAD" in line]
    assert "malloc" in line
    m = Memory(tmp_path / "x", text)
    assert m.sum("malloc", "count") == 0
    counted = sum(m.sum("kept", "left", a) for a in ("python object", "python mem", "python raw"))
    assert 1000 <= counted <= 1004 if option == "--memory-profile" else 900 < counted < 1100


PYTHON = (
    LIBC
    + """
def make():
    a = bytearray(300_000)  # bytearray
    b = bytes(5000)  # bytes
    c = [i + (1 << 64) for i in range(100)]  # numbers
    return a, b, c
kept = [make() for i in range(50)]
del kept[20:]
p = libc.malloc(77)  # malloc
"""
)
WORDS = ["malloc", "malloc_debug", "pymalloc", "pymalloc_debug", "debug", "mimalloc", "mimalloc_debug"]


def exact(m, among, traced=False):
    """Sizes requested by the program: these do not depend on the allocator."""

    def both(mark, what):
        return sum(s[what] for s in m.sites(mark) if s["allocator"] in among and s["bytes"] / s["count"] > 20)

    size = sys.getsizeof(bytes(5000))
    assert 50 <= both("bytes", "count") <= 51 and 20 <= both("bytes", "left") <= 21
    assert 50 * size <= both("bytes", "bytes") < 50 * size + 1000
    assert 50 * 300_000 <= both("bytearray", "bytes") < 50 * 300_000 + 50 * 200
    assert 20 * 300_000 <= both("bytearray", "left_bytes") < 20 * 300_000 + 20 * 200
    assert both("numbers", "count") >= 50 * 100 and 20 * 100 <= both("numbers", "left") < 50 * 100
    others = 2 if traced else 0  # tracemalloc itself calls malloc()
    assert 1 <= m.sum("malloc", "left") <= 1 + others and 77 <= m.sum("malloc", "left_bytes") <= 77 + 50 * others


def usable(environment):
    return subprocess.run([sys.executable, "-c", ""], env={**os.environ, **environment}, capture_output=True).returncode == 0


@pytest.mark.parametrize("word", WORDS)
def test_pythonmalloc(spartito, tmp_path, word):
    if not usable({"PYTHONMALLOC": word}):
        pytest.skip(f"this Python has no {word}")
    m = recorded(spartito, tmp_path, PYTHON, env={**os.environ, "PYTHONMALLOC": word})
    exact(m, {"python raw", "python mem", "python object"})


@pytest.mark.parametrize("word", WORDS)
def test_pythonmalloc_sampled(spartito, tmp_path, word):
    if not usable({"PYTHONMALLOC": word}):
        pytest.skip(f"this Python has no {word}")
    m = recorded(spartito, tmp_path, PYTHON, "--memory-sample", "10", env={**os.environ, "PYTHONMALLOC": word})
    large = sum(m.sum("bytes", "bytes", a) for a in ("malloc", "python mem", "python object"))
    # a debug allocator adds some bytes to each block
    assert 50 * 5000 <= large < 50 * 5300
    small = sum(m.sum("numbers", "bytes", a) for a in ("malloc", "python mem", "python object"))
    assert small > 50 * 100 * 20


@pytest.mark.parametrize("when", ["before", "within"])
def test_tracemalloc_beside(spartito, tmp_path, when):
    around = PYTHON if when == "before" else "import tracemalloc; tracemalloc.start(3)\n" + PYTHON + "tracemalloc.stop()\n"
    tracing = "import tracemalloc\nprint(sum(s.size for s in tracemalloc.take_snapshot().statistics('lineno')) > 6_000_000)\n"
    text = PYTHON + tracing if when == "before" else around.replace("p = libc", tracing + "p = libc")
    m = recorded(spartito, tmp_path, text, env={**os.environ, **({"PYTHONTRACEMALLOC": "1"} if when == "before" else {})})
    assert m.stdout == "True\n"
    exact(m, {"python raw", "python mem", "python object"}, traced=True)


def test_python_s_own_is_not_left_to_itself(spartito, tmp_path):
    """A process is measured several times, with tracemalloc enabled in between: no block is released to an allocator other than its
    own."""
    (tmp_path / "program.py").write_text("""
import spartito, tracemalloc
kept = []
for i in range(6):
    spartito.start(f"x{i}", **({"memory_sample": 100} if i % 2 else {"memory_profile": True}))
    kept.append([bytes(i * 10 + j) for j in range(600)])
    tracemalloc.start()
    kept.append([[j] * j for j in range(200)])
    del kept[::2]
    spartito.stop()
    kept.append({j: str(j) for j in range(1000)})
    tracemalloc.stop()
    kept.pop()
print(len(kept))
""")
    environment = {**os.environ, "LD_PRELOAD": HEAP}
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CPP = r"""
#include <new>
#include <string>
#include <vector>
struct alignas(128) Wide { char text[256]; };
static std::vector<int> *kept;
extern "C" {
void single() { for (int i = 0; i < 10; i++) delete new long(i); }
void array() { for (int i = 0; i < 10; i++) delete[] new char[1000]; }
void wide() { for (int i = 0; i < 10; i++) delete new Wide; }
void nothrow() { ::operator delete(::operator new(333, std::nothrow)); }
void keep() { kept = new std::vector<int>(1000); }
void grow() { std::string s; s.reserve(5000); s += 'x'; }
}
"""


def test_c_plus_plus(spartito, tmp_path):
    (tmp_path / "new.cpp").write_text(CPP)
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", "-O0", "-o", "new.so", "new.cpp"], cwd=tmp_path, check=True)
    m = recorded(
        spartito,
        tmp_path,
        """import ctypes
lib = ctypes.CDLL("./new.so")
lib.single()  # single
lib.array()  # array
lib.wide()  # wide
lib.nothrow()  # nothrow
lib.keep()  # keep
lib.grow()  # grow
""",
    )
    assert m.numbers("single") == (10, 80, 10, 80)
    assert m.numbers("array") == (10, 10_000, 10, 10_000)
    assert m.numbers("wide") == (10, 2560, 10, 2560)
    assert m.numbers("nothrow") == (1, 333, 1, 333)
    assert m.numbers("keep") == (2, 4024, 0, 0)
    assert m.numbers("grow") == (1, 5001, 1, 5001)


def test_the_rest_of_the_family(spartito, tmp_path):
    m = recorded(
        spartito,
        tmp_path,
        LIBC
        + """
libc.memalign.restype = libc.pvalloc.restype = libc.strdup.restype = ctypes.c_void_p
libc.pvalloc.argtypes, libc.memalign.argtypes = [ctypes.c_size_t], [ctypes.c_size_t] * 2
for name in "cfree", "free_sized", "free_aligned_sized":
    if hasattr(libc, name):
        getattr(libc, name).argtypes, getattr(libc, name).restype = [ctypes.c_void_p] + [ctypes.c_size_t] * name.count("_"), None
p = libc.memalign(64, 100)  # memalign
q = libc.pvalloc(5000)  # pvalloc
r = libc.strdup(b"x" * 99)  # strdup
getattr(libc, "cfree", libc.free)(p)
if hasattr(libc, "free_sized"):
    libc.free_sized(q, 5000)
    libc.free_aligned_sized(r, 16, 100)
else:
    libc.free(q)
    libc.free(r)
x = libc.malloc(50)  # twice
y = libc.realloc(x, 0)
z = libc.reallocarray(None, 10, 1 << 62)  # too many
""",
    )
    assert m.numbers("memalign") == (1, 100, 1, 100)
    assert m.numbers("pvalloc") == (1, 5000, 1, 5000)
    assert m.numbers("strdup") == (1, 100, 1, 100)
    assert m.numbers("twice") == (1, 50, 1, 50)
    assert m.numbers("too many") == (0, 0, 0, 0)


ALLOCATING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *), *library;
	if (!real) {
		real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		library = dlopen("libc.so.6", RTLD_LAZY);
	}
	free(calloc(1, 32));
	return real(handle == RTLD_NEXT ? library : handle, name);
}
"""


@pytest.mark.parametrize("options", [["--memory-profile"], ["--memory-sample=1K"], ["--waits", "--io"]])
def test_dlsym_that_allocates(spartito, tmp_path, options):
    """Before glibc 2.34 it does: while the real allocators are searched, the wrapper calls itself."""
    (tmp_path / "dlsym.c").write_text(ALLOCATING)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", "dlsym.so", "dlsym.c"], cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text("print(len([bytes(5000) for _ in range(100)]))\n")
    words = [*spartito, "run", "-q", *options, "-o", "x", "--", sys.executable, "program.py"]
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "dlsym.so")}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100\n", "")
