"""Stacks in other processes, read from outside."""

from typing import final

# module, qualified name, file, first line, line that runs (0: not known), outermost of a call of the evaluator, address of the frame
Frame = tuple[str, str, str, int, int, bool, int]
# thread id (0: not known), has the interpreter's lock, frames, innermost first (None: torn), whether outer frames are missing
Thread = tuple[int, bool, list[Frame] | None, bool]
# thread id, state (running, gil: waits for the interpreter's lock, system call, idle), ns on a processor, frames (empty: it runs no Python
# code, None: torn), whether outer frames are missing
Look = tuple[int, str, int, list[Frame] | None, bool]
# object file, symbol (None: not known), its begin in the object file, instruction (None, None, 0 and an address: in no object file)
NativeFrame = tuple[str | None, str | None, int, int]
# thread id, 1: down to its begin, 0: not; or a negative errno (EBUSY: it runs and may not be stopped, EAGAIN: it went on meanwhile),
# state (as above), frames, innermost first (None: an errno)
Mixed = tuple[int, int, str, list[Frame | NativeFrame] | None]

@final
class Process:
    """A process in which CPython 3.9 to 3.14 runs. Nothing in it is changed, and nothing stopped but for mixed().

    native: mixed() will be asked for, by one thread; stop: threads that run may be stopped for a moment.

    OSError, with a sentence that says the way out: ProcessLookupError: no such process; PermissionError: it may not be looked into;
    FileNotFoundError: it runs no Python, or has not started yet; else (ENOTSUP) a Python that is not known."""

    def __new__(cls, pid: int, native: bool = False, stop: bool = True) -> Process: ...
    @property
    def version(self) -> tuple[int, int]: ...
    def stacks(self, depth: int = 1024) -> list[Thread]:
        """All threads that Python knows. ProcessLookupError: Python in it has ended; BlockingIOError: its threads changed too often."""

    def look(self, depth: int = 1024) -> list[Look]:
        """All threads of the kernel; ProcessLookupError as stacks()."""
    def mixed(self, depth: int = 1024, interpreter: bool = False) -> list[Mixed]:
        """All threads, with compiled frames above the Python function that called them. interpreter: and the interpreter's own."""

    def counts(self) -> dict[str, int]:
        """Of mixed(): stops, stopped (ns), repeated, continued (system calls set right), incomplete, late, changed."""

    def alive(self) -> bool: ...
    def close(self) -> None:
        """Other methods raise ValueError from here on."""

def offsets(version: int, /) -> dict[str, int | None]:
    """Where the fields of a version's structs (0x030b) stand; empty: it is not known."""
def check() -> str | None:
    """A sentence about why processes cannot be looked into here, with the way out; None: they can."""

def manage(directory: str, settings: list[bytes], rate: int, native: bool, notebook: int = 0, place: str = "", /) -> tuple[int, int]:
    """Forks the process that starts a sampler for each measured process of the experiment in directory. settings: name and value in
    turns, as the recorder has them; rate: Hz; native: compiled frames too; notebook: the process that runs cells, whose shell is
    left out; place: a file that it locks, and takes away before it ends. Returns its id, and a descriptor to be written to when the program has ended; it answers when the files of all processes
    that have ended, or in which the measurement has, are complete. OSError."""

def sample(directory: str, settings: list[bytes], rate: int, native: bool, pid: int, /) -> tuple[int, int]:
    """Forks a sampler of a process that is not measured. Returns its id, and a descriptor to be written to, or closed, when it is to
    end; a sentence about why nothing could be sampled is to be read there. It ends with the process. OSError."""
