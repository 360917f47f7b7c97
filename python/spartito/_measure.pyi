"""The measurement extension module. It runs inside the measured program."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

def boot() -> bool:
    """Start measuring as SPARTITO_EXPERIMENT and the other SPARTITO_* variables say; called by spartito.pth.

    Never raises and never prints: it writes an error to the experiment (`<dir>/raw/<host>-<pid>.error`, one line).
    Recording begins when the interpreter has finished its start-up."""

def start(directory: str, settings: Mapping[str, str]) -> None:
    """Start measuring into the existing experiment directory. settings: names of the SPARTITO_* variables in lower case without the
    prefix, and their values (trace, hook, c_calls, memory, when_full, filter, only_mine, depth, metrics, lines, source,
    instrument). ValueError: an invalid value, or a measurement already runs; OSError: the directory cannot be written."""

def stop() -> None:
    """End the measurement. Without a measurement it does nothing."""

def active() -> bool: ...
def experiment() -> str | None:
    """The directory of the running measurement."""

def pause() -> None:
    """Record nothing until resume(). Regions stay open; a region that is left before resume() has no leave event."""

def resume() -> None: ...
def instrument(on: bool) -> bool:
    """Enables or disables the recording of functions. User regions are recorded in any case. Returns whether the state changed."""

def instrumented() -> bool:
    """Whether functions are recorded. False without a measurement."""

def uninstrumented() -> bool:
    """Whether a measurement runs that does not record functions."""

def thread_functions(on: bool) -> bool:
    """Enables or disables the recording of functions in the calling thread; it has an effect only while the process records
    functions. User regions are recorded in any case. Returns whether the state changed."""

def label(words: str) -> None:
    """Sets the labels (args, file, path, line, separated by commas) of functions that begin from now on. Call
    sys.monitoring.restart_events() afterwards as for filter(). ValueError: an unknown label."""

def annotate(on: bool) -> None:
    """Enables or disables the recording of facts about the code object of functions that begin from now on. Call
    sys.monitoring.restart_events() afterwards as for filter()."""

def filter(items: str) -> None:
    """Replaces the filter for functions that begin from now on. items: as in the setting `filter`. With Python 3.12 and newer, call
    sys.monitoring.restart_events() afterwards. ValueError: an invalid item."""

def cells(numbers: dict[str, int] | None, /) -> None:
    """Sets the dictionary that maps a file name as which a notebook cell is compiled to the number of the cell; negative numbers
    mean code that only calls a magic. The recorder reads it during a measurement. Functions of a cell get the module and file
    In[NUMBER], and the experiment stores their source."""

def before_mpi() -> None:
    """Makes the MPI wrappers take precedence over an MPI library that is loaded later, so that any later measurement can record its
    calls."""

def leave_out(threads: Iterable[int], packages: Iterable[str], /) -> None:
    """Excludes threads from the recording, from the next start() or resume() on: those with these native ids, and those that begin
    later and whose class is of one of these packages. Each call replaces both lists."""

@overload
def region_begin(name: str, group: str | None = None, file: str | None = None, line: int = 0, function: bool = False) -> None:
    """Enters a region. group: its module, the part of its full name before the colon. Without a file, the region's source location
    is that of the caller. function: the region is the Python function with this module, name, file and line."""

@overload
def region_begin(region: region, /) -> None: ...
@overload
def region_end(name: str, group: str | None = None, file: str | None = None, line: int = 0, function: bool = False) -> bool:
    """Leaves a region. Returns whether it was open; True if it is not recorded."""

@overload
def region_end(region: region, /) -> bool: ...
def lines(function: Function, /) -> Function:
    """Marks a function, method or class: every measurement from now on records its lines. Returns the argument unchanged; without a
    measurement, its calls cost no extra time. TypeError: the argument has no lines."""

def rewind_begin(name: str, file: str | None = None, line: int = 0) -> None:
    """Begins a region of this thread that rewind_end() can remove from the trace."""

def rewind_end(name: str, undo: bool) -> bool:
    """Ends that region. undo: remove the events since rewind_begin() from the trace. Returns whether the region had begun."""

def parameter(name: str, value: int | str | float) -> None:
    """Sets a parameter of the innermost region. From now on the call counts in a separate call path for this value.
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
    """The hooks: (name, whether it works with this Python, a remark: the reason if it does not). The first one that works is the
    default."""

def metrics(wanted: str | None = None, /) -> list[tuple[str, str, str | None]]:
    """Metrics: (source:name, description, the reason why this machine cannot count it or None). wanted: a list such as
    "rusage:ru_utime,perf:cycles"; None: all known metrics. ValueError: an unknown name or source."""

def mpi_groups() -> list[str]:
    """The groups of MPI functions that the setting `mpi` accepts."""

def witness_begin() -> None:
    """Starts the witness: a child process that only notes which signals it receives. A signal that both this process and the
    witness receive was sent to the whole process group, and so the measured program has received it, too."""

def witness_has(number: int, /) -> bool:
    """Whether the witness received signal `number` since the last call for it. Call it once for each signal that this process
    receives."""

def witness_end() -> None:
    """Ends the witness. It also ends when this process ends."""

def host() -> str:
    """An identifier of this host or container: process ids of equal identifiers are of the same namespace."""

def spawn(command: list[bytes], environment: list[bytes], mask: Iterable[int], by_default: Iterable[int], ignored: Iterable[int], /) -> int:
    """Starts a program like execvpe() in a child process, and returns the process id once the program runs. environment: words
    NAME=VALUE. mask: blocked signals. by_default, ignored: signals whose action is reset to the default or to ignore. OSError: the
    program cannot be started; ValueError: a word contains a NUL."""

def takes(pattern: str, functions: Iterable[tuple[str, str, str]], /) -> bool:
    """Whether a pattern of --include or --exclude matches at least one function (module, qualified name, file). ValueError: the
    pattern is invalid."""

def saw_end(directory: bytes, pid: int, /) -> None:
    """Writes the current time as the end of a process of this host into its raw file, unless the process recorded its end itself. A
    process that SIGKILL ended cannot."""

def settings() -> list[tuple[str, str]]:
    """(name, value) of every active setting; empty without a measurement."""
