# SPDX-License-Identifier: BSD-3-Clause
"""Cells that begin with a line of ours. The shell runs the rest itself, as it runs any cell: the line is taken out before, the
measurement begins in the shell's event pre_run_cell and ends in post_run_cell."""

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
from spartito.notebook.measuring import NotMeasured, Request, Unit, tell
from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from types import CodeType
    from typing import Any


class Marker:
    """What a cell's first line `%%NAME line` means."""

    def __init__(self, request: Callable[[str, str], Request | None], check: Callable[[str], str | None] | None) -> None:
        self.request = request
        self.check = check


FIRST = "it must be the first line of the cell, above comments and other magics"
_markers: dict[str, Marker] = {}
line_magics: list[str] = []  # names of line magics, for suggestions; magics.load() sets them


def mark(name: str, request: Callable[[str, str], Request | None], check: Callable[[str], str | None] | None = None) -> None:
    """Cells that begin with `%%name` run without that line, measured as request(rest of the line, whole cell) says; None:
    unmeasured. It is called once, when the cell is run, and may raise NotMeasured.

    check(rest of the line) has no effects, as shells also ask it about cells that are being typed. It returns a text to print
    instead of running the cell, or None, and raises Usage where the line cannot be understood: the cell fails with that."""
    _markers[name] = Marker(request, check)


def unmark(name: str) -> None:
    _markers.pop(name, None)


def refuse(text: str) -> None:
    """In the place of a cell that is not run."""
    from IPython.core.error import UsageError

    raise UsageError(text)


def show(text: str) -> None:
    """In the place of a cell that is answered."""
    print(text)


def _marked(line: str) -> tuple[Marker, str] | None:
    """The marker of a first line, and what follows its name."""
    if not line.startswith("%%"):
        return None
    words = line[2:].split(None, 1)
    found = _markers.get(words[0]) if words else None
    return (found, words[1].strip() if len(words) > 1 else "") if found else None


def _checked(marker: Marker, line: str) -> tuple[str, str]:
    """What is to be called instead of running the cell, and with which text; "": it is run."""
    try:
        text = marker.check(line) if marker.check else None
    except Usage as e:
        return "refuse", str(e)
    return ("", "") if text is None else ("show", text)


def _within_a_magic() -> bool:
    """Whether the lines are those of a magic such as %%time, which compiles them itself: no event of the shell tells of them."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "run_cell_magic":
        frame = frame.f_back
    return frame is not None


def transform(lines: list[str]) -> list[str]:
    """Takes the line out; the lines below it keep their numbers, unless the next one is a magic for a whole cell too."""
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
    """Of the cell that is about to run, or that runs. Some versions of IPython count before they tell, others after; the result
    that they fill in has it in all of them."""
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
    """How many cells run now, one within the other: %%capture and the like have the shell run a cell of theirs."""
    from IPython.core.interactiveshell import InteractiveShell

    own = InteractiveShell.run_cell_async.__code__
    depth = 0
    frame: Any = sys._getframe(1)
    while frame is not None:
        depth += frame.f_code is own
        frame = frame.f_back
    return depth


def _apart(name: str, function: Callable[..., Any], cells: Cells | None = None) -> Callable[..., Any]:
    """The function as a region of that name, in which no functions are recorded. cells: it stands in the cell that runs then,
    and not in the line that calls it."""

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
    """Runs it as `await` does. While it waits, the kernel's loop runs whatever else there is: the region `await` in the file
    `place`."""
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
    """Those of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.number = number_of(shell)  # of the cell that runs now, or ran last
        self.unit: Unit | None = None  # of the cell that runs now
        self.lasting: Unit | None = None  # over several cells
        self.results: dict[int, str] = {}  # directories, by the number of the cell
        self.order: list[str] = []  # the same, as they came
        self._replaced: list[tuple[Any, Any, Any]] = []  # run_code, showtraceback, displayhook that were in the place of ours
        self._statements: list[Unit] = []  # of %spartito, to be shown behind the cell's value
        self._between = False  # lasting waits for the next cell's code

    # ---- events of the shell

    def before(self, info: Any) -> None:
        if (self.unit or self.lasting) and _depth() > 1:
            return
        self.number = number_of(self.shell)
        if self.unit and self.unit.thread == threading.get_ident():
            self.finish()  # its end was never told
        found = self._found(info.raw_cell)
        if self.lasting:
            if found and not _checked(*found)[0]:
                tell(f"{self.lasting.name} is being measured, and this cell with it; %spartito_stop ends that")
            return
        if found and self.unit is None:
            self.start(found[0].request, found[1], info.raw_cell)

    def _found(self, raw_cell: str) -> tuple[Marker, str] | None:
        """What transform() has found in the cell: after blank lines, indentation and prompts were taken away."""
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
        """Has the cell that is about to run measured, from where its code begins: there may be none that can run."""
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
        tell(f"In[{self.number}] is not measured: {why}")

    def _code_begins(self) -> None:
        """What the shell did with the cell before is not the cell's."""
        try:
            if self.lasting:
                self._goes_on()
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
                tell(f"In[{self.number}] is not measured: there is no code below its first line")
            self.finish()
        elif self.lasting:
            self._waits()
        _suggest(getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None))

    def finish(self) -> None:
        """Ends what is measured of this cell, and shows it."""
        unit, self.unit = self.unit, None
        self.unwatch()
        if unit and unit.begun:
            unit.end()
            self.deliver(unit)

    # ---- several cells

    def _goes_on(self) -> None:
        if not self.lasting or not self._between:
            return
        self._between = False
        self.lasting.go_on(f"In[{self.number}]")

    def _waits(self) -> None:
        if not self.lasting or self._between:
            return
        self._between = True
        self.lasting.wait()

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
        """From here on the functions of a thread are recorded while it runs code of a cell. What shows the value of its last
        expression, and what shows an exception, are regions of their own, neither the cell's code nor the shell's functions."""
        shell = self.shell
        own, display = shell.run_code, shell.display_trap.hook

        async def run_code(code: CodeType, *args: Any, **keywords: Any) -> Any:
            self._code_begins()
            within = _measure.thread_functions(False)  # another cell's code
            name_code(shell, code, self.number)
            _measure.thread_functions(True)
            try:
                return await _awaiting(own(code, *args, **keywords), f"In[{self.number}]")
            finally:
                if not within:
                    _measure.thread_functions(False)

        self._replaced.append((shell.__dict__.get("run_code"), shell.__dict__.get("showtraceback"), display))
        shell.__dict__["run_code"] = run_code
        shell.__dict__["showtraceback"] = _apart("traceback", shell.showtraceback, self)
        shell.display_trap.hook = _apart("display", display)

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
        """A result, under the numbers of the cells that its name tells."""
        numbers = [int(number) for number in re.findall(r"In\[(\d+)\]", name)]
        if numbers:
            self.results.update((n, directory) for n in range(numbers[0], numbers[-1] + 1))
        self.order.append(directory)

    def deliver_later(self, unit: Unit) -> None:
        """The same below all that the cell shows."""
        if _depth():
            self._statements.append(unit)
        else:
            self.deliver(unit)

    def deliver(self, unit: Unit) -> None:
        """Shows the result of a unit that has ended."""
        self.note(unit.name, unit.directory)
        for text in (*celloptions.without_lines(unit.directory, unit.request.settings, unit.request.lines_only), *unit.remarks):
            tell(text)
        if unit.request.done:
            unit.request.done(unit)
        elif not unit.request.quiet:
            from IPython.display import display

            from spartito.notebook.result import Result

            display(Result(unit.directory))


OURS = re.compile(r"(Cell|Line) magic (?:function )?`(%%?)(\w+)`")


def _suggest(error: object) -> None:
    """What a magic that does not exist was meant to be."""
    found = OURS.search(str(error)) if type(error).__name__ == "UsageError" and "not found" in str(error) else None
    if not found:
        return
    cell = found[1] == "Cell"
    if not cell and found[2] == "%%" and found[3] in _markers:
        tell(f"%%{found[3]}: {FIRST}")
        return
    near = difflib.get_close_matches(found[3], [*_markers] if cell else line_magics, 1, 0.6)
    if near and near[0] != found[3]:
        tell(f"did you mean {found[2]}{near[0]}?")


# what %%time compiles its cell as
TIMED = ("<timed exec>", "<timed eval>")
_other_numbers: dict[str, int] = {}  # than the shell has for files of code; negative: it only calls a magic


def _numbers(shell: Any) -> dict[str, int]:
    """Of cells, by the files that the shell compiles them as."""
    found = getattr(shell.compile, "_filename_map", None)
    return found if isinstance(found, dict) else {}


def names(shell: Any) -> None:
    """From here on functions are named after the cell that defined them."""
    _measure.cells({**_numbers(shell), **_other_numbers})


def _cell_of_magic(file: str) -> str | None:
    """The text that a magic such as %%time is given, if that is all that the code in this file does."""
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
    """Code of the cell of that number. What a magic has the shell run has the number of another cell there, or none; it is of this
    one, and its text is the cell's."""
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
    """What is still being measured becomes whole."""
    if current and current.lasting:
        current.end_lasting()


def _servants_now() -> None:
    """A kernel starts one more thread with the first large output, as results are; better now than within a measured cell."""
    found = getattr(sys.modules.get("zmq.utils.garbage"), "gc", None)
    try:
        if found is not None and not found.is_alive():
            found.start()
    except Exception:
        pass  # another zmq than those known: it starts when it does


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
    _servants_now()
    import_module("spartito.notebook.result")  # now, as the first result must not wait for it
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
