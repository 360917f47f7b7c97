"""The analysing half: reads experiments, needs nothing of the measuring half."""

from collections.abc import Callable, Sequence
from typing import Any

class Error(Exception):
    """Damaged, missing or newer input, or an output that could not be written: one line."""

def writers() -> list[tuple[str, str, str, str, bool, bool, bool]]:
    """(name, what, suffix, opens, needs_trace, directory, merges) of each format; merges: a file does not keep processes apart, or
    is of use for a single one too."""

def compare(
    models: Sequence[Model],
    runs: Sequence[int],
    *,
    by: str = "region",
    sort: str = "change",
    limit: int = 0,
    match: str = "",
    share: float = 0.01,
) -> dict[str, Any]:
    """What differs between groups of experiments (src/model/compare/compare.h says what is the same function or call path,
    src/model/compare/table.h which test is made). runs: of each group, how many of the models; the first group is what the others are
    compared with. by 'region' or 'path'; sort 'change' (of exclusive time, whichever way), 'total' (of inclusive time), 'relative', 'excl',
    'incl', 'visits', 'name'; limit 0: all; share: entries with less of the time in both groups are not judged. dict(rows, count (of
    rows without limit), all (as a row, of all time), files, modules [dict(group, before, after, functions)]: those with another name). A
    row: name, module, qualname, file, line, kind, by path also stack [names of regions, outermost first] and parameters; sides: for each group
    dict(runs, visits, visits_std, excl, excl_std, incl, incl_std) (means over its runs; s; 0 where it never was; sample standard deviations);
    changes: for each group but the first dict(excl, incl (s more than the first group), p (Welch's t-test of the exclusive times), p_corrected (by Holm's
    method; both None: a group has one run, or it is not judged), margin (s: within so much of excl the true change is with 95 %; None as
    they are), judged (it takes the share)). ValueError: an argument that cannot be."""

def name_matches(match: str, name: str, module: str, file: str, /) -> bool:
    """Whether --match asks for a function: it is a part of its name, or a pattern of the shell; of a script, by its module's name, too."""

def compress(directory: str, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
    """Makes the raw files of an experiment smaller without a change of what is read from them; bytes of them before and after. Error,
    when all other files are done: a process still runs, a file is damaged or cannot be written; those stay as they are."""

def merge(
    directory: str,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 0,
    mpi: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Writes what all raw files hold together into the file `merged`, from which a Model is then loaded at once; with so many processes
    (0: as many as pay). `current`: it was there already, and nothing was done; otherwise processes, locations, paths, and the bytes of the
    file and of the raw files. mpi: by all ranks of a program of MPI, which this begins and ends; the path of the library of wrappers, and names of
    the MPI's library, of which one is loaded; what is returned is true in rank 0. Error: MPI cannot be begun, a process still runs, nothing can be read, or the file cannot be written."""

def keep_symbols(directory: str) -> dict[str, int]:
    """Puts into the file `symbols` of an experiment what its compiled functions are called, with file and line, as far as it does not
    hold that yet: functions (all of them), added, unknown (whose object file is gone, or another build). Error: no such experiment, or it
    cannot be written."""

def still_written(directory: str) -> list[str]:
    """Names of the raw files whose processes, of this machine, still write them. Of other machines nobody knows."""

def seal(path: str) -> bool:
    """Gives a raw file whose process has ended the checksums that it left out, as it was killed or became another program. False: it had
    them, is damaged, may still be written, or cannot be."""

class Compressor:
    """A stream of zstd, in pieces. Not there where Spartito was built without zstd."""

    def add(self, data: bytes, /) -> bytes:
        """What comes out for these bytes, which may be nothing yet."""

    def end(self) -> bytes:
        """The rest."""

class Decompressor:
    """A stream of zstd read in pieces. Error: it is damaged."""

    ended: bool  # what was fed ends here
    def feed(self, data: bytes, /) -> None:
        """The next bytes. ValueError: those before are not used up."""

    def take(self, most: int, /) -> bytes:
        """At most so many bytes. Less, or nothing: what was fed is used up."""

class Model:
    """A loaded experiment. Times are seconds. sort: 'incl', 'excl', 'visits', 'mean', 'max', 'name'."""

    def __init__(self, directory: str, *, compensate: bool = False) -> None: ...
    def info(self) -> dict[str, Any]:
        """dir, begin, end (epoch seconds), traced, regions (functions with a call path or lines), paths, events, bytes, problems [str],
        processes [dict(file, host, command, pid, ppid, parent, rank, world, end 'normal'|'stopped'|'abrupt'|'exited'|'exec'|'running',
        status, signal, ended_by, continues, forked, traced, sampled (looked at from outside), counted (its calls were recorded), begin, stop, cost_in, cost_out, lost {..}, lost_reason, lost_children_reason, meta {..})],
        locations [dict(process, name, tid, creator, begin, end, lost {..}, visits, resumed, busy, mpi, open)],
        metrics [dict(name, unit, exponent, what, source 'rusage'|'papi'|'perf'|'bytes'|'wait'|'sample', exclusive, level, total)]: quantities counted beside the time, in 10**exponent unit.
        counters [names of what the program counted itself]. worlds [sizes of the MPI_COMM_WORLDs]; rank is in the one that world names, both None for processes that did not begin MPI.
        children [dict(parent, process, pid, command, begin, end, status, signal, forked, exec)]: processes that measured ones started, or
        became (exec); process: its index if it is measured. status and signal as the parent learned of them. ended_by: the process of
        the program that sent the signal. continues: the process that became this one by exec.
        begin and end of these are seconds since the experiment's begin; parent and creator are indices or None. busy: time in
        regions, mpi: the part of it in functions of MPI themselves; open: the innermost call that was never left, "f" or
        "f, called by g", or "". Damage of a trace is found, and added to problems, when the trace is read."""

    def flat(
        self, *, sort: str = "excl", limit: int = 0, match: str = "", location: int = -1, process: int = -1, imports: bool = True
    ) -> list[dict[str, Any]]:
        """One row for each region: name, module, qualname, file, line, kind, visits, resumed, incl, excl, mean, min, max, std.
        incl counts recursive calls once. limit 0: all. With metrics: metrics {name: {'incl', 'excl'}}, with and without what callees
        counted. kind is 'python', 'c', 'user', 'native', 'io', 'mpi', 'off', 'collapsed' or 'root'. imports False: visits, incl and
        excl leave out what ran within import statements, except in modules of the program itself."""

    def imports(self, *, location: int = -1, process: int = -1) -> list[dict[str, Any]]:
        """The modules that were imported: module, file, own (of the program, not of a library), importer (index of the module that
        imports it; 0: the program), visits (once in each process), incl (s; with the modules that it imports), excl (s; its own
        statements), loading (s; to find and load the modules that it imports, and compiled modules). The first row is the program,
        and its incl the time of all imports. An importer has a smaller index than the modules that it imports."""

    def tree(self, *, sort: str = "incl", depth: int = 0, threshold: float = 0.0, limit: int = 0, location: int = -1, process: int = -1) -> list[dict[str, Any]]:
        """Rows in the order of printing, each with depth, path, parent beside the columns of flat(); paths below threshold (share of
        the total) are left out, and their number and time are given in the parent's row as hidden, hidden_time. The root (kind
        'root', parent None) has a row, the first, only if some of its children are left out. A path of calls with values of parameters
        has them as parameters [dict(name, type 'int'|'uint'|'string', value str)], in the order in which they were set."""

    def callers(self, match: str, *, limit: int = 0) -> list[dict[str, Any]]:
        """For each region whose name matches (substring or shell pattern): dict(region=row, callers=[row…], callees=[row…]),
        where the rows' numbers belong to the calls between the two."""

    def io(self) -> list[dict[str, Any]]:
        """For each file in the trace: path ('': not known), opens, reads, writes, flushes, seeks, failed (of these but the opens),
        bytes_read, bytes_written, read_time, write_time, flush_time (s, from the begin of an operation to its end)."""

    def memory(self) -> dict[str, Any]:
        """What `run --memory-profile` and `--memory-sample` recorded; bytes are those asked for, times s since the experiment's begin.
        dict(processes, sites, stacks {path: [names]}). A process: process (index), count and allocated (blocks, bytes, all that was recorded),
        freed, freed_bytes, blocks and bytes (still there at its end), peak_bytes, peak_blocks, peak_time, unknown (blocks released that were there
        before, or were not recorded), lost, lost_bytes (allocated, not recorded: no call path, or no room), unnamed (frames that took their
        caller's place), sample (mean bytes between two that were recorded, 0: all), own (bytes that recording took), cost (s that it took, about; 0: not known), begin, ended (the program's
        end, when `left` is told; None: unseen, left is of the process's end), resident (last), resident_peak, resident_peak_time, limit (None, or dict(bytes, passed
        (first time, None: never), passes, over (s above), function, file, line, path)), series [(time, bytes, blocks, resident)]. A site is what one line of a
        call path allocated with one allocator: path, location, process, function, file, line (of the innermost recorded Python function; None, None, 0: not known), own_function,
        own_file, own_line (of the program's function that called it, where it is a library's; None, None, 0: it is not, or not known),
        allocator ('malloc', 'mmap', 'python raw', 'python mem', 'python object'), count, bytes, freed, freed_bytes, elsewhere (freed by another
        thread), temporary, temporary_bytes (released before the thread allocated more than N others of that size class), peak, peak_bytes (there at the process's peak), high (most
        bytes of this site), grown (slices of 20 ms in which high grew), first, last (when high grew first and last), left, left_bytes, kept
        ('nothing', 'cache': left, but soon complete, 'growing': it became more until the end). Of a merged experiment this is read from the raw files. Error: these are gone."""

    def tasks(self, *, limit: int = 0) -> dict[str, Any]:
        """Tasks of asyncio and the like: dict(count, unlisted (of these in sums alone), never (created, but not begun; not in count),
        coroutines, handed, groups, tasks). limit: of groups and tasks each, 0: all; times in s. handed: work given to the threads of
        pools: given, taken (begun), waited (from one to the other, all together), longest. A group is of one outermost coroutine, those with
        the most time first: name (None: not known), tasks, unlisted, states {'waiting', 'running', 'returned', 'raised', 'cancelled',
        'dropped': number}, steps, running, waiting, longest (waited by one of them), waits. A task, longest waiting first: id, name,
        process, number (in it), region (name), location (that ran it last), creator (id), by (location that created it), state,
        seen_created (else created is its begin), created, begin, end (s since the begin of the experiment), running, waiting,
        steps, waits (the longest kinds). A wait: where (innermost coroutine), what (type awaited), both or None, count, time."""

    def lines(self, *, process: int = -1, location: int = -1) -> list[dict[str, Any]]:
        """What was done in each line of functions whose lines were recorded (setting lines), summed over all locations, or those of one
        process, or one location (indices; -1: all). One dict for each function, in the order of file and first line: name
        ('module:function'), module, function (qualified name), file, line (the first one), excl, callees (s, of all its lines), lines
        [(line, hits, excl, callees)] in the order of lines, those that ran only. excl: s in the line itself, callees: s in what it called;
        line_profiler's time is their sum. Inner calls of a function that calls itself are in their own lines only. Empty: none were
        recorded. ValueError: no such process or location."""

    def locks(self) -> dict[str, Any]:
        """What threads waited for, where that was recorded (setting waits): dict(locks, waits, deadlocks, awaits); times in s, points in time since
        the begin of the experiment, locations, processes and locks as indices. A lock, condition, queue, … that was waited for: process,
        number (in it), kind (a word of sp_lock_kind_names), type (name, or path of a file; None), address (0: none), user (the lock that
        it is a part of, None), made_file, made_line (None, 0: not known), made_by (location or None), freed, holder (location at the end,
        None), gone (held by a thread that a fork left behind), holder_stack (names of functions, outermost first: where it acquired
        it), since (when; None), count (how often it was acquired), contended, waited, held (since the first wait). A wait is of one
        location, place, lock and holder: location, stack, kind, lock (None: nothing told apart), file, line, holder (when they began;
        None), holder_stack, count, time, longest, open (the last had not ended: the numbers hold it up to the end), timed, news (nobody
        holds anything: somebody has to notify), since (open: its begin). A deadlock cycle: process, interrupted (the program continued),
        links [dict(location, lock, since)]: each waits for what the next one holds. awaits, of tasks (also without that setting): process,
        task (name of their outermost coroutine, None), where (of the innermost one, None), what (name of the type of what it
        awaited, None), stack (names of functions from the root of the thread to `where`; empty: not known), count, time, longest."""

    def balance(
        self, *, by: str = "region", time: str = "excl", over: str = "auto", limit: int = 0, match: str = ""
    ) -> dict[str, Any]:
        """How evenly time is spread. by 'region' or 'path'; time 'excl' or 'incl': what rows are ordered by; over 'ranks' (processes that
        began MPI), 'processes', 'threads', or 'auto': the first of these of which there are two. dict(over, units [index of
        process, or of location], rows, idle). A row: name, file, line, kind, units (how many came there), incl and excl
        dict(mean, std, min, max, imbalance (all s), percent, min_unit, max_unit (indices in units)), by path also path, parent, stack
        [names of regions, outermost first], parameters. Units that never came there count as 0; imbalance is max - mean, percent
        (max / mean - 1) * 100. Rows come by imbalance. idle: at most 5 rows of paths that some units never came to though all came to
        its callers, with idle [indices in units]."""

    def messages(self, by: Sequence[str] = ("pair",)) -> dict[str, Any]:
        """The messages of MPI, matched by communicator, sender, receiver, tag and order. by: any of 'pair', 'comm', 'path' (call path of
        the send), 'sender', 'receiver', 'all' (pair, comm and path). dict(messages, bytes (as sent), unmatched_sends, unmatched_receives,
        unmeasured (of these: the other side was not measured), cancelled, early (how many came before they were sent), early_worst (s),
        operations (collective ones), incomplete (of these: a member's part is missing), early_operations (of the others: someone left
        before those it depends on came), early_operations_worst (s), rows {by: [row]}, stacks {path: [names of regions, outermost first]}). A row: messages, bytes, received (how many receives were
        found), time (s; of those from the begin of the send to the end of the receive), and what it is by: from, to (indices of
        processes, None: not measured), comm (index), name, parent (index, None: none), size, path. Error without a trace or without MPI."""

    def waits(self) -> dict[str, Any]:
        """Time lost by waiting in MPI, by Scalasca's definitions (src/model/mpi/waits.h). dict(metrics, rows, stacks {path: [names]},
        found (the numbers of messages(), without rows and stacks)). metrics: dict(name 'mpi_latesender'…, shown, what, kinds [int], parent (index in metrics, None: a part of the time), count,
        time (s)); a metric is the sum of its kinds. rows: dict(kind, path, location, process, on_location, on (process; who was waited
        for, None: nobody alone), count, time, longest (s)). Error without a trace or without MPI."""

    def critical_path(self, *, share: float = 0.1) -> dict[str, Any]:
        """What the run's length consists of (src/model/mpi/critical.h). dict(length (s), jumps (from one location to another), locations [s on
        the path, of each location], pieces [(location, from, to)] (s since the experiment's begin, in order, without gaps), regions,
        paths [dict(path, time)], stacks {path: [names]}, found (as of waits()). regions: dict(name, file, line, kind, time (s on the path), at_least, at_most
        (s that the run gets shorter if the region takes `share` less time on the path)). Error without a trace or without MPI."""

    def table(
        self,
        metric: str,
        *,
        json: bool = False,
        process: int = -1,
        collapse_threads: bool = False,
        collapse_processes: bool = False,
        flat: bool = False,
        timeline: bool = False,
        max_depth: int = -1,
        max_width: int = 120,
        precision: int = 6,
        units: str = "sec",
        scientific: bool = False,
        qualified: bool = False,
    ) -> str:
        """The table of timemory (text, or its JSON) for 'trip_count' or 'wall_clock'. Processes (by rank of MPI, where there is one) and
        threads are kept apart unless collapsed. flat: all calls of a name in one row; timeline: a row for each call (needs the trace);
        max_depth: deeper rows are left out (-1: none); max_width: characters of a label before it is cut (0: all); units: 'psec', 'nsec',
        'usec', 'msec', 'csec', 'dsec', 'sec', 'min' or 'hr'; scientific: 1.5e+00; qualified: methods with their class. Calls count with
        resumptions; functions of the same label below the same call are one row. ValueError: an argument that cannot be; Error: no such process,
        no trace."""

    def view(self, kind: str, **parameters: int | float | str | None) -> bytes:
        """What the viewer asks for, as a payload of columns (src/view/columns.h; spartito.view.payload reads one). Kinds, their parameters and
        what the answers hold: src/view/contract.json. None: not given. Several threads may ask at once; they run side by side, without the GIL. ValueError: no such kind,
        or a parameter that it does not take or that cannot be; Error: what is asked for is not in the experiment."""

    def sum_up(self, progress: Callable[[int, int], None] | None = None, *, keep: bool = False) -> bool:
        """Makes the summaries of the trace, DIR/lod, unless they are there; whether it did. Else the first view of a range of time does.
        progress: called with the words read, and of how many; what it raises ends the making, and nothing stays behind. keep: they are for
        the views that follow, and are kept elsewhere where the experiment cannot take them or a process still runs. Error: they cannot be
        put into the experiment, a process still runs, or a raw file is damaged."""

    def graph(
        self,
        path: str,
        *,
        process: int = -1,
        location: int = -1,
        match: str = "",
        title: str = "",
        theme: str = "light",
        node_share: float = 0.005,
        edge_share: float = 0.001,
        limit: int = 0,
        svg: bool = False,
    ) -> dict[str, int]:
        """Writes the call graph in Graphviz's language, or as a picture in layers of our own (svg). match: only calls of functions whose name matches, and what is below
        them; node_share, edge_share: of the whole time, functions and calls with less of it are left out; limit: functions with the most
        inclusive time, 0: all; theme: 'light', 'dark' or 'grey'. dict(nodes, edges, hidden_nodes, hidden_edges): how many were drawn,
        and how many not. ValueError: an argument that cannot be; Error: nothing to draw, no such process or location, or the file
        cannot be written."""

    def view_against(self, base: Model) -> None:
        """The views of tree, flat and regions have from now on the numbers of `base`, an experiment before this one, beside their own
        (src/view/contract.json). To be called before other threads ask. ValueError: against itself, or a second time."""

    def plot(
        self,
        kind: str,
        path: str,
        *,
        process: int = -1,
        location: int = -1,
        match: str = "",
        title: str = "",
        theme: str = "light",
        width: float = 1200,
        height: float = 0,
    ) -> dict[str, int]:
        """Draws 'flame', 'icicle', 'sunburst', 'balance' or 'timeline' in SVG; what each shows: docs/pictures.md. match, theme: as of graph();
        width, height: px, height 0: as much as it takes. dict(drawn, hidden): call paths (of the first three), functions (balance) or threads
        (timeline) that have a part of their own, and those that share one or are left out. Error: nothing to draw, no trace, too small."""

    def convert(
        self,
        format: str,
        path: str,
        *,
        process: int = -1,
        progress: Callable[[int, int], None] | None = None,
        bare: bool = False,
        calls: bool = False,
    ) -> None:
        """bare: the functions of a trace for Perfetto have their names without module and class, as in table(). calls: samples in OTF2
        are functions that are entered and left."""
