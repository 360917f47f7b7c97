# SPDX-License-Identifier: BSD-3-Clause
"""The options of %%spartito and %spartito: those of `spartito run`, from the command line's table."""

from __future__ import annotations

import io
import shlex

from spartito.notebook.measuring import Request, unreported
from spartito.options.cellpatterns import STATEMENTS, line_patterns, pattern, plain
from spartito.options.kinds import option_lines
from spartito.options.settings import resolve, strange_variables, uncounted
from spartito.options.table import RUN, Command, Option, Usage, parse
from spartito.run.implied import with_memory, with_trace, without_effect
from spartito.sample.sampling import records_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.options.settings import Value

OUTPUT = Option(
    "-o --output",
    "experiment directory; if it is not empty, a number is appended to its name (default: spartito-notebook/spartito-CELL-TIME)",
    "DIR",
    complete="dir",
)
ALONE = Option("--no-config", "ignore the defaults set with %spartito_config")
# no --no-finalize: the result is shown below the cell, so it must be finalized
_kept = [option for option in RUN.own_options if option.dest != "no_finalize"]
_options = (*(OUTPUT if option.dest == OUTPUT.dest else option for option in _kept), ALONE)
CELL = Command("%%spartito", "%%spartito [options]", "measure a cell", RUN.details, _options, ())
NO_LINES = "--lines-only: no line was recorded; name functions by --lines, or the cell by --lines ."
defaults: dict[str, object] = {}  # options set with %spartito_config for the session


def split(line: str) -> list[str]:
    """Splits a line into words as a shell does. Usage: a quotation mark is missing."""
    try:
        return shlex.split(line)
    except ValueError as e:
        raise Usage(f"{line}: {str(e).lower()}") from None


def parse_options(line: str) -> dict[str, object]:
    """The options of a line that has nothing but options. Usage: the line has other words or invalid options."""
    given, rest = parse(CELL, split(line))
    if rest:
        raise Usage(f"unexpected {rest[0]!r}: the line has only options, the code begins below it")
    return given


def parse_statement(line: str) -> tuple[dict[str, object], str]:
    """The options in front of a statement, and the statement unchanged."""
    stream = io.StringIO(line)
    words = shlex.shlex(stream, posix=True)
    words.whitespace_split, words.commenters = True, ""
    options: list[str] = []
    at = 0
    try:
        while line[at:].lstrip().startswith("-"):
            word = words.get_token() or ""
            at = stream.tell()
            if word == "--":
                break
            options.append(word)
            option = CELL.find(word)
            if option and option.kind != "flag":
                options.append(words.get_token() or "")
                at = stream.tell()
    except ValueError as e:
        raise Usage(f"{line}: {str(e).lower()}") from None
    return parse(CELL, options)[0], line[at:].strip()


def _patterns(given: dict[str, object], name: str) -> None:
    lines, items = given.get("lines"), given.get("filter")
    if isinstance(lines, list):
        given["lines"] = [one for text in lines for one in line_patterns(text, name)]
    if isinstance(items, list):
        given["filter"] = [text[0] + pattern(text[1:], name) for text in items]


def merged(given: dict[str, object]) -> dict[str, object]:
    """The given options over the defaults of the session. The filters of both are joined."""
    if given.get(ALONE.dest):
        return {name: value for name, value in given.items() if name != ALONE.dest}
    both = {**defaults, **given}
    first, then = defaults.get("filter"), given.get("filter")
    if isinstance(first, list) and isinstance(then, list):
        both["filter"] = [*first, *then]
    return both


def values_of(given: dict[str, object], name: str = "In[0]") -> list[Value]:
    """The values of all settings for options of the cell called `name`. Usage: an option's value is invalid."""
    all_given = merged(given)
    all_given.pop("help", None)
    _patterns(all_given, name)
    values = resolve(all_given)
    texts = {value.setting.name: value.text for value in values}
    if texts["to"]:
        with_trace(texts, values)
    without_effect({value.setting.name: value for value in values})
    return values


def check(line: str) -> str | None:
    """Checks the options of a cell without side effects, as shells do so while the user types. Returns the help text for --help,
    else None. Usage: an option is invalid."""
    given = parse_options(line)
    if given.get("help"):
        return help_text()
    values_of(given)
    return None


def request(given: dict[str, object], name: str) -> tuple[Request, list[str]]:
    """The request to measure the cell called `name`, and notes about settings without effect and metrics that cannot be counted."""
    values = values_of(given, name)
    texts = {value.setting.name: value.text for value in values}
    settings = {value.setting.name: value.text for value in values if value.setting.recorded and value.origin != "default"}
    by_name = {value.setting.name: value for value in values}
    sampled = texts["sample"] == "1"
    if texts["lines_only"] == "1" or texts["calls"] == "0" or (sampled and not records_calls(by_name)):
        settings["instrument"] = "0"
    settings.update(with_memory(by_name))
    made = Request(
        name,
        settings,
        texts["output"],
        to=tuple(filter(None, texts["to"].split(","))),
        compress=texts["compress"] == "1",
        quiet=texts["quiet"] == "1",
        lines_only=texts["lines_only"] == "1",
        sample_rate=texts["sample_rate"] if sampled else "",
        sample_native=texts["sample_native"] == "1",
    )
    return made, [*unreported(strange_variables()), *(uncounted(texts["metrics"]) if texts["metrics"] else [])]


def help_text() -> str:
    """The lines of all options as `spartito run --help` prints them."""
    return "\n".join(option_lines(CELL.options, 80))


def without_lines(directory: str, settings: dict[str, str], lines_only: bool) -> list[str]:
    """Messages about patterns of --lines, and about --lines-only, that have no lines in the result."""
    patterns = settings["lines"].split("\n") if settings.get("lines") else []
    if not patterns and not lines_only:
        return []
    from spartito._analyse import Error, Model
    from spartito.run.linepatterns import matches, unmatched

    try:
        model = Model(directory)
        if not patterns:
            return [] if model.lines() else [NO_LINES]
        taken = dict(zip(patterns, matches(model, len(patterns))))
        # a cell's name is two patterns: its functions and its statements; a cell may have only one of them
        missing = [p for p in patterns if not (taken[p] or p.endswith(STATEMENTS) or taken.get(p + STATEMENTS))]
        messages = [text for text in unmatched(model, patterns, []) if any(text.startswith(f"--lines {p!r}:") for p in missing)]
        return [plain(text) for text in messages]
    except Error:
        return []  # displaying the result reports the error
