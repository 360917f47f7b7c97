# SPDX-License-Identifier: BSD-3-Clause
"""Real programs with processes and threads, whose hot function is known: it writes how much processor time it took."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

PATIENCE = 100  # seconds
CALLS = 60

# hot() is pure Python; a program with another hot function calls wrote() in it
WORK = """
import os, time
def wrote(begin):
    fd = os.open(os.environ["HOT_TIMES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, b"%d\\n" % (time.thread_time_ns() - begin))
    os.close(fd)
def hot(n=900_000):
    begin = time.thread_time_ns()
    x = 0
    for i in range(n):
        x = (x + i * i) % 1000003
    wrote(begin)
    return x
"""
JOBLIB = """
import sys, joblib
from work import hot
if __name__ == "__main__":
    joblib.Parallel(2, backend=sys.argv[1])(joblib.delayed(hot)() for _ in range(60))
"""
FOREST = """
import time
import numpy
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import _classes
from work import wrote
class Builder(_classes.DepthFirstTreeBuilder):
    def build(self, *given):
        begin = time.thread_time_ns()
        super().build(*given)
        wrote(begin)
_classes.DepthFirstTreeBuilder = Builder
random = numpy.random.default_rng(1)
RandomForestClassifier(40, n_jobs=2, random_state=1).fit(random.random((6000, 20)), random.integers(0, 2, 6000))
"""
DASK = """
from dask.distributed import Client, LocalCluster
from work import hot
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(hot, [900_000] * 100, pure=False))
"""
TESTS = """
import pytest
from work import hot
@pytest.mark.parametrize("n", range(60))
def test_hot(n): assert hot() >= 0
"""
ARRAYS = """
import time
from concurrent.futures import ThreadPoolExecutor
import numpy
from work import wrote
values = numpy.random.default_rng(1).random(500_000)
def hot(n):
    begin = time.thread_time_ns()
    values.copy().sort()
    wrote(begin)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(hot, range(100)))
"""
WSGI = """
from work import hot
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d" % hot()]
"""
ASGI = """
from work import hot
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % hot()})
"""
SERVICE = """
import asyncio, signal, sys
from work import hot
async def answer(reader, writer):
    while (line := await reader.readline()).strip(): pass
    body = b"%d" % hot()
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n" % len(body) + body)
    await writer.drain()
    writer.close()
async def main():
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    async with await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1])):
        await end.wait()
asyncio.run(main())
"""
TASKS = """
import celery
from work import hot
folders = {"data_folder_in": "queue", "data_folder_out": "queue", "processed_folder": "done", "control_folder": "control",
           "polling_interval": 0.1}
app = celery.Celery("tasks", broker="filesystem://", backend="file://results")
app.conf.update(broker_transport_options=folders, worker_prefetch_multiplier=1)
@app.task
def task(): return hot()
"""
# Runs a command and waits for it and for all processes that it leaves behind. Writes the command's pid, and how much processor time
# all these processes took.
WAITER = """
import ctypes, os, resource, subprocess, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER: orphans become children of this process
program = subprocess.Popen(sys.argv[1:])
open("pid", "w").write(str(program.pid))
status = program.wait()
try:
    while True: os.wait()
except ChildProcessError:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    open("used", "w").write(str(used.ru_utime + used.ru_stime))
sys.exit(abs(status))
"""
FOLDERS = ("queue", "done", "control", "results")


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _until(found, run):
    """Waits for found(). run: the process that must run until then."""
    end = time.monotonic() + PATIENCE
    while not found():
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def _get(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
        return answer.status


def _serves(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return _get(port) == 200


def _requests(place, port, run):
    """Sends the requests of two clients at a time to a server."""
    _until(lambda: _serves(port), run)
    with ThreadPoolExecutor(2) as clients:
        assert set(clients.map(_get, [port] * CALLS)) == {200}


def _tasks(place, _, run):
    """Sends tasks to a worker, until all are done."""
    send = [sys.executable, "-c", f"import tasks\nfor _ in range({CALLS}): tasks.task.delay()"]
    subprocess.run(send, cwd=place, check=True, timeout=PATIENCE)
    times = place / "times"
    _until(lambda: times.exists() and len(times.read_text().split()) >= CALLS, run)


# name: (program's text, its file, command without the Python, what a client does or None, hot function)
PROGRAMS = {
    "pytest": (TESTS, "test_hot.py", ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"], None, "work:hot"),
    "joblib-loky": (JOBLIB, "program.py", ["program.py", "loky"], None, "work:hot"),
    "joblib-multiprocessing": (JOBLIB, "program.py", ["program.py", "multiprocessing"], None, "work:hot"),
    "random-forest": (FOREST, "program.py", ["program.py"], None, "__main__:Builder.build"),
    "dask": (DASK, "program.py", ["program.py"], None, "work:hot"),
    "gunicorn-sync": (WSGI, "web.py", ["-m", "gunicorn", "-w", "2", "-b", "127.0.0.1:{port}", "web:app"], _requests, "work:hot"),
    "gunicorn-gevent": (WSGI, "web.py", ["-m", "gunicorn", "-w", "2", "-k", "gevent", "-b", "127.0.0.1:{port}", "web:app"],
                        _requests, "work:hot"),
    "uvicorn": (ASGI, "web.py", ["-m", "uvicorn", "--port", "{port}", "--lifespan", "off", "web:app"], _requests, "work:hot"),
    "celery": (TASKS, "tasks.py", ["-m", "celery", "-A", "tasks", "worker", "-c", "2", "--without-mingle", "--without-gossip"],
               _tasks, "work:hot"),
    "numpy-threads": (ARRAYS, "program.py", ["program.py"], None, "__main__:hot"),
    "asyncio": (SERVICE, "program.py", ["program.py", "{port}"], _requests, "work:hot"),
}  # fmt: skip


class Run:
    """A measured run. summary: the lines that `spartito run` wrote at its end; hot, used: the processor time in s that the hot
    function and that all processes took, as the program and its parent measured them."""

    def __init__(self, name, place):
        text, file, command, client, self.function = PROGRAMS[name]
        (place / "work.py").write_text(WORK)
        (place / file).write_text(text)
        for folder in FOLDERS:
            (place / folder).mkdir()
        port = _free_port()
        (place / "waiter.py").write_text(WAITER)
        # without -S, the waiter would be measured, too
        waiter = [sys.executable, "-I", "-S", "waiter.py", sys.executable, *(word.format(port=port) for word in command)]
        environment = {**os.environ, "HOT_TIMES": str(place / "times"), "PYTHONPATH": str(place), "OPENBLAS_NUM_THREADS": "1"}
        measured = [sys.executable, "-m", "spartito", "run", "-o", "x", "--", *waiter]
        with open(place / "error", "w") as error:
            p = subprocess.Popen(measured, cwd=place, env=environment, stdout=error, stderr=error, start_new_session=True)
        try:
            if client:
                client(place, port, p)
                os.kill(int((place / "pid").read_text()), signal.SIGTERM)
            # uvicorn ends itself with the signal that asked it to end
            assert p.wait(PATIENCE) in (0, signal.SIGTERM)
        except BaseException:
            print((place / "error").read_text())
            raise
        finally:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        text = (place / "error").read_text()
        self.directory = place / "x"
        self.summary = text[text.rindex("spartito: ") :].splitlines()
        self.hot = sum(map(int, (place / "times").read_text().split())) / 1e9
        self.used = float((place / "used").read_text())
