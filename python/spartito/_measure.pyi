"""The measuring half: what runs inside the measured program."""

from collections.abc import Mapping
from types import TracebackType

def boot() -> bool:
    """Start measuring as SPARTITO_EXPERIMENT and the other SPARTITO_* variables say; called by spartito.pth.

    Never raises and never prints: what went wrong is written to the experiment (`<dir>/raw/<host>-<pid>.error`, one line).
    Recording begins when the interpreter has finished its start-up."""

def start(directory: str, settings: Mapping[str, str]) -> None:
    """Start measuring into the existing experiment directory. settings: the same names and values as the variables, without SPARTITO_,
    in lower case (trace, hook, c_calls, memory, when_full, filter, only_mine, depth).
    ValueError: a value that cannot be read, or measuring already; OSError: the directory cannot be written."""

def stop() -> None:
    """End the measurement; nothing happens without one."""

def active() -> bool: ...
def experiment() -> str | None:
    """The directory of the running measurement."""

def pause() -> None: ...
def resume() -> None: ...
def region_begin(name: str) -> None: ...
def region_end(name: str) -> None: ...
def parameter(name: str, value: int | str | float) -> None: ...
def counter(name: str, value: float) -> None: ...
def marker(text: str) -> None: ...

class region:
    """Context manager (sync and async) that records a user region; a no-op without a measurement."""

    name: str
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> region: ...
    def __exit__(self, t: type[BaseException] | None, v: BaseException | None, tb: TracebackType | None) -> None: ...

def hooks() -> list[tuple[str, bool, str]]:
    """(name, works with this Python, why not or what for) of each hook; the first that works is the default."""

def settings() -> list[tuple[str, str]]:
    """(name, value) of every setting in force; empty without a measurement."""
