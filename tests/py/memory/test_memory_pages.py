# SPDX-License-Identifier: BSD-3-Clause
"""Pages mapped and unmapped by a program: the recorded numbers equal those that remain mapped."""

import os
import subprocess
import sys

import pytest
from memoryhelp import LIBC, recorded

MAPS = (
    LIBC
    + """
libc.mmap.restype = libc.mremap.restype = libc.sbrk.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
libc.sbrk.argtypes, libc.brk.argtypes = [ctypes.c_ssize_t], [ctypes.c_void_p]
PAGE, FAILED = 4096, ctypes.c_void_p(-1).value
def new(pages, at=None, more=0):
    return libc.mmap(at, pages * PAGE, 3, 0x22 | more, -1, 0)
"""
)


def mapping(spartito, cwd, text):
    """Memory of a program that maps pages."""
    return recorded(spartito, cwd, MAPS + text)


def pages(m, mark):
    """(mappings, pages, completely unmapped mappings, unmapped pages), in pages of 4 KiB."""
    blocks, size, gone, gone_size = m.numbers(mark, "mmap")
    return blocks, size / 4096, gone, gone_size / 4096


def test_parts_are_unmapped(spartito, tmp_path):
    m = mapping(spartito, tmp_path, """
def keep(n): return libc.mmap(None, n * PAGE, 3, 0x22, -1, 0)  # maps
p = keep(64)
libc.munmap(p, 8 * PAGE)                # from its begin
libc.munmap(p + 60 * PAGE, 4 * PAGE)    # from its end
libc.munmap(p + 20 * PAGE, 10 * PAGE)   # from its middle
libc.munmap(p + 15 * PAGE, 20 * PAGE)   # around the hole
print(libc.munmap(p + 1, PAGE), libc.munmap(p, 0), libc.munmap(p, 1 << 63))  # the system refuses them
libc.munmap(p + 40 * PAGE, 1)           # less than a page is one
""")
    assert pages(m, "maps") == (1, 64, 0, 8 + 4 + 20 + 1)


def test_one_over_another(spartito, tmp_path):
    m = mapping(spartito, tmp_path, """
p = libc.mmap(None, 32 * PAGE, 3, 0x22, -1, 0)  # below
q = libc.mmap(p + 4 * PAGE, 8 * PAGE, 3, 0x32, -1, 0)  # fixed
r = libc.mmap(p, 32 * PAGE, 3, 0x22 | 0x100000, -1, 0)  # not over another
print(q == p + 4 * PAGE, r == FAILED)
libc.munmap(p + 8 * PAGE, 8 * PAGE)
""")
    assert pages(m, "below") == (1, 32, 0, 8 + 4)
    assert pages(m, "fixed") == (1, 8, 0, 4)
    assert pages(m, "not over another") == (0, 0, 0, 0)


def test_advice_changes_nothing(spartito, tmp_path):
    m = mapping(spartito, tmp_path, """
p = libc.mmap(None, 4096 * PAGE, 3, 0x22, -1, 0)  # there
for i in range(4096):
    ctypes.memset(p + i * PAGE, 1, 1)
for advice in 4, 8, 21:  # MADV_DONTNEED, MADV_FREE, MADV_PAGEOUT
    libc.madvise(p, 4096 * PAGE, advice)
libc.mprotect(p, 4096 * PAGE, 0)
""")
    assert pages(m, "there") == (1, 4096, 0, 0)
    assert m.found["processes"][0]["resident_peak"] > 0


def test_pages_that_move(spartito, tmp_path):
    m = mapping(spartito, tmp_path, """
p = libc.mmap(None, 64 * PAGE, 3, 0x22, -1, 0)  # mapped
p = libc.mremap(p, 64 * PAGE, 16 * PAGE, 0, 0)  # shrunk
p = libc.mremap(p, 16 * PAGE, 500 * PAGE, 1, 0)  # moved
q = libc.mmap(None, 8 * PAGE, 3, 0x22, -1, 0)  # full
libc.mmap(q + 8 * PAGE, PAGE, 3, 0x22 | 0x100000, -1, 0)
for i in range(3):
    print(libc.mremap(q, 8 * PAGE, 100000 * PAGE, 0, 0) == FAILED)  # refused
r = libc.mmap(None, 10 * PAGE, 3, 0x22, -1, 0)  # left
s = libc.mremap(r, 10 * PAGE, 10 * PAGE, 1 | 4, 0)  # without its old place
shared = libc.mmap(None, 6 * PAGE, 3, 0x21, -1, 0)  # shared
again = libc.mremap(shared, 0, 6 * PAGE, 1, 0)  # twice
t = libc.mmap(None, 12 * PAGE, 3, 0x22, -1, 0)  # in the way
u = libc.mremap(again, 6 * PAGE, 4 * PAGE, 1 | 2, t + PAGE)  # fixed
print(u == t + PAGE, FAILED in (p, q, r, s, shared, again, t))
""")
    assert pages(m, "mapped") == (1, 64, 1, 64)
    assert pages(m, "shrunk") == (1, 16, 1, 16)
    assert pages(m, "moved") == (1, 500, 0, 0)
    assert pages(m, "full") == (1, 8, 0, 0)  # a failed call changes nothing
    assert pages(m, "refused") == (0, 0, 0, 0)
    assert pages(m, "left") == pages(m, "without its old place") == (1, 10, 0, 0)
    assert pages(m, "shared") == (1, 6, 0, 0) and pages(m, "twice") == (1, 6, 1, 6)
    assert pages(m, "in the way") == (1, 12, 0, 4) and pages(m, "fixed") == (1, 4, 0, 0)


def test_the_program_break(spartito, tmp_path):
    m = mapping(spartito, tmp_path, """
old = libc.sbrk(10000)  # more
print(libc.sbrk(0) == old + 10000)
libc.sbrk(-4000)
now = libc.sbrk(0)
print(libc.brk(now + 5000))  # to
libc.brk(now + 1000)
print(libc.brk(1), libc.sbrk(0) == now + 1000, libc.sbrk(1 << 62) == FAILED)  # refused
x = [libc.malloc(1 << 16) for i in range(1000)]  # malloc
""")
    assert m.numbers("more", "mmap") == (1, 10000, 0, 4000)
    assert m.numbers("to", "mmap") == (1, 5000, 0, 4000)
    assert m.numbers("refused", "mmap") == (0, 0, 0, 0)
    # mappings that malloc() makes are part of its blocks
    assert m.numbers("malloc") == (1000, 1000 << 16, 0, 0) and m.numbers("malloc", "mmap") == (0, 0, 0, 0)


# threads map pages repeatedly while others move theirs
THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
enum { THREADS = 4, ROUNDS = 3000 };
static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *p = mmap(0, 8 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p = mremap(p, 8 << 12, (9 + i % 7) << 12, MREMAP_MAYMOVE);
        munmap(p, (9 + i % 7) << 12);
    }
    return unused;
}
void all(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
}
"""


def test_threads_that_map_and_move(spartito, tmp_path):
    (tmp_path / "threads.c").write_text(THREADS)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-pthread", "-o", "threads.so", "threads.c"], cwd=tmp_path, check=True)
    m = recorded(spartito, tmp_path, "import ctypes\nctypes.CDLL('./threads.so').all()\n")
    sites = [s for s in m.found["sites"] if s["allocator"] == "mmap" and s["count"] >= 3000]
    moved = sum((9 + i % 7) << 12 for i in range(3000))
    assert len(sites) == 4
    for s in sites:
        assert (s["count"], s["bytes"]) == (6000, moved + 3000 * (8 << 12))
        assert (s["freed"], s["freed_bytes"], s["elsewhere"]) == (s["count"], s["bytes"], 0)


# another thread may do this while the resident size is measured: it closes all descriptors, and opens its own file
MEANWHILE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int own = -1, times, closed;
int measured(void) { return times; }
int was_closed(void) { return closed; }
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number != SYS_openat || r < 0 || !strstr((const char *)a[1], "statm"))
        return r;
    if (times++) {
        if (lseek(own, 0, SEEK_CUR) != 3) /* ours was closed, or read from */
            closed++;
        close(own);
    }
    close(r);
    own = open("/proc/self/exe", O_RDONLY); /* its number is r */
    lseek(own, 3, SEEK_SET);
    return r;
}
"""


@pytest.mark.parametrize("option", ["--memory-profile", "--memory-sample=1K", "--limit-rss=10M"])
def test_descriptors_of_the_program_are_its_own(spartito, tmp_path, option):
    (tmp_path / "meanwhile.c").write_text(MEANWHILE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", "meanwhile.so", "meanwhile.c"], cwd=tmp_path, check=True)
    text = (
        LIBC
        + """
import time
for i in range(20):
    x = [libc.malloc(1 << 17), bytes(1 << 19)]
    time.sleep(0.012)
lib = ctypes.CDLL("./meanwhile.so")
print(lib.measured() > 5, lib.was_closed())
"""
    )
    (tmp_path / "program.py").write_text(text)
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "meanwhile.so")}
    words = [*spartito, "run", "-q", option, "-o", "x", "--", sys.executable, "program.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True 0\n"), done.stderr
