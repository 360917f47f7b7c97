# SPDX-License-Identifier: BSD-3-Clause
"""Figures other than slowdowns: sizes, rates, start-up, memory and the report. Each is a row
(figure, measured, target, met or None)."""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import labels
import merging
import pages
import viewing

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PAGE, CHUNK, EVENT_CHUNKS = 4096, 0x4B4E4843, (4, 6)

# 1,000 regions in 20,000 call paths: 20 roots, each calling 20 functions, each of which calls 49 or 50 leaves
PATHS = """
import sys
names = [f"f{n}" for n in range(1000)]
space = {}
exec("\\n".join(
    [f"def f{n}(k): return k" for n in range(40, 1000)]
    + [f"def f{n}(k):\\n    for g in leaves[k:k + 50]: g(1)" for n in range(20, 40)]
    + [f"def f{n}(k):\\n    for i, g in enumerate(middles): g((k * 20 + i) * 7 % 910)" for n in range(20)]), space)
space["leaves"] = [space[n] for n in names[40:]]
space["middles"] = [space[n] for n in names[20:40]]
for repeat in range(20):
    for k in range(20):
        space[names[k]](k)
with open("/proc/self/status") as f:
    print([line.split()[1] for line in f if line.startswith("VmRSS")][0])
"""
# calls in random order, which compresses like the calls of real programs
EVENTS = """
import fractions, random
r = random.Random(1)
def leaf(x):
    return x + 1
def left(n):
    return right(n - 1) + leaf(n) if n > 0 and r.random() < 0.7 else leaf(n)
def right(n):
    return left(n - 1) if n > 0 and r.random() < 0.6 else left(n - 2) + right(n - 3) if n > 3 else leaf(n)
for i in range(COUNT):
    left(r.randrange(16))
    if i % 50 == 0:
        fractions.Fraction(i + 1, 7) + fractions.Fraction(i, 11)
"""


def spartito(bench, *arguments, **keywords):
    """Runs spartito outside of this repository, whose pyproject.toml it would parse on each start."""
    return subprocess.run([bench.command, *arguments], check=True, capture_output=True, text=True, cwd=bench.work, **keywords)


def measured(bench, directory, options, *command):
    return spartito(bench, "run", "-q", *options, "-o", directory, "--", *command)


def ask(bench, code, *arguments):
    """Runs Python code that uses spartito's analysis; returns the JSON that it prints."""
    p = subprocess.run([bench.python, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return json.loads(p.stdout)


def rawgen():
    """Builds and returns the generator of experiments of given size, which the C tests use."""
    build = os.path.join(ROOT, "build")
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build], cwd=ROOT, check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, "tests/c/rawgen"], check=True, env=environment, stdout=subprocess.DEVNULL)
    return os.path.join(build, "tests", "c", "rawgen")


def event_bytes(directory):
    """Bytes of all chunks of events with their headers, without the free space of the last one (src/format/FORMAT.md)."""
    total = 0
    raw = os.path.join(directory, "raw")
    for name in os.listdir(raw):
        with open(os.path.join(raw, name), "rb") as f:
            data = f.read()
        at = PAGE
        while at + 64 <= len(data):
            magic, kind, _, _, size = struct.unpack_from("=IIIIQ", data, at)
            chunk = data[at:at + size] if magic == CHUNK else b""
            total += len(chunk.rstrip(b"\0")) if kind in EVENT_CHUNKS else 0
            at += len(chunk) or PAGE
    return total


def event_sizes(bench, work, quick):
    script = os.path.join(work, "events.py")
    with open(script, "w") as f:
        f.write(EVENTS.replace("COUNT", "100000" if quick else "600000"))
    sizes = {}
    for name, options in (("raw", ["--trace"]), ("packed", ["--trace", "--compress"])):
        directory = os.path.join(work, "events-" + name)
        measured(bench, directory, options, bench.python, script)
        sizes[name] = event_bytes(directory)
    code = "import sys, json, spartito._analyse as a; print(json.dumps(a.Model(sys.argv[1]).info()['events']))"
    events = ask(bench, code, os.path.join(work, "events-raw"))
    whole, packed = sizes["raw"] / events, sizes["packed"] / events
    return [("raw trace, bytes an event", f"{whole:.2f}", "at most 8, and 0.1 for headers", whole <= 8.1),
            ("raw trace compressed, bytes an event", f"{packed:.2f}", "under 4", packed < 4)]


def otf2_rate(bench, work, quick):
    directory = os.path.join(work, "otf2-in")
    subprocess.run([rawgen(), directory, "500", "5000", "1", "4000000" if quick else "20000000"], check=True)
    code = ("import sys, json, time, os, spartito._analyse as a; m = a.Model(sys.argv[1]); t = time.process_time();"
            "m.convert('otf2', sys.argv[2]); print(json.dumps([m.info()['events'], time.process_time() - t]))")
    out, rates = os.path.join(work, "otf2-out"), []
    for _ in range(4):
        events, seconds = ask(bench, code, directory, out)
        rates.append(events / seconds / 1e6)
        shutil.rmtree(out)  # a virtual machine is slow with memory that it has not used before; the next run uses this memory again
    rate = max(rates)
    return [("raw to OTF2, million events a second, one core", f"{rate:.1f}", "at least 15", rate >= 15)]


def perfetto(bench, work, quick):
    """The rate includes loading the experiment. The size of an event is the larger one of a program and of random calls among 500
    functions."""
    made, program = os.path.join(work, "perfetto-in"), os.path.join(work, "perfetto-program")
    subprocess.run([rawgen(), made, "500", "5000", "1", "2000000" if quick else "10000000"], check=True)
    script = os.path.join(work, "perfetto.py")
    with open(script, "w") as f:
        f.write(EVENTS.replace("COUNT", "100000"))
    measured(bench, program, ["--trace"], bench.python, script)
    code = ("import sys, json, time, os, spartito._analyse as a; b = time.perf_counter(); m = a.Model(sys.argv[1]);"
            "m.convert('perfetto', sys.argv[2]); e = time.perf_counter();"
            "print(json.dumps([m.info()['events'], e - b, os.path.getsize(sys.argv[2])]))")
    out, best, sizes = os.path.join(work, "out.pftrace"), float("inf"), []
    for directory in (made, made, made, program):
        events, seconds, size = ask(bench, code, directory, out)
        sizes.append(size / events)
        if directory == made:
            best = min(best, seconds / events * 1e7)
        os.remove(out)
    shutil.rmtree(made)
    return [("raw to Perfetto, s for 10^7 events", f"{best:.2f}", "under 4", best < 4),
            ("Perfetto, bytes an event", f"{max(sizes):.1f}", "at most 16", max(sizes) <= 16)]


def start_up(bench, work, quick):
    script = os.path.join(work, "empty.py")
    open(script, "w").close()
    plain, under = [], []
    for n in range(8 if quick else 30):
        begin = time.perf_counter()
        subprocess.run([bench.python, script], check=True)
        middle = time.perf_counter()
        spartito(bench, "run", "-o", os.path.join(work, f"empty-{n}"), "--", bench.python, script)
        plain.append(middle - begin)
        under.append(time.perf_counter() - middle)
    more = (min(under) - min(plain)) * 1e3
    return [(f"start-up and end of an empty script, ms more than the {min(plain) * 1e3:.0f} of plain python",
             f"{more:.1f}", "at most 50", more <= 50)]


UNMEASURED = """
import json, spartito, timeit
def best(statement):
    names = {"r": spartito.region, "p": spartito.parameter, "c": spartito.counter, "m": spartito.marker,
             "plain": lambda a: a, "decorated": spartito.region("x")(lambda a: a)}
    return min(timeit.repeat(statement, globals=names, number=50000, repeat=20)) / 50000 * 1e9
empty = best("pass")
costs = [(best(s) - empty, s) for s in ("with r('x'): pass", "p('x', 1)", "c('x', 1.0)", "m('x')")]
costs.append((best("decorated(1)") - best("plain(1)"), "@r('x') on a function"))
print(json.dumps(max(costs)))
"""


def unmeasured(bench, work, quick):
    ns, statement = ask(bench, UNMEASURED)
    return [(f"the dearest call without a measured run, `{statement}`, ns", f"{ns:.0f}", "under 100", ns < 100)]


def file_io(bench, work, quick):
    include = ask(bench, "import json, sysconfig; print(json.dumps(sysconfig.get_path('include')))")
    command = [os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-I" + include, "-o",
               os.path.join(work, "io_times.so"), os.path.join(HERE, "hooks", "io.c"), "-ldl"]
    subprocess.run(command, check=True)
    place = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else work)
    code = (f"import json, sys; sys.path.insert(0, {work!r}); import io_times;"
            f"print(json.dumps(io_times.times({place!r} + '/file')))")
    more = {}
    for n in range(1 if quick else 3):
        out = measured(bench, os.path.join(work, f"io-{n}"), ["--io", "--trace"], bench.python, "-c", code).stdout
        for name, bare, wrapped in json.loads(out):
            more[name] = min(more.get(name, float("inf")), wrapped - bare)
    shutil.rmtree(place)
    name, ns = max(more.items(), key=lambda row: row[1])
    return [(f"time added to a wrapped call of file I/O with --io --trace, the dearest of {', '.join(more)} ({name}), ns",
             f"{ns:.0f}", "at most 150", ns <= 150)]


def native(bench, work, quick):
    """ns of a call of an empty compiled function: enter and leave together."""
    code = "import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).calls; f.restype = ctypes.c_double; print(f(ctypes.c_long(10000)))"
    libraries = {}
    for name, compiler in (("plain", ["cc"]), ("hooked", [bench.command, "compile", "cc"])):
        libraries[name] = os.path.join(work, f"native-{name}.so")
        source = os.path.join(HERE, "hooks", "native.c")
        subprocess.run([*compiler, "-O2", "-shared", "-fPIC", source, "-o", libraries[name]], check=True)
    ways = (("as it is", "plain", None), ("instrumented, nothing measured", "hooked", None),
            ("left out by --exclude", "hooked", ["--exclude", "function:leaf"]), ("profile", "hooked", []),
            ("profile and trace", "hooked", ["--trace"]))
    best = {}
    for _ in range(2 if quick else 5):
        for what, library, options in ways:
            before = [bench.command, "run", "-q", "-o", os.path.join(work, "native"), *(options or []), "--"]
            command = [*(before if options is not None else []), bench.python, "-c", code, libraries[library]]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            best[what] = min(best.get(what, float("inf")), float(out))
            shutil.rmtree(os.path.join(work, "native"), ignore_errors=True)
    text = ", ".join(f"{what} {ns:.1f}" for what, ns in best.items())
    return [("a call of a compiled function built with `spartito compile cc`, ns", text, "", None)]


EMPTY_CALLS = """
import ctypes, json, sys, time
bare = ctypes.CDLL(sys.argv[1]).bare
bare.restype = ctypes.c_double
def empty():
    pass
def calls(r=range(1000)):
    for _ in r:
        empty()
def each():
    begin = time.perf_counter()
    calls()
    return (time.perf_counter() - begin) / 1000 * 1e9
rounds = [(bare(1000), each()) for _ in range(300)]
print(json.dumps([min(r) for r in zip(*rounds)]))
"""


def metrics(bench, work, quick):
    """Time that the first metric adds to each of the two events of a call, relative to the system call in the same process."""
    script, library = os.path.join(work, "empty_calls.py"), os.path.join(work, "getrusage.so")
    with open(script, "w") as f:
        f.write(EMPTY_CALLS)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library,
                    os.path.join(HERE, "hooks", "getrusage.c")], check=True)
    rows = []
    for options, what in (([], "profile"), (["--trace"], "profile and trace")):
        best = {}
        for n in range(2 if quick else 5):
            for more in ((), ("--metric", "rusage:ru_utime")):
                directory = os.path.join(work, f"metrics-{len(options)}-{len(more)}-{n}")
                out = measured(bench, directory, [*options, *more], bench.python, script, library).stdout
                bare, call = json.loads(out)
                best[more] = min(best.get(more, float("inf")), call)
                best["bare"] = min(best.get("bare", float("inf")), bare)
                shutil.rmtree(directory)
        ratio = (best["--metric", "rusage:ru_utime"] - best[()]) / 2 / best["bare"]
        rows.append((f"rusage:ru_utime, {what}: added to an event, relative to a bare getrusage() of {best['bare']:.0f} ns",
                     f"{ratio:.2f}", "at most 1.3", ratio <= 1.3))
    return rows


CALLS = """
import sys, time
class Cell:
    def step(self):
        return 1
def walk(cell, r=range(20000)):
    step = cell.step
    for _ in r:
        step()
def best(rounds=25):
    least = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        walk(Cell())
        least = min(least, time.perf_counter() - begin)
    return least / 20000 * 1e9
"""


def drop_in(bench, work, quick):
    """`python -m scorep` with profile and trace, relative to cProfile; Score-P's bindings add twice as much as cProfile (3.11)."""
    script, off = os.path.join(work, "calls.py"), os.path.join(work, "calls_off.py")
    with open(script, "w") as f:
        f.write(CALLS + "print(best(), file=sys.stderr)\n")
    with open(off, "w") as f:
        f.write(CALLS + "import scorep.user\non = best()\nscorep.user.disable_recording()\nprint(best(), on, file=sys.stderr)\n")
    variables = {"SCOREP_ENABLE_TRACING": "true", "PYTHONPATH": os.path.join(ROOT, "dropin")}
    best = {}
    for n in range(2 if quick else 8):
        variables["SCOREP_EXPERIMENT_DIRECTORY"] = os.path.join(work, f"scorep-{n}")
        for tool, words in (("plain", [script]), ("cProfile", ["-m", "cProfile", script]), ("scorep", ["-m", "scorep", script]),
                            ("off", ["-m", "scorep", off])):
            p = subprocess.run([bench.python, *words], check=True, capture_output=True, text=True, env={**os.environ, **variables})
            for key, ns in zip((tool, "on"), map(float, p.stderr.splitlines()[0].split())):
                best[key] = min(best.get(key, float("inf")), ns)
            shutil.rmtree(variables["SCOREP_EXPERIMENT_DIRECTORY"], ignore_errors=True)
    ratio = (best["scorep"] - best["plain"]) / (best["cProfile"] - best["plain"])
    rest = (best["off"] - best["plain"]) / (best["on"] - best["plain"])
    return [("python -m scorep, profile and trace: time added to a method call, relative to cProfile", f"{ratio:.2f}",
             "at most 0.6", ratio <= 0.6),
            ("the same with recording off, relative to on", f"{rest:.2f}", "under 1", rest < 1)]


def cube(bench, work, quick):
    directory = os.path.join(work, "wide")
    subprocess.run([rawgen(), directory, "1000", "100000", "64", "0", "1", "same"], check=True)
    code = ("import sys, json, time, resource, spartito._analyse as a; b = time.perf_counter(); m = a.Model(sys.argv[1]);"
            "l = time.perf_counter(); m.convert('cube', sys.argv[2]); e = time.perf_counter();"
            "print(json.dumps([e - l, e - b, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))")
    runs = [ask(bench, code, directory, os.path.join(work, "wide.cubex")) for _ in range(1 if quick else 3)]
    written, whole, peak = (min(r) for r in zip(*runs))
    shutil.rmtree(directory)
    return [("cubex of 100,000 call paths in 64 locations, s to write" + f" ({whole:.1f} with loading)", f"{written:.1f}",
             "under 5", written < 5),
            ("cubex of 100,000 call paths in 64 locations, MiB", f"{peak:.0f}", "under 500", peak < 500)]


def memory(bench, work, quick):
    script = os.path.join(work, "paths.py")
    with open(script, "w") as f:
        f.write(PATHS)
    plain, under = [], []
    for n in range(2 if quick else 5):
        p = subprocess.run([bench.python, script], check=True, capture_output=True, text=True)
        plain.append(int(p.stdout))
        directory = os.path.join(work, f"paths-{n}")
        under.append(int(measured(bench, directory, [], bench.python, script).stdout))
    code = "import sys, json, spartito._analyse as a; print(json.dumps(a.Model(sys.argv[1]).info()['paths']))"
    paths = ask(bench, code, directory)
    more = (min(under) - min(plain)) / 1024
    return [(f"resident memory beyond the program's, 1,000 regions and {paths:,} call paths, MiB", f"{more:.1f}",
             "at most 24", more <= 24)]


def report(bench, work, quick):
    directory = os.path.join(work, "million")
    subprocess.run([rawgen(), directory, "1000", "1000000", "1", "0"], check=True)
    best, peak = float("inf"), 0
    for _ in range(1 if quick else 3):
        begin = time.perf_counter()
        p = subprocess.Popen([bench.command, "report", directory], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            sys.exit(f"spartito report {directory}: status {p.returncode}")
        best, peak = min(best, time.perf_counter() - begin), max(peak, usage.ru_maxrss)
    return [("spartito report on 1,000,000 call paths, s", f"{best:.2f}", "under 2", best < 2),
            ("spartito report on 1,000,000 call paths, MiB", f"{peak / 1024:.0f}", "under 500", peak / 1024 < 500)]


def merge(bench, work, quick):
    """Targets for 4,096 ranks, scaled to an eighth of them; `python bench/merging.py` measures all."""
    few, many = merging.measure(bench.python, work, (256, 512))
    growth = (many[2] / many[0]) / (few[2] / few[0])
    return [(f"spartito finalize of {many[0]} ranks of 10,000 call paths, s", f"{many[1]:.1f}", "at most 7.5", many[1] <= 7.5),
            (f"spartito finalize of {many[0]} ranks of 10,000 call paths, MiB of all its processes", f"{many[3]:.0f}",
             "at most 2,048", many[3] <= 2048),
            (f"the same, processor time for a rank relative to {few[0]} ranks", f"{growth:.2f}", "at most 1.3", growth <= 1.3)]


def collect(bench, work, quick):
    # a core dump of a failing peer must not fill the disk
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows = []
    for part in (event_sizes, otf2_rate, perfetto, start_up, unmeasured, drop_in, file_io, metrics, native, memory, report, cube,
                 merge, labels.collect, viewing.collect, pages.collect):
        print(f"{part.__name__.replace('_', ' ')} …", file=sys.stderr, flush=True)
        rows += part(bench, work, quick)
    return rows
