# SPDX-License-Identifier: BSD-3-Clause
"""support_table.py [--write] [FEATURE…]: tries each feature with the Python that runs this file, and prints what holds: yes, or the
line with which Spartito refuses it. --write puts the results into this build's column of the table in docs/versions.md.

A build is a version of Python with, if they are not the usual ones, "t" (without the GIL), the processor and the C library. Each
feature is tried on a real program, and the numbers that it must yield are checked: "yes" means a right result, not only an
option that is accepted. A wrong result ends in an exception; the table cannot have it."""

import os
import pathlib
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- support table: tools/support_table.py -->\n", "<!-- end of the support table -->\n"
YES = "yes"
TIMEOUT = 120  # s
PROGRAM = """
import asyncio, sys, threading, time
def leaf(n): return n + 1
def work(times):
    total = 0
    for _ in range(times):
        total = leaf(total)
    return len([total])
def hold(lock, ready):
    with lock:
        ready.set()
        time.sleep(0.2)
def want():
    lock, ready = threading.Lock(), threading.Event()
    holder = threading.Thread(target=hold, args=(lock, ready), name="holder")
    holder.start()
    ready.wait()
    with lock:
        pass
    holder.join()
async def nap(n):
    await asyncio.sleep(0.001 * n)
async def naps():
    await asyncio.gather(nap(1), nap(2))
def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        leaf(1)
def keep():
    kept = []
    for _ in range(100):
        kept.append(bytearray(50000))
    return kept
def both():
    other = threading.Thread(target=spin, args=(0.3,))
    other.start()
    spin(0.3)
    other.join()
work(1000)
want()
asyncio.run(naps())
kept = keep()
with open("written.txt", "wb") as f:
    f.write(bytes(5000))
both()
"""
C_SOURCE = """
int leaf(int n) { return n + 1; }
int work(int times) { int n = 0; for (int i = 0; i < times; i++) n = leaf(n); return n; }
"""


class Refused(Exception):
    """Spartito said in one line that it cannot do this here."""


def spartito(place, *words, **keywords):
    """Runs a command in a directory and returns its standard output. Refused: it said that it cannot do this."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    command = [sys.executable, "-m", "spartito", *map(str, words)]
    done = subprocess.run(command, cwd=place, env=kept, capture_output=True, text=True, timeout=TIMEOUT, **keywords)
    lines = done.stderr.strip().splitlines()
    if done.returncode in (0, 2) and lines:  # 0: the program ran, without what it was asked for
        raise Refused(re.sub(r"^spartito( \w+)?: | in process \d+ on [^:]+", "", lines[0]))
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def recorded(place, *options):
    """The model of the program, measured with these options."""
    from spartito.analysis import Model

    spartito(place, "run", "-q", *options, "-o", "x", "--", sys.executable, "program.py")
    return Model(str(place / "x"))


def visits(model, name):
    return sum(row["visits"] for row in model.flat() if row["name"].endswith(name))


def calls(*options):
    def check(place):
        assert visits(recorded(place, *options), ":work") == 1

    return check


def c_calls(place):
    assert visits(recorded(place, "--c-calls"), "builtins.len>") >= 1


def trace(place):
    model = recorded(place, "--trace")
    assert model.info()["traced"] and model.info()["events"] > 2000
    assert set(spartito(place, "doctor", "--formats").split()) >= {"chrome", "perfetto", "speedscope"}
    spartito(place, "convert", "x", "--to", "perfetto", "-o", "out.pftrace")


def lines(*options):
    def check(place):
        model = recorded(place, "--lines", "work", *options)
        (row,) = model.lines()
        assert bool(model.flat()) == ("--lines-only" not in options)
        assert (row["function"], max(hits for _, hits, _, _ in row["lines"])) == ("work", 1001)

    return check


def tasks(place):
    groups = recorded(place).tasks()["groups"]
    assert {g["name"]: g["tasks"] for g in groups if g["name"].startswith("__main__:")} == {"__main__:nap": 2, "__main__:naps": 1}


def waits(place):
    model = recorded(place, "--waits")
    names = [one["name"] for one in model.info()["locations"]]
    found = [w for w in model.locks()["waits"] if w["stack"][-1:] == ["__main__:want"] and w["holder"] is not None]
    assert "holder" in {names[w["holder"]] for w in found}, found


def gil(place):
    model = recorded(place, "--gil")
    spartito(place, "report", "x")  # says if the waits are missing
    assert any(m["name"] == "gil_wait" and m["total"] > 0 for m in model.info()["metrics"])


def io(place):
    rows = [row for row in recorded(place, "--trace", "--io").io() if row["path"].endswith("written.txt")]
    assert [row["bytes_written"] for row in rows] == [5000]


def metrics(place):
    model = recorded(place, "--metric", "rusage:ru_utime")
    assert any(m["name"] == "ru_utime" and m["total"] > 0 for m in model.info()["metrics"])


def memory(*options, least):
    def check(place):
        model = recorded(place, *options)
        sites = [s for s in model.memory()["sites"] if (s["function"] or "").endswith("keep")]
        assert sum(s["left_bytes"] for s in sites) >= least, sites

    return check


def samples(*options, name=":spin"):
    def check(place):
        model = recorded(place, "--sample", "--sample-rate", "500", *options)
        assert any(row["name"].endswith(name) and row["incl"] > 0.1 for row in model.flat())

    return check


def compiled_frames(place):
    model = recorded(place, "--sample", "--sample-rate", "500", "--sample-native")
    spartito(place, "report", "x")  # says if they are missing
    assert any(row["kind"] == "native" for row in model.flat())


def attach(place):
    from spartito.analysis import Model

    # until its standard input ends
    code = textwrap.dedent(PROGRAM).partition("work(1000)")[0] + "print(1, flush=True)\nwhile True: spin(1)\n"
    with subprocess.Popen([sys.executable, "-c", code], cwd=place, stdout=subprocess.PIPE) as p:
        try:
            p.stdout.readline()
            spartito(place, "attach", "-q", "--duration", "0.5", "-o", "x", p.pid)
        finally:
            p.kill()
    assert any(row["name"].endswith(":spin") for row in Model(str(place / "x")).flat())


def compiled_code(place):
    from spartito.analysis import Model

    (place / "program.c").write_text(C_SOURCE)
    spartito(place, "compile", "cc", "-O0", "-shared", "-fPIC", "program.c", "-o", "program.so")
    spartito(place, "run", "-q", "-o", "x", "--", sys.executable, "-c", "import ctypes; ctypes.CDLL('./program.so').work(1000)")
    assert visits(Model(str(place / "x")), "leaf") == 1000


FEATURES = {
    "calls of Python functions": calls(),
    "… `--hook evalframe`": calls("--hook", "evalframe"),
    "… `--hook monitoring`": calls("--hook", "monitoring"),
    "… `--hook setprofile`": calls("--hook", "setprofile"),
    "calls of C functions, `--c-calls`": c_calls,
    "event traces, `--trace`": trace,
    "lines, `--lines`": lines(),
    "lines alone, `--lines-only`": lines("--lines-only"),
    "asynchronous tasks": tasks,
    "waits and holders, `--waits`": waits,
    "waits for the GIL, `--gil`": gil,
    "file I/O, `--io`": io,
    "metrics, `--metric rusage:…`": metrics,
    "all allocations, `--memory-profile`": memory("--memory-profile", least=5_000_000),
    "sampled allocations, `--memory-sample`": memory("--memory-sample", "64K", least=1_000_000),
    "samples, `--sample`": samples(),
    "compiled frames in samples, `--sample-native`": compiled_frames,
    "samples of a running program, `spartito attach`": attach,
    "compiled code, `spartito compile`": compiled_code,
}


def build():
    """The name of this build of Python: the head of its column."""
    words = ["{}.{}".format(*sys.version_info[:2]) + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")]
    if platform.machine() != "x86_64":
        words.append(platform.machine())
    if platform.libc_ver()[0] != "glibc":
        words.append("musl")
    return " ".join(words)


def tried(name):
    """YES, or the line of the refusal. AssertionError: neither."""
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "program.py").write_text(textwrap.dedent(PROGRAM))
        try:
            FEATURES[name](pathlib.Path(place))
        except Refused as e:
            return str(e)
    return YES


def read():
    """{build: {feature: result}} of the page."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
    notes = dict(re.findall(r"^(\d+)\. (.*)$", table, re.M))
    found = {}
    for column, name in enumerate(rows[0][1:] if rows else [], 1):
        found[name] = {row[0]: YES if row[column] == YES else notes[row[column].strip("no ()")] for row in rows[2:]}
    return found


def order(name):
    """3.9 before 3.10, 3.14 before 3.14t, and those of other processors and C libraries last."""
    version, *rest = name.split()
    return rest, [int(part) for part in version.rstrip("t").split(".")], version


def text_of(found):
    """The table, without the comments around it."""
    builds, notes = sorted(found, key=order), []
    lines = ["| | " + " | ".join(builds) + " |", "|---" * (len(builds) + 1) + "|"]
    for feature in FEATURES:
        cells = []
        for name in builds:
            result = found[name][feature]
            if result != YES and result not in notes:
                notes.append(result)
            cells.append(YES if result == YES else f"no ({notes.index(result) + 1})")
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    lines += ["", *(f"{i}. {note}" for i, note in enumerate(notes, 1))]
    return "\n" + "\n".join(lines) + "\n\n"


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    unknown = [word for word in words if word not in FEATURES]
    if unknown:
        sys.exit(f"{sys.argv[0]}: unknown feature {unknown[0]!r}")
    results = {}
    for name in words or FEATURES:
        results[name] = tried(name)
        print(f"{name:<50} {results[name]}", flush=True)
    if "--write" in sys.argv:
        found = read()
        found.setdefault(build(), {}).update(results)
        head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(head + begin + text_of(found) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
