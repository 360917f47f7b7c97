# SPDX-License-Identifier: BSD-3-Clause
"""File I/O wrappers: each call is recorded under the function that made it, with its file handle, offset and number of bytes."""

import os
import platform
import subprocess
import sys
from collections import Counter

import pytest
from commandline import run
from programs import HOOKS, find
from rawfile import IO, Raw
from spartito.base.messages import Refused
from spartito.experiments.losses import sentences
from spartito.run import preload

# glibc has separate functions for large files
LARGE = "64" if platform.libc_ver()[0] == "glibc" else ""
open_, fcntl_, lseek_ = "open" + LARGE, "fcntl" + LARGE, "lseek" + LARGE
pread_, preadv_, pwrite_, pwritev_ = "pread" + LARGE, "preadv" + LARGE, "pwrite" + LARGE, "pwritev" + LARGE


def recorded(spartito, cwd, program, *options, processes=1, name="x", env=None):
    """Runs a program (its text, or the name of one in tests/programs) with --io. Returns its raw files and what it printed."""
    if "\n" in program:
        path = cwd / "program.py"
        path.write_text(program)
    else:
        path = find(program)
    environment = {**os.environ, "SPARTITO_TRACE": "0" if name == "profile" else "1", **(env or {})}
    environment.pop("PYTHONUNBUFFERED", None)  # printed text is written when the program ends, not by the functions below
    command = ["--", sys.executable, path]
    done = run(spartito, "run", "-q", "--io", *options, "-o", cwd / name, *command, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stderr
    raws = [Raw(p) for p in sorted((cwd / name / "raw").glob("*.raw"))]
    assert len(raws) == processes
    return raws[0] if processes == 1 else raws, done.stdout


def paths(raw):
    """{handle: path} of all files and descriptors that the program opened."""
    found = {}
    for events in raw.events.values():
        for what, *rest in events:
            if what == "create":
                found[rest[0]] = rest[1]
            elif what == "dup":
                found[rest[1]] = found[rest[0]]
    return found


@pytest.mark.parametrize("hook", HOOKS)
def test_descriptors(spartito, tmp_path, hook):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors", "--hook", hook)
    data = str(tmp_path / "data.bin")
    calls = raw.below("transfer")
    assert [c[0] for c in calls[:2]] == [open_, "write"]
    handle = calls[0][1][1]
    assert calls[0][1:] == [("create", handle, data, calls[0][1][3])]
    assert calls[0][1][3] & (os.O_RDWR | os.O_CREAT | os.O_TRUNC) == os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def moved(mode, asked, offset, got):
        return [("begin", handle, mode, asked, offset), ("complete", handle, got)]

    assert calls[1:] == [
        ["write", *moved(1, 1000, None, 1000)],
        [pwrite_, *moved(1, 2, 10, 2)],
        [lseek_, ("seek", handle, 2**64 - 990, 2, 10)],
        ["read", *moved(0, 5, None, 5)],
        [pread_, *moved(0, 4, 9, 4)],
        ["read", *moved(0, 5000, None, 985)],
        ["fsync", *moved(2, 0, None, 0)],
        ["fdatasync", *moved(2, 0, None, 0)],
        ["close", ("destroy", handle)],
    ]
    vectors = {c[0].replace(LARGE + "v2", LARGE): c[1:] for c in raw.below("vectors")}
    assert set(vectors) == {open_, "readv", "writev", preadv_, pwritev_, "close"}
    handle = vectors[open_][0][1]
    assert vectors["readv"] == moved(0, 7, None, 7)
    assert vectors["writev"] == moved(1, 3, None, 3)
    assert vectors[preadv_][0] == ("begin", handle, 0, 7, 8)
    assert vectors[pwritev_][0] == ("begin", handle, 1, 1, 20)


def test_copies_share_the_file(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors")
    calls = raw.below("copies")
    assert [c[0] for c in calls] == [open_, fcntl_, "dup2", fcntl_, "read", "dup2"] + ["close"] * 4 or [
        c[0] for c in calls
    ] == [open_, fcntl_, "dup3", fcntl_, "read", "dup3"] + ["close"] * 4, calls
    first = calls[0][1][1]
    dups = [e for c in calls for e in c[1:] if e[0] == "dup"]
    second, at77, third, again = (d[2] for d in dups)
    assert [d[1] for d in dups] == [first, first, first, second]
    assert len({first, second, at77, third, again}) == 5
    assert calls[4][1][:3] == ("begin", at77, 0)
    assert calls[5][1:] == [("destroy", at77), ("dup", second, again)]
    assert [e[1] for c in calls[6:] for e in c[1:]] == [first, second, again, third]
    assert {paths(raw)[h] for h in (first, second, at77, third, again)} == {str(tmp_path / "data.bin")}


def test_failures_and_what_was_open_before(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors")
    calls = [c for f in ("failures", "failures.<locals>.<lambda>") for c in raw.below(f)]
    assert Counter(c[0] for c in calls) == Counter([open_, "read", "close", lseek_, open_, "write"])
    by_name = {c[0]: c[1:] for c in calls}
    assert by_name["read"] == by_name["close"] == by_name[lseek_] == []  # 12345 is not an open descriptor: no handle
    assert by_name["write"][-1][2] is None  # the write failed
    calls = raw.below("inherited")
    assert [c[0] for c in calls[:2]] == ["write", "read"]
    for call, mode in zip(calls, (1, 0)):
        create, begin, complete = call[1:]
        assert create[0] == "create" and create[2].startswith("pipe:[") and begin[2] == mode
        assert complete == ("complete", create[1], len(b"through a pipe"))
    assert sorted(e[1] for c in calls[2:] for e in c[1:] if e[0] == "destroy") == sorted(c[1][1] for c in calls[:2])


def test_bytes_belong_to_call_paths(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors")
    assert raw.metrics == ["io_bytes_read", "io_bytes_written"]
    profile = {(path[-2], path[-1].replace(LARGE + "v2", LARGE)): n for path, n in raw.profile.items() if len(path) > 1}
    read, written = (
        {path: n[m] for path, n in profile.items() if n[m] and path[0] in ("transfer", "vectors", "copies")} for m in raw.metrics
    )
    assert read == {
        ("transfer", "read"): 990,
        ("transfer", pread_): 4,
        ("vectors", "readv"): 7,
        ("vectors", preadv_): 7,
        ("copies", "read"): 2,
    }
    assert written == {
        ("transfer", "write"): 1000,
        ("transfer", pwrite_): 2,
        ("vectors", "writev"): 3,
        ("vectors", pwritev_): 1,
    }
    # a function whose callees move the bytes has no bytes itself
    assert not any(n[m] for path, n in profile.items() for m in raw.metrics if path[-1] in ("main", "transfer", "vectors"))


def test_profile_alone_counts_the_same(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors")
    alone, _ = recorded(spartito, tmp_path, "io_descriptors", name="profile")
    assert alone.profile == raw.profile and not alone.events


def test_streams(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_streams")
    calls = raw.below("write")
    assert [c[0] for c in calls] == ["fopen", "fputs", "fputc", "putc", "fwrite", "fprintf", "fflush", "freopen", "fputs", "fclose"]
    first = calls[0][1][1]
    assert calls[0][1][:3] == ("create", first, str(tmp_path / "text.txt"))
    assert [e[-1] for c in calls[1:6] for e in c if e[0] == "complete"] == [11, 1, 1, 8, 8]
    assert calls[6][1:] == [("begin", first, 2, 0, None), ("complete", first, 0)]
    assert calls[7][1] == ("destroy", first)
    second = calls[7][2][1]
    assert calls[7][2][:3] == ("create", second, str(tmp_path / "other.txt")) and calls[7][2][3] & os.O_APPEND
    assert calls[9][1:] == [("destroy", second)]
    calls = raw.below("read")
    names = ["fopen", "fgets", "fgetc", "ungetc", "getc", "fread", "fgetc", "fgets", "fclose", "fopen"]
    assert [c[0] for c in calls] == names
    # "z", pushed back by ungetc, is read again; fread reads the rest of the file in units of three and then the remainder
    assert [e[-1] for c in calls for e in c if e[0] == "complete"] == [11, 1, 1, 15, 0, 0]
    assert calls[-1] == ["fopen"]  # fopen of a file that does not exist
    calls = raw.below("places")
    seeks = [e[2:] for c in calls for e in c if e[0] == "seek"]
    size = os.path.getsize(tmp_path / "text.txt")
    assert seeks == [(4, 0, 4), (None, 2, size - 1), (2**64 - 100, 0, None), (0, 0, 0)]
    calls = raw.below("memory")
    assert calls == [["fputs"], ["fclose"]]
    profile = {path[-2:]: n["io_bytes_written"] for path, n in raw.profile.items() if len(path) > 1}
    assert profile["memory", "fputs"] == len("no descriptor")


def test_handlers_record_nothing(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_signals")
    opened = paths(raw)
    calls = raw.below("work")
    names = Counter(c[0] for c in calls)
    assert names["read"] == names["write"] > 100
    for call in calls[1:-1]:
        handle = call[1][1]
        assert opened[handle] == "/dev/zero" and call[-1] == ("complete", handle, 3 if call[0] == "read" else 4)


def test_children(spartito, tmp_path):
    raws, _ = recorded(spartito, tmp_path, "io_children", processes=4)
    parent = next(r for r in raws if "io_children" in r.meta["command"] and "parent" not in r.meta)
    forked = [r for r in raws if "parent" in r.meta]
    other = next(r for r in raws if "a Python of its own" in r.meta["command"])
    assert len(forked) == 2
    written = sorted(e for r in forked for c in r.below("child") + r.below("main") for e in c if e[0] == "complete")
    assert written == [("complete", 1, len("at once")), ("complete", 1, len("from the child"))]
    for r in forked:
        assert paths(r)[1].startswith("pipe:[")
    assert [c[-1][2] for c in other.below("<module>") if c[0] == "write"] == [20]
    # Between vfork and exec, fork_exec closes and moves descriptors in the child. The parent records none of these calls.
    executed = [c[0] for c in parent.below("Popen._execute_child")]
    assert set(executed) <= {"read", "close"} and "read" in executed, executed


def test_threads(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_threads")
    for function, name, mode in (("reader", "read", 0), ("writer", "write", 1)):
        calls = raw.below(function)
        assert len(calls) == 1600 and {c[0] for c in calls} == {name}
        for call in calls:
            begin, complete = call[-2:]
            assert begin[1] == complete[1] and begin[2:] == (mode, 1, None) and complete[2] == 1
    assert sum(e[0] == "create" for events in raw.events.values() for e in events) >= 16


NATIVE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *in_thread(void *path)
{
    char room[8];
    int fd = open(path, O_RDONLY);
    if (read(fd, room, sizeof room) < 0)
        return path;
    close(fd);
    return NULL;
}
long checked(const char *path, int flags, size_t n)
{
    char room[64];
    int fd = open(path, flags);
    long got = read(fd, room, n);
    got += pread(fd, room, n, 1);
    close(fd);
    FILE *f = fopen(path, "r");
    got += (long)fread(room, 1, n, f);
    got += fgets(room, (int)n, f) != NULL;
    fclose(f);
    return got;
}
int threaded(const char *path)
{
    pthread_t t;
    void *failed = NULL;
    if (pthread_create(&t, NULL, in_thread, (void *)path) == 0)
        pthread_join(t, &failed);
    return failed == NULL;
}
"""


@pytest.fixture
def native(tmp_path):
    (tmp_path / "native.c").write_text(NATIVE)
    command = ["cc", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-shared", "-fPIC", "native.c", "-o", "native.so"]
    subprocess.run([*command, "-lpthread"], cwd=tmp_path, check=True)
    return tmp_path


def test_fortified_functions_and_threads_of_c(spartito, native):
    needed = subprocess.run(["nm", "-D", "native.so"], cwd=native, capture_output=True, text=True, check=True).stdout
    assert "__read_chk" in needed and "__open_2" in needed, "the compiler does not check here"
    text = (
        "import ctypes\nc = ctypes.CDLL('./native.so')\ndef main():\n"
        "    print(c.checked(b'native.c', 0, 20), c.threaded(b'native.c'))\nmain()\n"
    )
    raw, out = recorded(spartito, native, text)
    assert out == "61 1\n"
    calls = [c for c in raw.below("main") if c[0] != "write"]
    assert [c[0] for c in calls] == ["open", "read", "pread", "close", "fopen", "fread", "fgets", "fclose"]
    assert calls[2][1][3:] == (20, 1)
    assert all(e[2] == str(native / "native.c") for c in calls for e in c if e[0] == "create")
    outside = [path for path in raw.profile if path and len(path) == 1 and path[0] in ("open", "read", "close")]
    assert sorted(outside) == [("close",), ("open",), ("read",)], "the thread that Python does not know has no callers"


@pytest.mark.parametrize("hook", HOOKS)
def test_pause_and_resume(spartito, tmp_path, hook):
    text = (
        "import os, spartito\nfd = os.open('/dev/null', os.O_RDWR)\ndef inner():\n    os.write(fd, b'1')\n    spartito.pause()\n"
        "    os.write(fd, b'22')\n    spartito.resume()\n    os.write(fd, b'333')\n"
        "def main():\n    inner()\n    os.write(fd, b'4444')\nmain()\n"
    )
    raw, _ = recorded(spartito, tmp_path, text, "--hook", hook)
    assert [c[-1][2] for c in raw.below("inner")] == [1, 3]
    assert [c[-1][2] for c in raw.below("main")] == [4]


def test_stopped_and_started_again(spartito, tmp_path):
    text = (
        "import os, spartito\ndef f(n):\n    fd = os.open('/dev/null', os.O_RDWR)\n    os.write(fd, b'x' * n)\n    os.close(fd)\n"
        "f(1)\nspartito.stop()\nf(2)\nspartito.start('second', io=True, trace=True)\nf(3)\nspartito.stop()\n"
        "spartito.start('third', trace=True)\nf(4)\n"
    )
    raw, _ = recorded(spartito, tmp_path, text)
    assert [e[2] for c in raw.below("f") for e in c if e[0] == "complete"] == [1]
    second, third = (Raw(next((tmp_path / d / "raw").glob("*.raw"))) for d in ("second", "third"))
    calls = second.below("f")
    assert [c[0] for c in calls] == [open_, "write", "close"] and calls[0][1][1:3] == (1, "/dev/null")
    assert third.metrics == [] and third.below("f") == []


def test_names_of_files(spartito, tmp_path):
    text = (
        "import os\nos.mkdir('sub')\nwhere = os.open('sub', os.O_RDONLY)\ndef main():\n"
        "    os.close(os.open('inside', os.O_CREAT | os.O_WRONLY, dir_fd=where))\n    os.chdir('sub')\n"
        "    os.close(os.open(b'\\xff\\xc3\\xa9', os.O_CREAT | os.O_WRONLY))\nmain()\n"
    )
    raw, _ = recorded(spartito, tmp_path, text)
    names = [e[2] for c in raw.below("main") for e in c if e[0] == "create"]
    assert names == [f"{tmp_path}/sub/inside", f"{tmp_path}/sub/\\xffé"]


def test_io_of_the_recorder_is_not_recorded(spartito, tmp_path):
    """The recorder opens and closes the experiment's files when they grow, between the program's calls. None of it is recorded."""
    text = (
        "import os\ndef f(): pass\ndef main():\n    fd = os.open('/dev/null', os.O_WRONLY)\n    for i in range(200000):\n"
        "        os.write(fd, b'')\n    for i in range(500000):\n        f()\nmain()\n"
    )
    raw, _ = recorded(spartito, tmp_path, text)
    assert Counter(c[0] for c in raw.below("main")) == {open_: 1, "write": 200000}
    assert not any("/raw/" in path for path in paths(raw).values())
    assert not raw.below("f")


def test_other_libraries_stay_preloaded(spartito, tmp_path):
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", "mine.so"], input=b"int mine = 1;", cwd=tmp_path, check=True)
    mine = str(tmp_path / "mine.so")
    text = "import ctypes, os\nprint(ctypes.c_int.in_dll(ctypes.CDLL(None), 'mine').value, os.environ['LD_PRELOAD'])\n"
    _, out = recorded(spartito, tmp_path, text, env={"LD_PRELOAD": mine})
    assert out == f"1 {preload.LIBRARY}:{mine}\n"


def test_constructors_of_other_libraries(spartito, tmp_path):
    """Constructors of other libraries run before the wrappers' own constructors, which look up the real functions."""
    source = rb"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int right;
__attribute__((constructor)) static void begin(void)
{
	struct sigaction a;
	char c[2] = "x";
	int fd = open("/dev/zero", O_RDONLY);
	right = fd >= 0 && read(fd, c, 1) == 1 && !*c && !close(fd) && !sigaction(SIGTERM, NULL, &a) && a.sa_handler == SIG_DFL;
	FILE *f = fopen("/dev/zero", "r");
	right = right && f && getc(f) == 0 && !fclose(f);
}
"""
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", "mine.so"], input=source, cwd=tmp_path, check=True)
    text = "import ctypes\nprint(ctypes.c_int.in_dll(ctypes.CDLL(None), 'right').value)\n"
    _, out = recorded(spartito, tmp_path, text, env={"LD_PRELOAD": str(tmp_path / "mine.so")})
    assert out == "1\n"


def test_programs_that_are_not_python(spartito, tmp_path):
    command = ["sh", "-c", "echo one two | wc -w; cat /no/such/file; exit 3"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    done = run(spartito, "run", "-q", "--io", "-o", "x", "--", *command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert done.stderr.startswith(plain.stderr)


def test_started_without_the_library(spartito, tmp_path):
    text = "import spartito\nspartito.start('x', io=True)\n"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ValueError: io: file I/O can only be recorded") and "run --io" in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_child_without_the_library_says_so(spartito, tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, subprocess, sys\nenvironment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}\n"
        "subprocess.run([sys.executable, '-c', 'def f(): pass\\nf()'], env=environment)\n"
    )
    done = run(spartito, "run", "--io", "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "not recorded in process" in done.stderr and "file I/O, because the library" in done.stderr
    from spartito._analyse import Model

    info = Model(str(tmp_path / "x")).info()
    assert [s for s in sentences(info) if "file I/O" in s]
    assert len(info["processes"]) == 2


def test_paths_that_ld_preload_cannot_name(tmp_path):
    odd = tmp_path / "a b"
    odd.mkdir()
    library = odd / "spartito_preload.so"
    library.write_bytes(b"")
    environment = {}
    preload.add(environment, str(tmp_path), str(library))
    assert environment["LD_PRELOAD"] == str(tmp_path / "preload.so")
    assert os.path.samefile(tmp_path / "preload.so", library)
    with pytest.raises(Refused, match="space or colon.*-o"):
        preload.add({}, str(odd), str(library))
    library.unlink()
    with pytest.raises(Refused, match="is not there"):
        preload.add({}, str(tmp_path), str(library))


def test_every_symbol_has_a_region_of_io(spartito, tmp_path):
    raw, _ = recorded(spartito, tmp_path, "io_descriptors")
    kinds = {name: kind for kind, name in raw.regions.values()}
    assert kinds[open_] == kinds["read"] == IO and kinds["transfer"] != IO
