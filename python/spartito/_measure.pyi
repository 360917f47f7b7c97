"""The measuring half: what runs inside the measured program."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

def boot() -> bool:
    """Start measuring as SPARTITO_EXPERIMENT and the other SPARTITO_* variables say; called by spartito.pth.

    Never raises and never prints: what went wrong is written to the experiment (`<dir>/raw/<host>-<pid>.error`, one line).
    Recording begins when the interpreter has finished its start-up."""

def start(directory: str, settings: Mapping[str, str]) -> None:
    """Start measuring into the existing experiment directory. settings: the same names and values as the variables, without SPARTITO_,
    in lower case (trace, hook, c_calls, memory, when_full, filter, only_mine, depth, metrics, lines, source, instrument).
    ValueError: a value that cannot be read, or measuring already; OSError: the directory cannot be written."""

def stop() -> None:
    """End the measurement; nothing happens without one."""

def active() -> bool: ...
def experiment() -> str | None:
    """The directory of the running measurement."""

def pause() -> None:
    """Record nothing until resume(). Regions stay open; what ends meanwhile ends unseen."""

def resume() -> None: ...
def instrument(on: bool) -> bool:
    """Whether functions are recorded from here on; user regions are in any case. True: that changed it."""

def instrumented() -> bool:
    """Are functions recorded? False without a measurement."""

def uninstrumented() -> bool:
    """Is there a measurement in which functions are not recorded?"""

def thread_functions(on: bool) -> bool:
    """Whether functions are recorded in the calling thread, where they are in the process; regions are in any case. True: that
    changed it."""

def label(words: str) -> None:
    """What functions that begin from here on are labelled with: args, file, path, line, divided by commas; as filter() for the rest."""

def annotate(on: bool) -> None:
    """Whether facts of the code of functions that begin from here on are recorded; as filter() for the rest."""

def filter(items: str) -> None:
    """Another filter, as the setting has it, for functions that begin from here on. From 3.12 on sys.monitoring.restart_events() must
    follow. ValueError: an item that cannot be read."""

def cells(numbers: dict[str, int] | None, /) -> None:
    """The number of the notebook's cell for each file name that cells are compiled as, negative for code that only calls a magic; it is
    asked while something is measured. Functions of cells are of the module and file In[NUMBER], and their source is kept."""

def before_mpi() -> None:
    """Puts the wrappers of MPI in front of an MPI that is loaded later, so that its calls can be recorded from any measurement on."""

def leave_out(threads: Iterable[int], packages: Iterable[str], /) -> None:
    """Native ids of threads of which nothing is recorded from the next start or resume() on, and packages: nor of threads that begin later,
    of their classes. Each call replaces both."""

@overload
def region_begin(name: str, group: str | None = None, file: str | None = None, line: int = 0, function: bool = False) -> None:
    """group: the region's module, and what stands before the colon of its name. Without a file the caller's place is the region's.
    function: the region is that of the Python function of this module, name, file and line."""

@overload
def region_begin(region: region, /) -> None: ...
@overload
def region_end(name: str, group: str | None = None, file: str | None = None, line: int = 0, function: bool = False) -> bool:
    """Whether the region was open; True where it is not recorded."""

@overload
def region_end(region: region, /) -> bool: ...
def lines(function: Function, /) -> Function:
    """Marks a function, method or class: its lines are recorded whenever something is measured, from now on. Returns it as it is; a
    call costs nothing where nothing is measured. TypeError: nothing that has lines."""

def rewind_begin(name: str, file: str | None = None, line: int = 0) -> None:
    """A point in this thread's trace, shown as a region."""

def rewind_end(name: str, undo: bool) -> bool:
    """The end of that region; undo: what the trace recorded since is taken out of it. Whether it had begun."""

def parameter(name: str, value: int | str | float) -> None:
    """Of the innermost region: it counts from here on as one with that value, in a call path of its own.
    OverflowError: an int that does not fit into 64 bits."""

def parameter_uint(name: str, value: int) -> None: ...
def counter(name: str, value: float) -> None: ...
def marker(text: str) -> None: ...

class region:
    """`with region(name):`, `async with` the same, or a decorator of functions, coroutines and generators; a decorator
    without a name takes the function's qualified name. A no-op without a measurement."""

    @overload
    def __new__(
        cls, name: str = ..., group: str | None = None, file: str | None = None, line: int = 0, function: bool = False
    ) -> region: ...
    @overload
    def __new__(cls, name: Function) -> Function: ...  # type: ignore[misc]  # @region decorates at once
    @property
    def name(self) -> str | None: ...
    def __enter__(self) -> region: ...
    def __exit__(self, *args: object) -> None: ...
    async def __aenter__(self) -> region: ...
    async def __aexit__(self, *args: object) -> None: ...
    def __call__(self, function: Function) -> Function: ...

def hooks() -> list[tuple[str, bool, str]]:
    """(name, works with this Python, why not or what for) of each hook; the first that works is the default."""

def metrics(wanted: str | None = None, /) -> list[tuple[str, str, str | None]]:
    """(source:name, description, None or why it cannot be counted here) of each metric of a list such as "rusage:ru_utime,perf:cycles";
    without one, of all that are known. ValueError: a name or source that does not exist."""

def mpi_groups() -> list[str]:
    """The words that the setting mpi knows."""

def witness_begin() -> None:
    """Starts a process that gets all signals that are sent to this one's process group, and does nothing else."""

def witness_has(number: int, /) -> bool:
    """Whether it got that signal, too, since it was asked last: then the whole group did. To be asked for each signal that came here."""

def witness_end() -> None:
    """Ends that process, which ends with this one at the latest."""

def host() -> str:
    """What tells this host, or container, from others in which process ids mean other processes."""

def spawn(command: list[bytes], environment: list[bytes], mask: Iterable[int], by_default: Iterable[int], ignored: Iterable[int], /) -> int:
    """Starts a program as execvpe() does (environment: words NAME=VALUE), with that mask of signals and these signals by default or
    ignored, and returns its process id once it runs. OSError: it cannot be started; ValueError: a NUL in a word."""

def takes(pattern: str, functions: Iterable[tuple[str, str, str]], /) -> bool:
    """Whether the pattern of --include or --exclude takes one of these: module, qualified name, file. ValueError: it cannot be read."""

def saw_end(directory: bytes, pid: int, /) -> None:
    """A process of this host has ended just now: its raw file, where it could not say so itself (SIGKILL), gets that time."""

def settings() -> list[tuple[str, str]]:
    """(name, value) of every setting in force; empty without a measurement."""
