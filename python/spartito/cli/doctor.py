# SPDX-License-Identifier: BSD-3-Clause
"""spartito doctor: what works on this machine, and how to get the rest. With a process id: where each thread of the process is."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator

from spartito.base import package
from spartito.base.text import Output, standard_output

CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
OPENERS = {
    "otf2-print": "apt install otf2-tools; or Vampir, https://vampir.eu",
    "snakeviz": "pip install snakeviz",
    "flamegraph.pl": "https://github.com/brendangregg/FlameGraph",
    "cube": "https://www.scalasca.org",
    "kcachegrind": "apt install kcachegrind",
    "jq": "apt install jq",
    "python -m line_profiler": "pip install line_profiler",
}
AGAIN = f"{sys.executable} -m pip install --force-reinstall spartito"
Line = tuple[str, str, str]  # "ok", "note" or "bad"; a sentence; how to get what is missing, or ""


def _clock() -> Line:
    try:
        with open(CLOCK, encoding="ascii", errors="replace") as f:
            source = f.read().strip()
    except OSError:
        source = "a source that cannot be read here"
    counters = {("x86_64", "tsc"): "time-stamp counter", ("aarch64", "arch_sys_counter"): "counter"}
    counter = counters.get((platform.machine(), source))
    if counter:
        return "ok", f"clock: the processor's {counter}", ""
    return "note", f"clock: the kernel uses {source}, so clock_gettime is used; a call costs some 20 ns more", ""


def _hooks() -> Iterator[Line]:
    from spartito._measure import hooks

    default = True
    for name, works, why in hooks():
        if works:
            yield "ok", f"hook {name}" + (" (default)" if default else "") + (f": {why}" if why else ""), ""
            default = False
        else:
            yield "note", f"hook {name}: {why}", ""
    if default:
        yield "bad", "no hook works with this Python", "use CPython 3.9 or newer"


def _metrics() -> Iterator[Line]:
    from spartito._measure import metrics

    sources: dict[str, dict[str | None, list[str]]] = {}
    for word, _, why in metrics():
        source, name = word.split(":", 1)
        sources.setdefault(source, {}).setdefault(why, []).append(name)
    for source, reasons in sources.items():
        for why, names in reasons.items():
            listed = " ".join(names)
            if why is None:
                yield "ok", f"metrics of {source}: {listed}", ""
            else:
                yield "note", f"metrics of {source} not counted: {listed}: {why}", ""


def _there(opens: str) -> bool:
    """Whether a tool is installed: a program with arguments (go tool pprof), or a module of this Python (python -m module)."""
    from importlib.util import find_spec

    program, _, module = opens.partition(" -m ")
    return bool(find_spec(module) if module else shutil.which(program.split()[0]))


def _formats() -> Iterator[Line]:
    from spartito import _build
    from spartito._analyse import writers

    without = {name for name, found, *_ in _build.SUPPORT if not found}
    for name, what, _, opens, needs_trace, _, _ in writers():
        text = f"format {name}: {what}" + ("; needs --trace" if needs_trace else "")
        if name == "otf2" and "libotf2" in without:
            yield "note", f"{text}; not in this build, see libotf2", ""
        elif not opens or "://" in opens or _there(opens):
            yield "ok", text + (f"; open with {opens}" if opens else ""), ""
        else:
            yield "note", f"{text}; {opens} is not {'there' if ' ' in opens else 'on PATH'}", OPENERS.get(opens, "")


def _build() -> Iterator[Line]:
    """What the build has and lacks."""
    from spartito import _build

    for name, found, provides, get, file in _build.SUPPORT:
        path = os.path.join(package.DIRECTORY, file)
        if found and os.path.exists(path):
            yield "ok", f"{name}: {provides}", ""
        elif found:
            yield "bad", f"{name}: {path} is not there", AGAIN
        else:
            yield "note", f"{name} was not there when Spartito was built; left out: {provides}", f"{get}, then build it again"
    lacks = [name for name, found, *_ in _build.SUPPORT if not found]
    if lacks:
        yield "note", f"this build is without {', '.join(lacks)}", ""
    else:
        yield "ok", "this build lacks nothing", ""


def _module(name: str, use: str, needed: bool, get: str) -> Line:
    from importlib.util import find_spec

    if find_spec(name):
        return "ok", f"{name}: {use}", ""
    return ("bad" if needed else "note"), f"{name} is not installed: {use}", get


def _hook_runs() -> bool:
    """Whether the start-up hook runs in a new interpreter like this one."""
    import subprocess

    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    environment["SPARTITO_EXPERIMENT"] = ""  # the hook runs, but nothing is recorded
    command = [sys.executable, "-c", "import sys; sys.exit('spartito.startup' not in sys.modules)"]
    none = subprocess.DEVNULL
    return subprocess.run(command, env=environment, stdin=none, stdout=none, stderr=none).returncode == 0


def _start_hook() -> Line:
    again = f"in a clone of it: {sys.executable} -m pip install --force-reinstall ."
    for place in sys.path:
        file = os.path.join(place, "spartito.pth")
        if not place or not os.path.isfile(file):
            continue
        if _hook_runs():
            return "ok", f"start-up hook: {file}", ""
        why = f"Python does not read {file}, as it reads such files in its site directories only, not in those of PYTHONPATH"
        return "bad", f"start-up hook: {why}, so nothing is measured", again
    return "bad", "start-up hook: no spartito.pth on sys.path, so nothing is measured", again


def _preloaded(what: str, option: str, library: str) -> Line:
    if not os.path.isfile(library):
        return "bad", f"{what}: {library} is not there", AGAIN
    try:
        import ctypes

        ctypes.CDLL(library)
    except (ImportError, OSError) as e:
        return "note", f"{what}: {library} cannot be loaded: {e}", ""
    return "ok", f"{what}: run {option} preloads {library}", ""


def _preloads() -> Iterator[Line]:
    from spartito.run.preload import HEAP, LIBRARY, WAITS

    yield _preloaded("file I/O", "--io", LIBRARY)
    yield _preloaded("memory", "--memory-profile", HEAP)
    yield _preloaded("waits of the C library", "--waits", WAITS)


def _lines() -> Iterator[Line]:
    from spartito._version import __version__

    yield (
        "ok",
        f"spartito {__version__}, {platform.python_implementation()} {platform.python_version()} at {sys.executable}",
        "",
    )
    yield _start_hook()
    yield from _hooks()
    yield _clock()
    yield from _preloads()
    yield from _metrics()
    yield from _formats()
    yield from _build()
    yield _module("rich", "colours and progress bars", False, f"{sys.executable} -m pip install rich")
    yield _module(
        "greenlet", "its switches are recorded in programs that use it", False, "comes with the programs that need it"
    )


def _print(out: Output) -> bool:
    good = True
    styles = {"ok": "green", "note": "yellow", "bad": "bold red"}
    for state, text, get in _lines():
        good = good and state != "bad"
        out.line(f"{state:<5}{text}" + (f" ({get})" if get else ""), styles[state] if state != "ok" else "")
    return good


def main(values: dict[str, object], operands: list[str]) -> int:
    out = standard_output()
    if operands:
        from spartito.sample import hanging
        from spartito.sample.operand import one_process

        hanging.write(out, one_process("doctor", operands))
        return 0
    if values.get("formats"):
        from spartito.experiments.conversion import formats

        for f in formats():
            out.line(f.name)
        return 0
    return 0 if _print(out) else 1
