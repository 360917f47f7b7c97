"""The measuring half: what runs inside the measured program."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

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
    """`with region(name):`, `async with` the same, or a decorator of functions, coroutines and generators; a decorator
    without a name takes the function's qualified name. A no-op without a measurement."""

    @overload
    def __new__(cls, name: str = ...) -> region: ...
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

def settings() -> list[tuple[str, str]]:
    """(name, value) of every setting in force; empty without a measurement."""
