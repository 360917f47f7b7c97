# SPDX-License-Identifier: BSD-3-Clause
"""What both kinds of middleware share: which requests are measured, the measurement of one request, and its page.

A measurement is of the whole process. So at most one request of a process is measured at a time; others are served unmeasured."""

from __future__ import annotations

import concurrent.futures
import hmac
import logging
import os
import random
import shutil
import tempfile
import threading
from urllib.parse import unquote_plus

from spartito import _measure
from spartito.base.messages import Refused
from spartito.experiments.rundir import Directory, create
from spartito.middleware import pages
from spartito.options.settings import keyword_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEADER = "X-Spartito"
PARAMETER = "spartito"
BUSY = "not measured: another measurement of this process runs, or its page is being made"
# the trace of one request: beyond this only the profile continues
DEFAULTS = {"trace": True, "trace_memory": "64M", "when_full": "stop"}
COUNTS = ("requests", "measured", "busy", "refused", "failed", "pages", "removed")
log = logging.getLogger("spartito")

_slot = threading.Lock()  # held from the begin of a measurement until its page is made


def _after_fork() -> None:
    global _slot
    _slot = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def region_name(method: str, path: str) -> str:
    """The name of a request: at most 200 characters, all of them printable."""
    text = f"{method} {path}"
    text = text if len(text) <= 200 else text[:199] + "…"
    return "".join(c if c.isprintable() else "?" for c in text)


class Asked:
    """How a request is measured. by: "token" or "sample". returned: the client gets the page instead of the response. query: the
    query string without the token."""

    def __init__(self, by: str, returned: bool = False, query: str = "") -> None:
        self.by = by
        self.returned = returned
        self.query = query


class Measurement:
    """The measurement of one request, from its creation to stop(). ValueError, OSError, Refused: it cannot begin, and why."""

    def __init__(self, name: str, settings: dict[str, str], max_seconds: float) -> None:
        self.name = name
        self.file = pages.new_name(name)
        self.pid = os.getpid()
        self.cut = False  # stopped after max_seconds
        self._lock = threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="spartito-request-")
        self._made: Directory | None = None
        try:
            made = create(os.path.join(self.folder, "experiment"), [name], launched=False)
            self.directory = made.path
            self._timer = threading.Timer(max_seconds, self._time_is_over)
            self._timer.daemon = True
            self._timer.start()
            _measure.start(made.path, settings)
            self._made = made
        except BaseException:
            self.remove()
            raise
        self.region = _measure.region(name)

    def _time_is_over(self) -> None:
        self.cut = self.stop()

    def stop(self) -> bool:
        """Ends the measurement, also from another thread. Returns False if it had ended, or if this is a forked process."""
        with self._lock:
            made, self._made = self._made, None
            if made is None or os.getpid() != self.pid:
                return False
            self._timer.cancel()
            if _measure.active() and _measure.experiment() == made.path:
                _measure.stop()
            try:
                made.describe(0)
            except OSError as e:
                log.warning("the end of the measurement of %s is not recorded: %s", self.name, e)
            return True

    def remove(self) -> None:
        if hasattr(self, "_timer"):
            self._timer.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)


class Profiler:
    """The base of the middleware. `counts` has numbers of this process: requests; measured; busy (chosen, but another measurement
    ran); refused (a wrong token); failed (no measurement or no page, the log says why); pages (written to the directory); removed
    (old pages)."""

    def __init__(
        self,
        app: Any,
        directory: str | os.PathLike[str] = "spartito-requests",
        *,
        token: str | None = None,
        every: int | None = None,
        rate: float | None = None,
        keep: int = 20,
        max_seconds: float = 60.0,
        **settings: Any,
    ) -> None:
        """app: the application. directory: for the pages. token: clients that send it in the header X-Spartito or in the query
        parameter `spartito` have their request measured; None: no client can ask. every: one of `every` requests is measured.
        rate: the probability with which a request is measured. keep: maximum number of pages in the directory. max_seconds: the
        maximum length of a measurement. settings: as of spartito.start(). ValueError, TypeError: an argument is invalid."""
        if token is not None and not token:
            raise ValueError("token is empty: every client could ask for profiles; None disables them")
        if every is not None and rate is not None:
            raise ValueError("every and rate exclude each other")
        if every is not None and every < 1:
            raise ValueError(f"every={every}: it is at least 1")
        if rate is not None and not 0 <= rate <= 1:
            raise ValueError(f"rate={rate}: it is between 0 and 1")
        if keep < 1:
            raise ValueError(f"keep={keep}: it is at least 1")
        if not 0 < max_seconds <= threading.TIMEOUT_MAX:
            raise ValueError(f"max_seconds={max_seconds}: it is above 0")
        self.app = app
        self.directory = os.path.abspath(os.fspath(directory))
        self.counts = dict.fromkeys(COUNTS, 0)
        self._token = None if token is None else token.encode("utf-8", "surrogateescape")
        self._every, self._rate, self._keep, self._max_seconds = every, rate, keep, max_seconds
        self._settings = keyword_settings({**DEFAULTS, **settings})
        self._random = random.Random()  # the sequence of the application's random numbers stays the same
        self._lock = threading.Lock()
        self._failure = ""  # that was logged last

    def _count(self, what: str, n: int = 1) -> int:
        with self._lock:
            self.counts[what] += n
            return self.counts[what]

    def _failed(self, text: str) -> None:
        self._count("failed")
        if text != self._failure:
            self._failure = text
            log.warning("%s", text)

    # ---- choice ----

    def _is_token(self, text: str) -> bool:
        assert self._token is not None
        right = hmac.compare_digest(text.encode("utf-8", "surrogateescape"), self._token)
        if not right:
            self._count("refused")
        return right

    def choose(self, header: str | None, query: str) -> Asked | None:
        """Whether and how a request is measured. header: the value of X-Spartito. query: the query string."""
        number = self._count("requests")
        if self._token is not None:
            words = query.split("&") if PARAMETER + "=" in query else []
            for word in words:
                name, _, value = word.partition("=")
                if name == PARAMETER and self._is_token(unquote_plus(value)):
                    return Asked("token", True, "&".join(w for w in words if w is not word))
            if header is not None and self._is_token(header):
                return Asked("token", False, query)
        if self._every is not None:
            return Asked("sample") if number % self._every == 0 else None
        return Asked("sample") if self._rate is not None and self._random.random() < self._rate else None

    # ---- measurement ----

    def begin(self, name: str) -> Measurement | None:
        """Begins to measure a request; None: it is served unmeasured, which is counted."""
        if _measure.active() or not _slot.acquire(blocking=False):
            self._count("busy")
            return None
        try:
            measurement = Measurement(name, self._settings, self._max_seconds)
        except Exception as e:
            _slot.release()
            self._failed(f"requests are not measured: {e}")
            return None
        except BaseException:
            _slot.release()
            raise
        self._count("measured")
        return measurement

    # ---- page ----

    def page(self, measurement: Measurement, keep: bool) -> concurrent.futures.Future[bytes]:
        """Ends the measurement and makes its page in a thread. keep: in the directory, and the result is empty; otherwise the
        result is the page. The result may be an exception: Refused, why there is no page."""
        result: concurrent.futures.Future[bytes] = concurrent.futures.Future()
        result.set_running_or_notify_cancel()  # a task that waits for it and is cancelled does not cancel it
        measurement.stop()
        if os.getpid() != measurement.pid:
            result.set_exception(Refused("the request ended in a forked process"))
            return result

        def run() -> None:
            try:
                result.set_result(self._keep_page(measurement) if keep else self._read_page(measurement))
            except Exception as e:
                self._failed(f"there is no page of {measurement.name}: {e}")
                result.set_exception(Refused(str(e)))
            finally:
                measurement.remove()
                _slot.release()

        try:
            threading.Thread(target=run, name="spartito page").start()
        except RuntimeError:  # the interpreter ends
            run()
        return result

    def _read_page(self, measurement: Measurement) -> bytes:
        path = os.path.join(measurement.folder, measurement.file)
        self._make(measurement, path)
        with open(path, "rb") as f:
            return f.read()

    def _keep_page(self, measurement: Measurement) -> bytes:
        path = os.path.join(self.directory, measurement.file)
        self._make(measurement, path)
        self._count("pages")
        log.info("wrote %s", path)
        try:
            self._count("removed", pages.limit(self.directory, self._keep))
        except OSError as e:
            log.warning("old pages in %s cannot be removed: %s", self.directory, e)
        return b""

    def _make(self, measurement: Measurement, path: str) -> None:
        for line in pages.make(measurement.directory, path):
            log.warning("%s: %s", measurement.name, line)
        if measurement.cut:
            text = "%s: the measurement ended after %g s (max_seconds), the request later"
            log.warning(text, measurement.name, self._max_seconds)
