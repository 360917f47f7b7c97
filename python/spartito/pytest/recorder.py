# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of one process of a test session: its begin and end, and the regions in it."""

from __future__ import annotations

from spartito import _measure, user
from spartito.base.messages import reason
from spartito.options.settings import keyword_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# Packages that run the tests. Their functions are not recorded: their time counts in the regions of the tests.
RUNNERS = ("_pytest", "pytest", "pluggy", "xdist", "execnet", "__channelexec__")  # the last one: code of workers of xdist


class Region:
    """A user region of a Recorder, as a context manager."""

    def __init__(self, recorder: Recorder, name: str, file: str | None, line: int) -> None:
        self._recorder = recorder
        self._region = _measure.region(name, None, file, line)
        self._begun_in = 0  # number of the measurement

    def __enter__(self) -> None:
        number = self._recorder.measurement()
        self._recorder.open.append(self)
        self.begin(number)

    def begin(self, number: int) -> None:
        self._begun_in = number
        if number:
            self._region.__enter__()

    def __exit__(self, t: type[BaseException] | None, v: BaseException | None, tb: TracebackType | None) -> None:
        # it ends only in the measurement in which it began: a test may stop that, or start another one
        if self in self._recorder.open:
            self._recorder.open.remove(self)
            if self._begun_in and self._begun_in == self._recorder.started and self._recorder.is_active():
                self._region.__exit__(None, None, None)


class Recorder:
    """own: this object starts and ends the measurement. Otherwise the process is measured already, into the same directory."""

    def __init__(self, directory: str, own: bool) -> None:
        self.directory = directory
        self.own = own
        self.started = 0 if own else 1  # number of measurements
        self.problem = ""  # why nothing is recorded any more
        self.open: list[Region] = []  # innermost last
        self._wanted = not own

    def begin(self) -> None:
        """Starts the measurement. If that fails, sets `problem`."""
        if not self.own:
            return
        try:
            settings = keyword_settings({"filter": [f"-module:{package}" for package in RUNNERS]})
            _measure.start(self.directory, {**settings, "open_frames": "0"})
        except (ValueError, OSError) as e:
            self._wanted, self.problem = False, reason(e) if isinstance(e, OSError) else str(e)
            return
        self.started += 1
        self._wanted = True
        user.give_way = self._give_way
        for region in self.open:
            region.begin(self.started)

    def stop(self) -> None:
        if self.own and self._wanted:
            user.give_way = None
            self._wanted = False
            if self.is_active():
                _measure.stop()

    def is_active(self) -> bool:
        return _measure.experiment() == self.directory

    def measurement(self) -> int:
        """The number of the measurement that records now; 0: none does. If a test has paused or stopped it, it continues in the
        same experiment."""
        if self.own and self._wanted:
            if not _measure.active():
                self.begin()
            elif self.is_active():
                _measure.resume()
        return self.started if self._wanted and self.is_active() else 0

    def _give_way(self) -> None:
        """A test starts its own measurement."""
        if self.is_active():
            _measure.stop()

    def region(self, name: str, file: str | None = None, line: int = 0) -> Region:
        return Region(self, name, file, line)
