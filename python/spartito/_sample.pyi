"""The sampling extension module: reads call stacks of other processes from outside."""

from typing import final

# module, qualified name, file, first line, current line (0: not known), whether it is the outermost frame of a call of the frame
# evaluator, address of the frame
Frame = tuple[str, str, str, int, int, bool, int]
# thread id (0: not known), whether it holds the GIL, frames, innermost first (None: the stack changed while it was read), whether
# outer frames are missing
Thread = tuple[int, bool, list[Frame] | None, bool]
# thread id, state ("running", "gil": waits for the GIL, "system call", "idle"), processor time in ns, time in ns ready to run
# without a processor, frames (empty: no Python code, None: the stack changed while it was read), whether outer frames are missing
ThreadSample = tuple[int, str, int, int, list[Frame] | None, bool]
# object file, symbol (None: not known), offset of its begin in the object file, offset of the instruction; None, None, 0 and an
# absolute address: the code is in no object file
NativeFrame = tuple[str | None, str | None, int, int]
# thread id; 1: the stack is complete, 0: outer frames are missing, negative: an errno (EBUSY: the thread runs and may not be
# stopped, EAGAIN: it continued meanwhile); state (as above); frames, innermost first (None: an errno)
Mixed = tuple[int, int, str, list[Frame | NativeFrame] | None]

@final
class Process:
    """A process in which CPython 3.9 to 3.15 runs. The sampler changes nothing in it; only mixed() stops threads.

    native: one thread of the caller will call mixed(). stop: mixed() may stop running threads briefly.

    OSError, with a sentence that names the remedy: ProcessLookupError: no such process; PermissionError: no permission to read it;
    FileNotFoundError: it runs no Python, or Python has not started yet; ENOTSUP: an unknown version of Python."""

    def __new__(cls, pid: int, native: bool = False, stop: bool = True) -> Process: ...
    @property
    def version(self) -> tuple[int, int]: ...
    def stacks(self, depth: int = 1024) -> list[Thread]:
        """Stacks of all threads with a Python thread state. depth: maximum number of frames of a thread. ProcessLookupError: Python
        has ended in the process; BlockingIOError: the list of threads changed during each attempt."""

    def read_threads(self, depth: int = 1024) -> list[ThreadSample]:
        """States and stacks of all threads that the kernel lists. ProcessLookupError: as for stacks()."""
    def mixed(self, depth: int = 1024, interpreter: bool = False) -> list[Mixed]:
        """Stacks of all threads with Python and compiled frames. interpreter: include the compiled frames of the interpreter
        itself."""

    def counts(self) -> dict[str, int]:
        """Statistics of mixed(): stops, stopped (ns), repeated, continued (interrupted system calls that were restarted),
        incomplete, late, changed."""

    def alive(self) -> bool: ...
    def close(self) -> None:
        """Closes the process. All other methods raise ValueError afterwards."""

def offsets(version: int, without_gil: bool = ..., /) -> dict[str, int | None]:
    """Offsets of the struct fields of a version of CPython, such as 0x030b for 3.11; empty: the version is not known."""
def check() -> str | None:
    """A sentence about why other processes cannot be sampled on this machine, with the remedy; None: they can be."""

def manage(directory: str, settings: list[bytes], rate: int, native: bool, notebook: int = 0, place: str = "", /) -> tuple[int, int]:
    """Forks the manager, a process that starts a sampler for each measured process of the experiment in `directory`.

    settings: names and values of settings in turn, as in the recorder. rate: in Hz. native: include compiled frames. notebook: id
    of the process that runs cells; the frames of its shell are left out. place: path of a file that the manager locks, and removes
    before it ends. Returns the manager's process id and a file descriptor. The caller writes to the descriptor when the program has
    ended; the manager answers when the files of all processes are complete that have ended or whose measurement has ended. OSError:
    it cannot be started."""

def sample(directory: str, settings: list[bytes], rate: int, native: bool, pid: int, /) -> tuple[int, int]:
    """Forks a sampler of a process that does not measure itself. Returns the sampler's process id and a file descriptor: the caller
    writes to it or closes it to end the sampler, and reads from it a sentence if nothing could be sampled. The sampler also ends
    when process `pid` ends. settings, rate, native: as for manage(). OSError: it cannot be started."""
