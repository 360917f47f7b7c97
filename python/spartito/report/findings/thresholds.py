# SPDX-License-Identifier: BSD-3-Clause
"""The numbers from which something is a finding. docs/findings.md explains them."""

# ---- all topics
MAX_FINDINGS = 7  # more are not read
IN_SUMMARY = 3  # of these, in the summary of a run
SHARE = 0.05  # of the whole: two runs of the same program may differ by a smaller one
SECONDS = 0.1  # nobody notices a shorter time
IDLE = 0.01  # of its time in functions: a thread that ran for less waits for work
PATH_SHARE = 0.01  # call paths with less of all time are not searched, so that the summary stays fast

# ---- small functions
SMALL_CALLS = 50_000  # calls: below, the gain is at most some milliseconds
SMALL_TIME = 5e-6  # s of exclusive time a call: a few statements, beside 30 to 100 ns for the call itself
LOOP_CALLS = 100  # calls for each call of the caller: the calls come from a loop in it

# ---- the same arguments
SAME_CALLS = 10  # calls with equal arguments: fewer may be chance

# ---- overhead
OVERHEAD_SHARE = 0.1  # of the running time: from here on, the order of functions in a table may be that of their calls
OVERHEAD_FUNCTIONS = 3  # that the advice excludes: further ones have few calls

# ---- imbalance
IMBALANCE = 0.25  # (maximum / mean - 1): below, workers with equal work differ as much when the machine is busy
MIN_WORKERS = 2  # that ran the call path
WAITED = 0.1  # share of recorded waits in the time of a call path: with more, the time does not measure work

# ---- the GIL
ACTIVE = 0.25  # of the time of the most active thread: a thread with less only starts others and waits for them

# ---- oversubscription
NATIVE_SHARE = 0.2  # of a process's processor time outside of Python's threads: start of the interpreter and idle pools take less

# ---- file I/O
IO_CALLS = 1_000  # reads or writes of one call path: fewer are the normal use of files
IO_SMALL = 512  # bytes a call on average: a block of a disk, the least that hardware transfers
IO_BUFFER = 8_192  # bytes of a call with a buffer: the size of Python's own (io.DEFAULT_BUFFER_SIZE until 3.13)

# ---- memory
MEMORY_BYTES = 1 << 20  # 1 MiB: interpreter and modules keep less than this while they are loaded
PEAK_TIME = 0.05  # share of the time of a process: memory that is needed for less is a temporary peak
PEAK_SHARE = 0.5  # of the peak that is temporary: the program would otherwise need less than half

# ---- garbage collections
COLLECTORS = 3  # call paths that are named

# ---- exceptions
EXCEPTIONS = 10_000  # calls that they end: an exception takes about a microsecond, so that fewer take some milliseconds

# ---- event loops
INDEPENDENT = 2  # tasks that a callback delays: one of them may wait for it
BLOCKING = 0.1  # s: asyncio's own limit for slow callbacks (loop.slow_callback_duration)
