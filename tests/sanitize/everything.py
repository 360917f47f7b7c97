# SPDX-License-Identifier: BSD-3-Clause
"""everything.py CONTEND.SO [SECONDS]: threads, fork, a Pool, numpy, imports, Python and C locks. test_sanitized.py compares the
allocations and waits of each marked line. With SECONDS it then prints 'ready' and runs that much longer."""

import ctypes
import importlib
import multiprocessing
import os
import sys
import tempfile
import threading
import time

import numpy

c = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
malloc, calloc, realloc, free = libc.malloc, libc.calloc, libc.realloc, libc.free
for function in malloc, calloc, realloc:
    function.restype = ctypes.c_void_p
malloc.argtypes, calloc.argtypes, realloc.argtypes = [ctypes.c_size_t], [ctypes.c_size_t] * 2, [ctypes.c_void_p, ctypes.c_size_t]
free.argtypes = [ctypes.c_void_p]


def keep():
    for _ in range(1000):
        malloc(40)  # kept


def give_back():
    for _ in range(2000):
        free(malloc(24))  # freed


def grow():
    p = calloc(10, 10)  # first
    for n in range(200, 1200, 100):
        p = realloc(p, n)  # grown
    free(p)


def large():
    kept = [numpy.empty(1 << 17) for _ in range(60)]  # large
    for array in kept:
        array.fill(1)
    return kept[0] @ kept[1]


def in_threads():
    lock = threading.Lock()

    def work():
        for _ in range(100):
            malloc(8)  # thread
            with lock:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def wait_for_lock():
    for _ in range(5):
        lock, held = threading.Lock(), threading.Event()

        def hold(lock=lock, held=held):
            with lock:
                held.set()
                time.sleep(0.05)

        t = threading.Thread(target=hold)
        t.start()
        held.wait()
        with lock:  # lock
            pass
        t.join()


def wait_for_mutex():
    c.wait_for_global(5, 10)  # mutex


def sleep():
    for _ in range(3):
        time.sleep(0.01)  # sleep


def in_child():
    pid = os.fork()
    if not pid:
        for _ in range(10):
            malloc(100)  # child
        wait_for_mutex()
        sys.stdout.flush()
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_pool(n):
    for _ in range(n):
        malloc(16)  # pool
    return int(numpy.arange(n).sum())


def files():
    with tempfile.TemporaryFile() as f:
        f.write(bytes(10000))
        f.seek(0)
        return len(f.read())


def imports():
    return [len(importlib.import_module(m).__name__) for m in ("decimal", "email.message", "xml.dom.minidom", "sqlite3", "asyncio")]


def linear():
    a = numpy.arange(90000.0).reshape(300, 300) / 1e5
    for _ in range(5):
        a = a @ a
        a /= abs(a).max()
    return numpy.linalg.svd(a)[1].shape


def main():
    keep()
    give_back()
    grow()
    in_threads()
    wait_for_lock()
    wait_for_mutex()
    sleep()
    print(large(), files(), imports(), linear(), in_child())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(in_pool, [10] * 8, chunksize=1))
        pool.close()
        pool.join()
    if len(sys.argv) > 2:
        print("ready", flush=True)
        end = time.monotonic() + float(sys.argv[2])
        while time.monotonic() < end:
            linear()


main()
