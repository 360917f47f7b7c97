# SPDX-License-Identifier: BSD-3-Clause
"""The variables OMNITRACE_* of the environment and of configuration files: reads them once at the start, checks them, and
translates them to the recorder's settings.

Measured processes import this module (omnitrace.profile()), so it imports only light modules."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.compat.omnitrace.configfile import Entry, read
from spartito.compat.omnitrace.options import flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spartito.compat.omnitrace.config import Config

COMPONENTS = ("trip_count", "wall_clock")
TIME_UNITS = {
    **{"": "sec", "sec": "sec", "s": "sec", "second": "sec", "seconds": "sec"},
    **{"msec": "msec", "ms": "msec", "millisecond": "msec", "milliseconds": "msec"},
    **{"usec": "usec", "us": "usec", "microsecond": "usec", "microseconds": "usec"},
    **{"nsec": "nsec", "ns": "nsec", "nanosecond": "nsec", "nanoseconds": "nsec"},
    **{"min": "min", "minute": "min", "minutes": "min", "hr": "hr", "hour": "hr", "hours": "hr"},
}
MAX_DIGITS = 18

# without OMNITRACE_: kind and default
EFFECTIVE = {
    "PROFILE": ("bool", ""),
    "TRACE": ("bool", ""),
    "ENABLED": ("bool", "true"),
    "TIMEMORY_COMPONENTS": ("list", "wall_clock"),
    "CONFIG_FILE": ("text", ""),
    "OUTPUT_PATH": ("text", "omnitrace-%tag%-output"),
    "OUTPUT_PREFIX": ("text", ""),
    "TIME_OUTPUT": ("bool", "true"),
    "TIME_FORMAT": ("text", "%F_%H.%M"),
    "USE_PID": ("bool", ""),
    "COUT_OUTPUT": ("bool", "false"),
    "TEXT_OUTPUT": ("bool", "true"),
    "JSON_OUTPUT": ("bool", "true"),
    "COLLAPSE_THREADS": ("bool", "false"),
    "COLLAPSE_PROCESSES": ("bool", "false"),
    "FLAT_PROFILE": ("bool", "false"),
    "TIMELINE_PROFILE": ("bool", "false"),
    "MAX_DEPTH": ("count", ""),
    "MAX_WIDTH": ("count", "120"),
    "PRECISION": ("digits", ""),
    "TIMING_UNITS": ("time", ""),
    "MEMORY_UNITS": ("text", ""),
    "SCIENTIFIC": ("bool", "false"),
    "PERFETTO_FILE": ("text", ""),
    "VERBOSE": ("whole", "0"),
    "USE_SAMPLING": ("bool", "false"),
    "SAMPLING_FREQ": ("number", ""),
    "PAPI_EVENTS": ("list", ""),
    "USE_MPIP": ("bool", "true"),
}
PREFIX = "OMNITRACE_"
# Omnitrace's other variables, by the beginning of their names
KNOWN = (
    *("USE_", "SAMPLING_", "PERFETTO_", "CAUSAL_", "CRITICAL_TRACE", "ROCM_", "ROCTRACER_", "ROCPROFILER", "KOKKOS"),
    *("MODE", "DEBUG", "DL_", "LIBRARY", "PATH", "ROOT", "SCRIPT_PATH", "BASE_PATH", "COMMAND_LINE", "PYTHON_", "NETWORK"),
    *("INSTRUMENTATION_INTERVAL", "STRICT_CONFIG", "SUPPRESS_", "TMPDIR", "TRACE_", "PROCESS_SAMPLING_", "CPU_FREQ"),
    *("AVAIL", "COLLAPSE_", "DIFF_OUTPUT", "FILE_OUTPUT", "INPUT_", "KEEP_", "LOCK_FREE", "MEMORY_", "MPI_", "NODE_COUNT"),
    *("OUTPUT_", "PAPI_", "PRINT_", "STACK_CLEARING", "TIMELINE", "TIMING_", "UNWIND", "WIDTH", "CI", "INIT_TOOLING"),
    *("MONOCHROME", "ADD_SECONDARY", "AUTO_OUTPUT", "BANNER", "CPU_AFFINITY", "DART", "ENABLE_", "MERGE_PERFETTO", "TREE"),
    *("PROFILE_", "DEFAULT_MIN_", "LOG_", "PLOT", "NUM_THREADS", "MAX_", "SIGNALS", "COLORIZED", "TRIP_COUNT", "WALL_CLOCK"),
)
DEFAULT_FILES = (".omnitrace.cfg", ".omnitrace.json")


def _words(text: str) -> list[str]:
    for c in ",;:\t":
        text = text.replace(c, " ")
    return text.split()


def _checked(kind: str, text: str) -> str:
    if kind == "bool":
        return "true" if flag(text) else "false"
    if kind in ("count", "digits", "whole"):
        digits = text[1:] if kind == "whole" and text[:1] == "-" else text
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
            raise ValueError("is not a whole number")
        if kind == "digits" and int(text) > MAX_DIGITS:
            raise ValueError(f"is more than {MAX_DIGITS} digits")
    elif kind == "number":
        try:
            float(text)
        except ValueError:
            raise ValueError("is not a number") from None
    elif kind == "time" and text.lower() not in TIME_UNITS:
        raise ValueError(f"is no unit of time ({', '.join(dict.fromkeys(TIME_UNITS.values()))})")
    return text


def _files(environment: Mapping[str, str], given: str) -> Iterator[str]:
    """The configuration files in ascending order of priority, so those of the home directory first."""
    home = environment.get("HOME", "")
    for name in DEFAULT_FILES:
        path = os.path.join(home, name)
        if home and os.path.isfile(path):
            yield path
    for part in environment.get(PREFIX + "CONFIG_FILE", "").replace(";", ":").split(":"):
        if part.strip():
            yield os.path.expanduser(part.strip())
    if given:
        yield given


class Variables:
    """The values of all variables as text, by name without OMNITRACE_."""

    def __init__(self, environment: Mapping[str, str], file: str = "") -> None:
        """file: of --config. Refused: a value or a file is invalid."""
        self.values = {name: default for name, (_, default) in EFFECTIVE.items()}
        self.notes: list[str] = []  # messages about variables without effect
        self.set: set[str] = set()
        entries = [entry for path in _files(environment, file) for entry in read(path)]
        entries += [
            Entry(name, environment[name], name) for name in sorted(environment) if name.startswith(PREFIX) and environment[name]
        ]
        for entry in entries:
            self._take(entry)
        self.components = self._components()
        self._unheard_of()

    def _take(self, entry: Entry) -> None:
        name = entry.name[len(PREFIX) :]
        where = "" if entry.origin == entry.name else entry.origin + ": "
        if name in EFFECTIVE:
            if not entry.text:
                return
            try:
                self.values[name] = _checked(EFFECTIVE[name][0], entry.text)
            except ValueError as e:
                raise Refused(f"{where}{entry.name}: {entry.text!r} {e}") from None
            self.set.add(name)
            return
        try:
            if not flag(entry.text):
                return  # a disabled feature needs no message
        except ValueError:
            pass
        if name.startswith(KNOWN):
            self.notes.append(f"{where}{entry.name} has no effect here")
        else:
            from spartito.options.table import near

            guess = near(name, list(EFFECTIVE)).replace("mean ", "mean " + PREFIX)
            self.notes.append(f"{where}{entry.name} is no variable of Omnitrace and has no effect{guess}")

    def _components(self) -> list[str]:
        found = []
        for word in dict.fromkeys(_words(self.values["TIMEMORY_COMPONENTS"])):
            if word in COMPONENTS:
                found.append(word)
            else:
                self.notes.append(
                    f"OMNITRACE_TIMEMORY_COMPONENTS: there is no {word} here, only {' and '.join(COMPONENTS)}; "
                    "`spartito run --metric` counts more"
                )
        return found

    def _unheard_of(self) -> None:
        if self.on("USE_SAMPLING"):
            self.notes.append("OMNITRACE_USE_SAMPLING: nothing is sampled here; every call of a function is recorded")
        elif "SAMPLING_FREQ" in self.set:
            self.notes.append("OMNITRACE_SAMPLING_FREQ has no effect here: nothing is sampled")
        if "MEMORY_UNITS" in self.set:
            self.notes.append("OMNITRACE_MEMORY_UNITS has no effect here: no table has amounts of memory")
        if self.values["PAPI_EVENTS"]:
            self.notes.append("OMNITRACE_PAPI_EVENTS: counted, but in no table of text; `spartito report` shows them")

    def on(self, name: str) -> bool:
        return self.values[name] == "true"

    @property
    def profiled(self) -> bool:
        """OMNITRACE_PROFILE. If only one of PROFILE and TRACE is set, the other one has the opposite value."""
        return self.on("PROFILE") if self.values["PROFILE"] else self.values["TRACE"] == "false"

    @property
    def traced(self) -> bool:
        return self.on("TRACE") if self.values["TRACE"] else not self.profiled

    @property
    def measured(self) -> bool:
        return self.on("ENABLED") and (self.profiled or self.traced)

    def settings(self, config: Config, instrument: bool) -> dict[str, str]:
        """Names and values of the recorder's settings."""
        # the table with a row for each call needs the trace
        trace = self.traced or (self.profiled and self.on("TIMELINE_PROFILE"))
        return {
            "omnitrace": "1",
            "instrument": "1" if instrument else "0",
            "trace": "1" if trace else "0",
            "c_calls": "1" if config.trace_c else "0",
            "filter": config.filter(),
            "label": config.label(),
            "annotate": "1" if config.annotate_trace and trace else "0",
            "mpi": "auto" if self.on("USE_MPIP") else "off",
            "metrics": ",".join("papi:" + event for event in dict.fromkeys(_words_of_events(self.values["PAPI_EVENTS"]))),
        }

    def configuration(self) -> str:
        """Lines NAME = VALUE as in configuration files, but without expansion of $."""
        return "".join(f"{PREFIX}{name} = {text}\n" for name, text in self.values.items())


def _words_of_events(text: str) -> list[str]:
    """Splits a list of event names, which may contain colons."""
    return text.replace(",", " ").replace(";", " ").split()


def from_configuration(path: str) -> Variables:
    """Reads the file that configuration() has written. OSError: it cannot be read."""
    variables = Variables({})
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            name, sep, text = line.rstrip("\n").partition(" = ")
            if sep and name.startswith(PREFIX):
                variables.values[name[len(PREFIX) :]] = text
    variables.notes = []
    variables.components = [word for word in _words(variables.values["TIMEMORY_COMPONENTS"]) if word in COMPONENTS]
    return variables
