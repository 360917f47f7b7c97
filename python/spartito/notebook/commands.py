# SPDX-License-Identifier: BSD-3-Clause
"""The %spartito_… magics: measure over several cells, show, compare and save results, set defaults."""

from __future__ import annotations

import os
import re
import sys

from spartito.base.messages import Refused
from spartito.notebook import celloptions, cells
from spartito.notebook.measuring import NotMeasured, Unit, print_note
from spartito.options import reports
from spartito.options.kinds import Topic, option_lines
from spartito.options.table import COMPENSATE, Command, Option, Usage, find_command, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito.notebook.result import Comparison, Result
    from spartito.notebook.serving import Page


def _command(
    name: str, usage: str, details: str, options: tuple[Option, ...] = (), topics: tuple[Topic, ...] = ()
) -> Command:
    return Command(name, f"%{name} {usage}".rstrip(), "", details, options, (), topics=topics)


def _of(name: str, *without: str) -> tuple[Option, ...]:
    """The options of a command of the command line, except those of the names `without`."""
    command = find_command(name)
    assert command
    return tuple(o for o in command.own_options if o.dest not in without)


PER_CELL = ("output", "quiet", celloptions.ALONE.dest)  # options that cannot be a default for all cells of a session
_CELL = "N is the number of a cell, its directory's path, or left out: the cell measured last."
COMMANDS = {
    command.name: command
    for command in (
        _command(
            "spartito_start",
            "[options]",
            "Measures from here on, over this cell and all that follow, until %spartito_stop. Between cells nothing is measured. "
            "The options are those of %%spartito.",
            celloptions.CELL.own_options,
        ),
        _command("spartito_stop", "", "Ends what %spartito_start began, and shows the result of all these cells."),
        _command(
            "spartito_report",
            "[REPORT] [N] [options of `spartito report`]",
            f"Shows the result of a cell again; with a report's name or options, what `spartito report` prints. {_CELL}",
            _of("report"),
            reports.REPORTS,
        ),
        _command(
            "spartito_view",
            "[N] [--compare M] [--compensate]",
            "Starts the viewer of `spartito view` on a result, in a process that ends with the kernel, and shows its address; "
            f"where jupyter-server-proxy is installed, one that leads through Jupyter's own server. {_CELL}",
            (Option("--compare", "an earlier result: the views show what has changed since", "M"), COMPENSATE),
        ),
        _command(
            "spartito_diff",
            "[A B] [options of `spartito diff`]",
            "Shows what changed from the result of cell A to that of cell B; with options, what `spartito diff` prints. A and B "
            "are numbers of cells or paths of directories; left out, the two cells that were measured last. A cell that was run "
            "again has another number.",
            _of("diff", "with", "fail_above"),
        ),
        _command(
            "spartito_save",
            "[N] NAME",
            f"Keeps a result under a name: a copy of its experiment, or where NAME ends in .html the viewer as one file. {_CELL}",
        ),
        _command(
            "spartito_config",
            "[options] [--reset]",
            "Makes options the default of all measurements of this session that follow; without options, shows every active "
            "setting and its origin. The options are those of %%spartito, except -o and -q; a cell disables one for itself with "
            "--no-trace and the like.",
            (
                *(o for o in celloptions.CELL.own_options if o.dest not in PER_CELL),
                Option("--reset", "forget the defaults of this session first"),
            ),
        ),
    )
}


def usage_error(text: str) -> Exception:
    from IPython.core.error import UsageError

    made: Exception = UsageError(text)
    return made


def run(name: str, line: str) -> Any:
    """Runs the magic of that name. Errors become a UsageError, which IPython shows as one line."""
    from spartito._analyse import Error

    command = COMMANDS[name]
    try:
        values, operands = parse(command, celloptions.split(line))
        if values.pop("help", False):
            print(documentation(command))
            return None
        return globals()["_" + name.partition("_")[2]](values, operands)
    except (Usage, Refused, NotMeasured, Error) as e:
        raise usage_error(f"%{name}: {_in_magics(str(e))}") from None
    except OSError as e:
        raise usage_error(f"%{name}: {e.filename}: {e.strerror}" if e.filename else f"%{name}: {e}") from None


def _in_magics(text: str) -> str:
    """Replaces command lines in a message by the magics for the same."""
    return re.sub(r"`spartito (report|view|diff)\b", r"`%spartito_\1", text.replace("`spartito run ", "`%%spartito "))


def documentation(command: Command) -> str:
    """The text for `?` and --help."""
    from textwrap import fill

    lines = [command.usage, "", fill(command.details, 80)]
    if command.own_options:
        lines += ["", "options:", *option_lines(command.own_options, 80)]
    return "\n".join(lines)


def _here() -> cells.Cells:
    assert cells.current
    return cells.current


def _nothing(operands: list[str]) -> None:
    if operands:
        raise Usage(f"unexpected {operands[0]!r}: only options are allowed")


# ---- several cells


def _start(values: dict[str, object], operands: list[str]) -> None:
    _nothing(operands)
    here = _here()
    if here.lasting:
        raise Usage(f"{here.lasting.name} is being measured already; %spartito_stop ends it")
    if here.unit:
        raise Usage("this cell is being measured already")
    request, notes = celloptions.request(values, f"In[{here.number}]")
    for text in notes:
        print_note(text)
    unit = Unit(request)
    unit.begin()
    here.lasting = unit
    here.watch()
    unit.functions(True)


def _stop(values: dict[str, object], operands: list[str]) -> None:
    _nothing(operands)
    here = _here()
    unit = here.lasting
    if unit is None:
        raise Usage("nothing is being measured; %spartito_start begins")
    here.end_lasting()
    here.deliver(unit)


# ---- results


def find(word: str) -> str:
    """The directory of a result. word: the number of a cell as 7 or In[7], or a path. Usage: there is no such result."""
    results = _here().results
    number = re.fullmatch(r"(?:In\[)?(\d+)\]?", word)
    if number:
        found = results.get(int(number[1]))
        if found:
            return found
        have = ", ".join(f"In[{n}]" for n in results) or "none in this session"
        raise Usage(f"In[{number[1]}] was not measured (measured: {have})")
    path = os.path.expanduser(word)
    if not os.path.isdir(path):
        raise Usage(f"{word!r} is neither the number of a cell nor a directory")
    return path


def _latest() -> list[str]:
    """The directories of all results of this session without duplicates, newest last."""
    return list(dict.fromkeys(_here().order))


def _chosen(operands: list[str]) -> str:
    if len(operands) > 1:
        raise Usage(f"unexpected {operands[1]!r}: only one cell is allowed")
    if operands:
        return find(operands[0])
    known = _latest()
    if not known:
        raise Usage("nothing was measured in this session: put %%spartito on the first line of a cell, or name a directory")
    return known[-1]


def _result(directory: str, compensate: bool = False) -> Result:
    """ResultError: it cannot be shown."""
    from spartito.notebook.result import Result

    result = Result(directory, compensate=compensate)
    result.title  # noqa: B018  # read the result now: IPython would print an error that occurs during display as a traceback
    return result


def _report(values: dict[str, object], operands: list[str]) -> Result | None:
    words = [word for word in operands if reports.find(word)]
    topic = reports.find(words[0]) if words else None
    directory = _chosen([word for word in operands if word not in words[:1]])
    if not values and not topic:
        return _result(directory)
    from spartito.report.show import show

    show(topic or reports.REPORTS[0], directory, values)
    return None


def _view(values: dict[str, object], operands: list[str]) -> Page:
    other = values.get("compare")
    result = _result(_chosen(operands), bool(values.get("compensate")))
    return result.diff(find(other)).view() if isinstance(other, str) else result.view()


def _diff(values: dict[str, object], operands: list[str]) -> Comparison | None:
    if len(operands) not in (0, 2):
        raise Usage("two cells are needed, the earlier one first")
    both = [find(word) for word in operands] or _latest()[-2:]
    if len(both) < 2:
        raise Usage("only one cell was measured in this session" if both else "nothing was measured in this session")
    if not values:
        return _result(both[1]).diff(both[0])
    from spartito.compare.show import show

    show(values, [[directory] for directory in both])
    return None


def _save(values: dict[str, object], operands: list[str]) -> None:
    if not 1 <= len(operands) <= 2:
        raise Usage("a name is needed, and before it the cell if it is not the last one: %spartito_save 7 baseline")
    print(_result(_chosen(operands[:-1])).save(operands[-1]))


# ---- defaults of the session


def _config(values: dict[str, object], operands: list[str]) -> None:
    _nothing(operands)
    reset = values.pop("reset", False)
    if not values and not reset:
        _show_config()
        return
    before = dict(celloptions.defaults)
    if reset:
        celloptions.defaults.clear()
    merged = celloptions.merged(values)
    celloptions.defaults.clear()
    celloptions.defaults.update(merged)
    try:
        celloptions.values_of({})
    except Usage:
        celloptions.defaults.clear()
        celloptions.defaults.update(before)
        raise


def _show_config() -> None:
    from spartito.base.text import Column, name, standard_output

    rows = []
    for value in celloptions.values_of({}):
        s = value.setting
        if s.name in PER_CELL:
            continue
        text = {"0": "off", "1": "on"}[value.text] if s.kind == "flag" else value.text.replace("\n", " ")
        origin = "%spartito_config" if value.origin == "command line" else value.origin
        rows.append((s.name, name(text) or "-", origin, s.option))
    columns = [Column("setting", True), Column("value", True), Column("from", True), Column("option", True)]
    standard_output().table(columns, rows)
    sys.stdout.flush()
