# SPDX-License-Identifier: BSD-3-Clause
"""Answers all queries of the viewer. A query has a kind and parameters; its answer is a payload of columns (src/view/columns.h).
Model.view() answers the kinds with many numbers, this module the others. The server and the one-file page use the same answers.

Parameter of=base, with any kind: query the run that this one is compared with, by that run's indices.

What the kinds are, made by `make docs` from src/view/contract.json:

    facts
        What the first screen tells of a run. meta: Facts.
    compare
        What changed since the run that this one is compared with. meta: base (BaseFacts), sentences[] (what changed), about[] (the
        region that each sentence is about, null: no single one), unlike[] (sentences: in what else than the program the two runs
        differ), costs[] (sentences: what measuring took in each), headline (how they were recorded differently, in a few words;
        empty: alike), processes[] (of each process of the other run, its index here; null: it has no counterpart), locations[] (of
        each location of the other run, its index here; null: it has no counterpart), names (of functions of the other run whose
        names differ: what they are called here).
    findings
        What costs most and can be changed, the largest share first, as `spartito report findings` has it (docs/findings.md). meta:
        findings[] (Finding), notes[] (sentences: what could not be searched).
    imports
        What importing modules cost, as `spartito report imports` has it. meta: modules[] (ImportedModule; the first one is the
        program, its incl the time of all imports; an importer comes before what it imports), busy (time in functions of all
        locations together (s)).
    own
        Whose code took the running time, as `spartito report own` has it: the program's own code, with the functions of others that
        it led to. meta: parts[] (OwnPart), packages[] (top-level packages of libraries, the longest first; time (s); name, time),
        rows[] (OwnRow; without imports; the first one, without a name, is what no own function called; the others by sum), notes[]
        (sentences: why whose code it is remains uncertain).
    waits
        Time lost by waiting in MPI (src/model/mpi/waits.h). meta: Waits.
    offcpu
        Off-CPU time by function and kind, the longest first, as `spartito report waits` has it. meta: rows[] (OffCpu), waited (time
        in which the threads waited (s)), busy (time in functions of all locations together (s)), least (call paths with a smaller
        share of the time are not in rows; 0: all are).
    critical
        What the run's length consists of (src/model/mpi/critical.h). Parameters: share (part of its time on the path that a region
        is thought to lose; default: 0.1). meta: Critical.
    io
        What was read from and written to files, those with the most time first. meta: files[] (FileUse).
    tasks
        Tasks of asyncio and the like: when they ran, and what they waited for. Parameters: limit (RowLimit). meta: Tasks.
    locks
        What threads waited for, and the lock holders: the longest waits (spartito.view.locks). meta: Locks.
    memory
        The heap of each process over time, and what was allocated where (spartito.view.memory). Parameters: process (ProcessIndex).
        meta: Memory. Columns: at (f64; s), heap (f64; bytes that are allocated), resident (f64; bytes of the process that are in
        memory).
    lines
        What was done in each line of functions whose lines were recorded, the functions with the most time first. Parameters:
        process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd). meta: functions[] (LineFunction),
        unclipped (optional; a sentence, where begin or end was given: the trace does not hold lines, so these are of the whole
        run), base_none (optional; a sentence, of a compared run: why functions have no base).
    source
        The text of a source file. Parameters: file (index in meta.files of regions). meta: file (its path), text (optional; what is
        in it), remark (optional; a sentence about the text, such as that the file has changed since; or empty), missing (optional;
        a sentence instead of text and remark: why there is no text).
    regions
        Row i is region i of all other kinds; row 0 is the root. meta: names[] (module:function), qualnames[] (the function's
        qualified name), modules[], files[], kinds[] (as Model.flat() names them), renamed[] (Renamed; optional; of a compared run:
        files whose functions were found again under another name), renamed_modules[] (Renamed; optional; the same of modules).
        Columns: line (u32; the first line; 0: not known), kind (u8; index in kinds), own (u8; 1: own code), module (u32; index in
        modules), file (u32; index in files), of_base (u32; optional; of a compared run, a row for each of its regions: which one it
        is here).
    tree
        The call paths, a caller before its callees, those of one caller by inclusive time. No more than limit paths (default:
        200,000), those with the most inclusive time, or with the most of the metric: what is left out below a caller is one row
        behind its callees, with region and path none, hidden: how many paths that is, visits: the calls from the caller itself, and
        incl = excl: their time. The excl of all rows together is the total. Compared, paths that only the other run has are rows,
        too, and the larger of both inclusive times decides on order and limit. Parameters: process (ProcessIndex), location
        (LocationIndex), begin (RangeBegin), end (RangeEnd), limit (RowLimit), metric (name of a metric: its columns are there, and
        decide on order and limit). meta: total (inclusive time of the root (s): that of what is selected), clipped (begin or end
        was given: times are those within the range; visits, min, max and std those of the calls that ended in it, at their full
        length), preempted (optional; compared, if both runs know it: s in which threads were preempted, which incl and excl do not
        contain), base_preempted (optional; that of the other run (s)), base_total (optional; the other run's total (s), where it
        has a counterpart of what is selected), base_none (optional; a sentence: why there are no columns of the other run), paths
        (how many there are), shown (how many of them have rows), labels[] (optional; of calls with values of parameters: the
        values). Columns: parent (u32; row of the caller, none: nobody), region (u32), visits (f64; calls; 0 in all rows of
        samples), incl (f64; inclusive time (s)), excl (f64; exclusive time (s)), hidden (u32; number of paths that this row
        represents), path (u32; of the model), resumed (f64; optional; calls that were resumed after a yield or an await, where
        there were any), running (f64; optional; s of incl in which the threads ran; where times are split, and neither compared nor
        with a metric), imported (u8; optional; 1: part of an import, from a function of the import system down, without modules of
        the program; where anything was imported), label (u32; optional; index in labels, where calls have values of parameters),
        base_visits (f64; optional; of the other run, 0 where it has no such path), base_incl (f64; optional; s), base_excl (f64;
        optional; s); with metrics: metric:NAME:incl and metric:NAME:excl: of each metric, with and without what callees counted, in
        10**exponent of its unit.
    flat
        One row for each region that ran, by running time, or by exclusive time if that is not split; compared, the larger of both
        exclusive times decides. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd),
        limit (RowLimit). meta: total (inclusive time of the root (s): that of what is selected), clipped (begin or end was given:
        times are those within the range; visits, min, max and std those of the calls that ended in it, at their full length),
        preempted (optional; compared, if both runs know it: s in which threads were preempted, which incl and excl do not contain),
        base_preempted (optional; that of the other run (s)), base_total (optional; the other run's total (s), where it has a
        counterpart of what is selected), base_none (optional; a sentence: why there are no columns of the other run), functions
        (how many ran), unranged[] (optional; within a range of time: metrics that have no columns, as their values are not in the
        trace). Columns: region (u32), visits (f64; calls), incl (f64; inclusive time (s), recursion counts once), excl (f64;
        exclusive time (s)), mean (f64; of the inclusive time of a call (s)), min (f64; s), max (f64; s), std (f64; s), resumed
        (f64; optional; calls that were resumed after a yield or an await, where there were any), running (f64; optional; s of excl
        in which the threads ran; where times are split into running and waiting (measured, or estimated from samples) and not
        compared), waiting (f64; optional; s of excl in which the threads waited, where there is running), imported (f64; optional;
        s of running, or of excl if that is not split, in imports without modules of the program; where there were any), base_visits
        (f64; optional; of the other run, 0 where it has no such region), base_incl (f64; optional; s), base_excl (f64; optional;
        s); with metrics: metric:NAME:incl and metric:NAME:excl: of each metric, with and without what callees counted, in
        10**exponent of its unit.
    timeline
        The calls of one location that touch the range, by depth and begin. A call that is at least a pixel wide has a separate row,
        with its begin and end. Those that are narrower share a row of at most a pixel. Parameters: location (LocationIndex), begin
        (RangeBegin), end (RangeEnd), pixels (default: 1000; at most 16384), levels (depths from this one on are left out; default:
        256). meta: depth (that of the deepest call, plus 1; 0: no calls), exact (each row is one call, and none is left out), begin
        (s), end (s). Columns: begin (f64; s), end (f64; s), depth (u32; 0: called by nobody), region (u32; of a shared row the one
        with the most time), calls (u32; how many begin or end in this row), busy (f32; share of the row's time in calls).
    overview
        All locations that are selected, each divided into pixels equal parts of the range. For each part in which something ran or
        happened, by location and part: what ran there. Of parts with many events as summaries know them: the share is at least
        that. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd), rows (RowList),
        pixels (default: 1000), limit (number of groups, if there are more locations; neighbours share a group: the k-th of n
        locations is in group k * groups / n). meta: rows (locations selected), groups, pixels, begin (s), end (s). Columns:
        location (u32; the first one of its group), bucket (u32; index of the part), region (u32; the one that was innermost for the
        longest time; none: no call was open), share (f32; of the part's time in which it was, of all in the group), events (u32;
        recorded in the part), waiting (f32; of the part's time in which the location waited; of a group the mean), open (f32;
        optional; of the part's time in which a call was open, the mean of the group; where locations share a group).
    states
        What samples have found in the locations that are selected, each divided into pixels equal parts of the range. By location
        and part; parts without samples have no row. A sample counts until the next one, at most two periods. Parameters: process
        (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd), rows (RowList), pixels (default: 1000), limit
        (if it is given, all locations share one row for each part, with the means of their shares, the path none, and the samples
        of all). meta: rows (locations selected), pixels, begin (s), end (s). Columns: location (u32), bucket (u32; index of the
        part), path (u32; of the model: the one found longest; none: no function), samples (u32; samples that began there), running
        (f32; share of the part's time), gil (f32; waiting for the GIL), syscall (f32; in the kernel), idle (f32), object_lock (f32;
        waiting for the lock of an object, in a Python without the GIL), stopped (f32; stopped by another thread, in a Python
        without the GIL).
    steps
        When tasks ran, by task, thread and begin. A step that is at least a pixel wide has a separate row; others share one, as in
        timeline. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd), pixels (default:
        1000), rows (first-last of the tasks selected; default: the first 1000). meta: tasks (selected), begin (s), end (s).
        Columns: task (u32; the id of kind tasks), begin (f64; s), end (f64; s), steps (u32), busy (f32; share of the row's time).
    markers
        The markers in the range, by time. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end
        (RangeEnd), limit (default: 10,000). meta: texts[] (one for each row), hidden (markers beyond the limit). Columns: location
        (u32), time (f64; s).
    counters
        The values that the program gave to counters, by location and counter. The values within each of the equal parts of the
        range are one row; the first row of each is the last value before the range. Parameters: process (ProcessIndex), location
        (LocationIndex), begin (RangeBegin), end (RangeEnd), pixels (equal parts that the range is divided into), name (of one of
        them; default: all). meta: names[]. Columns: location (u32), counter (u32; index in names), at (f64; s, of the first value
        of the row), min (f64), max (f64), mean (f64), values (u32; how many).
    metrics
        The metrics that are read at each enter and leave, by location and metric. Of the readings within each of the equal parts of
        the range the last one is a row; the first row is the last reading before the range, or the first of all, the last row the
        first one behind it. low and high are those of the single steps between readings where a part has fewer than 512 events,
        else of the steps of that many events. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end
        (RangeEnd), pixels (equal parts that the range is divided into), rows (RowRange), name (of one of them; default: all), over
        ('sum'; sum: one row for each of the edges of the parts, location none, with the sum over all locations, between readings in
        proportion to the time; of a level the largest of all). meta: rows (locations selected), pixels, begin (s), end (s).
        Columns: location (u32), metric (u32; index in the metrics of facts), at (f64; s), value (f64; since the first reading in
        the location; of a level its height), low (f64; growth per second since the row before; NaN in a first row), high (f64),
        mean (f64).
    messages
        The messages of MPI that are under way within the range, by the time of sending; of more than limit the longest. Messages to
        processes that were not measured are in the matrix alone. Parameters: process (ProcessIndex), location (LocationIndex),
        begin (RangeBegin), end (RangeEnd), limit (default: 20,000). meta: hidden (those left out), comms[] (names of
        communicators). Columns: from (u32; location), to (u32; location; of a message without a receive the first one of its
        process), sent (f64; s), received (f64; s; NaN: no receive was found), bytes (f64), tag (i32), comm (u32; index in comms).
    balance
        How the time of regions is spread: a row for each unit and region that ran there, by unit. The rest of a unit is one row,
        region none, incl = excl. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd),
        region (this one alone), regions (number of regions that have rows, those with the most running time (exclusive, if running
        time is not known); default: 500, fewer if there are many units), over ('auto', 'ranks', 'processes', 'threads'; what a unit
        is; auto (default): the first of the three of which there are two). meta: over ('ranks', 'processes', 'threads'), units[]
        (indices of processes, over threads of locations), regions (that have rows), total (exclusive, s). Columns: unit (u32; index
        in units), region (u32), visits (f64), incl (f64; s), excl (f64; s), running (f64; optional; s of excl in which the threads
        ran, in MPI all of it; where times are split into running and waiting).
    matrix
        The communication matrix, of messages that a process or location selected sent or received, and whose sending began in the
        range. Parameters: process (ProcessIndex), location (LocationIndex), begin (RangeBegin), end (RangeEnd). meta: Matched.
        Columns: from (u32; process; none: not measured), to (u32; process; none: not measured), messages (f64), bytes (f64; as
        sent), received (f64; how many receives were found), time (f64; s, of those received, from the begin of the send to the end
        of the receive).
    ProcessIndex
        Index of what is selected; default: all.
    LocationIndex
        Index of what is selected; default: all.
    RangeBegin
        Where the selected range of time begins (s); default: at the begin of the run.
    RangeEnd
        Where it ends (s); default: at the end of the run.
    RowLimit
        Rows at most; default and 0: as many as the kind gives by itself.
    RowRange
        first-last: only these of the locations that are selected; default: all.
    RowList
        Ranges in ascending order, such as 0-99,200-299: only these of the locations that are selected; default: all.
    Facts
        Of a run. Times are in s; begin and end are since the experiment's begin. title (what ran), directory (of the experiment),
        command[] (of the program, as it was started), host (of the first process), hosts (how many), start (seconds since 1970),
        duration (s), busy (time in functions of all locations together (s)), visits (calls that were measured), regions, paths,
        events (in the trace), bytes (of the raw files), python (its version), traced (there is a trace), sentences[] (where the
        time goes, in words), about[] (the region that each sentence is about, null: no single one), colour ('module', 'function';
        what colours tell functions apart better: function if one package has 80 % of the running time of the ten functions that ran
        longest), cost (What measuring added.; in (s for each call, within its exclusive time), out (s for each call, within its
        caller's exclusive time), total (s), share (of the running time of all locations, or of their time if that is not split)),
        compensated (that cost was taken out of the times), lost[] (sentences: what was not recorded), problems[] (sentences: what
        is damaged), processes[] (Process), locations[] (Location), metrics[] (Metric), has (Has), settings (with which the run was
        recorded), versions (of viewer, spartito, python, mpi; those that are known), pruned[] (optional; sentences, in a page of
        `spartito html`: what it leaves out to stay within its size limit), file (optional; the page is such a file).
    BaseFacts
        Facts of the other run, without its processes and locations. title (what ran), directory (of the experiment), command[] (of
        the program, as it was started), host (of the first process), hosts (how many), start (seconds since 1970), duration (s),
        busy (time in functions of all locations together (s)), visits (calls that were measured), regions, paths, events (in the
        trace), bytes (of the raw files), python (its version), traced (there is a trace), sentences[] (where the time goes, in
        words), cost (What measuring added.; in (s for each call, within its exclusive time), out (s for each call, within its
        caller's exclusive time), total (s), share (of the running time of all locations, or of their time if that is not split)),
        compensated (that cost was taken out of the times), lost[] (sentences: what was not recorded), problems[] (sentences: what
        is damaged), metrics[] (Metric), has (Has), settings (with which the run was recorded), versions (of viewer, spartito,
        python, mpi; those that are known).
    Has
        What the page can show. time: over the run. metrics: read at each enter and leave. waits: of MPI. off_cpu: times are split
        into running and waiting. trace, time, states, counters, metrics, lines, mpi, io, locks, memory, tasks, messages, waits,
        off_cpu, source, compare.
    Process
        name (Rank 2 or Process 4711), rank (or null; in MPI_COMM_WORLD), world (or null; which MPI_COMM_WORLD, of several), pid,
        parent (or null; index of the process that started it), host, begin (s), end (s), ended ('normal', 'stopped', 'abrupt',
        'exited', 'exec', 'running'), command, role (title of the group of processes with equal roles), helper (no work of the
        program ran in it).
    Location
        A thread. process (index), name, begin (s), end (s), busy (time in functions (s)), running (the part of busy on a processor,
        as far as known (s)), mpi (the part of busy in functions of MPI themselves (s)), role (optional; title of the group of
        threads with equal roles; absent: its name), helper (optional; no work of the program ran in it).
    Metric
        Counted beside the time, in 10**exponent unit. name, unit, exponent, what, exclusive (counted by the function itself, at
        times that are not in the trace; the others are read at each enter and leave), level (a height that was reached, not a
        count), source (what counted it: rusage, papi, perf, bytes, wait, sample, memory, off_cpu), total (of the whole run, as it
        was counted).
    Finding
        topic (its key in docs/findings.md), title (what costs), saving (the most that a change could save, in unit), unit ('s',
        'B'), share (the saving as a part of the whole), of (the whole: the run, the time of all threads, the peak), gain (saving
        and share in words), function (module:function; empty: no single one), file, line (0: not known), path[] (names of regions,
        outermost first; empty: no single call path), evidence[] (sentences with the numbers), advice (what to try).
    OffCpu
        name (module:function), file, line (0: not known), kind (what it waited for, such as queue or sleep; other: not known),
        waiting (s).
    ImportedModule
        module, file, own (of the program, not of a library), importer (index of the module that imports it), incl (with the modules
        that it imports (s)), excl (its own statements (s)), loading (to find and load the modules that it imports, and compiled
        modules (s)), running_incl (of incl, the time in which the threads ran (s); all of it if times are not split), waiting_incl
        (of incl, the time in which they waited (s)).
    OwnPart
        part ('own', 'libraries', 'standard', 'imports', 'start_end', 'other'), title, time (s in which threads ran).
    OwnRow
        An own function. Times are s in which threads ran. name (module:function), file, line, visits (calls; null: not known),
        resumed, own (in it), libraries (in functions of libraries that it led to, until the next own function), standard (the same
        of the standard library), other (the same of code that is not known), calls_own (it led to calls of own functions, whose
        time is in their rows), sum, waiting (in which threads waited, in it and in the functions of others that it led to; not in
        sum).
    Renamed
        before (the other run's), after, regions (how many functions).
    Matched
        Of messages: how many sends and receives were found to belong together. messages, bytes (as sent), unmatched_sends (sends
        without a receive), unmatched_receives (receives without a send), unmeasured (messages whose other side was not measured),
        cancelled, early (messages received before they were sent, because clocks differ), early_worst (the largest of these
        differences (s)).
    Found
        Matched, and the same for collective operations. messages, bytes (as sent), unmatched_sends (sends without a receive),
        unmatched_receives (receives without a send), unmeasured (messages whose other side was not measured), cancelled, early
        (messages received before they were sent, because clocks differ), early_worst (the largest of these differences (s)),
        operations (collective operations), incomplete (collective operations in which the part of a member is missing),
        early_operations (other collective operations that a member left before those it depends on had come),
        early_operations_worst (the largest of these differences (s)).
    Stacks
        Of a call path of the model, by its number as text: names of regions, outermost first.
    Waits
        metrics[] (WaitMetric), rows[] (WaitRow), stacks (Stacks), found (Found).
    WaitMetric
        A sum of kinds of waiting, named as Scalasca names it. name (mpi_latesender and the like), shown (the name for people, such
        as Late Sender), what (a sentence), kinds[], parent (index in metrics; null: a part of the time), count, time (s).
    WaitRow
        Waits of one kind at one call path of one location, for one other. kind, path (key of stacks), location (the one that
        waited), process (the one that waited), on_location (the location that was waited for; null: no single one), on (the process
        that was waited for; null: no single one), count, time (s), longest (s).
    Critical
        length (of the run (s)), jumps (from one location to another), locations[] (s on the path, of each location), pieces[]
        (location, from and to (s), in order, without gaps), regions[] (CriticalRegion), paths[] (path, time (s), waiting (of it the
        location waited (s))), stacks (Stacks), found (Found).
    CriticalRegion
        name, file, line, kind, time (on the path (s)), waiting (of it the location waited (s); 0: as in traces without off-CPU
        time), at_least (how much shorter the run gets, at least, if the region loses `share` of its time on the path (s)), at_most
        (the same, at most (s)).
    FileUse
        path (empty: not known), opens, reads, writes, flushes, seeks, failed (operations that failed, other than opens),
        bytes_read, bytes_written, read_time (s), write_time (s), flush_time (s).
    Tasks
        count, unlisted (tasks that are in the sums of groups alone), never (tasks that were created but never began; not in count),
        coroutines (coroutines that ran outside of tasks), handed (Work that was given to the threads of pools.; given (pieces of
        work), taken (of these, how many began), waited (from giving to beginning, all together (s)), longest (s)), groups[]
        (TaskGroup), tasks[] (Task).
    TaskGroup
        Tasks of one outermost coroutine. name (null: not known), tasks, unlisted, states (how many: waiting, running, returned,
        raised, cancelled, dropped), steps, running (s), waiting (s), longest (the longest that one of them waited (s)), waits[]
        (TaskWait).
    Task
        id, name, process, number (in the process), region (or null; name of its outermost coroutine), location (or null; that ran
        it last), creator (or null; id of the task that created it), by (or null; location that created it), state (waiting,
        running, returned, raised, cancelled or dropped), seen_created (its creation was seen; otherwise created is its begin),
        created (s), begin (s), end (s), running (s), waiting (s), steps, waits[] (TaskWait; the longest kinds).
    TaskWait
        where (the innermost coroutine; null: not known), what (type of what was awaited; null: not known), count, time (s).
    Locks
        objects[] (Waited), waits[] (LockWait; the longest first), hidden (waits that are not among these, as they are too many),
        stacks[][] (names of functions, outermost first), deadlocks[] (lines about threads that wait for each other), cycles[][]
        (the same: each waits for the lock, which the next one holds; location, lock).
    Waited
        A lock, a queue, a thread and the like that was waited for, or sleeping and the like, which are one for each kind. name,
        acquired (how often it was acquired; 0: not known), held (hold time since the first wait for it (s)).
    LockWait
        Waits of one thread at one source location for one object with one lock holder, or none. object (index in objects),
        location, holder (location; null: none, or not known), stack (index in stacks), holder_stack (index in stacks), at
        (file:line, or empty), count, time (s), longest (s), open (the last one had not ended).
    Memory
        Bytes are those that were asked for. processes[] (Heap), lines[] (LineSite; the lines with the most bytes at the peak, left
        at the end, allocated, and temporary), paths[] (PathSite; the same of call paths), threads[] (ThreadSite), hidden (how many
        lines, call paths and threads are left out), stacks (Stacks), totals (Sums of all sites.; count (blocks allocated), bytes
        (allocated), peak (blocks at the peak), peak_bytes, left (blocks never released before the program ended), left_bytes,
        temporary (blocks released before the thread allocated more than one other of about that size), temporary_bytes,
        growing_bytes (the part of left_bytes that kept growing until the end), cache_bytes (the part of left_bytes that was
        allocated in a short time, as a cache is)), notes[] (sentences: what is not in the numbers).
    Heap
        Of one process. process (index), rows (of the columns: the first, and behind the last), count (blocks recorded), allocated
        (bytes recorded), freed (blocks), freed_bytes, blocks (still there at its end), bytes (still there at its end), peak_bytes,
        peak_blocks, peak_time (or null; s), unknown (blocks released that were there before, or were not recorded), lost (blocks
        allocated, not recorded), lost_bytes, unnamed (frames without a name, which count as their caller), sample (mean bytes
        between two that were recorded; 0: all), own (bytes that recording took), cost (s that it took, about; 0: not known), begin
        (s), ended (the program's end (s); null: not seen), resident (last), resident_peak, resident_peak_time (or null; s), limit
        (HeapLimit; of resident bytes; null: none was given).
    HeapLimit
        bytes, passed (when first (s); null: never), passes, over (s above it), function (or null; that passed it first), file (or
        null), line, path (or null).
    LineSite
        What one line allocated. function (module:function; null: not known), file (or null), line, within (the source location in a
        library that allocated for this line; null: the line allocated itself, or is not the program's own), count (blocks
        allocated), bytes (allocated), peak (blocks at the peak), peak_bytes, left (blocks never released before the program ended),
        left_bytes, temporary (blocks released before the thread allocated more than one other of about that size), temporary_bytes,
        growing_bytes (the part of left_bytes that kept growing until the end), cache_bytes (the part of left_bytes that was
        allocated in a short time, as a cache is).
    PathSite
        What one call path allocated. path (key of stacks), count (blocks allocated), bytes (allocated), peak (blocks at the peak),
        peak_bytes, left (blocks never released before the program ended), left_bytes, temporary (blocks released before the thread
        allocated more than one other of about that size), temporary_bytes, growing_bytes (the part of left_bytes that kept growing
        until the end), cache_bytes (the part of left_bytes that was allocated in a short time, as a cache is).
    ThreadSite
        What one thread allocated. process, location, count (blocks allocated), bytes (allocated), peak (blocks at the peak),
        peak_bytes, left (blocks never released before the program ended), left_bytes, temporary (blocks released before the thread
        allocated more than one other of about that size), temporary_bytes, growing_bytes (the part of left_bytes that kept growing
        until the end), cache_bytes (the part of left_bytes that was allocated in a short time, as a cache is).
    LineFunction
        name (module:function), module, function (its qualified name), file, line (the first one), excl (exclusive time of all its
        lines (s)), callees (s), lines[] (line, hits, exclusive time and time in callees (s), of those that ran), base (BaseLines;
        optional).
    BaseLines
        Of the run compared with, where it has the function (spartito.view.linechanges). name, file, line, excl (s), callees (s), by
        ('text', 'offset'; how lines were found to be the same: by their text, or by their distance from the function's first line),
        lines[], gone[] (those that have no counterpart).
    f64
        A column of 64-bit reals.
    f32
        A column of 32-bit reals.
    u32
        A column of 32-bit numbers, often indices; 0xffffffff: none.
    i32
        A column of signed 32-bit numbers.
    u8
        A column of bytes.
"""

from __future__ import annotations

import functools
import threading

from spartito.base.messages import Refused
from spartito.report.lines.source import Sources
from spartito.view import changes, facts, linechanges, memory, payload, reports, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from spartito._analyse import Model

REALS = frozenset(("begin", "end", "share"))
WORDS = frozenset(("metric", "name", "of", "over", "rows"))
MAX_SOURCE = 8 << 20  # bytes of a source file; larger ones are not shown


class BadQuery(Refused):
    """A query with an unknown kind or invalid parameters. The message is one line."""


def _number(name: str, text: str) -> int | float | str:
    if name in WORDS:
        return text
    try:
        return float(text) if name in REALS else int(text)
    except ValueError:
        raise BadQuery(f"{name} cannot be {text!r}: a number is needed") from None


class Experiment:
    """An experiment that answers queries; several threads may call it at the same time."""

    def __init__(
        self, model: Model, directory: str, *, source: bool = True, compensated: bool = False, base: Experiment | None = None
    ) -> None:
        """source: whether the text of source files may be shown. compensated: the cost of measuring is subtracted from the model's
        times. base: the run to compare with."""
        self.model = model
        self.directory = directory
        self.source = source
        self.compensated = compensated
        self.base = base
        self.on_query: Callable[[str], None] | None = None  # called with the kind of each query before it is answered
        if base:
            model.view_against(base.model)
        self._kept: dict[str, bytes] = {}  # cache of answers that have no parameters and take long
        self._made_facts: dict[str, Any] | None = None
        self._files: list[str] = []
        self._sources: Sources | None = None
        self._same: changes.Same | None = None
        self._own: dict[str, Callable[[dict[str, Any]], bytes]] = {
            "compare": self._compare,
            "critical": self._critical,
            "facts": self._facts,
            "lines": self._lines,
            "memory": self._memory,
            "source": self._source,
            "tasks": self._tasks,
            **{kind: functools.partial(self._report, kind) for kind in reports.ANSWERS},
        }
        self._locks = {kind: threading.Lock() for kind in self._own}

    @property
    def runs(self) -> list[Experiment]:
        """This run, and the one to compare with, if any."""
        return [self] if self.base is None else [self, self.base]

    def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """The payload. parameters: as in a URL; empty values are ignored. BadQuery, _analyse.Error: the message is one line."""
        if self.on_query is not None:
            self.on_query(kind)
        given = {name: _number(name, text) for name, text in parameters.items() if text}
        if "of" in given:
            return self._of(str(given["of"]), kind, parameters)
        try:
            return self._own[kind](given) if kind in self._own else self.model.view(kind, **given)
        except (ValueError, TypeError) as e:
            raise BadQuery(str(e)) from e

    def _of(self, run: str, kind: str, parameters: Mapping[str, str]) -> bytes:
        if run != "base":
            raise BadQuery(f"of cannot be {run!r}: only of=base")
        if self.base is None:
            raise BadQuery("there is nothing to compare with: spartito view --compare")
        return self.base.get(kind, {name: text for name, text in parameters.items() if name != "of"})

    def _once(self, kind: str, given: dict[str, Any], make: Callable[[], dict[str, Any]]) -> bytes:
        """An answer without parameters, which is made once. Threads that query it meanwhile wait for it."""
        for name in given:
            raise BadQuery(f"{kind} takes no {name}")
        with self._locks[kind]:
            if kind not in self._kept:
                self._kept[kind] = payload.pack(make())
            return self._kept[kind]

    def facts(self) -> dict[str, Any]:
        """The facts, see spartito.view.facts. All callers share this object, so do not change it."""
        if self._made_facts is None:
            has = {"source": self.source, "compare": self.base is not None}
            self._made_facts = facts.facts(self.model, self.directory, has, self.compensated)
        return self._made_facts

    def _facts(self, given: dict[str, Any]) -> bytes:
        return self._once("facts", given, self.facts)

    def _compare(self, given: dict[str, Any]) -> bytes:
        base = self.base
        if base is None:
            raise BadQuery("there is nothing to compare with: spartito view --compare")

        def made() -> dict[str, Any]:
            sentences = changes.sentences(self.model, self.model.info(), base.model.info())
            other = {key: value for key, value in base.facts().items() if key not in ("processes", "locations", "about", "colour")}
            same = self._counterparts(base)
            places = {"processes": same.processes, "locations": same.locations, "names": same.names}
            there, here = ((one.directory, one.model.info()) for one in (base, self))
            return {"base": other, **words.as_members(sentences), **changes.recorded(there, here, self.compensated), **places}

        return self._once("compare", given, made)

    def _counterparts(self, base: Experiment) -> changes.Same:
        if self._same is None:
            self._same = changes.Same(self.model, base.model)
        return self._same

    def _report(self, kind: str, given: dict[str, Any]) -> bytes:
        return self._once(kind, given, lambda: reports.ANSWERS[kind](self.model, self.compensated))

    def _critical(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.critical_path(**given))

    def _tasks(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.tasks(**given))

    def _memory(self, given: dict[str, Any]) -> bytes:
        for name in given.keys() - {"process"}:
            raise BadQuery(f"memory takes no {name}")
        return payload.pack(*memory.answer(self.model, given.get("process")))

    def _lines(self, given: dict[str, Any]) -> bytes:
        ranged = "begin" in given or "end" in given
        functions = self.model.lines(**{name: value for name, value in given.items() if name not in ("begin", "end")})
        functions.sort(key=lambda f: -(f["excl"] + f["callees"]))
        notes = {"unclipped": "times of lines are those of the whole run: the trace does not hold them"} if ranged else {}
        if self.base is not None and functions:
            notes.update(self._lines_before(functions, given, self.base))
        return payload.pack({"functions": functions, **notes})

    def _lines_before(self, functions: list[dict[str, Any]], given: dict[str, Any], base: Experiment) -> dict[str, str]:
        same = self._counterparts(base)
        asked = {}
        for name, those in (("process", same.processes), ("location", same.locations)):
            if name in given and given[name] not in those:
                return {"base_none": "the other run has no counterpart of what is selected"}
            if name in given:
                asked[name] = those.index(given[name])
        before = base.model.lines(**asked)
        if not before:
            return {"base_none": "no lines were recorded in the other run"}
        linechanges.pair(functions, before, same.functions, self._lines_of, base._lines_of)
        return {}

    def _known(self) -> Sources:
        if self._sources is None:
            self._sources = Sources(self.directory, self.model.info()["end"])
        return self._sources

    def _lines_of(self, file: str) -> list[str]:
        """The lines of a source file; empty if it may not be shown or cannot be read."""
        sources = self._known()
        return sources.of(file).lines if self.source and sources.readable(file, MAX_SOURCE) else []

    def _source(self, given: dict[str, Any]) -> bytes:
        for name in given.keys() - {"file"}:
            raise BadQuery(f"source takes no {name}")
        if "file" not in given:
            raise BadQuery("source needs a file: its index in the list of regions")
        with self._locks["source"]:
            if not self._files:
                self._files = payload.unpack(self.model.view("regions"))[0]["files"]
            if not 0 <= given["file"] < len(self._files):
                raise BadQuery(f"there is no file {given['file']}; there are {len(self._files)}")
            file = self._files[given["file"]]
            return payload.pack({"file": file, **self._text(file, self._known())})

    def _text(self, file: str, sources: Sources) -> dict[str, str]:
        if not self.source:
            return {"missing": "no source: it is left out of this page"}
        if not sources.readable(file, MAX_SOURCE):
            return {"missing": f"no source: {file} is no source file, or too large" if file else "no source: the file is not known"}
        found = sources.of(file)
        if not found.lines:
            return {"missing": found.remark or f"no source: {file} is empty"}
        return {"text": "".join(found.lines), "remark": found.remark}


def open_experiment(directory: str, *, compare: str | None = None, compensate: bool = False, source: bool = True) -> Experiment:
    """compare: the directory of a run to compare with. compensate: subtract the cost of measuring from the times of both. Refused,
    _analyse.Error: an experiment cannot be read, or both are the same."""
    from spartito.experiments.reading import another, load

    base = None
    if compare is not None:
        another(directory, compare)
        base = open_experiment(compare, compensate=compensate, source=source)
    return Experiment(load(directory, compensate)[0], directory, source=source, compensated=compensate, base=base)
