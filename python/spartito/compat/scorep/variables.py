# SPDX-License-Identifier: BSD-3-Clause
"""The variables SCOREP_*: reads them once at the start, checks them, and translates them to the recorder's settings.

Measured processes import this module (scorep.register()), so it imports only light modules."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.compat.scorep import filters
from spartito.options.settings import mpi_groups, strange_variables
from spartito.options.table import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TRUE = ("true", "yes", "on")
FALSE = ("false", "no", "off")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PREFIX = "SCOREP_"
SMALLEST = 256 << 10  # bytes of memory: lower limit of the recorder
TIMERS = {"tsc": "tsc", "gettimeofday": "monotonic", "clock_gettime": "monotonic"}
RUSAGE = (
    *("ru_utime", "ru_stime", "ru_maxrss", "ru_ixrss", "ru_idrss", "ru_isrss", "ru_minflt", "ru_majflt", "ru_nswap"),
    *("ru_inblock", "ru_oublock", "ru_msgsnd", "ru_msgrcv", "ru_nsignals", "ru_nvcsw", "ru_nivcsw"),
)

# name, kind, default; in the order of scorep.cfg
EFFECTIVE = (
    ("SCOREP_ENABLE_PROFILING", "bool", "true"),
    ("SCOREP_ENABLE_TRACING", "bool", "false"),
    ("SCOREP_VERBOSE", "bool", "false"),
    ("SCOREP_TOTAL_MEMORY", "size", "16000k"),
    ("SCOREP_EXPERIMENT_DIRECTORY", "text", ""),
    ("SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY", "bool", "true"),
    ("SCOREP_MACHINE_NAME", "text", "Linux"),
    ("SCOREP_EXECUTABLE", "text", ""),
    ("SCOREP_TIMER", "timer", "tsc"),
    ("SCOREP_PROFILING_MAX_CALLPATH_DEPTH", "count", "100"),
    ("SCOREP_PROFILING_BASE_NAME", "name", "profile"),
    ("SCOREP_FILTERING_FILE", "text", ""),
    ("SCOREP_METRIC_PAPI", "text", ""),
    ("SCOREP_METRIC_PAPI_SEP", "letter", ","),
    ("SCOREP_METRIC_RUSAGE", "text", ""),
    ("SCOREP_METRIC_RUSAGE_SEP", "letter", ","),
    ("SCOREP_METRIC_PERF", "text", ""),
    ("SCOREP_METRIC_PERF_SEP", "letter", ","),
    ("SCOREP_IO_POSIX", "bool", "false"),
    ("SCOREP_MPI_ENABLE_GROUPS", "groups", "default"),
)
# Variables that are checked and written to scorep.cfg but have no effect.
RECORDED_NOT = (
    ("SCOREP_MPI_MEMORY_RECORDING", "bool", "false"),
    ("SCOREP_MEMORY_RECORDING", "bool", "false"),
    ("SCOREP_ENABLE_UNWINDING", "bool", "false"),
    ("SCOREP_SAMPLING_EVENTS", "text", ""),
)
# Score-P's other variables (Score-P 8 and 9): by name, and by prefix for those of its adapters
KNOWN = (
    *("PAGE_SIZE", "FORCE_CFG_FILES", "ENABLE_SYSTEM_TREE_SEQUENCE_DEFINITIONS", "SELECTIVE_CONFIG_FILE"),
    *("PROFILING_TASK_TABLE_SIZE", "PROFILING_TASK_EXCHANGE_NUM", "PROFILING_FORMAT", "PROFILING_ENABLE_CLUSTERING"),
    *("PROFILING_CLUSTER_COUNT", "PROFILING_CLUSTERING_MODE", "PROFILING_CLUSTERED_REGION", "PROFILING_ENABLE_CORE_FILES"),
    *("TRACING_USE_SION", "TRACING_MAX_PROCS_PER_SION_FILE", "TRACING_CONVERT_CALLING_CONTEXT_EVENTS"),
    *("SUBSTRATE_PLUGINS", "SUBSTRATE_PLUGINS_SEP", "METRIC_PLUGINS", "METRIC_PLUGINS_SEP", "SAMPLING_SEP"),
    *("METRIC_PAPI_PER_PROCESS", "METRIC_RUSAGE_PER_PROCESS", "METRIC_PERF_PER_PROCESS"),
    *("LIBWRAP_PATH", "LIBWRAP_ENABLE", "LIBWRAP_ENABLE_SEP"),
    *("TOPOLOGY_PLATFORM", "TOPOLOGY_PROCESS", "TOPOLOGY_USER", "TOPOLOGY_MPI"),
    *("MPI_MAX_COMMUNICATORS", "MPI_MAX_WINDOWS", "MPI_MAX_EPOCHS", "MPI_MAX_GROUPS", "MPI_ONLINE_ANALYSIS"),
    *("SHMEM_MEMORY_RECORDING", "CUDA_ENABLE", "CUDA_BUFFER", "CUDA_BUFFER_CHUNK", "HIP_ENABLE", "HIP_ACTIVITY_BUFFER_SIZE"),
    *("OPENCL_ENABLE", "OPENCL_BUFFER_QUEUE", "OPENACC_ENABLE", "KOKKOS_ENABLE"),
    *("ONLINEACCESS_ENABLE", "ONLINEACCESS_REG_PORT", "ONLINEACCESS_REG_HOST", "ONLINEACCESS_BASE_PORT"),
    "ONLINEACCESS_APPL_NAME",
)
ADAPTERS = (
    *("PROFILING_", "TRACING_", "SUBSTRATE_", "METRIC_", "SAMPLING_", "LIBWRAP_", "TOPOLOGY_", "MPI_", "SHMEM_", "CUDA_"),
    *("HIP_", "OPENCL_", "OPENACC_", "OPENMP_", "OMPT_", "KOKKOS_", "ONLINEACCESS_"),
)
# variables that do not control a measurement: of compiler wrappers, of the installation, of Score-P's launchers
ELSEWHERE = ("WRAPPER", "PYTHON_BINDINGS_", "KERNEL_", "JUPYTER_")
INSTALLED = ("ROOT", "DIR", "HOME", "BASE", "PREFIX", "PATH", "BIN", "LIB", "INC", "INCLUDE", "VERSION", "CONFIG")


def flag(text: str) -> bool:
    """The value of a bool; as in Score-P, any number except 0 is true. ValueError: the text is invalid."""
    word = text.strip().lower()
    if word in TRUE or (word.isascii() and word.isdigit() and int(word) > 0):
        return True
    if word in FALSE or word == "0":
        return False
    raise ValueError("is neither true (true, yes, on, 1) nor false (false, no, off, 0)")


def size(text: str) -> int:
    """A size in bytes. ValueError: the text is invalid."""
    word = text.strip().upper()
    if word.endswith("B"):
        word = word[:-1]
    unit = word[-1:] if word[-1:] in UNITS else ""
    digits = word[: len(word) - len(unit)]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 12:
        raise ValueError("is not a size such as 16000k, 64M or 2G")
    n = int(digits) * UNITS[unit]
    if n < SMALLEST:
        raise ValueError("is less than 256k")
    return n


def _checked(kind: str, text: str) -> str:
    if kind == "bool":
        return "true" if flag(text) else "false"
    if kind == "size":
        size(text)
    elif kind == "count":
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            raise ValueError("is not a whole number")
    elif kind == "timer":
        if text not in TIMERS:
            raise ValueError(f"is none of {', '.join(TIMERS)}")
    elif kind == "groups":
        try:
            mpi_groups(text)
        except ValueError as e:
            raise ValueError(f"is no list of groups: {e}") from None
    elif kind == "letter":
        if len(text) != 1:
            raise ValueError("is not a single character")
    elif kind == "name" and ("/" in text or text in (".", "..")):
        raise ValueError("is not the name of a file")
    return text


class Variables:
    """The values of all variables as text, by name."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Refused: a value is invalid; the message has variable and value."""
        self.values: dict[str, str] = {}
        for name, kind, default in (*EFFECTIVE, *RECORDED_NOT):
            text = environment.get(name, "")
            try:
                # an empty variable counts as not set
                self.values[name] = _checked(kind, text) if text else default
            except ValueError as e:
                raise Refused(f"{name}: {text!r} {e}") from None
        # default: the best available clock
        self.clock = TIMERS[self.values["SCOREP_TIMER"]] if environment.get("SCOREP_TIMER") else "auto"
        self.metrics = ",".join(self._metrics())
        path = self.values["SCOREP_FILTERING_FILE"]
        self.filter = "\n".join(filters.read(path)) if path else ""
        # messages that are printed once, with or without --verbose
        self.notes = [*_without_effect(environment), *strange_variables(environment)]

    def on(self, name: str) -> bool:
        return self.values[name] == "true"

    def _metrics(self) -> list[str]:
        found = []
        for source in ("rusage", "papi", "perf"):
            variable = "SCOREP_METRIC_" + source.upper()
            for word in self.values[variable].split(self.values[variable + "_SEP"]):
                name = word.strip()
                if source == "rusage" and name == "all":
                    found += ["rusage:" + one for one in RUSAGE]
                elif source == "rusage" and name and name not in RUSAGE:
                    raise Refused(f"{variable}: {name!r} is none of all, {', '.join(RUSAGE)}")
                elif "," in name:
                    raise Refused(f"{variable}: {name!r} holds a comma, which no metric can")
                elif name:
                    found.append(f"{source}:{name}")
        return list(dict.fromkeys(found))

    def settings(self, instrument: bool, io: bool | None, mpi: bool) -> dict[str, str]:
        """Names and values of the recorder's settings. io: None: SCOREP_IO_POSIX decides. mpi: whether MPI is recorded."""
        wanted = self.values
        return {
            "scorep": "1",
            "instrument": "1" if instrument else "0",
            "trace": "1" if self.on("SCOREP_ENABLE_TRACING") else "0",
            "trace_memory": str(size(wanted["SCOREP_TOTAL_MEMORY"])),
            "profile_depth": wanted["SCOREP_PROFILING_MAX_CALLPATH_DEPTH"],
            "clock": self.clock,
            "metrics": self.metrics,
            "io": "1" if (self.on("SCOREP_IO_POSIX") if io is None else io) else "0",
            "mpi": mpi_groups(wanted["SCOREP_MPI_ENABLE_GROUPS"]) if mpi else "off",
            "filter": self.filter,
            "machine": wanted["SCOREP_MACHINE_NAME"],
            "executable": wanted["SCOREP_EXECUTABLE"],
        }

    def configuration(self, directory: str) -> str:
        """scorep.cfg: lines NAME=value that a shell can read."""
        lines = []
        for name, kind, _ in (*EFFECTIVE, *RECORDED_NOT):
            text = directory if name == "SCOREP_EXPERIMENT_DIRECTORY" else self.values[name]
            if kind not in ("bool", "size", "count"):
                text = '"' + "".join("\\" + c if c in '"\\$`' else c for c in text) + '"'
            lines.append(f"{name}={text}\n")
        return "".join(lines)


def _is_default(kind: str, default: str, text: str) -> bool:
    """Whether a checked variable has its default value."""
    return _checked(kind, text) == default if text else True


def _without_effect(environment: Mapping[str, str]) -> list[str]:
    """Messages about variables that are set but have no effect."""
    effective = {name for name, _, _ in EFFECTIVE}
    checked = {name: (kind, default) for name, kind, default in RECORDED_NOT}
    # compare names without the common prefix
    tails = [name[len(PREFIX) :] for name in (*effective, *checked)]
    idle, lines = [], []
    for name in sorted(environment):
        text, tail = environment[name], name[len(PREFIX) :]
        if not name.startswith(PREFIX) or name in effective or not text or tail.startswith(ELSEWHERE) or tail in INSTALLED:
            continue
        if name in checked:
            if not _is_default(*checked[name], text):
                idle.append(name)
        elif tail in KNOWN:
            idle.append(name)
        else:
            # an adapter may have variables of other versions of Score-P, so only very similar names count as misspelt
            adapter = tail.startswith(ADAPTERS)
            guess = near(tail, [*tails, *KNOWN], 0.85 if adapter else 0.6).replace("mean ", "mean " + PREFIX)
            if adapter and not guess:
                idle.append(name)
            else:
                lines.append(f"{name} is no variable of Score-P and has no effect{guess}")
    if idle:
        lines.insert(0, f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect here")
    return lines


def from_configuration(path: str) -> dict[str, str]:
    """Reads the values that configuration() has written; empty if the file does not exist. OSError: it cannot be read."""
    values: dict[str, str] = {}
    if not os.path.exists(path):
        return values
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for line in f.read().split("\n"):
            name, sep, text = line.partition("=")
            if sep and text[:1] == '"':
                letters = iter(text[1:-1])
                text = "".join(next(letters, "") if c == "\\" else c for c in letters)
            if sep:
                values[name] = text
    return values
