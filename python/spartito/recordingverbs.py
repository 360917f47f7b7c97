# SPDX-License-Identifier: BSD-3-Clause
"""The verbs by which something is recorded, of the table of the command line (options.py)."""

from __future__ import annotations

from spartito.optionkinds import Option, Verb

TO = Option("--to", "the formats to write; `spartito doctor` lists them", "FORMAT[,FORMAT…]", complete="formats")

RUN = Verb(
    "run",
    "run [options] [--] command line…",
    "measure a program",
    "Starts the command line as it is and measures every Python process in it, children and threads included. "
    "`script.py …`, `-m module …` and `-c code …` alone are run with the Python that runs spartito. Exit status and "
    "signals are those of the program. Every option can also be given as a variable SPARTITO_NAME or as a key of "
    "[tool.spartito] in pyproject.toml, --include and --exclude together as FILTER, a list of +PATTERN and -PATTERN; "
    "--no-trace and the like switch off what is on there. `spartito config` shows the values in force.",
    (
        Option(
            "-o --output",
            "the experiment directory, new or empty (default: spartito-SCRIPT-TIME[-JOB])",
            "DIR",
            complete="dir",
        ),
        Option("--trace", "record every event, not only the call-path profile"),
        Option("--compress", "compress the experiment at the end"),
        Option(
            "--no-finalize",
            "collect only: `spartito finalize` does the rest later, on another machine too (names of functions, --compress, --to, summary)",
        ),
        Option("-q --quiet", "no summary at the end"),
        Option(
            "--to",
            "convert at the end, beside the experiment; formats that need the trace turn it on",
            "FORMAT[,FORMAT…]",
            complete="formats",
        ),
        Option(
            "--hook",
            "where events come from (default: the best of this Python; `spartito doctor` lists them)",
            "HOOK",
        ),
        Option("--c-calls", "record functions written in C too"),
        Option("--memory", "memory for the trace of one process, such as 64M (default: 512M)", "SIZE", kind="size"),
        Option(
            "--when-full",
            "past the memory limit: write the trace to disk, or stop the trace; the profile goes on",
            "flush|stop",
            choices=("flush", "stop"),
        ),
        Option(
            "--include",
            "record what matches PATTERN (a script: by its module name, too); the last match wins; where the first of all is an --include, "
            "nothing else is recorded",
            "PATTERN",
            kind="append",
        ),
        Option("--exclude", "do not record what matches PATTERN; the last match wins", "PATTERN", kind="append"),
        Option(
            "--lines",
            "record line by line the functions that match PATTERN: a function, a class, a module (docs/lines.md)",
            "PATTERN",
            kind="list",
        ),
        Option("--lines-only", "record lines, and calls of no function, so that all other code runs at full speed (from Python 3.12 on)"),
        Option("--no-source", "do not keep the source of functions whose lines are recorded"),
        Option("--sample", "look at all threads 100 times a second from outside, instead of recording calls (docs/sampling.md)"),
        Option("--sample-rate", "look so many times a second, 1 to 1000 (default 100)", "HZ"),
        Option("--sample-native", "samples with the frames of compiled functions in them"),
        Option("--calls", "with --sample or --memory-sample: record calls as well; --no-calls: record no calls"),
        Option("--only-mine", "leave out the standard library, installed packages and generated code, with the C functions that they call"),
        Option("--tasks", "list so many asynchronous tasks of a process one by one, sum up the others (default 100000)", "N", kind="count"),
        Option("--depth", "record calls down to N frames (default 0: all)", "N", kind="count"),
        Option(
            "--label",
            "show in the name of each function with which args it was called, in which file (path: its whole name) and at which line it "
            "begins: any of args, file, path, line",
            "WORD[,…]",
            kind="list",
        ),
        Option("--annotate", "show with the calls in traces for Perfetto and Chrome's tools what Python says of the code: arguments, local variables, stack size"),
        Option("--label-limit", "labels by args in a process (default 10000); further calls are shown without them", "N", kind="count"),
        Option(
            "--label-repr",
            "call __repr__ for arguments of these types, which --label args shows by name else; Grid, or package.module.Grid",
            "TYPE[,…]",
            kind="list",
        ),
        Option("--gil", "record the time that threads wait for the global interpreter lock"),
        Option("--memory-profile", "record every allocation and release of memory, by call path and line (docs/memory.md)"),
        Option(
            "--memory-sample",
            "record one allocation in so many bytes, with its weight; functions are not recorded, call paths are found when needed",
            "BYTES",
        ),
        Option("--limit-rss", "mark when the resident size passes it, and where; stops nothing (with neither of the two above: samples)", "SIZE"),
        Option(
            "--temporary",
            "with --memory-profile or --memory-sample: call a block temporary if its thread allocates at most N others of about its size "
            "before it is released (1 to 64, default 1)",
            "N",
            kind="count",
        ),
        Option(
            "--waits",
            "record what threads wait for: locks, conditions, queues, other threads and processes, sleeps, select, file "
            "locks, the GIL, and those of compiled code; for how long, for which object, and who held it meanwhile",
        ),
        Option("--io", "record file I/O: the C library's functions on files, with the bytes that they move"),
        Option(
            "--mpi",
            "which functions of MPI are recorded: auto, off, or groups of them such as p2p,coll,io (as "
            "SCOREP_MPI_ENABLE_GROUPS has them; ~io leaves one out)",
            "GROUP[,…]",
        ),
        Option(
            "--metric",
            "count it beside the time, at each call and return: of rusage, perf or papi, such as rusage:ru_utime or "
            "perf:page-faults; rusage:all is all of them (`spartito doctor` lists what can be counted here)",
            "SOURCE:NAME[,…]",
            kind="list",
            dest="metrics",
        ),
    ),
    (
        ("spartito run -- python solver.py --steps 100", "measure a script"),
        ("spartito run --trace --to otf2 -- -m pytest -x tests", "trace a module and write OTF2"),
        ("spartito run --exclude 're:^numpy' --include solver:step -- solver.py", "choose what to record"),
        ("spartito run --lines Solver.step --lines grid -- solver.py", "also line by line: a method, and a whole module"),
        ("spartito run -o /scratch/run1 -- mpiexec -n 4 python solver.py", "measure all ranks into one directory"),
    ),
    operands="command",
    rest=True,
)
ATTACH = Verb(
    "attach",
    "attach [options] PID",
    "sample a process that runs already",
    "Looks at a Python process from outside, and at the children that it has and starts, as `run --sample` does, and writes an experiment "
    "like any other. It ends with the process, when the time is over or with Ctrl-C, and leaves the process as it was: nothing in it is "
    "changed. The options are those of run.",
    (
        Option("-o --output", "the experiment directory (default: spartito-NAME-DATE-TIME)", "DIR", complete="dir"),
        Option("--duration", "end after so many seconds", "SECONDS", kind="number"),
        Option("--sample-rate", "look so many times a second, 1 to 1000 (default 100)", "HZ"),
        Option("--native --sample-native", "with the frames of compiled functions"),
        Option("--trace", "record when each sample was taken, not only sums"),
        TO,
        Option("-q --quiet", "no summary"),
    ),
    (
        ("spartito attach 12345", "until it ends, or Ctrl-C"),
        ("spartito attach --duration 30 --native 12345", "half a minute, with compiled functions"),
    ),
    operands="pid",
)


def _compiler(name: str, language: str, variable: str, example: tuple[str, str]) -> Verb:
    return Verb(
        name,
        f"{name} [options] arguments of the compiler…",
        f"compile {language} so that its functions are measured",
        "Starts the compiler with -g -finstrument-functions, and links a small object that tells a measurement of each call. "
        "Without a measurement a call costs one or two nanoseconds more. Functions of system headers are left out. "
        f"The compiler is that of --compiler, SPARTITO_{variable} or {variable}; with SPARTITO_WRAPPER=off it is started as it is. "
        "The first argument that is not an option of ours begins the compiler's; the exit status is the compiler's.",
        (
            Option("--compiler", "the compiler to start", "PROGRAM"),
            Option("--nocompiler", "add nothing"),
            Option("--verbose", "print the command line that is started"),
            Option("--dry-run", "print it and do not start it"),
        ),
        (example,),
        operands="command",
        rest=True,
        foreign=True,
    )


COMPILERS = (
    _compiler("cc", "C", "CC", ('CC="spartito cc" pip install --no-binary :all: .', "build an extension module of C")),
    _compiler("c++", "C++", "CXX", ("spartito c++ -O2 -shared -fPIC grid.cpp -o grid.so", "build a library of C++")),
    _compiler("fc", "Fortran", "FC", ("spartito fc -O2 -c solver.f90", "compile Fortran")),
)
