# SPDX-License-Identifier: BSD-3-Clause
"""A measurement in the running kernel: of one cell, of a statement, or of several cells. Each has an experiment directory of
its own, which is whole when end() returns."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from spartito import _measure
from spartito.base.messages import Refused, complain
from spartito.experiments.rundir import Directory, Exists
from spartito.notebook import celllist, workers
from spartito.options.cellpatterns import BETWEEN
from spartito.run import preload
from spartito.sample.sampling import RECORDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito.notebook.cellsampling import CellSampler

FOLDER = "spartito-notebook"  # below the kernel's directory: what no option says a place for
# whose threads are not the user's
SERVANTS = ("IPython", "ipykernel", "jupyter_client", "zmq", "tornado", "debugpy", "_pydevd_bundle")


class NotMeasured(Exception):
    """One sentence why. The cell runs all the same."""


class Request:
    """What is to be measured, and how.

    name: of the region around all, and of the result: In[7]. settings: as _measure.start() takes them. directory: the
    experiment's; if there is something in it, one with a number behind it; "": a new one in `folder`. command: as the results
    have it. done: called with the unit after its end, instead of showing the result."""

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
        self.to = to  # formats to convert to at the end, beside the experiment
        self.compress = compress
        self.quiet = quiet
        self.lines_only = lines_only
        self.sample_rate = sample_rate  # Hz; "": no samples
        self.sample_native = sample_native


def is_servant(thread: threading.Thread) -> bool:
    """A thread of the kernel: of its class, or of a function of its."""
    place = type(thread).__module__
    if place == "threading":
        place = getattr(getattr(thread, "_target", None), "__module__", None) or ""
    return place.split(".")[0] in SERVANTS and thread is not threading.main_thread()


def servants() -> list[int]:
    """Native ids of the kernel's own threads."""
    here = threading.get_ident()
    return [t.native_id for t in threading.enumerate() if t.native_id is not None and t.ident != here and is_servant(t)]


def _messengers() -> list[int]:
    """Native ids of the threads of ZeroMQ, which Python does not know; they run no Python, but read and write."""
    found = []
    for tid in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{tid}/comm") as f:
            if f.read().startswith("ZMQbg"):
                found.append(int(tid))
    return found


def leave_out_servants(settings: dict[str, str]) -> None:
    """Those of now, and those that the shell starts later, such as the one that saves its history."""
    _measure.leave_out(servants() + (_messengers() if settings.get("io", "0") != "0" else []), SERVANTS)


def _directory(request: Request) -> Directory:
    """NotMeasured: it cannot be made."""
    label = "".join(c for c in request.name if c.isalnum() or c in "._-")
    try:
        name = f"spartito-{label}{time.strftime('-%Y%m%d-%H%M%S')}"
        path = os.path.abspath(request.directory or os.path.join(request.folder, name))
    except OSError as e:
        raise NotMeasured(f"the current directory is not usable: {e.strerror}; name an absolute one with -o") from None
    for n in range(1, 1000):
        # a cell is run again, and nothing is ever overwritten
        directory = Directory(path if n == 1 else f"{path}-{n}", request.command, False)
        try:
            directory.create(empty=bool(request.directory))
        except Exists:
            continue
        except Refused as e:
            raise NotMeasured(f"{e}; name another one with -o") from None
        return directory
    raise NotMeasured(f"{path} and 998 more of that name already exist")


def records_memory(settings: dict[str, str]) -> bool:
    return any(settings.get(name, "0") != "0" for name in preload.OF_MEMORY)


class Lent:
    """Variables by which programs that a cell starts find its measurement, as those of `spartito run` do. They are in the
    environment for as long as something is recorded."""

    def __init__(self, directory: str, settings: dict[str, str]) -> None:
        """OSError, Refused: a library that a setting needs cannot be loaded into them."""
        self.values = {"SPARTITO_EXPERIMENT": directory}
        self.values.update(("SPARTITO_" + name.upper(), text) for name, text in settings.items())
        self.before: dict[str, str | None] = {}
        preloaded = dict(os.environ)
        asked = {name: "--" + name.replace("_", "-") for name, text in settings.items() if text != "0"}
        preload.add_needed(preloaded, directory, asked)
        if preloaded.get("LD_PRELOAD") != os.environ.get("LD_PRELOAD"):
            self.values["LD_PRELOAD"] = preloaded["LD_PRELOAD"]

    def lend(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.values}
        os.environ.update(self.values)

    def take_back(self) -> None:
        """But for what the cell has changed itself."""
        before, self.before = self.before, {}
        for name, value in before.items():
            if os.environ.get(name) == self.values[name]:
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


_ended: set[str] = set()  # directories that nothing is to be recorded into any more, of which an interrupt may have kept some open


def start(directory: str, settings: dict[str, str], between: tuple[str, ...], **own: str) -> Lent:
    """Records into the directory, as these settings say; so do programs that are started until what is returned is taken back.
    between: filters of this process alone, which those of the settings overrule. own: settings of this process alone.
    ValueError, OSError, Refused: why it cannot. After any exception nothing is recorded."""
    leave_out_servants(settings)
    if records_memory(settings):
        preload.load_heap()
    lent = Lent(directory, settings)
    celllist.write(directory)
    _ended.discard(directory)  # of what was there before
    try:
        lent.lend()
        filters = "\n".join(filter(None, (*between, settings.get("filter", ""))))
        _measure.start(directory, {**settings, **own, "filter": filters})
    except BaseException as e:
        lent.take_back()
        if not isinstance(e, (ValueError, OSError)):
            _ended.add(directory)
            _measure.stop()
        raise
    return lent


class Unit:
    """One measurement. name, directory (its path) and request are there from the beginning."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.name = request.name
        self.directory = ""
        self.thread = threading.get_ident()
        self.begun = False
        self._made: Directory | None = None
        self._lent: Lent | None = None
        self._sampler: CellSampler | None = None
        self._open = ""  # the region around what runs now
        self._workers: dict[tuple[int, int], tuple[float, float]] = {}  # processes that are there already
        self.remarks: list[str] = []  # lines about what is not in the result

    def begin(self) -> None:
        """Measures from here on what the calling thread begins, and all other threads of the program; functions of this thread
        only after functions(True). NotMeasured: why it cannot."""
        if _measure.active() and _measure.experiment() in _ended:
            _measure.stop()
        if _measure.active():
            raise NotMeasured(f"something is measured already, into {_measure.experiment()}")
        made = _directory(self.request)
        self._workers = workers.running()
        try:
            lent = start(made.path, {**self.request.settings, **self._sampling(made.path)}, BETWEEN, open_frames="0")
        except BaseException as e:
            self._unsampled()
            made.remove()
            if not isinstance(e, (ValueError, OSError, Refused)):
                raise
            text = " ".join(str(e).split())
            if text.startswith("io: "):
                text = "--io is for kernels that were started with its library, as those of `spartito kernel install` are"
            raise NotMeasured(text) from None
        self._made, self._lent, self.directory, self.begun = made, lent, made.path, True
        self.functions(False)
        if self._sampler:
            self._sampler.wait()
        self.enter(self.name)

    def _sampling(self, directory: str) -> dict[str, str]:
        """Settings of a process that is sampled; none where it is not, or cannot be."""
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
            tell(f"{self.name}: the last samples are not written yet")

    def functions(self, on: bool) -> None:
        """Whether functions of the calling thread are recorded, as the shell's are not."""
        _measure.thread_functions(on)

    def enter(self, name: str) -> None:
        """A cell begins."""
        self._open = name
        _measure.region_begin(name, None, name, 1)

    def leave(self) -> None:
        if self._open:
            _measure.region_end(self._open, None, self._open, 1)
            self._open = ""

    def wait(self) -> None:
        """Nothing is recorded until go_on()."""
        assert self._lent
        self.functions(False)
        self.leave()
        _measure.pause()
        self._lent.take_back()

    def go_on(self, name: str) -> None:
        """The cell of that name begins."""
        assert self._lent
        self._lent.lend()
        celllist.write(self.directory)
        leave_out_servants(self.request.settings)
        _measure.resume()
        self.enter(name)

    def end(self) -> str:
        """Ends the measurement and returns the directory; nothing more happens the second time."""
        made, self._made = self._made, None
        if made is None:
            return self.directory
        _ended.add(made.path)
        if _measure.active() and _measure.experiment() == made.path:
            self.leave()
            _measure.stop()
            celllist.remove_unread(made.path)
        self.remarks = [*workers.told(self._workers), *not_said(workers.engines())]
        self._unsampled()
        assert self._lent
        self._lent.take_back()
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
                    told = put_beside(model, self.directory, name)
                    if not self.request.quiet:
                        _log(told)
        except (Error, Refused, OSError) as e:
            complain(f"{self.name}: {e}")


def begin(request: Request) -> Unit:
    """NotMeasured: why it cannot."""
    unit = Unit(request)
    unit.begin()
    return unit


def _log(text: str) -> None:
    """In the kernel's log, which Jupyter shows in its terminal: what a cell prints is its own. A warning, because kernels show
    nothing below that there."""
    try:
        from traitlets.log import get_logger

        get_logger().warning("spartito: %s", text)  # type: ignore[no-untyped-call,unused-ignore]
    except ImportError:
        pass


def tell(text: str) -> None:
    """A line below the cell."""
    print(f"spartito: {text}", file=sys.stderr, flush=True)


_said: set[str] = set()


def not_said(lines: list[str]) -> list[str]:
    """Those that no earlier cell of this kernel said: what is the same for all cells is said once."""
    new = [line for line in lines if line not in _said]
    _said.update(new)
    return new
