# SPDX-License-Identifier: BSD-3-Clause
"""The commands run, attach and compile, and their options."""

from __future__ import annotations

from spartito.options.kinds import Command, Option, group

TO = Option("--to", "formats to write; `spartito doctor` lists them", "FORMAT[,FORMAT…]", complete="formats")
PATTERNS = (
    "PATTERN is a shell pattern, or an extended regular expression after `re:`. A pattern with a colon is compared with module:function, "
    "any other with the module, its parent packages and the function's qualified name. The prefixes `module:`, `file:` and `function:` "
    "(as in file:*/tests/* or function:re:^_) restrict the comparison to that part."
)

RUN = Command(
    "run",
    "run [options] [--] command line…",
    "measure a program",
    "Starts the command line unchanged and measures every Python process in it, with all threads and child processes. "
    "`script.py …`, `-m module …` and `-c code …` run with the Python of spartito itself, and `run` may be left out: `spartito script.py`. "
    "Exit status and signals are those of the program. Every option can also be given as a variable SPARTITO_NAME or as a key of "
    "[tool.spartito] in pyproject.toml; there FILTER, a list of +PATTERN and -PATTERN, replaces --include and --exclude. "
    "--no-trace and the like turn an option off. `spartito config` shows the values in effect.",
    (
        *group(
            "what to record",
            Option("--trace", "record every event with its time, not only the call-path profile", common=True),
            Option("--c-calls", "record functions written in C, too", common=True),
            Option("--lines", "record the functions that match PATTERN line by line: a function, a class, a module", "PATTERN", kind="list", common=True),
            Option("--lines-only", "record lines and no calls; all other code runs at full speed (Python 3.12 and newer)"),
            Option("--no-source", "do not store the source of functions recorded line by line"),
            Option("--waits", "record what threads wait for (locks, queues, other threads, sleeps, select, the GIL), for how long, and which thread held the lock", common=True),
            Option("--io", "record file I/O: the C library's file functions, with the bytes they transfer"),
            Option("--gil", "record how long threads wait for the global interpreter lock"),
            Option(
                "--metric",
                "record a metric at each call and return: rusage, perf or papi, such as rusage:ru_utime or perf:page-faults; "
                "rusage:all records all of rusage (`spartito doctor` lists the metrics of this machine)",
                "SOURCE:NAME[,…]",
                kind="list",
                dest="metrics",
            ),
        ),
        *group(
            "sampling",
            Option("--sample", "sample all threads from outside instead of recording calls: nearly no overhead", common=True),
            Option("--sample-rate", "samples per second (1–1000, default 100)", "HZ"),
            Option("--sample-native", "include the frames of compiled functions in the samples"),
            Option("--calls", "record calls in addition to samples (--sample, --memory-sample)"),
        ),
        *group(
            "memory",
            Option("--memory-profile", "record every allocation and release, by call path and line", common=True),
            Option("--memory-sample", "record about one allocation in BYTES allocated bytes, with its weight, and no calls", "BYTES"),
            Option("--limit-rss", "mark when the resident size exceeds SIZE, and where; the program continues", "SIZE"),
            Option(
                "--temporary",
                "a block is temporary if its thread allocates at most N others of about its size before releasing it (1–64, default 1)",
                "N",
                kind="count",
            ),
        ),
        *group(
            "filters",
            Option(
                "--include",
                "record what matches PATTERN (for a script also by its module name); the last match wins; if the first option is an "
                "--include, nothing else is recorded",
                "PATTERN",
                kind="append",
            ),
            Option("--exclude", "do not record what matches PATTERN; the last match wins", "PATTERN", kind="append"),
            Option("--only-mine", "record only the program's own code and the C functions that it calls", common=True),
            Option(
                "--own",
                "also count files below PATH as the program's own code, which is below the working directory and the script's, without "
                "environments, and !PATH as code of others; for --only-mine and reports",
                "PATH",
                kind="list",
            ),
            Option("--depth", "record calls down to N frames (default 0: all)", "N", kind="count"),
        ),
        *group(
            "labels",
            Option(
                "--label",
                "add to each function's name: args (its arguments), file, path (the file's full path), line; any of these",
                "WORD[,…]",
                kind="list",
            ),
            Option("--label-limit", "labels with arguments per process (default 10000); later calls get no label", "N", kind="count"),
            Option("--label-repr", "types whose arguments --label args shows by their __repr__: Grid, or package.module.Grid", "TYPE[,…]", kind="list"),
            Option("--annotate", "add facts about the code object to the trace's calls: arguments, local variables, stack size (Perfetto, Chrome)"),
        ),
        *group(
            "output",
            Option("-o --output", "the experiment directory, new or empty (default: spartito-SCRIPT-TIME[-JOB])", "DIR", complete="dir", common=True),
            Option(
                "--to",
                "formats to write at the end, next to the experiment; formats that need the trace turn it on",
                "FORMAT[,FORMAT…]",
                complete="formats",
                common=True,
            ),
            Option("-q --quiet", "print no summary", common=True),
            Option("--compress", "compress the experiment at the end"),
            Option("--no-finalize", "record only: leave names of compiled functions, --compress, --to and the summary to `spartito finalize`"),
        ),
        *group(
            "limits",
            Option("--trace-memory", "memory for the trace of one process (default 512M)", "SIZE", kind="size"),
            Option(
                "--when-full",
                "when that memory is full: flush (write the trace to disk, the default) or stop (end the trace; the profile continues)",
                "flush|stop",
                choices=("flush", "stop"),
            ),
            Option("--task-limit", "asynchronous tasks listed one by one per process (default 100000); others are summed", "N", kind="count"),
        ),
        *group(
            "MPI",
            Option("--mpi", "MPI functions to record: auto, off, or groups as of SCOREP_MPI_ENABLE_GROUPS, such as p2p,coll,~io", "GROUP[,…]"),
        ),
        *group(
            "mechanism",
            Option("--hook", "where events come from (default: the best for this Python; `spartito doctor` lists them)", "HOOK"),
        ),
    ),
    (
        ("spartito solver.py --steps 100", "measure a script"),
        ("spartito run --trace --to otf2 -- -m pytest -x tests", "trace a module and write OTF2"),
        ("spartito run --exclude 're:^numpy' --include solver:step -- solver.py", "choose what to record"),
        ("spartito run --lines Solver.step --lines grid -- solver.py", "line by line: a method, and a whole module"),
        ("spartito run -o /scratch/run1 -- mpiexec -n 4 python solver.py", "measure all ranks into one directory"),
    ),
    operands="program",
    rest=True,
)
RUN.details += " " + PATTERNS
for _option in RUN.own_options:
    _option.switch = _option.kind == "flag"

ATTACH = Command(
    "attach",
    "attach [options] PID",
    "sample a running process",
    "Samples a Python process and its children from outside, as `run --sample` does, and writes an ordinary experiment. It ends with the "
    "process, after --duration or with Ctrl-C. It changes nothing in the process. The options are those of run.",
    (
        Option("-o --output", "the experiment directory (default: spartito-NAME-DATE-TIME)", "DIR", complete="dir"),
        Option("--duration", "end after SECONDS", "SECONDS", kind="number"),
        Option("--sample-rate", "samples per second (1–1000, default 100)", "HZ"),
        Option("--native --sample-native", "include the frames of compiled functions"),
        Option("--trace", "record the time of each sample, not only sums"),
        TO,
        Option("-q --quiet", "print no summary"),
    ),
    (
        ("spartito attach 12345", "until the process ends, or Ctrl-C"),
        ("spartito attach --duration 30 --native 12345", "half a minute, with compiled functions"),
    ),
    operands="pid",
)

LANGUAGES = {"cc": "C", "c++": "C++", "fc": "Fortran"}
COMPILE = Command(
    "compile",
    "compile [options] cc|c++|fc arguments of the compiler…",
    "compile C, C++ or Fortran so that its functions are measured",
    "Starts the compiler with -g -finstrument-functions and links a small object that reports each call to the measurement. Without a "
    "measurement a call costs one or two nanoseconds more. Functions of system headers are left out. The compiler is that of --compiler, "
    "SPARTITO_CC or CC (C++: CXX, Fortran: FC); SPARTITO_WRAPPER=off starts it without changes. The first argument that is not an option "
    "of ours begins the compiler's; the exit status is the compiler's.",
    (
        Option("--compiler", "the compiler to start", "PROGRAM"),
        Option("--nocompiler", "add nothing to its arguments"),
        Option("--verbose", "print the command line"),
        Option("--dry-run", "print the command line and do not start it"),
    ),
    (
        ('CC="spartito compile cc" pip install --no-binary :all: .', "build a C extension module"),
        ("spartito compile c++ -O2 -shared -fPIC grid.cpp -o grid.so", "build a C++ library"),
        ("spartito compile fc -O2 -c solver.f90", "compile Fortran"),
    ),
    operands="compiler",
    rest=True,
    foreign=True,
)
