# SPDX-License-Identifier: BSD-3-Clause
"""Measurements in the running kernel: of one cell, of a statement, or of several cells. Each has a separate experiment directory,
which is complete when end() returns."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from spartito import _measure
from spartito.base.messages import Refused, complain
from spartito.experiments.rundir import Directory, numbered
from spartito.notebook import celllist, workers
from spartito.options.cellpatterns import BETWEEN
from spartito.run import preload
from spartito.sample.sampling import RECORDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito.notebook.cellsampling import CellSampler

FOLDER = "spartito-notebook"  # in the kernel's working directory: default parent of the experiment directories
# packages whose threads belong to the kernel and not to the user's program
SERVANTS = ("IPython", "ipykernel", "jupyter_client", "zmq", "tornado", "debugpy", "_pydevd_bundle")


class NotMeasured(Exception):
    """The measurement cannot begin; the message has the reason. The cell runs unmeasured."""


class Request:
    """What to measure, and how.

    name: of the outermost region and of the result, such as In[7]. settings: as _measure.start() takes them. directory: of the
    experiment; if it is not empty, a number is appended to its name; "": a new one in `folder`. command: command line for the
    results. done: called with the unit after its end, instead of showing the result."""

    def __init__(
        self,
        name: str,
        settings: dict[str, str] | None = None,
        directory: str = "",
        done: Callable[[Unit], None] | None = None,
        *,
        folder: str = "",
        command: list[str] | None = None,
        to: tuple[str, ...] = (),
        compress: bool = False,
        quiet: bool = False,
        lines_only: bool = False,
        sample_rate: str = "",
        sample_native: bool = False,
    ) -> None:
        self.name = name
        self.settings = settings or {}
        self.directory = directory
        self.done = done
        self.folder = folder or FOLDER
        self.command = command or [name]
        self.to = to  # formats to convert the experiment to at the end
        self.compress = compress
        self.quiet = quiet
        self.lines_only = lines_only
        self.sample_rate = sample_rate  # Hz; "": no samples
        self.sample_native = sample_native


def is_servant(thread: threading.Thread) -> bool:
    """Whether the kernel has started the thread: its class or its function is in a module of SERVANTS."""
    module = type(thread).__module__
    if module == "threading":
        module = getattr(getattr(thread, "_target", None), "__module__", None) or ""
    return module.split(".")[0] in SERVANTS and thread is not threading.main_thread()


def servants() -> list[int]:
    """Native ids of the threads that the kernel has started."""
    here = threading.get_ident()
    return [t.native_id for t in threading.enumerate() if t.native_id is not None and t.ident != here and is_servant(t)]


def _messengers() -> list[int]:
    """Native ids of the threads of ZeroMQ. They run no Python code and are unknown to Python, but do I/O."""
    found = []
    for tid in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{tid}/comm") as f:
            if f.read().startswith("ZMQbg"):
                found.append(int(tid))
    return found


def leave_out_servants(settings: dict[str, str]) -> None:
    """Excludes the kernel's threads: the existing ones, and those that it starts later, such as the one that saves the history."""
    _measure.leave_out(servants() + (_messengers() if settings.get("io", "0") != "0" else []), SERVANTS)


def _directory(request: Request) -> Directory:
    """Creates the experiment directory. NotMeasured: it cannot be created."""
    label = "".join(c for c in request.name if c.isalnum() or c in "._-")
    try:
        name = f"spartito-{label}{time.strftime('-%Y%m%d-%H%M%S')}"
        path = os.path.abspath(request.directory or os.path.join(request.folder, name))
    except OSError as e:
        raise NotMeasured(f"the current directory is not usable: {e.strerror}; name an absolute one with -o") from None

    def make(path: str) -> Directory:
        directory = Directory(path, request.command, False)
        directory.create(empty=bool(request.directory))
        return directory

    try:
        return numbered(path, make)  # the cell may be run several times, and no result is overwritten
    except Refused as e:
        raise NotMeasured(f"{e}; name another one with -o") from None


def records_memory(settings: dict[str, str]) -> bool:
    return any(settings.get(name, "0") != "0" for name in preload.OF_MEMORY)


class ChildVariables:
    """Environment variables that make Spartito measure the programs that a cell starts into the cell's experiment, as those of
    `spartito run` do. They are set only while the cell is being measured."""

    def __init__(self, directory: str, settings: dict[str, str]) -> None:
        """OSError, Refused: a library that a setting needs cannot be preloaded into these programs."""
        self.values = {"SPARTITO_EXPERIMENT": directory}
        self.values.update(("SPARTITO_" + name.upper(), text) for name, text in settings.items())
        self.before: dict[str, str | None] = {}
        preloaded = dict(os.environ)
        asked = {name: "--" + name.replace("_", "-") for name, text in settings.items() if text != "0"}
        preload.add_needed(preloaded, directory, asked)
        if preloaded.get("LD_PRELOAD") != os.environ.get("LD_PRELOAD"):
            self.values["LD_PRELOAD"] = preloaded["LD_PRELOAD"]

    def set(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.values}
        os.environ.update(self.values)

    def restore(self) -> None:
        """Restores the values before set(), except of variables that the cell has changed itself."""
        before, self.before = self.before, {}
        for name, value in before.items():
            if os.environ.get(name) == self.values[name]:
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


# directories of ended measurements; after an interrupt within _measure.stop(), one may still be active
_ended: set[str] = set()


def start(directory: str, settings: dict[str, str], between: tuple[str, ...], **own: str) -> ChildVariables:
    """Starts recording into the directory with these settings, also in programs that are started before restore() of the result.
    between: filters of this process only; filters of the settings override them. own: settings of this process only.
    ValueError, OSError, Refused: it cannot start, and why. After any exception nothing is recorded."""
    leave_out_servants(settings)
    if records_memory(settings):
        preload.load_heap()
    variables = ChildVariables(directory, settings)
    celllist.write(directory)
    _ended.discard(directory)  # an earlier experiment may have had the same path
    try:
        variables.set()
        filters = "\n".join(filter(None, (*between, settings.get("filter", ""))))
        _measure.start(directory, {**settings, **own, "filter": filters})
    except BaseException as e:
        variables.restore()
        if not isinstance(e, (ValueError, OSError)):
            _ended.add(directory)
            _measure.stop()
        raise
    return variables


class Unit:
    """One measurement. thread: id of the thread that created it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.name = request.name
        self.directory = ""
        self.thread = threading.get_ident()
        self.begun = False
        self._made: Directory | None = None
        self._variables: ChildVariables | None = None
        self._sampler: CellSampler | None = None
        self._open = ""  # name of the entered region of the current cell; "": none
        self._workers: dict[tuple[int, int], tuple[float, float]] = {}  # processes that exist before, see workers.running()
        self.remarks: list[str] = []  # notes about work that is not in the result

    def begin(self) -> None:
        """Begins to measure the calling thread and all other threads of the program. Functions of the calling thread are recorded
        only after functions(True). NotMeasured: the measurement cannot begin, and why."""
        if _measure.active() and _measure.experiment() in _ended:
            _measure.stop()
        if _measure.active():
            raise NotMeasured(f"something is measured already, into {_measure.experiment()}")
        made = _directory(self.request)
        self._workers = workers.running()
        try:
            variables = start(made.path, {**self.request.settings, **self._sampling(made.path)}, BETWEEN, open_frames="0")
        except BaseException as e:
            self._unsampled()
            made.remove()
            if not isinstance(e, (ValueError, OSError, Refused)):
                raise
            text = " ".join(str(e).split())
            if text.startswith("io: "):
                text = "--io is for kernels that were started with its library, as those of `spartito kernel install` are"
            raise NotMeasured(text) from None
        self._made, self._variables, self.directory, self.begun = made, variables, made.path, True
        self.functions(False)
        if self._sampler:
            self._sampler.wait()
        self.enter(self.name)

    def _sampling(self, directory: str) -> dict[str, str]:
        """Starts the sampler and returns the settings that a sampled process needs; without --sample, none. ValueError: it cannot
        be sampled."""
        request = self.request
        if not request.sample_rate:
            return {}
        from spartito.notebook.cellsampling import CellSampler, NoSampler

        own = {name: request.settings[name] for name in RECORDED if name in request.settings}
        own["filter"] = "\n".join(filter(None, (*BETWEEN, own.get("filter", ""))))
        own["instrument"] = request.settings.get("instrument", "1")
        try:
            self._sampler = CellSampler(directory, own, request.sample_rate, request.sample_native)
        except NoSampler as e:
            raise ValueError(f"--sample: {e}") from None
        return {"sampler": str(self._sampler.pid)}

    def _unsampled(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler and not sampler.end():
            print_note(f"{self.name}: the last samples are not written yet")

    def functions(self, on: bool) -> None:
        """Enables or disables recording of functions in the calling thread. Functions of the shell are not recorded."""
        _measure.thread_functions(on)

    def enter(self, name: str) -> None:
        """Enters the region of a cell."""
        self._open = name
        _measure.region_begin(name, None, name, 1)

    def leave(self) -> None:
        if self._open:
            _measure.region_end(self._open, None, self._open, 1)
            self._open = ""

    def pause(self) -> None:
        """Records nothing until resume()."""
        assert self._variables
        self.functions(False)
        self.leave()
        _measure.pause()
        self._variables.restore()

    def resume(self, name: str) -> None:
        """Continues the measurement with the cell of that name."""
        assert self._variables
        self._variables.set()
        celllist.write(self.directory)
        leave_out_servants(self.request.settings)
        _measure.resume()
        self.enter(name)

    def end(self) -> str:
        """Ends the measurement and returns the directory. A second call has no effect."""
        made, self._made = self._made, None
        if made is None:
            return self.directory
        _ended.add(made.path)
        if _measure.active() and _measure.experiment() == made.path:
            self.leave()
            _measure.stop()
            celllist.remove_unread(made.path)
        self.remarks = [*workers.unmeasured(self._workers), *unreported(workers.engines())]
        self._unsampled()
        assert self._variables
        self._variables.restore()
        try:
            if made.command == [self.request.name]:
                made.command = [self.name]
            made.describe(0)
        except OSError as e:
            complain(f"the end of {self.name} is not recorded in experiment.json: {e.strerror}")
        if self.request.compress or self.request.to:
            self._convert()
        return self.directory

    def _convert(self) -> None:
        from spartito._analyse import Error, Model
        from spartito.experiments.conversion import compress, put_beside

        try:
            if self.request.compress:
                compress(self.directory)
            if self.request.to:
                model = Model(self.directory)
                for name in self.request.to:
                    message = put_beside(model, self.directory, name)
                    if not self.request.quiet:
                        _log(message)
        except (Error, Refused, OSError) as e:
            complain(f"{self.name}: {e}")


def begin(request: Request) -> Unit:
    """Begins a measurement. NotMeasured: it cannot begin, and why."""
    unit = Unit(request)
    unit.begin()
    return unit


def _log(text: str) -> None:
    """Writes to the kernel's log, which Jupyter shows in its terminal, and not to the cell's output. It is a warning, as kernels
    do not show lower levels."""
    try:
        from traitlets.log import get_logger

        get_logger().warning("spartito: %s", text)  # type: ignore[no-untyped-call,unused-ignore]
    except ImportError:
        pass


def print_note(text: str) -> None:
    """Prints a line below the cell."""
    print(f"spartito: {text}", file=sys.stderr, flush=True)


_reported: set[str] = set()


def unreported(lines: list[str]) -> list[str]:
    """The lines that no earlier cell of this kernel has reported: a note that holds for all cells is printed once."""
    new = [line for line in lines if line not in _reported]
    _reported.update(new)
    return new
