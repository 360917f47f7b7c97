"""The analysis extension module: reads experiments. It does not need _measure.

A dict(a, b (s)) in these docstrings is a dictionary with the keys "a" and "b"; the text in parentheses describes a value. "Index"
without a list is a position in info()["processes"] or info()["locations"]. Errors: ValueError is raised for a wrong argument; Error
for data that are missing, damaged or not recorded."""

from collections.abc import Callable, Sequence
from typing import Any

class Error(Exception):
    """The input is damaged, missing or of a newer version, or an output cannot be written. The text is one line."""

def writers() -> list[tuple[str, str, str, str, bool, bool, bool]]:
    """The output formats: (name, description, file suffix, program that opens it, needs a trace, writes a directory, merges
    processes). A format that merges does not keep processes apart, so that a file of a single process is useful, too."""

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
    """Compares groups of experiments: the first group with each of the others.

    src/model/compare/compare.h defines which functions or call paths are the same, src/model/compare/table.h the statistical test.
    runs: the number of models in each group. by: 'region' or 'path'. sort: 'change' (absolute change of exclusive time), 'total'
    (of inclusive time), 'relative', 'excl', 'incl', 'visits' or 'name'. limit: maximum number of rows, 0: all. share: rows with a
    smaller share of the time in both groups are not judged.

    dict(rows, count (number of rows without the limit), all (the same as a row, for all time), preempted, files, modules). files and
    modules list those that have another name: dict(group, before, after, functions (how many)).
    preempted: for each group the time in s in which its threads were preempted, the mean over the runs; no other time contains it.
    None: not all models know it, and the times of all contain it.
    A row: name, module, qualname, file, line, kind; by path also stack (names of regions, outermost first) and parameters.
    Its sides: for each group dict(runs, visits, visits_std, excl, excl_std, incl, incl_std): means over the runs in s, 0 where the
    region did not run, and sample standard deviations.
    Its changes: for each group but the first dict(excl, incl (s more than in the first group), p (of Welch's t-test of the
    exclusive times), p_corrected (by Holm's method; both are None if a group has one run or the row is not judged), margin (half of
    the 95 % confidence interval of excl, s; None as p), judged (the row has at least `share`))."""

def welch(pairs: Sequence[tuple[float, float, int, float, float, int]], /) -> list[float | None]:
    """Welch's t-test of pairs of samples, each given as mean, sample variance and number of runs of both sides. Returns the
    two-sided p-values, corrected together by Holm's method (src/model/compare/table.h); None: a side has fewer than two runs."""

def name_matches(match: str, name: str, module: str, file: str, /) -> bool:
    """Whether --match selects a function: `match` is a part of its name, or a shell pattern that matches it. For a function of a
    script the pattern may also have the name by which the script's module is imported."""

def compress(directory: str, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
    """Compresses the raw files of an experiment without loss. Returns their bytes before and after. Error: a process still runs, or
    a file is damaged or cannot be written; that file stays as it is, and Error is raised after all other files are compressed."""

def merge(
    directory: str,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 0,
    mpi: tuple[str, ...] | None = None,
    large: bool = False,
) -> dict[str, Any] | None:
    """Writes the file `merged` with the content of all raw files, from which a Model is loaded at once.

    force: also if the file is up to date. workers: number of processes that merge; 0: as many as are useful. mpi: all ranks of an
    MPI program merge together. It contains the path of the wrapper library and names of the MPI library, one of which is loaded.
    merge() then initializes and finalizes MPI, and only the result of rank 0 is valid. large: only if the threads have more than a
    million call paths together; otherwise it returns None.
    dict(current (the file was up to date, and nothing was done), processes, locations, paths, bytes (of the file), raw_bytes).
    Error: MPI cannot be initialized, a process still runs, no raw file can be read, or the file cannot be written."""

def keep_symbols(directory: str) -> dict[str, int]:
    """Stores names, files and lines of compiled functions in the file `symbols` of an experiment, unless it has them already.
    dict(functions (in total), added, unknown (their object file is gone or was rebuilt)). Error: there is no such experiment, or it
    cannot be written."""

def still_written(directory: str) -> list[str]:
    """Names of the raw files that running processes of this machine still write. Processes of other machines are not found."""

def seal(path: str) -> bool:
    """Writes the checksums of a raw file whose process ended without writing them because it was killed or called exec. False: the
    file has checksums, is damaged, may still be written, or cannot be written."""

def take_cost(path: str, source: str) -> bool:
    """Takes the cost of measuring and its uncertainty over from the raw file `source` to the one at path. False: they are not of this
    host, and the same build of Python, hook and trace setting; one has no cost; or one is damaged or cannot be read or written."""

class Compressor:
    """Compresses a stream of bytes with zstd. The class does not exist if Spartito was built without zstd."""

    def add(self, data: bytes, /) -> bytes:
        """Compresses `data`. Returns the output that is complete, which may be empty."""

    def end(self) -> bytes:
        """Ends the stream. Returns the rest of the output."""

class Decompressor:
    """Decompresses a zstd stream piece by piece. Error: the stream is damaged. The class does not exist without zstd."""

    ended: bool  # the stream is complete
    def feed(self, data: bytes, /) -> None:
        """Sets the next input. ValueError: take() has not consumed the previous input."""

    def take(self, most: int, /) -> bytes:
        """Returns at most `most` decompressed bytes. Fewer, or none: the input is consumed."""

class Model:
    """A loaded experiment. All times are in seconds.

    Common parameters: sort is 'incl', 'excl', 'visits', 'mean', 'max' or 'name'. limit is the maximum number of rows, 0: all.
    process and location are indices that restrict the result to one process or thread, -1: all. match is a part of the name or a
    shell pattern."""

    def __init__(self, directory: str, *, compensate: bool = False, own: str | None = None) -> None:
        """compensate: subtract the measured cost of measuring from the times. own: absolute paths of the program's own code, one in
        each line, instead of those of `run --own`; None: those."""

    def info(self) -> dict[str, Any]:
        """A description of the experiment. Times are seconds since its begin unless stated otherwise; parent, creator and the like
        are indices or None.

        dict(dir, begin, end (both s since 1970), traced, regions (number of those with a call path or lines), paths, events, bytes,
        problems (sentences about damage; reading the trace may add some), processes, locations, metrics, counters (names of the
        program's own counters), worlds (size of each MPI_COMM_WORLD), children, collections, exceptions).
        collections: a dict for each generation that the garbage collector collected: dict(generation (the oldest of those collected
        together), count, time (s), objects (unreachable ones that were found)), summed over all threads. exceptions: number of
        calls of Python functions that an exception ended.
        processes: dict(file, host, command, role ("" if no rule applies), name (that multiprocessing or xdist gave it), label (role and
        name), helper (an idle helper, such as a resource tracker), pid, ppid, parent, rank, world (index in worlds; rank and world are None without MPI),
        end ('normal', 'stopped', 'abrupt', 'exited', 'exec' or 'running'), status, signal, ended_by (the process of the program
        that sent the signal), continues (the process that became this one by exec), forked, traced, sampled (there are samples of
        it), counted (its calls were recorded), begin, stop, cost_in, cost_out (s that recording an enter or a leave takes), lost
        {kind: number}, lost_reason, lost_children_reason, meta {key: text}).
        locations: dict(process, name, role, runs (the outermost function of a thread; "" for the main thread), helper, tid, creator,
        begin, end, lost {kind: number}, visits, resumed, events (8 bytes each in memory), busy (s in regions), running (s of busy in
        which the thread ran, as far as known), cpu (s that the thread's processor clock counted; None: not measured), mpi (s of busy
        in MPI functions), open (the innermost call that did not return: "f", "f, called by g" or "")).
        metrics: dict(name, unit, exponent (values are in 10**exponent units), what (description), source ('rusage', 'papi', 'perf',
        'bytes', 'wait', 'memory', 'off_cpu' or 'sample'), exclusive, level, total).
        children: processes that measured processes started or became (exec): dict(parent, process (index, None if it is not
        measured), pid, command, begin, end, status, signal (as the parent learned of them), forked, exec)."""

    def flat(
        self,
        *,
        sort: str = "excl",
        limit: int = 0,
        match: str = "",
        location: int = -1,
        process: int = -1,
        imports: bool = True,
        locations: Sequence[int] | None = None,
    ) -> list[dict[str, Any]]:
        """One row for each region: dict(name, module, qualname, file, line, kind, category, visits, resumed, incl, excl, running,
        waiting, mean, min, max, std, index). Times are in s.

        running and waiting: the parts of excl in which the threads ran, and in which they waited; the rest of excl is time in which
        they were preempted. Where no off-CPU time was recorded, running is excl; samples estimate it. index: the region's number.
        sort: one of incl, excl, running, waiting, visits, mean, max, name.

        incl counts the time of recursive calls once. kind is 'python', 'c', 'user', 'native', 'io', 'mpi', 'off', 'collapsed' or
        'root'. category is whose code it is: 'own', 'libraries', 'standard' (the standard library and built-in functions) or 'other'
        (not known). If metrics were recorded, also metrics {name: dict(incl, excl)}. imports False: visits,
        incl and excl are without import statements, except for modules of the program itself.

        The numbers are those of one location, of one process (-1: of all), or of several locations (their indices)."""

    def own(self, *, location: int = -1, process: int = -1, imports: bool = True) -> dict[str, Any]:
        """The program's own functions, with the functions of others that they led to. dict(rows, packages, start_end).

        rows: dict(name, module, file, line, visits, resumed, waiting (s in which threads waited in it and in
        those it led to), own (s in which threads ran in it), libraries, standard, other
        (s in which they ran in such functions that it called, directly or through each other, until the next own function), calls_own (it led to
        calls of own functions)). The first row, without a name, is what no own function called. The others are sorted by the sum
        of their times. packages: (name, s) of the top-level packages of libraries, most first. start_end: s in which
        main threads ran the interpreter's start and end. start_end and the times of all rows are the running time of all call paths.
        imports False: without import statements, as in flat()."""

    def imports(self, *, location: int = -1, process: int = -1) -> list[dict[str, Any]]:
        """The modules that were imported: module, file, own (of the program, not of a library), importer (index of the module that
        imports it; 0: the program), visits (once in each process), incl (s; with the modules that it imports), excl (s; its own
        statements), loading (s; to find and load the modules that it imports, and compiled modules), the split of the three: running_incl,
        waiting_incl, running, waiting (of excl), loading_running, loading_waiting. The first row is the program,
        and its incl the time of all imports. An importer has a smaller index than the modules that it imports."""

    def tree(self, *, sort: str = "incl", depth: int = 0, threshold: float = 0.0, limit: int = 0, location: int = -1, process: int = -1, locations: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """The call tree, a caller before its callees: the columns of flat() and dict(depth, path, parent, parameters,
        running_incl, waiting_incl, hidden, hidden_time, hidden_running, hidden_waiting).

        running_incl, waiting_incl: the time (s) in which the threads ran and waited in the call path and those below; without a
        split, all time is running. `sort` by running or waiting takes these.

        depth: maximum depth, 0: all. threshold: call paths with a smaller share of the total time (0 to 1) are left out; hidden and
        hidden_time of their caller's row are their number and time, hidden_running and hidden_waiting its split. parameters, in the order of setting: dict(name, type ('int',
        'uint' or 'string'), value (str)); only in rows of calls with parameters. The root (kind 'root', parent None) has a row, the
        first one, only if children of it are left out."""

    def callers(self, match: str, *, limit: int = 0) -> list[dict[str, Any]]:
        """For each region that matches: dict(region (row), callers [row], callees [row]). The numbers in rows of callers and
        callees are those of the calls between the two regions. running_incl and waiting_incl are as in tree()."""

    def io(self) -> list[dict[str, Any]]:
        """File I/O in the trace, one row for each file: dict(path ('': not known), opens, reads, writes, flushes, seeks, failed (of
        the operations except opens), bytes_read, bytes_written, read_time, write_time, flush_time (s between begin and end of
        operations))."""

    def memory(self) -> dict[str, Any]:
        """The memory that `run --memory-profile` or `--memory-sample` recorded. Bytes are those the program asked for; times are
        seconds since the begin of the experiment. For a merged experiment it is read from the raw files; Error: these are gone.

        dict(processes, sites, stacks {path: [names of regions]}).
        A process: process (index); count and allocated (all recorded blocks and their bytes); freed, freed_bytes; blocks, bytes
        (still allocated at the end); peak_bytes, peak_blocks, peak_time; unknown (released blocks whose allocation was not
        recorded); lost, lost_bytes (allocations that were not recorded, for lack of a call path or of memory); unnamed (frames that
        count as their caller); sample (mean bytes between two recorded blocks, 0: all blocks); own (bytes that recording took);
        cost (s that it took, about; 0: not known); begin; ended (end of the program, at which `left` is counted; None: not seen, so
        `left` is counted at the end of the process); resident (last value), resident_peak, resident_peak_time; limit (None, or
        dict(bytes, passed (first time, None: never), passes, over (s above the limit), function, file, line, path)); series [(time,
        bytes, blocks, resident)]. A site is what one allocator allocated in one line of a call path: path, location, process;
        function, file, line (of the innermost recorded Python function; None, None, 0: not known); own_function, own_file, own_line
        (of the program's function that called a library; None, None, 0: not known, or the function is the program's own); allocator
        ('malloc', 'mmap', 'python raw', 'python mem' or 'python object'); count, bytes; freed, freed_bytes; elsewhere (blocks that
        another thread freed); temporary, temporary_bytes (released before the thread allocated more than N others of that size
        class); peak, peak_bytes (allocated at the peak of the process); high (maximum bytes of this site); grown (number of 20 ms
        slices in which high grew); first, last (time of the first and last growth of high); left, left_bytes; kept ('nothing',
        'cache': left, but it stopped growing early, 'growing': it grew until the end)."""

    def tallies(self) -> dict[str, Any]:
        """How often something rare happened at each call path: dict(rows, stacks {path: [names of regions]}).

        A row, in the order of location and path: path, location, what, generation, count, time, objects; name, file, line of the
        path's function. what is 'collection', a garbage collection that began while this function was the innermost one (path 0,
        with the name "": outside of all recorded functions): generation (the oldest of those collected together), time (s; with the
        finalizers that it ran), objects (unreachable ones that were found). Or what is 'exception', a call of this function that an
        exception ended: generation, time and objects are 0. StopIteration, StopAsyncIteration and GeneratorExit are not counted,
        except for the first two with --hook setprofile, which counts no generators, and nothing on Python 3.12."""

    def tasks(self, *, limit: int = 0) -> dict[str, Any]:
        """Tasks of asyncio, trio and the like. limit: maximum number of groups, and of tasks.

        dict(count, unlisted (tasks that are counted only in groups), never (created, but never begun; not in count), coroutines
        (number), handed, groups, tasks). handed, of calls that the program handed to thread pools: dict(given, taken (begun),
        waited (s from given to begun, in total), longest).
        groups, one for each outermost coroutine, most time first: dict(name (None: not known), tasks, unlisted, states {'waiting',
        'running', 'returned', 'raised', 'cancelled' or 'dropped': number}, steps, running, waiting (s), longest (maximum waiting
        time of one task), waits).
        tasks, longest waiting first: dict(id, name, process, number (within the process), region (name), location (that ran it
        last), creator (id), by (location that created it), state, seen_created (False: created is the time of its begin), created,
        begin, end, running, waiting, steps, waits (the kinds with the most time)).
        A wait: dict(where (innermost coroutine or None), what (type of the awaited object or None), count, time)."""

    def lines(self, *, process: int = -1, location: int = -1) -> list[dict[str, Any]]:
        """One row for each function whose lines were recorded (setting lines) or sampled, ordered by file and first line; empty:
        none was.

        dict(name ('module:function'), module, function (qualified name), file, line (the first one), excl, callees (s, of all its
        lines), lines [(line, hits, excl, callees)]). lines has only those that ran. excl is the time in the line itself, callees
        the time in the functions that it called; line_profiler shows their sum. If a function calls itself, the time of the inner
        calls is in their lines only. ValueError: no such process or location."""

    def locks(self) -> dict[str, Any]:
        """Waits of threads (setting waits) and of tasks (always recorded). Points in time are seconds since the begin of the
        experiment; locations, processes and locks are indices.

        dict(locks, waits, deadlocks, awaits).
        A lock, condition, queue or the like for which a thread waited: process, number (within the process), kind
        (sp_lock_kind_names), type (name of the type, or path of a file; None), address (0: none), user (the lock that it is a part
        of, None), made_file, made_line (where it was created; None, 0: not known), made_by (location or None), freed, holder
        (location at the end, None), gone (held by a thread that did not survive a fork), holder_stack (names of regions, outermost
        first: where the holder acquired it), since (time of that, None), count (number of acquisitions), contended, waited, held
        (hold time since the first wait, s). A wait sums up the waits of one location, call path, lock and holder: location, stack,
        kind, lock (None: the waits have no distinct object), file, line, holder (when the wait began, None), holder_stack, count,
        time, longest, open (the last wait is outstanding; times include it up to the end), timed (it has a time limit), news (the
        waiter needs a notification, and no thread holds a lock), since (begin of the outstanding wait).
        A deadlock cycle: process, interrupted (the program continued), links [dict(location, lock, since)]: each location waits for
        a lock that the location of the next link holds.
        awaits, of tasks: process, task (name of the outermost coroutine, None), where (innermost coroutine, None), what (type of
        the awaited object, None), stack (names of regions from the root of the thread to `where`; empty: not known), count, time,
        longest."""

    def balance(
        self, *, by: str = "region", time: str = "excl", over: str = "auto", limit: int = 0, match: str = "", units: Sequence[int] | None = None
    ) -> dict[str, Any]:
        """How evenly time is distributed over ranks, processes or threads (units).

        by: 'region' or 'path'. time: 'excl', 'incl' or 'running', by which the imbalance orders the rows; with 'running' the rows
        have this key instead of excl: the exclusive time in which the threads ran (of MPI functions all of it). over: 'ranks' (processes that
        initialized MPI), 'processes', 'threads', or 'auto': the first of these of which there are two. units: the indices of the
        processes or locations to compare; None: all.
        dict(over, units (indices of processes or locations), rows, idle).
        A row: name, file, line, kind, units (how many of them ran it), incl and excl: dict(mean, std, min, max, imbalance (max -
        mean; all in s), percent ((max / mean - 1) * 100), min_unit, max_unit (indices in units)); by path also path, parent, stack
        (names of regions, outermost first), parameters. A unit that did not run it counts as 0.
        idle: at most 5 rows of call paths that some units did not run although all units ran the callers, with idle (indices in
        units)."""

    def messages(self, by: Sequence[str] = ("pair",)) -> dict[str, Any]:
        """MPI messages, matched by communicator, sender, receiver, tag and order. Error: there is no trace or no MPI in it.

        by: any of 'pair', 'comm', 'path' (call path of the send), 'sender', 'receiver' and 'all' (pair, comm and path).
        dict(messages, bytes (as sent), unmatched_sends, unmatched_receives, unmeasured (unmatched ones whose other side was not
        measured), cancelled, early (messages that were received before they were sent), early_worst (s), operations (collective
        ones), incomplete (operations of which a member's part is missing), early_operations (other operations that a rank left
        before a rank on which it depends entered), early_operations_worst (s), rows {by: [row]}, stacks {path: [names of regions,
        outermost first]}). A row: messages, bytes, received (number of receives that were found), time (s from the begin of the
        send to the end of the receive, in total), and the columns of `by`: from, to (indices of processes, None: not measured),
        comm (index), name, parent (index of the parent communicator or None), size, path."""

    def waits(self) -> dict[str, Any]:
        """Wait states of MPI, by Scalasca's definitions (src/model/mpi/waits.h). Error: there is no trace or no MPI in it.

        dict(metrics, rows, stacks {path: [names of regions]}, found (messages() without rows and stacks)). metrics: dict(name
        ('mpi_latesender' …), shown (title), what (description), kinds [int], parent (index in metrics, None: a part of the time),
        count, time (s)); a metric is the sum of its kinds. rows: dict(kind, path, location, process (of the waiter), on_location,
        on (process of the rank that it waited for, None: no single rank), count, time, longest (s))."""

    def critical_path(self, *, share: float = 0.1) -> dict[str, Any]:
        """The critical path of an MPI program (src/model/mpi/critical.h). Error: there is no trace or no MPI in it.

        dict(length (s), jumps (number of changes from one location to another), locations (s on the path, for each location),
        pieces [(location, begin, end)] (s since the begin of the experiment, in order, without gaps), regions, paths [dict(path,
        time, waiting)], stacks {path: [names of regions]}, found (as of waits())). regions: dict(name, file, line, kind, time (s on the
        path), waiting (s of it in which the thread waited; 0: as in traces without off-CPU time), at_least, at_most (s by which the
        run becomes shorter if the region takes `share` less time on the path))."""

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
        """The table of timemory, as text or as its JSON. ValueError: a wrong argument. Error: no such process, or no trace.

        metric: 'trip_count' or 'wall_clock'. Processes (ordered by MPI rank) and threads are separate unless collapsed. flat: one
        row for all calls of a name. timeline: one row for each call; needs the trace. max_depth: hide deeper rows, -1: none.
        max_width: maximum characters of a label, 0: no limit. units: 'psec', 'nsec', 'usec', 'msec', 'csec', 'dsec', 'sec', 'min'
        or 'hr'. scientific: print 1.5e+00. qualified: print methods with their class. Resumptions count as calls; functions with
        the same label below the same call are one row."""

    def view(self, kind: str, **parameters: int | float | str | None) -> bytes:
        """The answer to a query of the viewer, as a payload of columns (src/view/columns.h; spartito.view.payload decodes it).

        src/view/contract.json defines kinds, parameters and answers. A parameter that is None counts as not given. Several threads
        may call view() at once; it releases the GIL. ValueError: no such kind, or a wrong parameter. Error: the experiment does not
        contain the data."""

    def sum_up(self, progress: Callable[[int, int], None] | None = None, *, keep: bool = False) -> bool:
        """Makes the level-of-detail index of the trace, DIR/lod, unless it exists. Returns whether it was made. Without this call,
        the first view of a time range makes it.

        progress: called with the number of words read and their total; an exception that it raises ends the work, and no file
        stays. keep: keep the index for later views even if the experiment cannot be written or a process still runs; it is then
        stored outside of the experiment. Error: the index cannot be written, a process still runs, or a raw file is damaged."""

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
        """Writes the call graph in Graphviz's language, or as SVG with a layered layout that Spartito computes (svg).

        match: draw only calls of functions that match, and the calls below them. node_share, edge_share: leave out functions and
        calls with a smaller share of the total time (0 to 1). limit: maximum number of functions, those with the most inclusive
        time, 0: all. theme: 'light', 'dark' or 'grey'. dict(nodes, edges, hidden_nodes, hidden_edges): numbers of drawn and omitted
        ones. ValueError: a wrong argument. Error: there is nothing to draw, no such process or location, or the file cannot be
        written."""

    def view_against(self, base: Model) -> None:
        """Adds the numbers of an earlier experiment `base` to the views tree, flat and regions (src/view/contract.json). Call it
        before other threads call view(). ValueError: base is this model, or the call is the second one."""

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
        """Draws an SVG chart: 'flame', 'icicle', 'sunburst', 'balance' or 'timeline' (docs/pictures.md describes them).

        match, theme: as for graph(). width, height: in pixels; height 0: as needed. dict(drawn, hidden): numbers of call paths
        (flame, icicle, sunburst), functions (balance) or threads (timeline) that are drawn separately, and of those that are
        combined or omitted. Error: there is nothing to draw or no trace, or the chart is too small."""

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
        """Writes the experiment in a format of writers(). progress: as for sum_up(). bare: in a trace for Perfetto, names of
        functions without module and class, as in table(). calls: in OTF2, samples as functions that are entered and left."""
