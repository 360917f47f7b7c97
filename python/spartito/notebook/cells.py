# SPDX-License-Identifier: BSD-3-Clause
"""Cells whose first line is %%spartito or another marker. The input transformer transform() removes that line, so the shell runs
the other lines like any cell. The shell's event pre_run_cell prepares the measurement, post_run_cell ends it."""

from __future__ import annotations

import atexit
import difflib
import linecache
import re
import sys
import threading
from importlib import import_module
from types import coroutine

from spartito import _measure
from spartito.notebook import celloptions
from spartito.notebook.measuring import NotMeasured, Request, Unit, print_note
from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from types import CodeType
    from typing import Any


class Marker:
    """The callbacks for cells whose first line is `%%NAME …`, see mark()."""

    def __init__(self, request: Callable[[str, str], Request | None], check: Callable[[str], str | None] | None) -> None:
        self.request = request
        self.check = check


FIRST = "it must be the first line of the cell, above comments and other magics"
_markers: dict[str, Marker] = {}
line_magics: list[str] = []  # names of line magics, for suggestions; magics.load() sets them


def mark(name: str, request: Callable[[str, str], Request | None], check: Callable[[str], str | None] | None = None) -> None:
    """From here on, cells that begin with `%%name` run without that line and are measured.

    request(rest of the line, whole cell) returns what to measure and how; None: run the cell unmeasured. It is called once, when
    the cell is run, and may raise NotMeasured.

    check(rest of the line) must have no side effects, as shells also call it while a cell is being typed. It returns a text to
    print instead of running the cell, or None. If it raises Usage, the cell fails with that message."""
    _markers[name] = Marker(request, check)


def unmark(name: str) -> None:
    _markers.pop(name, None)


def refuse(text: str) -> None:
    """Called instead of the code of a cell whose options are invalid."""
    from IPython.core.error import UsageError

    raise UsageError(text)


def show(text: str) -> None:
    """Called instead of the code of a cell whose options ask for a text such as --help."""
    print(text)


def _marked(line: str) -> tuple[Marker, str] | None:
    """The marker of a first line, and what follows its name."""
    if not line.startswith("%%"):
        return None
    words = line[2:].split(None, 1)
    found = _markers.get(words[0]) if words else None
    return (found, words[1].strip() if len(words) > 1 else "") if found else None


def _checked(marker: Marker, line: str) -> tuple[str, str]:
    """The function ("refuse" or "show") to call instead of the cell's code, and its text; "": the cell is run."""
    try:
        text = marker.check(line) if marker.check else None
    except Usage as e:
        return "refuse", str(e)
    return ("", "") if text is None else ("show", text)


def _within_a_magic() -> bool:
    """Whether the lines belong to a magic such as %%time, which compiles them itself, so the shell sends no event for them."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "run_cell_magic":
        frame = frame.f_back
    return frame is not None


def transform(lines: list[str]) -> list[str]:
    """Removes the marker line of a cell. A blank line replaces it, so the lines below keep their numbers, unless the next line is a
    cell magic, too, which must be the first line."""
    found = _marked(lines[0]) if lines else None
    if not found:
        return lines
    instead, text = ("refuse", FIRST) if _within_a_magic() else _checked(*found)
    if instead:
        return [f'__import__("spartito.notebook.cells", fromlist=["{instead}"]).{instead}({text!r})\n']
    if len(lines) > 1 and lines[1].startswith("%%"):
        return transform(lines[1:])
    return ["\n", *lines[1:]]


def number_of(shell: Any) -> int:
    """The number of the current cell, or of the one about to run. Some versions of IPython increase shell.execution_count before
    pre_run_cell, others after it. The variable `result` of run_cell_async has the right number in all of them."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "run_cell_async":
            number = getattr(frame.f_locals.get("result"), "execution_count", None)
            if isinstance(number, int):
                return number
            break
        frame = frame.f_back
    return int(shell.execution_count)


def _depth() -> int:
    """The number of cells that run now, nested in each other: magics such as %%capture make the shell run a cell within a cell."""
    from IPython.core.interactiveshell import InteractiveShell

    own = InteractiveShell.run_cell_async.__code__
    depth = 0
    frame: Any = sys._getframe(1)
    while frame is not None:
        depth += frame.f_code is own
        frame = frame.f_back
    return depth


def _as_region(name: str, function: Callable[..., Any], cells: Cells | None = None) -> Callable[..., Any]:
    """The function wrapped in a region of that name, in which no functions are recorded. cells: the region's source location is the
    first line of the current cell, instead of the line that calls the function."""

    def within(*args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        place = (f"In[{cells.number}]", 1) if cells else (None, 0)
        _measure.region_begin(name, None, *place)
        were_on = _measure.thread_functions(False)
        try:
            return function(*args, **keywords)
        finally:
            if were_on:
                _measure.thread_functions(True)
            _measure.region_end(name, None, *place)

    return within


@coroutine
def _awaiting(running: Coroutine[Any, Any, Any], place: str) -> Generator[Any, Any, Any]:
    """Runs the coroutine as `await` does. While it is suspended, the kernel's event loop runs other tasks; that time is in the
    region `await`, whose source location is the first line of the file `place`."""
    step: Callable[[Any], Any] = running.send
    given: Any = None
    while True:
        try:
            waits_for = step(given)
        except StopIteration as e:
            return e.value
        _measure.region_begin("await", None, place, 1)
        try:
            given = yield waits_for
            step = running.send
        except BaseException as e:
            given, step = e, running.throw
        finally:
            _measure.region_end("await", None, place, 1)


class Cells:
    """The state of one shell: current measurement and results."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.number = number_of(shell)  # of the current cell, or of the last one
        self.unit: Unit | None = None  # measurement of the current cell
        self.lasting: Unit | None = None  # measurement of several cells, see %spartito_start
        self.results: dict[int, str] = {}  # number of a cell: directory of its result
        self.order: list[str] = []  # the directories of all results, oldest first
        self._replaced: list[tuple[Any, Any, Any]] = []  # the shell's run_code, showtraceback, displayhook before watch()
        self._statements: list[Unit] = []  # measurements by %spartito whose results are shown after the cell's value
        self._between = False  # `lasting` is paused until the next cell's code begins

    # ---- events of the shell

    def before(self, info: Any) -> None:
        if (self.unit or self.lasting) and _depth() > 1:
            return
        self.number = number_of(self.shell)
        if self.unit and self.unit.thread == threading.get_ident():
            self.finish()  # the shell sent no post_run_cell for that cell
        found = self._found(info.raw_cell)
        if self.lasting:
            if found and not _checked(*found)[0]:
                print_note(f"{self.lasting.name} is being measured, and this cell with it; %spartito_stop ends that")
            return
        if found and self.unit is None:
            self.start(found[0].request, found[1], info.raw_cell)

    def _found(self, raw_cell: str) -> tuple[Marker, str] | None:
        """The marker that transform() has found in the cell: in the first line without blank lines, indentation and prompts."""
        if "%%" not in raw_cell:
            return None
        lines = (raw_cell + "\n").splitlines(keepends=True)
        try:
            for cleanup in self.shell.input_transformer_manager.cleanup_transforms:
                if not getattr(cleanup, "has_side_effects", False):
                    lines = cleanup(lines)
        except SyntaxError:
            return None
        return _marked(lines[0]) if lines else None

    def start(self, request: Callable[[str, str], Request | None], line: str, raw_cell: str) -> None:
        """Prepares the measurement of the cell that is about to run. The cell's code begins it, as a cell may have no valid
        code."""
        try:
            wanted = request(line, raw_cell)
        except Usage:
            return  # the cell is refused with that
        except NotMeasured as e:
            self._not_measured(e)
            return
        if wanted is not None:
            self.unit = Unit(wanted)
            self.watch()

    def _not_measured(self, why: NotMeasured) -> None:
        print_note(f"In[{self.number}] is not measured: {why}")

    def _code_begins(self) -> None:
        """Begins or resumes the measurement: what the shell does before the cell's code runs is not measured."""
        try:
            if self.lasting:
                self._resume_lasting()
            elif self.unit and not self.unit.begun:
                self.unit.begin()
        except NotMeasured as e:
            self.unit = None
            self._not_measured(e)

    def after(self, result: Any = None) -> None:
        if (self.unit or self.lasting or self._statements) and _depth():
            return
        statements, self._statements = self._statements, []
        for unit in statements:
            self.deliver(unit)
        if self.unit and self.unit.thread == threading.get_ident():
            if not self.unit.begun and not getattr(result, "error_before_exec", None):
                print_note(f"In[{self.number}] is not measured: there is no code below its first line")
            self.finish()
        elif self.lasting:
            self._pause_lasting()
        _suggest(getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None))

    def finish(self) -> None:
        """Ends the measurement of the current cell and shows its result."""
        unit, self.unit = self.unit, None
        self.unwatch()
        if unit and unit.begun:
            unit.end()
            self.deliver(unit)

    # ---- several cells

    def _resume_lasting(self) -> None:
        if not self.lasting or not self._between:
            return
        self._between = False
        self.lasting.resume(f"In[{self.number}]")

    def _pause_lasting(self) -> None:
        if not self.lasting or self._between:
            return
        self._between = True
        self.lasting.pause()

    def end_lasting(self) -> None:
        unit, self.lasting = self.lasting, None
        if unit:
            self.unwatch()
            self._between = False
            first = unit.name
            if first != f"In[{self.number}]":
                unit.name = f"{first} to In[{self.number}]"
            unit.end()

    # ---- the shell's own functions are left out

    def watch(self) -> None:
        """From here on, functions of a thread are recorded while it runs code of a cell. The functions of the shell that display
        the value of the last expression and tracebacks become the regions `display` and `traceback`."""
        shell = self.shell
        own, display = shell.run_code, shell.display_trap.hook

        async def run_code(code: CodeType, *args: Any, **keywords: Any) -> Any:
            self._code_begins()
            within = _measure.thread_functions(False)  # True: this cell runs within another cell's code
            name_code(shell, code, self.number)
            _measure.thread_functions(True)
            try:
                return await _awaiting(own(code, *args, **keywords), f"In[{self.number}]")
            finally:
                if not within:
                    _measure.thread_functions(False)

        self._replaced.append((shell.__dict__.get("run_code"), shell.__dict__.get("showtraceback"), display))
        shell.__dict__["run_code"] = run_code
        shell.__dict__["showtraceback"] = _as_region("traceback", shell.showtraceback, self)
        shell.display_trap.hook = _as_region("display", display)

    def unwatch(self) -> None:
        for run_code, showtraceback, display in reversed(self._replaced):
            self.shell.display_trap.hook = display
            for name, before in (("run_code", run_code), ("showtraceback", showtraceback)):
                if before is None:
                    self.shell.__dict__.pop(name, None)
                else:
                    self.shell.__dict__[name] = before
        self._replaced = []

    # ---- results

    def note(self, name: str, directory: str) -> None:
        """Adds a result under the numbers of all cells in its name, such as In[3] to In[5]."""
        numbers = [int(number) for number in re.findall(r"In\[(\d+)\]", name)]
        if numbers:
            self.results.update((n, directory) for n in range(numbers[0], numbers[-1] + 1))
        self.order.append(directory)

    def deliver_later(self, unit: Unit) -> None:
        """Shows the result of a unit below all output of the current cell."""
        if _depth():
            self._statements.append(unit)
        else:
            self.deliver(unit)

    def deliver(self, unit: Unit) -> None:
        """Shows the result of a unit that has ended."""
        self.note(unit.name, unit.directory)
        for text in (*celloptions.without_lines(unit.directory, unit.request.settings, unit.request.lines_only), *unit.remarks):
            print_note(text)
        if unit.request.done:
            unit.request.done(unit)
        elif not unit.request.quiet:
            from IPython.display import display

            from spartito.notebook.result import Result

            display(Result(unit.directory))


UNKNOWN_MAGIC = re.compile(r"(Cell|Line) magic (?:function )?`(%%?)(\w+)`")


def _suggest(error: object) -> None:
    """Suggests a magic of Spartito with a similar name if the error is about a magic that does not exist."""
    found = UNKNOWN_MAGIC.search(str(error)) if type(error).__name__ == "UsageError" and "not found" in str(error) else None
    if not found:
        return
    cell = found[1] == "Cell"
    if not cell and found[2] == "%%" and found[3] in _markers:
        print_note(f"%%{found[3]}: {FIRST}")
        return
    near = difflib.get_close_matches(found[3], [*_markers] if cell else line_magics, 1, 0.6)
    if near and near[0] != found[3]:
        print_note(f"did you mean {found[2]}{near[0]}?")


# file names with which %%time compiles its cell
TIMED = ("<timed exec>", "<timed eval>")
# file name of code: cell number, where it differs from the shell's; negative: the code only calls a cell magic such as %%time
_other_numbers: dict[str, int] = {}


def _numbers(shell: Any) -> dict[str, int]:
    """The shell's table from the file name of a compiled cell to the cell's number."""
    found = getattr(shell.compile, "_filename_map", None)
    return found if isinstance(found, dict) else {}


def names(shell: Any) -> None:
    """Makes the recorder name functions after the cell that defines them, from here on."""
    _measure.cells({**_numbers(shell), **_other_numbers})


def _cell_of_magic(file: str) -> str | None:
    """The text that the code in this file passes to a cell magic such as %%time, if the code does nothing else."""
    import ast

    text = "".join(linecache.getlines(file)).strip()
    head, call, given = text.partition("get_ipython().run_cell_magic")
    if head or not call:
        return None
    try:
        found = ast.literal_eval(given)
    except (SyntaxError, ValueError):
        return None
    return found[2] if isinstance(found, tuple) and len(found) == 3 else None


def name_code(shell: Any, code: CodeType, number: int) -> None:
    """Assigns code to the cell of that number. If a magic makes the shell run code, the shell has another number for it, or none.
    Such code belongs to the cell that called the magic, and so does its source text."""
    file = code.co_filename
    below = _cell_of_magic(file)
    for name in TIMED:
        _other_numbers.pop(name, None)
    if below is not None:
        _other_numbers.update(dict.fromkeys(TIMED, number), **{file: -number})
        linecache.cache[f"In[{number}]"] = (len(below), None, below.splitlines(keepends=True), f"In[{number}]")
    elif _numbers(shell).get(file) != number:
        _other_numbers[file] = number
    names(shell)


current: Cells | None = None


def at_exit() -> None:
    """Ends a measurement over several cells, so its experiment is complete."""
    if current and current.lasting:
        current.end_lasting()


def _start_garbage_thread() -> None:
    """Starts the garbage thread of ZeroMQ. Otherwise the first large output, such as a result, would start it, maybe within a
    measured cell."""
    found = getattr(sys.modules.get("zmq.utils.garbage"), "gc", None)
    try:
        if found is not None and not found.is_alive():
            found.start()
    except Exception:
        pass  # an unknown version of pyzmq: the thread starts later


def load(shell: Any) -> None:
    global current
    if current is not None:
        unload(current.shell)
    current = Cells(shell)
    shell.input_transformer_manager.line_transforms.insert(0, transform)
    shell.events.register("pre_run_cell", current.before)
    shell.events.register("post_run_cell", current.after)
    names(shell)
    _measure.before_mpi()
    _start_garbage_thread()
    import_module("spartito.notebook.result")  # the import takes long; do not delay the first result by it
    atexit.register(at_exit)


def unload(shell: Any) -> None:
    global current
    if current is None:
        return
    at_exit()
    atexit.unregister(at_exit)
    current.unwatch()
    shell.input_transformer_manager.line_transforms.remove(transform)
    shell.events.unregister("pre_run_cell", current.before)
    shell.events.unregister("post_run_cell", current.after)
    _measure.cells(None)
    current = None
