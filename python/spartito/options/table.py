# SPDX-License-Identifier: BSD-3-Clause
"""The command line as one table, from which the parser, --help, the man page, docs/commands.md and the shell completions are made.

It does not use argparse, which would delay the start of every measured program (docs/dependencies.md has the figures)."""

from __future__ import annotations

from spartito.options.kinds import Command, Option, Usage, group, help_text, near, option_text, parse
from spartito.options.recording import ATTACH, COMPILE, RUN, TO
from spartito.options.reports import REPORTS

__all__ = ["COMMANDS", "RUN", "Command", "Option", "Usage", "find_command", "help_text", "near", "option_text", "overview", "parse", "start"]

SORTS = ("running", "waiting", "self", "total", "calls", "mean", "max", "name", "excl", "incl", "visits")  # columns of the tables; the last three: keys of JSON
DIFF_SORTS = ("change", "total", "relative", "excl", "incl", "visits", "name")
PLOTS = ("flame", "icicle", "sunburst", "graph", "balance", "timeline")
SHELLS = ("bash", "zsh", "fish")
THEMES = ("light", "dark", "grey")

# options that several commands share
MATCH = "only functions whose name contains NAME or matches it as a shell pattern ('solver:*'; a script: its module name, too)"
NEWEST = " Without DIR it takes the newest experiment in the current directory."
PROCESS = Option("--process", "only process N of the list of `spartito info`", "N", kind="count")
RANK = Option("--rank", "only MPI rank N", "N", kind="count")
LOCATION = Option("--location", "only thread N of the list of `spartito info`; the first is 0", "N", kind="count")
COMPARE = Option("--compare", "an earlier run: the views show what changed since", "DIR", complete="dir")
COMPENSATE = Option("--compensate", "subtract the measured cost of measuring from the times")
JSON = Option("--json", "print JSON")
LIMIT = Option("--limit", "rows to show (default 20; 0: all)", "N", kind="count")


REPORT = Command(
    "report",
    "report [REPORT] [options] [DIR]",
    "show where the time went",
    "Prints a report of an experiment; without REPORT the flat profile. Times are exclusive (self) and inclusive (total). Calls 1+99: a generator "
    "or coroutine was called once and resumed 99 times. Losses are printed on standard error; then, or if a file is damaged, the exit status is 4."
    + NEWEST,
    (
        *group(
            "rows and order",
            Option("--limit", "rows to show (default 20, tree: all; 0: all)", "N", kind="count"),
            Option("--match", MATCH + "; in the tree also what they call, as 100 %", "NAME"),
            Option("--sort", "running, waiting, self, total, calls, mean, max or name; or the keys of JSON: excl, incl, visits", "KEY", choices=SORTS),
            Option("--depth", "levels of the tree or table to show", "N", kind="count"),
            Option("--threshold", "hide call paths below PERCENT of the running time (default 1)", "PERCENT", kind="number"),
            Option(
                "--own",
                "also count files below PATH as the program's own code, and !PATH as code of others, instead of what `run --own` named",
                "PATH",
                kind="list",
            ),
            Option("--by", "balance: region (functions, the default) or path (call paths)", "region|path", choices=("region", "path")),
        ),
        *group(
            "parts of the experiment",
            Option("--threads", "a table for each thread; balance: compare threads"),
            Option("--roles", "a table for each role, such as the workers of a pool: its threads together"),
            Option("--processes", "a table for each process; balance: compare processes"),
            PROCESS,
            RANK,
        ),
        *group(
            "output",
            COMPENSATE,
            JSON,
            Option("--csv", "messages: the whole matrix, a line for each pair, communicator and call path"),
            Option("--plain", "lines: the text that `python -m line_profiler` prints"),
        ),
    ),
    (
        ("spartito report", "the costliest functions of the newest run"),
        ("spartito report tree --depth 5 DIR", "the call tree, five levels"),
        ("spartito report tree --match test_checkout DIR", "the call tree below one function or region"),
        ("spartito report own DIR", "the program's own functions, with the time of the libraries that they call"),
        ("spartito report callers --match 'solver:*' --limit 5 DIR", "callers and callees of the functions of one module"),
        ("spartito report lines --limit 1 DIR", "the costliest function line by line, after `run --lines`"),
        ("spartito report memory DIR", "where memory goes, after `run --memory-profile`"),
        ("spartito report waits DIR", "where threads and ranks wait for each other"),
        ("spartito report balance --by path DIR", "which ranks had more to do, and where"),
        ("spartito report --rank 3 DIR", "one MPI rank alone"),
        ("spartito report messages --csv DIR > messages.csv", "the communication matrix, for a spreadsheet"),
        ("spartito report --json --limit 0 DIR > profile.json", "everything, for a program"),
    ),
    operands="file",
    topics=REPORTS,
)
VIEW = Command(
    "view",
    "view [options] [DIR|PID]",
    "show an experiment in the browser",
    "Starts a server on the loopback interface, prints the address of its page and opens it in a browser, if there is one. The address "
    "contains a random token, without which nobody can read anything: keep it private. Over ssh it also prints the command that forwards "
    "the page to your own machine. Ctrl-C ends it." + NEWEST,
    (
        COMPARE,
        COMPENSATE,
        Option("--live", "update the page while the run of DIR continues; of a process: sample it until Ctrl-C, as attach does"),
        Option("--no-source", "do not show source code"),
        Option("--port", "the port to listen on (default: a free one)", "N", kind="count"),
        Option("--no-browser", "print the address and open nothing"),
        Option("--host", "also answer requests for this host name, with any port or with this one: a proxy's", "NAME[:PORT]", kind="list"),
    ),
    (
        ("spartito view", "the newest run"),
        ("spartito view --compare before after", "what changed between two runs"),
        ("spartito view --live DIR", "a run that has not ended"),
        ("spartito view --live 12345", "a process that runs already"),
        ("spartito view --no-browser --port 8700 DIR", "on another machine, with a port that is forwarded there"),
    ),
    operands="file",
)
HTML = Command(
    "html",
    "html [options] [DIR]",
    "write the viewer's page of an experiment as one file",
    "Writes what `spartito view` shows into one file (default: next to the experiment). A browser opens it without any server. It contains "
    "the text of the source files unless --no-source is given. If it would exceed --max-size, it leaves out first the detail of the timeline, "
    "then call paths with little time, then sources; the page and the terminal say so. Existing files are replaced, directories never." + NEWEST,
    (
        Option("-o --output", "the file to write", "FILE", complete="file"),
        COMPARE,
        COMPENSATE,
        Option("--no-source", "leave out the text of source files"),
        Option("--max-size", "maximum size of the file in MiB (default 20)", "MIB", kind="number"),
    ),
    (
        ("spartito html spartito-solver-20261121-101500", "a report to mail"),
        ("spartito html --no-source -o public.html DIR", "without source code"),
    ),
    operands="file",
)
CONVERT = Command(
    "convert",
    "convert [DIR] --to FORMAT [-o PATH]",
    "write an experiment for another tool",
    "Writes PATH (default: next to the experiment), complete or not at all. Existing files are replaced, directories never. The exit status is 4 "
    "if PATH is written but parts of the experiment are damaged or were lost." + NEWEST,
    (
        TO,
        Option("-o --output", "the file or directory to write", "PATH", complete="file"),
        PROCESS,
        RANK,
        Option("--per-rank", "write a directory with a file for each rank, cpu_0.prof …, or for each process without MPI"),
        Option("--samples-as-calls", "OTF2: write samples as functions that are entered and left, for tools that read no samples"),
    ),
    (
        ("spartito convert DIR --to pstats -o run.prof", "for pstats, SnakeViz and gprof2dot"),
        ("spartito convert DIR --per-rank --to pstats,text -o profiles", "one profile and one table for each rank"),
        ("spartito convert DIR --to otf2", "for Vampir and otf2-print; needs a run with --trace"),
        ("spartito convert DIR --to perfetto -o run.pftrace.gz", "for https://ui.perfetto.dev, compressed; needs a run with --trace"),
    ),
    operands="file",
)
PLOT = Command(
    "plot",
    "plot [DIR] --kind KIND -o FILE",
    "draw a chart or the call graph for a paper or a README",
    "Draws flame and icicle (the call tree, callers below or above what they call), sunburst (the same on rings), graph (functions and the calls "
    "between them), balance (a bar for each rank, process or thread) or timeline (a row for each thread; needs a run with --trace). A chart is "
    "an .svg or a .png, a graph also a .pdf or the .dot of Graphviz, which places it; without Graphviz a graph is an .svg with a simpler layout, "
    "or a .dot. Colours are those of the modules. Parts that are too small to see are drawn as one, which says so." + NEWEST,
    (
        Option("--kind", "flame, icicle, sunburst, graph, balance or timeline", "KIND", choices=PLOTS),
        Option("-o --output", "the file to write: .svg, .png, and of a graph .pdf or .dot", "FILE", complete="file"),
        *group(
            "what to draw",
            Option("--match", MATCH + "; in a tree or graph also what they call", "NAME"),
            PROCESS,
            RANK,
            LOCATION,
        ),
        *group(
            "appearance",
            Option("--theme", "light, dark or grey (default: light)", "THEME", choices=THEMES),
            Option("--title", "the title (default: the command and its duration; '' for none)", "TEXT"),
            Option("--width", "width in pixels (default 1200); not for a graph", "PX", kind="count"),
            Option("--height", "height in pixels (default: what the chart needs); not for a graph", "PX", kind="count"),
        ),
        *group(
            "graph only",
            Option("--nodes", "leave out functions below PERCENT of the time (default 0.5)", "PERCENT", kind="number"),
            Option("--edges", "leave out calls below PERCENT of the time (default 0.1)", "PERCENT", kind="number"),
            Option("--limit", "functions to draw, those with the most time (default 60; 0: all)", "N", kind="count"),
        ),
    ),
    (
        ("spartito plot DIR --kind icicle -o icicle.svg", "the call tree for a README"),
        ("spartito plot DIR --kind graph -o calls.pdf --theme grey --match 'solver:*'", "for a paper: one module and what it calls"),
        ("spartito plot DIR --kind balance -o balance.svg --width 800 --title ''", "how evenly the ranks work"),
    ),
    operands="file",
)
DIFF = Command(
    "diff",
    "diff A B [C…] | diff A1 A2… --with B1 B2…",
    "compare runs",
    "Compares B and further experiments with A, by function or by call path: what became slower or faster, how much, what is new or gone. "
    "With --with both sides are repeated runs, and only what exceeds the noise between them counts as a change. The exit status is 3 if "
    "--fail-above finds something, and 4 if it cannot decide because an experiment lacks part of the time.",
    (
        Option("--with", "the other side: repeated runs", "DIR…", kind="many", complete="dir"),
        Option("--by", "region (functions, the default) or path (call paths)", "region|path", choices=("region", "path")),
        Option("--sort", "change (of exclusive time, the default), total, relative, excl, incl, visits or name", "KEY", choices=DIFF_SORTS),
        LIMIT,
        Option("--match", MATCH, "NAME"),
        Option("--share", "judge functions with at least PERCENT of the time (default 1)", "PERCENT", kind="number"),
        Option("--markdown", "print Markdown, for a pull request"),
        Option("--fail-above", "exit with status 3 if everything, or a judged function, takes PERCENT more exclusive time, such as 5%", "PERCENT"),
        COMPENSATE,
        JSON,
    ),
    (
        ("spartito diff before after", "what became slower and faster"),
        ("spartito diff --by path --match 'solver:*' before after", "the same by call path, one module"),
        ("spartito diff a1 a2 a3 --with b1 b2 b3 --fail-above 5%", "in CI: three runs of each state, status 3 if something became slower"),
    ),
    operands="file",
)
INFO = Command(
    "info",
    "info [--json] [DIR]",
    "show what an experiment contains",
    "Command, processes, threads, sizes, losses, damage." + NEWEST,
    (JSON,),
    (("spartito info DIR", "what was measured, and how it ended"),),
    operands="file",
)
TOP = Command(
    "top",
    "top [options] PID",
    "show live what a running process does",
    "Samples a Python process from outside and shows how long its functions and threads ran and waited in the last five seconds: "
    "functions by the state in which samples found the thread, threads by the system's own count. Nothing in the process is changed. "
    "In a terminal the table is updated, with keys to sort, pause and quit; elsewhere it is printed once.",
    (
        Option("--once", "print one table and exit"),
        Option("--duration", "end after SECONDS (default with --once: 2)", "SECONDS", kind="number"),
        Option("--sample-rate", "samples per second (1–1000, default 100)", "HZ"),
        Option("--sort", "self (the default) or total", "KEY", choices=("self", "total")),
        LIMIT,
        Option("--children", "include the Python processes that it starts"),
        Option("--waiting", "order functions by waiting time instead of running time"),
    ),
    (
        ("spartito top 12345", "live, until q"),
        ("spartito top --once --duration 10 12345", "ten seconds as one table"),
    ),
    operands="pid",
)
FINALIZE = Command(
    "finalize",
    "finalize [options] DIR…",
    "complete experiments: merge, compress, convert, show the summary",
    "Does what `run --no-finalize` left to do, and whatever else is missing: stores the names of compiled functions in the experiment, compresses "
    "it if asked to, merges the records of several processes, or millions of call paths of one, into DIR/merged so that every command opens it at once, makes the level-of-detail index "
    "of a large trace, writes the formats next to it and shows the summary. It does nothing twice. It reads one raw file after the other: memory "
    "grows with the result, not with the number of processes. Under mpiexec the ranks share the merging of one experiment. It takes no experiment "
    "by itself, because it changes what it is given.",
    (
        TO,
        Option("--compress", "compress the raw files; damaged files stay as they are"),
        Option("--force", "merge again, even if nothing has changed and for a single process, too"),
        Option("--no-index", "make no level-of-detail index; the viewer makes it when needed"),
        Option("-q --quiet", "print nothing unless it fails"),
    ),
    (
        ("spartito finalize spartito-solver-20261121-101500", "after `spartito run --no-finalize`"),
        ("spartito finalize --compress DIR", "before an experiment is kept or copied"),
        ("spartito finalize --to otf2 run-*", "several experiments, with an archive of each"),
        ("mpiexec -n 64 spartito finalize DIR", "with the ranks of a job"),
    ),
    operands="dir",
)
PACK = Command(
    "pack",
    "pack [--force] [DIR] [-o FILE]",
    "make one compressed file of an experiment",
    "Writes FILE (default: DIR.spartito), complete or not at all, with all that another machine needs to read it: names of compiled functions "
    "are stored in the experiment first. Checksums protect it; zstd and tar read it as well. An existing file is left alone. An experiment "
    "that a process still writes is refused. Every command that shows an experiment takes the file in place of DIR." + NEWEST,
    (
        Option("-o --output", "the file to write", "FILE", complete="file"),
        Option("--force", "replace an existing file"),
    ),
    (
        ("spartito pack spartito-solver-20261121-101500", "to keep it, or to take it elsewhere"),
        ("spartito report run1.spartito", "without unpacking it first"),
    ),
    operands="dir",
)
UNPACK = Command(
    "unpack",
    "unpack [--any-size] FILE [-o DIR]",
    "make an experiment directory of a packed file",
    "Writes DIR (default: FILE without .spartito), complete or not at all, and never over something that exists. A truncated or changed file "
    "is refused before anything is written, and so is one that would grow to more than 256 MiB and 2000 times its size: no experiment does.",
    (
        Option("-o --output", "the directory to write", "DIR", complete="dir"),
        Option("--any-size", "unpack it however large it becomes"),
    ),
    (("spartito unpack run1.spartito -o /scratch/run1", "on another machine"),),
    operands="file",
)
DOCTOR = Command(
    "doctor",
    "doctor [--formats] [PID]",
    "check this machine, or show where a process hangs",
    "Lists hooks, clock, metrics, formats and optional libraries, and how to get what is missing. With the PID of a Python process: where each "
    "of its threads is, sampled from outside. If the process is measured with `spartito run --waits`, also what each thread waits for, since "
    "when, the lock holder and where it is, and deadlock cycles.",
    (Option("--formats", "print only the names of the formats, one per line"),),
    (("spartito doctor", "check this machine"), ("spartito doctor PID", "see where a process hangs")),
    operands="pid",
)
CONFIG = Command(
    "config",
    "config [options of run]",
    "show each setting and where it comes from",
    "The order is: command line, SPARTITO_* variable, [tool.spartito] of the nearest pyproject.toml, default.",
    RUN.own_options,
    (
        ("spartito config", "what `spartito run` would do here"),
        ("SPARTITO_TRACE_MEMORY=64M spartito config --trace", "with a variable and an option"),
    ),
)
KERNEL = Command(
    "kernel",
    "kernel install|remove [options]",
    "install a Jupyter kernel that can be measured from its start",
    "Installs a notebook kernel: ipykernel with the magics of `%load_ext spartito` loaded, and prepared for --io. Nothing is measured until a "
    "cell asks for it. By default it is installed for the virtual environment of spartito, or for the user outside of one. In any other "
    "Python kernel `%load_ext spartito` does the same, without --io.",
    (
        Option("--user", "install it for all notebooks of this user"),
        Option("--sys-prefix", "install it for this Python's environment"),
        Option("--prefix", "install it below DIR: DIR/share/jupyter/kernels", "DIR", complete="dir"),
        Option("--memory-profile", "prepare it for all of --memory-profile, too: malloc and mmap as well as Python's own allocators"),
        Option("--score-p", "install the kernels that notebooks of the Score-P kernel ask for (docs/notebooks.md)"),
        Option("--name", "the kernel's name and directory (default: spartito)", "NAME"),
        Option("--display-name", "the name in Jupyter's menus (default: Python 3 (Spartito))", "TEXT"),
    ),
    (
        ("spartito kernel install", "then choose the kernel in Jupyter"),
        ("spartito kernel remove", "remove it"),
    ),
    operands="kernel",
)
COMPLETION = Command(
    "completion",
    "completion bash|zsh|fish",
    "print the completion script of a shell",
    "Load it from the shell's start-up file.",
    (),
    (
        ('eval "$(spartito completion bash)"', "in ~/.bashrc"),
        ("spartito completion zsh > ~/.zfunc/_spartito", "for zsh, with ~/.zfunc in $fpath"),
        ("spartito completion fish > ~/.config/fish/completions/spartito.fish", "for fish"),
    ),
    operands="shells",
)

# title and commands, in the order of the overview
OVERVIEW: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("measure", (RUN, ATTACH, TOP, COMPILE)),
    ("show results", (REPORT, VIEW, HTML, PLOT, DIFF, INFO)),
    ("pass results on", (CONVERT, FINALIZE, PACK, UNPACK)),
    ("set up", (DOCTOR, CONFIG, KERNEL, COMPLETION)),
)
COMMANDS: tuple[Command, ...] = tuple(command for _, commands in OVERVIEW for command in commands)


def find_command(name: str) -> Command | None:
    for command in COMMANDS:
        if command.name == name:
            return command
    return None


def overview() -> str:
    """The text of `spartito --help`."""
    lines = ["usage: spartito COMMAND … | spartito [options of run] script.py …", "", "Measures Python programs and shows where the time goes."]
    for title, commands in OVERVIEW:
        lines += ["", f"{title}:", *(f"  {command.name:<11} {command.summary}" for command in commands)]
    lines += ["", "options:", "  -h, --help  show this help and exit", "  --version   print the version and exit"]
    return "\n".join([*lines, "", "`spartito COMMAND --help` describes a command."])


def start() -> str:
    """The text that `spartito` without arguments prints."""
    return """\
Spartito measures Python programs and shows where the time goes.

  spartito script.py …       measure a program and print a summary
  spartito report            the costliest functions of the newest run
  spartito view              the newest run in the browser

More than a profile:

  spartito run --trace --to perfetto -- script.py …   every event, on a timeline
  spartito run --lines PATTERN -- script.py …         line by line
  spartito run --sample -- script.py …                samples instead of calls: nearly no overhead
  spartito run --memory-profile -- script.py …        allocations, peak and leaks
  spartito run --waits -- script.py …                 what threads wait for
  spartito attach PID                                 a process that already runs
  mpiexec -n 4 spartito run -- python solver.py       MPI, all ranks in one experiment

`spartito --help` lists all commands, `spartito doctor` checks this machine."""
