# SPDX-License-Identifier: BSD-3-Clause
"""The command line in one table: parsing, --help, the man page and the shell completions are all made from it.

Written by hand instead of argparse because `spartito run` is on the start-up path of every measured program: this
module imports nothing but what the table is made of.
"""

from __future__ import annotations

from spartito.optionkinds import Option, Usage, Verb, help_text, near, option_text, parse
from spartito.recordingverbs import ATTACH, COMPILERS, RUN, TO

__all__ = ["VERBS", "Option", "Usage", "Verb", "find_verb", "help_text", "near", "option_text", "overview", "parse"]

TABLES = ("trip_count", "wall_clock")
SORTS = ("excl", "incl", "visits", "mean", "max", "name")
DIFF_SORTS = ("change", "total", "relative", "excl", "incl", "visits", "name")
PLOTS = ("flame", "icicle", "sunburst", "balance", "timeline")
SHELLS = ("bash", "zsh", "fish")
THEMES = ("light", "dark", "grey")
# what is drawn or compared
PROCESS = Option("--process", "only process N of the list of `spartito info`", "N", kind="count")
RANK = Option("--rank", "only that rank of MPI", "N", kind="count")
LOCATION = Option("--location", "only thread N of the list of `spartito info`, the first is 0", "N", kind="count")
TITLE = Option("--title", "the title of the picture (default: the command and how long it ran; '' for none)", "TEXT")
THEME = Option("--theme", "light, dark or grey (default: light)", "THEME", choices=THEMES)
COMPARE = Option("--compare", "an earlier run: the views show what has changed since", "DIR", complete="dir")
COMPENSATE = Option("--compensate", "take the measured cost of measuring out of the times")


VERBS = (
    RUN,
    Verb(
        "report",
        "report [options] DIR",
        "show where the time went",
        "Prints the flat profile of an experiment, or one of the other views. Times are exclusive (own) and inclusive; "
        "calls 1+99: a generator or coroutine was called once and resumed 99 times. What was lost is said on the error output, "
        "and the exit status is 4 then, or where a file is damaged.",
        (
            Option("--tree", "the call tree, top down"),
            Option("--callers", "who calls the functions whose name holds NAME, or matches it as a pattern of the shell ('solver:*'), and whom they call", "NAME"),
            Option("--io", "file I/O: bytes, operations and time of each file and of each call path"),
            Option("--memory", "memory: the peak, what is left at the end, temporary blocks, by line and call path; the heap over time"),
            Option("--tasks", "tasks of asyncio and the like: running, waiting, and what for"),
            Option("--lines", "line by line, with the source: functions of which `run --lines` or `spartito-kernprof` recorded lines"),
            Option("--balance", "how evenly time is spread over the ranks (or processes, or threads); with --tree by call path"),
            Option("--messages", "messages of MPI: between which ranks, in which communicator, where they were sent"),
            Option("--waits", "what threads waited for, and who held it (run --waits); who waited for whom in MPI, how and where"),
            Option("--critical-path", "what the run's length consists of, and what making it faster would save"),
            Option("--table", "how often (trip_count) or how long (wall_clock), as timemory prints it", "METRIC", choices=TABLES),
            Option("--csv", "with --messages: the whole matrix, a line for each pair, communicator and call path"),
            Option("--plain", "with --lines: what `python -m line_profiler` prints"),
            Option("--threads", "a table for each thread; with --balance: compare threads"),
            Option("--processes", "a table for each process; with --balance: compare processes"),
            Option("--process", "only process N of the list of `spartito info`", "N", kind="count"),
            Option("--rank", "only that rank of MPI", "N", kind="count"),
            Option("--sort", "excl, incl, visits, mean, max or name", "KEY", choices=SORTS),
            Option("--limit", "rows to show (default 20, tree: all; 0: all)", "N", kind="count"),
            Option("--depth", "levels of the tree or table to show", "N", kind="count"),
            Option(
                "--threshold",
                "hide paths below so many percent of the time (tree: default 1)",
                "PERCENT",
                kind="number",
            ),
            Option("--match", "only functions whose name holds NAME, or matches it as a pattern of the shell ('solver:*'); those of a script by its module name, too", "NAME"),
            COMPENSATE,
            Option("--json", "print JSON"),
        ),
        (
            ("spartito report spartito-solver-20261121-101500", "the twenty costliest functions"),
            ("spartito report --tree --depth 5 DIR", "the call tree, five levels"),
            ("spartito report --callers 'solver:*' --limit 5 DIR", "around the functions of one module"),
            ("spartito report --io DIR", "which files were read and written, and who did it"),
            ("spartito report --memory DIR", "where memory goes, after `run --memory-profile`"),
            ("spartito report --tasks DIR", "what asynchronous tasks waited for"),
            ("spartito report --lines --limit 1 DIR", "the costliest function line by line, after `run --lines`"),
            ("spartito report --balance DIR", "which ranks had more to do than others, and where"),
            ("spartito report --rank 3 DIR", "one rank of MPI alone"),
            ("spartito report --waits DIR", "where threads, and ranks, wait for each other"),
            ("spartito report --table wall_clock DIR", "the table that Omnitrace writes"),
            ("spartito report --messages --csv DIR > messages.csv", "the communication matrix, for a spreadsheet"),
            ("spartito report --json --limit 0 DIR > profile.json", "everything, for a program"),
        ),
        operands="file",
    ),
    Verb(
        "view",
        "view [options] DIR",
        "show an experiment in the browser",
        "Starts a server on the loopback interface, prints the address of its page and opens it in a browser, where there is one. The "
        "address holds a random token, without which nobody can read anything: keep it to yourself. Over ssh it also prints the line "
        "that brings the page to your own machine. Ctrl-C ends it.",
        (
            COMPARE,
            COMPENSATE,
            Option("--no-source", "do not show the source of functions"),
            Option("--port", "the port to listen on (default: a free one)", "N", kind="count"),
            Option("--no-browser", "print the address and open nothing"),
            Option(
                "--host",
                "answer to requests for this name too, with any port or with this one: that of a proxy in front of it",
                "NAME[:PORT]",
                kind="list",
            ),
        ),
        (
            ("spartito view spartito-solver-20261121-101500", "look at a run"),
            ("spartito view --compare before after", "what has changed between two runs"),
            ("spartito view --no-browser --port 8700 DIR", "on another machine, with a port that is forwarded there"),
        ),
        operands="file",
    ),
    Verb(
        "html",
        "html [options] DIR",
        "write the page of an experiment as one file",
        "Writes what `spartito view` shows into one file (default: beside the experiment) that a browser opens from anywhere and that asks "
        "nothing of any server. It holds the text of the source files unless --no-source is given. What does not fit into --limit is left out: "
        "first the detail of the timeline, then call paths with little time, then sources; the page and the terminal say so. Files are replaced, "
        "directories never.",
        (
            Option("-o --output", "the file to write", "FILE", complete="file"),
            COMPARE,
            COMPENSATE,
            Option("--no-source", "leave the text of source files out"),
            Option("--limit", "the most that the file may take (default 20)", "MIB", kind="number"),
        ),
        (
            ("spartito html spartito-solver-20261121-101500", "a report to mail"),
            ("spartito html --no-source -o public.html DIR", "without the program's text"),
        ),
        operands="file",
    ),
    Verb(
        "convert",
        "convert DIR --to FORMAT [-o PATH]",
        "write an experiment for another tool",
        "Writes PATH (default: beside the experiment) complete or not at all. Files are replaced, directories never. The exit status is 4 "
        "where PATH is written, but parts of the experiment are damaged or were lost.",
        (
            TO,
            Option("-o --output", "the file or directory to write", "PATH", complete="file"),
            Option("--process", "only process N of the list of `spartito info`", "N", kind="count"),
            Option("--rank", "only that rank of MPI", "N", kind="count"),
            Option("--per-rank", "a directory with a file for each rank, cpu_0.prof …, or for each process where there is no MPI"),
            Option("--samples-as-calls", "for tools that read no samples: in OTF2 they are functions entered and left when first and last found"),
        ),
        (
            ("spartito convert DIR --to pstats -o run.prof", "for pstats, SnakeViz and gprof2dot"),
            ("spartito convert DIR --per-rank --to pstats,text -o profiles", "one profile and one table for each rank"),
            ("spartito convert DIR --to otf2", "for Vampir and otf2-print; needs a run with --trace"),
            ("spartito convert DIR --to perfetto -o run.pftrace.gz", "for https://ui.perfetto.dev, gzipped; needs a run with --trace"),
        ),
        operands="file",
    ),
    Verb(
        "graph",
        "graph DIR -o FILE.svg|.png|.pdf|.dot",
        "draw the call graph",
        "Draws the functions with the most time and the calls between them: inclusive and exclusive (in brackets) share of the "
        "time, and how often; the darker, the more time. The program's own modules have frames of their own. Places them by "
        "Graphviz; without it .svg is placed more simply, .dot (its language) is as always, and .png and .pdf are refused.",
        (
            Option("-o --output", "the file to write; its ending says what", "FILE", complete="file"),
            Option("--match", "only calls of functions whose name holds NAME, or matches it as a pattern of the shell ('solver:*'), and what is below them", "NAME"),
            PROCESS,
            RANK,
            LOCATION,
            Option("--nodes", "leave out functions below so many percent of the time (default 0.5)", "PERCENT", kind="number"),
            Option("--edges", "leave out calls below so many percent of the time (default 0.1)", "PERCENT", kind="number"),
            Option("--limit", "functions to draw at most, those with the most time (default 60; 0: all)", "N", kind="count"),
            THEME,
            TITLE,
        ),
        (
            ("spartito graph DIR -o calls.svg", "for a README"),
            ("spartito graph DIR -o calls.pdf --theme grey --match 'solver:*'", "for a paper: one module and what it calls"),
        ),
        operands="file",
    ),
    Verb(
        "plot",
        "plot DIR --kind KIND -o FILE.svg|.png",
        "draw a chart for a paper or a README",
        "Draws one of: flame and icicle (the call tree, callers below or above what they call), sunburst (the same on rings), balance (a bar "
        "for each rank, process or thread, with least, mean and most), timeline (a row for each thread; needs a run with --trace). Colours are "
        "those of the modules; what is too small for a part of its own is put together in one that says so; parts say more when pointed at.",
        (
            Option("--kind", "flame, icicle, sunburst, balance or timeline", "KIND", choices=PLOTS),
            Option("-o --output", "the .svg or .png file to write", "FILE", complete="file"),
            Option("--match", "only functions whose name holds NAME, or matches it as a pattern of the shell ('solver:*'); in a tree with what is below them", "NAME"),
            PROCESS,
            RANK,
            LOCATION,
            Option("--width", "width in pixels (default 1200)", "PX", kind="count"),
            Option("--height", "height in pixels (default: as much as it takes)", "PX", kind="count"),
            THEME,
            TITLE,
        ),
        (
            ("spartito plot DIR --kind icicle -o icicle.svg", "the call tree for a README"),
            ("spartito plot DIR --kind balance -o balance.svg --width 800 --title ''", "how evenly the ranks work, for a paper"),
        ),
        operands="file",
    ),
    Verb(
        "diff",
        "diff A B [C…] | diff A1 A2… --with B1 B2…",
        "say what changed between runs",
        "Compares B and further experiments with A, function by function or call path by call path: what got slower or faster, how much, "
        "what is new or gone. With --with both sides are repeated runs, and only what is larger than the noise between them is called a "
        "change. The exit status is 3 where --fail-above finds something, and 4 where it cannot tell, as an experiment lacks part of the time.",
        (
            Option("--with", "the other side: repeated runs of what is compared", "DIR…", kind="many", complete="dir"),
            Option("--by", "region (functions, the default) or path (call paths)", "region|path", choices=("region", "path")),
            Option("--sort", "change (of own time, the default), total, relative, excl, incl, visits or name", "KEY", choices=DIFF_SORTS),
            Option("--limit", "rows to show (default 20; 0: all)", "N", kind="count"),
            Option("--match", "only functions whose name holds NAME, or matches it as a pattern of the shell ('solver:*')", "NAME"),
            Option("--share", "judge what takes so many percent of the time or more (default 1)", "PERCENT", kind="number"),
            Option("--fail-above", "exit with status 3 if all, or a function that is judged, took so much more own time, such as 5%", "PERCENT"),
            COMPENSATE,
            Option("--json", "print JSON"),
        ),
        (
            ("spartito diff before after", "what got slower and faster"),
            ("spartito diff --by path --match 'solver:*' before after", "the same by call path, one module"),
            ("spartito diff a1 a2 a3 --with b1 b2 b3 --fail-above 5%", "in CI: three runs of each state, status 3 if something got slower"),
        ),
        operands="file",
    ),
    Verb(
        "compress",
        "compress DIR",
        "make an experiment smaller",
        "Compresses the trace in place and leaves out what was reserved but never used; every verb reads it as before. A file "
        "whose process still runs, or that is damaged, stays as it is.",
        (),
        (("spartito compress DIR", "before an experiment is kept or copied"),),
        operands="dir",
    ),
    Verb(
        "merge",
        "merge [--force] [--no-pyramid] [-q] DIR",
        "make an experiment of many processes open at once",
        "Writes what all processes hold together (functions, call paths, the values of each thread) into DIR/merged, which every verb "
        "uses from then on as long as it fits the raw files; the trace stays where it is. It reads one raw file after the other, "
        "so memory grows with the result and not with the number of processes. Under mpiexec the ranks share the work. Nothing depends on it: it may be removed, and made again.",
        (
            Option("--force", "make it anew, even if it is current"),
            Option("--no-pyramid", "leave out what a large trace is opened fast with; the viewer makes it then"),
            Option("-q --quiet", "say nothing unless it fails"),
        ),
        (
            ("spartito merge DIR", "before the many reports on a run of thousands of ranks"),
            ("mpiexec -n 64 spartito merge DIR", "with the ranks of a job"),
        ),
        operands="dir",
    ),
    Verb(
        "finalize",
        "finalize [options] DIR…",
        "do what `run --no-finalize` left for later",
        "Puts the names of compiled functions into the experiment, compresses it if that was asked for, merges what several processes "
        "recorded, makes what a large trace is opened fast with, writes the formats that were asked for (then, or now by --to) beside it, and "
        "shows the summary. What is there already stays. Under mpiexec the ranks share the merging of one experiment.",
        (
            TO,
            Option("--compress", "compress it first"),
            Option("-q --quiet", "say nothing unless it fails"),
        ),
        (
            ("spartito finalize spartito-solver-20261121-101500", "after `spartito run --no-finalize`"),
            ("spartito finalize --to otf2 run-*", "several experiments, with an archive of each"),
            ("mpiexec -n 64 spartito finalize DIR", "with the ranks of a job"),
        ),
        operands="dir",
    ),
    Verb(
        "pack",
        "pack [--force] DIR [-o FILE]",
        "make one compressed file of an experiment",
        "Writes FILE (default: DIR.spartito), complete or not at all, with what another machine needs to read it: names of compiled functions go "
        "into the experiment first. It is checked by digests, and zstd and tar read it as well. A file that is there already is left alone, and so is an experiment "
        "that a process still writes. "
        "Every verb that shows an experiment takes the file in the place of DIR.",
        (
            Option("-o --output", "the file to write", "FILE", complete="file"),
            Option("--force", "write over a file that is there"),
        ),
        (
            ("spartito pack spartito-solver-20261121-101500", "to keep it, or to take it elsewhere"),
            ("spartito report run1.spartito", "without unpacking it first"),
        ),
        operands="dir",
    ),
    Verb(
        "unpack",
        "unpack [--any-size] FILE [-o DIR]",
        "make an experiment of what `spartito pack` wrote",
        "Writes DIR (default: FILE without .spartito), complete or not at all, and never over something that is there. A file that was cut or "
        "altered is refused before anything is written, and so is one that would become more than 256 MiB and 2000 times its size: no experiment does.",
        (
            Option("-o --output", "the directory to write", "DIR", complete="dir"),
            Option("--any-size", "unpack it however large it becomes"),
        ),
        (("spartito unpack run1.spartito -o /scratch/run1", "on another machine"),),
        operands="file",
    ),
    Verb(
        "info",
        "info [--json] DIR",
        "say what an experiment holds",
        "Command, processes, threads, sizes, losses, damage.",
        (Option("--json", "print JSON"),),
        (("spartito info DIR", "what was measured, and how it ended"),),
        operands="file",
    ),
    *COMPILERS,
    ATTACH,
    Verb(
        "top",
        "top [options] PID",
        "show what a process that runs does now",
        "Looks at a Python process from outside, many times a second, and shows which functions its threads are found in: of the last five "
        "seconds, and so far. Nothing in the process is changed. In a terminal the table is drawn anew, with keys to sort it, to pause and to "
        "quit; elsewhere it is printed once.",
        (
            Option("--once", "print one table and end"),
            Option("--duration", "end after so many seconds (default with --once: 2)", "SECONDS", kind="number"),
            Option("--sample-rate", "looks a second (default 100)", "HZ"),
            Option("--sort", "own (the default) or total", "KEY", choices=("own", "total")),
            Option("--limit", "rows to show (default 20; 0: all)", "N", kind="count"),
            Option("--children", "with the Python processes that it has started and starts, together"),
            Option("--wall", "time of the wall clock, with threads that wait, and not that on a processor"),
        ),
        (
            ("spartito top 12345", "live, until q"),
            ("spartito top --once --duration 10 12345", "of ten seconds, as a table"),
        ),
        operands="pid",
    ),
    Verb(
        "doctor",
        "doctor [--formats] [PID]",
        "say what works on this machine, and how to get the rest; or where a process hangs",
        "Lists hooks, clock, metrics, formats and the optional libraries. With the number of a Python process: where each of its "
        "threads is, looked at from outside. Where it is measured with `spartito run --waits`, also what each of its threads waits for, since "
        "when, who holds it and where, and threads that wait for each other in a circle.",
        (Option("--formats", "print the names of the formats, one a line, and nothing else"),),
        (("spartito doctor", "check this machine"), ("spartito doctor PID", "see where a process hangs")),
        operands="pid",
    ),
    Verb(
        "config",
        "config [options of run]",
        "show each setting in force and where it comes from",
        "The order is: command line, SPARTITO_* variable, [tool.spartito] of the nearest pyproject.toml, default.",
        (),  # those of run, see below
        (
            ("spartito config", "what `spartito run` would do here"),
            ("SPARTITO_MEMORY=64M spartito config --trace", "with a variable and an option"),
        ),
    ),
    Verb(
        "kernel",
        "kernel install|remove [options]",
        "let Jupyter start a kernel that can be measured from its start on",
        "Installs a kernel for notebooks that is ipykernel with the magics of `%load_ext spartito` loaded, and prepared for --io. Nothing is "
        "measured until a cell asks for it. Without an option for the place it is for the virtual environment that spartito runs in, or "
        "for the user where there is none. In any other kernel of Python `%load_ext spartito` does the same but for --io.",
        (
            Option("--user", "for all notebooks of this user"),
            Option("--sys-prefix", "for this Python's environment"),
            Option("--prefix", "below DIR, as in DIR/share/jupyter/kernels", "DIR", complete="dir"),
            Option("--memory", "prepared for all of --memory-profile, too: malloc and mmap as well as Python's own allocators"),
            Option("--score-p", "the kernels that notebooks of the Score-P kernel ask for (docs/notebooks.md)"),
            Option("--name", "the kernel's name, and its directory's (default: spartito)", "NAME"),
            Option("--display-name", "what Jupyter calls it (default: Python 3 (Spartito))", "TEXT"),
        ),
        (
            ("spartito kernel install", "then choose the kernel in Jupyter"),
            ("spartito kernel remove", "take it away again"),
        ),
        operands="kernel",
    ),
    Verb(
        "completion",
        "completion bash|zsh|fish",
        "print the completion script of a shell",
        "Load it from the start-up file of the shell.",
        (),
        (
            ('eval "$(spartito completion bash)"', "in ~/.bashrc"),
            ("spartito completion zsh > ~/.zfunc/_spartito", "for zsh, with ~/.zfunc in $fpath"),
            ("spartito completion fish > ~/.config/fish/completions/spartito.fish", "for fish"),
        ),
        operands="shells",
    ),
)
PATTERNS = (
    "PATTERN is a shell pattern, or an extended regular expression after `re:`. It is compared with module:function if it "
    "holds a colon, otherwise with the module, the packages above it and the qualified name of the function. "
    "`module:`, `file:` and `function:` in front (as in file:*/tests/* or function:re:^_) compare with that part alone."
)
VERBS[0].details += " " + PATTERNS
for _verb in VERBS:
    if _verb.name == "config":
        _verb.options = VERBS[0].options
for _option in VERBS[0].options[:-1]:
    _option.switch = _option.kind == "flag"


def find_verb(name: str) -> Verb | None:
    for verb in VERBS:
        if verb.name == name:
            return verb
    return None


def overview() -> str:
    lines = ["usage: spartito VERB …", "", "Measures Python programs and shows where the time goes.", "", "verbs:"]
    lines += [f"  {verb.name:<11} {verb.summary}" for verb in VERBS]
    lines += [
        "",
        "options:",
        "  -h, --help  show this help and leave",
        "  --version   print the version and leave",
        "",
        "examples:",
    ]
    lines += ["  " + verb.examples[0][0] for verb in VERBS[:3]]
    lines += ["", "`spartito VERB --help` says more about each."]
    return "\n".join(lines)
