# SPDX-License-Identifier: BSD-3-Clause
"""Figures of MPI programs: cost of a call, launch, finalization, bytes of the trace. Rows as in figures.py; an MPI that is not
installed has no rows."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = 16
SINGLE = ("barrier", "allreduce", "sendrecv")
CALLS = """
import ctypes, json, os, sys
from mpi4py import MPI
names, rounds = sys.argv[2].split(","), int(sys.argv[3])
library = ctypes.CDLL(sys.argv[1])
times = {}
for name in names:
    loop = getattr(library, name)
    loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_long]
    times[name] = loop(rounds)
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps(times), flush=True)
"""
# all processes of a machine have the same clock
LAUNCH = """
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(time.monotonic(), flush=True)
"""
# 85,000 events: an enter and a leave for each call
FINALIZE = """
import time
from mpi4py import MPI
def leaf(n):
    return n
def work(r=range(1000)):
    for n in r:
        leaf(n)
for _ in range(43):
    work()
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(time.monotonic(), flush=True)
"""
# Each wait lasts DELAY in one rank, or DELAY for each rank below the last one.
WAITS = """
import sys, time
import numpy as np
from mpi4py import MPI
comm, delay = MPI.COMM_WORLD, float(sys.argv[1])
rank, size = comm.rank, comm.size
x, y = np.ones(8), np.empty(8)
def late_sender():
    if rank == 0: time.sleep(delay); comm.Send(x, 1)
    elif rank == 1: comm.Recv(y, 0)
def late_receiver():
    if rank == 0: comm.Ssend(x, 1)
    elif rank == 1: time.sleep(delay); comm.Recv(y, 0)
def stairs(): time.sleep(delay * rank)
def barrier(): stairs(); comm.Barrier()
def nxn(): stairs(); comm.Allreduce(x, y)
def broadcast(): stairs(); comm.Bcast(x, root=size - 1)
for scene in (late_sender, late_receiver, barrier, nxn, broadcast):
    comm.Barrier()
    scene()
"""
DELAY = 0.2
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class Mpi:
    """One MPI library: how its programs are compiled and started."""

    def __init__(self, bench, work, name):
        self.bench, self.name, self.work = bench, name, tempfile.mkdtemp(dir=work)
        self.environment = {**os.environ, **ROOT_MAY, "MPI4PY_MPIABI": name}
        self.environment.pop("PYTHONUNBUFFERED", None)
        if name == "mpich":
            self.link_library()
        self.library = os.path.join(self.work, "loops.so")
        compiler = ["mpicc." + name, "-O2", "-shared", "-fPIC", os.path.join(HERE, "hooks", "mpi.c"), "-o", self.library]
        subprocess.run(compiler, check=True)

    def link_library(self):
        """mpi4py's wheel opens the library by the common name of the ABI; Debian's file has another name."""
        p = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"})
        path = next(line.split()[-1] for line in p.stdout.splitlines() if line.split()[:1] == ["libmpich.so.12"])
        os.symlink(path, os.path.join(self.work, "libmpi.so.12"))
        self.environment["LD_LIBRARY_PATH"] = self.work

    def start(self, ranks, code, *words, options=None, inside=False):
        """Runs a program: (its output, start time, end time, experiment directory). options: of `spartito run`, None: without it.
        inside: one `spartito run` in each rank, as `mpiexec … spartito run -- …`."""
        directory = os.path.join(self.work, "run")
        shutil.rmtree(directory, ignore_errors=True)
        measuring = [] if options is None else [self.bench.command, "run", "-q", *options, "-o", directory, "--"]
        launcher = ["mpiexec." + self.name, "-n", str(ranks)]
        front = [*launcher, *measuring] if inside else [*measuring, *launcher]
        begin = time.monotonic()
        p = subprocess.run([*front, self.bench.python, "-c", code, *map(str, words)], capture_output=True, text=True,
                           env=self.environment, timeout=300, cwd=self.work)
        if p.returncode:
            sys.exit(f"{self.name}: {p.stdout}{p.stderr}")
        return p.stdout, begin, time.monotonic(), directory


def found(bench, work):
    if not bench.has("mpi4py"):
        return []
    return [Mpi(bench, work, name) for name in ("openmpi", "mpich")
            if shutil.which("mpicc." + name) and shutil.which("mpiexec." + name)]


def calls(mpi, quick):
    """ns added to a call, in new processes that take turns."""
    best = {}
    for _ in range(2 if quick else 5):
        for options in (None, ["--trace"]):
            for ranks, names, rounds in ((1, ",".join((*SINGLE, "request")), 200), (2, "pingpong", 400)):
                out = mpi.start(ranks, CALLS, mpi.library, names, rounds, options=options)[0]
                for name, ns in json.loads(out).items():
                    key = name, options is not None
                    best[key] = min(best.get(key, float("inf")), ns)
    more = {name: best[name, True] - best[name, False] for name, measured in best if measured}
    name = max(SINGLE, key=lambda name: more[name])
    text = ", ".join(f"{name} {more[name]:.0f}" for name in SINGLE)
    of = f"the dearest of {', '.join(SINGLE)} within one rank, ns ({text})"
    return [(f"{mpi.name}: time added to a call with profile and trace, {of}", f"{more[name]:.0f}", "at most 120",
             more[name] <= 120),
            (f"{mpi.name}: the same for a request, start and completion, ns", f"{more['request']:.0f}", "at most 300",
             more["request"] <= 300),
            (f"{mpi.name}: ping-pong of 8 bytes between 2 ranks, one way, ns",
             f"{best['pingpong', False]:.0f} plain, {best['pingpong', True]:.0f} with profile and trace", "", None)]


def launch(mpi, quick):
    times = {}
    for _ in range(2 if quick else 5):
        for options, inside in ((None, False), (["--trace"], False), (["--trace"], True)):
            out, begin, _, _ = mpi.start(RANKS, LAUNCH, options=options, inside=inside)
            key = "plain" if options is None else "inside" if inside else "outside"
            times[key] = min(times.get(key, float("inf")), float(out) - begin)
    plain = times["plain"]
    return [(f"{mpi.name}: launch to first barrier, {RANKS} ranks, {form}, relative to the {plain:.2f} s of the plain run",
             f"{times[key] / plain:.2f}", "at most 1.3", times[key] / plain <= 1.3)
            for key, form in (("outside", "`spartito run -- mpiexec …`"), ("inside", "`mpiexec … spartito run -- …`"))]


def finalize(mpi, quick):
    best = {}
    for _ in range(2 if quick else 4):
        for options in (None, ["--trace"]):
            out, _, end, _ = mpi.start(RANKS, FINALIZE, options=options)
            key = options is not None
            best[key] = min(best.get(key, float("inf")), end - float(out))
    more = best[True] - best[False]
    return [(f"{mpi.name}: last barrier to the end of all, {RANKS} ranks with 85,000 Python events each, s more than the plain "
             f"{best[False]:.2f}", f"{more:.2f}", "at most 0.5", more <= 0.5)]


def sizes(mpi, quick):
    """Bytes of the records that are ENTER, MPI_SEND or MPI_RECV and LEAVE in OTF2, and of ENTER, COLLECTIVE_BEGIN, COLLECTIVE_END,
    LEAVE."""
    from figures import event_bytes

    rows = []
    kinds = (("point to point", "pingpong", 2, 4 * 3, 14.5), ("collectives", "allreduce", 1, 4, 11.8))
    for what, name, ranks, events, theirs in kinds:
        taken = []
        for rounds in (10, 210):
            directory = mpi.start(ranks, CALLS, mpi.library, name, rounds, options=["--trace"])[3]
            taken.append(event_bytes(directory))
        each = (taken[1] - taken[0]) / (200 * 500 * events)
        text = f"{mpi.name}: trace of MPI, {what}, bytes an event"
        rows.append((text, f"{each:.1f}, not compressed", f"(Score-P {theirs})", None))
    return rows


def waits(mpi, quick):
    """Differences between reported and programmed waits, for each kind that of the best run."""
    ranks = 4
    kinds = {"late_sender": ("mpi_latesender", 1), "late_receiver": ("mpi_latereceiver", 1), "barrier": ("mpi_barrier_wait", 6),
             "nxn": ("mpi_wait_nxn", 6), "broadcast": ("mpi_latebroadcast", 6)}
    best = {}
    for _ in range(2 if quick else 5):
        directory = mpi.start(ranks, WAITS, DELAY, options=["--trace"])[3]
        report = [mpi.bench.command, "report", "waits", "--json", directory]
        found = json.loads(subprocess.run(report, check=True, capture_output=True, text=True).stdout)
        metrics = {m["name"]: m["kinds"] for m in found["metrics"]}
        for scene, (metric, delays) in kinds.items():
            time_of = sum(row["time"] for row in found["rows"] if row["kind"] in metrics[metric]
                          and "__main__:" + scene in found["stacks"][str(row["path"])])
            off = 100 * abs(time_of / (delays * DELAY) - 1)
            best[scene] = min(best.get(scene, float("inf")), off)
    name = max(best, key=best.get)
    text = ", ".join(f"{scene} {off:.2f}" for scene, off in best.items())
    return [(f"{mpi.name}: waits found, from those programmed, {ranks} ranks, % ({text})", f"{best[name]:.2f}", "at most 5",
             best[name] <= 5)]


def collect(bench, work, quick):
    rows = []
    for mpi in found(bench, work):
        for part in (calls, launch, finalize, sizes, waits):
            print(f"{mpi.name}: {part.__name__} …", file=sys.stderr, flush=True)
            rows += part(mpi, quick)
    return rows
